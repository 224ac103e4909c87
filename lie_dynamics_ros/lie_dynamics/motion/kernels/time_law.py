"""The fastest and the slowest rates of time along a path, for limits that are linear in s'' and s'^2.

Between two points of the grid s'' is constant, so that s'^2 grows by 2 s'' times the step (Pham and Pham, 2018). Row r
of step i says a s'' + b s'^2 <= c. For a square x the rows leave s'' a range whose width is concave in x: the squares
from which the end can be reached lie between a least and a largest one, where it is zero. Newton's method comes there
from outside, in finitely many steps. Where c >= 0, standing still keeps all limits, and the least is zero.
"""

from __future__ import annotations

from ...arrays import Array
from ...engine.compile import kernel, outline

#: Rows of squares from which the end can be reached: least and largest.
LEAST, LARGEST = 0, 1
MOST_CUTS = 200
"""Newton steps for one point of the grid: more than pairs of rows that were ever met."""
HARDEST = 1e30
"""Larger than any change of a square [1/s^2]."""


@outline
def _range(limits, i, x, step, within, found):
    """Write least and largest s'' at a square x, each with its line in x: value, constant, slope, twice.

    `limits` are the rows a, b, c; the next square is `within` its least and its largest.
    """
    (a, b, c), (least, most) = limits, within
    found[0], found[1], found[2] = (least - x) / (2.0 * step), least / (2.0 * step), -1.0 / (2.0 * step)
    found[3], found[4], found[5] = (most - x) / (2.0 * step), most / (2.0 * step), -1.0 / (2.0 * step)
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


@outline
def _border(limits, i, x, step, within, found, side):
    """Return the first square from x on, down (side -1) or up (1), for which there is an s''; negative for none."""
    for _ in range(MOST_CUTS):
        _range(limits, i, x, step, within, found)
        if found[3] >= found[0]:
            return x
        steeper = found[2] - found[5]
        if side * steeper >= 0.0:  # the width does not grow that way
            return -1.0
        cut = (found[4] - found[1]) / steeper
        if side * (cut - x) <= 0.0:  # round-off: at the border already
            return x
        if cut < 0.0:
            return -1.0
        x = cut
    return x


@outline
def _stands(c, i):
    """Return whether standing still keeps all limits of a step."""
    least = 0.0
    for r in range(c.shape[1]):
        least = min(least, c[i, r])
    return least >= 0.0


@kernel(
    "(float64[:,::1], float64[:,::1], float64[:,::1], float64[::1], float64[:,::1], float64[:,::1], float64[::1])"
)
def reachable(a: Array, b: Array, c: Array, steps: Array, limits: Array, reach: Array, found: Array) -> int:
    """Write the least and largest squares (2, k + 1) from which the end can be reached; return 1 where there are none.

    Rows a, b, c (k, r); steps (k,) of the grid; least and largest squares (2, k + 1) by other limits; found (6,) is
    work space.
    """
    k = steps.shape[0]
    reach[LEAST, k], reach[LARGEST, k] = limits[LEAST, k], limits[LARGEST, k]
    for i in range(k - 1, -1, -1):
        step, least, most = steps[i], reach[LEAST, i + 1], reach[LARGEST, i + 1]
        rests = least == limits[LEAST, i] == 0.0 and _stands(c, i)
        high = _border((a, b, c), i, limits[LARGEST, i], step, (least, most), found, -1.0)
        low = 0.0 if rests else _border((a, b, c), i, limits[LEAST, i], step, (least, most), found, 1.0)
        if rests and high < 0.0:  # round-off
            high = 0.0
        if low < 0.0 or high < low * (1.0 - 1e-12):
            return 1
        reach[LEAST, i], reach[LARGEST, i] = low, max(low, high)
    return 0


_ALONG = "(" + 3 * "float64[:,::1], " + "float64[::1], float64[:,::1], " + 2 * "float64[::1], " + "float64[::1])"


@kernel(_ALONG)
def fastest(
    a: Array, b: Array, c: Array, steps: Array, reach: Array, squares: Array, slopes: Array, found: Array
) -> int:
    """Write squares (k + 1,), of which the first is given, and s'' (k,): each step the fastest within `reach`."""
    for i in range(steps.shape[0]):
        x, least, most = squares[i], reach[LEAST, i + 1], reach[LARGEST, i + 1]
        _range((a, b, c), i, x, steps[i], (least, most), found)
        squares[i + 1] = min(max(x + 2.0 * steps[i] * max(found[3], found[0]), least), most)
        slopes[i] = (squares[i + 1] - x) / (2.0 * steps[i])
    return len(steps)


@kernel(_ALONG)
def slowest(
    a: Array, b: Array, c: Array, steps: Array, reach: Array, squares: Array, slopes: Array, found: Array
) -> int:
    """Write the same, each step the slowest, to rest, which the last may reach before its end; return their number."""
    for i in range(steps.shape[0]):
        x, most = squares[i], reach[LARGEST, i + 1]
        _range((a, b, c), i, x, steps[i], (-HARDEST, most), found)
        slope = min(found[0], found[3])
        beyond = x + 2.0 * steps[i] * slope
        if beyond <= 0.0:
            squares[i + 1], slopes[i] = 0.0, slope
            return i + 1
        squares[i + 1] = min(beyond, most)
        slopes[i] = (squares[i + 1] - x) / (2.0 * steps[i])
    return len(steps)
