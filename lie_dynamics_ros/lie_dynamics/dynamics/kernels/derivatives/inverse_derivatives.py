"""Derivatives of inverse dynamics along all coordinates, rates and accelerations: one column a step up the tree.

tau_i = J_i . F_i, with F the wrench of row i's subtree. A step along q_k of a row k beyond i changes F_i; one of a row
before i turns J_i and F_i alike and changes F_i by the rest. So all entries are products of
6-vectors of pairs of rows on one path from the base, and others vanish. Within one joint of several rows J_i moves
too, whatever the order, and J_k x* F is left out.

A step along coordinate k moves all that lies beyond its joint as one rigid body, by the screw J_k; where the rates are
kept, velocities and accelerations there change by more than that motion:

    dV_b = J_k x V_b + U_k,           U_k = V x J_k,
    dA_b = J_k x A_b + U_k x V_b + W_k,      W_k = A x J_k + V x U_k,

with V and A those of the joint's parent. So the wrench F_b = I A + V x* I V - F_ext that body b takes changes by

    dF_b = J_k x* F_b + I W_k + B U_k          along q_k,
    dF_b = I (dJ_k/dt + U_k) + B J_k           along qd_k,
    B X  = I (X x V) + X x* I V + V x* I X  =  -2 (D w, l x w)    for X = (w, v),

and I, B and F add up over a subtree. D and l are those of the Coriolis matrix (`mass_matrix`). A user's joint, whose
S depends on q within its own frame, adds the rates N_k = sum_i dS_i/dq_k qd_i to U_k, and V_b x N_k and the derivative
of S qdd + dS/dt qd to W_k.
"""

from __future__ import annotations

import numpy as np

from ....engine.compile import inline, kernel, outline, straight
from ....engine.lanes import (
    LANES,
    add3,
    add6,
    add9,
    get,
    get2,
    get3,
    get6,
    get9,
    put,
    put2,
    put3,
    vector_space,
    workspace,
)
from ....engine.tiles import load_tile, mark, store_marked, tile_width
from ....model.layout import (
    ARMATURE,
    AXIS,
    BAD_QUATERNION,
    BAD_SHAPE,
    BODY,
    CUSTOM,
    CUSTOM_FOLLOW,
    FIRST,
    GRAVITY,
    KIND,
    LAST,
    MASS,
    MOMENT,
    N_Q,
    N_V,
    NOT_FINITE,
    OK,
    PARENT,
)
from ..common.joints import check_quaternions, constants3
from ..common.spatial import add, cross, dot, rotate, scale, sub, twist_cross, unrotate, wrench_cross
from ..common.states import (
    BATCH_SIGNATURE,
    NONE_GIVEN,
    all_finite,
    make_batch,
    make_single,
    quaternions_fit,
    wrench_fits,
)
from ..common.world import COLUMNS as WORLD_COLUMNS
from ..common.world import (
    INERTIA_C,
    MASS_C,
    MOMENT_C,
    RATE,
    D,
    J,
    L,
    P,
    R,
    V,
    inertia_times,
    moving_rows,
    poses_and_screws,
)
from ..inverse_dynamics import external_wrench
from ..mass_matrix import clear, rate_terms

# Derivatives of the joint forces that hold a robot at rest, along its coordinates.
#
# A unit of coordinate i moves what lies beyond, of mass m and first moment h, with the momentum p_i = m v + w x h of
# the screw J_i = (w, v): the force is -g . p_i. A step along a coordinate k before it turns p_i with it: the derivative
# is -w_k . (p_i x g), of both along the other.

_COLUMNS = 22  # poses, screws, mass and first moment, as in `world`


@inline
def gravity_derivatives_core(rows, q, out, work):
    """Fill `out` (nv nv) with the derivatives of one state, or of one tile of states; without users' joints."""
    n = int(rows[0, N_V])
    if n == 0:
        return
    clear(out)
    poses_and_screws(rows, q, work)
    for i in range(1, n + 1):
        mass = rows[i, MASS]
        put2(work, i, MASS_C, mass)
        h = rotate(get9(work, i, R), constants3(rows, i, MOMENT))
        put3(work, i, MOMENT_C, add(h, scale(mass, get3(work, i, P))))
    g = constants3(rows, 0, GRAVITY)
    for i in range(n, 0, -1):
        mass, h = get2(work, i, MASS_C), get3(work, i, MOMENT_C)
        w, first = get3(work, i, J), int(rows[i, FIRST])
        x = cross(add(scale(mass, get3(work, i, J + 3)), cross(w, h)), g)
        k = i
        while k > 0:
            wk = get3(work, k, J)
            value = -dot(wk, x)
            put(out, (i - 1) * n + k - 1, value)
            if k < first:
                put(out, (k - 1) * n + i - 1, value)
            elif k < i:  # rows of one joint move with their body, whatever the order
                xk = cross(add(scale(mass, get3(work, k, J + 3)), cross(wk, h)), g)
                put(out, (k - 1) * n + i - 1, -dot(w, xk))
            k = int(rows[k, PARENT])
        parent = int(rows[i, PARENT])
        if parent > 0:
            put2(work, parent, MASS_C, get2(work, parent, MASS_C) + mass)
            add3(work, parent, MOMENT_C, h)


_one = make_single(gravity_derivatives_core, _COLUMNS, "q y")


@kernel("(float64[:,::1], float64[::1], float64[:,::1])", quick=True, fresh=1, size=(N_V, N_V))
def gravity_derivatives(rows, q, out):
    """Write the derivatives (nv, nv) of one state to `out` and return a status of `layout`."""
    fit = rows[0, N_V] == out.shape[0] == out.shape[1]
    flat = out.reshape(out.size)
    return _one(rows, q, q, q, q, q, NONE_GIVEN, flat, flat, fit)


gravity_derivatives_batch = make_batch(gravity_derivatives_core, _COLUMNS, "q y")


#: Columns of the workspace after those of `world`: acceleration, wrench, U, W, and dJ/dt + U.
A, F, U, W, SUM = WORLD_COLUMNS, WORLD_COLUMNS + 6, WORLD_COLUMNS + 12, WORLD_COLUMNS + 18, WORLD_COLUMNS + 24
COLUMNS = WORLD_COLUMNS + 30

#: What is appended to q after the data of users' joints, for each of their rows k and each row i of the joint:
#: the derivative of d(S_i)/dt along q_k times qd, summed over i, then dS_i/dq_k.
SECOND_SIZE = 6


@outline
def kinematics(rows, q, qd, work):
    """Fill screws, their rates, own inertias, D and l."""
    moving_rows(rows, q, qd, work)
    rate_terms(rows, False, work)


@outline
def accelerations(rows, qd, qdd, given, work):
    """Fill A, in which the base is accelerated against gravity; with a mask, `qdd` counts where it is given."""
    for k in range(3):
        put2(work, 0, A + k, 0.0)
        put2(work, 0, A + 3 + k, -rows[0, GRAVITY + k])
    none = qdd.shape[0] == 0
    masked = given.shape[0] > 0
    for i in range(1, int(rows[0, N_V]) + 1):
        parent = int(rows[i, PARENT])
        x = get(qd, i - 1)
        w = add(get3(work, parent, A), scale(x, get3(work, i, RATE)))
        v = add(get3(work, parent, A + 3), scale(x, get3(work, i, RATE + 3)))
        if not none and (not masked or given[i - 1]):
            y = get(qdd, i - 1)
            w, v = add(w, scale(y, get3(work, i, J))), add(v, scale(y, get3(work, i, J + 3)))
        put3(work, i, A, w)
        put3(work, i, A + 3, v)


@outline
def own_wrenches(rows, f_ext, work):
    """Fill F of each row's own body."""
    for k in range(F, F + 6):
        put2(work, 0, k, 0.0)
    loaded = f_ext.shape[0] > 0
    for i in range(1, int(rows[0, N_V]) + 1):
        if rows[i, BODY] < 0.0:
            for k in range(F, F + 6):
                put2(work, i, k, 0.0)
            continue
        w, v = get3(work, i, V), get3(work, i, V + 3)
        m, f = inertia_times(work, i, w, v)
        m, f = wrench_cross(w, v, m, f)
        am, af = inertia_times(work, i, get3(work, i, A), get3(work, i, A + 3))
        m, f = add(m, am), add(f, af)
        if loaded:
            em, ef = external_wrench(rows, i, f_ext)
            r, p = get9(work, i, R), get3(work, i, P)
            ef = rotate(r, ef)
            m, f = sub(m, add(rotate(r, em), cross(p, ef))), sub(f, ef)
        put3(work, i, F, m)
        put3(work, i, F + 3, f)


@inline
def add_to_parent(rows, i, work):
    """Add inertia, D, l and F of row `i` to its parent's."""
    parent = int(rows[i, PARENT])
    if parent > 0:
        put2(work, parent, MASS_C, get2(work, parent, MASS_C) + get2(work, i, MASS_C))
        add3(work, parent, MOMENT_C, get3(work, i, MOMENT_C))
        add6(work, parent, INERTIA_C, get6(work, i, INERTIA_C))
        add9(work, parent, D, get9(work, i, D))
        add3(work, parent, L, get3(work, i, L))
        add6(work, parent, F, get6(work, i, F))


@inline
def is_users(rows, i):
    """Tell whether row `i` is one of a user's joint."""
    return rows[i, KIND] == CUSTOM or rows[i, KIND] == CUSTOM_FOLLOW


@straight
def seen_from_world(work, i, q, at):
    """Return the twist that begins at entry `at` of q, given in the frame of row `i`, in the inertial frame."""
    w = rotate(get9(work, i, R), (get(q, at), get(q, at + 1), get(q, at + 2)))
    v = rotate(get9(work, i, R), (get(q, at + 3), get(q, at + 4), get(q, at + 5)))
    return w, add(v, cross(get3(work, i, P), w))


@outline
def put_users_terms(rows, q, qd, qdd, i, at, work):
    """Add to U, W and SUM of row `i` what S that depends on q makes of them; its data begins at `at` in q."""
    first, last = int(rows[i, FIRST]), int(rows[i, LAST])
    nw, nv = get3(work, i, U), get3(work, i, U + 3)
    nw, nv = scale(0.0, nw), scale(0.0, nv)
    aw, av = seen_from_world(work, i, q, at)
    for j in range(first, last + 1):
        w, v = seen_from_world(work, i, q, at + SECOND_SIZE + 6 * (j - first))
        x, y = get(qd, j - 1), get(qdd, j - 1)
        nw, nv = add(nw, scale(x, w)), add(nv, scale(x, v))
        aw, av = add(aw, scale(y, w)), add(av, scale(y, v))
    base = int(rows[first, PARENT])
    cw, cv = twist_cross(get3(work, base, V), get3(work, base, V + 3), nw, nv)
    aw, av = add(aw, cw), add(av, cv)
    cw, cv = twist_cross(get3(work, last, V), get3(work, last, V + 3), nw, nv)
    aw, av = add(aw, cw), add(av, cv)
    add3(work, i, U, nw)
    add3(work, i, U + 3, nv)
    add3(work, i, SUM, nw)
    add3(work, i, SUM + 3, nv)
    add3(work, i, W, aw)
    add3(work, i, W + 3, av)


@outline
def put_variations(rows, q, qd, qdd, work):
    """Fill U, W and dJ/dt + U of each row."""
    at = int(rows[0, N_Q])
    for i in range(1, int(rows[0, N_V]) + 1):
        base = int(rows[int(rows[i, FIRST]), PARENT])
        w, v = get3(work, base, V), get3(work, base, V + 3)
        jw, jv = get3(work, i, J), get3(work, i, J + 3)
        rw, rv = get3(work, i, RATE), get3(work, i, RATE + 3)
        if rows[i, KIND] == AXIS:
            uw, uv = rw, rv
        else:
            uw, uv = twist_cross(w, v, jw, jv)
        sw, sv = add(rw, uw), add(rv, uv)
        aw, av = twist_cross(get3(work, base, A), get3(work, base, A + 3), jw, jv)
        cw, cv = twist_cross(w, v, uw, uv)
        put3(work, i, U, uw)
        put3(work, i, U + 3, uv)
        put3(work, i, W, add(aw, cw))
        put3(work, i, W + 3, add(av, cv))
        put3(work, i, SUM, sw)
        put3(work, i, SUM + 3, sv)
        if is_users(rows, i):
            put_users_terms(rows, q, qd, qdd, i, at, work)
            at += SECOND_SIZE + 6 * (int(rows[i, LAST]) - int(rows[i, FIRST]) + 1)


@straight
def less_rates(work, i, m, f, w):
    """Return (m, f) + B (w, v) with the D and l of row `i`, for any v."""
    d, l = get9(work, i, D), get3(work, i, L)
    return sub(m, scale(2.0, rotate(d, w))), sub(f, scale(2.0, cross(l, w)))


@straight
def transposed_rates(work, i, w, v):
    """Return B^T (w, v) with the D and l of row `i`; its linear part is zero."""
    return scale(2.0, sub(cross(get3(work, i, L), v), unrotate(get9(work, i, D), w)))


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
def columns_of_row(rows, i, work, tm, tf, out, vat, stride):
    """Write row and column `i` of d tau / dq and d tau / dqd for all rows on the path to `i`, given I J_i = (tm, tf).

    Entry (i, k) goes to ``(i - 1) stride + k - 1`` of `out`, and for d tau / dqd `vat` further on.
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
        put(out, (k - 1) * stride + column, dot(kw, gm) + dot(kv, gf))
        put(out, vat + (k - 1) * stride + column, dot(kw, em) + dot(kv, ef))
        if k != i:
            x = dot(tf, get3(work, k, W + 3))
            if int(rows[int(rows[k, FIRST]), PARENT]) > 0 or is_users(rows, k):
                x = x + dot(tm, get3(work, k, W)) + dot(t, get3(work, k, U))  # zero where the base does not turn
            y = dot(tm, get3(work, k, SUM)) + dot(tf, get3(work, k, SUM + 3)) + dot(t, kw)
            put(out, row + k, x)
            put(out, vat + row + k, y)
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
def inverse_derivatives_core(rows, q, qd, qdd, f_ext, out, work):
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
        columns_of_row(rows, i, work, tm, tf, out, n * n, n)
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
    inverse_derivatives_core(rows, q, qd, qdd, f_ext.reshape(f_ext.size), flat, work)
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
def inverse_derivatives_batch(rows, q, qd, qdd, f_ext, _c, _given, out, _z):
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
        inverse_derivatives_core(rows, tq, ta, tb, tc, tile, work)
        if not store_marked(tile, marks, start, out):
            status = max(status, NOT_FINITE)
    return status
