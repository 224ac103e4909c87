"""The page in the browser, served by viser. Whoever opens it looks, and can change nothing."""

from __future__ import annotations

import asyncio
import html
import ipaddress
import logging
import math
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from ...core.errors import ConfigurationError
from ...lie_dynamics import forward_kinematics
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.lie import so3
from ...lie_dynamics.texts import shortened
from .picture import BAD, DOUBTFUL, GOOD, LARGEST, ContactView, Effort, Picture, PlatformView, ReportView, Robot

# The last minute of motion as a file that viser's client plays, with a time line, in a page of its own.

LENGTH = 60.0
"""Length of the replay [s]."""
SPACING = 0.04
"""Shortest time between two recorded pictures [s]."""
PATH = "/last_minute.viser"
"""Where the page has the file."""
REPLAY = f"/?playbackPath={PATH}"
REPLAY_LINK = f"<a href='{REPLAY}' target='_blank'>replay the last minute</a>"


def quaternion(rotation: Array) -> Array:
    """Return a rotation (..., 3, 3) as w, x, y, z."""
    return np.roll(so3.to_quaternion(rotation), 1, axis=-1)


class Replay:
    """Records the past poses of bodies and legs. The page's thread reads the file, the node's thread adds pictures."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._moments: deque[tuple[float, Array | None, Array | None]] = deque()

    def clear(self) -> None:
        """Forget everything, as for another robot."""
        with self._lock:
            self._moments.clear()

    def remember(self, picture: Picture, now: float) -> None:
        """Add a picture, drawn at the time ``now`` [s]; drop those older than a minute."""
        with self._lock:
            moments = self._moments
            if moments and now - moments[-1][0] < SPACING:
                return
            moments.append((now, picture.poses, None if picture.platform is None else picture.platform.points))
            while moments[0][0] < now - LENGTH:
                moments.popleft()

    def file(self, server: Any) -> bytes:
        """Return the file: the scene of a viser server as it is now, then the motion, from its beginning."""
        with self._lock:
            moments = list(self._moments)
        recorder = server.get_scene_serializer()
        before = moments[0][0] if moments else 0.0
        for now, poses, legs in moments:
            recorder.insert_sleep(now - before)
            before = now
            for message in _messages(poses, legs):
                recorder._insert_message(message)
        return bytes(recorder.serialize())


def _messages(poses: Array | None, legs: Array | None) -> Iterator[Any]:
    """Yield what puts bodies (n, 4, 4) and legs (k, 2, 3) in their places."""
    from viser import _messages as wire

    if poses is not None:
        turns = quaternion(poses[:, :3, :3])
        for body, (pose, turn) in enumerate(zip(poses, turns, strict=True), start=1):
            yield wire.SetPositionMessage(f"/robot/{body}", tuple(pose[:3, 3].tolist()))
            yield wire.SetOrientationMessage(f"/robot/{body}", tuple(turn.tolist()))
    if legs is not None:
        yield wire.SceneNodeUpdateMessage("/platform/legs", {"points": legs.astype(np.float32)})
        yield wire.SceneNodeUpdateMessage("/platform/outline", {"points": outline(legs)})


def outline(legs: Array) -> Array:
    """Return the edges (6, 2, 3) of a platform, around its middle, from the ends (k, 2, 3) of its legs."""
    ends = legs[:6, 1]
    arms = ends - ends.mean(axis=0)
    _, _, axes = np.linalg.svd(arms)
    around = np.argsort(np.arctan2(arms @ axes[1], arms @ axes[0]))
    return np.stack((ends[around], ends[np.roll(around, -1)]), axis=1).astype(np.float32)


# The texts, tables and bars beside the scene, as HTML in which all that comes from elsewhere is escaped.

COLORS = {GOOD: "#2b8a3e", DOUBTFUL: "#e67700", BAD: "#c92a2a"}
FADED = "#868e96"
MOST_ROWS = 60
"""Joints in the table of efforts."""
LONGEST_REPORT = 240
"""Longest text of a report that is shown."""
_STYLE = "font: 12px/1.5 system-ui, sans-serif; padding: 0 0.8em; overflow-wrap: anywhere"


def text(words: str) -> str:
    """Return a text from elsewhere, short, and safe in HTML."""
    return html.escape(shortened(words))


def state_of(picture: Picture, waiting: str) -> str:
    """Return what is shown, and what of it is stale; ``waiting`` is shown without a robot."""
    robot = picture.robot
    if robot is None:
        return _block(f"<i>{html.escape(waiting)}</i>")
    lines = [f"<b>{text(robot.model.name)}</b>, {robot.model.nv} joints"]
    if picture.age is None:
        lines.append(_mark(DOUBTFUL, "no joint states yet"))
    elif picture.stale:
        lines.append(_mark(BAD, f"stale: no joint states for {picture.age:.0f} s"))
    elif picture.unknown:
        more = ", ..." if len(picture.unknown) > 5 else ""
        lines.append(_mark(DOUBTFUL, f"not heard of: {', '.join(map(text, picture.unknown[:5]))}{more}"))
    else:
        lines.append(_mark(GOOD, "live"))
    lines += [_mark(DOUBTFUL, text(problem)) for problem in robot.problems[:3]]
    return _block("<br>".join(lines))


def bars(efforts: tuple[Effort, ...], source: str) -> str:
    """Return a bar for each joint, from the middle to its limits; without a limit, as a share of the largest effort."""
    if not efforts:
        return _block("<i>no efforts are heard</i>")
    largest = max((abs(e.value) for e in efforts if e.value is not None), default=0.0) or 1.0
    rows = [_bar(effort, largest) for effort in efforts[:MOST_ROWS]]
    if len(efforts) > MOST_ROWS:
        rows.append(f"<tr><td>... and {len(efforts) - MOST_ROWS} more</td></tr>")
    return _block(f"from {html.escape(source)}<table style='width:100%'>{''.join(rows)}</table>")


def _bar(effort: Effort, largest: float) -> str:
    value, name = effort.value, f"<td>{text(effort.joint)}</td>"
    if value is None:
        return f"<tr>{name}<td colspan=2 style='color:{FADED}'>stale</td></tr>"
    limited = math.isfinite(effort.limit) and effort.limit > 0.0
    share = min(1.0, abs(value) / (effort.limit if limited else largest))
    color = FADED if not limited else COLORS[GOOD if share < 0.8 else DOUBTFUL if share < 1.0 else BAD]
    side = f"left:{50.0 - 50.0 * share:.1f}%" if value < 0.0 else "left:50%"
    inner = f"<div style='position:absolute;top:0;bottom:0;{side};width:{50.0 * share:.1f}%;background:{color}'></div>"
    middle = "linear-gradient(#495057,#495057) 50%/1px 100% no-repeat #dee2e6"
    frame = f"position:relative;height:0.9em;width:5em;background:{middle}"
    shown = f"{round(value, 3) + 0.0:+.4g}" + (f" of {effort.limit:.4g}" if limited else "")
    number = f"<td style='white-space:nowrap'>{shown} {effort.unit}</td>"
    return f"<tr>{name}<td><div style='{frame}'>{inner}</div></td>{number}</tr>"


def platform(view: PlatformView | None, scale: float) -> str:
    """Return pose and standard deviations of the Stewart platform."""
    if view is None:
        return _block("<i>no pose of a Stewart platform is heard</i>")
    place = ", ".join(f"{1e3 * x:.2f}" for x in view.pose[:3, 3])
    turn = ", ".join(f"{np.degrees(a):.2f}" for a in so3.to_rpy(view.pose[:3, :3]))
    sigma = ", ".join(f"{1e3 * x:.3g}" for x in view.deviations)
    lines = [f"position {place} mm", f"roll, pitch, yaw {turn} deg", f"one sigma {sigma} mm, drawn {scale:g} times"]
    if view.stale:
        lines.append(_mark(BAD, "stale"))
    elif view.word:
        lines.append(_mark(view.level, text(view.word)))
    return _block("<br>".join(lines))


def contact(view: ContactView | None) -> str:
    """Return whether something touches, and how hard."""
    if view is None:
        return _block("<i>no contacts are reported</i>")
    lines = []
    if view.touching is not None:
        lines.append(_mark(DOUBTFUL, "touching") if view.touching else _mark(GOOD, "not touching"))
    if view.frame:
        unknown = "" if view.arrow is not None else ", which is no frame of the robot"
        lines.append(f"{view.force:.3g} N at {text(view.frame)}{unknown}")
    return _block("<br>".join(lines))


def reports(views: tuple[ReportView, ...]) -> str:
    """Return the last report of each node."""
    if not views:
        return _block("<i>no diagnostics are heard</i>")
    return _block("<br>".join(_mark(FADED if v.stale else v.level, _report(v)) for v in views))


def _report(view: ReportView) -> str:
    said = " ".join(view.message.split())
    cut = said if len(said) <= LONGEST_REPORT else f"{said[:LONGEST_REPORT]}..."
    return f"<b>{text(view.name)}</b> {'stale' if view.stale else html.escape(cut)}"


def _mark(level: int | str, inner: str) -> str:
    color = level if isinstance(level, str) else COLORS[level]
    return f"<span style='color:{color}'>&#9679;</span> {inner}"


def _block(inner: str) -> str:
    return f"<div style='{_STYLE}'>{inner}</div>"


MISSING = "the page needs viser, which is not installed: pip install 'viser>=1.1,<2'"
PORTS = 100
"""Number of ports that are tried, from the given one."""
GREY, BLUE, RED = (134, 142, 150), (51, 128, 230), (201, 42, 42)
LEVELS = ((43, 138, 62), (230, 119, 0), RED)
CAMERA = np.array([0.65, -0.57, 0.37])
"""Position of the camera, from the middle of what is reached, over the diameter of that."""
ASIDE = 0.15 * np.array([-CAMERA[1], CAMERA[0], 0.0])
"""Offset of the camera's target from the middle: the panel covers the right side of the page."""
REACH_POSES = 32
"""Random poses whose bounds the camera shows."""
FLOOR_SIZES = 6.0
"""Width of the floor, in sizes of what stands on it."""
PALETTE = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b",
           "#e377c2", "#7f7f7f", "#bcbd22", "#17becf", "#393b79", "#843c39")  # fmt: skip


class Page:
    """A page that shows pictures at an address of this machine; open from the beginning, until `close`.

    Where the port is taken, the next free one is; 0 for any. The base of the Stewart platform is drawn at a place (3,)
    [m].

    Raises
    ------
    ConfigurationError
        viser is not installed, or another one than is known here; or the address is none of this machine, or has no
        port free.
    """

    def __init__(self, address: str, port: int, place: Array) -> None:
        try:
            import rich
            import viser
        except ImportError:
            raise ConfigurationError(MISSING) from None
        port = free_port(address, port)
        # The node's log says where the page is; what strangers send is not to fill any log.
        logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
        rich.get_console().quiet = True
        self._replay = Replay()
        self._server = _guarded(
            lambda: viser.ViserServer(address, port, label="lie_dynamics_ros", verbose=False),
            address,
            lambda: self._replay.file(self._server),
        )
        try:
            self._clients = _only_look(self._server)
        except (AttributeError, TypeError) as error:
            self._server.stop()
            raise ConfigurationError(f"this version of viser is not known: {error}; {MISSING}") from error
        host = "127.0.0.1" if address in ("0.0.0.0", "") else address
        self.url = f"http://{host}:{self._server.get_port()}"
        self._place = place
        self._robot: Robot | None = None
        self._bodies: list[Any] = []
        self._meshes: list[Any] = []
        self._faded = False
        self._root: Any = None
        self._platform: dict[str, Any] = {}
        self._plot: Any = None
        self._shown: dict[str, str] = {}
        self._fitted: tuple[bool, bool] | None = None
        self._reach = np.zeros((0, 3))
        self._texts: dict[str, Any] = {}
        self._arrow, self._efforts = self._furnish()

    @property
    def watchers(self) -> int:
        """Number of browsers that have the page open."""
        return len(self._clients)

    def close(self) -> None:
        """End the page; browsers that have it open say so, and find it again where it is opened again."""
        self._server.stop()

    def _furnish(self) -> tuple[Any, Any]:
        """Fill the page; return the arrow of a force and the folder of efforts."""
        scene, gui = self._server.scene, self._server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, control_width="large")
        scene.add_frame("/origin", axes_length=0.15, axes_radius=0.004)
        arrow = scene.add_arrows("/contact", np.zeros((1, 2, 3)), RED, visible=False)
        self._fit(np.array([[-0.5, -0.5, 0.0], [0.5, 1.2, 1.0]]), self._reach)
        self._texts["state"] = gui.add_html("")
        gui.add_html(_block(REPLAY_LINK))
        folders = {}
        for name in ("efforts", "platform", "contact", "diagnostics"):
            with gui.add_folder(name.capitalize()) as folder:
                self._texts[name] = gui.add_html("")
            folders[name] = folder
        return arrow, folders["efforts"]

    # Pictures.

    def draw(self, picture: Picture, waiting: str, scale: float) -> None:
        """Show a picture; ``waiting`` is shown without a robot, ``scale`` enlarges deviations."""
        with self._server.atomic():
            if picture.robot is not self._robot:
                self._set_robot(picture.robot)
            if picture.poses is not None:
                for handle, pose, turn in zip(
                    self._bodies[1:], picture.poses, quaternion(picture.poses[:, :3, :3]), strict=True
                ):
                    handle.position, handle.wxyz = pose[:3, 3], turn
            if picture.stale is not self._faded:
                self._faded = picture.stale
                for mesh in self._meshes:
                    mesh.opacity = 0.35 if self._faded else None
            if picture.platform is not None:
                self._draw_platform(picture.platform)
            if self._fitted != (picture.poses is not None, picture.platform is not None):
                self._fitted = picture.poses is not None, picture.platform is not None
                self._fit(extent(picture, self._place), self._reach)
            touched = picture.contact is not None and picture.contact.arrow is not None
            if touched:
                self._arrow.points = picture.contact.arrow[None].astype(np.float32)
            self._arrow.visible = touched
            self._write("state", state_of(picture, waiting))
            self._write("efforts", bars(picture.efforts, picture.source))
            self._write("platform", platform(picture.platform, scale))
            self._write("contact", contact(picture.contact))
            self._write("diagnostics", reports(picture.reports))

    def remember(self, picture: Picture, now: float) -> None:
        """Keep a picture for the replay of the last minute; ``now`` in seconds."""
        self._replay.remember(picture, now)

    def trace(self, picture: Picture) -> None:
        """Show efforts over time."""
        if self._plot is None or len(picture.times) < 2:
            return
        data = (picture.times, *picture.traces.T)
        if len(data) == len(self._plot.data):
            self._plot.data = tuple(np.ascontiguousarray(row, dtype=float) for row in data)

    def _fit(self, points: Array, reach: Array) -> None:
        """Put the floor under points (k, 3); the camera of a page that opens, or is reset, sees them and `reach`."""
        if not len(points):
            return
        low, middle, size = bounds(points)
        cell = 10.0 ** np.round(np.log10(size / 8.0))
        floor = (float(middle[0]), float(middle[1]), float(low[2]))
        self._server.scene.add_grid(
            "/grid", width=FLOOR_SIZES * size, height=FLOOR_SIZES * size, cell_size=float(cell), position=floor
        )
        camera = self._server.initial_camera
        _, middle, size = bounds(np.concatenate([points, reach]))
        middle = middle + size * ASIDE
        camera.position, camera.look_at = tuple((middle + size * CAMERA).tolist()), tuple(middle.tolist())

    def _write(self, name: str, content: str) -> None:
        if self._shown.get(name) != content:
            self._shown[name] = self._texts[name].content = content

    def _set_robot(self, robot: Robot | None) -> None:
        if self._root is not None:
            self._root.remove()
        if self._plot is not None:
            self._plot.remove()
        self._robot, self._root, self._plot, self._faded, self._fitted = robot, None, None, False, None
        self._bodies, self._meshes = [], []
        self._reach = np.zeros((0, 3)) if robot is None else reach_of(robot)
        self._replay.clear()
        if robot is None:
            return
        scene = self._server.scene
        self._root = scene.add_frame("/robot", show_axes=False)
        # By number: names of links could hold slashes.
        for body in range(-1, robot.model.n_bodies):
            self._bodies.append(scene.add_frame(f"/robot/{body + 1}", show_axes=False))
        for k, shape in enumerate(robot.shapes):
            vertices, faces = shape.surface.vertices.astype(np.float32), shape.surface.faces.astype(np.uint32)
            name = f"/robot/{shape.body + 1}/{k}"
            self._meshes.append(scene.add_mesh_simple(name, vertices, faces, color=shape.color, flat_shading=False))
        names = [j.name for j in robot.model.joints if j.q_slice.stop == j.q_slice.start + 1 and not j.coupled]
        if names:
            self._make_plot(names[: len(PALETTE)])

    def _make_plot(self, names: list[str]) -> None:
        zeros = np.array([-1.0, 0.0])
        series = [{"label": "t [s]"}]
        series += [{"label": n, "stroke": c, "width": 1} for n, c in zip(map(text, names), PALETTE, strict=False)]
        with self._efforts:
            self._plot = self._server.gui.add_uplot(
                (zeros, *(0.0 * zeros for _ in names)),
                tuple(series),
                scales={"x": {"time": False}},
                legend={"show": True},
                aspect=1.6,
            )

    def _draw_platform(self, view: PlatformView) -> None:
        scene, parts = self._server.scene, self._platform
        legs = view.points.astype(np.float32)
        edges = outline(view.points)
        color = np.array(GREY if view.stale else LEVELS[view.level], dtype=np.uint8)
        turn, at = quaternion(view.axes), view.pose[:3, 3]
        if not parts:
            arms = view.points[:6, 1] - view.points[:6, 1].mean(axis=0)
            width = 0.03 * float(np.linalg.norm(arms, axis=1).mean())
            self._platform = parts = {"root": scene.add_frame("/platform", show_axes=False, position=self._place)}
            parts["legs"] = scene.add_line_segments("/platform/legs", legs, BLUE, thickness=width)
            parts["outline"] = scene.add_line_segments("/platform/outline", edges, color, thickness=2.0 * width)
            parts["ellipsoid"] = scene.add_icosphere("/platform/ellipsoid", 1.0, (190, 0, 160), opacity=0.6)
        parts["legs"].points, parts["outline"].points, parts["outline"].colors = legs, edges, color
        ellipsoid = parts["ellipsoid"]
        ellipsoid.scale, ellipsoid.wxyz, ellipsoid.position = tuple(view.radii.tolist()), turn, at


def extent(picture: Picture, place: Array) -> Array:
    """Return points (k, 3) that bound what a picture shows in the world: the robot, its base, and the platform."""
    points = [np.zeros((0, 3))]
    if picture.robot is not None and picture.poses is not None:
        points += [np.zeros((1, 3)), corners_of(picture.robot, picture.poses)]
    if picture.platform is not None:
        points.append(picture.platform.points.reshape(-1, 3) + place)
    return np.concatenate(points)


def corners_of(robot: Robot, poses: Array) -> Array:
    """Return the corners (k, 3) of boxes around all shapes of a robot, with its bodies at poses (n_bodies, 4, 4)."""
    points = [np.zeros((0, 3))]
    for shape in robot.shapes:
        pose = np.eye(4) if shape.body < 0 else poses[shape.body]
        ends = np.array([shape.surface.vertices.min(axis=0), shape.surface.vertices.max(axis=0)])
        corners = ends[np.indices((2, 2, 2)).reshape(3, -1).T, range(3)]
        points.append(corners @ pose[:3, :3].T + pose[:3, 3])
    return np.concatenate(points)


def reach_of(robot: Robot) -> Array:
    """Return points (k, 3) that the robot's shapes reach, in `REACH_POSES` random poses within its limits."""
    model, rng, points = robot.model, np.random.default_rng(0), [np.zeros((0, 3))]
    moving = np.zeros(model.nq, dtype=bool)  # joints with several coordinates are drawn at zero
    for joint in model.joints:
        moving[joint.q_slice] = joint.q_slice.stop == joint.q_slice.start + 1
    for _ in range(REACH_POSES):
        poses = forward_kinematics(model, np.where(moving, model.random(rng), model.neutral()))
        if np.isfinite(poses).all() and np.abs(poses).max(initial=0.0) <= LARGEST:
            points.append(corners_of(robot, poses))
    return np.concatenate(points)


def bounds(points: Array) -> tuple[Array, Array, float]:
    """Return the lowest corner of the box around points (k, 3), its middle, and the diameter of a sphere there [m]."""
    low, high = points.min(axis=0), points.max(axis=0)
    middle = 0.5 * (low + high)
    return low, middle, max(2.0 * float(np.linalg.norm(points - middle, axis=1).max()), 1e-3)


def free_port(address: str, port: int) -> int:
    """Return the first port that is free; raises ConfigurationError. viser would look for one for ever."""
    reason = ""
    for candidate in range(port, min(port + PORTS, 65536)):
        try:
            with socket.create_server((address, candidate)) as found:
                return int(found.getsockname()[1])
        except OSError as error:
            reason = error.strerror or str(error)
    raise ConfigurationError(f"no page can be opened at {address!r}, port {port} and those after it: {reason}")


def refusal(host: list[str], origin: list[str], address: str) -> str:
    """Return why a request with these headers is not served by a page at an address, or nothing.

    Other web pages in the same browser can send requests here, and by a name of theirs that leads to this machine (DNS
    rebinding) read the answers. So the host that a request names must be a number, or a name of this machine, and what
    a page sends must come from this page.
    """
    if len(host) != 1 or len(origin) > 1:
        return "one Host, and at most one Origin, is expected"
    try:
        name = urlsplit(f"//{host[0]}").hostname or ""
    except ValueError:
        return "this Host is no name"
    if name not in {"localhost", address.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}:
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return f"{name!r} is not a name of this machine"
    if origin and origin[0].lower() not in {f"{scheme}://{host[0].lower()}" for scheme in ("http", "https")}:
        return "another page asks"
    return ""


def _guarded(make: Callable[[], Any], address: str, replay: Callable[[], bytes]) -> Any:
    """Return the server that ``make`` makes, which answers only this page's browsers, and serves the replay."""
    from websockets.asyncio import server as module

    serve, made = module.serve, []

    def guarded(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        async def first(connection: Any, request: Any) -> Any:
            reason = refusal(request.headers.get_all("Host"), request.headers.get_all("Origin"), address)
            if reason:
                return connection.respond(HTTPStatus.FORBIDDEN, f"{reason}\n")
            if request.path.partition("?")[0] == PATH and request.headers.get("Upgrade") != "websocket":
                answer = connection.respond(HTTPStatus.OK, "")
                answer.body = await asyncio.to_thread(replay)
                del answer.headers["Content-Length"], answer.headers["Content-Type"]
                answer.headers["Content-Length"] = str(len(answer.body))
                answer.headers["Content-Type"] = "application/octet-stream"
                return answer
            return process_request(connection, request) if process_request is not None else None

        made.append(True)
        return serve(*arguments, process_request=first, **options)

    module.serve = guarded  # type: ignore[misc, assignment]
    try:
        server = make()
    finally:
        module.serve = serve  # type: ignore[misc]
    if not made:
        server.stop()
        raise ConfigurationError(f"this version of viser is not known: it serves in another way; {MISSING}")
    return server


def _only_look(server: Any) -> Any:
    """Let nothing that a browser sends have an effect, such as a wish for a public address; return who looks."""
    wire = server._websock_server
    wire._incoming_handlers.clear()
    # Runs after viser's own, which gives each new one handlers.
    wire.on_client_connect(lambda connection: connection._incoming_handlers.clear())
    wire.disconnect_all_clients()  # who came before comes again
    return wire._client_state_from_id
