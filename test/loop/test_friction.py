"""Compensation of friction in the closed loop, with MuJoCo's dry and viscous friction as the truth."""

import numpy as np
import pytest
from support import arms
from support.control.control_loop import ControlLoop
from support.cores import make_core, sine

from lie_dynamics_ros.core.commands import JointPoints
from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.lie_dynamics import JointFriction, inverse_dynamics

MODES = ("computed_torque", "passivity_based", "adaptive")
DRY, VISCOUS = np.array([4.0, 4.0, 4.0, 4.0, 1.0, 1.0, 1.0]), 0.5


def told(n=7, **values):
    return JointFriction(np.full(n, VISCOUS), DRY, **values)


def run(mode, friction, seconds=2.0, **values):
    arm = arms.load("panda_arm")
    simulated = arm.simulated(friction=DRY, damping=VISCOUS, integrator="implicitfast")
    middle = 0.5 * (arm.lower + arm.upper)
    simulated.set(middle, np.zeros(7))
    core = make_core(arm.model, friction, mode=mode, rate=500.0, **values)
    loop = ControlLoop(simulated, core, 500.0, 1.0)
    loop.run(0.1)
    loop.core.follow(sine(middle, np.full(7, 0.3), np.linspace(0.3, 0.6, 7), seconds))
    return loop.run(seconds), loop.run(0.6)


@pytest.mark.parametrize("mode", [MODES[0], *(pytest.param(mode, marks=pytest.mark.slow) for mode in MODES[1:])])
def test_it_takes_most_of_the_error_away_and_is_quiet_at_rest(mode):
    without, free_rest = run(mode, None, adaptation_memory=0.0, learn_drives=False)  # else it is found by itself
    with_it, rest = run(mode, told(), learn_drives=False)
    assert np.sqrt((with_it.error**2).mean()) < 0.2 * np.sqrt((without.error**2).mean())
    assert set(with_it.phase) <= {"following", "holding"}
    assert rest.since(rest.t[-1] - 0.3).ripple() < free_rest.since(rest.t[-1] - 0.3).ripple()


@pytest.mark.parametrize("mode", MODES)
def test_what_is_added_depends_on_the_desired_motion_alone(mode):
    arm = arms.load("panda_arm")
    rng = np.random.default_rng(3)
    middle = 0.5 * (arm.lower + arm.upper)
    friction = told(static_friction=2.0 * DRY, stribeck_speed=0.1, load_friction=0.05)
    cores = [
        make_core(arm.model, f, mode=mode, saturate_efforts=False, adaptation_memory=0.0, learn_drives=False)
        for f in (None, friction)
    ]
    places, rates = np.array([middle, middle + 0.2, middle + 0.3]), np.full((3, 7), 0.2)
    rates[2] = 0.0
    points = JointPoints(np.arange(7), np.array([0.0, 1.0, 2.0]), places, rates)
    for core in cores:
        core.start()
        core.answer(RobotState(10**9, middle, np.zeros(7)))
        core.follow(points)
    for k in range(1, 5):
        q, qd = middle + 0.02 * rng.normal(size=7), 0.1 * rng.normal(size=7)
        plain, more = (core.answer(RobotState(10**9 + k * 10**8, q, qd)) for core in cores)
        desired = more.ahead
        x = inverse_dynamics(arm.model, desired.position, desired.velocity, desired.acceleration)
        v = desired.velocity
        s = v / np.hypot(v, 0.01)
        expected = VISCOUS * v + s * (DRY + DRY * np.exp(-((v / 0.1) ** 2)) + 0.05 * np.abs(x))
        np.testing.assert_allclose(more.total - plain.total, expected, rtol=0, atol=1e-9)
    cores[1].stop("")
    begun = cores[1].answer(RobotState(10**9 + 5 * 10**8, q, np.zeros(7)))
    cores[0].stop("")
    before = cores[0].answer(RobotState(10**9 + 5 * 10**8, q, np.zeros(7)))
    np.testing.assert_allclose(begun.total, before.total, rtol=0, atol=1e-9)  # a plan at rest: nothing to compensate


def test_trajectories_are_judged_with_it():
    arm = arms.load("panda_arm")
    middle = 0.5 * (arm.lower + arm.upper)
    points = JointPoints(np.arange(7), np.array([2.0]), np.array([middle + 0.2]), np.zeros((1, 7)))
    weak = JointFriction(np.zeros(7), 200.0)
    for friction, fits in ((None, True), (told(), True), (weak, False)):
        core = make_core(arm.model, friction)
        core.start()
        core.answer(RobotState(10**9, middle, np.zeros(7)))
        if fits:
            core.follow(points)
        else:
            with pytest.raises(MessageError, match="effort limit"):
                core.follow(points)
