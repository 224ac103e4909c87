"""Velocities from positions: against weighted least squares, and the delay, noise and loops that are stated."""

import numpy as np
import pytest

from lie_dynamics_ros.lie_dynamics.control import (
    VelocityFilter,
    is_robust,
    largest_damping,
    largest_period,
    sampled_loop,
    spectral_radius,
    velocity_delay,
    velocity_noise,
    velocity_pole,
)
from lie_dynamics_ros.lie_dynamics.errors import InputError

TIME = 0.005
PERIODS = (0.1e-3, 1e-3, 2e-3, 4e-3, 20e-3)
ORIGIN = 10**18  # as on a clock [ns]


def run(stamps, positions, accelerations=None, found=None, **how):
    """Velocities (k, n) that a filter finds for the states at some times [ns]."""
    found = VelocityFilter(positions.shape[1], TIME, **how) if found is None else found
    rows = []
    for k, (stamp, q) in enumerate(zip(stamps, positions, strict=True)):
        velocity = np.full(len(q), np.nan)
        assert found.fill(int(stamp), q, velocity, None if accelerations is None else accelerations[k]) == len(q)
        rows.append(velocity)
    return np.array(rows)


def even(period, count):
    return ORIGIN + np.round(1e9 * period * np.arange(count)).astype(np.int64)


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("forced", [False, True])
def test_it_is_the_line_of_weighted_least_squares(period, forced, rng):
    """The known motion is integrated by itself and taken off; the rest is a fit by numpy, of all positions anew."""
    count, n = 30, 3
    gaps = np.round(1e9 * period * rng.uniform(0.3, 1.7, count)).astype(np.int64)
    stamps, q = ORIGIN + np.cumsum(gaps), rng.normal(size=(count, n))
    a = rng.normal(0.0, 1.0 / period, (count, n)) if forced else np.zeros((count, n))
    found = run(stamps, q, a if forced else None)
    known, speed = np.zeros(n), np.zeros(n)
    taken, speeds = [q[0]], [speed]
    for k in range(1, count):
        h = gaps[k] * 1e-9
        known, speed = known + h * speed + 0.5 * h * h * a[k], speed + h * a[k]
        taken.append(q[k] - known)
        speeds.append(speed)
    first = gaps[1] * 1e-9
    prior = 3.0 * TIME**3 / max(first, 0.01 * TIME)  # of a velocity of zero
    for k in range(1, count):
        t = (stamps[: k + 1] - stamps[k]) * 1e-9
        weight = np.sqrt(np.maximum(np.exp(t / TIME), 1e-300))
        rows = np.column_stack([weight, weight * t])
        rows = np.vstack([rows, [0.0, weight[0] * np.sqrt(prior)]])
        right = np.vstack([weight[:, None] * np.array(taken[: k + 1]), np.zeros(n)])
        line = np.linalg.lstsq(rows, right, rcond=None)[0]
        np.testing.assert_allclose(found[k], line[1] + speeds[k], rtol=1e-6, atol=1e-6 / period)


@pytest.mark.parametrize("period", PERIODS)
def test_delay_and_noise_are_those_stated(period, rng):
    count = round(20 * TIME / period) + 40
    t = period * np.arange(count)
    ramp = run(even(period, count), np.column_stack([0.5 * t * t, 3.0 * t]))
    assert t[-1] - ramp[-1, 0] == pytest.approx(velocity_delay(TIME, period), rel=1e-4)
    assert ramp[-1, 1] == pytest.approx(3.0, rel=1e-6)
    found = run(even(period, count), rng.normal(size=(count, 4000)))
    stated = velocity_noise(TIME, period)
    assert found[-1].std() == pytest.approx(stated, rel=0.05)
    assert found.std(axis=1).max() < 2.0 * stated  # at the start, too
    pushed = run(even(period, count), np.column_stack([0.5 * t * t]), np.ones((count, 1)))
    assert pushed[-1, 0] == pytest.approx(t[-1], rel=1e-4)  # not late where the acceleration is known


@pytest.mark.parametrize("case", ["forget", "back", "gap"])
def test_it_begins_afresh(case, rng):
    q = rng.normal(size=(40, 2))
    found = VelocityFilter(2, TIME)
    run(even(1e-3, 40), q, found=found)
    after = even(1e-3, 40) + {"forget": 40, "back": -10_000, "gap": 400}[case] * 1_000_000
    if case == "forget":
        found.forget()
    np.testing.assert_allclose(run(after, q[::-1], found=found), run(even(1e-3, 40), q[::-1]), rtol=1e-9, atol=1e-9)


def test_slow_states_give_differences_and_the_same_state_again_changes_nothing(rng):
    q = rng.normal(size=(10, 2))
    found = VelocityFilter(2, TIME)
    velocity = run(even(0.2, 10), q, found=found)
    np.testing.assert_allclose(velocity[1:], np.diff(q, axis=0) / 0.2, rtol=1e-3)
    np.testing.assert_array_equal(run(even(0.2, 10)[-1:], q[-1:] + 1.0, found=found), velocity[-1:])


def test_measured_velocities_stay_unless_all_are_to_be_replaced():
    found = VelocityFilter(3, TIME)
    t = 1e-3 * np.arange(100)
    for k, stamp in enumerate(even(1e-3, 100)):
        velocity = np.array([7.0, np.nan, 8.0])
        assert found.fill(int(stamp), np.array([t[k], 2.0 * t[k], 0.0]), velocity) == 1
    np.testing.assert_allclose(velocity, [7.0, 2.0, 8.0], rtol=1e-6)
    assert found.fill(int(stamp), np.array([t[k], 2.0 * t[k], 0.0]), velocity, replace=True) == 3
    np.testing.assert_allclose(velocity, [1.0, 2.0, 0.0], rtol=1e-6)
    sampling = found.take_sampling()
    assert sampling.periods == 99 and sampling.period == pytest.approx(1e-3) and sampling.jitter < 1e-9
    assert sampling.filled.all() and not found.take_sampling().filled.any()
    np.testing.assert_allclose(sampling.resolution, [1e-3, 2e-3, np.nan])


def test_jitter_of_stamps_is_measured(rng):
    found = VelocityFilter(1, TIME)
    gaps = rng.uniform(0.5e6, 1.5e6, 500).astype(np.int64)
    run(ORIGIN + np.cumsum(gaps), np.zeros((500, 1)), found=found)
    sampling = found.take_sampling()
    assert sampling.jitter == pytest.approx(gaps[1:].std() * 1e-9, rel=1e-6)
    assert sampling.longest == pytest.approx(gaps[1:].max() * 1e-9)
    assert np.isnan(sampling.resolution).all()


def test_joints_without_end_may_jump_by_a_turn():
    t = 1e-3 * np.arange(3000)
    turning = np.column_stack([8.0 * t, -8.0 * t])
    wrapped = (turning + np.pi) % (2 * np.pi) - np.pi
    found = run(even(1e-3, 3000), wrapped, turns=[True, True])
    np.testing.assert_allclose(found[100:], np.broadcast_to([8.0, -8.0], found[100:].shape), rtol=1e-6)


def test_numbers_beyond_all_joints_leave_no_trace():
    q = np.zeros((400, 2))
    q[50] = [1e150, -1e150]
    q[60, 0] = 1e-300
    found = run(even(1e-3, 400), q)
    assert np.isfinite(found).all() and np.abs(found[-1]).max() < 1e-9 and not found[55].any()


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="time"):
        VelocityFilter(2, 0.0)
    with pytest.raises(InputError, match="shape"):
        VelocityFilter(2, TIME).fill(0, np.zeros(2), np.zeros(3))


@pytest.mark.parametrize("delay", [0.0, 0.5, 1.0, 1.5])
@pytest.mark.parametrize("period", [1e-3, 4e-3])
def test_the_loop_with_the_filter_is_the_one_simulated(delay, period):
    """The filter itself in a loop that is moved on exactly by half periods, long after its start."""
    Kp, Kd, h = np.array([[90.0, 10.0], [10.0, 120.0]]), np.array([[20.0, 3.0], [3.0, 25.0]]), period
    loop = sampled_loop(h, delay, Kp, Kd, mass=np.eye(2), pole=velocity_pole(TIME, h))
    found, n = VelocityFilter(2, TIME), round(40 * TIME / h)
    run(even(h, n), np.zeros((n, 2)), found=found)
    p, v = np.array([0.3, -0.2]), np.array([1.0, 2.0])
    state = np.zeros(len(loop))
    state[:4] = *p, *v
    acting, waiting = np.zeros(2), []
    for k in range(60):
        velocity = np.full(2, np.nan)
        found.fill(int(even(h, n + k + 1)[-1]), p, velocity)
        waiting.append((2 * k + round(2 * delay), -(Kp @ p + Kd @ velocity)))
        for half in (0, 1):
            while waiting and waiting[0][0] <= 2 * k + half:
                acting = waiting.pop(0)[1]
            p, v = p + 0.5 * h * v + 0.125 * h * h * acting, v + 0.5 * h * acting
        state = loop @ state
        np.testing.assert_allclose(state[:4], [*p, *v], rtol=1e-6, atol=1e-6)


def test_gains_are_held_against_the_loop_with_the_filter():
    for delay in (0.0, 1.0):
        for pole in (0.3, 0.8, 0.95):
            longest = largest_period(100.0, 20.0, 0.0, delay, pole)
            assert 0.0 < longest < largest_period(100.0, 20.0, 0.0, delay)
            for part, stable in ((0.99, True), (1.02, False)):
                assert is_robust(part * longest, delay, 100.0, 20.0, 0.0, pole) == stable
                loops = (sampled_loop(part * longest, d, 200.0, 40.0, pole=pole) for d in (0.0, delay))
                assert (max(map(spectral_radius, loops)) < 1.0) == stable
            damper = largest_damping(0.0, 1e-3, delay, pole)
            assert 0.0 < damper < largest_damping(0.0, 1e-3, delay)
            for part, stable in ((0.98, True), (1.02, False)):  # the velocity dies away, or swings up
                step = sampled_loop(1e-3, delay, 0.0, part * 2.0 * damper, pole=pole)
                assert (abs(np.linalg.matrix_power(step, 20000)[1, 1]) < 0.1) == stable
