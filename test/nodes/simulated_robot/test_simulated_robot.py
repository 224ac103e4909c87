"""The simulated_robot node: what a driver would publish, and a motion that is one."""

import numpy as np
import pytest
from node_harness import LATCHED, stamp_of
from node_robots import ARM, ARM_JOINTS, NO_JOINTS, pendulum
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from support.grids import every_run
from trajectory_msgs.msg import JointTrajectoryPoint

from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.nodes.simulated_robot.core import SineMotion
from lie_dynamics_ros.nodes.simulated_robot.node import SimulatedRobot
from lie_dynamics_ros.ros.inputs.commands import EFFORT


@pytest.mark.parametrize("frequency", every_run((0.2,), (0.05, 0.2, 2.0)))
def test_the_motion_keeps_the_limits_and_is_consistent(frequency):
    model = Model.from_urdf(ARM)
    motion = SineMotion(model, frequency)
    h = 1e-6
    for t in np.linspace(0.0, 60.0, 997):
        q, qd, qdd = motion.at(t)
        assert (model.limits.lower < q).all() and (q < model.limits.upper).all()
        assert (np.abs(qd) <= model.limits.velocity).all()
        (q0, qd0, _), (q1, qd1, _) = motion.at(t - h), motion.at(t + h)
        scale = 1.0 + np.abs(qdd).max()
        np.testing.assert_allclose((q1 - q0) / (2 * h), qd, atol=1e-8 * scale)
        np.testing.assert_allclose((qd1 - qd0) / (2 * h), qdd, atol=1e-7 * scale)


def test_joints_without_limits_move_too():
    text = pendulum().replace('type="revolute"', 'type="continuous"')
    text = text.replace('<limit lower="-3" upper="3" velocity="5" effort="100.0"/>', "")
    q = np.array([SineMotion(Model.from_urdf(text), 0.5).at(t)[0][0] for t in np.linspace(0, 10, 100)])
    assert np.isfinite(q).all() and np.ptp(q) > 1.0


def test_publishes_states_accelerations_and_the_description(bench):
    node = bench.start("simulated_robot", rate=200.0)
    states = bench.listen(JointState, "joint_states")
    points = bench.listen(JointTrajectoryPoint, f"{node}/joint_trajectory_point")
    descriptions = bench.listen(String, "robot_description", LATCHED)
    bench.wait(lambda: len(states) >= 100 and len(points) >= 100 and descriptions, "states")
    assert descriptions[0].data == ARM
    assert {tuple(state.name) for state in states} == {ARM_JOINTS}
    stamps = [stamp_of(state) for state in states]
    assert stamps == sorted(stamps)
    # All on one motion: a sine about the middle of the range, whose acceleration follows from the position.
    motion = SineMotion(Model.from_urdf(ARM), 0.2)
    for state in states:
        swing = np.array(state.position) - motion.center
        energy = swing**2 + (np.array(state.velocity) / motion.rate) ** 2
        np.testing.assert_allclose(energy, motion.amplitude**2, rtol=1e-9)
    # Accelerations have no time stamp: those of states that were heard are among those that were heard, in a while.

    def of_states():
        expected = -(motion.rate**2) * (np.array([s.position for s in states]) - motion.center)
        found = [np.abs(expected - np.array(point.accelerations)).max(axis=1).min() for point in points[-100:]]
        return sum(off < 1e-9 for off in found) >= 50

    bench.wait(of_states, "accelerations of the states")
    assert (np.abs([p.accelerations for p in points]) <= motion.rate**2 * motion.amplitude * (1 + 1e-12)).all()


def test_publishes_nothing_unless_active(bench):
    node = bench.start("simulated_robot", autostart=False, robot_description=pendulum(), rate=1000.0)
    states = bench.listen(JointState, "joint_states")
    assert bench.change_state(node, "configure")
    assert bench.change_state(node, "activate")
    bench.wait(lambda: states, "states")
    assert bench.change_state(node, "deactivate")
    begin = bench.now()
    bench.wait_status(node, lambda s, v: v["lifecycle state"] == "inactive", "inactive", since=begin)
    end = bench.now()
    assert bench.change_state(node, "activate")
    bench.wait(lambda: stamp_of(states[-1]) > end, "states again")
    assert not [s for s in states if begin < stamp_of(s) < end]


@pytest.mark.parametrize(("robot", "reason"), [(NO_JOINTS, "no joint that moves"), ("/no/such.urdf", "such.urdf")])
def test_does_not_configure_without_a_usable_robot(bench, robot, reason):
    node = bench.start("simulated_robot", robot_description=robot)
    bench.wait_status(node, lambda s, v: s.level == b"\x02" and reason in s.message, reason)
    assert bench.state(node) == "unconfigured"


def test_commands_of_two_controllers_at_once_are_both_obeyed(bench):
    node = SimulatedRobot(namespace=bench.namespace, parameter_overrides=[Parameter("mode", value="dynamics")])
    bench.executor.add_node(node)
    bench.wait(lambda: node.state == "active", "the simulated robot")
    publishers = [bench.publisher(JointState, "simulated_robot/joint_efforts") for _ in range(2)]
    commands = [JointState(name=[name], effort=[1.0]) for name in ARM_JOINTS[:2]]

    def both_at_once():  # nothing is taken between the two: a queue for one would hold the second alone, each time
        before = node._commands.taken
        for publisher, command in zip(publishers, commands, strict=True):
            publisher.publish(command)
        bench.wait(lambda: node._commands.taken > before, "a command")
        return (node._simulation.told[:2] == EFFORT).all()

    bench.wait(both_at_once, "both commands to be obeyed")
    bench.executor.remove_node(node)
    node.destroy_node()


def test_a_parameter_that_the_node_does_not_have_is_named(bench):
    bench.start("simulated_robot", robot_description=pendulum(), ratee=5.0)
    bench.wait(lambda: "of no effect: 'ratee'\n" in bench.processes[-1].output, "its name")
