"""Covariance of a platform's pose from that of its leg lengths, and when it comes to a singular pose; without numpy."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Array, Integers
from ...engine.compile import kernel, outline

Order = Integers

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
def eliminate(work: Array, columns: int) -> float:
    """Turn [A, B] (6, columns) into [., A^-1 B] by elimination with row pivots, from below and back; return det A.

    What is solved fits A X = B to round-off near singular A, too, which Gauss-Jordan elimination does not reach.
    """
    determinant = 1.0
    for c in range(6):
        best = c
        for k in range(c + 1, 6):
            if abs(work[k, c]) > abs(work[best, c]):
                best = k
        pivot = work[best, c]
        if not abs(pivot) > 0.0:
            return 0.0
        determinant *= pivot if best == c else -pivot
        if best != c:
            for d in range(c, columns):
                work[c, d], work[best, d] = work[best, d], work[c, d]
        for k in range(c + 1, 6):
            factor = work[k, c] / pivot
            for d in range(c + 1, columns):
                work[k, d] -= factor * work[c, d]
    for c in range(5, -1, -1):
        for d in range(6, columns):
            work[c, d] /= work[c, c]
        for k in range(c):
            for d in range(6, columns):
                work[k, d] -= work[k, c] * work[c, d]
    return determinant


@outline
def invert_left_half(work: Array) -> bool:
    """Turn [A, 1] (6, 12) into [., A^-1]; False where A is singular."""
    size = largest_column(work, 0)
    return eliminate(work, 12) != 0.0 and size * largest_column(work, 6) < _SINGULAR


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


#: Steps that may be taken, and the share of the time so far below which a step has arrived.
_STEPS, _ARRIVED = 300, 1e-4
#: Share of a step proven free of singularities that is taken.
_SAFE = 0.98


@kernel("float64(float64[:, ::1], float64[:, ::1], float64[::1], float64[::1])")
def time_to_singularity(points: Array, pose: Array, twist: Array, scales: Array) -> float:
    """Return a time [s] before which no pose is singular, arriving at the first that is; infinity beyond the horizon.

    Along a constant body twist (6,) the base joints seen from the platform keep their speeds, so that each step can be
    proven free of singular poses. `points` (12, 3): base joints, platform joints; `scales` (2,): characteristic length
    [m], horizon [s].
    """
    radius, horizon = scales[0], scales[1]
    c, speeds, weights, work = np.empty((6, 3)), np.empty(6), np.empty(6), np.empty((6, 12))
    w0, w1, w2, v0, v1, v2 = twist[0], twist[1], twist[2], twist[3], twist[4], twist[5]
    for i in range(6):
        for k in range(3):
            c[i, k] = 0.0
            for j in range(3):
                c[i, k] += pose[j, k] * (points[i, j] - pose[j, 3])
        s0 = v0 + w1 * c[i, 2] - w2 * c[i, 1]
        s1 = v1 + w2 * c[i, 0] - w0 * c[i, 2]
        s2 = v2 + w0 * c[i, 1] - w1 * c[i, 0]
        b0, b1, b2 = points[6 + i, 0], points[6 + i, 1], points[6 + i, 2]
        speeds[i] = math.sqrt(s0 * s0 + s1 * s1 + s2 * s2)
        weights[i] = speeds[i] * math.sqrt(1.0 + (b0 * b0 + b1 * b1 + b2 * b2) / (radius * radius))
    if not (math.isfinite(w0 + w1 + w2 + v0 + v1 + v2) and horizon > 0.0):
        return math.nan
    angle = math.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
    now = 0.0
    for _ in range(_STEPS):
        # Base joints seen from the platform after this time: c' = -(v + w x c), a screw motion.
        x = angle * now
        f1 = -now * (math.sin(x) / x if x > 1e-6 else 1.0)
        f2 = now * now * ((1.0 - math.cos(x)) / (x * x) if x > 1e-4 else 0.5)
        f3 = now * now * now * ((x - math.sin(x)) / (x * x * x) if x > 1e-3 else 1.0 / 6.0)
        for i in range(6):
            # With s = v + w x c, they are c + f1 s + f2 w x s - f3 w (w . v).
            s0 = v0 + w1 * c[i, 2] - w2 * c[i, 1]
            s1 = v1 + w2 * c[i, 0] - w0 * c[i, 2]
            s2 = v2 + w0 * c[i, 1] - w1 * c[i, 0]
            along = w0 * v0 + w1 * v1 + w2 * v2
            b0, b1, b2 = points[6 + i, 0], points[6 + i, 1], points[6 + i, 2]
            d0 = b0 - (c[i, 0] + f1 * s0 + f2 * (w1 * s2 - w2 * s1) - f3 * w0 * along)
            d1 = b1 - (c[i, 1] + f1 * s1 + f2 * (w2 * s0 - w0 * s2) - f3 * w1 * along)
            d2 = b2 - (c[i, 2] + f1 * s2 + f2 * (w0 * s1 - w1 * s0) - f3 * w2 * along)
            work[i, 0], work[i, 1], work[i, 2] = (
                (b1 * d2 - b2 * d1) / radius, (b2 * d0 - b0 * d2) / radius, (b0 * d1 - b1 * d0) / radius,
            )  # fmt: skip
            work[i, 3], work[i, 4], work[i, 5] = d0, d1, d2
            for k in range(6):
                work[i, 6 + k] = 1.0 if i == k else 0.0
        if not invert_left_half(work):
            return now
        total = 0.0
        for k in range(6):
            size = 0.0
            for i in range(6):
                size += abs(work[k, 6 + i]) * weights[i]
            total += size * size
        total = math.sqrt(total)
        if not total * (horizon - now) > _SAFE:
            return math.inf
        step = _SAFE / total
        now += step
        if step <= _ARRIVED * now:
            return now
    return now
