"""The laws of a frame's pose, `operational_space` and `impedance`: one call for a controller."""

from __future__ import annotations

import math

from ...engine.compile import inline, kernel, outline
from ...engine.symmetric import eigen, solve_factorized
from ...model.layout import BAD_SHAPE, NOT_FINITE, OK
from .six import add, along, multiply, spread
from .task_inverse import invert, weigh
from .task_rows import (
    ACCELERATION,
    BAD_NUMBER,
    BIAS,
    CHANGE,
    COLUMN,
    DAMPER,
    ELASTIC,
    ERROR,
    FASTEST,
    FIRST,
    FREQUENCIES,
    GIVEN_UP,
    INVERSE,
    JOINT_ROWS,
    LEVER,
    MOBILITY,
    NULL_SPRING,
    NULL_TORQUE,
    NUMBERS,
    PACE,
    PACED,
    PULL,
    RATE,
    SCALE,
    SECOND,
    SHARE,
    SHARP,
    SINGULAR,
    SINGULAR_MASS,
    SLOPE,
    SLOWEST,
    SPEED,
    SPRING,
    SQUARES,
    TASK_ACCELERATION,
    TASK_RATE,
    TORQUE,
    TWIST,
    VALUES,
    VECTOR_ROWS,
    VELOCITY_ERROR,
    YIELDING,
    A,
    B,
    C,
    D,
    X,
    Y,
    Z,
)

_TINY = 2.3e-308


@outline
def _add_free(J, weighted, inverse, x, y, z, out):
    """Add N^T x = x - J^T inverse W^T x to `out`."""
    y[:], z[:] = 0.0, 0.0
    for k in range(6):
        for i in range(x.shape[0]):
            y[k] += weighted[i, k] * x[i]
    add(1.0, inverse, y, z)
    add(-1.0, J.T, z, out)
    for i in range(x.shape[0]):
        out[i] += x[i]


@inline
def _sensible(vectors, joints, numbers):
    """Tell whether gains and speeds are numbers that make sense."""
    first = _TINY if numbers[ELASTIC] != 0.0 else 0.0
    second = _TINY if numbers[ELASTIC] == 0.0 and numbers[PACED] != 0.0 else 0.0
    for k in range(6):
        if not (first <= vectors[FIRST, k] < math.inf and second <= vectors[SECOND, k] < math.inf):
            return False
    if numbers[PACED] != 0.0:
        for i in range(joints.shape[1]):
            if not joints[SPEED, i] > 0.0:
                return False
    return (
        0.0 <= numbers[SINGULAR] <= 1.0
        and numbers[FASTEST] > 0.0
        and (0.0 <= numbers[YIELDING] < math.inf and 0.0 <= numbers[LEVER] < math.inf)
    )


@inline
def _pace(weighted, vectors, squares, joints, numbers, twist, out):
    """Write joint rates W inverse V of a twist; return by which factor <= 1 they keep their speeds."""
    x, pace = vectors[X], 1.0
    x[:] = 0.0
    out[:] = 0.0
    add(1.0, squares[INVERSE], twist, x)
    add(1.0, weighted, x, out)
    if numbers[PACED] != 0.0:
        for i in range(out.shape[0]):
            if abs(out[i]) > joints[SPEED, i]:
                pace = min(pace, joints[SPEED, i] / abs(out[i]))
    return pace


@outline
def _pull(weighted, vectors, squares, joints, numbers, turn):
    """Write what the linear law of the pose's error adds to the acceleration wanted, `vectors[Z]`; and its gains."""
    error, de, wanted, twist = vectors[ERROR], vectors[VELOCITY_ERROR], vectors[Z], vectors[TWIST]
    gain, stiffness, damping, soft = squares[A], squares[B], squares[C], vectors[VALUES]
    asked, pull = vectors[SCALE], vectors[Y]
    along(vectors[FIRST], turn, gain)
    multiply(squares[SLOPE].T, gain, stiffness)
    along(vectors[SECOND], turn, damping)
    pull[:] = 0.0
    add(1.0, stiffness, error, pull)
    pace = 1.0
    if numbers[PACED] != 0.0:
        for k in range(6):
            soft[k] = 1.0 / vectors[SECOND, k]
        along(soft, turn, gain)
        for k in range(6):
            asked[k] = de[k] + twist[k]
        add(1.0, gain, pull, asked)
        pace = _pace(weighted, vectors, squares, joints, numbers, asked, joints[COLUMN])
    for k in range(6):
        wanted[k] = pull[k] if pace == 1.0 else 0.0
        asked[k] = de[k] if pace == 1.0 else pace * asked[k] - twist[k]
    add(1.0, damping, asked, wanted)
    multiply(squares[INVERSE], stiffness, squares[SPRING])
    multiply(squares[INVERSE], damping, squares[DAMPER])
    return pace


@outline
def _push(weighted, vectors, squares, joints, numbers, turn):
    """Write the force of spring and damper, `vectors[Z]`, and both."""
    error, de, force, twist = vectors[ERROR], vectors[VELOCITY_ERROR], vectors[Z], vectors[TWIST]
    root, a, v, modes = squares[C], squares[A], squares[B], squares[D]
    values, frequencies = vectors[VALUES], vectors[FREQUENCIES]
    for k in range(6):
        values[k] = math.sqrt(vectors[FIRST, k])
    along(values, turn, root)
    multiply(root, squares[MOBILITY], v)
    multiply(v, root, a)
    eigen(a, v)
    largest = 0.0
    for k in range(6):
        frequencies[k] = math.sqrt(max(a[k, k], 0.0))
        largest = max(largest, frequencies[k])
    multiply(root, v, modes)
    for k in range(6):
        values[k] = math.sqrt(vectors[SECOND, k])
    along(values, turn, root)
    multiply(root, modes, v)
    least = 1.0
    for k in range(6):
        slow = max(frequencies[k], numbers[SLOWEST] * largest, _TINY)
        part = min(1.0, numbers[FASTEST] / slow)
        least = min(least, part)
        values[k] = 2.0 * part / slow
        vectors[X, k] = part * part
    spread(v, values, squares[DAMPER])
    spread(modes, vectors[X], squares[SPRING])
    numbers[SHARE] = least * least
    asked = vectors[Y]
    force[:] = 0.0
    for k in range(6):
        asked[k] = de[k] + twist[k]
    pace = _pace(weighted, vectors, squares, joints, numbers, asked, joints[COLUMN])
    for k in range(6):
        asked[k] = pace * asked[k] - twist[k]
    values[:] = 0.0
    add(1.0, squares[SPRING], error, values)
    add(1.0, squares[SLOPE].T, values, force)
    add(1.0, squares[DAMPER], asked, force)
    return pace


@kernel(
    "(float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[:,:,::1],"
    " float64[:,::1], float64[:,::1], float64[::1])",
    quick=True,
)
def task_law(J, mass, factor, weighted, vectors, squares, joints, turn, numbers):
    """Write the torques of a law, and what it is made of; return a status.

    Parameters
    ----------
    J : ndarray, shape (12, n)
        Of the frame, and its rate.
    mass, factor : ndarray, shape (n, n)
        M, twice: the second one becomes its factor.
    weighted : ndarray, shape (n, 6)
        For M^-1 J^T.
    vectors, squares, joints, numbers : ndarray
        See `task_rows`.
    turn : ndarray, shape (3, 3)
        Rows are the axes of the gains, seen from the frame.
    """
    n = mass.shape[0]
    if J.shape[0] != 12 or J.shape[1] != n or mass.shape[1] != n or factor.shape[0] != n or factor.shape[1] != n:
        return BAD_SHAPE
    if weighted.shape[0] != n or weighted.shape[1] != 6 or vectors.shape[0] != VECTOR_ROWS or vectors.shape[1] != 6:
        return BAD_SHAPE
    if squares.shape[0] != SQUARES or squares.shape[1] != 6 or squares.shape[2] != 6 or turn.size != 9:
        return BAD_SHAPE
    if joints.shape[0] != JOINT_ROWS or joints.shape[1] != n or numbers.shape[0] != NUMBERS:
        return BAD_SHAPE
    if not _sensible(vectors, joints, numbers):
        return BAD_NUMBER
    if not weigh(J, factor, weighted, vectors, squares, joints):
        return SINGULAR_MASS
    invert(vectors, squares, numbers)
    elastic = numbers[ELASTIC] != 0.0
    if elastic:
        numbers[PACE] = _push(weighted, vectors, squares, joints, numbers, turn)
    else:
        numbers[PACE] = _pull(weighted, vectors, squares, joints, numbers, turn)
    # The acceleration of the frame that is desired of it, without feedback, and the one wanted.
    x, y, z, column, torque = vectors[X], vectors[Y], vectors[Z], joints[COLUMN], joints[TORQUE]
    change, reference, acceleration = vectors[SCALE], vectors[VALUES], joints[ACCELERATION]
    for k in range(6):
        drift = 0.0
        for i in range(n):
            drift += J[6 + k, i] * joints[RATE, i]
        change[k] = vectors[CHANGE, k] - drift
        reference[k] = vectors[VELOCITY_ERROR, k] + vectors[TWIST, k]
        y[k] = 0.0
    _pace(weighted, vectors, squares, joints, numbers, change, joints[TASK_ACCELERATION])
    part = _pace(weighted, vectors, squares, joints, numbers, reference, joints[TASK_RATE])
    for i in range(n):
        joints[TASK_RATE, i] *= part
        joints[TASK_ACCELERATION, i] *= part
    if not elastic:
        for k in range(6):
            change[k] += z[k]
            z[k] = 0.0
    add(1.0, squares[INVERSE], change, z)
    for i in range(n):
        torque[i] = joints[BIAS, i]
        column[i] = joints[NULL_TORQUE, i]
        damping = numbers[GIVEN_UP] * numbers[YIELDING]
        for k in range(n):
            column[i] -= damping * mass[i, k] * joints[RATE, k]
    add(1.0, J.T, z, torque)
    _add_free(J, weighted, squares[INVERSE], column, x, y, torque)
    pull, total = joints[PULL], 0.0
    pull[:] = 0.0
    _add_free(J, weighted, squares[SHARP], joints[NULL_SPRING], x, y, pull)
    for i in range(n):
        torque[i] += pull[i]
        acceleration[i] = torque[i] - joints[BIAS, i]
    solve_factorized(factor, pull)
    solve_factorized(factor, acceleration)
    for i in range(n):
        total += 0.0 * (torque[i] + acceleration[i])
    return OK if total == 0.0 else NOT_FINITE
