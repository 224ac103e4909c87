"""The node closed_loop without ROS: a five-bar by closed form, efforts by virtual work, and what it refuses."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from five_bar_machine import JOINTS, LOOPS, MOTORS, START, URDF, closed, derivative, efforts, tip

import lie_dynamics_ros
from lie_dynamics_ros.core.commands import HybridCommand
from lie_dynamics_ros.core.errors import ConfigurationError, MessageError, ParameterError
from lie_dynamics_ros.core.mechanism import MechanismParameters, TrackedMechanism
from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.lie_dynamics import ConstraintSet, LieDynamicsError, Model, external_wrench, mechanism
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import MECHANISMS, delta_robot
from lie_dynamics_ros.nodes.closed_loop.core import ClosedLoopCore, ClosedLoopOptions

MS = 10**6
DEFAULTS = {
    **ClosedLoopOptions.defaults(), **MechanismParameters.defaults(), "estimated_wrench": [""], "platform_frame": "",
}  # fmt: skip
FIVE_BAR = {
    "measured_joints": list(MOTORS),
    "start_joints": list(JOINTS),
    "start_positions": [2.2, -1.4, 0.94, 1.4],
    "platform_frame": "tip",
}


def made(model=None, constraints=None, **values):
    model = model or Model.from_urdf(URDF)
    constraints = constraints or ConstraintSet.from_yaml(model, LOOPS)
    values = {**DEFAULTS, "joint_prefix": "", **FIVE_BAR, **values}
    mechanism = TrackedMechanism.from_values(model, constraints, values)
    components = tuple(name for name in values["estimated_wrench"] if name)
    options = ClosedLoopOptions.from_values(values)
    return ClosedLoopCore(model, options, None, mechanism, values["platform_frame"], components)


def test_a_joint_that_is_cut_is_named_as_what_it_is():
    with pytest.raises(ConfigurationError, match=r"no joint a_hinge of one .* a_right_elbow; a_hinge closes a loop"):
        prefixed = Model.from_urdf(URDF).with_joint_prefix("a_")
        made(prefixed, ConstraintSet.from_yaml(prefixed, LOOPS), joint_prefix="a_", measured_joints=["hinge"])


class Driver:
    """Sends states at 1 kHz."""

    def __init__(self, core):
        self.core, self.now = core, 10**9

    def send(self, y, yd=None, wrenches=None, period=MS, effort=None):
        self.now += period
        yd = np.zeros(len(y)) if yd is None else np.asarray(yd, float)
        return self.core.answer(RobotState(self.now, np.array(y, float), yd, wrenches, arrival=self.now, effort=effort))

    def command(self, prescribed, values, named=(True, True)):
        command = HybridCommand(np.array(named), np.array(prescribed), np.array(values, float))
        self.core.command.put(command, self.now)


def motion(t):
    """Angles, rates and accelerations of the motors."""
    a, w, p = np.array([0.4, 0.3]), np.array([3.0, 5.0]), np.array([0.0, 1.0])
    start = START - a * np.sin(p)
    return start + a * np.sin(w * t + p), a * w * np.cos(w * t + p), -a * w * w * np.sin(w * t + p)


def test_a_five_bar_in_motion_is_known_and_driven():
    driver = Driver(made(max_speed=[10.0], sensor_error=[1e-6]))
    core = driver.core
    for t in np.arange(0.0, 0.3, 1e-3):
        y, yd, ydd = motion(t)
        driver.command([True, True], ydd)
        answer = driver.send(y, yd)
        assert answer.refusal is None and answer.problem is None and answer.tracked.certified
        np.testing.assert_allclose(answer.tracked.q[core.positions], closed(y), atol=1e-11)
        if round(t * 1e3) % 20:
            continue
        np.testing.assert_allclose(answer.rates, derivative(closed, y) @ yd, atol=1e-7)
        np.testing.assert_allclose(answer.tracked.pose("tip")[[0, 2], 3], tip(y), atol=1e-11)
        G = derivative(tip, y)
        covariance = 1e-10 * G @ G.T
        np.testing.assert_allclose(
            answer.tracked.pose_covariance("tip")[np.ix_([3, 5], [3, 5])], covariance, rtol=1e-5, atol=1e-16
        )
        np.testing.assert_allclose(answer.effort, efforts(y, yd, ydd), atol=1e-5)


def test_wrenches_at_the_platform_are_balanced():
    driver = Driver(made())
    push = np.array([12.0, -30.0])
    world = np.array([0.0, 0.0, 0.0, push[0], 0.0, push[1]])
    q = driver.send(START).tracked.q
    wrenches = external_wrench(driver.core.model, q, "tip", world, "aligned")
    answer = driver.send(START, wrenches=wrenches)
    np.testing.assert_allclose(answer.effort, efforts(START, np.zeros(2), np.zeros(2), push), atol=1e-6)


def test_efforts_and_accelerations_are_each_others_inverse():
    driver = Driver(made())
    for k in range(12):
        y, yd, ydd = motion(0.05 * k)
        both = efforts(y, yd, ydd)
        for prescribed in ([True, True], [True, False], [False, True], [False, False]):
            driver.command(prescribed, np.where(prescribed, ydd, both))
            answer = driver.send(y, yd)
            assert answer.problem is None
            np.testing.assert_allclose(answer.effort, both, atol=1e-4)
            np.testing.assert_allclose(answer.acceleration[[0, 2]], ydd, atol=1e-2)
    driver.command([True, False], [3.0, 0.0], named=(True, False))  # who is not named keeps its rate
    np.testing.assert_allclose(driver.send(y, yd).acceleration[[0, 2]], [3.0, 0.0], atol=1e-9)
    driver.now += 10**9  # the command is stale
    np.testing.assert_allclose(driver.send(y, yd).acceleration[[0, 2]], 0.0, atol=1e-9)


def test_limited_efforts_and_what_they_lead_to():
    core = made()
    driver, limit = Driver(core), 20.0
    driver.command([True, True], [2000.0, 10.0])
    answer = driver.send(START)
    assert core.take_saturated() == ("left_motor",) and core.take_saturated() == ()
    assert answer.effort[0] == limit and abs(answer.effort[1]) < limit
    accelerations = answer.acceleration[[0, 2]]
    assert abs(accelerations[1] - 10.0) < 1e-8
    np.testing.assert_allclose(efforts(START, np.zeros(2), accelerations), answer.effort, atol=1e-5)
    driver.command([False, False], [-500.0, 500.0])
    assert driver.send(START).effort.tolist() == [-limit, limit]
    core.set_options(replace(core.options, saturate_efforts=False))
    assert driver.send(START).effort.tolist() == [-500.0, 500.0]


def test_more_sensors_and_motors_than_freedoms():
    sensors = [*MOTORS, "left_elbow"]
    driver = Driver(made(measured_joints=sensors, motors=sensors, sensor_noise=[1e-5, 1e-5, 1e-3]))
    y, yd, _ = motion(0.1)
    q, rates = closed(y), derivative(closed, y) @ yd
    answer = driver.send([y[0], y[1], q[1] + 2e-3], [*yd, rates[1]])
    np.testing.assert_allclose(answer.tracked.q[[0, 2]], y, atol=1e-6)
    assert abs(answer.tracked.sensor_residuals[2] - 2e-3) < 1e-5
    # Without a command the accelerations of the three come nearest to zero.
    gain = derivative(closed, y)[[0, 2, 1]]
    bias = (closed(y + 1e-4 * yd) - 2.0 * q + closed(y - 1e-4 * yd))[[0, 2, 1]] / 1e-8
    nearest = np.linalg.lstsq(gain, -bias, rcond=None)[0]
    least = np.linalg.lstsq(gain.T, efforts(y, yd, nearest), rcond=None)[0]
    np.testing.assert_allclose(answer.effort, least, atol=1e-4)


def test_measured_efforts_tell_the_force_at_the_tip():
    """The tip's axes turn with its rod; without a wrench the efforts are the model's, by closed form and Pinocchio."""
    driver = Driver(made(estimated_wrench=["force_x", "force_z"]))
    assert driver.core.needs_effort and not made().needs_effort
    push = np.array([4.0, -9.0])
    for t in (0.0, 0.1, 0.2):
        y, yd, ydd = motion(t)
        driver.command([True, True], ydd)
        answer = driver.send(y, yd, effort=efforts(y, yd, ydd, push))
        turn = answer.tracked.pose("tip")[:3, :3]
        np.testing.assert_allclose((turn @ answer.wrench[3:])[[0, 2]], push, atol=1e-3)
        np.testing.assert_allclose(answer.wrench[:3], 0.0)
    order = Driver(made(estimated_wrench=["force_x"], measured_joints=list(MOTORS[::-1]), motors=list(MOTORS)))
    a = order.send(START[::-1], effort=np.array([1.0, 3.0])).wrench
    b = Driver(made(estimated_wrench=["force_x"])).send(START, effort=np.array([3.0, 1.0])).wrench
    np.testing.assert_allclose(a, b, atol=1e-9)


def test_what_cannot_be_followed_is_told_and_the_next_state_is_followed():
    driver = Driver(made(max_speed=[5.0]))
    good = driver.send(START)
    assert good.tracked.certified
    for bad, kind, period in (
        (START + 0.5, "out of reach", MS),
        ([np.nan, 0.9], "not finite", MS),
        ([0.2, 2.9], "singularity", 10**10),
    ):
        answer = driver.send(bad, period=period)
        assert answer.refusal is not None and answer.refusal.kind == kind, answer.tracked.message
        assert answer.effort is None and np.array_equal(answer.tracked.q, good.tracked.q)
    answer = driver.send(START, period=10**9)
    assert answer.refusal is None and "cannot be excluded" in answer.tracked.message
    assert driver.core.follower.refuted
    driver.core.set_options(replace(driver.core.options, when_ambiguous="withhold"))
    assert driver.send(START).refusal.kind == "ambiguous"
    driver.core.forget()
    assert driver.send(START).tracked.certified and not driver.core.follower.refuted
    free = Driver(made())
    assert free.send(START + 0.5).refusal is None
    assert free.send([0.2, 2.9]).refusal.kind in ("singularity", "too far")
    assert free.core.follower.time_to_singularity(1.0) == np.inf  # at rest
    free.send(START, [np.pi - START[0], -START[1]])  # after 1 s both rods are in line with both cranks
    assert 0.97 <= free.core.follower.time_to_singularity(1.5) <= 1.0


def test_rubbish_is_never_answered_with_rubbish(rng):
    core = made()
    driver = Driver(core)
    special = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 1e160, 5e-324, 1e9, 0.0])
    refused = 0
    for _ in range(600):
        y = START + rng.normal(scale=rng.choice([1e-3, 0.3, 3.0]), size=2)
        yd = rng.normal(scale=rng.choice([0.0, 1.0, 1e4, 1e120]), size=2)
        if rng.random() < 0.2:
            y[rng.integers(2)] = rng.choice(special)
        driver.command(rng.random(2) < 0.5, rng.normal(scale=rng.choice([1.0, 1e6, 1e150]), size=2))
        try:
            answer = driver.send(y, yd)
        except (MessageError, LieDynamicsError):
            refused += 1
            continue
        if answer.refusal is not None:
            refused += 1
            continue
        assert np.isfinite(answer.tracked.q).all() and np.isfinite(answer.rates).all()
        assert np.abs(answer.tracked.residuals).max() < 1e-9
        if answer.effort is not None:
            assert np.isfinite(answer.effort).all() and np.abs(answer.effort).max() <= 20.0
            assert np.isfinite(answer.acceleration).all()
    assert 100 < refused < 500
    core.forget()
    np.testing.assert_allclose(driver.send(START).tracked.q[core.positions], closed(START), atol=1e-11)


def test_a_platform_that_floats():
    """A delta robot whose rods are distances; its platform is no joint of one coordinate."""
    delta = delta_robot(rod_mass=0.0)
    model = delta.model
    core = made(
        model, delta.constraints,
        measured_joints=list(delta.actuated), start_joints=[""], start_positions=delta.q.tolist(), platform_frame="",
    )  # fmt: skip
    assert core.joints == delta.actuated
    y = delta.q[core.positions]
    answer = Driver(core).send(y)
    np.testing.assert_allclose(answer.tracked.q, delta.q, atol=1e-10)
    # At rest: the weight of the platform and of the arms, by the height that they gain.
    heights = derivative3(lambda x: potential(delta, core, x), y)
    np.testing.assert_allclose(answer.effort, heights, atol=1e-5)


def potential(delta, core, y):
    """Energy of the weights [J], for the angles of the arms."""
    driver = Driver(made(delta.model, delta.constraints, measured_joints=list(delta.actuated), start_joints=[""],
                         start_positions=delta.q.tolist(), platform_frame=""))  # fmt: skip
    height = driver.send(y).tracked.pose("platform")[2, 3]
    return 9.81 * (0.3 * height - 0.5 * 0.15 * np.sin(y).sum())


def derivative3(function, y, h=1e-5):
    return np.array([(function(y + h * e) - function(y - h * e)) / (2.0 * h) for e in np.eye(3)])


def test_a_joint_that_turns_without_end_may_jump_by_a_turn():
    driver = Driver(made(measured_joints=["left_motor", "right_elbow"]))
    q = closed(START)
    first = driver.send([START[0], q[3]])
    for turns in (1, -1, 3):
        answer = driver.send([START[0], q[3] + 2.0 * np.pi * turns])
        assert answer.refusal is None
        np.testing.assert_allclose(answer.tracked.q, first.tracked.q, atol=1e-9)


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"measured_joints": ["left_motor"]}, LieDynamicsError, "2 freedoms"),
        ({"measured_joints": ["left_motor", "nobody"]}, ConfigurationError, "measured_joints: .* nobody"),
        ({"measured_joints": ["left_motor", "left_motor"]}, ConfigurationError, "twice"),
        ({"motors": ["left_motor"]}, ConfigurationError, "motors left_motor"),
        ({"motors": ["tip"]}, ConfigurationError, "motors: .* tip"),
        ({"start_positions": [1.0]}, ParameterError, "1 numbers for 4 start_joints"),
        ({"start_joints": [""], "start_positions": [1.0, 2.0]}, ParameterError, "expected one for each"),
        ({"start_joints": ["x"]}, ConfigurationError, "start_joints: .* x"),
        ({"max_speed": [1.0, 2.0]}, ParameterError, "max_speed"),
        ({"max_speed": [1.0, 0.0, 1.0, 1.0]}, ParameterError, "max_speed"),
        ({"sensor_noise": [1.0, 1.0, 1.0]}, ParameterError, "sensor_noise has 3"),
        ({"sensor_error": []}, ParameterError, "sensor_error has 0"),
        ({"estimated_wrench": ["push"]}, LieDynamicsError, "components: some of"),
        ({"estimated_wrench": ["force_x", "force_z", "moment_y"]}, LieDynamicsError, "2 components at most"),
        ({"estimated_wrench": ["force_y"]}, LieDynamicsError, "distinguished"),
        ({"estimated_wrench": ["force_x"], "platform_frame": ""}, ConfigurationError, "no platform_frame"),
        (
            {"estimated_wrench": ["force_x"], "measured_joints": ["left_motor", "left_elbow"], "motors": list(MOTORS)},
            ConfigurationError,
            "right_motor are not among",
        ),
    ],
)
def test_mechanisms_that_make_no_sense_are_refused(values, error, words):
    with pytest.raises(error, match=words):
        made(**values)


def test_loops_that_cannot_close_are_refused():
    model = Model.from_urdf(URDF.replace('xyz="-0.1 0 0"', 'xyz="-2 0 0"'))
    with pytest.raises(ConfigurationError, match="'hinge' is off by"):
        made(model, ConstraintSet.from_yaml(model, LOOPS))


def test_without_a_start_nothing_is_certified():
    core = made(
        start_joints=[""], start_positions=[0.0], max_speed=[5.0], measured_joints=["left_motor", "right_motor"]
    )
    assert not core.mechanism.start_known and "assumed" in core.mechanism.start_from
    assert not Driver(core).send(core.mechanism.start[[0, 2]]).tracked.certified

SHARE = Path(lie_dynamics_ros.__file__).parent

FILES = sorted(path for path in (SHARE / "mechanisms").glob("*.yaml") if not path.stem.endswith("_loops"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_the_motors_move_is_found(path):
    values = yaml.safe_load(path.read_text())["/**"]["closed_loop"]["ros__parameters"]
    model = Model.from_urdf(SHARE.parent / values["robot_description"].removeprefix("package://"))
    constraints = ConstraintSet.from_yaml(model, SHARE.parent / values["loops"].removeprefix("package://"))
    values = {**DEFAULTS, "joint_prefix": "", **values}
    made = mechanism(path.stem)
    tracked = TrackedMechanism.from_values(model, constraints, values)
    core = ClosedLoopCore(model, ClosedLoopOptions.from_values(values), None, tracked)
    positions = made.motors(made.q) + 1e-3
    state = RobotState(10**9, positions, np.zeros(len(positions)), None, arrival=10**9)
    answer = core.answer(state)
    assert answer.refusal is None
    modes = made.assembly_modes(positions)
    pose = answer.tracked.pose(values["platform_frame"])
    assert min(np.abs(made.pose(q) - pose).max() for q in modes.q) < 1e-9
    assert np.abs(pose - made.pose(made.q)).max() < 1e-2


def test_all_are_here():
    assert len(FILES) == len(MECHANISMS)
