"""Christoffel symbols of the mass matrix, all of them, in O(n^3): one product of two 6-vectors for each.

In one inertial frame, with screws J and composite inertias I, a coordinate k turns everything beyond it: dJ_b/dq_k =
[J_k, J_b] for k before b, and dI_c/dq_k = -ad*_k I_c - I_c ad_k for k up to c. So for coordinates a <= b <= c on one
path from the base, with B_c = dI_c/dq_c,

    dM_bc/dq_a = 0,    dM_ac/dq_b = J_a . (-ad*_b I_c J_c),    dM_ab/dq_c = J_a . B_c J_b,

and whatever does not lie on one path vanishes. B_c has the form of an inertia without mass. What S of a user's joint
does by itself, dS_j/dq_i for two of its coordinates, is one more acceleration of all beyond: its product with I_c J_c
is added.
"""

from __future__ import annotations

from ...dynamics.kernels.common.spatial import (
    add,
    cross,
    dot,
    get_twist,
    power,
    scale,
    symmetric_times,
    times_skew,
    wrench_cross,
)
from ...dynamics.kernels.common.states import NONE_GIVEN, all_finite, make_batch
from ...dynamics.kernels.common.world import (
    INERTIA_C,
    INERTIA_COLUMNS,
    MASS_C,
    MOMENT_C,
    J,
    composite_inertias,
    inertia_times,
    own_inertias,
    poses_and_screws,
)
from ...dynamics.kernels.derivatives.inverse_derivatives import SECOND_SIZE, is_users, seen_from_world
from ...dynamics.kernels.mass_matrix import clear
from ...engine.compile import inline, kernel, outline, straight
from ...engine.lanes import get, get2, get3, get6, put, workspace
from ...model.layout import BAD_SHAPE, FIRST, LAST, N_Q, N_QUATERNIONS, N_V, NOT_FINITE, OK, PARENT


@straight
def inertia_rate(work, c, w, v):
    """Return (h, I) of the derivative along the twist (w, v) of the composite inertia kept in row `c`; no mass."""
    h, s = get3(work, c, MOMENT_C), get6(work, c, INERTIA_C)
    t = times_skew((s[0], s[1], s[2], s[1], s[3], s[4], s[2], s[4], s[5]), w)
    x = 2.0 * dot(h, v)
    return add(cross(w, h), scale(get2(work, c, MASS_C), v)), (
        x - 2.0 * (t[0] + h[0] * v[0]),
        -(t[1] + t[3] + h[0] * v[1] + h[1] * v[0]),
        -(t[2] + t[6] + h[0] * v[2] + h[2] * v[0]),
        x - 2.0 * (t[4] + h[1] * v[1]),
        -(t[5] + t[7] + h[1] * v[2] + h[2] * v[1]),
        x - 2.0 * (t[8] + h[2] * v[2]),
    )


@straight
def put_symbols(out, n, a, b, c, t1, t2):
    """Store the symbols of a <= b <= c, given dM_ac/dq_b and dM_ab/dq_c; the lowered index is the last."""
    i, j, k = a - 1, b - 1, c - 1
    total, half = 0.5 * (t1 + t2), 0.5 * (t1 - t2)
    put(out, (j * n + k) * n + i, total)
    put(out, (k * n + j) * n + i, total)
    put(out, (i * n + k) * n + j, -half)
    put(out, (k * n + i) * n + j, -half)
    put(out, (i * n + j) * n + k, half)
    put(out, (j * n + i) * n + k, half)


@inline
def add_symbol(out, n, i, j, k, x):
    """Add to the symbols of i and j, the lowered index k."""
    e = ((i - 1) * n + j - 1) * n + k - 1
    put(out, e, get(out, e) + x)
    if i != j:
        e = ((j - 1) * n + i - 1) * n + k - 1
        put(out, e, get(out, e) + x)


@outline
def add_users_symbols(rows, q, i, at, out, work):
    """Add what dS_j/dq_i of a user's joint, whose data of row `i` begin at `at`, gives symbols of i and j >= i."""
    n, first, last = int(rows[0, N_V]), int(rows[i, FIRST]), int(rows[i, LAST])
    for j in range(i, last + 1):
        w, v = seen_from_world(work, i, q, at + SECOND_SIZE + 6 * (j - first))
        m, f = inertia_times(work, last, w, v)
        k = last
        while k > 0:
            add_symbol(out, n, i, j, k, power(get_twist(work, k, J), (m, f)))
            k = int(rows[k, PARENT])
        for k in range(last + 1, n + 1):
            on_path = k
            while on_path > last:
                on_path = int(rows[on_path, PARENT])
            if on_path == last:
                m, f = inertia_times(work, k, get3(work, k, J), get3(work, k, J + 3))
                add_symbol(out, n, i, j, k, dot(w, m) + dot(v, f))


@inline
def christoffel_core(rows, q, _a, _b, _c, _d, _given, out, _z, work):
    """Fill `out` (nv nv nv) with the symbols of one state, or of one tile; for all joints but ball and free ones."""
    n = int(rows[0, N_V])
    clear(out)
    if n == 0:
        return
    poses_and_screws(rows, q, work)
    own_inertias(rows, work)
    composite_inertias(rows, work)
    for c in range(1, n + 1):
        cw, cv = get3(work, c, J), get3(work, c, J + 3)
        pm, pf = inertia_times(work, c, cw, cv)
        h, s = inertia_rate(work, c, cw, cv)
        b = c
        while b > 0:
            bw, bv = get3(work, b, J), get3(work, b, J + 3)
            xm, xf = wrench_cross(bw, bv, pm, pf)
            ym, yf = add(symmetric_times(s, bw), cross(h, bv)), cross(bw, h)
            a = b
            while a > 0:
                aw, av = get3(work, a, J), get3(work, a, J + 3)
                t1 = dot(aw, xm) + dot(av, xf)
                t2 = dot(aw, ym) + dot(av, yf)
                if a == b:
                    t1 = 0.0 * t2
                if b == c:
                    t2 = t1
                put_symbols(out, n, a, b, c, t1, t2)
                a = int(rows[a, PARENT])
            b = int(rows[b, PARENT])
    at = int(rows[0, N_Q])
    for i in range(1, n + 1):
        if is_users(rows, i):
            add_users_symbols(rows, q, i, at, out, work)
            at += SECOND_SIZE + 6 * (int(rows[i, LAST]) - int(rows[i, FIRST]) + 1)


@kernel("(float64[:,::1], float64[::1], float64[:,:,::1])", direct=True)
def christoffel(rows, q, out):
    """Write the symbols (nv, nv, nv) of one state to `out` and return a status of `layout`."""
    n = rows[0, N_V]
    if q.shape[0] != rows[0, N_Q] or rows[0, N_QUATERNIONS] != 0.0 or out.shape[0] != n:
        return BAD_SHAPE
    work = workspace(out.shape[0] + 1, INERTIA_COLUMNS, q)
    flat = out.reshape(out.size)
    christoffel_core(rows, q, q, q, q, q, NONE_GIVEN, flat, flat, work)
    return OK if all_finite(flat) else NOT_FINITE


christoffel_batch = make_batch(christoffel_core, INERTIA_COLUMNS)
