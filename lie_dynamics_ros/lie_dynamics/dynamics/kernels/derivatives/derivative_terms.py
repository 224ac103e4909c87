"""What the derivatives of the dynamics are made of: 6-vectors of each row, in one inertial frame.

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

from ....engine.compile import inline, outline, straight
from ....engine.lanes import add3, add6, add9, get, get2, get3, get6, get9, put2, put3
from ....model.layout import AXIS, BODY, CUSTOM, CUSTOM_FOLLOW, FIRST, GRAVITY, KIND, LAST, N_Q, N_V, PARENT
from ..common.spatial import add, cross, rotate, scale, sub, twist_cross, unrotate, wrench_cross
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
    own_inertias,
    poses_and_screws,
    screw_rates,
    velocities,
)
from ..inverse_dynamics import external_wrench
from ..mass_matrix import rate_terms

#: Columns of the workspace after those of `world`: acceleration, wrench, U, W, and dJ/dt + U.
A, F, U, W, SUM = WORLD_COLUMNS, WORLD_COLUMNS + 6, WORLD_COLUMNS + 12, WORLD_COLUMNS + 18, WORLD_COLUMNS + 24
COLUMNS = WORLD_COLUMNS + 30

#: What is appended to q after the data of users' joints, for each of their rows k and each row i of the joint:
#: the derivative of d(S_i)/dt along q_k times qd, summed over i, then dS_i/dq_k.
SECOND_SIZE = 6


@outline
def kinematics(rows, q, qd, work):
    """Fill screws, their rates, own inertias, D and l."""
    poses_and_screws(rows, q, work)
    velocities(rows, qd, work)
    screw_rates(rows, q, work)
    own_inertias(rows, work)
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
