"""The accelerations and efforts that the hybrid_dynamics node answers with, against another library."""

from __future__ import annotations

import math

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from node_harness import SharedNode
from node_robots import ARM, ARM_JOINTS, oracle, pendulum
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from lie_dynamics_ros.nodes.hybrid_dynamics.node import SETTINGS

pin = pytest.importorskip("pinocchio", reason="the oracle, pin, is not installed")

RNG = np.random.default_rng(77)
Q, QD = RNG.uniform(-1, 1, 7), RNG.uniform(-2, 2, 7)
LONG = 3600.0
NAN = math.nan


@pytest.fixture
def bench(module_bench):
    return module_bench


@pytest.fixture(scope="module")
def shared(module_bench):
    """A node that begins afresh for each test, its accelerations and efforts."""
    node = SharedNode(module_bench, "hybrid_dynamics", SETTINGS)
    topics = (JointTrajectory, f"{node.name}/joint_accelerations"), (JointState, f"{node.name}/joint_efforts")
    return node, *(module_bench.listen(*topic) for topic in topics)


@pytest.fixture
def arm(bench, shared):
    """Let the node begin with the arm; returns its name and a function that asks for accelerations and efforts."""
    shared_node, accelerations, efforts = shared

    def start(urdf=ARM, **parameters):
        node = shared_node.begin(robot_description=urdf, command_timeout=LONG, **parameters)

        def ask(q=Q, qd=QD, names=ARM_JOINTS, tau=()):
            def state():
                message = bench.make_state(names, q, qd)
                message.effort = list(tau)
                return message

            motion, force = bench.ask(state, accelerations, efforts)
            (point,) = motion.points
            assert list(motion.joint_names) == list(force.name)
            assert not point.positions and not point.velocities and not point.effort
            return np.array(point.accelerations), np.array(force.effort)

        return node, ask

    return start


def falling(tau=0.0, q=Q, qd=QD):
    model = pin.buildModelFromXML(ARM)
    return pin.aba(model, model.createData(), q, qd, np.zeros(7) + tau)


def close(found, expected, tolerance=1e-11):
    return np.allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def assert_consistent(qdd, tau):
    """Whatever was given, this is one motion of the arm."""
    assert close(tau, oracle(ARM, Q, QD, qdd), 1e-12)


def test_falls_without_a_command(arm):
    _, ask = arm()
    qdd, tau = ask()
    assert close(qdd, falling())
    assert not tau.any()


def test_joints_without_a_command_are_held_or_have_their_measured_effort(bench, arm):
    node, ask = arm(unnamed_joints="zero_acceleration")
    qdd, tau = ask()
    assert not qdd.any() and close(tau, oracle(ARM, Q, QD), 1e-12)
    assert bench.set(node, unnamed_joints="measured_effort").successful
    measured = RNG.uniform(-10, 10, 7)
    qdd, tau = ask(tau=measured)
    np.testing.assert_array_equal(tau, measured)
    assert close(qdd, falling(measured))
    # By name, like everything else; what is not measured counts as zero, and the node says so.
    order = RNG.permutation(7)
    partly = measured.copy()
    partly[order[2]] = NAN
    qdd, tau = ask(Q[order], QD[order], [ARM_JOINTS[i] for i in order], partly[order])
    np.testing.assert_array_equal(tau, np.nan_to_num(partly))
    assert close(qdd, falling(np.nan_to_num(partly)))
    bench.wait_status(node, lambda s, v: "measured efforts are absent" in s.message, "efforts absent")
    result = bench.set(node, unnamed_joints="anything")
    assert not result.successful and "zero_effort" in result.reason


NAMED = [ARM_JOINTS[4], "finger", ARM_JOINTS[0], ARM_JOINTS[2]]  # acceleration, (none), effort, acceleration


def check_command(ask, unnamed):
    """Whether there is a command in the answer: accelerations 3 and -1 of the joints 5 and 3, effort 4 of joint 1.

    Without one, the answer must be that to no command.
    """
    qdd, tau = ask()
    if not (qdd[4] == 3.0 and qdd[2] == -1.0 and tau[0] == 4.0):
        assert not tau.any() and close(qdd, falling()) if unnamed == "zero_effort" else not qdd.any()
        return False
    others = [1, 3, 5, 6]
    given = qdd if unnamed == "zero_acceleration" else tau
    assert not given[others].any()
    assert_consistent(qdd, tau)
    return True


@pytest.mark.parametrize("unnamed", ["zero_effort", "zero_acceleration"])
def test_accelerations_and_efforts_are_prescribed_by_name(bench, arm, unnamed):
    messages = pytest.importorskip("lie_dynamics_interfaces.msg", reason="lie_dynamics_interfaces is not installed")
    node, ask = arm(unnamed_joints=unnamed)
    type_ = messages.HybridCommand
    commands = bench.publisher(type_, f"{node}/command")
    message = type_(
        joint_names=NAMED,
        prescribed=[True, False, False, True],
        input=[3.0, 99.0, 4.0, -1.0],
    )
    bench.send_until(lambda: commands.publish(message), lambda: check_command(ask, unnamed), "the command")
    bench.wait_status(
        node,
        lambda s, v: v["commanded joints"] == ", ".join(ARM_JOINTS[i] for i in (0, 2, 4)),
        "the commanded joints",
    )


def test_standard_messages_will_do(bench, arm):
    node, ask = arm()
    trajectories = bench.publisher(JointTrajectory, f"{node}/joint_trajectory")
    point = JointTrajectoryPoint(accelerations=[3.0, NAN, NAN, -1.0], effort=[NAN, 99.0, 4.0, NAN])
    message = JointTrajectory(joint_names=NAMED, points=[point])
    bench.send_until(lambda: trajectories.publish(message), lambda: check_command(ask, "zero_effort"), "the command")
    # What cannot be used is counted, and the command before stays.
    bad = JointTrajectory(joint_names=NAMED, points=[JointTrajectoryPoint(accelerations=[1.0])])
    bench.send_until(
        lambda: trajectories.publish(bad),
        lambda: bench.reported(node, lambda s, v: v["dropped: commands"]),
        "the bad command to be refused",
    )
    assert check_command(ask, "zero_effort")
    # A stale one counts no longer.
    assert bench.set(node, command_timeout=0.01).successful
    bench.wait(lambda: not check_command(ask, "zero_effort"), "the command to be forgotten")
    bench.wait_status(node, lambda s, v: "the command is stale" in s.message, "a stale command")


def test_order_of_the_outputs_and_gravity(bench, arm):
    chosen = [ARM_JOINTS[3], ARM_JOINTS[1]]
    node, ask = arm(joints=chosen, unnamed_joints="zero_acceleration")
    assert bench.set(node, gravity=[9.81, 0.0, 0.0]).successful
    qdd, tau = ask()
    assert not qdd.any()
    assert close(tau, oracle(ARM, Q, QD, gravity=(9.81, 0.0, 0.0))[[3, 1]], 1e-12)


def test_counts_external_wrenches(bench, arm):
    node, ask = arm(wrench_timeout=LONG)
    wrenches = bench.publisher(WrenchStamped, f"{node}/external_wrench")
    message = WrenchStamped()
    message.header.frame_id = "panda_link8"
    message.wrench.force.x, message.wrench.force.z, message.wrench.torque.y = 3.0, 15.0, 2.0
    model = pin.buildModelFromXML(ARM)
    jacobian = pin.computeFrameJacobian(model, model.createData(), Q, model.getFrameId("panda_link8"), pin.LOCAL)
    expected = falling(jacobian.T @ np.array([3.0, 0.0, 15.0, 0.0, 2.0, 0.0]))
    bench.turns(
        lambda: wrenches.publish(message) or ask(), expected, falling(), numbers=lambda a: a[0], tolerance=1e-11
    )


def test_limited_efforts_move_the_robot_as_they_can(bench, arm):
    # Holding the rod level takes 9.81 N m; 5 N m are allowed. Its inertia about the joint is 0.6 kg m^2.
    node, ask = arm(pendulum(effort=5.0), unnamed_joints="zero_acceleration")
    gravity = oracle(pendulum(), [np.pi / 2])[0]
    (qdd,), (tau,) = ask([np.pi / 2], [0.0], ["swing"])
    assert tau == 5.0 * np.sign(gravity)
    assert qdd == pytest.approx((tau - gravity) / 0.6, rel=1e-12)
    bench.wait_status(node, lambda s, v: "efforts limited: swing" in s.message, "the limit")
    assert bench.set(node, saturate_efforts=False).successful
    (qdd,), (tau,) = ask([np.pi / 2], [0.0], ["swing"])
    assert qdd == 0.0 and tau == pytest.approx(gravity, rel=1e-12)


MASSLESS = pendulum().replace(
    "</robot>",
    """
  <link name="feather"/>
  <joint name="free" type="revolute">
    <parent link="rod"/><child link="feather"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="5" effort="0"/>
  </joint>
</robot>""",
)


def test_a_body_without_mass_needs_an_acceleration(bench, arm):
    node, _ = arm(MASSLESS)
    bench.send_until(
        lambda: bench.states.publish(bench.make_state(["swing", "free"], [0.1, 0.2], [0.0, 0.0])),
        lambda: bench.reported(node, lambda s, v: v["dropped: no result"] and "'free'" in v["last problem"]),
        "the state to be refused, with the joint's name",
    )
    assert bench.set(node, unnamed_joints="zero_acceleration").successful
    answers = bench.received[f"{node}/joint_efforts"]
    answer = bench.ask(lambda: bench.make_state(["swing", "free"], [0.1, 0.2], [0.0, 0.0]), answers)
    np.testing.assert_allclose(answer.effort, oracle(MASSLESS, [0.1, 0.2]), rtol=1e-12, atol=1e-15)
