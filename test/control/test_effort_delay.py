"""How long efforts take to act, found from the motion of arms in MuJoCo, which shares no code with it."""

import numpy as np
import pytest
from support import arms

from lie_dynamics_ros.lie_dynamics.control.effort_delay import DOUBT, LITTLE, PRIOR, EffortDelay

ARM, PERIOD = "panda_arm", 0.002
POSE = np.array([0.1, -0.3, 0.2, -1.9, 0.1, 1.7, 0.5])


def move(found, delay, jump=40.0, states=60, noise=0.0, rng=None, blow=0.0, **physics):
    """Accelerate to and fro, from one state to the next; efforts of the exact model act some periods later."""
    arm = arms.load(ARM)
    simulated, judge = arm.simulated(integrator="rk4", step=PERIOD / 16, **physics), arms.physics(ARM)
    simulated.set(POSE, np.zeros(7))
    efforts, told = [judge.inverse_dynamics(POSE, np.zeros(7), np.zeros(7))] * 12, 0
    for k in range(states):
        q, qd = simulated.q, simulated.qd
        wanted = jump * (k % 20 >= 10) * np.array([1, -1, 1, 1, 1, -1, 1]) * (-1) ** (k // 20)
        efforts.append(judge.inverse_dynamics(q, qd, wanted))
        seen = qd if rng is None else qd + noise * rng.normal(size=7)
        told += found.note(k * round(PERIOD * 1e9), seen, wanted)
        for part in range(16):
            late = int(np.ceil(delay - part / 16 - 1e-9))
            simulated.advance(efforts[-1 - max(late, 0)] + (blow * (k == 10) if blow else 0.0), 1)
    return told


@pytest.mark.parametrize("delay", [0.0, 0.25, 0.5, 1.0])
def test_jumps_of_the_acceleration_tell_the_delay(delay):
    found = EffortDelay(7)
    assert found.between(0.0, 1.0) == 0.5
    assert move(found, delay) == 5
    assert found.between(0.0, 1.0) == pytest.approx(delay, abs=0.02)
    assert found.between(0.0, 2.0) == 1.0  # more than a period: not told


@pytest.mark.parametrize("delay", [pytest.param(0.0, marks=pytest.mark.slow), 1.0])
@pytest.mark.parametrize(
    "wrong",
    [
        {"payload": ("panda_link7", 1.5, (0.0, 0.0, 0.1))},
        {"friction": np.array([4.0, 4.0, 4.0, 4.0, 1.0, 1.0, 1.0]), "damping": 1.0},
        {"noise": 5e-3},
    ],
    ids=["payload", "friction", "noise"],
)
def test_it_comes_nearer_with_a_payload_friction_or_noise_that_is_not_known(delay, wrong, rng):
    found = EffortDelay(7)
    move(found, delay, states=200, rng=rng, **wrong)
    assert abs(found.between(0.0, 1.0) - delay) < 0.45  # without it 0.5


def test_smooth_motions_and_gaps_tell_nothing():
    found = EffortDelay(7)
    assert move(found, 1.0, jump=0.97 * LITTLE) == 0 and found.between(0.0, 1.0) == 0.5
    zero = np.zeros(7)
    for k in range(30):  # it forgets right after each jump
        found.note(k, zero, 40.0 * (k % 2) * np.ones(7))
        found.forget()
    assert found.between(0.0, 1.0) == 0.5


def test_another_delay_is_found_by_ten_jumps_and_after_a_gap_by_the_first():
    found = EffortDelay(7)
    move(found, 0.0, states=200)
    assert found.between(0.0, 1.0) < 0.02
    move(found, 1.0, states=110)
    assert found.between(0.0, 1.0) > 0.6  # the middle of what may be is left behind
    found.forget()
    assert found.between(0.0, 1.0) == 0.5
    move(found, 0.0, states=14)
    assert found.between(0.0, 1.0) < 0.05


@pytest.mark.parametrize("blow", [-60.0, 60.0])
def test_a_blow_at_a_jump_is_no_delay(blow):
    found = EffortDelay(7)
    assert move(found, 0.5, blow=blow, states=60) == 4
    assert found.between(0.0, 1.0) == pytest.approx(0.5, abs=0.05)


def test_small_jumps_are_believed_by_their_squares_over_the_noise():
    """One that leaves no noise leaves a fifth of what is taken for that before."""
    found, jump = EffortDelay(7), 3.0
    assert move(found, 1.0, jump=jump, states=14) == 1
    sure = 7.0 * jump**2 / (7.0 * jump**2 + DOUBT * PRIOR / (1.0 + PRIOR))
    assert found.between(0.0, 1.0) == pytest.approx(0.5 + 0.5 * sure, abs=0.02)


@pytest.mark.parametrize(("noise", "nearer", "spread"), [(0.0, 0.1, 0.1), (5e-4, 0.25, 0.2), (5e-3, 0.55, 0.1)])
@pytest.mark.parametrize("delay", [pytest.param(0.0, marks=pytest.mark.slow), 0.5, 1.0])
def test_how_far_small_jumps_are_believed_is_a_matter_of_noise(delay, noise, nearer, spread, rng):
    """5 of 1 rad/s^2: without noise they tell the delay, with that of a poor encoder nothing, and never a wrong one."""
    told = []
    for _ in range(4):
        found = EffortDelay(7)
        move(found, delay, jump=1.0, noise=noise, rng=rng)
        told.append(found.between(0.0, 1.0))
    assert abs(np.mean(told) - delay) < (nearer if delay != 0.5 else spread) and np.std(told) < spread


def test_one_joint_alone_tells_no_noise():
    """One joint's acceleration is all that its delay needs: nothing would be left."""
    found, qd, h = EffortDelay(1), 0.0, PERIOD
    for k in range(60):
        wanted = 1.0 * (k % 20 >= 10)
        found.note(k * round(h * 1e9), np.array([qd]), np.array([wanted]))
        qd += h * wanted
    doubt = found.between(0.0, 1.0)
    assert 0.5 * DOUBT / (DOUBT + 6.0) < doubt < 0.5
