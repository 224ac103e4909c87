"""A robot with loops in the core of computed_torque, and the node as its page starts it."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from support.cores import options
from support.sdf_text import as_sdf

from lie_dynamics_ros.core.commands import JointPoints
from lie_dynamics_ros.core.errors import MessageError, ParameterError
from lie_dynamics_ros.core.mechanism import MechanismParameters, TrackedMechanism
from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.lie_dynamics import (
    JointFriction,
    constrained_inverse_dynamics,
    external_wrench,
    inverse_dynamics,
    mechanism,
)
from lie_dynamics_ros.nodes.computed_torque.core import ComputedTorqueCore
from lie_dynamics_ros.nodes.computed_torque.options import CONTROL_MODES, MOTOR_MODES

PAGE = (Path(__file__).resolve().parents[3] / "doc" / "nodes" / "computed_torque.md").read_text()
(PARAMETERS,) = re.findall(r"```yaml\n(.*?loops.*?)```", PAGE, re.DOTALL)
VALUES = yaml.safe_load(PARAMETERS)["/**"]["computed_torque"]["ros__parameters"]
MS = 10**6
MADE = mechanism("five-bar")
START = MADE.motors(MADE.q)
DEFAULTS = MechanismParameters.defaults()


class Driver:
    """Sends states at 1 kHz."""

    def __init__(self, friction=None, measured=MADE.actuated, parameters=None, **loops):
        given = {"measured_joints": list(measured), "motors": list(MADE.actuated), "start_positions": MADE.q.tolist()}
        values = {**DEFAULTS, "joint_prefix": "", **given, **loops}
        self.mechanism = TrackedMechanism.from_values(MADE.model, MADE.constraints, values)
        self.parameters = {"gravity": [0.0, -9.81, 0.0], **(parameters or {})}
        self.core = ComputedTorqueCore(MADE.model, options(**self.parameters), friction, self.mechanism)
        self.core.start()
        self.now = 10**9

    def send(self, y, yd=None, wrenches=None, period=MS):
        self.now += period
        yd = np.zeros(len(y)) if yd is None else np.asarray(yd, float)
        return self.core.answer(RobotState(self.now, np.array(y, float), yd, wrenches, arrival=self.now))

    def follow(self, times, positions):
        zero = np.zeros_like(positions)
        self.core.follow(JointPoints(np.arange(2), np.array(times), np.array(positions), zero, zero))


def test_wrenches_payloads_and_gravity_are_those_of_the_platform():
    driver = Driver()
    core = driver.core
    q, zero = core.dynamics.configuration(START), np.zeros(MADE.model.nv)
    held = driver.send(START).effort
    np.testing.assert_allclose(held, core.dynamics.gravity_force(START), atol=1e-9)
    f_ext = external_wrench(MADE.model, q, MADE.platform, [0.0, 0.0, 0.0, 3.0, -5.0, 0.0], "aligned")
    felt = inverse_dynamics(MADE.model, q, zero, zero) - inverse_dynamics(MADE.model, q, zero, zero, f_ext)
    T = np.stack([core.dynamics.rates(START, e) for e in np.eye(2)], axis=-1)
    np.testing.assert_allclose(driver.send(START, wrenches=f_ext).effort, held - T.T @ felt, atol=1e-9)
    loaded = Driver(parameters={"payload_frame": MADE.platform, "payload_mass": 2.0})
    J = core.dynamics.jacobian(START, MADE.platform, "aligned")
    np.testing.assert_allclose(loaded.send(START).effort, held + 2.0 * 9.81 * J[4], atol=1e-9)
    core.turn_gravity(np.zeros(3))
    driver.core = core.with_options(options(**{**driver.parameters, "gravity": [0.0, 0.0, 0.0], "blend_time": 0.0}))
    assert np.abs(driver.send(START).effort).max() < 1e-9


def test_lost_loops_stop_the_motors_until_they_are_found_again():
    driver = Driver()
    core = driver.core
    driver.send(START)
    driver.follow([0.5], [START + np.array([0.1, -0.1])])
    before = driver.send(START)
    beyond = np.array([np.pi, 0.0])  # both cranks outwards: the couplers do not reach
    rates = [1.0, -1.0]
    lost = driver.send(beyond, rates)
    assert core.phase == "stopping" and core.reason.startswith("the loops are lost: ")
    assert not core.goals.active and np.isfinite(lost.effort).all() and (np.abs(lost.effort) <= core.limit).all()
    for k in range(1, 21):  # its plan begins without a step of the acceleration
        lost = driver.send(beyond + k * 1e-3 * np.array(rates), rates)
    braking = lost.law.effort - core.dynamics.gravity_force(beyond)
    np.testing.assert_allclose(core.dynamics.gravity_force(beyond), core.dynamics.gravity_force(START), atol=1e-12)
    assert braking @ rates < 0.0, "the stop takes energy out of the motors"
    for _ in range(1500):
        driver.send(beyond)
        if core.phase == "stopped":
            break
    assert core.phase == "stopped"
    with pytest.raises(MessageError, match="the loops are lost"):
        core.hold()
    driver.send(START)
    assert core.phase == "stopped"
    assert "control again" in core.hold()
    driver.now += 10**8
    again = driver.send(START)
    assert core.phase == "holding"
    np.testing.assert_allclose(again.law.effort, core.dynamics.gravity_force(START), atol=1e-6)
    assert np.isfinite(before.effort).all()


def test_nothing_is_commanded_before_the_mechanism_is_found():
    driver = Driver()
    with pytest.raises(MessageError, match="from the start"):
        driver.send([np.pi, 0.0])
    assert driver.core.phase == "off" and driver.core.last_command() is None
    assert np.isfinite(driver.send(START + 0.3).effort).all()


def test_what_is_not_certified_is_a_stop_where_speeds_are_known():
    driver = Driver(max_speed=[5.0], sensor_error=[1e-6])
    for k in range(5):
        driver.send(START + 1e-3 * k, [1.0, 1.0])
    assert driver.core.phase == "holding"
    driver.send(START + 0.5, [1.0, 1.0])
    assert driver.core.phase == "stopping" and "within reach" in driver.core.reason


def test_other_joints_than_motors_may_be_measured(rng):
    passive = next(name for name in MADE.model.joint_names if name not in MADE.actuated)
    driver, plain = Driver(measured=[MADE.actuated[0], passive]), Driver()
    robot = plain.core.dynamics
    places = [MADE.model.joint(name).v_slice.start for name in (MADE.actuated[0], passive)]
    for k in range(10):
        y, yd = START + 0.01 * k, np.array([0.2, -0.1])
        expected = plain.send(y, yd)
        q, rates = robot.configuration(y), robot.rates(y, yd)
        answer = driver.send(q[places], rates[places])
        np.testing.assert_allclose(answer.position, expected.position, atol=1e-9)
        np.testing.assert_allclose(answer.velocity, expected.velocity, atol=1e-9)
        np.testing.assert_allclose(answer.effort, expected.effort, atol=1e-6)
    lost = driver.send([np.pi, 3.0])
    assert driver.core.phase == "stopped" and np.isfinite(lost.effort).all()


def test_trajectories_that_loops_cannot_follow_are_refused_whatever_is_accepted():
    driver = Driver(parameters={"on_infeasible": "accept", "saturate_efforts": False})
    driver.send(START)
    with pytest.raises(MessageError, match="singular configuration"):
        driver.follow([2.0], [[np.pi, 0.0]])
    driver.follow([2.0], [START + np.array([0.1, 0.1])])
    assert driver.core.judge.report is not None
    limited = Driver(parameters={"on_infeasible": "reject"})
    limited.send(START)
    limited.core.judge.limits.effort[:] = 0.5 * np.abs(limited.core.dynamics.gravity_force(START)).max()
    with pytest.raises(MessageError, match="effort limit"):
        limited.follow([2.0], [START + np.array([0.1, 0.1])])


def test_friction_is_that_of_the_motors_and_modes_are_those_offered():
    n = MADE.model.nv
    friction = JointFriction(np.arange(1.0, n + 1.0), np.zeros(n))
    driver, plain = Driver(friction), Driver()
    places = [MADE.model.joint(name).v_slice.start for name in MADE.actuated]
    for one in (driver, plain):
        one.send(START)
        one.follow([1.0], [START + np.array([0.2, -0.2])])
        one.now += 500 * MS
    y, yd = plain.core.player.desired.position, [0.0, 0.0]
    with_friction, without = (one.send(y, yd) for one in (driver, plain))
    difference = with_friction.law.effort - without.law.effort
    np.testing.assert_allclose(difference, friction.damping[places] * with_friction.ahead.velocity, atol=1e-9)
    for mode in CONTROL_MODES:
        if mode in MOTOR_MODES:
            assert driver.core.with_options(options(**driver.parameters, mode=mode)).options.mode == mode
        else:
            with pytest.raises(ParameterError, match=f"{mode} of a robot with loops"):
                driver.core.with_options(options(**driver.parameters, mode=mode))


def test_rubbish_is_answered_within_limits_or_not_at_all(rng):
    driver = Driver()
    driver.send(START)
    special, refused, stops = np.array([1e308, -1e308, 1e160, 5e-324, 1e9, 0.0]), 0, set()
    for k in range(400):
        y = START + rng.normal(scale=rng.choice([1e-3, 0.3, 3.0]), size=2)
        yd = rng.normal(scale=rng.choice([0.0, 1.0, 1e4, 1e120]), size=2)
        if rng.random() < 0.2:
            y[rng.integers(2)] = rng.choice(special)
        try:
            answer = driver.send(y, yd)
        except MessageError:
            refused += 1
            continue
        assert np.isfinite(answer.effort).all() and (np.abs(answer.effort) <= driver.core.limit).all()
        stops.add(driver.core.reason.split(":")[0].split(" ")[0])
        if k % 20 == 19:
            driver.core.start()
    assert refused and stops == {"no", "the"}, "no trajectory, or the loops are lost"


def test_the_node_as_its_page_starts_it(bench):
    node = bench.start("computed_torque", **{**VALUES, "state_timeout": 60.0})
    bench.wait_state(node, "active")
    commands = bench.listen(Float64MultiArray, f"{node}/commands")
    phases = bench.listen(String, f"{node}/phase")
    names, y = ("gripper", "right_motor", "left_motor"), [0.0, 0.94, 2.2]

    def ask(right=0.94):
        bench.states.publish(bench.make_state(names, [0.0, right, y[2]], [np.nan, 0.0, 0.0]))
        return len(commands) > 0

    bench.wait(ask, "a command")
    assert len(commands[-1].data) == 2 and np.abs(commands[-1].data).max() <= 20.0

    def stopped():
        ask(0.94 - 2.5)
        return phases and "the loops are lost" in phases[-1].data

    bench.wait(stopped, "a stop")


def test_a_robot_in_sdf_is_held_where_its_file_closes_it(bench):
    made = mechanism("delta")
    text = as_sdf(made.model, made.constraints, made.q)
    motors = list(made.actuated)
    node = bench.start("computed_torque", robot_description=text, measured_joints=motors, state_timeout=60.0)
    bench.wait_state(node, "active")
    efforts = bench.listen(JointState, f"{node}/joint_efforts")
    held = bench.ask(lambda: bench.make_state(motors, np.zeros(3), np.zeros(3)), efforts)
    zero = np.zeros(made.model.nv)
    wanted = constrained_inverse_dynamics(made.model, made.constraints, made.q, zero, zero, actuated=made.actuated)
    places = [made.model.joint(name).v_slice.start for name in motors]
    np.testing.assert_allclose(held.effort, wanted.tau[places], atol=1e-6)


def test_a_mechanism_without_its_loops_is_not_controlled_as_a_tree(bench):
    description = {"robot_description": VALUES["robot_description"]}
    node = bench.start("computed_torque", autostart=False, **description)
    given = {
        "measured_joints": ["left_motor"],
        "motors": ["left_motor"],
        "idle_joints": ["left_motor"],
        "start_joints": ["left_motor"],
        "start_positions": [2.2],
        "sensor_noise": [1e-4],
        "sensor_error": [1e-3],
        "max_speed": [5.0],
        "max_steps": 10,
    }
    assert {"loops", "sdf_model", *given} == DEFAULTS.keys()
    for name, value in given.items():
        assert bench.set(node, **{name: value}).successful
        assert not bench.change_state(node, "configure")
        assert f"loops is empty; expected with {name}" in bench.processes[0].output
        assert bench.set(node, **{name: DEFAULTS[name]}).successful
    assert bench.change_state(node, "configure"), "a tree is one"
