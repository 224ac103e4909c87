"""How the demo starts: it waits for its nodes, compiles only the kernels that it calls, and bears other robots."""

import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from support.robots import PANDA, UR5, all_robots, load, path

from lie_dynamics_ros.demo import NEEDED, watch
from lie_dynamics_ros.demo.control import EXACT_LIMIT
from lie_dynamics_ros.demo.play import LONGEST, SHORTEST, Act, Play, rehearse
from lie_dynamics_ros.demo.processes import ShortfallError
from lie_dynamics_ros.demo.watch import Reports
from lie_dynamics_ros.lie_dynamics import DescriptionError, Model
from lie_dynamics_ros.lie_dynamics.engine.ahead import load_all
from lie_dynamics_ros.ros.inputs.model_loading import read_description
from lie_dynamics_ros.ros.node.description_source import BEING_READ


def waited(monkeypatch, read_until, answers_at):
    """Let ten seconds pass at each look; return how long it was waited for answers [s]."""
    now, reports = [0.0], Reports()

    def listen(*_):
        now[0] += 10.0
        message = BEING_READ if now[0] <= read_until else "ok"
        reports.on_message(DiagnosticArray(status=[DiagnosticStatus(name="node", message=message)]))

    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(watch, "_listen", listen)
    showcase = SimpleNamespace(title="arm", ready=lambda: now[0] >= answers_at)
    watch._await_answers([showcase], reports, (), SimpleNamespace(ended=list))
    return now[0]


@pytest.mark.parametrize(("read_until", "answers_at"), [(0.0, 100.0), (900.0, 1000.0), (1700.0, 1750.0)])
def test_it_waits_as_long_as_a_robot_is_being_read(monkeypatch, read_until, answers_at):
    assert waited(monkeypatch, read_until, answers_at) == answers_at


@pytest.mark.parametrize(("read_until", "given_up"), [(0.0, 130.0), (500.0, 630.0), (1e9, 1810.0)])
def test_it_gives_up_where_nothing_is_under_way_any_more(monkeypatch, read_until, given_up):
    with pytest.raises(ShortfallError, match="no answers came from: arm"):
        waited(monkeypatch, read_until, 1e9)
    assert watch.time.monotonic() == given_up


@pytest.mark.parametrize(("opens_at", "ended_at"), [(5.0, None), (300.0, None), (None, 30.0), (None, None)])
def test_a_page_is_waited_for_as_long_as_its_node_runs_and_that_is_said(monkeypatch, capsys, opens_at, ended_at):
    now = [0.0]

    def passed(at):
        return at is not None and now[0] >= at

    children = SimpleNamespace(
        start=lambda *_: None,
        output=lambda _: "the page is at http://there" if passed(opens_at) else "compiling",
        ended=lambda: ["viewer"] if passed(ended_at) else [],
    )

    def sleep(seconds):
        now[0] += 20.0 * seconds

    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    if opens_at:
        assert watch.start_view([], children) == "http://there"
    else:
        with pytest.raises(ShortfallError, match=r"no page was opened.*\n.*compiling"):
            watch.start_view([], children)
    over = opens_at or ended_at or watch.PATIENCE
    assert now[0] == pytest.approx(over, abs=2.0)
    assert capsys.readouterr().out.count("waiting for the page") == pytest.approx(over / watch.SAID, abs=1.0)


@pytest.mark.parametrize("at", [None, 0.0, 5.0])
def test_the_show_begins_when_the_page_is_open_or_after_a_minute(monkeypatch, capsys, at):
    now, read = [0.0], []

    def wait(streams, _w, _x, seconds):
        now[0] += seconds
        return ([streams[0]] if at is not None and now[0] > at else [], [], [])

    keys = SimpleNamespace(isatty=lambda: True, readline=lambda: read.append(True))
    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(watch, "select", SimpleNamespace(select=wait))
    monkeypatch.setattr(watch, "sys", SimpleNamespace(stdin=keys))
    watch.await_browser()
    assert now[0] == pytest.approx(watch.OPENING if at is None else at, abs=0.5) and len(read) == (at is not None)
    assert "press Enter" in capsys.readouterr().out
    keys.isatty = lambda: False
    watch.await_browser()
    assert not capsys.readouterr().out


def test_kernels_that_the_demo_calls_exist():
    assert {kernel.py_func.__name__ for kernel in load_all()} > NEEDED


@pytest.mark.slow
def test_the_demo_compiles_no_other_kernels(tmp_path):
    environment = {**os.environ, "LIE_DYNAMICS_CACHE_DIR": str(tmp_path / "cache")}

    def run(*command):
        command = [sys.executable, *command]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stdout + done.stderr
        return {path.name for path in (tmp_path / "cache").rglob("*.nbi")}

    compiled = run("tools/kernels.py", "demo")
    assert len(compiled) >= len(NEEDED)
    assert run("-m", "lie_dynamics_ros.demo", "--output", str(tmp_path)) == compiled

TIAGO = "tiago_pro_description/robots/tiago_pro.urdf"  # short fingers: 33 mrad at 250 Hz
ARM = "package://lie_dynamics_ros/urdf/panda_arm.urdf"
ARMS = {
    PANDA: 1.0,
    UR5: 1.0,
    "xarm_description/urdf/xarm7.urdf": 0.08,
    "kinova_description/robots/kinova.urdf": 0.2,
    "z1_description/urdf/z1.urdf": 0.02,
    "solo_description/robots/solo12.urdf": 0.009,
}
"""The least payload that they must be shown with [kg]."""
TOO_WEAK = {"baxter", "pr2", "simple_humanoid", "simple_humanoid_classical", "talos_left_arm", "tiago_dual"}
TOO_WEAK |= {"talos_reduced", "talos_reduced_box", "talos_reduced_corrected"}
MASSLESS = {"romeo", "romeo_laas_small"}
EMPTY, RIGID = {"ur3"}, {"quadrotor_base", "iris_simple"}
STOPPED = {"human", "icub", "icub_reduced"}  # joints without inertia to speak of
REASONS = {
    "effort limits": TOO_WEAK,
    "inertia along it vanishes": MASSLESS,
    "in act exact the controller stops it": STOPPED,
}


def moves(model):
    return model.nv and all(joint.kind in ("revolute", "continuous", "prismatic") for joint in model.joints)


def check(play):
    """Play it without ROS: the controller's limits are kept, and the payload is learned."""
    exact, loaded, adapted = rehearse(play)
    assert loaded < 0.3 and adapted <= max(0.5 * loaded, 2.0 * exact, 1e-9)
    return exact


@pytest.mark.slow
@pytest.mark.parametrize("robot", ARMS)
def test_arms_are_played_as_short_and_with_a_payload(robot):
    play = Play(load(robot), SHORTEST)
    assert ARMS[robot] <= play.payload.mass <= 1.5
    assert check(play) < EXACT_LIMIT


def test_the_payload_does_not_depend_on_how_long_the_play_is():
    short, long = (Play(load(UR5), seconds).payload for seconds in (SHORTEST, LONGEST))
    assert short == long


@pytest.mark.slow
@pytest.mark.parametrize("robot", all_robots())
def test_all_robots_are_played_or_it_is_said_why_not(robot):
    name = robot.rpartition("/")[2].removesuffix(".urdf")
    if name in EMPTY:
        with pytest.raises(DescriptionError, match="no links"):
            load(robot)
        return
    model = load(robot)
    assert (name not in RIGID) == bool(moves(model))
    if name in RIGID:
        return
    (expected,) = [reason for reason, names in REASONS.items() if name in names] or [""]
    found = ""
    try:
        check(Play(model, LONGEST))
    except ShortfallError as reason:
        found = str(reason)
    assert bool(found) == bool(expected) and expected in found


def test_the_payload_lies_on_the_axis_of_the_last_joint_where_the_link_is():
    play = Play(load(UR5), SHORTEST)
    assert play.payload.link == "wrist_3_link"
    np.testing.assert_allclose(play.payload.center, [0.0, 0.1, 0.0], atol=1e-12)


def test_the_rehearsal_tells_of_a_stop_and_of_a_refusal():
    play = Play(Model.from_urdf(read_description(ARM)), SHORTEST)
    exact, payload, adaptive = play.acts
    heavy = Act(**{**vars(payload), "robot": {**payload.robot, "payload_mass": 10.0 * play.payload.mass}})
    play.acts = (exact, heavy, adaptive)
    with pytest.raises(ShortfallError, match=r"in act payload the controller stops it: joint panda_joint\d"):
        rehearse(play)
    play.acts = (exact, payload, adaptive)
    times, (position, velocity, acceleration) = play.points(exact.duration)
    play.points = lambda duration: (0.2 * times, (position, velocity, acceleration))
    with pytest.raises(ShortfallError, match="act exact: a trajectory with a velocity of"):
        rehearse(play)


def test_payloads_scale():
    payload = Play(load(UR5), SHORTEST).payload
    assert payload.scaled(0.5) == replace(payload, mass=0.75)


@pytest.mark.slow
@pytest.mark.parametrize("robot", [UR5, "xarm_description/urdf/xarm7.urdf", TIAGO])
def test_the_whole_demo_passes_with_other_robots(robot, tmp_path):
    command = [sys.executable, "-m", "lie_dynamics_ros.demo", "--seconds", f"{SHORTEST:g}", "--inertia-check", "warn"]
    command += ["--urdf", os.fspath(path(robot))]
    demo = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600.0, check=False)
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "payload found" in demo.stdout and "demo passed" in demo.stdout
