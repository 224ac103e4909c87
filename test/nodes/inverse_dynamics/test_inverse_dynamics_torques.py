"""The torques that the inverse_dynamics node answers with, against another library."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from node_harness import SharedNode, stamp_of
from node_robots import ARM, ARM_JOINTS, oracle, pendulum
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from lie_dynamics_ros.nodes.inverse_dynamics.node import SETTINGS

RNG = np.random.default_rng(20)
Q, QD, QDD = RNG.uniform(-1, 1, 7), RNG.uniform(-2, 2, 7), RNG.uniform(-5, 5, 7)
LONG = 3600.0


def assert_torques(answer: JointState, expected) -> None:
    assert list(answer.name) == list(ARM_JOINTS)
    np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def torques_turn(bench, answers, send, new, *old):
    """Send something with each state until the torques are new; all before are old ones."""

    def ask():
        send()
        return bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, QD), answers)

    assert_torques(bench.turns(ask, new, *old, numbers=lambda a: a.effort), new)


@pytest.fixture
def bench(module_bench):
    return module_bench


@pytest.fixture(scope="module")
def shared(module_bench):
    """A node that begins afresh for each test, and its answers."""
    outputs = {"publish_commands": True, "publish_gravity_efforts": True}
    node = SharedNode(module_bench, "inverse_dynamics", SETTINGS, **outputs)
    return node, module_bench.listen(JointState, f"{node.name}/joint_efforts")


@pytest.fixture
def arm(shared):
    """Return a function that lets the node begin with some parameters, and returns it and its answers."""
    node, answers = shared

    def begin(**parameters):
        node.begin(**{"robot_description": ARM, **parameters})
        answers.clear()
        return node.name, answers

    return begin


def test_answers_a_state_with_its_torques_and_its_stamp(bench, arm):
    _, answers = arm()
    sent = {}

    def state():
        message = bench.make_state(ARM_JOINTS, Q, QD)
        sent[stamp_of(message)] = message
        return message

    answer = bench.ask(state, answers)
    assert stamp_of(answer) in sent
    assert not answer.position and not answer.velocity
    assert_torques(answer, oracle(ARM, Q, QD))


def test_matches_joints_by_name(bench, arm):
    _, answers = arm()
    shuffled = RNG.permutation(7)
    names = [ARM_JOINTS[i] for i in shuffled]
    answer = bench.ask(lambda: bench.make_state(names, Q[shuffled], QD[shuffled]), answers)
    assert_torques(answer, oracle(ARM, Q, QD))
    # Other joints between them, and another order than before.
    names = ["finger_left", *reversed(ARM_JOINTS), "finger_right"]
    position, velocity = [9.0, *Q[::-1], 9.0], [np.nan, *QD[::-1], 7.0]
    answer = bench.ask(lambda: bench.make_state(names, position, velocity), answers)
    assert_torques(answer, oracle(ARM, Q, QD))


def test_takes_absent_and_nan_velocities_as_zero_where_asked_to_and_says_so(bench, arm):
    node, answers = arm(velocity_source="measured")
    answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, Q), answers)
    assert_torques(answer, oracle(ARM, Q))
    bench.send_until(
        lambda: bench.states.publish(bench.make_state(ARM_JOINTS, Q)),
        lambda: bench.reported(node, lambda s, v: s.level == b"\x01" and "velocities are absent" in s.message),
        "a warning of absent velocities",
    )
    partly = QD.copy()
    partly[[1, 4]] = np.nan
    answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, partly), answers)
    assert_torques(answer, oracle(ARM, Q, np.nan_to_num(partly)))


def test_adds_desired_accelerations_in_the_order_of_the_joints(bench, arm):
    node, answers = arm(acceleration_timeout=LONG)
    points = bench.publisher(JointTrajectoryPoint, f"{node}/joint_trajectory_point")
    point = JointTrajectoryPoint(accelerations=list(QDD))
    torques_turn(bench, answers, lambda: points.publish(point), oracle(ARM, Q, QD, QDD), oracle(ARM, Q, QD))


def test_adds_desired_accelerations_by_name(bench, arm):
    node, answers = arm(acceleration_timeout=LONG)
    trajectories = bench.publisher(JointTrajectory, f"{node}/joint_trajectory")
    names = [ARM_JOINTS[5], "not_mine", ARM_JOINTS[0]]
    qdd = np.zeros(7)
    qdd[5], qdd[0] = 3.0, -2.0
    first, second = JointTrajectoryPoint(accelerations=[3.0, 9.0, -2.0]), JointTrajectoryPoint(accelerations=[1.0] * 3)
    message = JointTrajectory(joint_names=names, points=[first, second])
    torques_turn(bench, answers, lambda: trajectories.publish(message), oracle(ARM, Q, QD, qdd), oracle(ARM, Q, QD))


def test_refuses_unusable_accelerations_and_keeps_answering(bench, arm):
    node, answers = arm(acceleration_timeout=LONG)
    points = bench.publisher(JointTrajectoryPoint, f"{node}/joint_trajectory_point")
    # One whose reason is another in between, so that the last problem is of this one.
    short = (1.0, 2.0), "2 accelerations for 7"
    none, nan, infinite = ((), "0 accelerations for 7"), ((np.nan,) * 7, "not finite"), ((np.inf,) * 7, "not finite")
    for bad, reason in (short, none, nan, short, infinite):
        bench.send_until(
            lambda bad=bad: points.publish(JointTrajectoryPoint(accelerations=bad)),
            lambda reason=reason: bench.reported(node, lambda s, v: reason in v["last problem"]),
            f"{bad} to be refused",
        )
    answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, QD), answers)
    assert_torques(answer, oracle(ARM, Q, QD))


def test_forgets_accelerations_that_are_not_renewed(bench, arm):
    node, answers = arm(acceleration_timeout=0.05)
    points = bench.publisher(JointTrajectoryPoint, f"{node}/joint_trajectory_point")
    point = JointTrajectoryPoint(accelerations=list(QDD))
    with_acceleration, without = oracle(ARM, Q, QD, QDD), oracle(ARM, Q, QD)
    torques_turn(bench, answers, lambda: points.publish(point), with_acceleration, without)
    torques_turn(bench, answers, lambda: None, without, with_acceleration)
    bench.wait_status(node, lambda s, v: "desired accelerations are stale" in s.message, "stale accelerations")


def test_gravity_only_and_gravity_left_out(bench, arm):
    node, answers = arm()
    gravity = oracle(ARM, Q)
    assert bench.set(node, gravity_only=True).successful
    answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, QD), answers)
    assert_torques(answer, gravity)
    assert bench.set(node, gravity_only=False, driver_compensates_gravity=True).successful
    answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, QD), answers)
    expected = oracle(ARM, Q, QD) - gravity
    np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=1e-12 * np.abs(gravity).max())


def test_gravity_vector_of_a_tilted_robot_changed_at_run_time(bench, arm):
    node, answers = arm()
    assert bench.set(node, gravity=[9.81, 0.0, 0.0]).successful
    answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, QD), answers)
    assert_torques(answer, oracle(ARM, Q, QD, gravity=(9.81, 0.0, 0.0)))


def test_selected_joints_commands_and_gravity_efforts(bench, arm):
    chosen = [ARM_JOINTS[3], ARM_JOINTS[1]]
    node, answers = arm(joints=chosen)
    commands = bench.listen(Float64MultiArray, f"{node}/commands")
    gravity_efforts = bench.listen(JointState, f"{node}/gravity_efforts")
    answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, QD), answers)
    expected = oracle(ARM, Q, QD)[[3, 1]]
    assert list(answer.name) == chosen
    np.testing.assert_allclose(answer.effort, expected, rtol=1e-12)

    def all_there():
        bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, QD), answers)
        return commands and gravity_efforts

    bench.wait(all_there, "commands and gravity efforts")
    np.testing.assert_allclose(commands[-1].data, expected, rtol=1e-12)
    assert list(gravity_efforts[-1].name) == chosen
    np.testing.assert_allclose(gravity_efforts[-1].effort, oracle(ARM, Q)[[3, 1]], rtol=1e-12)


@pytest.mark.parametrize("compensated", [False, True])
def test_limits_efforts_and_says_so(bench, arm, compensated):
    # Holding the rod level takes 9.81 N m, an acceleration of 20 rad/s^2 another 12 N m; 5 N m are allowed.
    # What a driver adds against gravity counts towards the limit.
    node, answers = arm(
        robot_description=pendulum(effort=5.0), driver_compensates_gravity=compensated, acceleration_timeout=LONG
    )
    points = bench.publisher(JointTrajectoryPoint, f"{node}/joint_trajectory_point")
    level = [np.pi / 2]
    gravity = oracle(pendulum(), level)[0]
    assert abs(gravity) == pytest.approx(9.81)
    acceleration = 20.0 * np.sign(gravity)
    added = gravity if compensated else 0.0

    def ask():
        points.publish(JointTrajectoryPoint(accelerations=[acceleration]))
        return bench.ask(lambda: bench.make_state(["swing"], level, [0.0]), answers).effort[0]

    # At the limit it is with and without the acceleration.
    assert ask() == pytest.approx(5.0 * np.sign(gravity) - added, rel=1e-12)
    bench.wait_status(node, lambda s, v: "efforts limited: swing" in s.message, "effort limited")
    assert bench.set(node, saturate_efforts=False).successful
    bench.turns(ask, oracle(pendulum(), level, qdd=[acceleration])[0] - added, gravity - added, numbers=np.array)


def test_an_effort_limit_of_zero_counts_as_none(bench, arm):
    _, answers = arm(robot_description=pendulum(effort=0))
    answer = bench.ask(lambda: bench.make_state(["swing"], [1.0]), answers)
    np.testing.assert_allclose(answer.effort, oracle(pendulum(), [1.0]), rtol=1e-12)


def test_counts_external_wrenches_at_their_frames_until_they_are_too_old(bench, arm):
    node, answers = arm(wrench_timeout=LONG)
    wrenches = bench.publisher(WrenchStamped, f"{node}/external_wrench")
    at_flange, at_elbow = WrenchStamped(), WrenchStamped()
    at_flange.header.frame_id, at_elbow.header.frame_id = "panda_link8", "panda_link4"
    force, moment = at_flange.wrench.force, at_flange.wrench.torque
    force.x, force.y, force.z, moment.x, moment.y, moment.z = 3.0, -20.0, 15.0, 1.0, 2.0, -0.5
    at_elbow.wrench.force.z = 40.0
    # What balances a wrench on the robot: minus its work on the motion of the frame it acts at.
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML(ARM)
    without, pushes = oracle(ARM, Q, QD), []
    for frame, wrench in (("panda_link8", [3.0, -20.0, 15.0, 1.0, 2.0, -0.5]), ("panda_link4", [0, 0, 40.0, 0, 0, 0])):
        jacobian = pin.computeFrameJacobian(model, model.createData(), Q, model.getFrameId(frame), pin.LOCAL)
        pushes.append(jacobian.T @ np.array(wrench))
    with_one = [without - push for push in pushes]

    def send():
        for message in (at_flange, at_elbow):
            wrenches.publish(message)

    with_both = without - pushes[0] - pushes[1]
    torques_turn(bench, answers, send, with_both, without, *with_one)
    unknown = WrenchStamped()
    unknown.header.frame_id = "somewhere"
    bench.send_until(
        lambda: wrenches.publish(unknown),
        lambda: bench.reported(node, lambda s, v: v["dropped: external wrenches"]),
        "a wrench at an unknown frame to be refused",
    )
    assert bench.set(node, wrench_timeout=0.01).successful
    torques_turn(bench, answers, lambda: None, without, with_both, *with_one)
