"""The node stewart_command over DDS: it begins, goes, refuses, stops, holds, levels, and judges paths."""

from __future__ import annotations

import math

import numpy as np
import pytest
from geometry_msgs.msg import PoseArray, PoseStamped, Transform, Twist, TwistStamped
from node_harness import stamp_of
from node_platforms import HOME, LEGS, TEXT, as_numbers, lengths, matrix_of, pose_at
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from support.preloaded import run_program
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

GOAL = pose_at([0.02, -0.02, 0.52], [0.05, -0.1, 0.1])
PLATFORM = TEXT + "\nleg_limits: [0.3, 0.8]\n"


def stamped(T, frame=""):
    message = PoseStamped()
    message.header.frame_id = frame
    fill(message.pose.position, message.pose.orientation, T)
    return message


def fill(p, q, T):
    p.x, p.y, p.z, q.x, q.y, q.z, q.w = as_numbers(T)


def state(bench, T):
    message = JointState(name=LEGS[::-1], position=lengths(T)[::-1].tolist(), velocity=[0.0] * 6)
    message.header.stamp = bench.node.get_clock().now().to_msg()
    return message


class Driver:
    """Legs that are where they are told to be."""

    def __init__(self, bench, node, at=HOME):
        self._bench, self._at = bench, lengths(at)
        self.silent = False
        self._states = bench.publisher(JointState, "joint_states")
        self.commands = bench.listen(JointState, f"{node}/leg_commands", 1000)
        self.poses = bench.listen(PoseStamped, f"{node}/desired_pose")

    def send(self):
        if self.silent:
            return
        if self.commands:
            self._at = np.array(self.commands[-1].position)
        message = JointState(name=LEGS, position=self._at.tolist(), velocity=[0.0] * 6)
        message.header.stamp = self._bench.node.get_clock().now().to_msg()
        self._states.publish(message)

    def until(self, condition, what):
        return self._bench.send_until(self.send, condition, what)

    def at(self, T):
        """Whether the platform is told to be in a pose."""
        return bool(self.poses) and np.abs(matrix_of(self.poses[-1].pose) - T).max() < 1e-6


def start(bench, **parameters):
    node = bench.start(
        "stewart_command",
        **{"platform": PLATFORM, "rate": 100.0, "max_acceleration": 5.0, "state_timeout": 5.0, **parameters},
    )
    return node, Driver(bench, node)


def refused(bench, driver, node, send, word):
    def again():
        send()
        driver.send()

    bench.send_until(again, lambda: bench.reported(node, lambda s, v: s.level == b"\x02" and word in s.message), word)


def test_goes_where_it_is_told_from_where_the_legs_are(bench):
    node, driver = start(bench)
    phases = bench.listen(String, f"{node}/phase")
    numbers = bench.listen(Float64MultiArray, f"{node}/commands")
    targets = bench.publisher(PoseStamped, f"{node}/target_pose")
    driver.until(lambda: driver.at(HOME), "the pose in which the legs are")
    assert tuple(driver.commands[-1].name) == LEGS
    np.testing.assert_allclose(driver.commands[-1].position, lengths(HOME), rtol=0, atol=1e-9)
    targets.publish(stamped(GOAL, "stewart_base"))
    driver.until(lambda: driver.at(GOAL), "the goal")
    np.testing.assert_allclose(driver.commands[-1].position, lengths(GOAL), rtol=0, atol=1e-9)
    assert all(np.isfinite([*m.position, *m.velocity, *m.effort]).all() for m in driver.commands)
    driver.until(lambda: any(m.data.startswith("following") for m in phases), "phase")
    driver.until(lambda: numbers and np.abs(numbers[-1].data - lengths(GOAL)).max() < 1e-9, "numbers")
    rates = np.abs([m.velocity for m in driver.commands]).max()
    assert 0.0 < rates <= 0.2
    path = PoseArray(poses=[stamped(pose_at([0, 0, 0.53], [0, 0, 0])).pose, stamped(HOME).pose])
    paths = bench.publisher(PoseArray, f"{node}/path")
    paths.publish(path)
    driver.until(lambda: driver.at(HOME), "the end of the path")
    trajectory = MultiDOFJointTrajectory()
    point = MultiDOFJointTrajectoryPoint(transforms=[Transform()], velocities=[Twist()])
    fill(point.transforms[0].translation, point.transforms[0].rotation, GOAL)
    point.time_from_start.nanosec = 300_000_000
    trajectory.points = [point]
    bench.publisher(MultiDOFJointTrajectory, f"{node}/trajectory").publish(trajectory)
    driver.until(lambda: driver.at(GOAL), "the end of the trajectory")
    twist = TwistStamped()
    twist.twist.linear.z = -0.1
    twists = bench.publisher(TwistStamped, f"{node}/target_twist")

    def down():
        twists.publish(twist)
        driver.send()

    bench.send_until(down, lambda: driver.commands[-1].velocity[0] < -0.01, "legs that shorten")
    driver.until(lambda: not any(driver.commands[-1].velocity), "rest")


def test_refuses_what_cannot_be_and_stops_without_leg_lengths(bench):
    node, driver = start(bench, state_timeout=2.0)
    targets = bench.publisher(PoseStamped, f"{node}/target_pose")
    states = bench.publisher(JointState, "joint_states")
    bench.wait_status(node, lambda s, v: s.level == b"\x01" and "waiting" in s.message, "waiting")
    assert not driver.commands
    driver.until(lambda: driver.at(HOME), "holding")
    for message, word in (
        (stamped(GOAL, "map"), "'map'"),
        (stamped(GOAL * math.nan), "not finite"),
        (stamped(pose_at([0, 0, 1.5], [0, 0, 0])), "leg "),
    ):
        refused(bench, driver, node, lambda message=message: targets.publish(message), word)
        assert driver.at(HOME)
    empty = bench.publisher(PoseArray, f"{node}/path")
    refused(bench, driver, node, lambda: empty.publish(PoseArray()), "0 poses")
    driver.silent = True
    old = state(bench, HOME)
    old.header.stamp.sec -= 60
    refused(bench, driver, node, lambda: states.publish(old), "no leg lengths")
    assert not bench.call(Trigger, f"{node}/hold", Trigger.Request()).success
    left = bench.call(Trigger, f"{node}/travel_left", Trigger.Request())
    assert left.success and "; about z -" in left.message
    driver.silent = False
    refused(bench, driver, node, lambda: targets.publish(stamped(GOAL)), "~/hold")
    assert bench.call(Trigger, f"{node}/hold", Trigger.Request()).success
    begin = bench.now()
    targets.publish(stamped(GOAL))
    driver.until(lambda: driver.at(GOAL) and stamp_of(driver.poses[-1]) > begin, "the goal after ~/hold")


PROGRAM = """
import rclpy
from rclpy.parameter import Parameter
from lie_dynamics_ros.nodes.stewart_command.node import StewartCommandNode

rclpy.init()
node = StewartCommandNode(parameter_overrides=[Parameter("autostart", value=False)])
assert node.trigger_configure().name == "SUCCESS", node.failure

def fails(*_):
    raise RuntimeError("on purpose")

usual, node._phases.publish = node._phases.publish, fails  # the last that activation does
assert node.trigger_activate().name == "FAILURE"
assert node.state == "inactive" and not node._ticker.running
node._phases.publish = usual
assert node.trigger_activate().name == "SUCCESS" and node._ticker.running
node._told = ("", "")
node._phases.publish = fails
node.trigger_deactivate()
assert node.state == "inactive" and not node._ticker.running
"""


def test_what_fails_half_way_leaves_no_timer(ros):
    done = run_program(PROGRAM)
    assert done.returncode == 0, done.stdout + done.stderr


def test_levels_the_platform_and_judges_paths(bench):
    interfaces = pytest.importorskip("lie_dynamics_interfaces.srv", reason="the interface package is not installed")
    service = getattr(interfaces, "CheckPosePath")  # noqa: B009
    node, driver = start(bench)
    driver.until(lambda: driver.at(HOME), "holding")
    ask = service.Request(poses=[stamped(GOAL)])
    found = bench.call(service, f"{node}/check_path", ask)
    assert (found.success, found.feasible, found.reason) == (True, True, "")
    assert found.duration > 0.0
    ask = service.Request(poses=[stamped(GOAL), stamped(pose_at([0, 0, 0.9], [0, 0, 0]))], times=[1.0, 2.0])
    found = bench.call(service, f"{node}/check_path", ask)
    assert (found.success, found.feasible, found.kind) == (True, False, "stroke")
    assert found.leg in LEGS and found.leg[-1] in found.reason
    assert found.value == pytest.approx(0.8, abs=0.01) and found.limit == 0.8
    assert 0.5 < found.fraction < 1.0 and found.time > 0.0
    for bad in ({"times": [1.0]}, {"shape": "round"}):
        assert not bench.call(service, f"{node}/check_path", service.Request(poses=[stamped(GOAL)] * 2, **bad)).success
    assert not bench.call(Trigger, f"{node}/level", Trigger.Request()).success
    imu = bench.publisher(Imu, "imu")
    leaning = pose_at([0, 0, 0.5], [0.1, -0.05, 0.0])
    message = Imu()
    a = message.linear_acceleration
    a.x, a.y, a.z = (9.81 * leaning[2, :3]).tolist()

    def level():
        driver.send()
        imu.publish(message)

    def levelled():
        level()
        return bench.call(Trigger, f"{node}/level", Trigger.Request()).success

    bench.wait(levelled, "an IMU that is heard")
    # What the IMU measures along its z axis then: the platform is turned by as much as it leaned.
    driver.until(lambda: np.abs(matrix_of(driver.poses[-1].pose)[:3, 2] - leaning[2, :3]).max() < 1e-6, "level")
