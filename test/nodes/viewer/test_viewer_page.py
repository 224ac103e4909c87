"""What a browser is sent: the whole scene, then what changes, finite numbers only; and there is no way back."""

import contextlib
import importlib.metadata
import math
import socket
import sys
import time
import urllib.request
from importlib.util import find_spec

import numpy as np
import pytest
from node_platforms import TRUE
from node_process import DEADLINE
from node_robots import ARM, ARM_JOINTS, pendulum
from test_viewer_core import POSITION, SMALL, core_of, robot_of

if find_spec("viser") is None:  # not imported by all who collect tests
    pytest.skip("viser, which serves the viewer's page, is not installed", allow_module_level=True)

from support.page.page_watcher import Watcher

from lie_dynamics_ros.core.errors import ConfigurationError, MessageError
from lie_dynamics_ros.nodes.viewer.page import PATH, Page, extent

PLACE = np.array([0.0, 0.8, 0.0])


class Shown:
    """A core and its page, in this process."""

    def __init__(self):
        self.page = Page("127.0.0.1", 0, PLACE)
        self.core = core_of()
        self.watchers = []

    def watch(self):
        self.watchers.append(Watcher(self.page.url))
        return self.watchers[-1]

    def draw(self, now=0.1):
        picture = self.core.picture(now)
        self.page.draw(picture, "waiting for a robot", 1000.0)
        self.page.trace(picture)

    def close(self):
        for watcher in self.watchers:
            watcher.close()
        self.page.close()


def until(watcher, condition, what):
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, f"waited for {what}: {watcher.text} {watcher.nodes.keys()}"
        watcher.read()


@pytest.fixture
def shown():
    shown = Shown()
    yield shown
    shown.close()


def fill(core):
    core.use(robot_of(ARM))
    core.take_states(ARM_JOINTS, POSITION, np.arange(7.0), 0.0)
    core.take_pose(TRUE, SMALL, 0.0)
    core.take_force("panda_link7", np.array([0.0, 0.0, 20.0]), 0.0)
    core.take_report("some/node", 2, "something is wrong", 0.0)


def test_sends_the_whole_scene_and_then_what_changes(shown):
    watcher = shown.watch()
    shown.draw()
    until(watcher, lambda: "waiting for a robot" in watcher.text, "the text")
    fill(shown.core)
    shown.draw()
    until(watcher, lambda: "something is wrong" in watcher.text and "+6 of 12 N m" in watcher.text, "the panel")
    until(watcher, lambda: "/platform/ellipsoid" in watcher.nodes and watcher.nodes["/contact"]["visible"], "the scene")
    poses = shown.core.picture(0.1).poses
    for k, pose in enumerate(poses):
        np.testing.assert_allclose(watcher.nodes[f"/robot/{k + 1}"]["position"], pose[:3, 3], atol=1e-6)
        w, *v = watcher.nodes[f"/robot/{k + 1}"]["wxyz"]
        turn = np.eye(3) * (w * w - np.dot(v, v)) + 2.0 * np.outer(v, v) + 2.0 * w * np.cross(np.eye(3), v)
        np.testing.assert_allclose(turn, pose[:3, :3], atol=1e-6)
    np.testing.assert_allclose(watcher.nodes["/platform"]["position"], PLACE)
    np.testing.assert_allclose(
        watcher.nodes["/platform/legs"]["points"].reshape(6, 2, 3)[:, 1],
        shown.core.picture(0.1).platform.points[:, 1],
        atol=1e-6,
    )
    assert watcher.nodes["/platform/ellipsoid"]["scale"] == pytest.approx([0.01, 0.02, 0.03])
    moved = POSITION.copy()
    moved[0] += 0.5
    before = watcher.nodes["/robot/7"]["position"]
    shown.core.take_states(ARM_JOINTS, moved, np.arange(7.0), 0.2)
    shown.draw(0.2)
    until(watcher, lambda: watcher.nodes["/robot/7"]["position"] != before, "a motion")
    until(watcher, lambda: watcher.traces is not None and len(watcher.traces[0]) == 2, "the traces")
    shown.draw(5.0)
    until(watcher, lambda: "stale: no joint states" in watcher.text and watcher.text.count("stale") >= 3, "staleness")
    faded = [p["opacity"] for n, p in watcher.nodes.items() if n.startswith("/robot/") and "vertices" in p]
    assert faded and set(faded) == {0.35}
    assert not watcher.nodes["/contact"]["visible"]


def test_the_floor_is_under_what_is_shown_and_the_camera_sees_it(shown):
    watcher = shown.watch()
    shown.core.use(robot_of(pendulum()))
    shown.draw()
    model = shown.core.picture(0.1).robot.model
    shown.core.take_states(model.joint_names, np.zeros(model.nv), (), 0.0)
    shown.draw()
    picture = shown.core.picture(0.1)
    surfaces = [
        s.surface.vertices @ (T := np.eye(4) if s.body < 0 else picture.poses[s.body])[:3, :3].T + T[:3, 3]
        for s in picture.robot.shapes
    ]
    points, drawn = extent(picture, PLACE), np.concatenate(surfaces)
    assert (points.min(axis=0) <= drawn.min(axis=0) + 1e-9).all()
    assert (points.max(axis=0) >= drawn.max(axis=0) - 1e-9).all()
    until(watcher, lambda: "/grid" in watcher.nodes, "the floor")
    lowest = points[:, 2].min()
    until(watcher, lambda: abs(watcher.nodes["/grid"]["position"][2] - lowest) < 1e-6, "the floor under the robot")
    assert_seen(shown.page._server.initial_camera, points)


def assert_seen(camera, points):
    """All points are within the cone of half the field of view."""
    ahead = camera.look_at - camera.position
    for ray in points - camera.position:
        assert np.dot(ray, ahead) > np.cos(0.5 * camera.fov) * np.linalg.norm(ray) * np.linalg.norm(ahead)


def test_an_arm_that_was_folded_when_the_page_opened_stays_in_view(shown):
    shown.core.use(robot_of(ARM))
    shown.core.take_states(ARM_JOINTS, [0.0, -1.2, 0.0, -2.9, 0.0, 2.0, 0.0], (), 0.0)
    shown.draw()
    camera, size = shown.page._server.initial_camera, np.linalg.norm(np.ptp(extent(shown.core.picture(0.1), PLACE), 0))
    assert np.linalg.norm(camera.look_at - camera.position) < 3.0 * size  # near enough for its shapes to be seen
    for turn in (-2.5, 0.0, 2.5):
        for lift in (0.0, 1.2):
            shown.core.take_states(ARM_JOINTS, [turn, lift, 0.0, -0.2, 0.0, 1.8, 0.0], (), 0.0)
            assert_seen(camera, extent(shown.core.picture(0.1), PLACE))


def asked(url, host, *origin, upgrade=False):
    """The status with which a request with these headers is answered."""
    port = int(url.rpartition(":")[2])
    lines = [f"Host: {h}" for h in ([host] if isinstance(host, str) else host)]
    lines += [f"Origin: {o}" for o in origin]
    if upgrade:
        version = importlib.metadata.version("viser")
        lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
        lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", f"Sec-WebSocket-Protocol: viser-v{version}"]
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as connection:
        connection.sendall("\r\n".join(["GET / HTTP/1.1", *lines, "", ""]).encode())
        return int(connection.recv(4096).split()[1])


@pytest.mark.parametrize("upgrade", [False, True])
def test_only_this_page_by_a_name_of_this_machine_is_answered(shown, upgrade):
    port, good = shown.page.url.rpartition(":")[2], 101 if upgrade else 200

    def status(host, *origin):
        return asked(shown.page.url, host, *origin, upgrade=upgrade)

    for host in ("127.0.0.1", "localhost", "[::1]", "192.0.2.7", socket.gethostname()):
        assert status(f"{host}:{port}") == status(f"{host}:{port}", f"http://{host}:{port}") == good, host
    assert status("localhost:9090", "http://localhost:9090") == good  # through ssh -L
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::1"):
        assert status(f"{host}:{port}", f"http://{host}:{port}") == status(f"{host}:{port}") == 403, host
    here = f"127.0.0.1:{port}"
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{int(port) + 1}", f"ftp://{here}", f"{here}", ""):
        assert status(here, origin) == 403, origin
    assert status(here, f"http://{here}", "http://evil.example") == 403
    assert status([here, "evil.example"]) in (400, 403)


def played(content):
    """The length [s] of a replay, and the last position of each node up to each of its times."""
    msgspec, zstandard = (pytest.importorskip(name) for name in ("msgspec", "zstandard"))  # what viser brings
    inner = zstandard.ZstdDecompressor().decompressobj().decompress(content[8:])
    file = msgspec.msgpack.decode(inner[8 : 8 + int.from_bytes(inner[:8], "little")])
    moved = [(t, m["name"], m["position"]) for t, m in file["messages"] if m["type"] == "SetPositionMessage"]
    return file["durationSeconds"], moved


def test_the_last_minute_can_be_replayed_where_bodies_were(shown):
    fill(shown.core)
    poses = {}
    for k in range(80):  # one picture each second
        moved = POSITION.copy()
        moved[0] += 0.02 * k
        shown.core.take_states(ARM_JOINTS, moved, np.arange(7.0), float(k))
        picture = shown.core.picture(float(k))
        shown.page.draw(picture, "", 1000.0)
        shown.page.remember(picture, float(k))
        poses[k] = picture.poses
    with urllib.request.urlopen(shown.page.url + PATH, timeout=DEADLINE) as answer:
        length, moved = played(answer.read())
    assert length == pytest.approx(60.0)
    seen = {(round(t), name): position for t, name, position in moved}
    for k in (19, 40, 79):
        for body in range(7):
            np.testing.assert_allclose(seen[k - 19, f"/robot/{body + 1}"], poses[k][body][:3, 3], atol=1e-6)
    shown.core.use(robot_of(pendulum()))
    shown.draw(80.0)
    with urllib.request.urlopen(shown.page.url + PATH, timeout=DEADLINE) as answer:
        assert played(answer.read())[0] == 0.0  # nothing of the robot before


def test_who_comes_later_or_comes_again_sees_the_same(shown):
    first = shown.watch()
    fill(shown.core)
    shown.draw()
    until(first, lambda: "something is wrong" in first.text and "/platform/legs" in first.nodes, "the scene")
    first.close()
    second = shown.watch()
    until(second, lambda: any(m["type"] == "ReplayDoneMessage" for m in second.seen), "all that there is")
    assert second.text == first.text and second.nodes.keys() == first.nodes.keys()
    for name in ("/robot/7", "/platform/ellipsoid"):
        assert second.nodes[name] == first.nodes[name]


def test_another_robot_leaves_nothing_of_the_one_before(shown):
    watcher = shown.watch()
    fill(shown.core)
    shown.draw()
    until(watcher, lambda: "/robot/7" in watcher.nodes, "the arm")
    shown.core.use(robot_of(pendulum()))
    shown.core.take_states(["swing"], [0.3], [1.0], 0.0)
    shown.draw()
    until(watcher, lambda: "pendulum" in watcher.text and "/robot/1" in watcher.nodes, "the pendulum")
    until(watcher, lambda: not any(n.startswith(("/robot/2", "/robot/7")) for n in watcher.nodes), "the arm to go")
    until(watcher, lambda: len(watcher.traces) == 2, "its traces")
    assert "panda_joint" not in watcher.text


HOSTILE = "<script>alert(1)</script>&'\"/../\n\x07"


def test_names_and_texts_from_elsewhere_are_text(shown):
    watcher = shown.watch()
    name = HOSTILE.replace("<", "&lt;").replace("&'", "&amp;&apos;").replace('"', "&quot;").replace("\x07", "")
    shown.core.use(
        robot_of(
            pendulum().replace('"swing"', f'"{name}"').replace('"pendulum"', f'"{name}"').replace('"rod"', f'"{name}"')
        )
    )
    joint = shown.core._robot.robot.model.joint_names[0]
    assert "<script>" in joint
    shown.core.take_states([joint], [0.3], [1.0], 0.0)
    shown.core.take_report(HOSTILE, 1, HOSTILE * 1000, 0.0)
    shown.core.take_force(HOSTILE, np.ones(3), 0.0)
    shown.core.take_pose(TRUE, SMALL, 0.0)
    shown.core.take_status(1, HOSTILE, 0.0)
    shown.draw()
    until(watcher, lambda: watcher.text.count("&lt;script&gt;") >= 6 and "of 100 N m" in watcher.text, "the texts")
    until(watcher, lambda: watcher.traces is not None, "the plot")
    assert "<script" not in watcher.text and len(watcher.text) < 20_000
    labels = [str(part["series"]) for part in watcher.panel.values() if "series" in part]
    assert labels and "<script" not in labels[0]


def test_no_number_that_is_none_is_ever_sent(shown):
    watcher, core = shown.watch(), shown.core
    fill(core)
    rng = np.random.default_rng(1)
    for k in range(40):
        now = 0.1 * k
        numbers = rng.choice([0.0, -1.0, math.nan, math.inf, -math.inf, 1e308, 9e5, 5e-324, 1e-300], size=(4, 9))
        pose = np.block([[TRUE[:3, :3], numbers[3, :3, None]], [TRUE[3:]]])
        for take, *given in (
            (core.take_states, ARM_JOINTS, numbers[0, :7], numbers[1, :7]),
            (core.take_efforts, "inverse_dynamics", ARM_JOINTS, numbers[2, :7]),
            (core.take_force, "panda_link3", numbers[3, :3]),
            (core.take_pose, TRUE, numbers[2].reshape(3, 3)),
            (core.take_pose, pose, SMALL),
        ):
            with contextlib.suppress(MessageError):
                take(*given, now)
        shown.draw(now)
    core.take_report("the end", 0, "ok", 4.0)
    shown.draw(4.0)
    until(watcher, lambda: "the end" in watcher.text, "the last picture")
    assert np.isfinite(watcher.numbers()).all()
    assert "nan" not in watcher.text and "inf" not in watcher.text


def test_who_looks_can_change_nothing(shown, monkeypatch):
    first, other = shown.watch(), shown.watch()
    fill(shown.core)
    shown.draw()
    until(first, lambda: "something is wrong" in first.text, "the panel")
    calls = []
    monkeypatch.setattr(shown.page._server, "request_share_url", lambda *_: calls.append("shared"))
    monkeypatch.setattr(shown.page._server, "disconnect_share_url", lambda *_: calls.append("not shared"))
    uuid = next(iter(first.panel))
    hostile = [
        {"type": "ShareUrlRequest"},
        {"type": "ShareUrlDisconnect"},
        {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"content": "mine", "value": 1}},
        {"type": "SceneNodeClickMessage", "name": "/robot/1"},
        {"type": "NoSuchMessage"},
    ]
    for message in hostile:  # each by another: who sends nonsense may be hung up on
        shown.watch().send(message)
    shown.watch().socket.send(b"\xff\x00 no message")
    third = shown.watch()  # the page is still there
    shown.core.take_report("later", 0, "still here", 0.0)
    shown.draw()
    for watcher in (other, third):
        until(watcher, lambda watcher=watcher: "still here" in watcher.text, "the panel")
        assert "mine" not in str(watcher.panel)
    assert not calls


def test_a_page_at_an_address_that_cannot_be_is_refused_and_a_port_that_is_taken_is_passed_over():
    with pytest.raises(ConfigurationError, match=r"203\.0\.113\.7"):
        Page("203.0.113.7", 0, PLACE)  # an address for documentation, which is nobody's
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        page = Page("127.0.0.1", port, PLACE)
        page.close()
        assert page.url.startswith("http://127.0.0.1:") and int(page.url.rpartition(":")[2]) > port


def test_without_viser_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'viser"):
        Page("127.0.0.1", 0, PLACE)
