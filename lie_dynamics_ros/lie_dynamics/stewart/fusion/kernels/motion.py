"""A rigid body whose jerk is white noise: its state a step later, and what that makes of errors.

The state `x`: R row by row, p, then w, v, w', v' (all in {N}, v of the origin of {B}), a delay for each geometric
sensor, and that of the IMU where it may have one: the time is then that of the IMU's reading, and the other delays are
those beyond its. With an IMU follow its errors in the axes of {B}: biases b of gyroscope and accelerometer, and for
each a matrix M row by row, so that a true u reads as (1 + M) u + b: scales on the diagonal, alignment beside it.
The error of the state has three entries for each vector, a rotation about the axes of {N} in place of R
(R = exp(error) R_estimated), and is the same for the rest.
"""

from __future__ import annotations

import math

from ....arrays import Array
from ....engine.compile import outline

Vector = tuple[float, float, float]

# Where things are in the state, in its error, and among the constants.
X_P, X_W, X_V, X_DW, X_DV, X_DELAY = 9, 12, 15, 18, 21, 24
E_TURN, E_P, E_W, E_V, E_DW, E_DV, E_DELAY = 0, 3, 6, 9, 12, 15, 18
# What an IMU adds to the end of both, counted from its first entry there; the number is among the constants.
GYRO, ACCEL, GYRO_MATRIX, ACCEL_MATRIX, N_INERTIAL = 0, 3, 6, 15, 24
DT, ANGULAR, LINEAR, GYRO_WALK, ACCEL_WALK, DELAY_WALK, GRAVITY, LEVER = 0, 1, 2, 3, 4, 5, 6, 9
INERTIAL, UNTOLD_DELAY, SUDDEN, N_CONSTANTS = 12, 13, 14, 16


@outline
def rotation(r0: float, r1: float, r2: float, out: Array) -> None:
    """Write exp of the rotation vector, row by row, to `out` (9,)."""
    square = r0 * r0 + r1 * r1 + r2 * r2
    angle = math.sqrt(square)
    if angle > 1e-4:
        s, c = math.sin(angle) / angle, (1.0 - math.cos(angle)) / square
    else:
        s, c = 1.0 - square / 6.0, 0.5 - square / 24.0
    out[0] = 1.0 - c * (r1 * r1 + r2 * r2)
    out[1] = c * r0 * r1 - s * r2
    out[2] = c * r0 * r2 + s * r1
    out[3] = c * r0 * r1 + s * r2
    out[4] = 1.0 - c * (r0 * r0 + r2 * r2)
    out[5] = c * r1 * r2 - s * r0
    out[6] = c * r0 * r2 - s * r1
    out[7] = c * r1 * r2 + s * r0
    out[8] = 1.0 - c * (r0 * r0 + r1 * r1)


@outline
def turn(x: Array, r0: float, r1: float, r2: float, work: Array) -> None:
    """Turn R of the state by a rotation vector in {N}; `work` has 18 entries, its first 9 keep the rotation."""
    rotation(r0, r1, r2, work)
    for i in range(3):
        for j in range(3):
            work[9 + 3 * i + j] = work[3 * i] * x[j] + work[3 * i + 1] * x[3 + j] + work[3 * i + 2] * x[6 + j]
    for k in range(9):
        x[k] = work[9 + k]


@outline
def move_error(u: Array, h: float, turned: Array, half: Array) -> None:
    """Make an error (n,) that of a time h later; `turned` is the rotation meanwhile, `half` half its vector."""
    t0, t1, t2 = u[0], u[1], u[2]
    f0 = h * (u[6] + 0.5 * h * u[12])
    f1 = h * (u[7] + 0.5 * h * u[13])
    f2 = h * (u[8] + 0.5 * h * u[14])
    u[0] = turned[0] * t0 + turned[1] * t1 + turned[2] * t2 + f0 + half[1] * f2 - half[2] * f1
    u[1] = turned[3] * t0 + turned[4] * t1 + turned[5] * t2 + f1 + half[2] * f0 - half[0] * f2
    u[2] = turned[6] * t0 + turned[7] * t1 + turned[8] * t2 + f2 + half[0] * f1 - half[1] * f0
    for k in range(3):
        u[3 + k] += h * (u[9 + k] + 0.5 * h * u[15 + k])
        u[6 + k] += h * u[12 + k]
        u[9 + k] += h * u[15 + k]


@outline
def predict(x: Array, covariance: Array, constants: Array, turned: Array, half: Array) -> None:
    """Move state and covariance on by a time `constants[DT]`; `turned` (18,) and `half` (3,) stay for `move_error`."""
    h = constants[DT]
    for k in range(3):
        half[k] = 0.5 * h * (x[X_W + k] + 0.5 * h * x[X_DW + k])
        x[X_P + k] += h * (x[X_V + k] + 0.5 * h * x[X_DV + k])
        x[X_W + k] += h * x[X_DW + k]
        x[X_V + k] += h * x[X_DV + k]
    turn(x, 2.0 * half[0], 2.0 * half[1], 2.0 * half[2], turned)
    n = covariance.shape[0]
    for _ in range(2):
        for i in range(n):
            move_error(covariance[i], h, turned, half)
        for i in range(n):
            for j in range(i):
                covariance[i, j], covariance[j, i] = covariance[j, i], covariance[i, j]
    for part in range(2):
        q = constants[ANGULAR + part] * constants[ANGULAR + part] * h
        for k in range(3):
            place, rate, change = 3 * part + k, 6 + 3 * part + k, 12 + 3 * part + k
            covariance[place, place] += q * h * h * h * h / 20.0
            covariance[rate, rate] += q * h * h / 3.0
            covariance[change, change] += q
            add_pair(covariance, place, rate, q * h * h * h / 8.0)
            add_pair(covariance, place, change, q * h * h / 6.0)
            add_pair(covariance, rate, change, q * h / 2.0)
    end = n - int(constants[INERTIAL])
    if end < n:
        for k in range(3):
            covariance[end + GYRO + k, end + GYRO + k] += constants[GYRO_WALK] * constants[GYRO_WALK] * h
            covariance[end + ACCEL + k, end + ACCEL + k] += constants[ACCEL_WALK] * constants[ACCEL_WALK] * h
    for k in range(E_DELAY, end):
        if covariance[k, k] > 0.0:
            covariance[k, k] += constants[DELAY_WALK] * constants[DELAY_WALK] * h


@outline
def add_pair(matrix: Array, i: int, j: int, value: float) -> None:
    """Add to two entries that mirror each other."""
    matrix[i, j] += value
    matrix[j, i] += value
