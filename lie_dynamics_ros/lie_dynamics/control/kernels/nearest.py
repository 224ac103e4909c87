"""Accelerations that keep joints within their limits, and the nearest of them in the metric of a mass matrix."""

from __future__ import annotations

from ...arrays import Array
from ...engine.compile import inline, kernel
from ...engine.symmetric import factorize, solve_factorized
from .laws import DONE, NOT_DONE

_ROUNDS, _HALVINGS = 50, 12
WORK_ROWS = 4
LOWER, UPPER, SPEED, LIMITS = 0, 1, 2, 3  # rows of limits
#: Of rates: towards a limit, of braking there, of slowing down to the speed; how far beyond a limit it pulls back.
APPROACHING, BRAKING, SLOWING, BACK, RATES = 0, 1, 2, 3, 4


@kernel(
    "(float64[::1], float64[::1], float64[::1], float64[:,::1], float64[::1], float64[:,::1])",
    quick=True,
)
def motion_bounds(wanted: Array, q: Array, qd: Array, limits: Array, rates: Array, out: Array) -> int:
    """Write the least and largest acceleration (2, n); return 1 where what is wanted lies between them.

    With the distance d to a limit, k = `APPROACHING`, r = `BRAKING`: a <= r (k d - v) - k v, so that k d - v >= 0 stays
    true; and a <= s (speed - v), s = `SLOWING`; the same downwards.
    """
    n, found = wanted.shape[0], DONE
    if q.shape[0] != n or qd.shape[0] != n or limits.shape[0] != LIMITS or limits.shape[1] != n:
        return NOT_DONE
    if rates.shape[0] != RATES or out.shape[0] != 2 or out.shape[1] != n:
        return NOT_DONE
    k, r, s, back = rates[APPROACHING], rates[BRAKING], rates[SLOWING], rates[BACK]
    for i in range(n):
        v = qd[i]
        above, below = max(limits[UPPER, i] - q[i], -back), max(q[i] - limits[LOWER, i], -back)
        most = min(r * k * above - (r + k) * v, s * (limits[SPEED, i] - v))
        least = max(-r * k * below - (r + k) * v, -s * (limits[SPEED, i] + v))
        middle = 0.5 * (most + least)
        out[0, i], out[1, i] = (least, most) if least <= most else (middle, middle)
        if not out[0, i] <= wanted[i] <= out[1, i]:
            found = NOT_DONE
    return found


@inline
def _cost(mass, x, wanted, slope):
    """Write M (x - a); return (x - a)^T M (x - a)."""
    cost = 0.0
    for i in range(x.shape[0]):
        slope[i] = 0.0
        for k in range(x.shape[0]):
            slope[i] += mass[i, k] * (x[k] - wanted[k])
    for i in range(x.shape[0]):
        cost += slope[i] * (x[i] - wanted[i])
    return cost


@kernel(
    "(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[:,::1], float64[:,::1])",
    quick=True,
)
def nearest_within(mass: Array, wanted: Array, lower: Array, upper: Array, x: Array, factor: Array, work: Array) -> int:
    """Write to x the point of lower <= x <= upper with the least (x - a)^T M (x - a), all (n,).

    Newton's method on the coordinates that are not held at a bound by the slope, projected onto the box: ends when no
    coordinate changes sides, after a few rounds. x lies in the box in any case. `factor` (n, n) and `work` (4, n) are
    to work in; not done where a mass matrix has no factor, a shape is wrong, or rounds do not suffice.
    """
    n = x.shape[0]
    if mass.shape[0] != n or mass.shape[1] != n or wanted.shape[0] != n or lower.shape[0] != n or upper.shape[0] != n:
        return NOT_DONE
    if factor.shape[0] != n or factor.shape[1] != n or work.shape[0] != WORK_ROWS or work.shape[1] != n:
        return NOT_DONE
    slope, step, tried, other = work[0], work[1], work[2], work[3]
    for i in range(n):
        x[i] = min(max(wanted[i], lower[i]), upper[i])
    cost = _cost(mass, x, wanted, slope)
    for _ in range(_ROUNDS):
        for i in range(n):
            held = (x[i] <= lower[i] and slope[i] >= 0.0) or (x[i] >= upper[i] and slope[i] <= 0.0)
            step[i] = 0.0 if held else 1.0
        for i in range(n):
            for k in range(n):
                free = step[i] != 0.0 and step[k] != 0.0
                factor[i, k] = mass[i, k] if free else (mass[i, i] if i == k else 0.0)
        if not factorize(factor):
            return NOT_DONE
        for i in range(n):
            step[i] *= -slope[i]
        solve_factorized(factor, step)
        part = 1.0
        for _halving in range(_HALVINGS):
            for i in range(n):
                tried[i] = min(max(x[i] + part * step[i], lower[i]), upper[i])
            if _cost(mass, tried, wanted, other) <= cost:
                break
            part *= 0.5
        moved = 0.0
        for i in range(n):
            moved = max(moved, abs(tried[i] - x[i]) / (1.0 + abs(tried[i])))
            x[i] = tried[i]
        cost = _cost(mass, x, wanted, slope)
        if moved <= 1e-12:
            return DONE
    return NOT_DONE
