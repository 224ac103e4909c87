"""What a stop finds of its joints and sensors: inertia that nobody told, and noise of velocities."""

import numpy as np
import pytest

from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.lie_dynamics.control.kernels.felt_inertia import TRIED
from lie_dynamics_ros.lie_dynamics.control.velocity_filter import PositionSteps
from lie_dynamics_ros.nodes.computed_torque.sensor_noise import PEAK_TO_PEAK, SensorNoise
from lie_dynamics_ros.nodes.computed_torque.untold_inertia import (
    FRICTION_FELT,
    HEAVIEST_UNTOLD,
    INERTIA_GROWTH,
    FeltInertia,
    UntoldInertia,
)

PERIOD, LATE, DAMPING, FILTER, FADING = 0.002, 0.02, 16.0, 60.0, 6.0
ONE = np.ones(1)


def stopped(known, true, seconds, push=0.0):
    """Return speed and inertia found, of a joint (known, true [kg m^2]) that damping at a rate of 16 1/s slows down."""
    inertia, speed, slow, late = UntoldInertia(1), 1.0, 0.0, [0.0] * 5
    found, most, growth = np.zeros(1), HEAVIEST_UNTOLD * ONE, INERTIA_GROWTH * PERIOD * ONE
    for _ in range(round(seconds / PERIOD)):
        slow += (1.0 - np.exp(-FILTER * PERIOD)) * (-speed - slow)
        found = inertia.update(slow * ONE, growth, known * ONE, most, PERIOD, LATE, 0.0, FADING)
        late.append(DAMPING * (known + found[0]) * slow)
        speed += PERIOD * (late.pop(0) + push) / true
    return abs(speed), found[0]


@pytest.mark.parametrize("rotor", [1e-3, 1e-2, 0.03])
def test_a_light_joint_with_a_rotor_that_nobody_told_is_slowed_down(rotor):
    speed, found = stopped(1e-5, 1e-5 + rotor, 1.5)
    assert speed < 5e-3 and 0.1 * rotor < found <= HEAVIEST_UNTOLD


def test_a_joint_that_slows_down_is_what_it_is_known_to_be():
    speed, found = stopped(1e-3, 1e-3, 1.0)
    assert speed < 1e-3 and found < 1e-3


def test_a_joint_that_turns_round_is_taken_to_be_lighter():
    inertia = UntoldInertia(1)
    found = [inertia.update(ONE, 0.06 * ONE, 1e-3 * ONE, ONE, PERIOD, LATE, 0.0, FADING)[0] for _ in range(100)][-1]
    assert inertia.update(-ONE, -ONE, 1e-3 * ONE, ONE, PERIOD, LATE, 0.0, FADING)[0] == pytest.approx(found / np.e)


MOST = np.array([HEAVIEST_UNTOLD])


def felt_in_a_stop(known, true, seconds, noise=0.0, load=0.0):
    """Return speed and inertia found, of a joint (known, true [kg m^2]) that damping at a rate of 16 1/s slows down."""
    rng, inertia, speed, slow, late = np.random.default_rng(1), FeltInertia(ONE), 1.0, 0.0, [0.0] * 5
    for _ in range(round(seconds / PERIOD)):
        seen = speed + noise * rng.standard_normal()
        slow += (1.0 - np.exp(-FILTER * PERIOD)) * (-seen - slow)
        lags = np.array([abs(slow) > 3e-3])
        found = inertia.update(seen * ONE, lags, known * np.eye(1), MOST, PERIOD, 0.01, (noise, noise))
        effort = DAMPING * (known + found[0]) * slow
        inertia.note(effort * ONE)
        late.append(effort)
        speed += PERIOD * (late.pop(0) + load) / true
    return abs(speed), found[0]


@pytest.mark.parametrize(
    ("rotor", "noise"), [(3e-4, 0.0), *((rotor, noise) for rotor in (1e-3, 1e-2, 0.03) for noise in (0.0, 5e-3))]
)
def test_a_rotor_that_nobody_told_is_felt(rotor, noise):
    """Where velocities have noise, one of 0.03 % could be friction."""
    speed, found = felt_in_a_stop(1e-5, 1e-5 + rotor, 1.5, noise)
    assert speed < 5e-3 + noise and 0.3 * rotor < found <= min(1.5 * rotor, HEAVIEST_UNTOLD)


@pytest.mark.parametrize("viscous", [1e-3, 3e-3, 1e-2])
@pytest.mark.parametrize("rate", [8.0, 15.0])
def test_viscous_friction_is_hardly_taken_for_a_rotor(viscous, rate):
    """Efforts move a joint against it, and change while it hardly accelerates, as those that move a rotor do."""
    rng, inertia, found = np.random.default_rng(2), FeltInertia(ONE), np.zeros(1)
    for k in range(round(0.5 / PERIOD)):
        speed = 0.5 * np.exp(-rate * k * PERIOD)
        inertia.note(viscous * speed * ONE)
        seen = (speed + 0.04 * rng.standard_normal()) * ONE
        found = inertia.update(seen, ONE > 0.0, 1e-5 * np.eye(1), MOST, PERIOD, 1e-4, (0.01, 0.04))
    assert found[0] <= TRIED * FRICTION_FELT


@pytest.mark.parametrize("true", [8e-4, 1e-3, 1.9e-3])
def test_nothing_is_felt_where_bodies_may_explain_it(true):
    """Bodies may be off by a fifth, or carry as much as they weigh."""
    speed, found = felt_in_a_stop(1e-3, true, 1.5)
    assert speed < 1e-3 and found < 1e-6


def test_what_shakes_a_joint_is_eased_and_may_grow_again():
    inertia, steps = FeltInertia(ONE), round(0.5 / PERIOD)
    lags = np.array([True])

    def decay(k):
        inertia.note(-0.01 * np.exp(-8.0 * k * PERIOD) * ONE)
        speed = np.exp(-8.0 * k * PERIOD) * 0.01 / (8.0 * 5e-3) * ONE  # of 5e-3 kg m^2
        return inertia.update(speed, lags, 1e-5 * np.eye(1), MOST, PERIOD, 1e-4, (0.0, 0.0))[0]

    before = [decay(k) for k in range(steps)][-1]
    inertia.ease(lags)
    after = [decay(k) for k in range(steps, steps + 10)][-1]
    later = [decay(k) for k in range(steps + 10, 2 * steps)][-1]
    assert before == pytest.approx(5e-3, rel=0.2)
    assert after == pytest.approx(0.25 * before, rel=0.1)
    assert after < later <= before * 1.01


def test_noise_is_told_from_oscillation(rng):
    n, noise, size = 20000, 0.01, np.array([0.0, 0.05, 0.5])
    v = noise * rng.standard_normal((n, 3)) + size * np.sin(np.arange(n)[:, None] * np.array([0.0, 0.6, 1.3]) + 0.3)
    sensor, zero = SensorNoise(PositionSteps(3)), np.zeros(3)
    for k, velocity in enumerate(v):
        _, found, _ = sensor.mend(RobotState(k, zero, velocity), 1e-4)
    assert (np.abs(found / (noise * PEAK_TO_PEAK) - 1.0) < [0.15, 0.15, 0.35]).all()
    second = v[:-2] - 2.0 * v[1:-1] + v[2:]
    assert (second[:, 2] ** 2).mean() / 6.0 > 50.0 * noise**2  # what second differences alone would say


def test_noise_is_found_in_states_whose_arrays_are_used_again(rng):
    sensor, buffers, zero = SensorNoise(PositionSteps(3)), np.zeros((2, 3)), np.zeros(3)
    for k in range(1000):
        buffers[k % 2] = 0.01 * rng.standard_normal(3)
        _, found, _ = sensor.mend(RobotState(k, zero, buffers[k % 2]), 0.001)
    assert (np.abs(found / (0.01 * PEAK_TO_PEAK) - 1.0) < 0.4).all()


def mended(rng, step=0.0, noise=0.0, rough=0.0, off=0.0, period=0.002, seconds=6.0):
    """Return errors of positions and velocities in the second half, as measured and as mended, of a slow joint.

    Its positions come in steps and are off by noise, its velocities are off by noise and a constant.
    """
    steps, rows = PositionSteps(1), []
    sensor = SensorNoise(steps)
    for k in range(round(seconds / period)):
        t = k * period
        x, v = 5e-3 * np.sin(2.5 * t), 12.5e-3 * np.cos(2.5 * t)
        q = x + rough * rng.standard_normal()
        q, qd = step * np.round(q / step) if step else q, v + noise * rng.standard_normal() + off
        state = RobotState(1 + k, q * ONE, qd * ONE)
        steps.note(state.position)
        found = sensor.mend(state, period)[0]
        rows.append((q - x, found.position[0] - x, qd - v, found.velocity[0] - v))
    return np.array(rows)[len(rows) // 2 :].T


@pytest.mark.parametrize("bits", [12, pytest.param(14, marks=pytest.mark.slow)])
def test_measured_velocities_lead_to_positions_within_the_steps_of_these(bits, rng):
    step = 2.0 * np.pi / 2**bits
    coarse, fine, _, rates = mended(rng, step)
    assert np.ptp(coarse) > 0.9 * step and np.ptp(fine) < 0.1 * step and np.abs(rates).max() < 1e-6
    noisy = mended(rng, step, noise=0.01)[1]
    assert noisy.std() < 0.8 * coarse.std()


@pytest.mark.parametrize("off", [3e-3, pytest.param(-3e-3, marks=pytest.mark.slow)])
def test_positions_stay_within_their_step_where_velocities_are_off(off, rng):
    coarse, fine, _, rates = mended(rng, 1.5e-3, off=off)
    assert np.abs(fine - coarse).max() <= 0.75e-3 + 1e-12 and np.abs(rates - off).max() < 1e-6


def slow_part(values, rate=10.0, period=0.002):
    """Return the standard deviation of values behind a low-pass of such a rate [1/s]."""
    passed, rows = 0.0, []
    for value in values:
        passed += rate * period * (value - passed)
        rows.append(passed)
    return np.std(rows)


@pytest.mark.parametrize("period", [pytest.param(0.0005, marks=pytest.mark.slow), 0.002, 0.004])
def test_slow_noise_of_velocities_shows_in_positions(period, rng):
    _, _, before, after = mended(rng, noise=0.01, period=period)
    assert slow_part(after, period=period) < 0.4 * slow_part(before, period=period) and after.std() < before.std()


@pytest.mark.parametrize("rough", [1e-5, *(pytest.param(x, marks=pytest.mark.slow) for x in (1e-4, 1e-3))])
def test_velocities_are_no_worse_where_positions_are_noisy(rough, rng):
    _, _, before, after = mended(rng, noise=0.01, rough=rough)
    assert after.std() < 1.2 * before.std() and slow_part(after) < 1.1 * slow_part(before)
    assert np.abs(mended(rng, rough=rough)[3]).max() < 1e-6


@pytest.mark.parametrize("jump", [0.01, 0.1, 2.0 * np.pi])
def test_a_position_that_jumps_moves_no_velocity(jump, rng):
    steps, off = PositionSteps(1), []
    sensor = SensorNoise(steps)
    for k in range(1000):
        state = RobotState(k, jump * (k >= 500) * ONE, 0.01 * rng.standard_normal() * ONE)
        steps.note(state.position)
        found, swing, _ = sensor.mend(state, 0.002)
        off.append(abs(found.velocity - state.velocity)[0])
        assert off[-1] <= 0.5 * np.max(swing) + 1e-12 and np.abs(found.position - state.position) < 1e-3
    assert max(off[:500]) < 0.02 and max(off[500:]) < 0.05
