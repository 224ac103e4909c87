"""What a step of tracking is made of: equations and their inverse, moves, and distances between configurations."""

from __future__ import annotations

import numpy as np

from ...dynamics.kernels.common.joints import constants3, constants9, has_transform, row_transform
from ...dynamics.kernels.common.manifold import move
from ...dynamics.kernels.common.spatial import add, dot, matmul, sub, transpose, unrotate
from ...dynamics.kernels.jacobians import _column as column_seen_from
from ...engine.compile import inline, outline
from ...engine.lanes import get, get2, lift, put, put2, put3, put9
from ...model.layout import PARENT, Q_INDEX
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
    P,
    R,
    put_branch,
    put_first_branch,
    put_upside_down,
    split,
    step_up,
)
from .second_derivatives import GROUP_KIND, GROUP_PLACE, GROUP_TIME, ROTATION, SINGLE, largest, put_levers

# Errors and Jacobian of loops at one configuration: what `loop_rows` finds, without rates.


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
        put_upside_down(loops, scalars, j, r, values)


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
    put_upside_down(loops, scalars, j, r, values)
    put_branch(rows, b, stop, first, count, wrenches, columns, matrix)
    put_first_branch(rows, a, stop, first, count, r, p, wrenches, columns, matrix)
    return p


@outline
def invert(a, lanes, out, n, places, left, rows, factors, unit, unit_lanes):
    """Fill `out` with the inverse of `a` (n, n), which is lost, by Gauss and Jordan; tell whether there is one.

    Rows are taken in their order, each with its largest entry as pivot: zeros last longest if rows that have many come
    first. Rows of `a` are filled up to whole vectors, which are `lanes`; `places`, `left`, `rows`, `factors` and `unit`
    (n) are workspace. Nothing but whole vectors is written to `a`: a vector cannot be read soon after a part of it was.
    """
    for k in range(n):
        unit[k], left[k] = 0.0, 1.0
    for k in range(n):
        pivot, best = 0, -1.0
        for j in range(n):
            x = abs(a[k, j]) * left[j]
            pivot, best = (j, x) if x > best else (pivot, best)
        if not best > 1e-12:
            return False
        places[k], left[pivot], unit[pivot] = pivot, 0.0, 1.0
        size, count = 1.0 / a[k, pivot], 0
        for i in range(n):
            x = a[i, pivot]
            if x != 0.0 and i != k:
                rows[count], factors[count] = i, x
                count += 1
        for c in range(lanes.shape[1]):
            own = get(unit_lanes, c)
            others = 1.0 - own
            y = size * (get2(lanes, k, c) * others + own)
            for r in range(count):
                i = int(rows[r])
                put2(lanes, i, c, get2(lanes, i, c) * others - factors[r] * y)
            put2(lanes, k, c, y)
        unit[pivot] = 0.0
    for j in range(n):
        place = int(places[j])
        for k in range(n):
            out[int(places[k]), j] = a[k, place]
    return True


@outline
def apart(groups, a, b):
    """Return the distance of two configurations."""
    result = 0.0
    for g in range(groups.shape[0]):
        j = int(groups[g, GROUP_PLACE])
        x = 0.0
        if groups[g, GROUP_KIND] == SINGLE:
            x = abs(a[j] - b[j])
        elif groups[g, GROUP_KIND] == ROTATION:
            product = 0.0
            for c in range(4):
                product += a[j + c] * b[j + c]
            for c in range(4):
                x += (a[j + c] - (b[j + c] if product >= 0.0 else -b[j + c])) ** 2
            x = 4.0 * np.arcsin(min(0.5 * np.sqrt(x), 1.0))
        else:
            for c in range(3):
                x += (a[j + c] - b[j + c]) ** 2
            x = np.sqrt(x)
        result = max(result, x * groups[g, GROUP_TIME])
    return result


@outline
def equations(
    rows, loops, scalars, coupled, offsets, sensors, weights, y, q, chains, links, levers, whole, work, columns,
    matrix, values, wrenches,
):  # fmt: skip
    """Fill the errors of loops, couplings and redundant sensors at q, and, if `whole`, A transposed and the levers.

    Entries of A that are on no branch of a loop are left alone: they are zero.
    """
    n, ml = columns.shape[0] - 1, scalars.shape[0]
    for i in range(1, n + 1):
        if has_transform(rows, i):
            r, p = row_transform(rows, i, q)
            put9(work, i, R, r)
            put3(work, i, P, p)
    if whole:
        for j in range(loops.shape[0]):
            place = put_loop(rows, loops, scalars, j, q, work, columns, matrix, values, wrenches)
            put_levers(chains, links, j, place, columns, levers)
    else:
        put_errors(rows, loops, scalars, work, values)
    for k in range(coupled.shape[0]):
        total = -offsets[k]
        for i in range(1, n + 1):
            x = coupled[k, i - 1]
            if x != 0.0:
                matrix[i, ml + k] = x
                total += x * q[int(rows[i, Q_INDEX])]
        values[ERROR, ml + k] = total
    first = ml + coupled.shape[0]
    for s in range(matrix.shape[1] - first):
        i = int(sensors[s])
        matrix[i, first + s] = weights[s]
        values[ERROR, first + s] = weights[s] * (q[int(rows[i, Q_INDEX])] - y[s])


@outline
def put_inverse(
    matrix, unknown, inverse, inverse_lanes, normal, normal_lanes, places, left, rows, factors, unit, unit_lanes
):  # fmt: skip
    """Fill `inverse` with C^T, C the inverse of the Jacobian at the unknown coordinates, or its left inverse."""
    n, m = unknown.shape[0], matrix.shape[1]
    if n == m:
        for u in range(n):
            for k in range(m):
                normal[u, k] = matrix[int(unknown[u]), k]
        return invert(normal, normal_lanes, inverse, n, places, left, rows, factors, unit, unit_lanes)
    for u in range(n):
        for v in range(n):
            total = 0.0
            for k in range(m):
                total += matrix[int(unknown[u]), k] * matrix[int(unknown[v]), k]
            inverse[u, v] = total
    if not invert(inverse, inverse_lanes, normal, n, places, left, rows, factors, unit, unit_lanes):
        return False
    for k in range(m):
        for u in range(n):
            inverse[k, u] = 0.0
        for v in range(n):
            x = matrix[int(unknown[v]), k]
            for u in range(n):
                inverse[k, u] += x * normal[v, u]
    return True


@outline
def times_inverse(inverse_lanes, e, x_lanes):
    """Fill a vector with C e, both as lanes."""
    for c in range(x_lanes.shape[0]):
        total = lift(0.0, get2(inverse_lanes, 0, c))
        for k in range(e.shape[0]):
            total = total + e[k] * get2(inverse_lanes, k, c)
        put(x_lanes, c, total)


@outline
def push(rows, unknown, x, factor, step, q):
    """Move q by the unknown coordinates' steps."""
    for i in range(step.shape[0]):
        step[i] = 0.0
    for u in range(unknown.shape[0]):
        step[int(unknown[u]) - 1] = x[u]
    move(rows, q, step, factor, q)


@outline
def put_change(matrix, sensors, weights, change, e):
    """Fill `e` with what changes of the measured joints do to the equations."""
    m = matrix.shape[1]
    for k in range(m):
        e[k] = 0.0
    for s in range(sensors.shape[0]):
        if weights.shape[0] > 0:
            e[m - weights.shape[0] + s] = -weights[s] * change[s]
        else:
            for k in range(m):
                e[k] += matrix[int(sensors[s]), k] * change[s]


@outline
def errors_reach(matrix, groups, sensors, weights, inverse_lanes, errors, change, e, x, x_lanes, totals):
    """Return how far errors of the measured joints, as large as they may be, move the unknown coordinates."""
    for u in range(x.shape[0]):
        totals[u] = 0.0
    for s in range(sensors.shape[0]):
        if errors[s] > 0.0:
            for c in range(sensors.shape[0]):
                change[c] = errors[s] if c == s else 0.0
            put_change(matrix, sensors, weights, change, e)
            times_inverse(inverse_lanes, e, x_lanes)
            for u in range(x.shape[0]):
                totals[u] += abs(x[u])
    return largest(groups, totals)


@outline
def far_apart(groups, change):
    """Return the distance that changes of the measured joints make."""
    result, first = 0.0, groups.shape[0] - change.shape[0]
    for s in range(change.shape[0]):
        result = max(result, abs(change[s]) * groups[first + s, GROUP_TIME])
    return result


@outline
def held_distance(groups, weights, change):
    """Return how far the joints that are held move; none are where sensors are redundant."""
    return far_apart(groups, change) if weights.shape[0] == 0 else 0.0
