"""Mass matrix and Coriolis matrices from composite inertias in one inertial frame.

For a particle of mass m at r with velocity u, its Jacobian A J with A = (-[r], 1) gives M = sum m J^T A^T A J and the
Coriolis matrix of Christoffel's symbols sum m (A J)^T d(A J)/dt. Summed over a body that is

    C = J^T (I dJ/dt - [[D, 0], [[l], 0]] J),   D = sum m [r] [u] = [h] [v] + [w] P,   l = sum m u,

with P = sum m r r^T. Ploen's matrix (Proposition 1) has in addition e [w] in the upper left block, e half the trace of
the rotational inertia about the body frame's origin. D and l add up over a subtree, as inertias do.
"""

from __future__ import annotations

from ...engine.compile import inline, kernel
from ...engine.lanes import add3, add9, get2, get3, get6, get9, lift, put, put2, put3, put9
from ...model.layout import ARMATURE, BODY, INERTIA, N_V, PARENT
from .common.spatial import cross, dot, scale, sub, unrotate
from .common.states import make_batch, make_single
from .common.world import (
    COLUMNS,
    INERTIA_C,
    INERTIA_COLUMNS,
    MASS_C,
    MOMENT_C,
    RATE,
    D,
    J,
    L,
    V,
    composite_inertias,
    inertia_times,
    moving_rows,
)


@inline
def clear(matrix):
    """Fill a flat array of scalars with zeros."""
    for k in range(matrix.shape[0]):
        put(matrix, k, 0.0)


@inline
def mass_matrix_core(rows, q, out, work):
    """Fill `out` (nv nv) with the mass matrix of one state, or of one tile."""
    n = int(rows[0, N_V])
    clear(out)
    if n == 0:
        return
    composite_inertias(rows, q, work)
    for i in range(1, n + 1):
        m, f = inertia_times(work, i, get3(work, i, J), get3(work, i, J + 3))
        k = i
        while k > 0:
            x = dot(m, get3(work, k, J)) + dot(f, get3(work, k, J + 3))
            if k == i:
                x = x + rows[i, ARMATURE]
            put(out, (i - 1) * n + k - 1, x)
            put(out, (k - 1) * n + i - 1, x)
            k = int(rows[k, PARENT])


@inline
def rate_terms(rows, ploen, work):
    """Fill each row's own D and l from its own inertia and velocity."""
    for k in range(D, COLUMNS):
        put2(work, 0, k, 0.0)
    for i in range(1, int(rows[0, N_V]) + 1):
        w, v = get3(work, i, V), get3(work, i, V + 3)
        mass, h, s = get2(work, i, MASS_C), get3(work, i, MOMENT_C), get6(work, i, INERTIA_C)
        half = 0.5 * (s[0] + s[3] + s[5])
        a, b, c = half - s[0], half - s[3], half - s[5]  # P = half - I
        hv = dot(h, v)
        e = lift(0.0, half)
        if ploen and rows[i, BODY] >= 0.0:
            e = lift(0.5 * (rows[i, INERTIA] + rows[i, INERTIA + 3] + rows[i, INERTIA + 5]), half)
        put9(work, i, D, (
            v[0] * h[0] - hv - w[2] * -s[1] + w[1] * -s[2],
            v[0] * h[1] - w[2] * b + w[1] * -s[4] + e * w[2],
            v[0] * h[2] - w[2] * -s[4] + w[1] * c - e * w[1],
            v[1] * h[0] + w[2] * a - w[0] * -s[2] - e * w[2],
            v[1] * h[1] - hv + w[2] * -s[1] - w[0] * -s[4],
            v[1] * h[2] + w[2] * -s[2] - w[0] * c + e * w[0],
            v[2] * h[0] - w[1] * a + w[0] * -s[1] + e * w[1],
            v[2] * h[1] - w[1] * -s[1] + w[0] * b - e * w[0],
            v[2] * h[2] - hv - w[1] * -s[2] + w[0] * -s[4],
        ))  # fmt: skip
        put3(work, i, L, sub(scale(mass, v), cross(h, w)))


@inline
def coriolis_core(rows, q, qd, given, out, work):
    """Fill `out` (nv nv) with the Coriolis matrix; ``given[0]`` asks for Ploen's instead of Christoffel's."""
    n = int(rows[0, N_V])
    clear(out)
    if n == 0:
        return
    moving_rows(rows, q, qd, work)
    rate_terms(rows, given[0], work)
    for i in range(n, 0, -1):
        # When row i is reached, all its descendants have been added to its inertia, D and l.
        sw, sv = get3(work, i, J), get3(work, i, J + 3)
        d, l = get9(work, i, D), get3(work, i, L)
        fm, ff = inertia_times(work, i, get3(work, i, RATE), get3(work, i, RATE + 3))
        fm = sub(fm, (d[0] * sw[0] + d[1] * sw[1] + d[2] * sw[2],
                      d[3] * sw[0] + d[4] * sw[1] + d[5] * sw[2],
                      d[6] * sw[0] + d[7] * sw[1] + d[8] * sw[2]))  # fmt: skip
        ff = sub(ff, cross(l, sw))
        gm, gf = inertia_times(work, i, sw, sv)
        hm = sub(cross(l, sv), unrotate(d, sw))
        k = i
        while k > 0:
            kw, kv = get3(work, k, J), get3(work, k, J + 3)
            put(out, (k - 1) * n + i - 1, dot(kw, fm) + dot(kv, ff))
            if k != i:
                x = dot(gm, get3(work, k, RATE)) + dot(gf, get3(work, k, RATE + 3)) + dot(hm, kw)
                put(out, (i - 1) * n + k - 1, x)
            k = int(rows[k, PARENT])
        parent = int(rows[i, PARENT])
        if parent > 0:
            put2(work, parent, MASS_C, get2(work, parent, MASS_C) + get2(work, i, MASS_C))
            add3(work, parent, MOMENT_C, get3(work, i, MOMENT_C))
            add3(work, parent, INERTIA_C, get3(work, i, INERTIA_C))
            add3(work, parent, INERTIA_C + 3, get3(work, i, INERTIA_C + 3))
            add9(work, parent, D, d)
            add3(work, parent, L, l)


_one_coriolis = make_single(coriolis_core, COLUMNS, "q a given y")


@kernel(
    "(float64[:,::1], float64[::1], float64[::1], boolean[::1], float64[:,::1])", quick=True, fresh=1, size=(N_V, N_V)
)
def coriolis(rows, q, qd, ploen, out):
    """Write C (nv, nv) of one state to `out` and return a status of `layout`."""
    fit = rows[0, N_V] == qd.shape[0] == out.shape[0] == out.shape[1]
    flat = out.reshape(out.size)
    return _one_coriolis(rows, q, qd, q, q, q, ploen, flat, flat, fit)


mass_matrix_batch = make_batch(mass_matrix_core, INERTIA_COLUMNS, "q y")
coriolis_batch = make_batch(coriolis_core, COLUMNS, "q a given y")
