"""Steps of a reference pose towards its target, with bounded speed and acceleration."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...dynamics.kernels.common.spatial import add, cross, matmul, scale, sub, transpose
from ...engine.compile import inline, kernel
from ...model.layout import BAD_SHAPE, NOT_FINITE, OK
from .pose_error import rotation_vector

# Settings, the first three for turning and for moving: largest speed and acceleration, rate k; time, steps in it,
# whether there is a target pose, part of the speed that is allowed.
SPEED, ACCELERATION, RATE, PERIOD, COUNT, AIMED, PACE, SETTINGS = 0, 2, 4, 6, 7, 8, 9, 10
SPEEDING, SMOOTHING = 3.5, 14.0


@inline
def shortened(x, largest):
    """Return a vector, scaled down to a length."""
    size = np.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])
    return scale(largest / size, x) if size > largest else x


@inline
def turned_by(w, R):
    """Return exp([w]) R, made orthogonal to round-off."""
    t = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    if t < 1e-4:
        a, b = 1.0 - t / 6.0 * (1.0 - t / 20.0), 0.5 - t / 24.0 * (1.0 - t / 30.0)
    else:
        angle = np.sqrt(t)
        half = np.sin(0.5 * angle)
        a, b = np.sin(angle) / angle, 2.0 * half * half / t
    columns = transpose(R)
    x, y, z = columns[0:3], columns[3:6], columns[6:9]
    x = add(x, add(scale(a, cross(w, x)), scale(b, cross(w, cross(w, x)))))
    y = add(y, add(scale(a, cross(w, y)), scale(b, cross(w, cross(w, y)))))
    z = add(z, add(scale(a, cross(w, z)), scale(b, cross(w, cross(w, z)))))
    S = (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])
    P = matmul(transpose(S), S)
    return matmul(
        S, (1.5 - 0.5 * P[0], -0.5 * P[1], -0.5 * P[2], -0.5 * P[3], 1.5 - 0.5 * P[4], -0.5 * P[5],
            -0.5 * P[6], -0.5 * P[7], 1.5 - 0.5 * P[8]),
    )  # fmt: skip


@inline
def followed(target, v, a, limits, k, h):
    """Return the acceleration after a step: that of a third-order filter, bounded in speed and acceleration.

    The target is where it is away from here, how it moves, and how that changes.
    """
    (away, moves, change), (speed, acceleration) = target, limits
    command = shortened(add(moves, scale(k, away)), speed)
    wanted = shortened(add(change, scale(SPEEDING * k, sub(command, v))), acceleration)
    return add(a, scale(-np.expm1(-SMOOTHING * k * h), sub(wanted, a)))


@kernel("(float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[::1])", quick=True)
def advance_pose(pose: Array, target: Array, moves: Array, motion: Array, settings: Array) -> int:
    """Move `pose` (4, 4) and `motion` (4, 3) on: angular and linear speed, then accelerations, in the world's axes.

    `target` (4, 4) is where it is wanted at the end of the time; `moves` (4, 3) its speeds and accelerations.
    """
    if pose.size != 16 or target.size != 16 or moves.size != 12 or motion.size != 12 or settings.size != SETTINGS:
        return BAD_SHAPE
    s, count = settings, int(settings[COUNT])
    h = s[PERIOD] / count
    R = (pose[0, 0], pose[0, 1], pose[0, 2], pose[1, 0], pose[1, 1], pose[1, 2], pose[2, 0], pose[2, 1], pose[2, 2])
    p = (pose[0, 3], pose[1, 3], pose[2, 3])
    goal = (
        target[0, 0], target[1, 0], target[2, 0], target[0, 1], target[1, 1], target[2, 1],
        target[0, 2], target[1, 2], target[2, 2],
    )  # fmt: skip
    there = (target[0, 3], target[1, 3], target[2, 3])
    vw, vp = (moves[0, 0], moves[0, 1], moves[0, 2]), (moves[1, 0], moves[1, 1], moves[1, 2])
    cw, cp = (moves[2, 0], moves[2, 1], moves[2, 2]), (moves[3, 0], moves[3, 1], moves[3, 2])
    w, v = (motion[0, 0], motion[0, 1], motion[0, 2]), (motion[1, 0], motion[1, 1], motion[1, 2])
    a, b = (motion[2, 0], motion[2, 1], motion[2, 2]), (motion[3, 0], motion[3, 1], motion[3, 2])
    for k in range(count):
        turn, way = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        before = (k - count) * h  # where the target is now, that much before the end, and how it moves
        uw, up = add(vw, scale(before, cw)), add(vp, scale(before, cp))
        if s[AIMED] != 0.0:
            turn = add(rotation_vector(transpose(matmul(R, goal))), scale(0.5 * before, add(vw, uw)))
            way = add(sub(there, p), scale(0.5 * before, add(vp, up)))
        a = followed((turn, uw, cw), w, a, (s[PACE] * s[SPEED], s[ACCELERATION]), s[RATE], h)
        b = followed((way, up, cp), v, b, (s[PACE] * s[SPEED + 1], s[ACCELERATION + 1]), s[RATE + 1], h)
        R = turned_by(add(scale(h, w), scale(0.5 * h * h, a)), R)
        p = add(p, add(scale(h, v), scale(0.5 * h * h, b)))
        w, v = add(w, scale(h, a)), add(v, scale(h, b))
    total = 0.0
    for i in range(3):
        pose[i, 0], pose[i, 1], pose[i, 2], pose[i, 3] = R[3 * i], R[3 * i + 1], R[3 * i + 2], p[i]
        motion[0, i], motion[1, i], motion[2, i], motion[3, i] = w[i], v[i], a[i], b[i]
        total += 0.0 * (R[3 * i] + R[3 * i + 1] + R[3 * i + 2] + p[i] + a[i] + b[i])
    return OK if total == 0.0 else NOT_FINITE
