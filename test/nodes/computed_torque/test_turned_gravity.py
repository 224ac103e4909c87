"""The controller's core under gravity that turns: what it exerts, what it keeps, how it passes over."""

import numpy as np
import pytest
from core_loop import MIDDLE, ZERO, Loop
from scipy.spatial.transform import Rotation
from support import arms
from support.cores import MODES, make_core
from support.grids import every_run

from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.lie_dynamics import gravity_force

S = 10**9
DOWN = np.array([0.0, 0.0, -9.81])


def tilted(angle):
    return Rotation.from_euler("x", angle).apply(DOWN)


@pytest.mark.parametrize("mode", MODES)
def test_efforts_follow_gravity_and_pass_over_smoothly_where_it_jumps(mode):
    arm = arms.load("panda_arm")
    q, zero = 0.5 * (arm.lower + arm.upper), np.zeros(7)
    core = make_core(arm.model, mode=mode, blend_time=0.5, adaptation_memory=0.0)
    core.start()

    def at(t):
        return core.answer(RobotState(S + round(t * S), q, zero)).total

    def held(gravity):
        return gravity_force(arm.model.with_gravity(gravity), q)

    np.testing.assert_allclose(at(0.0), held(DOWN), atol=1e-9)
    for k in range(1, 31):  # slowly: at once
        core.turn_gravity(tilted(0.01 * k))
        np.testing.assert_allclose(at(0.002 * k), held(tilted(0.01 * k)), atol=1e-9)
    before, core = at(0.07), core.with_options(core.options)
    efforts = [before]
    core.turn_gravity(tilted(-0.5))
    for t in np.arange(0.072, 0.7, 0.002):
        efforts.append(at(t))
    jump = np.abs(held(tilted(-0.5)) - before)
    assert jump.max() > 10.0
    assert (np.abs(np.diff(efforts, axis=0)) <= 0.01 * jump + 1e-9).all()  # 1.5 times the mean of 250 steps at most
    np.testing.assert_allclose(efforts[-1], held(tilted(-0.5)), atol=1e-9)


@pytest.mark.parametrize("stopping", every_run((True,), (False, True)))
def test_gravity_that_jumps_with_every_state_does_not_hold_up_control(stopping, rng):
    """An IMU that shakes, as often as states come: the arm follows, or comes to rest, and steps no torque."""
    loop = Loop(qd=0.5 * rng.uniform(-1.0, 1.0, 7) if stopping else ZERO)
    loop.step()
    if stopping:
        loop.core.stop("asked to")
    else:
        loop.follow([1.0], [MIDDLE + 0.3], [ZERO])
    for k in range(750):
        loop.core.measure_gravity(tilted(0.03 * (k % 2)))
        loop.step()
    answers = loop.answers[1:]
    assert loop.core.phase == ("stopped" if stopping else "holding")
    assert max(np.abs(a.velocity).max() for a in answers) < 0.7
    assert np.abs(answers[-1].velocity).max() < 1e-3 and np.abs(answers[-1].error).max() < 2e-3
    assert (np.abs(np.diff([a.total for a in answers[-200:]], axis=0)) < 1e-3 * loop.core.limit).all()


def test_other_options_keep_what_was_measured_and_learned():
    arm = arms.load("panda_arm")
    q = 0.5 * (arm.lower + arm.upper)
    core = make_core(arm.model, mode="adaptive")
    core.start()
    known = core.learner.pseudo
    for k in range(50):
        core.answer(RobotState(S + k * S // 500, q + 0.002 * (k > 0), np.zeros(7)))
    core.turn_gravity(tilted(0.3))
    other = core.with_options(core.options)
    np.testing.assert_array_equal(other.dynamics.gravity, tilted(0.3))
    np.testing.assert_array_equal(other.learner.model.gravity, tilted(0.3))
    np.testing.assert_allclose(other.learner.pseudo, core.learner.pseudo, rtol=1e-9)
    assert np.abs(core.learner.pseudo - known).max() > 1e-6
    np.testing.assert_array_equal(core.with_options(other.options).gravity(q), other.gravity(q))
