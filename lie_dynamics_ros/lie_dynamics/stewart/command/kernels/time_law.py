"""The fastest and the slowest rates of time along a path, for limits that are linear in s'' and s'^2.

Between two points of the grid s'' is constant, so that s'^2 grows by 2 s'' times the step (Pham and Pham, 2018). Row r
of step i says a s'' + b s'^2 <= c with c >= 0: standing still keeps all limits, so the squares from which the end can
be reached lie between zero and a largest one. For a square x the rows leave s'' a range whose width is concave in x and
not negative at zero; Newton's method from a larger x comes down to where the width is zero, in finitely many steps.
`limit_usage` then looks at a motion between the points, too.
"""

from __future__ import annotations

import math

from ....arrays import Array
from ....engine.compile import inline, kernel
from ....engine.helpers import outline
from .leg_samples import BEND, FORCES, SLOPE, SPEEDS

MOST_CUTS = 200
"""Newton steps for one point of the grid: more than pairs of rows that were ever met."""
HARDEST = 1e30
"""Larger than any s'' [1/s^2]."""


@outline
def _range(a, b, c, i, x, step, beyond, found, least):
    """Write least and largest s'' at a square x, each with its line in x: value, constant, slope, twice."""
    found[0], found[1], found[2] = least, 0.0, -1.0 / (2.0 * step)
    found[3], found[4], found[5] = (beyond - x) / (2.0 * step), beyond / (2.0 * step), -1.0 / (2.0 * step)
    for r in range(a.shape[1]):
        if a[i, r] == 0.0:
            continue
        at, slope = c[i, r] / a[i, r], -b[i, r] / a[i, r]
        value = at + slope * x
        if a[i, r] > 0.0:
            if value < found[3]:
                found[3], found[4], found[5] = value, at, slope
        elif value > found[0]:
            found[0], found[1], found[2] = value, at, slope


@kernel("(float64[:,::1], float64[:,::1], float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1])")
def reachable(a: Array, b: Array, c: Array, steps: Array, most: Array, squares: Array, found: Array) -> int:
    """Write the largest squares (k + 1,) from which the end can be reached.

    Rows a, b, c (k, r); steps (k,) of the grid; most (k + 1,) by other limits, at the last point the largest there;
    found (6,) is work space.
    """
    k = steps.shape[0]
    squares[k] = most[k]
    for i in range(k - 1, -1, -1):
        x = most[i]
        for _ in range(MOST_CUTS):
            _range(a, b, c, i, x, steps[i], squares[i + 1], found, -x / (2.0 * steps[i]))
            if found[3] >= found[0]:
                break
            steeper = found[2] - found[5]
            if steeper <= 0.0:  # round-off: the width does not shrink with x
                x = 0.0
                break
            cut = (found[4] - found[1]) / steeper
            if cut >= x:  # round-off again: at the border already
                break
            x = max(cut, 0.0)
        squares[i] = x
    return 0


_ALONG = "(" + 3 * "float64[:,::1], " + 4 * "float64[::1], " + "float64[::1])"


@kernel(_ALONG)
def fastest(
    a: Array, b: Array, c: Array, steps: Array, limit: Array, squares: Array, slopes: Array, found: Array
) -> int:
    """Write squares (k + 1,), of which the first is given, and s'' (k,): each step the fastest below limits."""
    for i in range(steps.shape[0]):
        x = squares[i]
        _range(a, b, c, i, x, steps[i], limit[i + 1], found, -x / (2.0 * steps[i]))
        squares[i + 1] = min(max(x + 2.0 * steps[i] * max(found[3], found[0]), 0.0), limit[i + 1])
        slopes[i] = (squares[i + 1] - x) / (2.0 * steps[i])
    return len(steps)


@kernel(_ALONG)
def slowest(
    a: Array, b: Array, c: Array, steps: Array, limit: Array, squares: Array, slopes: Array, found: Array
) -> int:
    """Write the same, each step the slowest, to rest, which the last may reach before its end; return their number."""
    for i in range(steps.shape[0]):
        x = squares[i]
        _range(a, b, c, i, x, steps[i], limit[i + 1], found, -HARDEST)
        slope = min(found[0], found[3])
        beyond = x + 2.0 * steps[i] * slope
        if beyond <= 0.0:
            squares[i + 1], slopes[i] = 0.0, slope
            return i + 1
        squares[i + 1] = min(beyond, limit[i + 1])
        slopes[i] = (squares[i + 1] - x) / (2.0 * steps[i])
    return len(steps)


#: Equal parts of a step, at whose ends a motion is checked.
PARTS = 4


@inline
def largest_value(values: Array, squared: float) -> float:
    """Return the largest of values (5,) and, between them, of curves that bend like these, without a sign or with."""
    bent = 0.0
    for k in range(PARTS - 1):
        bent = max(bent, abs(values[k] - 2.0 * values[k + 1] + values[k + 2]))
    most = values[0] if squared > 0.0 else abs(values[0])
    for k in range(1, PARTS + 1):
        most = max(most, values[k] if squared > 0.0 else abs(values[k]))
    return float(most + 0.125 * bent)


@kernel(
    "(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[:,::1],"
    " float64[::1])"
)
def limit_usage(
    table: Array, steps: Array, squares: Array, slopes: Array, rates: Array, most: Array, work: Array, out: Array
) -> int:
    """Write which part of accelerations, forces, rates and speeds each step (k,) uses at most.

    Samples (5 k, 68) of steps (k,) at their ends and three places between, squares (k + 1,) of s', and s'' (k,); limits
    of rates (8,), legs before speeds, and of accelerations and forces (12,); `work` (20, 5). Infinite where a number is
    none.
    """
    for i in range(steps.shape[0]):
        u, check = slopes[i], 0.0
        for k in range(PARTS + 1):
            row = table[(PARTS + 1) * i + k]
            x = max(squares[i] + 2.0 * u * steps[i] * k / PARTS, 0.0)
            for leg in range(6):
                slope, force = row[SLOPE + leg], FORCES + 3 * leg
                work[leg, k] = (slope * u + row[BEND + leg] * x) / most[leg]
                work[6 + leg, k] = (row[force] * u + row[force + 1] * x + row[force + 2]) / most[6 + leg]
                work[12 + leg, k] = slope * slope * x / (rates[leg] * rates[leg])
            for part in range(2):
                speed, limit = row[SPEEDS + part], rates[6 + part]
                work[18 + part, k] = speed * speed * x / (limit * limit)
            for c in range(20):
                check += 0.0 * work[c, k]
        usage, fast = 0.0, 0.0
        for c in range(20):
            if c < 12:
                usage = max(usage, largest_value(work[c], 0.0))
            else:
                fast = max(fast, largest_value(work[c], 1.0))
        out[i] = max(usage, math.sqrt(fast)) if check == 0.0 else math.inf  # a number that is not finite
    return 0
