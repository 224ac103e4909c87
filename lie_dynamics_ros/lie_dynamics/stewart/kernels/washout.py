"""Steps of the classical washout, see `command.washout`."""

from __future__ import annotations

import math

from ...arrays import Array
from ...engine.compile import inline, kernel, outline
from ...lie.kernels.quaternions import Quaternion, Vec, conjugate, exp, log, multiply, normalize, to_rows
from .leg_samples import added, put, times, vector
from .newton import combine, dot

# A ride: an axis a row for integral of the position, position and velocity, then for the low-pass filter; integral of
# the angle that is washed out; rotations that are washed out and that stand for forces; rotation vector that the tilt
# goes to and its angular velocity; what is held: angular velocity, and acceleration before the filters.
MOVED, PULLED, TURNED, TURN, TILT, GOAL, TILTING, RATE, PULL, N_RIDE = 0, 9, 15, 18, 22, 26, 29, 32, 35, 38
# Constants: period; gravity; largest tilt, and its largest turn in a period; largest force and rate; scales of both.
PERIOD, GRAVITY, ANGLE, STEP, LARGEST, SCALES = 0, 1, 2, 3, 4, 6
# Filters of n states, an axis after the other: A row by row, B, terms of the differential equation.
TRANSLATION, ROTATION, LOW, N_CONSTANTS = 12, 57, 81, 105
# A row of results: pose of the cab, its body twist, and what is felt there.
POSE, TWIST, FELT, N_MOTION = 0, 16, 22, 25

WEIGHTLESS = 1e-3
"""Specific force over gravity, and sine of its angle with the vertical below, which give no direction to tilt to."""
HUGE = 1e9
"""Inputs beyond are shortened before anything else [m/s^2, rad/s]."""


@inline
def rotation(x: Array, i: int) -> Quaternion:
    """Return a quaternion that begins there."""
    return x[i], x[i + 1], x[i + 2], x[i + 3]


@inline
def put_rotation(x: Array, i: int, q: Quaternion) -> None:
    """Write one."""
    x[i], x[i + 1], x[i + 2], x[i + 3] = q


@inline
def shortened(constants: Array, kind: int, value: Vec) -> Vec:
    """Return a force (0) or a rate (1) scaled, and no longer than the largest."""
    largest = constants[LARGEST + kind]
    size = max(abs(value[0]), abs(value[1]), abs(value[2]))
    f = min(1.0, HUGE / max(size, HUGE))
    scale = vector(constants, SCALES + 3 * kind)
    scaled = scale[0] * (value[0] * f), scale[1] * (value[1] * f), scale[2] * (value[2] * f)
    f = min(1.0, largest / max(math.sqrt(dot(scaled, scaled)), largest))
    return scaled[0] * f, scaled[1] * f, scaled[2] * f


@outline
def advance(constants: Array, place: int, n: int, state: Array, at: int, axis: int, held: float, work: Array) -> None:
    """Take an axis of a filter on by a period, for an input that is held."""
    filter_, own = place + axis * n * (n + 2), at + axis * n
    for i in range(n):
        total = constants[filter_ + n * n + i] * held
        for j in range(n):
            total += constants[filter_ + n * i + j] * state[own + j]
        work[i] = total
    for i in range(n):
        state[own + i] = work[i]


@inline
def goal(constants: Array, before: Vec, force: Vec) -> Vec:
    """Return the rotation vector of the least rotation that brings a force upward, within the angle."""
    size, sine = math.sqrt(dot(force, force)), math.hypot(force[0], force[1])
    if not (size > WEIGHTLESS * constants[GRAVITY] and (force[2] > 0.0 or sine > WEIGHTLESS * size)):
        return before
    if sine == 0.0:
        return 0.0, 0.0, 0.0
    f = min(math.atan2(sine, force[2]), constants[ANGLE]) / sine
    return f * force[1], -f * force[0], 0.0


@outline
def tilt_on(constants: Array, ride: Array) -> None:
    """Tilt on the way to the goal, within the speed."""
    tilt, most = rotation(ride, TILT), constants[STEP]
    turn = log(multiply(conjugate(tilt), exp(vector(ride, GOAL))))
    f = min(1.0, most / max(math.sqrt(dot(turn, turn)), most))
    turn = f * turn[0], f * turn[1], f * turn[2]
    put_rotation(ride, TILT, normalize(multiply(tilt, exp(turn))))
    period = constants[PERIOD]
    put(ride, TILTING, (turn[0] / period, turn[1] / period, turn[2] / period))


@outline
def turn_on(constants: Array, ride: Array, rate: Vec, work: Array) -> None:
    """Turn: about one axis as the linear filter makes of the angle."""
    angle = log(rotation(ride, TURN))
    for axis in range(3):
        k, turned = ROTATION + 8 * axis, ride[TURNED + axis]
        ride[TURNED + axis] = constants[k] * turned + constants[k + 1] * angle[axis] + constants[k + 4] * rate[axis]
        work[axis] = constants[k + 2] * turned + constants[k + 5] * rate[axis]
        work[3 + axis] = constants[k + 3] * angle[axis]
    put_rotation(ride, TURN, multiply(exp(vector(work, 3)), exp(vector(work, 0))))


@inline
def pulled(ride: Array, force: Vec, gravity: float) -> Vec:
    """Return the acceleration of the cab before the filters."""
    turned = times(to_rows(multiply(rotation(ride, TILT), rotation(ride, TURN))), force)
    return turned[0], turned[1], turned[2] - gravity


@outline
def step(constants: Array, ride: Array, felt: Array, work: Array) -> None:
    """Take on a ride by a period in which a vehicle feels this: specific force, then angular velocity."""
    gravity = constants[GRAVITY]
    beyond = shortened(constants, 0, (felt[0], felt[1], felt[2] - gravity))
    rate = shortened(constants, 1, vector(felt, 3))
    work[6], work[7], work[8] = beyond
    for axis in range(3):
        advance(constants, LOW, 2, ride, PULLED, axis, work[6 + axis], work)
        work[9 + axis] = constants[LOW + 8 * axis + 6] * ride[PULLED + 2 * axis]
    put(ride, GOAL, goal(constants, vector(ride, GOAL), (work[9], work[10], work[11] + gravity)))
    force = beyond[0], beyond[1], beyond[2] + gravity
    before = pulled(ride, force, gravity)
    tilt_on(constants, ride)
    turn_on(constants, ride, rate, work)
    pull = pulled(ride, force, gravity)
    put(work, 6, added(before, pull, 1.0))
    for axis in range(3):
        advance(constants, TRANSLATION, 3, ride, MOVED, axis, 0.5 * work[6 + axis], work)
    put(ride, RATE, rate)
    put(ride, PULL, pull)


@outline
def write_motion(constants: Array, ride: Array, out: Array, work: Array) -> None:
    """Write pose and twist of the cab, and what is felt in it."""
    turn, tilt = rotation(ride, TURN), rotation(ride, TILT)
    R, angle = to_rows(multiply(tilt, turn)), log(turn)
    put(work, 0, angle)
    for axis in range(3):
        k, m = ROTATION + 8 * axis + 6, TRANSLATION + 15 * axis + 12
        work[3 + axis] = ride[RATE + axis] - constants[k] * ride[TURNED + axis] - constants[k + 1] * work[axis]
        x = ride[MOVED + 3 * axis : MOVED + 3 * axis + 3]
        work[6 + axis] = ride[PULL + axis] - constants[m] * x[0] - constants[m + 1] * x[1] - constants[m + 2] * x[2]
    work[8] += constants[GRAVITY]
    put(out, TWIST, added(times(to_rows(conjugate(turn)), vector(ride, TILTING)), vector(work, 3), 1.0))
    velocity = ride[MOVED + 2], ride[MOVED + 5], ride[MOVED + 8]
    put(out, TWIST + 3, combine(velocity, R[0], R[1], R[2]))
    put(out, FELT, combine(vector(work, 6), R[0], R[1], R[2]))
    for i in range(3):
        put(out, POSE + 4 * i, R[i])
        out[POSE + 4 * i + 3] = ride[MOVED + 3 * i + 1]
    put(out, POSE + 12, (0.0, 0.0, 0.0))
    out[POSE + 15] = 1.0


@kernel("(float64[::1], float64[:,::1], float64[:,:,::1], float64[:,:,::1], float64[::1])")
def steps(constants: Array, rides: Array, felt: Array, out: Array, work: Array) -> int:
    """Take rides (b, 38) on by inputs (n, b, 6), and write motions (n, b, 25); `work` is (12,).

    Without inputs, write the motion of now (1, b, 25).
    """
    for ride in range(rides.shape[0]):
        for k in range(felt.shape[0]):
            step(constants, rides[ride], felt[k, ride], work)
            write_motion(constants, rides[ride], out[k, ride], work)
        if felt.shape[0] == 0:
            write_motion(constants, rides[ride], out[0, ride], work)
    return 0
