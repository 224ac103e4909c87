"""What is learned of drives, against a textbook Kalman filter of each joint."""

import itertools

import numpy as np
import pytest
from support import arms
from support.grids import every_run

from lie_dynamics_ros import Controller
from lie_dynamics_ros.lie_dynamics import gravity_force
from lie_dynamics_ros.lie_dynamics.control.robots import inverse_dynamics, mass_matrix
from lie_dynamics_ros.nodes.computed_torque import drive_estimate as d

PERIODS = (0.002, 0.001, 0.004)


def states(model, seconds, rng):
    """States, efforts and periods of a motion that rotors, friction and an offset take part in."""
    k, t, n = np.arange(1, model.nv + 1), 0.0, model.nv
    limit = model.limits.effort
    while t < seconds:
        h = rng.choice(PERIODS)
        t += h
        q, qd, qdd = 0.6 * np.sin(0.7 * k * t), 0.42 * k * np.cos(0.7 * k * t), -0.294 * k**2 * np.sin(0.7 * k * t)
        drive = limit * (0.01 * (k % 2) * qdd + 0.04 * np.sign(qd) + 0.02 * qd - 0.05)
        yield q, qd, inverse_dynamics(model, q, qd, qdd) + drive + 0.01 * rng.normal(size=n), h


def textbook(model, told, runs):
    """Predict, correct in the form of Joseph; what would pass its lower bound is not corrected."""
    n, limit = model.nv, model.limits.effort
    least = np.where(told & (d.IGNORED > 0.0), -d.HIGHEST_DRIVE, d.LOWEST_DRIVE)
    x, P, first, second = np.zeros((n, 5)), np.array([np.diag(d.PRIOR**2)] * n), None, None
    spread, drift = np.full(n, d.NOISE**2), np.tile(d.DRIFT, (n, 1))
    for q, qd, effort, h in runs:
        beyond = (effort - inverse_dynamics(model, q, qd, 0.0 * q)) / limit
        seen = np.array([qd, beyond, np.tanh(qd / d.SMOOTH), qd, 0.0 * qd])
        if first is None:
            first = np.array([*seen[:4], beyond])
            second = np.array([0.0 * qd, *first[1:]])
        share = 1.0 - np.exp(-d.RATE * h)
        first = (1.0 - share) * first + share * seen
        second = (1.0 - share) * second + share * np.array([d.RATE * (qd - first[0]), *first[1:]])
        bodies = mass_matrix(model, q) @ second[0] / limit
        for i in range(n):
            for j in range(5):
                P[i, j, j] = min(P[i, j, j] + h * drift[i, j] ** 2, d.PRIOR[j] ** 2)
            H = np.array([second[0, i], second[2, i], second[3, i], 1.0, bodies[i]])
            miss = second[1, i] - bodies[i] - H @ x[i]
            changes = np.clip(abs(miss) / h**0.5, d.STEADIEST * d.DRIFT[3], d.DRIFT[3])
            drift[i, 3] = max(changes, changes + np.exp(-d.CALMING * h) * (drift[i, 3] - changes))
            more = max(miss**2 - H @ P[i] @ H, d.LEAST_NOISE**2)
            if more > 4.0 * spread[i]:
                P[i, 3, 3] += min(more, d.PRIOR[3] ** 2 - P[i, 3, 3])
            spread[i] = max(more, more + np.exp(-d.CALMING * h) * (spread[i] - more))
            S = H @ P[i] @ H + (spread[i] + second[4, i] ** 2) / (d.RATE * h)
            K = P[i] @ H / S
            stays = x[i] + K * miss < least
            K[stays] = 0.0
            x[i] = np.minimum(x[i] + K * miss, d.HIGHEST_DRIVE)
            A = np.eye(5) - np.outer(K, H)
            P[i] = A @ P[i] @ A.T + np.outer(K, K) * (S - H @ P[i] @ H)
    return x, P


@pytest.mark.parametrize("told", every_run((True,), (False, True)))
def test_it_is_a_kalman_filter_and_finds_the_drives(told, rng):
    model = arms.load("ur5").model
    runs = list(states(model, 3.0, rng))
    estimate = d.DriveEstimate(model.limits.effort, told)
    for q, qd, effort, h in runs:
        estimate.update(model, q, qd, qd, effort, h)
    x, P = textbook(model, told, runs)
    np.testing.assert_allclose(estimate.state.value, x, rtol=0, atol=1e-12)
    np.testing.assert_allclose(estimate.state.covariance, P, rtol=0, atol=1e-13)
    assert np.abs(x[4, :4] - [0.01, 0.04, 0.02, -0.05]).max() < 0.01
    assert np.flatnonzero(estimate.state.found).tolist() == np.flatnonzero(estimate.state.amiss).tolist() == [4]
    assert (estimate.state.used == 1.0).all()  # where one joint surely is not its model, no other one is taken for it
    assert 0.8 < estimate.rotors[4] / (0.01 * model.limits.effort[4]) < 1.1


def test_a_joint_without_a_gain_is_not_pushed():
    arm, q = arms.load("ur5"), np.array([0.3, -1.2, 1.4, -0.4, 0.6, 0.5])
    controller = Controller(arm.text, kp=[0.0] * 6, kd=[0.0] * 6, error_limit=0.0)
    controller.update(0.0, q, np.zeros(6))
    exerted = [controller.update(0.002 * k, q + 0.02, np.zeros(6)).effort for k in range(1, 20)]
    np.testing.assert_allclose(exerted[-1], gravity_force(arm.model, q + 0.02), rtol=0, atol=1e-9)


def test_numbers_that_overflow_are_nothing_to_learn_from(rng):
    model = arms.load("ur5").model
    estimate, large = d.DriveEstimate(model.limits.effort), np.full(model.nv, 1e300)
    for q, qd, effort, h in list(states(model, 0.1, rng)):
        estimate.update(model, q, qd, qd, effort, h)
        estimate.update(model, q, qd, qd, large, h)
    assert np.isfinite(estimate.state.value).all() and np.isfinite(estimate.rotors).all()


@pytest.mark.parametrize("moving", [True, False])
def test_pushes_grow_where_errors_stay_and_go_where_they_fade(moving, rng):
    model = arms.load("ur5").model
    estimate, n, limit = d.DriveEstimate(model.limits.effort), model.nv, model.limits.effort
    mass, far = np.diag(rng.uniform(0.1, 2.0, n)), np.array([0.0, 0.01, 0.01, 0.05, np.inf, 0.01])
    push, found = np.zeros(n), np.zeros(n, dtype=bool)
    came = np.zeros(n)
    side, ease, h = np.zeros(n), np.full(n, d.MOST_EASE), 0.002 * np.array([1.0, 0.3, 1.0, 1.0, 1.0, 1.0])
    for _ in range(200):
        error = rng.choice([-1.0, 1.0]) * rng.uniform(0.0, 0.03, n)
        rate = rng.uniform(-20.0, 5.0, n) * error
        told = estimate.loosen(
            error, rate, 0.002, mass, far, np.array([0.0, 0.1 * moving, 0.0, 0.0, 0.0, 0.0]), h / 0.002
        )
        ease = np.minimum(ease * np.exp((d.REGROWS if moving else d.REGROWS_AT_REST) * h), d.MOST_EASE)
        ended = (side != 0.0) & (error * side < np.where(found, d.BEHIND, far))
        ease = np.where(ended, np.maximum((d.EASED_MOVING if moving else d.EASED) * ease, d.LEAST_EASE), ease)
        stuck = (np.abs(error) > np.where(found, d.BEHIND, far)) & (error * rate > -d.APPROACH * error**2)
        found |= stuck
        side = np.where(stuck, np.sign(error), np.where(ended, 0.0, side))
        first = d.GENTLE + d.RUSH * np.maximum(np.sign(error) * rate, 0.0)
        step = np.minimum(d.PUSH, first * np.diag(mass) / limit + d.GROWTH * np.abs(push)) * h
        soon, came = rate + d.FORESEEN * (rate - came), rate
        step *= error * soon > -d.APPROACH * error**2
        grown = np.clip(push + np.minimum(ease, 1.0) * step * np.sign(error), -d.LARGEST_PUSH, d.LARGEST_PUSH)
        fading = np.where(error * rate < -d.SWIFT * error**2, d.RELEASE, d.FADING)
        push = np.where(stuck, grown, push * np.exp(-fading * h))
        np.testing.assert_allclose(told, push * limit, rtol=1e-12, atol=1e-300)
        np.testing.assert_array_equal(estimate.state.found, found)
    assert found.tolist() == [True, True, True, False, False, True] and not estimate.idle


@pytest.mark.parametrize("step", [0.0, 1e-3])
def test_a_push_that_turns_a_joint_round_grows_no_more_until_that_shows(step):
    model, error, h = arms.load("ur5").model, np.full(6, 0.02), 0.004
    estimate, q, zero = d.DriveEstimate(model.limits.effort), np.zeros(6), np.zeros(6)
    estimate.update(model, q, zero, zero, zero, h, step)
    rates, mass = (0.6, 0.6, 0.5, 0.3, 0.0), 1e-3 * np.eye(6)
    pushes = [estimate.loosen(error, rate * np.ones(6), h, mass, zero, zero) for rate in rates]
    grows = [bool((later > before).all()) for before, later in itertools.pairwise(pushes)]
    assert grows == [True, True, step > 0.0, step > 0.0]  # by steps nobody can tell
    thrown_off = d.RUSH * rates[0] if step == 0.0 else 0.0
    np.testing.assert_allclose(pushes[0], 1e-3 * (d.GENTLE + thrown_off) * h, rtol=1e-12)


@pytest.mark.parametrize("as_given", [lambda x: np.stack([x, x], axis=1)[:, 0], lambda x: x.astype(np.float32)])
def test_arrays_of_any_layout_do(as_given, rng):
    model = arms.load("ur5").model
    one, other = d.DriveEstimate(model.limits.effort), d.DriveEstimate(model.limits.effort)
    far = np.full(model.nv, 0.01)
    for q, qd, effort, h in states(model, 0.5, rng):
        qd = qd.astype(np.float32).astype(float)
        one.update(model, q, qd, qd, effort, h)
        other.update(model, q, as_given(qd), as_given(qd), effort, h)
        pushes = (
            e.loosen(x, -x, h, np.eye(6), far, x, haste)
            for e, x, haste in ((one, qd, None), (other, as_given(qd), np.ones(6)))
        )
        np.testing.assert_array_equal(*pushes)
        np.testing.assert_array_equal(one.rotors, other.rotors)
        assert one.idle == other.idle
