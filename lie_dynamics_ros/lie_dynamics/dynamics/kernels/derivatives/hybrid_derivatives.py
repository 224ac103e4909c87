"""Derivatives of forward and hybrid dynamics: those of inverse dynamics at the solution, solved with the mass matrix.

With R = d tau / dx at fixed accelerations, the unknown accelerations v and the forces u of given accelerations follow
d qdd_v = -M_vv^-1 R_v and d tau_u = R_u + M_uv d qdd_v. In a column of what is given, R is M itself where that is an
acceleration, and minus the unit vector where it is a force.
"""

from __future__ import annotations

import numpy as np

from ....engine.compile import inline, kernel, outline
from ....engine.lanes import LANES, add3, column_space, get, get3, lift, put, put2, put3, vector_space, workspace
from ....engine.tiles import (
    load_tile,
    numbers_of,
    share_space,
    state_of,
    store_line,
    tile_width,
    transpose_systems,
    vectors_of,
)
from ....model.layout import ARMATURE, BAD_QUATERNION, BAD_SHAPE, N_Q, N_V, NOT_FINITE, OK, PARENT
from ..common.branch_solve import (
    FEW,
    add_coupled,
    counts,
    eliminate_tile,
    factorize,
    groups_of,
    hand_out,
    list_paths,
    list_related,
    paths_size,
    pick_related,
    related_size,
    solve_columns,
    solve_one,
)
from ..common.joints import check_quaternions
from ..common.spatial import add, dot, scale
from ..common.states import BATCH_SIGNATURE, all_finite, quaternions_fit, wrench_fits
from ..common.world import J, inertia_times
from ..mass_matrix import clear
from .inverse_derivatives import COLUMNS as TERM_COLUMNS
from .inverse_derivatives import (
    A,
    F,
    U,
    accelerations,
    add_to_parent,
    columns_of_row,
    kinematics,
    own_wrenches,
    put_variations,
    users_rows,
)

#: I J of each row; and the change of acceleration once the unknown accelerations are known, before U is.
T = TERM_COLUMNS
CHANGE = U
COLUMNS = TERM_COLUMNS + 6


@outline
def masses(rows, work, m):
    """Fill the lower half of `m` with the mass matrix, and I J of each row; sum F and inertias on the way."""
    n = int(rows[0, N_V])
    width = LANES * groups_of(n)
    for i in range(n, 0, -1):
        tm, tf = inertia_times(work, i, get3(work, i, J), get3(work, i, J + 3))
        put3(work, i, T, tm)
        put3(work, i, T + 3, tf)
        k = i
        while k > 0:
            x = dot(tm, get3(work, k, J)) + dot(tf, get3(work, k, J + 3))
            if k == i:
                x = x + rows[i, ARMATURE]
            put(m, (i - 1) * width + k - 1, x)
            k = int(rows[k, PARENT])
        add_to_parent(rows, i, work)


@inline
def joint_force(work, i):
    """Return J . F of row `i`."""
    return dot(get3(work, i, J), get3(work, i, F)) + dot(get3(work, i, J + 3), get3(work, i, F + 3))


@outline
def solution(rows, tau, qdd, given, paths, m, work, y):
    """Write the complete accelerations to the start of `y`."""
    n = int(rows[0, N_V])
    for i in range(1, n + 1):
        put(y, i - 1, get(tau, i - 1) - joint_force(work, i) if counts(given, i) else get(qdd, i - 1))
    solve_one(rows, given, paths, m, y)


@outline
def accelerate(rows, given, y, work):
    """Add to A and F, which is summed over subtrees, what the accelerations just found make of them."""
    n = int(rows[0, N_V])
    for k in range(CHANGE, CHANGE + 6):
        put2(work, 0, k, 0.0)
    for i in range(1, n + 1):
        parent = int(rows[i, PARENT])
        w, v = get3(work, parent, CHANGE), get3(work, parent, CHANGE + 3)
        m, f = inertia_times(work, i, w, v)
        x = lift(0.0, w[0])
        if counts(given, i):
            x = get(y, i - 1)
            w, v = add(w, scale(x, get3(work, i, J))), add(v, scale(x, get3(work, i, J + 3)))
        put3(work, i, CHANGE, w)
        put3(work, i, CHANGE + 3, v)
        add3(work, i, A, w)
        add3(work, i, A + 3, v)
        add3(work, i, F, m)
        add3(work, i, F + 3, f)
    for i in range(1, n + 1):
        for k in range(CHANGE, CHANGE + 6):
            put2(work, i, k, 0.0)
    for i in range(n, 0, -1):
        m, f = get3(work, i, CHANGE), get3(work, i, CHANGE + 3)
        if counts(given, i):
            x = get(y, i - 1)
            m, f = add(m, scale(x, get3(work, i, T))), add(f, scale(x, get3(work, i, T + 3)))
        add3(work, i, F, m)
        add3(work, i, F + 3, f)
        parent = int(rows[i, PARENT])
        add3(work, parent, CHANGE, m)
        add3(work, parent, CHANGE + 3, f)


@outline
def right_sides(rows, q, given, work, m, x):
    """Fill `x` with R for q, qd and what is given, side by side, rows of each filled up to whole vectors."""
    n = int(rows[0, N_V])
    block = LANES * groups_of(n)
    stride = 3 * block
    for i in range(n, 0, -1):
        columns_of_row(rows, i, work, get3(work, i, T), get3(work, i, T + 3), x, block, stride)
    users_rows(rows, q, work, x, stride)
    mixed = given.shape[0] > 0
    for i in range(1, n + 1):
        if counts(given, i):
            put(x, (i - 1) * stride + 2 * block + i - 1, -1.0)
        k = i if mixed else 0
        while k > 0:
            y = get(m, (i - 1) * block + k - 1)
            if not counts(given, k):
                put(x, (i - 1) * stride + 2 * block + k - 1, y)
            if not counts(given, i):
                put(x, (k - 1) * stride + 2 * block + i - 1, y)
            k = int(rows[k, PARENT])


@outline
def complete_forces(rows, tau, given, work, y, z):
    """Write the complete joint forces to the start of `z`, given the complete accelerations `y`."""
    for i in range(1, int(rows[0, N_V]) + 1):
        force = joint_force(work, i) + rows[i, ARMATURE] * get(y, i - 1)
        put(z, i - 1, get(tau, i - 1) if counts(given, i) else force)


@outline
def equations(rows, state, given, y, work, paths, m, r):
    """Find accelerations, in `y`, and the equations for their derivatives, of one state or one tile.

    `m` (nv, nv) becomes the factorised mass matrix, `r` (nv, 3, nv) the right hand sides for q, qd and what is given.
    Their rows of nv entries are filled up to whole vectors; both must be zero where rows are not on one path.
    """
    q, qd, tau, f_ext, qdd = state
    kinematics(rows, q, qd, work)
    accelerations(rows, qd, qdd, given, work)
    own_wrenches(rows, f_ext, work)
    masses(rows, work, m)
    factorize(rows, given, paths, m)
    solution(rows, tau, qdd, given, paths, m, work, y)
    accelerate(rows, given, y, work)
    put_variations(rows, q, qd, y, work)
    right_sides(rows, q, given, work, m, r)


@outline
def derivatives(rows, given, lists, m, r, z, x, found):
    """Write the derivatives of one state to those found, of forces with a mask; return whether all are finite."""
    y, force = found
    solve_columns(rows, given, lists, m, r, z, x, y)
    if given.shape[0] > 0:
        add_coupled(rows, given, m, x)
    return hand_out(rows, given, x, y, force)


@kernel(
    "(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[:,::1], float64[::1], boolean[::1],"
    " float64[:,::1], float64[:,::1])",
    direct=True,
)
def hybrid_derivatives(rows, q, qd, tau, f_ext, qdd, given, y, z):
    """Write what `hybrid_derivatives_core` finds for one state to y and z (3 nv + 1, nv) and return a status."""
    n = qd.shape[0]
    if q.shape[0] != rows[0, N_Q] or n != rows[0, N_V] or tau.shape[0] != n or y.size != (3 * n + 1) * n:
        return BAD_SHAPE
    if not wrench_fits(rows, f_ext) or (given.shape[0] > 0 and (given.shape[0] != n or qdd.shape[0] != n)):
        return BAD_SHAPE
    if not check_quaternions(rows, q):
        return BAD_QUATERNION
    columns = n * groups_of(n)
    work, m = workspace(n + 1, COLUMNS, q), vector_space(LANES * columns, q)
    side, x = column_space(3 * columns, q), column_space(3 * columns, q)
    r = x.reshape(x.size)  # which is not needed any more when there is a solution
    paths = np.empty(paths_size(n) + related_size(n, LANES), np.int64)
    related = paths[paths_size(n) :]
    list_paths(rows, given, paths)
    list_related(rows, paths, LANES, related)
    clear(m)
    clear(r)
    load, qdds, forces = f_ext.reshape(f_ext.size), y.reshape(y.size), z.reshape(z.size)
    if n > 0:
        equations(rows, (q, qd, tau, load, qdd), given, qdds, work, paths, m, r)
    if z.size > 0:
        complete_forces(rows, tau, given, work, qdds, forces)
    pick_related(related, groups_of(n), r, side)
    good = derivatives(rows, given, (paths, related), m, side, side, x, (qdds, forces))
    good = all_finite(qdds[:n]) and all_finite(forces[:n]) and good
    return OK if good else NOT_FINITE


@kernel(BATCH_SIGNATURE)
def hybrid_derivatives_batch(rows, q, qd, tau, f_ext, qdd, given, y, z):
    """Write what `hybrid_derivatives` finds for each state of a batch and return the worst status.

    The equations are set up for all states of a tile at once, and solved state by state.
    """
    status = OK
    count, n, states = q.shape[0], qd.shape[1], tile_width(q.shape[0])
    tq = vector_space(q.shape[1], np.empty((0, states), q.dtype))
    ta, tb = vector_space(n, tq), vector_space(n, tq)
    tc, td = vector_space(f_ext.shape[1], tq), vector_space(qdd.shape[1], tq)
    ty, tz = vector_space(n, tq), vector_space(n if given.shape[0] > 0 else 0, tq)
    columns = n * groups_of(n)
    work, m, r = workspace(n + 1, COLUMNS, tq), vector_space(LANES * columns, tq), vector_space(3 * LANES * columns, tq)
    paths, related = np.empty(paths_size(n), np.int64), np.empty(related_size(n, LANES), np.int64)
    list_paths(rows, given, paths)
    list_related(rows, paths, LANES, related)
    clear(m)
    clear(r)
    unknown = given.shape[0] == 0
    few = np.empty(related_size(n, FEW), np.int64)
    list_related(rows, paths, FEW, few)
    ms, sides = share_space(columns, tq), share_space(3 * columns, tq)
    x = column_space(3 * columns, tq)
    whole = True
    for start in range(0, count, states):
        stop = min(start + states, count)
        if not quaternions_fit(rows, q, start, stop):
            status = max(status, BAD_QUATERNION)
            continue
        if n == 0:
            continue
        load_tile(q, start, tq)
        load_tile(qd, start, ta)
        load_tile(tau, start, tb)
        load_tile(f_ext, start, tc)
        load_tile(qdd, start, td)
        equations(rows, (tq, ta, tb, tc, td), given, ty, work, paths, m, r)
        good = store_line(ty, 0, n, start, y, 0)
        if given.shape[0] > 0:
            complete_forces(rows, tb, given, work, ty, tz)
            good = store_line(tz, 0, n, start, z, 0) and good
        if unknown:
            eliminate_tile(rows, few, m, r)
        transpose_systems(related, m, r, whole, ms, sides)
        whole = not unknown  # else what is zero stays so
        for s in range(min(stop - start, sides.shape[0])):  # plain Python has all states in one
            found = state_of(y, start + s), state_of(z, start + s)
            mine, z_mine = numbers_of(ms, s), vectors_of(sides, s)
            r_mine = z_mine[:0] if unknown else z_mine
            good = derivatives(rows, given, (paths, related), mine, r_mine, z_mine, x, found) and good
        if not good:
            status = max(status, NOT_FINITE)
    return status
