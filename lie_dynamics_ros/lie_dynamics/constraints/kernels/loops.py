"""Loops in kernels: relative pose of two frames, and each scalar constraint's error, rate, Jacobian row and bias.

A loop holds two frames, 1 and 2, together. X = T_1^-1 T_2 = (R, p) is the pose of frame 2 in frame 1, W its twist in
frame 2. A scalar constraint f(X) = 0 has the rate c . W, where c is the unit wrench of its multiplier on the second
body, in frame 2. Every cut joint is made of three kinds of scalars, all polynomial in R and p.
"""

from __future__ import annotations

import numpy as np

from ...dynamics.kernels.common.joints import (
    constants3,
    constants9,
    custom_rate,
    has_transform,
    is_custom,
    row_transform,
)
from ...dynamics.kernels.common.spatial import (
    add,
    cross,
    dot,
    matmul,
    rotate,
    scale,
    sub,
    transpose,
    twist_cross,
    twist_into,
    unrotate,
    wrench_out,
)
from ...dynamics.kernels.kinematics import _column as column_seen_from
from ...engine.compile import inline, kernel, outline
from ...engine.lanes import get, get3, get9, lift, put3, put9, vector_space, workspace
from ...model.layout import LAST, N_V, OK, PARENT, REFERENCE

#: Columns of the table of loops: rows of the two bodies, row of their common ancestor, poses of the frames in the
#: kernel frames of those rows, which scalars belong to the loop, and what keeps upright from upside down: the sum of
#: the products of `FACING` (3, 3) with R, which is less than `FACING_LEAST` beyond a quarter of a turn.
ROW_1, ROW_2, ANCESTOR, R_1, P_1, R_2, P_2, START, COUNT, FACING, FACING_LEAST, LOOP_SIZE = (
    0, 1, 2, 3, 12, 15, 24, 27, 28, 29, 38, 39
)  # fmt: skip

#: Columns of the table of scalars.
TYPE, VECTOR_1, VECTOR_2, OFFSET, SCALAR_SIZE = 0, 1, 4, 7, 8

# Kinds of scalar, with vectors a fixed in frame 1 and b fixed in frame 2.
ALONG = 0.0  # a . p - offset
ANGLE = 1.0  # a . R b - offset
DISTANCE = 2.0  # (p . p / offset - offset) / 2

#: `FACING_LEAST` where all of R is fixed (the trace at a quarter of a turn), and where nothing is.
WHOLE, NOTHING = 1.0, -1.0

#: What moves a sine beyond a quarter of a turn: a step -A^-1 f from any angle between 115 and 180 degrees then ends
#: below 55, from where steps converge. Other sines have errors of at most 1, these of at least 1.25.
AWAY = 2.25

#: An upside-down loop whose angles are off by less than this [sine] counts as closed upside down.
LOOKS_CLOSED = 0.1

#: What dynamics return of such a loop, plus `STATUS_STEP` times one more than its number.
UPSIDE_DOWN = 6

#: Columns of the table of transforms that `walk` reads: the first ones of all recursions' workspaces.
R, P, TRANSFORM_COLUMNS = 0, 9, 12

#: Rows of the table of what is found for each scalar: error, its rate, dA/dt qd, and what its diagonal entry of
#: A M^-1 A^T could be at most.
ERROR, RATE, BIAS, SIZE, VALUE_ROWS = 0, 1, 2, 3, 4


@inline
def put_upside_down(loops, scalars, j, r, values):
    """Move the error of one angle of loop `j` by `AWAY` where the loop is upside down; `r` is R.

    The scalars vanish there, too. What is added is constant, so A remains the derivative of the errors, and a step
    -A^-1 f turns the loop upright. It is the angle along which that is shortest.
    """
    facing = 0.0 * r[0]
    for k in range(9):
        facing = facing + loops[j, FACING + k] * r[k]
    least = loops[j, FACING_LEAST]
    if np.real(facing) < least:
        best, score, side = -1, -2.0, 1.0
        for k in range(int(loops[j, START]), int(loops[j, START] + loops[j, COUNT])):
            if scalars[k, TYPE] == ANGLE:
                a, b = constants3(scalars, k, VECTOR_1), constants3(scalars, k, VECTOR_2)
                sine = np.real(values[ERROR, k])
                size = abs(sine)
                if least == WHOLE:
                    axis = cross(a, b)
                    size = np.real(dot(axis, rotate(r, axis)))
                    sine = sine - np.real(dot(b, rotate(r, a)))
                if size > score:
                    best, score, side = k, size, -1.0 if sine < 0.0 else 1.0
        values[ERROR, best] -= AWAY * side


@inline
def upside_down(loops, scalars, values):
    """Return one more than the number of a loop that is closed upside down, 0 if there is none."""
    found = 0
    for j in range(loops.shape[0]):
        far, rest = 0, 0.0
        for k in range(int(loops[j, START]), int(loops[j, START] + loops[j, COUNT])):
            size = abs(np.real(values[ERROR, k]))
            if scalars[k, TYPE] == ANGLE and size > 1.0:
                far, size = 1, AWAY - size
            rest = max(rest, size)
        if far > 0 and rest < LOOKS_CLOSED:
            found = j + 1
    return found


@inline
def split(leaf, p):
    """Return the place of a frame on row `leaf` in two parts, whose sum it is: the second is zero on a body.

    Far from the world's origin only the second is large: where the reference point of the body's tree is (`step_up`),
    or what is fixed to the world. So the distance of two frames loses no digits.
    """
    none = scale(0.0, p)
    if leaf == 0:
        return none, p
    return p, none


@inline
def step_up(rows, i, work, r, p, far):
    """Return pose and `far` of a frame, seen from row `i`, as the parent of the row sees them."""
    rr, pp = get9(work, i, R), get3(work, i, P)
    if i <= int(rows[i, REFERENCE]):
        return matmul(rr, r), rotate(rr, p), add(pp, rotate(rr, far))
    return matmul(rr, r), add(pp, rotate(rr, p)), far


@inline
def put_transforms(rows, q, work):
    """Fill the transforms of all rows that have one, at q."""
    for i in range(1, int(rows[0, N_V]) + 1):
        if has_transform(rows, i):
            rr, pp = row_transform(rows, i, q)
            put9(work, i, R, rr)
            put3(work, i, P, pp)


@inline
def relative_pose(r1, p1, far1, r2, p2, far2):
    """Return the pose of frame 2 in frame 1, each seen from the same row, its place in two parts."""
    return matmul(transpose(r1), r2), unrotate(r1, add(sub(p2, p1), sub(far2, far1)))


@inline
def pose_from(rows, work, leaf, stop, r, p):
    """Return the pose of a frame at (r, p) on row `leaf`, seen from the row `stop` above it, its place in two parts."""
    p, far = split(leaf, p)
    i = leaf
    while i != stop:
        if has_transform(rows, i):
            r, p, far = step_up(rows, i, work, r, p, far)
        i = int(rows[i, PARENT])
    return r, p, far


@inline
def walk_still(rows, q, work, leaf, stop, r, p, columns):
    """Return the pose of a frame as `pose_from` does, and fill each row's column of J."""
    p, far = split(leaf, p)
    i = leaf
    while i != stop:
        w, v = column_seen_from(rows, i, q, r, p)
        put3(columns, i, 0, w)
        put3(columns, i, 3, v)
        if has_transform(rows, i):
            r, p, far = step_up(rows, i, work, r, p, far)
        i = int(rows[i, PARENT])
    return r, p, far


@inline
def loop_pose(rows, loops, j, work):
    """Return the pose of the second frame of loop `j` in its first."""
    a, b, stop = int(loops[j, ROW_1]), int(loops[j, ROW_2]), int(loops[j, ANCESTOR])
    r1, p1, far1 = pose_from(rows, work, a, stop, constants9(loops, j, R_1), constants3(loops, j, P_1))
    r2, p2, far2 = pose_from(rows, work, b, stop, constants9(loops, j, R_2), constants3(loops, j, P_2))
    return relative_pose(r1, p1, far1, r2, p2, far2)


@inline
def error_of(scalars, k, r, p):
    """Return the error of scalar `k` at the pose (r, p) of the second frame in the first."""
    offset = scalars[k, OFFSET]
    if scalars[k, TYPE] == ANGLE:
        return dot(unrotate(r, constants3(scalars, k, VECTOR_1)), constants3(scalars, k, VECTOR_2)) - offset
    if scalars[k, TYPE] == ALONG:
        return dot(constants3(scalars, k, VECTOR_1), p) - offset
    return 0.5 * (dot(p, p) / offset - offset)


@inline
def unit_wrench(scalars, k, r, p):
    """Return the wrench on the second body, in frame 2, of a unit multiplier of scalar `k`."""
    zero = 0.0 * p[0]
    none = (zero, zero, zero)
    if scalars[k, TYPE] == ANGLE:
        return cross(constants3(scalars, k, VECTOR_2), unrotate(r, constants3(scalars, k, VECTOR_1))), none
    if scalars[k, TYPE] == ALONG:
        return none, unrotate(r, constants3(scalars, k, VECTOR_1))
    return none, scale(1.0 / scalars[k, OFFSET], unrotate(r, p))


@inline
def walk(rows, q, qd, work, leaf, stop, pose, columns):
    """Walk from a frame whose pose on row `leaf` is given to the row `stop` above it.

    Returns the frame's pose seen from `stop`, its place in two parts as `split` has them, and its twist and dJ/dt qd
    relative to it, in the frame; fills each row's column of J.
    """
    r, (p, far) = pose[0], split(leaf, pose[1])
    zero = lift(0.0, get(qd, 0))
    none = (zero, zero, zero)
    w, v, aw, av, bw, bv = none, none, none, none, none, none
    i = leaf
    while i != stop:
        if i == int(rows[i, LAST]):
            aw, av = w, v
        jw, jv = column_seen_from(rows, i, q, r, p)
        put3(columns, i, 0, jw)
        put3(columns, i, 3, jv)
        x = get(qd, i - 1)
        dw, dv = twist_cross(jw, jv, aw, av)
        if is_custom(rows, i):
            sw, sv = custom_rate(rows, i, q)
            sw, sv = twist_into(r, p, sw, sv)
            dw, dv = add(dw, sw), add(dv, sv)
        bw, bv = add(bw, scale(x, dw)), add(bv, scale(x, dv))
        w, v = add(w, scale(x, jw)), add(v, scale(x, jv))
        if has_transform(rows, i):
            r, p, far = step_up(rows, i, work, r, p, far)
        i = int(rows[i, PARENT])
    return r, p, far, w, v, bw, bv


@inline
def put_branch(rows, loops, j, wrenches, columns, matrix):
    """Fill the entries of loop `j` along the branch of its second frame: wrenches times the columns of J."""
    i, stop = int(loops[j, ROW_2]), int(loops[j, ANCESTOR])
    first, count = int(loops[j, START]), int(loops[j, COUNT])
    while i != stop:
        w, v = get3(columns, i, 0), get3(columns, i, 3)
        for k in range(first, first + count):
            matrix[i, k] = dot(get3(wrenches, k, 0), w) + dot(get3(wrenches, k, 3), v)
        i = int(rows[i, PARENT])


@inline
def put_first_branch(rows, loops, j, r, p, wrenches, columns, matrix):
    """Fill those along the branch of its first frame, whose columns are seen from there; (r, p) is the second in it."""
    i, stop = int(loops[j, ROW_1]), int(loops[j, ANCESTOR])
    first, count = int(loops[j, START]), int(loops[j, COUNT])
    while i != stop:
        w, v = twist_into(r, p, get3(columns, i, 0), get3(columns, i, 3))
        for k in range(first, first + count):
            matrix[i, k] = -(dot(get3(wrenches, k, 0), w) + dot(get3(wrenches, k, 3), v))
        i = int(rows[i, PARENT])


@inline
def squares(rows, leaf, stop, columns, weights):
    """Return the weighted sums of the squares of the columns of J along one branch, angular and linear."""
    angular = lift(0.0, weights[0])
    linear = angular
    i = leaf
    while i != stop:
        w, v = get3(columns, i, 0), get3(columns, i, 3)
        angular = angular + weights[i] * dot(w, w)
        linear = linear + weights[i] * dot(v, v)
        i = int(rows[i, PARENT])
    return angular, linear


@outline
def loop_rows(rows, loops, scalars, q, qd, space, found):
    """Fill what the loops' scalars are at one state.

    Parameters
    ----------
    space : transforms of the rows in columns `R` and `P` of (nv + 1, at least 12); weights (nv + 1) of the squares of A
        that are summed up in ``values[SIZE]``; workspace (nv + 1, 6).
    found : what is filled: A transposed (nv + 1, at least m), one row ahead, so that entry (i, k) belongs to coordinate
        i - 1, where entries of rows that are on no branch of a loop are left alone; values (VALUE_ROWS, at least m);
        unit wrench of each multiplier on the second body, in frame 2 (m, 6).
    """
    (work, weights, columns), (matrix, values, wrenches) = space, found
    for j in range(loops.shape[0]):
        a, b, stop = int(loops[j, ROW_1]), int(loops[j, ROW_2]), int(loops[j, ANCESTOR])
        r1, p1, far1, w1, v1, bw1, bv1 = walk(
            rows, q, qd, work, a, stop, (constants9(loops, j, R_1), constants3(loops, j, P_1)), columns
        )
        r2, p2, far2, w2, v2, bw2, bv2 = walk(
            rows, q, qd, work, b, stop, (constants9(loops, j, R_2), constants3(loops, j, P_2)), columns
        )
        r, p = relative_pose(r1, p1, far1, r2, p2, far2)
        mw, mv = twist_into(r, p, w1, v1)
        w, v = sub(w2, mw), sub(v2, mv)
        mw, mv = twist_into(r, p, bw1, bv1)
        bw, bv = sub(bw2, mw), sub(bv2, mv)
        cw, cv = twist_cross(w, v, w2, v2)
        bw, bv = add(bw, cw), add(add(bv, cv), cross(w, v))  # with w x v: the rate of R^T dp/dt
        first = int(loops[j, START])
        aw, av = squares(rows, a, stop, columns, weights)
        sw, sv = squares(rows, b, stop, columns, weights)
        for k in range(first, first + int(loops[j, COUNT])):
            m, f = unit_wrench(scalars, k, r, p)
            bias = dot(m, bw) + dot(f, bv)
            if scalars[k, TYPE] == ANGLE:
                x = unrotate(r, constants3(scalars, k, VECTOR_1))
                bias = bias - dot(cross(constants3(scalars, k, VECTOR_2), cross(w, x)), w)
            elif scalars[k, TYPE] == DISTANCE:
                bias = bias + dot(v, v) / scalars[k, OFFSET]
            values[ERROR, k] = error_of(scalars, k, r, p)
            values[RATE, k] = dot(m, w) + dot(f, v)
            values[BIAS, k] = bias
            values[SIZE, k] = dot(m, m) * sw + dot(f, f) * sv
            put3(wrenches, k, 0, m)
            put3(wrenches, k, 3, f)
            if a != stop:
                m, f = wrench_out(r, p, m, f)
                values[SIZE, k] += dot(m, m) * aw + dot(f, f) * av
        put_upside_down(loops, scalars, j, r, values)
        put_branch(rows, loops, j, wrenches, columns, matrix)
        put_first_branch(rows, loops, j, r, p, wrenches, columns, matrix)


@kernel(
    "(float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[:,:,::1],"
    " float64[:,:,::1], float64[:,:,::1])",
    direct=True,
)
def loop_quantities(rows, loops, scalars, q, qd, matrix, values, wrenches):
    """Fill A transposed (B, nv + 1, at least m), its values (B, VALUE_ROWS, likewise) and unit wrenches (B, m, 6)."""
    n = int(rows[0, N_V])
    columns = workspace(n + 1, 6, q[0])
    work = workspace(n + 1, TRANSFORM_COLUMNS, q[0])
    weights = vector_space(n + 1, q[0])
    for i in range(n + 1):
        weights[i] = 1.0
    matrix[...] = 0.0
    for s in range(q.shape[0]):
        put_transforms(rows, q[s], work)
        loop_rows(rows, loops, scalars, q[s], qd[s], (work, weights, columns), (matrix[s], values[s], wrenches[s]))
    return OK
