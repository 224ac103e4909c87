"""The time for which a core of computed_torque commands: when efforts act, however late they and states are."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from core_loop import MIDDLE, ZERO, Loop, S, panda
from support import arms
from support.control.control_loop import ControlLoop
from support.control.curved_paths import ARM, START, follow, quintic
from support.cores import make_core, options

from lie_dynamics_ros.core.errors import ParameterError
from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.lie_dynamics.control.kernels.laws import FOUND, SURE
from lie_dynamics_ros.nodes.computed_torque import review
from lie_dynamics_ros.nodes.computed_torque.core import ComputedTorqueCore
from lie_dynamics_ros.nodes.computed_torque.loop_timing import LoopTiming
from lie_dynamics_ros.nodes.computed_torque.options import CONTROL_MODES
from lie_dynamics_ros.nodes.computed_torque.trajectories.trajectory_player import PathClock


def swing_errors(delay, **parameters):
    """Errors of a sine of all joints whose efforts come late by whole periods; the arm's own are of higher order."""
    loop = Loop(rate=250.0, delay=delay, method="rkmk4", learn_drives=False, **parameters)  # the law itself
    loop.core.parts.timing.effort_delay.note = lambda *_: False  # nothing tells it
    loop.core.parts.timing.late_errors.note = lambda *_: ZERO
    loop.run(0.1)
    times, pace = np.linspace(0.0, 2.0, 41), np.pi
    sine, cosine = np.sin(pace * times)[:, None] * np.ones(7), np.cos(pace * times)[:, None] * np.ones(7)
    motion = np.array([MIDDLE + 0.2 * sine, 0.2 * pace * cosine, -0.2 * pace**2 * sine])
    rest = np.array([MIDDLE, ZERO, ZERO])[:, None]
    loop.follow(np.append(times, 3.0), *np.concatenate([motion, rest], axis=1), start=S + 10**8)
    return np.array([answer.error for answer in loop.run(1.9)[250:]])


@pytest.mark.parametrize(
    "mode", ["computed_torque", "passivity_based", pytest.param("adaptive", marks=pytest.mark.slow)]
)
def test_what_is_desired_is_commanded_for_the_time_at_which_efforts_act(mode):
    """For the middle of what the delay may be: from errors with a known delay, those without delay and with one differ
    by opposite amounts.
    """
    early, late = swing_errors(0, mode=mode), swing_errors(1, mode=mode)
    known = swing_errors(1, mode=mode, least_delay=1.0)
    assert np.abs(early + late - 2.0 * known).max() < 0.05 * np.abs(late - early).max()
    assert np.abs(known).max() < 0.05 * np.abs(late - early).max()


@pytest.mark.parametrize("mode", CONTROL_MODES)
def test_at_rest_the_delay_changes_no_effort(mode):
    efforts = []
    for least in (0.0, 1.0):
        core = ComputedTorqueCore(panda(), options(mode=mode, least_delay=least))
        core.answer(RobotState(S, MIDDLE, ZERO))
        efforts.append(core.answer(RobotState(S + 2_000_000, MIDDLE + 0.01, ZERO + 0.02)).total)
    np.testing.assert_array_equal(*efforts)


def test_a_least_delay_beyond_the_delay_is_refused():
    with pytest.raises(ParameterError, match="least_delay: at most delay, 1, got 2"):
        options(least_delay=2.0)


def test_states_older_than_declared_move_the_time_for_which_is_commanded():
    core = ComputedTorqueCore(panda(), options())
    for k in range(40):
        core.answer(RobotState(S + k * 2_000_000, MIDDLE, ZERO, age=0.0036))
    assert core.lead == pytest.approx(2e6 * (0.5 + 0.5 * (1.75 + 2.0)))


@pytest.mark.parametrize("mode", ["computed_torque", "passivity_based"])
@pytest.mark.parametrize("delay", [0.0, 1.0])
def test_the_first_motion_loses_the_error_of_its_first_states(mode, delay, monkeypatch):
    """In MuJoCo at 250 Hz, where accelerations jump: against a loop that does not put its clock back.

    Over 0.2 s from when the delay is known; later there are errors of second order in the period, too.
    """
    arm, largest = arms.load(ARM), {}
    for name in ("put back", "left"):
        if name == "left":
            monkeypatch.setattr(PathClock, "put_back", lambda *_: None)
        simulated = arm.simulated(integrator="rk4")
        simulated.set(START, np.zeros(7))
        loop = ControlLoop(simulated, make_core(arm.model, mode=mode), 250.0, delay)
        loop.run(0.05)
        follow(loop, quintic(0.8, arm.model, 2), 0)
        largest[name] = np.abs(loop.run(0.26).error[15:]).max()
    assert largest["put back"] < 0.5 * largest["left"]


@pytest.mark.parametrize(
    ("error", "late"),
    [(2e-3, 1_000_000), (-2e-3, 0), (4e-4, 400_000), (1e200, 1_000_000), (np.inf, 0), (-np.inf, 0), (np.nan, 0)],
)
def test_the_clock_is_put_back_by_what_the_robot_is_late_and_no_more(error, late):
    """At 1 rad/s, for a delay that turned out to be 1 ms longer, or shorter."""
    one = np.ones(1)
    for sign in (1, -1):
        answer = SimpleNamespace(desired=SimpleNamespace(velocity=one), error=sign * error * one)
        assert review._late(answer, one, sign * 1_000_000) == sign * late
    assert review._late(SimpleNamespace(desired=SimpleNamespace(velocity=0.0 * one), error=one), one, 10**6) == 0


def test_another_range_of_the_delay_begins_anew_and_no_lead_leaves_it():
    """What was found is beside the middle of the range, and may be more than a shorter period is."""
    gains = ComputedTorqueCore(panda(), options()).gains
    timing = LoopTiming(np.ones(7))
    slow, told = replace(gains, usual=0.004), options(least_delay=1.0)
    timing.find_lead(options(), slow)
    assert timing.lead == 4_000_000
    timing.late_errors._numbers[[FOUND, SURE]] = -0.002, 1.0
    for _ in range(3):
        assert timing.suit_lead(options(), slow, 0.001)[1] == pytest.approx(0.002)
    assert timing.lead == 2_000_000  # without any delay
    timing.suit_lead(options(), replace(gains, usual=0.001), 1.0)
    assert timing.lead == 1_000_000 and timing.late_errors.sure == 0.0
    timing.late_errors._numbers[[FOUND, SURE]] = 0.002, 1.0
    timing.suit_lead(told, slow, 1.0)
    assert timing.lead == 6_000_000 and timing.late_errors.sure == 0.0


def test_jumps_do_not_count_besides_what_errors_show():
    gains = replace(ComputedTorqueCore(panda(), options()).gains, usual=0.004)
    timing = LoopTiming(np.ones(7))
    timing.find_lead(options(), gains)
    timing.late_errors._numbers[[FOUND, SURE]] = 0.0015, 1.0
    timing.suit_lead(options(), gains, 1.0)
    lead = timing.lead
    timing.effort_delay.between = lambda *_: 1.0
    assert timing.find_lead(options(), gains) == 0 and timing.lead == lead == 5_500_000
