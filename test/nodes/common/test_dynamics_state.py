"""What the dynamics nodes say they answered, and from what: held against another library and against the answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from node_robots import ARM, ARM_JOINTS, assert_close, oracle, pendulum
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

messages = pytest.importorskip("lie_dynamics_interfaces.msg", reason="lie_dynamics_interfaces is not installed")
pin = pytest.importorskip("pinocchio", reason="the oracle, pin, is not installed")

RNG = np.random.default_rng(5)
Q, QD = RNG.uniform(-1, 1, 7), RNG.uniform(-2, 2, 7)
ORDER = RNG.permutation(7)
FORCE = [3.0, -20.0, 15.0]
LONG = 3600.0


def wrench():
    message = WrenchStamped()
    message.header.frame_id = "panda_link8"
    message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = FORCE
    return message


def effort_of_wrench(q):
    model = pin.buildModelFromXML(ARM)
    jacobian = pin.computeFrameJacobian(model, model.createData(), q, model.getFrameId("panda_link8"), pin.LOCAL)
    return jacobian.T @ np.array([*FORCE, 0.0, 0.0, 0.0])


@pytest.fixture
def ask(bench):
    """Start a node; returns its name and a function that asks for its efforts and for what it says about them."""

    def start(module, urdf=ARM, **parameters):
        node = bench.start(module, robot_description=urdf, **parameters)
        topics = (
            bench.listen(JointState, f"{node}/joint_efforts"),
            bench.listen(messages.DynamicsState, f"{node}/dynamics_state"),
        )
        return node, lambda make: bench.ask(make, *topics)

    return start


def arm_state(bench):
    """Joints in another order than the model's, the last one without velocity."""
    velocity = np.append(QD[:6], math.nan)
    return bench.make_state([ARM_JOINTS[i] for i in ORDER], Q[ORDER], velocity[ORDER])


USED = np.append(QD[:6], 0.0)


def check_arm(said, wrenched):
    """Check what does not depend on the node."""
    assert tuple(said.joint_names) == ARM_JOINTS
    np.testing.assert_array_equal(said.position, Q)
    assert_close(said.gravity_effort, oracle(ARM, Q))
    assert not said.limited
    expected = effort_of_wrench(Q) if wrenched else np.zeros(7)
    np.testing.assert_allclose(said.wrench_effort, expected, rtol=0, atol=1e-12 * np.abs(effort_of_wrench(Q)).max())
    assert_close(said.effort_before_limits, said.effort)


def test_inverse_dynamics_says_what_it_computed_efforts_from(bench, ask):
    node, answer = ask("inverse_dynamics", acceleration_timeout=LONG, wrench_timeout=LONG)
    efforts, said = answer(lambda: arm_state(bench))
    check_arm(said, wrenched=False)
    np.testing.assert_array_equal(said.velocity, USED)
    assert all(said.prescribed) and not any(said.input) and not any(said.acceleration)
    assert_close(said.effort, oracle(ARM, Q, USED))
    points = bench.publisher(JointTrajectoryPoint, f"{node}/joint_trajectory_point")
    wrenches = bench.publisher(WrenchStamped, f"{node}/external_wrench")
    qdd = RNG.uniform(-5, 5, 7)

    def renewed():
        points.publish(JointTrajectoryPoint(accelerations=list(qdd)))
        wrenches.publish(wrench())
        efforts, said = answer(lambda: arm_state(bench))
        # Whatever has arrived by now, this holds.
        np.testing.assert_array_equal(efforts.effort, said.effort)
        expected = oracle(ARM, Q, USED, said.acceleration) - said.wrench_effort
        np.testing.assert_allclose(said.effort, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
        return any(said.acceleration) and any(said.wrench_effort) and said

    said = bench.wait(renewed, "both inputs")
    check_arm(said, wrenched=True)
    np.testing.assert_array_equal(said.input, qdd)
    np.testing.assert_array_equal(said.acceleration, qdd)
    assert bench.set(node, driver_compensates_gravity=True, saturate_efforts=False).successful
    efforts, said = answer(lambda: arm_state(bench))
    expected = oracle(ARM, Q, USED, qdd) - effort_of_wrench(Q)
    assert_close(said.effort, expected)
    np.testing.assert_allclose(
        np.add(efforts.effort, said.gravity_effort), expected, rtol=0, atol=1e-12 * np.abs(expected).max()
    )
    assert bench.set(node, driver_compensates_gravity=False, gravity_only=True).successful
    efforts, said = answer(lambda: arm_state(bench))
    check_arm(said, wrenched=False)
    assert not any(said.velocity) and not any(said.acceleration)
    assert_close(said.effort, oracle(ARM, Q))
    assert_close(efforts.effort, oracle(ARM, Q))


def test_hybrid_dynamics_says_what_it_computed_accelerations_from(bench, ask):
    node, answer = ask("hybrid_dynamics", command_timeout=LONG, wrench_timeout=LONG, saturate_efforts=False)
    commands = bench.publisher(JointTrajectory, f"{node}/joint_trajectory")
    wrenches = bench.publisher(WrenchStamped, f"{node}/external_wrench")
    point = JointTrajectoryPoint(accelerations=[3.0, math.nan], effort=[math.nan, 4.0])
    command = JointTrajectory(joint_names=[ARM_JOINTS[4], ARM_JOINTS[0]], points=[point])

    def renewed():
        commands.publish(command)
        wrenches.publish(wrench())
        efforts, said = answer(lambda: arm_state(bench))
        np.testing.assert_array_equal(efforts.effort, said.effort)
        # Free to fall there is nothing but differences of large numbers.
        found, expected = np.add(said.effort, said.wrench_effort), oracle(ARM, Q, USED, said.acceleration)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(oracle(ARM, Q)).max())
        return any(said.input) and any(said.wrench_effort) and said

    said = bench.wait(renewed, "both inputs")
    check_arm(said, wrenched=True)
    np.testing.assert_array_equal(said.velocity, USED)
    assert list(np.flatnonzero(said.prescribed)) == [4]
    np.testing.assert_array_equal(said.input, [4.0, 0, 0, 0, 3.0, 0, 0])
    assert said.acceleration[4] == 3.0
    np.testing.assert_array_equal(np.delete(said.effort, 4), [4.0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("module", ["inverse_dynamics", "hybrid_dynamics"])
def test_efforts_before_and_after_their_limits(bench, ask, module):
    # Holding the rod level takes 9.81 N m; 5 N m are allowed. Its inertia about the joint is 0.6 kg m^2.
    _, answer = ask(module, pendulum(effort=5.0), unnamed_joints="zero_acceleration")
    efforts, said = answer(lambda: bench.make_state(["swing"], [np.pi / 2], [0.0]))
    gravity = oracle(pendulum(), [np.pi / 2])[0]
    assert said.limited
    assert said.effort_before_limits[0] == pytest.approx(gravity, rel=1e-12)
    assert efforts.effort[0] == said.effort[0] == 5.0 * np.sign(gravity)
    caused = 0.0 if module == "inverse_dynamics" else (said.effort[0] - gravity) / 0.6
    assert said.acceleration[0] == pytest.approx(caused, rel=1e-12)
