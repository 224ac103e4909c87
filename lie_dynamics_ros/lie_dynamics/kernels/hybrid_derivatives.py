"""Derivatives of forward and hybrid dynamics: those of inverse dynamics at the solution, solved with the mass matrix.

With R = d tau / dx at fixed accelerations, the unknown accelerations v and the forces u of given accelerations follow
d qdd_v = -M_vv^-1 R_v and d tau_u = R_u + M_uv d qdd_v. In a column of what is given, R is M itself where that is an
acceleration, and minus the unit vector where it is a force.
"""

from __future__ import annotations

import numpy as np

from ..model.layout import (
    ARMATURE,
    BAD_QUATERNION,
    BAD_SHAPE,
    N_Q,
    N_V,
    NOT_FINITE,
    OK,
    PARENT,
)
from .batch import all_finite, load_tile, store_tile, tile_width
from .branch_solve import counts, factorize, list_paths, paths_size, solve_many, solve_one, subtract_coupled
from .compile import inline, kernel, outline
from .derivative_terms import (
    COLUMNS as TERM_COLUMNS,
)
from .derivative_terms import (
    A,
    F,
    accelerations,
    add_to_parent,
    kinematics,
    own_wrenches,
    put_variations,
)
from .inverse_derivatives import columns_of_row, users_rows
from .inverse_dynamics import wrench_fits
from .joints import check_quaternions
from .lanes import LANES, add3, get, get3, lift, put, put2, put3, vector_space, workspace
from .mass_matrix import clear
from .spatial import add, dot, scale
from .world import J, inertia_times

#: I J of each row, and the change of acceleration once the unknown accelerations are known.
T = TERM_COLUMNS
CHANGE = TERM_COLUMNS + 6
COLUMNS = TERM_COLUMNS + 12


@outline
def masses(rows, work, m):
    """Fill the lower half of `m` (nv nv) with the mass matrix, and I J of each row; sum F and inertias on the way."""
    n = int(rows[0, N_V])
    for i in range(n, 0, -1):
        tm, tf = inertia_times(work, i, get3(work, i, J), get3(work, i, J + 3))
        put3(work, i, T, tm)
        put3(work, i, T + 3, tf)
        k = i
        while k > 0:
            x = dot(tm, get3(work, k, J)) + dot(tf, get3(work, k, J + 3))
            if k == i:
                x = x + rows[i, ARMATURE]
            put(m, (i - 1) * n + k - 1, x)
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
def right_sides(rows, q, given, work, m, x, width):
    """Fill `x` (nv width) with R for q, qd and what is given, side by side."""
    n = int(rows[0, N_V])
    for i in range(n, 0, -1):
        columns_of_row(rows, i, work, get3(work, i, T), get3(work, i, T + 3), x, 0, x, n, width)
    users_rows(rows, q, work, x, width)
    for i in range(1, n + 1):
        if counts(given, i):
            put(x, (i - 1) * width + 2 * n + i - 1, -1.0)
        k = i
        while k > 0:
            y = get(m, (i - 1) * n + k - 1)
            if not counts(given, k):
                put(x, (i - 1) * width + 2 * n + k - 1, y)
            if not counts(given, i):
                put(x, (k - 1) * width + 2 * n + i - 1, y)
            k = int(rows[k, PARENT])


@outline
def hand_out(rows, tau, given, x, width, work, y, z):
    """Copy what was found to the outputs: qdd and its derivatives, then tau and its derivatives where `z` is wanted."""
    n = int(rows[0, N_V])
    both = z.shape[0] > 0
    for i in range(1, n + 1):
        source, to = (i - 1) * width, n + (i - 1) * n
        unknown = counts(given, i)
        if both:
            force = joint_force(work, i) + rows[i, ARMATURE] * get(y, i - 1)
            put(z, i - 1, get(tau, i - 1) if unknown else force)
        for block in range(3):
            for k in range(n):
                e = to + block * n * n + k
                value = get(x, source + block * n + k)
                if unknown:
                    put(y, e, -value)
                else:
                    put(z, e, value)
                    put(y, e, 0.0)
                if unknown and both:
                    put(z, e, 0.0)
        if not unknown:
            put(y, to + 2 * n * n + i - 1, 1.0)
        elif both:
            put(z, to + 2 * n * n + i - 1, 1.0)


@inline
def hybrid_derivatives_core(rows, q, qd, tau, f_ext, qdd, given, y, z, work, paths, m, x, width, wide, chunks):
    """Fill y and z (nv + 3 nv nv each) of one state or one tile: qdd and tau, each with d / dq, d / dqd, d / dgiven.

    `z` may be empty where every force is given. `paths`, `m` (nv nv) and `x` (nv width) are workspace; `wide`
    (nv chunks) is the memory of `x` in scalars or in vectors of its columns.
    """
    if rows[0, N_V] == 0.0:
        return
    kinematics(rows, q, qd, work)
    accelerations(rows, qd, qdd, given, work)
    own_wrenches(rows, f_ext, work)
    masses(rows, work, m)
    clear(x)
    list_paths(rows, given, paths)
    factorize(rows, given, paths, m)
    solution(rows, tau, qdd, given, paths, m, work, y)
    accelerate(rows, given, y, work)
    put_variations(rows, q, qd, y, work)
    right_sides(rows, q, given, work, m, x, width)
    solve_many(rows, given, paths, m, wide, chunks)
    if given.shape[0] > 0:
        subtract_coupled(rows, given, m, wide, chunks)
    hand_out(rows, tau, given, x, width, work, y, z)


_SIGNATURE = "(float64[:,::1], {0}, {0}, {0}, {1}, {0}, boolean[::1], {2}, {2})"


@kernel(_SIGNATURE.format("float64[::1]", "float64[:,::1]", "float64[:,::1]"))
def hybrid_derivatives(rows, q, qd, tau, f_ext, qdd, given, y, z):
    """Write what `hybrid_derivatives_core` finds for one state to y and z (3 nv + 1, nv) and return a status."""
    n = qd.shape[0]
    if q.shape[0] != rows[0, N_Q] or n != rows[0, N_V] or tau.shape[0] != n or y.size != (3 * n + 1) * n:
        return BAD_SHAPE
    if not wrench_fits(rows, f_ext) or (given.shape[0] > 0 and (given.shape[0] != n or qdd.shape[0] != n)):
        return BAD_SHAPE
    if not check_quaternions(rows, q):
        return BAD_QUATERNION
    work, m = workspace(n + 1, COLUMNS, q), vector_space(n * n, q)
    group = 3 * LANES
    width = (3 * n + group - 1) // group * group
    wide = vector_space(n * width // LANES, np.empty((0, LANES), q.dtype))
    x = wide.reshape(n * width)
    flat = y.reshape(y.size)
    load, paths = f_ext.reshape(f_ext.size), np.empty(paths_size(n), np.int64)
    hybrid_derivatives_core(
        rows, q, qd, tau, load, qdd, given, flat, z.reshape(z.size), work, paths, m, x, width, wide, width // LANES
    )
    return OK if all_finite(flat) and all_finite(z.reshape(z.size)) else NOT_FINITE


@kernel(_SIGNATURE.format("float64[:,::1]", "float64[:,::1]", "float64[:,::1]"))
def hybrid_derivatives_batch(rows, q, qd, tau, f_ext, qdd, given, y, z):
    """Write what `hybrid_derivatives_core` finds for each state of a batch and return the worst status."""
    status = OK
    count, n, states = q.shape[0], qd.shape[1], tile_width(q.shape[0])
    tq = vector_space(q.shape[1], np.empty((0, states), q.dtype))
    ta, tb = vector_space(n, tq), vector_space(n, tq)
    tc, td = vector_space(f_ext.shape[1], tq), vector_space(qdd.shape[1], tq)
    ty, tz = vector_space(y.shape[1], tq), vector_space(z.shape[1], tq)
    work, m, x = workspace(n + 1, COLUMNS, tq), vector_space(n * n, tq), vector_space(3 * n * n, tq)
    paths = np.empty(paths_size(n), np.int64)
    for start in range(0, count, states):
        fit = True
        for s in range(start, min(start + states, count)):
            fit = fit and check_quaternions(rows, q[s])
        if not fit:
            status = max(status, BAD_QUATERNION)
            continue
        load_tile(q, start, tq)
        load_tile(qd, start, ta)
        load_tile(tau, start, tb)
        load_tile(f_ext, start, tc)
        load_tile(qdd, start, td)
        hybrid_derivatives_core(rows, tq, ta, tb, tc, td, given, ty, tz, work, paths, m, x, 3 * n, x, 3 * n)
        good = store_tile(ty, start, y)
        if not (store_tile(tz, start, z) and good):
            status = max(status, NOT_FINITE)
    return status
