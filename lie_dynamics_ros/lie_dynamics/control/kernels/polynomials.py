"""Polynomials of time for some joints of a robot: evaluated in one call, and bounded by their hulls, many at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...engine.compile import kernel


@kernel(
    "(float64[:,::1], float64[::1], float64[::1], int64[::1], boolean[::1], float64[::1], float64[::1], float64[::1])",
    quick=True,
)
def write_motion(
    coefficients: Array,
    start: Array,
    time: Array,
    joints: npt.NDArray[np.int64],
    owned: npt.NDArray[np.bool_],
    position: Array,
    velocity: Array,
    acceleration: Array,
) -> int:
    """Write the motion of owned joints (m,), of polynomials (6, m) from positions (m,) at a time (1,); return 0.

    Nothing is written, and -1 returned, where shapes do not fit or a joint is not one of the robot's.
    """
    m, n = joints.shape[0], position.shape[0]
    if coefficients.shape[0] != 6 or coefficients.shape[1] != m or start.shape[0] != m or owned.shape[0] != m:
        return -1
    if velocity.shape[0] != n or acceleration.shape[0] != n or time.shape[0] != 1:
        return -1
    for i in range(m):
        if joints[i] < 0 or joints[i] >= n:
            return -1
    t = time[0]
    for i in range(m):
        if owned[i]:
            x, v, a = coefficients[5, i], 5.0 * coefficients[5, i], 20.0 * coefficients[5, i]
            x, v, a = x * t + coefficients[4, i], v * t + 4.0 * coefficients[4, i], a * t + 12.0 * coefficients[4, i]
            x, v, a = x * t + coefficients[3, i], v * t + 3.0 * coefficients[3, i], a * t + 6.0 * coefficients[3, i]
            x, v, a = x * t + coefficients[2, i], v * t + 2.0 * coefficients[2, i], a * t + 2.0 * coefficients[2, i]
            x, v = x * t + coefficients[1, i], v * t + coefficients[1, i]
            position[joints[i]] = start[i] + (x * t + coefficients[0, i])
            velocity[joints[i]] = v
            acceleration[joints[i]] = a
    return 0


@kernel("(float64[:,:,::1], float64[::1], float64[:,::1], float64[:,::1], float64[:,::1])")
def mark_hulls(
    c: Array,  # coefficients of rising powers of time (k, degree + 1, m)
    spans: Array,  # how long each lasts (k,) [s]
    bound: Array,  # (k, m)
    bernstein: Array,  # takes these, over the span, to those of Bernstein's polynomials
    over: Array,  # (k, m); overwritten
) -> int:
    """Mark polynomials that may exceed their bounds, by 1 in `over`; return how many."""
    count, size, columns = c.shape
    if spans.shape[0] != count or bound.shape[0] != count or bound.shape[1] != columns:
        return -1
    if over.shape[0] != count or over.shape[1] != columns or bernstein.shape[0] != size or bernstein.shape[1] != size:
        return -1
    found = 0
    for k in range(count):
        for j in range(columns):
            over[k, j] = 0.0
        for row in range(size):
            for j in range(columns):
                value, scale = 0.0, 1.0
                for i in range(row + 1):
                    value += bernstein[row, i] * (c[k, i, j] * scale)
                    scale *= spans[k]
                if not value <= bound[k, j]:
                    over[k, j] = 1.0
        for j in range(columns):
            if over[k, j] > 0.0:
                found += 1
    return found
