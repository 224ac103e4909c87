"""Set points for a driver with a loop of its own: what they hold, and what the efforts in them are good for."""

import numpy as np
import pytest
from support import arms
from support.cores import make_core, sine

from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.lie_dynamics import JointFriction
from lie_dynamics_ros.nodes.computed_torque.report import make_setpoint

S = 10**9
KP, KD = np.array([600.0, 600, 600, 600, 250, 150, 50]), np.array([50.0, 50, 50, 50, 30, 25, 15])


def follow(core, simulated, seconds, with_effort=True):
    """A driver that runs its spring and damper at 2 kHz about set points that come at 250 Hz; returns its errors."""
    errors = []
    for k in range(round(250 * seconds)):
        point = make_setpoint(core, core.answer(RobotState(S + k * S // 250, simulated.q, simulated.qd)))
        errors.append(point.position - simulated.q)
        for _ in range(8):
            tau = KP * (point.position - simulated.q) + KD * (point.velocity - simulated.qd)
            simulated.advance(tau + point.effort if with_effort else tau + core.gravity(simulated.q), 1)
        if k == 0:
            core.follow(sine(simulated.q, np.full(7, 0.3), np.linspace(0.3, 0.6, 7), seconds))
    return np.abs(errors)


def test_a_driver_that_adds_the_efforts_follows_better():
    arm = arms.load("panda_arm")
    middle, worst = 0.5 * (arm.lower + arm.upper), []
    for with_effort in (True, False):
        simulated = arm.simulated(friction=1.0, damping=0.5, integrator="implicitfast")
        simulated.set(middle, np.zeros(7))
        core = make_core(arm.model, JointFriction(np.full(7, 0.5), 1.0), error_limit=0.0)
        core.start()
        worst.append(follow(core, simulated, 2.0, with_effort).max())
    assert worst[0] < 0.3 * worst[1]


@pytest.mark.parametrize("ours", [True, False])
def test_efforts_are_those_of_the_desired_motion_within_the_limits(ours):
    """Against MuJoCo's inverse dynamics, wherever the robot is and however fast."""
    arm = arms.load("panda_arm")
    rng, judge = np.random.default_rng(1), arms.physics("panda_arm")
    middle = 0.5 * (arm.lower + arm.upper)
    core = make_core(arm.model, driver_compensates_gravity=not ours, error_limit=0.0)
    core.start()
    core.answer(RobotState(S, middle, np.zeros(7)))
    core.follow(sine(middle, np.full(7, 0.3), np.linspace(0.3, 0.6, 7), 3.0))
    for k in range(1, 20):
        q, qd = middle + 0.05 * rng.normal(size=7), 0.2 * rng.normal(size=7)
        point = make_setpoint(core, core.answer(RobotState(S + k * S // 20, q, qd)))
        effort = judge.inverse_dynamics(point.position, point.velocity, point.acceleration)
        np.testing.assert_allclose(point.effort, effort - (0.0 if ours else judge.gravity(q)), rtol=0, atol=1e-8)
    core.limit[:] = 3.0
    core.stop("")
    point = make_setpoint(core, core.answer(RobotState(2 * S, q, qd)))
    total = point.effort + (0.0 if ours else judge.gravity(q))
    assert (np.abs(total) <= 3.0 + 1e-9).all() and (np.abs(total) > 2.99).any()
