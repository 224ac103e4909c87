"""The node closed_loop as a process: the five-bar of the package, as its page starts it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from five_bar_machine import JOINTS, LOOPS, MOTORS, START, URDF, closed, derivative, efforts, tip
from geometry_msgs.msg import PoseWithCovarianceStamped, TwistStamped, WrenchStamped
from node_harness import stamp_of
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from support.sdf_text import as_sdf
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from lie_dynamics_ros.lie_dynamics import ConstraintSet, Model

PAGE = (Path(__file__).resolve().parents[3] / "doc" / "nodes" / "closed_loop.md").read_text()
(PARAMETERS,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
VALUES = yaml.safe_load(PARAMETERS)["/**"]["closed_loop"]["ros__parameters"]


@pytest.fixture
def node(bench):
    name = bench.start("closed_loop", **{**VALUES, "state_timeout": 60.0})
    bench.wait_state(name, "active")
    return name


@pytest.fixture(scope="module")
def unconfigured(module_bench):
    """A node that several tests share, and leave unconfigured."""
    return module_bench, module_bench.start("closed_loop", "unconfigured", autostart=False)


def state(bench, y, yd=(0.0, 0.0)):
    return bench.make_state(("gripper", *MOTORS[::-1]), [0.0, *y[::-1]], [np.nan, *yd[::-1]])


def test_all_joints_the_tip_and_efforts_are_told(bench, node):
    states = bench.listen(JointState, f"{node}/joint_states")
    torques = bench.listen(JointState, f"{node}/joint_efforts")
    poses = bench.listen(PoseWithCovarianceStamped, f"{node}/pose")
    twists = bench.listen(TwistStamped, f"{node}/twist")
    words = bench.listen(DiagnosticArray, f"{node}/status")
    commands = bench.publisher(JointTrajectory, f"{node}/joint_trajectory")
    yd, ydd = np.array([0.3, -0.2]), np.array([4.0, 7.0])
    point = JointTrajectoryPoint(accelerations=ydd[::-1].tolist())

    def ask():
        commands.publish(JointTrajectory(joint_names=MOTORS[::-1], points=[point]))
        return state(bench, START, yd)

    answer = bench.ask(ask, states)
    assert tuple(answer.name) == JOINTS and not answer.effort
    np.testing.assert_allclose(answer.position, closed(START), atol=1e-10)
    np.testing.assert_allclose(answer.velocity, derivative(closed, START) @ yd, atol=1e-6)
    expected = efforts(START, yd, ydd)

    def told():
        message = bench.ask(ask, torques)
        return message if np.allclose(message.effort, expected, atol=1e-4) else None

    assert tuple(bench.wait(told, "efforts for the accelerations").name) == MOTORS
    pose = bench.ask(ask, poses)
    assert pose.header.frame_id == "base"
    p, q = pose.pose.pose.position, pose.pose.pose.orientation
    np.testing.assert_allclose([p.x, p.z], tip(START), atol=1e-10)
    rod = np.sum(closed(START)[:2])
    assert abs(abs(q.y) - abs(np.sin(rod / 2))) < 1e-10 and abs(q.x) + abs(q.z) < 1e-10
    covariance = np.reshape(pose.pose.covariance, (6, 6))
    J = derivative(tip, START)
    np.testing.assert_allclose(covariance[np.ix_([0, 2], [0, 2])], 1e-10 * J @ J.T, rtol=1e-5, atol=1e-15)
    twist = bench.ask(ask, twists).twist.linear
    np.testing.assert_allclose([twist.x, twist.y, twist.z], np.insert(J @ yd, 1, 0.0), atol=1e-6)
    (status,) = bench.ask(ask, words).status
    values = {pair.key: pair.value for pair in status.values}
    assert status.message == "continued" and float(values["residual of hinge [m, rad]"]) < 1e-12


def test_travel_left_of_the_tip(bench, node):
    """Sideways as far as the closed form of the five-bar has elbows."""
    assert "no state has been followed yet" in bench.call(Trigger, f"{node}/travel_left", Trigger.Request()).message
    bench.ask(lambda: state(bench, START), bench.listen(JointState, f"{node}/joint_states"))
    answer = bench.call(Trigger, f"{node}/travel_left", Trigger.Request())
    assert answer.success and answer.message.startswith("x -") and "; z -" in answer.message
    bench.wait_status(node, lambda _, values: "travel left x [m]" in values, "the travel left")
    bench.wait_status(node, lambda _, values: "travel left z [m]" in values, "the other axis")


def test_what_motors_exert_besides_tells_the_force_at_the_tip(bench):
    components = {"estimated_wrench": ["force_x", "force_z"], "state_timeout": 60.0}
    node = bench.start("closed_loop", **{**VALUES, **components})
    bench.wait_state(node, "active")
    wrenches = bench.listen(WrenchStamped, f"{node}/external_wrench_estimate")
    push, rest = np.array([4.0, -9.0]), np.zeros(2)
    exerted = efforts(START, rest, rest, push)

    def ask():
        message = state(bench, START)
        message.effort = [0.0, *exerted[::-1]]
        return message

    answer = bench.ask(ask, wrenches)
    rod = -np.sum(closed(START)[:2])  # from x, about -y
    turn = np.array([[np.cos(rod), np.sin(rod)], [-np.sin(rod), np.cos(rod)]])
    force = answer.wrench.force
    np.testing.assert_allclose(turn @ [force.x, force.z], push, atol=1e-4)
    assert answer.header.frame_id == "tip" and force.y == answer.wrench.torque.y == 0.0


def test_wrenches_at_the_tip_and_what_cannot_be(bench, node):
    torques = bench.listen(JointState, f"{node}/joint_efforts")
    words = bench.listen(DiagnosticArray, f"{node}/status")
    wrenches = bench.publisher(WrenchStamped, f"{node}/external_wrench")
    push = WrenchStamped()
    push.header.frame_id = "base"  # which does not move
    bench.ask(lambda: state(bench, START), torques)
    wrenches.publish(push)
    bench.wait_status(node, lambda s, v: int(v.get("dropped: external wrenches") or 0) > 0, "a wrench that is dropped")
    push.header.frame_id = "tip"
    push.wrench.force.x = 10.0
    rod = np.sum(closed(START)[:2])
    expected = efforts(START, np.zeros(2), np.zeros(2), 10.0 * np.array([np.cos(rod), np.sin(rod)]))

    def ask():
        wrenches.publish(push)
        return state(bench, START)

    def told():
        return np.allclose(bench.ask(ask, torques).effort, expected, atol=1e-5) or None

    bench.wait(told, "efforts that balance the wrench")
    before = len(torques)
    jump = state(bench, [0.2, 2.9])  # cranks that cross
    bench.states.publish(jump)
    found = bench.wait(lambda: next((w for w in words if stamp_of(w) == stamp_of(jump)), None), "a word on the jump")
    assert found.status[0].message.startswith("kept at the last good configuration: ")
    assert all(stamp_of(t) != stamp_of(jump) for t in torques[before:])
    assert bench.call_once(Trigger, node, "reset", Trigger.Request()).success
    bench.ask(lambda: state(bench, START), torques)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"motors": ["left_motor"]}, "motors left_motor"),
        ({"measured_joints": ["left_motor"]}, "2 freedoms"),
        ({"loops": "loops: [{kind: hinge, first: tip, second: right_rod_end}]"}, "loops:"),
        ({"platform_frame": "top"}, "platform_frame"),
        ({"loops": "/nowhere.yaml"}, "loops:"),
    ],
)
def test_what_cannot_be_tracked_is_refused_with_the_reason(unconfigured, changes, words):
    bench, node = unconfigured
    assert bench.set(node, **{**VALUES, **changes}).successful
    assert not bench.change_state(node, "configure")
    bench.wait_status(node, lambda s, v: words in s.message, words)


def test_joints_and_frames_may_have_prefixes(bench):
    loops = "loops: [{name: hinge, kind: point_on_line, first: tip, second: right_rod_end, axis: [0, 1, 0]}]\n"
    node = bench.start(
        "closed_loop",
        **{**VALUES, "joint_prefix": "a_", "frame_prefix": "a/", "state_timeout": 60.0, "loops": loops},
    )
    states = bench.listen(JointState, f"{node}/joint_states")
    poses = bench.listen(PoseWithCovarianceStamped, f"{node}/pose")
    names = [f"a_{name}" for name in MOTORS]
    answer = bench.ask(lambda: bench.make_state(names, START, np.zeros(2)), states)
    assert tuple(answer.name) == tuple(f"a_{name}" for name in JOINTS)
    np.testing.assert_allclose(answer.position, closed(START), atol=1e-10)
    assert bench.ask(lambda: bench.make_state(names, START, np.zeros(2)), poses).header.frame_id == "a/base"
    assert URDF.count("left_motor") == 1


MJCF = """<?xml version="1.0"?>
<!-- the same five-bar -->
<mujoco><compiler angle="radian"/><worldbody>
  <body name="left_crank" pos="-0.1 0 0"><joint name="left_motor" axis="0 -1 0"/>{crank}
    <body name="left_rod" pos="0.25 0 0"><joint name="left_elbow" axis="0 -1 0"/>{rod}
      <site name="tip" pos="0.35 0 0"/></body></body>
  <body name="right_crank" pos="0.1 0 0"><joint name="right_motor" axis="0 -1 0"/>{crank}
    <body name="right_rod" pos="0.25 0 0"><joint name="right_elbow" axis="0 -1 0"/>{rod}
      <site name="end" pos="0.35 0 0"/></body></body>
</worldbody><equality><connect name="hinge" site1="tip" site2="end"/></equality></mujoco>""".format(
    crank='<inertial pos="0.125 0 0" mass="0.5" diaginertia="1e-4 2.6e-3 2.6e-3"/>',
    rod='<inertial pos="0.175 0 0" mass="0.3" diaginertia="5e-5 3.1e-3 3.1e-3"/>',
)


def test_mjcf_brings_its_loops(bench):
    pytest.importorskip("mujoco", reason="what reads MJCF, mujoco, is not installed")
    node = bench.start("closed_loop", **{**VALUES, "robot_description": MJCF, "loops": "", "state_timeout": 60.0})
    torques = bench.listen(JointState, f"{node}/joint_efforts")
    answer = bench.ask(lambda: state(bench, START), torques)
    assert tuple(answer.name) == MOTORS
    np.testing.assert_allclose(answer.effort, efforts(START, np.zeros(2), np.zeros(2)), atol=1e-5)


@pytest.mark.slow
def test_joints_of_mjcf_are_locked(bench):
    """The right crank needs neither motor nor sensor then: the rest follows from the left one."""
    pytest.importorskip("mujoco", reason="what reads MJCF, mujoco, is not installed")
    left, right = MOTORS
    locked = {"locked_joints": [right], "locked_positions": [float(START[1])]}
    values = {**VALUES, "robot_description": MJCF, "loops": "", "state_timeout": 60.0, **locked}
    values |= {"motors": [left], "measured_joints": [left]}
    node = bench.start("closed_loop", **values)
    states = bench.listen(JointState, f"{node}/joint_states")
    moved = np.array([START[0] + 0.02, START[1]])
    answer = bench.ask(lambda: bench.make_state([left], moved[:1], np.zeros(1)), states)
    np.testing.assert_allclose(dict(zip(answer.name, answer.position, strict=True))["right_elbow"],
                               dict(zip(JOINTS, closed(moved), strict=True))["right_elbow"], atol=1e-9)  # fmt: skip


def test_sdf_from_the_topic_brings_its_loops_and_its_start(bench):
    tree = Model.from_urdf(URDF)
    text = as_sdf(tree, ConstraintSet.from_yaml(tree, LOOPS), closed(START))
    given = {key: value for key, value in VALUES.items() if not key.startswith("start_")}
    node = bench.start("closed_loop", **{**given, "robot_description": "", "loops": "", "state_timeout": 60.0})
    poses = bench.listen(PoseWithCovarianceStamped, f"{node}/pose")
    torques = bench.listen(JointState, f"{node}/joint_efforts")
    bench.publish_description(text)
    bench.wait_state(node, "active")
    moved = np.array([0.1, -0.2])  # from where the file closes
    answer = bench.ask(lambda: state(bench, moved), torques)
    assert tuple(answer.name) == MOTORS
    np.testing.assert_allclose(answer.effort, efforts(START + moved, np.zeros(2), np.zeros(2)), atol=1e-5)
    p = bench.ask(lambda: state(bench, moved), poses).pose.pose.position
    np.testing.assert_allclose([p.x, p.z], tip(START + moved), atol=1e-10)


def test_mjcf_is_not_taken_from_the_topic(bench):
    node = bench.start("closed_loop", **{**VALUES, "robot_description": ""})
    bench.publish_description(MJCF)
    bench.wait_status(node, lambda s, v: "MJCF is taken from the parameter" in s.message, "the refusal")
