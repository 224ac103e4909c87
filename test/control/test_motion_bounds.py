"""Accelerations that keep joints within their limits: against bounded least squares, and by what joints do."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from support import arms

from lie_dynamics_ros.lie_dynamics import mass_matrix
from lie_dynamics_ros.lie_dynamics.control.kernels.nearest import nearest_within
from lie_dynamics_ros.lie_dynamics.control.limits import BACK, MotionBounds


def test_the_nearest_acceleration_is_that_of_bounded_least_squares(rng):
    model = arms.load("panda_arm").model
    for k in range(60):
        M = mass_matrix(model, model.random(rng) if k else np.zeros(7))  # axes in line: M is nearly singular
        wanted, lower = 10.0 * rng.normal(size=(2, 7))
        upper = lower + rng.exponential(size=7) * rng.choice([0.1, 10.0, np.inf], size=7)
        found = np.empty(7)
        assert nearest_within(M, wanted, lower, upper, found, np.empty((7, 7)), np.empty((4, 7))) == 1
        root = np.linalg.cholesky(M).T
        expected = lsq_linear(root, root @ wanted, (lower, upper), method="bvls", tol=1e-14).x
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
        assert (found >= lower).all() and (found <= upper).all()


@pytest.mark.parametrize("shape", [(6,), (8,)])
def test_what_does_not_fit_is_not_done(shape):
    args = [np.eye(7), *(np.zeros(7) for _ in range(3)), np.empty(7), np.empty((7, 7)), np.empty((4, 7))]
    for k in range(1, 5):
        assert nearest_within(*args[:k], np.zeros(shape), *args[k + 1 :]) == 0
    assert nearest_within(-np.eye(7), *args[1:4], *args[4:]) == 0


@pytest.mark.parametrize("push", [60.0, 300.0])
@pytest.mark.parametrize(("period", "brake"), [(1e-3, 20.0), (4e-3, 20.0)])
def test_joints_pushed_any_way_keep_their_limits_and_speeds(period, brake, push, rng):
    """Two joints under wanted accelerations that jump about: they come near the limits, and no farther."""
    limit, speed = np.array([0.5, np.inf]), np.array([2.0, 1.0])
    bounds, M = MotionBounds(-limit, limit, speed), np.array([[1.0, 0.9], [0.9, 1.0]])
    q, qd, farthest, fastest = np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2)
    for k in range(round(6.0 / period)):
        if k % round(0.4 / period) == 0:
            wanted = push * rng.choice([-1.0, 1.0], size=2)
        a = bounds.nearest(lambda: M, wanted, q, qd, brake, 100.0)
        q, qd = q + period * qd + 0.5 * period**2 * a, qd + period * a
        farthest, fastest = np.maximum(farthest, np.abs(q)), np.maximum(fastest, np.abs(qd))
    assert 0.49 < farthest[0] < 0.5 + 1e-6
    assert 0.9 < fastest[1] < 1.0 + 1e-9 and fastest[0] < 2.0 + 1e-9


def test_what_lies_within_is_left_alone_and_what_lies_beyond_is_led_back_slowly():
    bounds = MotionBounds(np.full(2, -1.0), np.ones(2), np.full(2, 3.0))
    wanted = np.array([3.0, -4.0])
    assert bounds.nearest(lambda: np.eye(2), wanted, np.zeros(2), np.zeros(2), 20.0, 100.0) is wanted
    for beyond in (2.0 * BACK, 1.0, 100.0):
        found = bounds.nearest(lambda: np.eye(2), wanted, np.full(2, 1.0 + beyond), np.zeros(2), 20.0, 100.0)
        np.testing.assert_allclose(found, [-20.0 * 5.0 * BACK, -4.0])
    found = bounds.nearest(lambda: np.eye(2), wanted, np.zeros(2), np.array([5.0, 0.0]), 20.0, 100.0)  # too fast
    np.testing.assert_allclose(found, [-200.0, -4.0])
