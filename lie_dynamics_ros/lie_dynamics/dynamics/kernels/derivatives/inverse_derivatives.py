"""Derivatives of inverse dynamics along all coordinates, rates and accelerations: one column a step up the tree.

tau_i = J_i . F_i, with F the wrench of row i's subtree. A step along q_k of a row k beyond i changes F_i; one of a row
before i turns J_i and F_i alike and changes F_i by the rest (`derivative_terms`). So all entries are products of
6-vectors of pairs of rows on one path from the base, and others vanish. Within one joint of several rows J_i moves
too, whatever the order, and J_k x* F is left out.
"""

from __future__ import annotations

import numpy as np

from ....engine.compile import inline, kernel, outline
from ....engine.lanes import LANES, get, get3, put, vector_space, workspace
from ....engine.tiles import load_tile, mark, store_marked, tile_width
from ....model.layout import ARMATURE, BAD_QUATERNION, BAD_SHAPE, FIRST, LAST, N_Q, N_V, NOT_FINITE, OK, PARENT
from ..common.batch import BATCH_SIGNATURE, all_finite, quaternions_fit
from ..common.joints import check_quaternions
from ..common.single import NONE_GIVEN, wrench_fits
from ..common.spatial import add, dot, wrench_cross
from ..common.world import J, inertia_times
from ..mass_matrix import clear
from .derivative_terms import (
    COLUMNS,
    SECOND_SIZE,
    SUM,
    F,
    U,
    W,
    accelerations,
    add_to_parent,
    is_users,
    kinematics,
    less_rates,
    own_wrenches,
    put_variations,
    seen_from_world,
    transposed_rates,
)


@outline
def add_users_block(rows, q, i, at, work, out, stride):
    """Add dS_i/dq_k . F for both rows of a user's joint to column i of d tau / dq; the data of row i begins at `at`."""
    first = int(rows[i, FIRST])
    m, f = get3(work, i, F), get3(work, i, F + 3)
    for k in range(first, int(rows[i, LAST]) + 1):
        w, v = seen_from_world(work, i, q, at + SECOND_SIZE + 6 * (k - first))
        e = (k - 1) * stride + i - 1
        put(out, e, get(out, e) + dot(w, m) + dot(v, f))


@outline
def columns_of_row(rows, i, work, tm, tf, dq, qat, dqd, vat, stride):
    """Write row and column `i` of d tau / dq and d tau / dqd for all rows on the path to `i`, given I J_i = (tm, tf).

    Entry (i, k) goes to ``at + (i - 1) stride + k - 1`` of the flat arrays.
    """
    jw, jv = get3(work, i, J), get3(work, i, J + 3)
    uw = get3(work, i, U)
    t = transposed_rates(work, i, jw, jv)
    gm, gf = inertia_times(work, i, get3(work, i, W), get3(work, i, W + 3))
    gm, gf = less_rates(work, i, gm, gf, uw)
    em, ef = inertia_times(work, i, get3(work, i, SUM), get3(work, i, SUM + 3))
    em, ef = less_rates(work, i, em, ef, jw)
    first = int(rows[i, FIRST])
    row, column = (i - 1) * stride - 1, i - 1
    k = i
    while k > 0:
        kw, kv = get3(work, k, J), get3(work, k, J + 3)
        if k < first and k == int(rows[first, PARENT]):
            xm, xf = wrench_cross(jw, jv, get3(work, i, F), get3(work, i, F + 3))
            gm, gf = add(gm, xm), add(gf, xf)
        put(dq, qat + (k - 1) * stride + column, dot(kw, gm) + dot(kv, gf))
        put(dqd, vat + (k - 1) * stride + column, dot(kw, em) + dot(kv, ef))
        if k != i:
            x = dot(tf, get3(work, k, W + 3))
            if int(rows[int(rows[k, FIRST]), PARENT]) > 0 or is_users(rows, k):
                x = x + dot(tm, get3(work, k, W)) + dot(t, get3(work, k, U))  # zero where the base does not turn
            y = dot(tm, get3(work, k, SUM)) + dot(tf, get3(work, k, SUM + 3)) + dot(t, kw)
            put(dq, qat + row + k, x)
            put(dqd, vat + row + k, y)
        k = int(rows[k, PARENT])


@inline
def mass_of_row(rows, i, work, tm, tf, out, at, stride):
    """Write row and column `i` of the mass matrix."""
    k = i
    while k > 0:
        x = dot(tm, get3(work, k, J)) + dot(tf, get3(work, k, J + 3))
        if k == i:
            x = x + rows[i, ARMATURE]
        put(out, at + (i - 1) * stride + k - 1, x)
        put(out, at + (k - 1) * stride + i - 1, x)
        k = int(rows[k, PARENT])


@outline
def users_rows(rows, q, work, out, stride):
    """Add to d tau / dq what S that depends on q within its own frame makes of it."""
    at = int(rows[0, N_Q])
    if q.shape[0] == at:
        return
    for i in range(1, int(rows[0, N_V]) + 1):
        if is_users(rows, i):
            add_users_block(rows, q, i, at, work, out, stride)
            at += SECOND_SIZE + 6 * (int(rows[i, LAST]) - int(rows[i, FIRST]) + 1)


@inline
def inverse_derivatives_core(rows, q, qd, qdd, f_ext, _c, _given, out, _z, work):
    """Fill `out` (3 nv nv) with d tau / dq, d tau / dqd, and the mass matrix of one state, or of one tile.

    Entries of rows that are not on one path must be zero before.
    """
    n = int(rows[0, N_V])
    if n == 0:
        return
    kinematics(rows, q, qd, work)
    accelerations(rows, qd, qdd, NONE_GIVEN, work)
    own_wrenches(rows, f_ext, work)
    put_variations(rows, q, qd, qdd, work)
    for i in range(n, 0, -1):
        tm, tf = inertia_times(work, i, get3(work, i, J), get3(work, i, J + 3))
        columns_of_row(rows, i, work, tm, tf, out, 0, out, n * n, n)
        mass_of_row(rows, i, work, tm, tf, out, 2 * n * n, n)
        add_to_parent(rows, i, work)
    users_rows(rows, q, work, out, n)


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[:,::1], float64[:,:,::1])", direct=True)
def inverse_derivatives(rows, q, qd, qdd, f_ext, out):
    """Write d tau / dq, d tau / dqd and the mass matrix (3, nv, nv) of one state and return a status of `layout`."""
    n = qd.shape[0]
    if q.shape[0] != rows[0, N_Q] or n != rows[0, N_V] or qdd.shape[0] != n or out.shape[1] != n:
        return BAD_SHAPE
    if not wrench_fits(rows, f_ext):
        return BAD_SHAPE
    if not check_quaternions(rows, q):
        return BAD_QUATERNION
    work = workspace(n + 1, COLUMNS, q)
    flat = out.reshape(out.size)
    clear(flat)
    inverse_derivatives_core(rows, q, qd, qdd, f_ext.reshape(f_ext.size), q, NONE_GIVEN, flat, flat, work)
    return OK if all_finite(flat) else NOT_FINITE


@outline
def mark_paths(rows, marks):
    """Mark where the three matrices are not zero."""
    n = int(rows[0, N_V])
    for i in range(1, n + 1):
        k = i
        while k > 0:
            for at in range(0, 3 * n * n, n * n):
                mark(marks, at + (i - 1) * n + k - 1)
                mark(marks, at + (k - 1) * n + i - 1)
            k = int(rows[k, PARENT])


@kernel(BATCH_SIGNATURE)
def inverse_derivatives_batch(rows, q, qd, qdd, f_ext, _c, given, out, _z):
    """Write what `inverse_derivatives_core` finds for each state of a batch and return the worst status."""
    status = OK
    count, n, states = q.shape[0], qd.shape[1], tile_width(q.shape[0])
    tq = vector_space(q.shape[1], np.empty((0, states), q.dtype))
    ta, tb, tc = vector_space(n, tq), vector_space(n, tq), vector_space(f_ext.shape[1], tq)
    tile, work = vector_space(out.shape[1], tq), workspace(n + 1, COLUMNS, tq)
    clear(tile)
    marks = np.zeros(out.shape[1] // LANES + 1, np.bool_)
    mark_paths(rows, marks)
    for start in range(0, count, states):
        if not quaternions_fit(rows, q, start, min(start + states, count)):
            status = max(status, BAD_QUATERNION)
            continue
        load_tile(q, start, tq)
        load_tile(qd, start, ta)
        load_tile(qdd, start, tb)
        load_tile(f_ext, start, tc)
        inverse_derivatives_core(rows, tq, ta, tb, tc, tq, given, tile, tile, work)
        if not store_marked(tile, marks, start, out):
            status = max(status, NOT_FINITE)
    return status
