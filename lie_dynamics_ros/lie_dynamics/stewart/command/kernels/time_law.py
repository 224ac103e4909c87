"""The fastest and the slowest rates of time along a path, for limits that are linear in s'' and s'^2.

Between two points of the grid s'' is constant, so that s'^2 grows by 2 s'' times the step (Pham and Pham, 2018). Row r
of step i says a s'' + b s'^2 <= c with c >= 0: standing still keeps all limits, so the squares from which the end can
be reached lie between zero and a largest one. For a square x the rows leave s'' a range whose width is concave in x and
not negative at zero; Newton's method from a larger x comes down to where the width is zero, in finitely many steps.
"""

from __future__ import annotations

from ....arrays import Array
from ....engine.compile import kernel
from ....engine.helpers import outline

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
