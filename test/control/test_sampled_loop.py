"""Sampled, delayed, held feedback: the exact matrix against simulation, its limits against eigenvalues, damping."""


import numpy as np
import pytest
from support.robots import panda

from lie_dynamics_ros.lie_dynamics import mass_matrix
from lie_dynamics_ros.lie_dynamics.control import (
    SampleTimes,
    SoftLimits,
    StopPlan,
    damper_limit,
    is_robust,
    largest_damping,
    largest_period,
    limited_damping,
    limited_damping_matrix,
    sampled_loop,
    spectral_radius,
)
from lie_dynamics_ros.lie_dynamics.control.kernels.signals import keeps_limits
from lie_dynamics_ros.lie_dynamics.errors import InputError


def positive(rng, n):
    A = rng.normal(size=(n, n))
    return A @ A.T + 0.1 * np.eye(n)


@pytest.mark.parametrize("delay", [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.75])
@pytest.mark.parametrize("integrates", [False, True])
def test_the_matrix_is_the_simulated_loop(delay, integrates):
    """A matrix plant moved on exactly by quarters of a period, with a list of commands in place of a state."""
    rng, n, h = np.random.default_rng(round(8 * delay)), 3, 0.01
    M, Kp, Kd = positive(rng, n), 30.0 * positive(rng, n), 5.0 * positive(rng, n)
    Ki = 20.0 * positive(rng, n) if integrates else np.zeros((n, n))
    loop = sampled_loop(h, delay, Kp, Kd, Ki, M)
    p, v, z, before = *rng.normal(size=(2, n)), np.zeros(n), None
    state = np.zeros(len(loop))
    state[: 2 * n] = *p, *v
    tick, acting, waiting = 0, np.zeros(n), []
    for _ in range(40):
        # The matrix counts half a step from its first state on.
        z = 0.5 * h * p if before is None else z + 0.5 * h * (before + p)
        before = p
        waiting.append((tick + round(4 * delay), -np.linalg.solve(M, Kp @ p + Kd @ v + Ki @ z)))
        for _ in range(4):
            while waiting and waiting[0][0] <= tick:
                acting = waiting.pop(0)[1]
            p, v = p + 0.25 * h * v + 0.5 * (0.25 * h) ** 2 * acting, v + 0.25 * h * acting
            tick += 1
        state = loop @ state
        np.testing.assert_allclose(state[: 2 * n], [*p, *v], rtol=1e-9, atol=1e-9 * np.abs(state).max())


def test_a_pure_damper_is_stable_up_to_its_limit():
    assert damper_limit(0.0) == pytest.approx(2.0)
    for whole in (1, 2, 3):
        assert damper_limit(float(whole)) == pytest.approx(2.0 * np.sin(np.pi / (2 * (2 * whole + 1))))
    for delay in (0.0, 0.2, 0.5, 0.7, 1.0, 1.5, 2.25):
        x = damper_limit(delay)
        assert delay > 1.0 or x == pytest.approx(
            min(2.0 / (1.0 - 2.0 * delay) if delay < 0.5 else np.inf, 1.0 / max(delay, 1e-9))
        )
        velocity = [sampled_loop(1.0, delay, 0.0, k * x)[1:, 1:] for k in (0.999, 1.001)]
        assert spectral_radius(velocity[0]) < 1.0 < spectral_radius(velocity[1])


def test_damping_by_the_mass_matrix_decouples_and_by_its_diagonal_does_not():
    """M^-1 Kd has the eigenvalue `rate` for rate M; for rate diag(M) many times that where axes line up."""
    aligned = np.array([0.3, 0.0, -0.4, -1.5, 0.2, 1.8, 0.5])
    M = mass_matrix(panda(), aligned)
    assert np.allclose(np.linalg.eigvals(np.linalg.solve(M, 20.0 * M)), 20.0)
    trap = 20.0 * np.diag(np.diag(M))
    assert np.abs(np.linalg.eigvals(np.linalg.solve(M, trap))).max() > 300.0
    assert spectral_radius(sampled_loop(0.004, 1.0, np.zeros((7, 7)), trap, mass=M)) > 1.0


def test_gains_scale_with_the_period():
    for kp, kd, ki in ((100.0, 20.0, 0.0), (400.0, 40.0, 1000.0), (0.0, 20.0, 0.0)):
        for delay in (0.0, 1.0, 1.5):
            longest = largest_period(kp, kd, ki, delay)
            assert is_robust(0.99 * longest, delay, kp, kd, ki) and not is_robust(1.01 * longest, delay, kp, kd, ki)
            assert largest_period(4 * kp, 2 * kd, 8 * ki, delay) == pytest.approx(0.5 * longest, rel=1e-6)
            if kp:  # room for a model that is wrong by two, up or down
                for k in (0.5, 1.0, 2.0):
                    assert spectral_radius(sampled_loop(0.99 * longest, delay, k * kp, k * kd, k * ki)) < 1.0
    assert largest_period(100.0, 0.0, 0.0, 1.0) == largest_period(100.0, 20.0, 1500.0, 0.0) == 0.0
    assert largest_period(0.0, 0.0, 0.0, 1.0) == np.inf
    for period in (1e-3, 4e-3):
        a = largest_damping(15.0, period, 1.0)
        assert is_robust(period, 1.0, 15.0 * 0.95 * a, 0.95 * a + 15.0)
        assert not is_robust(period, 1.0, 15.0 * 1.05 * a, 1.05 * a + 15.0)
    with pytest.raises(InputError, match="period"):
        sampled_loop(0.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("pole", [None, 0.2, 0.9])
def test_an_axis_is_judged_as_by_its_eigenvalues(pole):
    """The polynomial of `is_robust` against the matrix of `sampled_loop`; round-off decides only next to the circle."""
    rng, told = np.random.default_rng(3), []
    for k in range(400):
        h, delay = 10.0 ** rng.uniform(-4.0, -1.5), float(rng.choice([0.0, 0.1, 0.25, 0.5, 1.0, 1.75, 2.0, 7.75]))
        kd = 10.0 ** rng.uniform(-1.5, 0.2) / h
        kp = 0.0 if k % 4 == 0 else kd**2 * 10.0 ** rng.uniform(-2.0, 0.3)
        ki = kp * kd * 10.0 ** rng.uniform(-3.0, -0.5) if k % 4 == 1 else 0.0
        if kp == 0.0 and pole is None:
            continue
        radii = []
        for d in (0.0, delay):
            for factor in (0.5, 1.0, 2.0) if ki else (2.0,):
                loop = sampled_loop(h, d, factor * kp, factor * kd, factor * ki, pole=pole)
                sizes = np.abs(np.linalg.eigvals(loop))
                sizes = np.delete(sizes, np.argmin(np.abs(sizes - 1.0))) if kp == 0.0 else sizes
                radii.append(sizes.max())
        assert abs(max(radii) - 1.0) > 1e-9
        told.append(is_robust(h, delay, kp, kd, ki, pole))
        assert told[-1] == (max(radii) < 1.0), (h, delay, kp, kd, ki)
    assert 0.2 < np.mean(told) < 0.8


def test_limited_damping_is_the_parallel_sum_and_never_faster_than_its_rate():
    rng = np.random.default_rng(2)
    for k in range(40):
        n = 1 + k % 6
        M, D, c, v = positive(rng, n), rng.uniform(0.1, 30.0, n), 10.0 ** rng.uniform(0, 3), rng.normal(size=n)
        whole = np.linalg.inv(np.linalg.inv(np.diag(D)) + np.linalg.inv(c * M))
        np.testing.assert_allclose(limited_damping(M, D, c, v), whole @ v, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(limited_damping_matrix(M, D, c), whole, rtol=1e-9, atol=1e-12)
        assert np.linalg.eigvals(np.linalg.solve(M, whole)).real.max() < c
        rates = c * rng.uniform(0.2, 1.0, n)
        capped = np.diag(np.sqrt(rates)) @ M @ np.diag(np.sqrt(rates))
        whole = np.linalg.inv(np.linalg.inv(np.diag(D)) + np.linalg.inv(capped))
        np.testing.assert_allclose(limited_damping(M, D, rates, v), whole @ v, rtol=1e-9, atol=1e-12)
        D[0] = 0.0
        force = limited_damping(M, D, c, v)
        assert force[0] == 0.0 and v @ force >= 0.0
    assert not limited_damping(M, D, -1.0, v).any()
    again = limited_damping(np.asfortranarray(M), np.repeat(D, 2)[::2], c, np.repeat(v, 2)[::2])
    np.testing.assert_array_equal(again, force)  # however the arrays lie in memory
    assert not limited_damping(np.full_like(M, np.nan), D, c, v).any()


def test_a_stop_dies_away_and_ends_before_the_limits():
    q, qd = np.array([0.0, 0.9, -0.95, 1.1]), np.array([2.0, 2.0, -3.0, 1.0])
    plan = StopPlan(q, qd, 10.0, 40.0, np.full(4, -1.0), np.full(4, 1.0))
    np.testing.assert_allclose(plan.at(0.0)[:2], [q, qd])
    np.testing.assert_allclose(plan.rates, [10.0, 40.0, 40.0, 40.0])  # usual, as needed, as fast as may be, beyond
    assert not plan.at(0.0)[2].any()
    for t in (0.0, 0.1, 0.5):
        h = 1e-6
        a, b = plan.at(t + h), plan.at(t - h)
        np.testing.assert_allclose((a[0] - b[0]) / (2 * h), plan.at(t)[1], atol=1e-6)
        np.testing.assert_allclose((a[1] - b[1]) / (2 * h), plan.at(t)[2], atol=1e-6)
    assert plan.at(5.0)[0][1] == pytest.approx(1.0) and np.abs(plan.at(2.0)[1]).max() < 1e-6
    for asked, begun in ((-50.0, -20.0), (-7.0, -7.0), (5.0, 0.0)):  # at once, no more than l qd, not the other way
        braking = StopPlan(q, qd, 10.0, 40.0, q - 9.0, q + 9.0, asked * np.sign(qd))
        assert braking.at(0.0)[2][0] == begun
        assert (braking.at(1.0)[1] * qd >= 0.0).all() and np.abs(braking.at(3.0)[1]).max() < 1e-6


def test_soft_limits_brake_what_is_too_fast_and_leave_desired_motions_alone():
    soft = SoftLimits(np.array([-1.0, -np.inf, -1.0]), np.array([1.0, np.inf, np.inf]))
    still, zero = np.array([0.5, 9.0, 5.0]), np.zeros(3)
    assert soft.acceleration(still, zero, 20.0) is None
    assert soft.acceleration(still, np.array([2.4, 99.0, 99.0]), 20.0) is None
    np.testing.assert_allclose(soft.acceleration(still, np.array([3.5, 0, 0]), 20.0), [-20.0, 0, 0])
    np.testing.assert_allclose(soft.acceleration(-still, np.array([0, 0, -7.0]), 20.0), [0, 0, 140.0])
    assert soft.acceleration(still, np.array([6.0, 0, 0]), 20.0, np.array([6.0, 0, 0])) is None
    outside = np.array([1.1, 0, 0])
    assert soft.acceleration(outside, -still, 20.0) is None  # back
    np.testing.assert_allclose(soft.acceleration(outside, 0.1 * still, 20.0), [-1.0, 0, 0])  # and no farther


def test_a_state_that_keeps_its_limits_is_told_at_a_glance():
    one_sided = SoftLimits(np.array([-1.0, -np.inf, -1.0]), np.array([1.0, np.inf, np.inf]))
    both = SoftLimits(np.array([-1.0, -np.inf]), np.array([1.0, np.inf]))
    q, qd, fast, far = np.array([1.1, 0.0, 0.0]), np.array([0.0, -2.0, 0.0]), np.full(3, 2.0), np.full(3, 0.1)

    def kept(soft, margin, velocity=qd, aim=q):
        n = len(soft.center)
        return keeps_limits(q[:n], velocity[:n], aim[:n], soft.center, soft.usual + margin, fast[:n], far[:n])

    assert kept(both, 0.2) == 1
    assert kept(one_sided, 0.2) == 0  # has to be looked at more closely
    assert kept(both, 0.05) == 0
    assert kept(both, 0.2, velocity=1.01 * qd) == 0
    assert kept(both, 0.2, aim=q + 0.11) == kept(both, 0.2, aim=q - 0.11) == 0
    for bad in (np.array([0.0, np.nan, 0.0]), np.array([0.0, -np.inf, 0.0])):
        assert kept(both, 0.2, velocity=bad) == kept(both, 0.2, aim=bad) == 0


def test_periods_are_measured_by_medians():
    times = SampleTimes()
    assert times.delay(1.0) == 1.0
    for k in range(40):
        times.add(0.02 if k % 5 == 4 else 0.002, 0.0005)
    assert times.period == 0.002 and times.age == 0.0005
    assert times.delay(0.0) == 0.25 and times.delay(1.0) == 1.0
    for _ in range(20):
        times.add(0.002, 0.0031)
    assert times.delay(1.0) == 1.75


def test_gains_are_to_suit_long_periods_that_are_no_exception():
    times = SampleTimes()

    def take(*periods):
        for period in periods:
            times.add(period, 0.0)

    take(*40 * [0.001], 0.006, *3 * [0.001], 0.006, *3 * [0.001], 0.006, *37 * [0.001])
    assert times.suited == times.period == 0.001  # three of sixty
    take(*5 * (0.001, 0.001, 0.008, 0.001))
    assert times.period == 0.001 and times.suited == pytest.approx(0.004)
    take(*200 * [0.001])
    assert times.suited == pytest.approx(0.004)  # they may come back
    take(*200 * [0.001])
    assert times.suited == times.period == 0.001
    take(*60 * [0.010])
    assert times.suited == times.period == 0.010  # slower, not uneven


@pytest.mark.parametrize("delay", [0.0, 1.0])
def test_inertia_that_is_not_known_bounds_how_quickly_a_robot_comes_to_rest(delay, rng):
    """Whatever spring and damper are stable with the known inertia, with m times as much they have a slower pole."""
    nearest, stable = np.inf, 0
    for _ in range(600):
        m, h = rng.uniform(4.5, 30.0), 10.0 ** rng.uniform(-3.5, -1.0)
        kd, kp = rng.uniform(0.0, 2.2) / h, 10.0 ** rng.uniform(-4.0, 0.5) / h**2
        if spectral_radius(sampled_loop(h, delay, kp, kd)) >= 1.0:
            continue
        stable += 1
        x = h * kd - 0.5 * h * h * kp
        least = 1.0 - 0.25 * (1.0 - np.sqrt(1.0 - 4.0 * x / m)) if delay else np.sqrt(1.0 - x / m)
        assert x < (1.0 if delay else 2.0)
        found = spectral_radius(sampled_loop(h, delay, kp, kd, 0.0, m))
        assert found > least - 1e-9
        nearest = min(nearest, (1.0 - least) / (1.0 - found)) if found < 1.0 else nearest
    assert stable > 60 and nearest < 1.3  # and it is near what springs reach
