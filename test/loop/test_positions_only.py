"""Arms in MuJoCo whose driver sends positions in steps of 1e-4 rad and no velocities, defaults throughout.

A few cases in every run; all arms, modes and loops with ``-m slow``.
"""

import numpy as np
import pytest
from support import arms
from support.control import control_scenarios as scenarios
from support.control.control_loop import Encoders
from support.control.control_scenarios import Case
from support.cores import DEFAULTS, sine

from lie_dynamics_ros.lie_dynamics.control import largest_damping, velocity_pole
from lie_dynamics_ros.nodes.computed_torque.gains import LOOP_FILTER_TIME

LOOPS = ((1000.0, 0.0), (1000.0, 1.0), (500.0, 1.0), (250.0, 1.0))
MOVING = ("computed_torque", "passivity_based", "adaptive")
FEW = [
    pytest.param(Case("panda", "computed_torque", 1000.0, 0.0), marks=pytest.mark.slow),
    Case("ur5", "computed_torque", 250.0, 1.0),
    pytest.param(Case("xarm7", "passivity_based", 250.0, 1.0), marks=pytest.mark.slow),
    pytest.param(Case("panda", "adaptive", 250.0, 1.0), marks=pytest.mark.slow),
]
ALL = [Case(arm, mode, *loop) for arm in arms.NAMES for mode in MOVING for loop in LOOPS]
WORSE = 3.0  # how many times larger errors may be than with exact velocities
STEP = 1e-4  # of positions [rad]


def judge(case, q, rng, seconds=3.0, watched=1.0):
    n = len(q)
    exact, found = (
        scenarios.trajectory(case, q, seconds=seconds, encoders=encoders) for encoders in (None, Encoders(n, STEP))
    )
    where = f"{found} in place of {exact} at {q.tolist()}"
    assert found["error"] < WORSE * max(exact["error"], STEP), where
    assert found["phases"] == exact["phases"] and found["limits"] <= 1.0 + 1e-9, where
    assert found["last error"] < exact["last error"] + 2 * STEP, where
    qd = scenarios.allowed_velocity(arms.load(case.arm), q, rng)
    stop = scenarios.stop(case, q, qd, watched=watched, encoders=Encoders(n, STEP))
    assert stop["phase"] == "stopped" and stop["limits"] <= 1.0 + 1e-9, f"{stop} at {q.tolist()}"
    assert stop["drift"] < 1e-3, f"{stop} at {q.tolist()}"


@pytest.mark.parametrize("case", FEW, ids=str)
def test_errors_are_below_three_times_those_with_exact_velocities(case, rng):
    judge(case, arms.load(case.arm).aligned(0), rng, 2.0, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("case", ALL, ids=str)
def test_errors_of_all_arms_modes_and_loops(case, rng):
    arm = arms.load(case.arm)
    for q in (arm.aligned(0), arm.random_pose(rng, 0.3)):
        judge(case, q, rng)


@pytest.mark.parametrize(
    "case",
    [
        Case("xarm7", "computed_torque", 250.0, 1.0),
        pytest.param(Case("xarm7", "passivity_based", 250.0, 0.0), marks=pytest.mark.slow),
        pytest.param(Case("panda", "computed_torque", 500.0, 0.0), marks=pytest.mark.slow),
        pytest.param(Case("kinova", "computed_torque", 250.0, 1.0), marks=pytest.mark.slow),
    ],
    ids=str,
)
@pytest.mark.parametrize("coarse", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_motions_without_jumps_show_when_efforts_act(case, coarse):
    """Axes that line up make a delay errors of 10 mrad, which no model is wrong for; then they are gone."""
    arm = arms.load(case.arm)
    q = arm.aligned(0)
    amplitude = np.where(arm.speed < 0.5, 0.01, 0.3 * np.minimum(1.0, arm.speed / 2.0))
    loop = case.loop(q, 0.0, scenarios.PRECISE, Encoders(len(q), STEP) if coarse else None)
    loop.run(0.1)
    loop.core.follow(sine(q, amplitude, 0.4 + 0.2 * np.linspace(0, 1, len(q)), 3.0), loop.stamp)
    record = loop.run(2.9)
    assert record.lead[-1] * case.rate == pytest.approx(case.delay + 0.5, abs=0.2)
    assert np.abs(record.since(2.0).error).max() < 5e-4
    assert not loop.core.control.parts.drives.state.found.any()


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 1.0])
@pytest.mark.parametrize("name", ["panda", "ur5", "xarm7", "kinova"])
def test_errors_of_damped_directions_are_below_three_times_those_with_exact_velocities(name, delay):
    """Both with positions in steps, of which half is hidden in any case."""
    arm, case = arms.load(name), Case(name, "passivity_based", 1000.0, delay)
    n = len(arm.limit)
    for q in (*map(arm.aligned, range(3)), arm.random_pose(np.random.default_rng(0), 0.3)):
        exact, found = (
            scenarios.trajectory(case, q, encoders=Encoders(n, STEP, exact=x))["error"] for x in (True, False)
        )
        assert found < WORSE * max(exact, 0.5 * STEP), f"{found} in place of {exact} at {q.tolist()}"


def test_the_usual_filter_leaves_a_third_of_the_damping():
    """Errors of directions that are so light that damping is what the loop carries are over it."""
    rate, delay = DEFAULTS["convergence_rate"][0], DEFAULTS["delay"]
    exact = largest_damping(rate, 1e-3, delay)
    carried = [
        largest_damping(rate, 1e-3, delay, velocity_pole(t, 1e-3)) for t in (LOOP_FILTER_TIME, 1.1 * LOOP_FILTER_TIME)
    ]
    assert carried[0] > exact / WORSE > carried[1]
    for period in (2e-3, 4e-3):
        slower = largest_damping(rate, period, delay, velocity_pole(LOOP_FILTER_TIME, period))
        assert slower > largest_damping(rate, period, delay) / WORSE


@pytest.mark.parametrize("rate", [pytest.param(1000.0, marks=pytest.mark.slow), 250.0])
def test_an_arm_at_rest_stays_where_it_is(rate, rng):
    """Steps of a position become efforts, which stay small: a part of a hundredth of the limits."""
    for mode in ("gravity_compensation", *MOVING[1:]):
        case = Case("panda_arm", mode, rate, 1.0)
        arm = arms.load(case.arm)
        q = arm.random_pose(rng, 0.3)
        loop = case.loop(q, 1e-3 * rng.uniform(-1, 1, 7), encoders=Encoders(7, STEP))
        record = loop.run(1.5).since(0.5)
        assert np.abs(record.q - q).max() < 20 * STEP and record.speed.max() < 0.02
        assert (np.ptp(record.effort, axis=0) < 0.05 * arm.limit).all()


def test_gains_give_way_to_the_filter():
    """Guiding is damped by what the loop carries with the filter; with measured velocities by more."""
    case = Case("panda_arm", "gravity_compensation", 250.0, 1.0)
    caps = {}
    for time in (0.0, 0.005, 0.05):
        q = arms.load(case.arm).aligned(0)
        loop = case.loop(q, encoders=Encoders(7, STEP, time) if time else None)
        loop.run(0.1)
        caps[time] = loop.core.gains.guide_cap
        assert loop.core.loop().radius < 1.0 + 1e-9
    assert caps[0.0] > caps[0.005] > caps[0.05] > 0.0
