"""Errors and Jacobian of loops at one configuration: what `loop_rows` finds, without rates."""

from __future__ import annotations

from ...dynamics.kernels.common.joints import constants3, constants9, has_transform
from ...dynamics.kernels.common.spatial import add, dot, matmul, sub, transpose, unrotate
from ...dynamics.kernels.jacobians import _column as column_seen_from
from ...engine.compile import inline, outline
from ...engine.lanes import put3
from ...model.layout import PARENT
from .loop_derivatives import pose_from, unit_wrench
from .loops import (
    ALONG,
    ANCESTOR,
    ANGLE,
    COUNT,
    ERROR,
    OFFSET,
    P_1,
    P_2,
    R_1,
    R_2,
    ROW_1,
    ROW_2,
    START,
    TYPE,
    VECTOR_1,
    VECTOR_2,
    put_branch,
    put_first_branch,
    split,
    step_up,
)


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
def error_of(scalars, k, r, p):
    """Return the error of scalar `k` at the pose (r, p) of the second frame in the first."""
    offset = scalars[k, OFFSET]
    if scalars[k, TYPE] == ANGLE:
        return dot(unrotate(r, constants3(scalars, k, VECTOR_1)), constants3(scalars, k, VECTOR_2)) - offset
    if scalars[k, TYPE] == ALONG:
        return dot(constants3(scalars, k, VECTOR_1), p) - offset
    return 0.5 * (dot(p, p) / offset - offset)


@outline
def put_errors(rows, loops, scalars, work, values):
    """Fill the errors of all loops."""
    for j in range(loops.shape[0]):
        stop = int(loops[j, ANCESTOR])
        r1, p1, far1 = pose_from(
            rows, work, int(loops[j, ROW_1]), stop, constants9(loops, j, R_1), constants3(loops, j, P_1)
        )
        r2, p2, far2 = pose_from(
            rows, work, int(loops[j, ROW_2]), stop, constants9(loops, j, R_2), constants3(loops, j, P_2)
        )
        r, p = matmul(transpose(r1), r2), unrotate(r1, add(sub(p2, p1), sub(far2, far1)))
        for k in range(int(loops[j, START]), int(loops[j, START] + loops[j, COUNT])):
            values[ERROR, k] = error_of(scalars, k, r, p)


@outline
def put_loop(rows, loops, scalars, j, q, work, columns, matrix, values, wrenches):
    """Fill errors, entries of A transposed and unit wrenches of loop `j`; return the place of frame 2 in frame 1."""
    a, b, stop = int(loops[j, ROW_1]), int(loops[j, ROW_2]), int(loops[j, ANCESTOR])
    r1, p1, far1 = walk_still(rows, q, work, a, stop, constants9(loops, j, R_1), constants3(loops, j, P_1), columns)
    r2, p2, far2 = walk_still(rows, q, work, b, stop, constants9(loops, j, R_2), constants3(loops, j, P_2), columns)
    r, p = matmul(transpose(r1), r2), unrotate(r1, add(sub(p2, p1), sub(far2, far1)))
    first, count = int(loops[j, START]), int(loops[j, COUNT])
    for k in range(first, first + count):
        values[ERROR, k] = error_of(scalars, k, r, p)
        m, f = unit_wrench(scalars, k, r, p)
        put3(wrenches, k, 0, m)
        put3(wrenches, k, 3, f)
    put_branch(rows, b, stop, first, count, wrenches, columns, matrix)
    put_first_branch(rows, a, stop, first, count, r, p, wrenches, columns, matrix)
    return p
