"""Covariance of a platform's pose from that of its leg lengths, without numpy calls: nodes need it for every sample."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ....arrays import Array
from ....engine.compile import kernel, outline

Order = npt.NDArray[np.int64]

#: A Jacobian whose condition number, in the 1-norm, is above this is as good as singular.
_SINGULAR = 4503599627370496.0  # 1 / machine epsilon


@outline
def aligned_jacobian(points: Array, poses: Array, i: int, work: Array) -> None:
    """Write rows [R b x u, u] of pose i to the left half of `work` (6, 12) and 1 to its right half."""
    for k in range(6):
        for c in range(6):
            work[k, 6 + c] = 1.0 if c == k else 0.0
        size = 0.0
        for c in range(3):
            # Columns 0..2 hold the arm R b for now, 3..5 the leg.
            arm = 0.0
            for d in range(3):
                arm += poses[i, 4 * c + d] * points[6 + k, d]
            work[k, c] = arm
            work[k, 3 + c] = arm + poses[i, 4 * c + 3] - points[k, c]
            size += work[k, 3 + c] * work[k, 3 + c]
        size = np.sqrt(size)
        for c in range(3, 6):
            work[k, c] /= size
        x, y, z = work[k, 0], work[k, 1], work[k, 2]
        u, v, w = work[k, 3], work[k, 4], work[k, 5]
        work[k, 0] = y * w - z * v
        work[k, 1] = z * u - x * w
        work[k, 2] = x * v - y * u


@outline
def largest_column(work: Array, start: int) -> float:
    """Return the 1-norm of the square matrix whose columns begin at `start`."""
    largest = 0.0
    for c in range(start, start + 6):
        size = 0.0
        for k in range(6):
            size += abs(work[k, c])
        if not size <= largest:  # NaN counts as large
            largest = size
    return largest


@outline
def invert_left_half(work: Array) -> bool:
    """Turn [A, 1] (6, 12) into [1, A^-1] by Gauss-Jordan elimination with row pivots; False where A is singular."""
    size = largest_column(work, 0)
    for c in range(6):
        best = c
        for k in range(c + 1, 6):
            if abs(work[k, c]) > abs(work[best, c]):
                best = k
        pivot = work[best, c]
        if not abs(pivot) > 0.0:
            return False
        for d in range(12):
            value = work[best, d]
            work[best, d] = work[c, d]
            work[c, d] = value / pivot
        for k in range(6):
            if k != c:
                factor = work[k, c]
                for d in range(12):
                    work[k, d] -= factor * work[c, d]
    return size * largest_column(work, 6) < _SINGULAR


@kernel("int64(float64[:, ::1], float64[:, ::1], int64[::1], float64[:, ::1], float64[:, :, ::1])", direct=True)
def covariances(points: Array, leg_covariance: Array, order: Order, poses: Array, out: Array) -> int:
    """Write J^-1 Sigma J^-T of each row of `poses` to `out` (n, 6, 6), J "aligned"; NaN where singular.

    Returns the number of poses that are not singular.

    The first 16 columns of `poses` hold a pose, row by row. `points` (12, 3) holds the joint centres on the base, then
    those on the platform. Row and column i of the result are those of component `order[i]` of (rotation, displacement).
    """
    work = np.empty((6, 12))
    count = 0
    for i in range(poses.shape[0]):
        aligned_jacobian(points, poses, i, work)
        regular = invert_left_half(work)
        count += 1 if regular else 0
        # The left half is free again: J^-1 Sigma.
        for r in range(6):
            for c in range(6):
                value = 0.0
                for k in range(6):
                    value += work[r, 6 + k] * leg_covariance[k, c]
                work[r, c] = value if regular else np.nan
        for r in range(6):
            for c in range(6):
                value = 0.0
                for k in range(6):
                    value += work[order[r], k] * work[order[c], 6 + k]
                out[i, r, c] = value
    return count
