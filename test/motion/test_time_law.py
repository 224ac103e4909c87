"""The fastest time law; the oracle solves linear programmes over all steps at once."""

import numpy as np
import pytest
from scipy.optimize import linprog

from lie_dynamics_ros.lie_dynamics.motion import LARGEST, LEAST, TimeLaw


def random_law(rng, rest):
    """Limits at both ends of eight steps, that standing still keeps or need not."""
    k, r = 8, 4
    ends = [(rng.normal(size=(k, r)), rng.normal(size=(k, r)), rng.uniform(0.0, 1.0, (k, r))) for _ in range(2)]
    if not rest:
        ends = [(a, b, c - 0.6 * (rng.random((k, r)) < 0.04)) for a, b, c in ends]
    for a, b, _ in ends:  # places where s'' counts nowhere, or where rows hold a square up
        a[rng.integers(k), rng.integers(r)] = 0.0
        b[rng.integers(k)] *= -1.0
    before, after = rng.uniform(0.5, 3.0, (2, k))
    return TimeLaw.of_steps(*ends, rng.uniform(0.05, 0.3, k), before, after, 2.5)


def extreme(law, i, sign, fixed=()):
    """Least or largest square at point i of all motions that keep the limits, the first squares being fixed."""
    k, r = law.a.shape
    rows, bounds = np.zeros((k, r, k + 1)), np.column_stack([law.limits[LEAST], law.limits[LARGEST]])
    for j in range(k):
        slope = law.a[j] / (2.0 * law.steps[j])
        rows[j, :, j], rows[j, :, j + 1] = law.b[j] - slope, slope
    bounds[: len(fixed)] = np.asarray(fixed)[:, None]
    found = linprog(-sign * np.eye(k + 1)[i], rows.reshape(-1, k + 1), law.c.ravel(), bounds=bounds, method="highs")
    return found.x[i] if found.status == 0 else None


@pytest.mark.parametrize("rest", [True, False])
def test_squares_are_those_of_linear_programmes(rest, rng):
    motions = 0
    for _ in range(25):
        law = random_law(rng, rest)
        reach, most = law.reachable(), extreme(law, 0, 1.0)
        assert (reach is None) == (most is None)
        if reach is None:
            continue
        motions += 1
        assert reach[LARGEST, 0] == pytest.approx(most, abs=1e-8)
        assert reach[LEAST, 0] == pytest.approx(extreme(law, 0, -1.0), abs=1e-8)
        squares, slopes = law.fastest(reach[LARGEST, 0], reach)
        np.testing.assert_allclose(np.diff(squares), 2.0 * law.steps * slopes, atol=1e-12)
        used = law.a * slopes[:, None] + law.b * squares[:-1, None] - law.c
        assert used.max() < 1e-9
        inside = np.clip(squares[:4], reach[LEAST, :4], reach[LARGEST, :4])
        assert squares[4] == pytest.approx(extreme(law, 4, 1.0, inside * (1.0 - 1e-9)), abs=1e-6)
    assert motions >= (25 if rest else 6)


def test_no_motion_is_found_where_a_limit_forbids_every_speed():
    none = np.zeros((3, 1))
    law = TimeLaw.of_steps((none, none, none - 1.0), (none, none, none + 1.0), np.ones(3), np.ones(3), np.ones(3))
    assert law.reachable() is None


def test_what_cannot_stand_still_moves_as_fast_as_it_must(rng):
    """Rows -s'^2 <= -1, as of a weak arm that swings through: squares of at least 1, and what 5 at the ends allow."""
    k = 10
    rows = np.zeros((k, 1)), -np.ones((k, 1)), -np.ones((k, 1))
    law = TimeLaw.of_steps(rows, rows, np.full(k, 0.1), np.full(k, 5.0), np.full(k, 5.0))
    reach = law.reachable()
    np.testing.assert_allclose(reach[:, :-1], np.repeat([[1.0], [5.0]], k, axis=1), rtol=1e-12)


def test_the_slowest_motion_rests_soonest():
    """|s''| <= 1 from s' = 1: at rest after s = 1/2, in the fifth step of 0.1."""
    k = 10
    rows = np.tile([[1.0, -1.0]], (k, 1)), np.zeros((k, 2)), np.ones((k, 2))
    law = TimeLaw.of_steps(rows, rows, np.full(k, 0.1), np.full(k, 9.0), np.full(k, 9.0))
    squares, slopes, taken = law.slowest(1.0, np.ones(k + 1))
    assert taken in (5, 6)
    np.testing.assert_allclose(squares[:6], 1.0 - 0.2 * np.arange(6), atol=1e-12)
    np.testing.assert_allclose(slopes[:5], -1.0, rtol=1e-12)
