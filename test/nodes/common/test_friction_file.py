"""Friction of the joints from a file, in the nodes of robots, against another library and the formula."""

from __future__ import annotations

import numpy as np
import pytest
from node_robots import ARM, ARM_JOINTS, assert_close, oracle
from sensor_msgs.msg import JointState
from support.grids import every_run
from trajectory_msgs.msg import JointTrajectoryPoint

RNG = np.random.default_rng(5)
Q, QD, QDD, V = RNG.uniform(-1, 1, (4, 7))
FILE = "joints:\n" + "".join(
    f"  {name}: {{damping: {1 + k}, friction: [{4 + k}, 3], static_friction: 12, stribeck_speed: 0.3, "
    "load_friction: 0.1, smoothing_speed: 1.0e-7}\n"
    for k, name in enumerate(ARM_JOINTS)
)
ROBOTS = ["inverse_dynamics", "hybrid_dynamics", "computed_torque", "simulated_robot"]


def friction(v, x):
    slide = np.where(v > 0, 4.0 + np.arange(7), 3.0)
    dry = slide + (12.0 - slide) * np.exp(-((v / 0.3) ** 2)) + 0.1 * np.abs(x)
    return (1.0 + np.arange(7)) * v + np.sign(v) * dry


@pytest.mark.parametrize("ours", [True, False])
def test_it_is_added_at_velocities_desired_or_measured(bench, ours):
    node = bench.start(
        "inverse_dynamics", robot_description=ARM, friction_file=FILE, saturate_efforts=False,
        acceleration_timeout=3600.0, driver_compensates_gravity=not ours,
    )  # fmt: skip
    answers = bench.listen(JointState, f"{node}/joint_efforts")
    points = bench.publisher(JointTrajectoryPoint, f"{node}/joint_trajectory_point")
    left_out = 0.0 if ours else oracle(ARM, Q)
    at_rest, before = oracle(ARM, Q, QD), None
    for velocity in ([], V.tolist()):
        x = oracle(ARM, Q, QD, QDD)
        point = JointTrajectoryPoint(accelerations=QDD.tolist(), velocities=velocity)

        def ask(point=point):
            points.publish(point)
            return bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, QD), answers)

        expected = x + friction(V if velocity else QD, x) - left_out
        old = at_rest + friction(QD, at_rest) - left_out if before is None else before
        answer = bench.turns(ask, expected, old, numbers=lambda a: a.effort)
        assert_close(answer.effort, expected)
        before = expected


def test_efforts_of_joints_that_are_told_and_of_those_that_answer_are_those_of_drives(bench):
    pin = pytest.importorskip("pinocchio", reason="the oracle, pin, is not installed")
    node = bench.start(
        "hybrid_dynamics", robot_description=ARM, friction_file=FILE, unnamed_joints="measured_effort",
        saturate_efforts=False,
    )  # fmt: skip
    answers = bench.listen(JointState, f"{node}/joint_efforts")
    from trajectory_msgs.msg import JointTrajectory

    motions = bench.listen(JointTrajectory, f"{node}/joint_accelerations")
    x = RNG.uniform(-20, 20, 7)
    tau = x + friction(QD, x)

    def state():
        message = bench.make_state(ARM_JOINTS, Q, QD)
        message.effort = tau.tolist()
        return message

    motion, effort = bench.ask(state, motions, answers)
    model = pin.buildModelFromXML(ARM)
    assert_close(motion.points[0].accelerations, pin.aba(model, model.createData(), Q, QD, x), 1e-11)
    assert_close(effort.effort, tau)


@pytest.mark.parametrize("module", every_run(("simulated_robot", "computed_torque"), ROBOTS))
def test_a_file_that_does_not_fit_keeps_the_node_from_starting_until_it_is_put_right(bench, module):
    bad = "joints: {panda_joint9: {friction: 1}}"
    node = bench.start(module, robot_description=ARM, friction_file=bad)
    bench.wait_status(
        node, lambda s, v: s.level == b"\x02" and "friction_file" in s.message and "panda_joint9" in s.message, "why"
    )
    assert bench.state(node) == "unconfigured"
    result = bench.set(node, friction_file=FILE, include_friction=True)
    assert not result.successful and "friction_file" in result.reason
    assert bench.set(node, friction_file=FILE).successful
    bench.wait(lambda: bench.change_state(node, "configure"), "it to be put right")


def test_services_answer_for_drives(bench):
    srv = pytest.importorskip("lie_dynamics_interfaces.srv", reason="lie_dynamics_interfaces is not installed")
    node = bench.start("inverse_dynamics", robot_description=ARM, friction_file=FILE)
    bench.wait_state(node, "active")
    request = srv.ComputeInverseDynamics.Request(position=Q.tolist(), velocity=QD.tolist(), acceleration=QDD.tolist())
    x = oracle(ARM, Q, QD, QDD)
    response = bench.call(srv.ComputeInverseDynamics, f"{node}/compute_inverse_dynamics", request)
    assert_close(response.effort, x + friction(QD, x))
