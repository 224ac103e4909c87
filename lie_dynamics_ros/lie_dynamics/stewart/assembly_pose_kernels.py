"""Refining real poses of a Stewart platform to rounding error, each with a proof that it exists."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..kernels.compile import kernel
from .certificate_kernels import bound_second_derivative
from .newton_kernels import (
    BALL,
    CORRECTION,
    INVERSE,
    LIPSCHITZ,
    POSITION,
    QUATERNION,
    RADIUS,
    TARGET,
    Array,
    apply_inverse,
    choose_order,
    invert,
    misfit,
    move,
    norm,
)

#: Columns of the report on a pose: distance moved in all and last correction, in shares of the radius, the proof's h,
#: and the radius within which the pose is the only one [m].
MOVED, LAST, PROOF, ALONE = 0, 1, 2, 3
_MAX_CORRECTIONS = 15
_ROUNDING = 1e-15


@kernel("(float64[::1], float64[::1], float64[:, ::1], float64[:, ::1])")
def refine(m: Array, lengths: Array, poses: Array, reports: npt.NDArray[np.float64]) -> None:
    """Improve poses (n, 7), quaternion and position of the memory's state, by Newton's method for `lengths` (6,)."""
    for i in range(6):
        m[TARGET + i] = 0.5 * lengths[i] * lengths[i]
    for n in range(poses.shape[0]):
        for k in range(4):
            m[QUATERNION + k] = poses[n, k]
        for k in range(3):
            m[POSITION + k] = poses[n, 4 + k]
        moved = 0.0
        last = np.inf
        for corrections in range(_MAX_CORRECTIONS):
            misfit(m, True)
            if corrections == 0:
                choose_order(m)
            invert(m)
            apply_inverse(m)
            step = norm(m, CORRECTION) / m[RADIUS]
            if not moved + step < 1.0:
                moved = np.inf
                break
            if corrections >= 2 and step >= 0.5 * last:
                break  # rounding error
            last = step
            move(m)
            moved += step
        bound_second_derivative(m, last * m[RADIUS] if last < 1.0 else 0.0)
        misfit(m, False)
        apply_inverse(m)
        for k in range(4):
            poses[n, k] = m[QUATERNION + k]
        for k in range(3):
            poses[n, 4 + k] = m[POSITION + k]
        reports[n, MOVED] = moved
        reports[n, LAST] = norm(m, CORRECTION) / m[RADIUS]
        squares = 0.0
        largest = 0.0
        for i in range(36):
            weight = m[RADIUS] if i < 18 else 1.0
            squares += (weight * m[INVERSE + i]) ** 2
        for i in range(6):
            largest = max(largest, m[TARGET + i])
        # The leg equations are sums of few terms of the size of the squares: their rounding errors are below this.
        rounding = _ROUNDING * largest * math.sqrt(6.0 * squares)
        reports[n, PROOF] = (norm(m, CORRECTION) + rounding) * m[LIPSCHITZ]
        reports[n, ALONE] = min(1.0 / m[LIPSCHITZ], m[BALL])
