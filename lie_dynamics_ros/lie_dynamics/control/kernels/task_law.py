"""The laws of a frame's pose, `operational_space` and `impedance`: one call for a controller.

Twists and wrenches have six numbers, angular first, seen from the frame; joints n. The mobility of the frame is
inverted first, damped near singularities.
"""

from __future__ import annotations

import math

from ...engine.compile import inline, kernel, outline
from ...engine.symmetric import eigen, factorize, solve_factorized
from ...model.layout import BAD_SHAPE, NOT_FINITE, OK


@outline
def along(values, turn, out):
    """Write the matrix of numbers along and about axes: the rows of `turn`, as the frame sees them."""
    for i in range(6):
        for j in range(6):
            out[i, j] = 0.0
    for part in range(0, 6, 3):
        for i in range(3):
            for j in range(3):
                x = 0.0
                for k in range(3):
                    x += turn[k, i] * values[part + k] * turn[k, j]
                out[part + i, part + j] = x


@outline
def multiply(a, b, out):
    """Write a b."""
    for i in range(6):
        for j in range(6):
            x = 0.0
            for k in range(6):
                x += a[i, k] * b[k, j]
            out[i, j] = x


@outline
def spread(a, values, out):
    """Write a diag(values) a^T, exactly symmetric."""
    for i in range(6):
        for j in range(i + 1):
            x = 0.0
            for k in range(6):
                x += a[i, k] * values[k] * a[j, k]
            out[i, j] = out[j, i] = x


@outline
def add(factor, a, x, out):
    """Add factor a x to `out`."""
    for i in range(out.shape[0]):
        y = 0.0
        for k in range(6):
            y += a[i, k] * x[k]
        out[i] += factor * y


SINGULAR_MASS, BAD_NUMBER = 100, 101  # statuses: the mass matrix has no factor; a gain or a speed is none

# Rows of `joints` (n): given; written; to work in.
BIAS, NULL_TORQUE, NULL_SPRING, SPEED, RATE = 0, 1, 2, 3, 4
TORQUE, ACCELERATION, TASK_RATE, TASK_ACCELERATION, PULL, COLUMN, JOINT_ROWS = 5, 6, 7, 8, 9, 10, 11
# Rows of `vectors` (6): the first three as `pose_error` writes them; numbers along the axes, kp or stiffness and kd or
# damping ratio; 1 or 0 for each component of the task; written; to work in.
ERROR, VELOCITY_ERROR, CHANGE, TWIST, FIRST, SECOND, CHOSEN, FREQUENCIES = 0, 1, 2, 3, 4, 5, 6, 7
SCALE, VALUES, X, Y, Z, VECTOR_ROWS = 8, 9, 10, 11, 12, 13
# Of `squares` (6, 6): J_l(e)^-1 is given; written; to work in.
SLOPE, INVERSE, SHARP, SPRING, DAMPER = 0, 1, 2, 3, 4
MOBILITY, A, B, C, D, SQUARES = 5, 6, 7, 8, 9, 10
# Of `numbers`: given; written.
ELASTIC, SINGULAR, SHARPNESS, FASTEST, SLOWEST, PACED, YIELDING, LEVER = 0, 1, 2, 3, 4, 5, 6, 7
PACE, SHARE, DAMPED, GIVEN_UP, NUMBERS = 8, 9, 10, 11, 12

#: Parts of the threshold that what replaces an inverse is at least; largest weight of turns and moves.
_LEAST, _MOST = 1e-4, 1e4


@outline
def weigh(J, factor, weighted, vectors, squares, joints):
    """Factorize M, and write W = M^-1 J^T and J W of the components chosen; return whether that was done."""
    if not factorize(factor):
        return False
    n, column, chosen, mobility = factor.shape[0], joints[COLUMN], vectors[CHOSEN], squares[MOBILITY]
    for k in range(6):
        for i in range(n):
            column[i] = chosen[k] * J[k, i]
        solve_factorized(factor, column)
        for i in range(n):
            weighted[i, k] = column[i]
    for j in range(6):
        for k in range(j + 1):
            x = 0.0
            for i in range(n):
                x += J[j, i] * weighted[i, k]
            mobility[j, k] = mobility[k, j] = chosen[j] * x
    return True


@inline
def _damped(x, threshold):
    """Return 1 / x, or by what it is replaced where x is small."""
    if x >= threshold:
        return 1.0 / x if x > 0.0 else 0.0
    y = max(x, 0.0) / threshold
    return y * (2.0 - y * y) / threshold


@outline
def _loosen(vectors, squares, lever):
    """Write the damped inverse S (S A S + r D R D)^-1 S of the mobility A, with R = `squares[A]`; S inverts `SCALE`.

    D is what a lever makes of turns and moves against their mobility; r keeps R its size.
    """
    mobility, left, inverse = squares[MOBILITY], squares[A], squares[INVERSE]
    scale, weight, own = vectors[SCALE], vectors[X], vectors[SCALE, 3] / (vectors[SCALE, 0] * lever)
    for i in range(6):
        weight[i] = min(max(1.0, own * own if i < 3 else 1.0 / (own * own)), _MOST)
    before, after = 0.0, 0.0
    for i in range(6):
        for j in range(6):
            before += left[i, j] * left[i, j]
            after += left[i, j] * left[i, j] * weight[i] * weight[j]
    size = before / after if after > 0.0 else 0.0
    for i in range(6):
        for j in range(6):
            left[i, j] = size * weight[i] * left[i, j] * weight[j] + mobility[i, j] / (scale[i] * scale[j])
            inverse[i, j] = vectors[CHOSEN, i] / scale[i] if i == j else 0.0
        left[i, i] += 1.0 - vectors[CHOSEN, i]
    if factorize(left):
        for i in range(6):
            solve_factorized(left, inverse[i])
            for j in range(6):
                inverse[i, j] /= scale[j]


@outline
def invert(vectors, squares, numbers):
    """Write the damped inverse of the mobility, and the one that is damped later; see `operational_space`."""
    chosen, scale, values = vectors[CHOSEN], vectors[SCALE], vectors[VALUES]
    mobility, a, v = squares[MOBILITY], squares[A], squares[B]
    for part in range(0, 6, 3):
        mean, count = 0.0, 0.0
        for k in range(part, part + 3):
            mean, count = mean + mobility[k, k], count + chosen[k]
        size = math.sqrt(mean / max(count, 1.0))
        for k in range(part, part + 3):
            scale[k] = size if size > 0.0 else 1.0
    for i in range(6):
        for j in range(6):
            a[i, j] = mobility[i, j] / (scale[i] * scale[j])
    eigen(a, v)
    largest = 0.0
    for k in range(6):
        largest = max(largest, a[k, k])
    threshold = numbers[SINGULAR] ** 2 * largest
    numbers[DAMPED], numbers[GIVEN_UP] = 0.0, 0.0
    for k in range(6):
        values[k] = _damped(a[k, k], threshold)
        if chosen[k] > 0.0 and a[k, k] < threshold:
            y = max(a[k, k], 0.0) / threshold
            numbers[DAMPED] += 1.0
            numbers[GIVEN_UP] = max(numbers[GIVEN_UP], (1.0 - y * y) ** 2)
        for i in range(6):
            v[i, k] /= scale[i]
    spread(v, values, squares[INVERSE])
    for k in range(6):
        values[k] = _damped(a[k, k], numbers[SHARPNESS] ** 2 * threshold)
    spread(v, values, squares[SHARP])
    if numbers[LEVER] > 0.0 and numbers[DAMPED] > 0.0:
        for k in range(6):
            x = a[k, k]
            values[k] = chosen[k] * max(0.0, 1.0 / max(_damped(x, threshold), _LEAST / threshold) - max(x, 0.0))
            for i in range(6):
                v[i, k] *= scale[i]
        spread(v, values, a)
        _loosen(vectors, squares, numbers[LEVER])


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
    "(float64[:,::1], float64[:,:,::1], float64[:,::1], float64[:,::1], float64[:,:,::1], float64[:,::1],"
    " float64[:,::1], float64[::1])",
    quick=True,
)
def task_law(
    J,  # of the frame, and its rate (12, n)
    masses,  # M, twice: the second one becomes its factor (2, n, n)
    weighted,  # for M^-1 J^T (n, 6)
    vectors,  # rows as above, as those of the next two
    squares,
    joints,
    turn,  # rows are the axes of the gains, seen from the frame (3, 3)
    numbers,
):
    """Write the torques of a law, and what it is made of; return a status."""
    n = masses.shape[1]
    if J.shape[0] != 12 or J.shape[1] != n or masses.shape[0] != 2 or masses.shape[2] != n:
        return BAD_SHAPE
    mass, factor = masses[0], masses[1]
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
