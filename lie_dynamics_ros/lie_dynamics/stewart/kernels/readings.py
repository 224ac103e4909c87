"""The state of a moving platform a step later, the readings that its sensors owe it, and what errors do to both.

The platform is a rigid body whose jerk is white noise.
The state `x`: R row by row, p, then w, v, w', v' (all in {N}, v of the origin of {B}), a delay for each geometric
sensor, and that of the IMU where it may have one: the time is then that of the IMU's reading, and the other delays are
those beyond its. With an IMU follow its errors in the axes of {B}: biases b of gyroscope and accelerometer, and for
each a matrix M row by row, so that a true u reads as (1 + M) u + b: scales on the diagonal, alignment beside it.
The error of the state has three entries for each vector, a rotation about the axes of {N} in place of R
(R = exp(error) R_estimated), and is the same for the rest.
"""

from __future__ import annotations

import math

from ...arrays import Array
from ...engine.compile import inline, outline
from .newton import cross, dot

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


# A row for each geometric sensor: its kind, base point in {N}, platform point in {B}, and for angles the directions in
# {N}, for inclinations in {B}, that they count from and towards; how much older than its delay the present reading is,
# and the time since the one before. Of horns these directions are as long as the horn; then the length of the rod,
# negative where the leg is bent the lower way, and the present reading.
KIND, BASE, POINT, FROM, TOWARDS, AGE, LAPSE, ROD, READING, N_GEOMETRY = 0, 1, 4, 7, 10, 13, 14, 15, 16, 17
LENGTH, ANGLE, INCLINATION, HORN = 0.0, 1.0, 2.0, 3.0
#: Levers of horns on their rods are taken as at least this part of the horn's length.
LEVER_FLOOR = 1e-3


@inline
def at(a: Array, i: int) -> Vector:
    """Return three entries."""
    return a[i], a[i + 1], a[i + 2]


@inline
def turned_by(rotation: Array, v: Vector) -> Vector:
    """Return R v."""
    return dot(at(rotation, 0), v), dot(at(rotation, 3), v), dot(at(rotation, 6), v)


@inline
def rod_of(line: Vector, sensor: Array, angle: float) -> tuple[Vector, float]:
    """Return the line (3,) from a horn's ball at an angle to `line`, and its product with the ball's derivative."""
    c, s, start, towards = math.cos(angle), math.sin(angle), at(sensor, FROM), at(sensor, TOWARDS)
    gap = (
        line[0] - c * start[0] - s * towards[0],
        line[1] - c * start[1] - s * towards[1],
        line[2] - c * start[2] - s * towards[2],
    )
    return gap, dot(gap, towards) * c - dot(gap, start) * s


@inline
def horn_reading(line: Vector, sensor: Array) -> tuple[float, Vector]:
    """Return the angle of a horn whose rod ends at `line` from its axis, and its gradient.

    By one step of Newton's method from the reading, as what the horn there makes of the rod's length bends far less
    than the angle does. Where the reading is of no use for that, the angle itself; where the rod does not reach, that
    of the horn that comes nearest.
    """
    start, towards, length = at(sensor, FROM), at(sensor, TOWARDS), abs(sensor[ROD])
    square, side = dot(start, start), math.copysign(1.0, sensor[ROD])
    value = sensor[READING]
    gap, lever = rod_of(line, sensor, value if math.isfinite(value) else 0.0)
    least = LEVER_FLOOR * math.sqrt(square) * length
    if math.isfinite(value) and -side * lever > least:  # bent as it should be
        size = math.sqrt(dot(gap, gap))
        value += (size - length) * size / lever
    else:
        x, y = dot(line, start), dot(line, towards)
        cosine = 0.5 * (dot(line, line) + square - length * length) / math.sqrt(x * x + y * y)
        value = math.atan2(y, x) + side * math.acos(min(1.0, max(-1.0, cosine)))
        gap, lever = rod_of(line, sensor, value)
        if -side * lever < least:
            lever = -side * least
    return value, (gap[0] / lever, gap[1] / lever, gap[2] / lever)


@outline
def geometric_reading(x: Array, sensor: Array, index: int, out: Array, back: Array) -> float:
    """Return the reading of a length or angle sensor, and write its derivative to `out` (n,).

    The sensor shows a time d ago, when the platform was at exp(-(d w - d^2 w'/2)) R, p - d v + d^2 v'/2. `back` (9,)
    is room to work in.
    """
    d = x[X_DELAY + index] + sensor[AGE]
    f = 0.5 * d * d
    w, v, dw, dv = at(x, X_W), at(x, X_V), at(x, X_DW), at(x, X_DV)
    rotation(f * dw[0] - d * w[0], f * dw[1] - d * w[1], f * dw[2] - d * w[2], back)
    arm = turned_by(back, turned_by(x, at(sensor, POINT)))
    line = (
        arm[0] + x[X_P] - d * v[0] + f * dv[0] - sensor[BASE],
        arm[1] + x[X_P + 1] - d * v[1] + f * dv[1] - sensor[BASE + 1],
        arm[2] + x[X_P + 2] - d * v[2] + f * dv[2] - sensor[BASE + 2],
    )
    if sensor[KIND] == LENGTH:
        value = math.sqrt(dot(line, line))
        gradient = (line[0] / value, line[1] / value, line[2] / value)
    elif sensor[KIND] == HORN:
        value, gradient = horn_reading(line, sensor)
    else:
        start, towards = at(sensor, FROM), at(sensor, TOWARDS)
        along, across = dot(line, start), dot(line, towards)
        value = math.atan2(across, along)
        along, across = along / (along * along + across * across), across / (along * along + across * across)
        gradient = (
            towards[0] * along - start[0] * across,
            towards[1] * along - start[1] * across,
            towards[2] * along - start[2] * across,
        )
    moment = cross(arm, gradient)
    # How fast the arm's end went: velocities of a time d ago.
    past = (w[0] - d * dw[0], w[1] - d * dw[1], w[2] - d * dw[2])
    slope = dot(moment, past) + dot(gradient, v) - d * dot(gradient, dv)
    for k in range(3):
        out[k] = back[k] * moment[0] + back[3 + k] * moment[1] + back[6 + k] * moment[2]
        out[E_P + k] = gradient[k]
        out[E_W + k] = -d * moment[k]
        out[E_V + k] = -d * gradient[k]
        out[E_DW + k] = f * moment[k]
        out[E_DV + k] = f * gradient[k]
    out[E_DELAY + index] = -slope
    return value


@inline
def specific_force(x: Array, constants: Array, w: Vector, y: Vector) -> Vector:
    """Return v' + w' x y + w x (w x y) - g in {N}, which an accelerometer at y from the origin of {B} feels."""
    dv, tangential, centripetal = at(x, X_DV), cross(at(x, X_DW), y), cross(w, cross(w, y))
    return (
        dv[0] + tangential[0] + centripetal[0] - constants[GRAVITY],
        dv[1] + tangential[1] + centripetal[1] - constants[GRAVITY + 1],
        dv[2] + tangential[2] + centripetal[2] - constants[GRAVITY + 2],
    )


@inline
def by_turn(c: Vector, y: Vector, w: Vector, dw: Vector, force: Vector) -> Vector:
    """Return the derivative of c . force by a turn of {B}, with which c and y turn.

    c . (w x (w x dy)) = ((c x w) x w) . dy, c . (w' x dy) = (c x w') . dy, and dy = turn x y.
    """
    direct, twice, once = cross(c, force), cross(cross(c, w), w), cross(c, dw)
    moved = cross(y, (twice[0] + once[0], twice[1] + once[1], twice[2] + once[2]))
    return direct[0] + moved[0], direct[1] + moved[1], direct[2] + moved[2]


@inline
def by_rate(c: Vector, y: Vector, w: Vector) -> Vector:
    """Return the derivative of c . force by the angular velocity."""
    outer, inner = cross(y, cross(c, w)), cross(cross(w, y), c)
    return outer[0] + inner[0], outer[1] + inner[1], outer[2] + inner[2]


@outline
def inclination(x: Array, constants: Array, sensor: Array, index: int, out: Array, back: Array) -> float:
    """Return the angle that an inclinometer reads, and write its derivative to `out` (n,).

    It is that of the specific force, seen in {B} along the sensor's axis, a time d ago, when rotation and angular
    velocity were exp(-(d w - d^2 w'/2)) R and w - d w'. `back` (9,) is room to work in.
    """
    d = x[X_DELAY + index] + sensor[AGE]
    f = 0.5 * d * d
    w, dw = at(x, X_W), at(x, X_DW)
    rotation(f * dw[0] - d * w[0], f * dw[1] - d * w[1], f * dw[2] - d * w[2], back)
    past = (w[0] - d * dw[0], w[1] - d * dw[1], w[2] - d * dw[2])
    y = turned_by(back, turned_by(x, at(sensor, POINT)))
    start, towards = turned_by(back, turned_by(x, at(sensor, FROM))), turned_by(back, turned_by(x, at(sensor, TOWARDS)))
    force = specific_force(x, constants, past, y)
    along, across = dot(force, start), dot(force, towards)
    size = along * along + across * across
    s, t = across / size, along / size
    c = (towards[0] * t - start[0] * s, towards[1] * t - start[1] * s, towards[2] * t - start[2] * s)
    moment, rate, change = by_turn(c, y, past, dw, force), by_rate(c, y, past), cross(y, c)
    for k in range(3):
        out[k] = back[k] * moment[0] + back[3 + k] * moment[1] + back[6 + k] * moment[2]
        out[E_W + k] = rate[k] - d * moment[k]
        out[E_DW + k] = change[k] + f * moment[k] - d * rate[k]
        out[E_DV + k] = c[k]
    out[E_DELAY + index] = -dot(moment, past) - dot(rate, dw)
    return math.atan2(across, along)


@inline
def skewed(x: Array, matrix: int, i: int, columns: tuple[Vector, Vector, Vector]) -> Vector:
    """Return row i of (1 + M) R^T, of which the `columns` of R are given; `matrix` is where M begins in the state."""
    m, (a, b, c) = at(x, matrix + 3 * i), columns
    own = columns[i]
    return (
        own[0] + m[0] * a[0] + m[1] * b[0] + m[2] * c[0],
        own[1] + m[0] * a[1] + m[1] * b[1] + m[2] * c[1],
        own[2] + m[0] * a[2] + m[1] * b[2] + m[2] * c[2],
    )


@outline
def inertial_readings(x: Array, constants: Array, values: Array, out: Array) -> None:
    """Write the readings (6,) of gyroscope and accelerometer, and their derivatives to `out` (6, n).

    (1 + M) R^T w + bias and (1 + M) R^T (v' + w' x y + w x (w x y) - g) + bias with y = R lever, M of each.
    """
    first, errors = x.shape[0] - N_INERTIAL, out.shape[1] - N_INERTIAL
    w, dw = at(x, X_W), at(x, X_DW)
    y = turned_by(x, at(constants, LEVER))
    force = specific_force(x, constants, w, y)
    columns = (x[0], x[3], x[6]), (x[1], x[4], x[7]), (x[2], x[5], x[8])
    rate = dot(columns[0], w), dot(columns[1], w), dot(columns[2], w)
    felt = dot(columns[0], force), dot(columns[1], force), dot(columns[2], force)
    for i in range(3):
        c, d = skewed(x, first + GYRO_MATRIX, i, columns), skewed(x, first + ACCEL_MATRIX, i, columns)
        values[i] = dot(c, w) + x[first + GYRO + i]
        values[3 + i] = dot(d, force) + x[first + ACCEL + i]
        turn_w, turn_f = cross(c, w), by_turn(d, y, w, dw, force)
        by_w, by_dw = by_rate(d, y, w), cross(y, d)
        for k in range(3):
            out[i, k] = turn_w[k]
            out[i, E_W + k] = c[k]
            out[i, errors + GYRO_MATRIX + 3 * i + k] = rate[k]
            out[3 + i, k] = turn_f[k]
            out[3 + i, E_W + k] = by_w[k]
            out[3 + i, E_DW + k] = by_dw[k]
            out[3 + i, E_DV + k] = d[k]
            out[3 + i, errors + ACCEL_MATRIX + 3 * i + k] = felt[k]
        out[i, errors + GYRO + i] = 1.0
        out[3 + i, errors + ACCEL + i] = 1.0
