"""Christoffel symbols of the mass matrix, and its Riemann curvature by the equation of Gauss.

The robot's particles, each weighed by the root of its mass, are one point of a flat space, and its configurations a
surface there. With A_i the 4x4 form of the screw J_i, a particle x moves by x_i = A_i x and bends by x_ij = A_i A_j x
(i before j), so all sums over particles are products with composite pseudo-inertias P_c (4x4):

    M_ij = tr(A_i P A_j^T),   Gamma_ijk = tr(A_i A_j P A_k^T),   H_ij,kl = tr(A_i A_j P (A_k A_l)^T),

P that of the outermost index, and nothing for indices on no common path. What is normal to the surface has the Gram
matrix N = H - Gamma M^-1 Gamma^T, and R_ijkl = N_ik,jl - N_il,jk, which is PBP (66) without its second derivatives.
x_ij holds for ball and free joints too, whose screws are fixed in the frame they move; N is a tensor, so R is theirs.
For two coordinates of a user's joint dS_j/dq_i, which its user gives, adds to A_i A_j.
"""

from __future__ import annotations

import numpy as np

from ...dynamics.kernels.common.joints import check_quaternions
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
from ...dynamics.kernels.common.states import all_finite, make_batch
from ...dynamics.kernels.common.world import (
    INERTIA_C,
    INERTIA_COLUMNS,
    MASS_C,
    MOMENT_C,
    J,
    composite_inertias,
    inertia_times,
)
from ...dynamics.kernels.derivatives.inverse_derivatives import SECOND_SIZE, is_users, seen_from_world
from ...dynamics.kernels.mass_matrix import clear
from ...engine.compile import inline, kernel, outline, straight
from ...engine.lanes import get, get2, get3, get6, put, workspace
from ...model import layout

# Christoffel symbols of the mass matrix, all of them, in O(n^3): one product of two 6-vectors for each.
#
# In one inertial frame, with screws J and composite inertias I, a coordinate k turns everything beyond it: dJ_b/dq_k =
# [J_k, J_b] for k before b, and dI_c/dq_k = -ad*_k I_c - I_c ad_k for k up to c. So for coordinates a <= b <= c on one
# path from the base, with B_c = dI_c/dq_c,
#
# dM_bc/dq_a = 0,    dM_ac/dq_b = J_a . (-ad*_b I_c J_c),    dM_ab/dq_c = J_a . B_c J_b,
#
# and whatever does not lie on one path vanishes. B_c has the form of an inertia without mass. What S of a user's joint
# does by itself, dS_j/dq_i for two of its coordinates, is one more acceleration of all beyond: its product with I_c
# J_c is added.


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
    n, first, last = int(rows[0, layout.N_V]), int(rows[i, layout.FIRST]), int(rows[i, layout.LAST])
    for j in range(i, last + 1):
        w, v = seen_from_world(work, i, q, at + SECOND_SIZE + 6 * (j - first))
        m, f = inertia_times(work, last, w, v)
        k = last
        while k > 0:
            add_symbol(out, n, i, j, k, power(get_twist(work, k, J), (m, f)))
            k = int(rows[k, layout.PARENT])
        for k in range(last + 1, n + 1):
            on_path = k
            while on_path > last:
                on_path = int(rows[on_path, layout.PARENT])
            if on_path == last:
                m, f = inertia_times(work, k, get3(work, k, J), get3(work, k, J + 3))
                add_symbol(out, n, i, j, k, dot(w, m) + dot(v, f))


@inline
def christoffel_core(rows, q, out, work):
    """Fill `out` (nv nv nv) with the symbols of one state, or of one tile; for all joints but ball and free ones."""
    n = int(rows[0, layout.N_V])
    clear(out)
    if n == 0:
        return
    composite_inertias(rows, q, work)
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
                a = int(rows[a, layout.PARENT])
            b = int(rows[b, layout.PARENT])
    at = int(rows[0, layout.N_Q])
    for i in range(1, n + 1):
        if is_users(rows, i):
            add_users_symbols(rows, q, i, at, out, work)
            at += SECOND_SIZE + 6 * (int(rows[i, layout.LAST]) - int(rows[i, layout.FIRST]) + 1)


@kernel("(float64[:,::1], float64[::1], float64[:,:,::1])", direct=True)
def christoffel(rows, q, out):
    """Write the symbols (nv, nv, nv) of one state to `out` and return a status of `layout`."""
    n = rows[0, layout.N_V]
    if q.shape[0] != rows[0, layout.N_Q] or rows[0, layout.N_QUATERNIONS] != 0.0 or out.shape[0] != n:
        return layout.BAD_SHAPE
    work = workspace(out.shape[0] + 1, INERTIA_COLUMNS, q)
    flat = out.reshape(out.size)
    christoffel_core(rows, q, flat, work)
    return layout.OK if all_finite(flat) else layout.NOT_FINITE


christoffel_batch = make_batch(christoffel_core, INERTIA_COLUMNS, "q y")


@outline
def _times_pseudo(work, c, a, out):
    """Write A P_c to `out` (12), for the upper three rows of A in `a` (12), by rows."""
    m = work[c, MASS_C]
    hx, hy, hz = work[c, MOMENT_C], work[c, MOMENT_C + 1], work[c, MOMENT_C + 2]
    xx, xy, xz = work[c, INERTIA_C], work[c, INERTIA_C + 1], work[c, INERTIA_C + 2]
    yy, yz, zz = work[c, INERTIA_C + 3], work[c, INERTIA_C + 4], work[c, INERTIA_C + 5]
    half = 0.5 * (xx + yy + zz)
    for r in range(0, 12, 4):
        x, y, z, t = a[r], a[r + 1], a[r + 2], a[r + 3]
        out[r] = x * (half - xx) - y * xy - z * xz + t * hx
        out[r + 1] = y * (half - yy) - x * xy - z * yz + t * hy
        out[r + 2] = z * (half - zz) - x * xz - y * yz + t * hz
        out[r + 3] = x * hx + y * hy + z * hz + t * m


@outline
def _fill_screws(rows, work, first, weighted):
    """Fill the upper rows of every A_i and of A_i P_i."""
    for i in range(1, int(rows[0, layout.N_V]) + 1):
        x, y, z = work[i, J], work[i, J + 1], work[i, J + 2]
        a = first[i]
        a[0], a[1], a[2], a[3] = 0.0, -z, y, work[i, J + 3]
        a[4], a[5], a[6], a[7] = z, 0.0, -x, work[i, J + 4]
        a[8], a[9], a[10], a[11] = -y, x, 0.0, work[i, J + 5]
        _times_pseudo(work, i, a, weighted[i])


@outline
def _dot12(a, b):
    total = 0.0
    for k in range(12):
        total += a[k] * b[k]
    return total


@outline
def _add_users_screw(rows, q, i, j, work, c):
    """Add the 4x4 form of dS_j/dq_i, of i <= j of one user's joint, to `c`."""
    at = int(rows[0, layout.N_Q])
    for k in range(1, i):
        if is_users(rows, k):
            at += SECOND_SIZE + 6 * (int(rows[k, layout.LAST]) - int(rows[k, layout.FIRST]) + 1)
    w, v = seen_from_world(work, i, q, at + SECOND_SIZE + 6 * (j - int(rows[i, layout.FIRST])))
    c[1] -= w[2]
    c[2] += w[1]
    c[4] += w[2]
    c[6] -= w[0]
    c[8] -= w[1]
    c[9] += w[0]
    c[3] += v[0]
    c[7] += v[1]
    c[11] += v[2]


@outline
def _fill_pairs(rows, q, work, first, pair, outer, second, second_weighted):
    """Fill `pair` with numbers of the pairs i <= j on one path, and A_i A_j and A_i A_j P_j of each."""
    count = 0
    for j in range(1, int(rows[0, layout.N_V]) + 1):
        i = j
        while i > 0:
            pair[i, j] = pair[j, i] = count
            outer[count] = j
            a, b, c = first[i], first[j], second[count]
            for r in range(0, 12, 4):
                for k in range(4):
                    c[r + k] = a[r] * b[k] + a[r + 1] * b[4 + k] + a[r + 2] * b[8 + k]
            if is_users(rows, i) and i >= int(rows[j, layout.FIRST]):
                _add_users_screw(rows, q, i, j, work, c)
            _times_pseudo(work, j, c, second_weighted[count])
            count += 1
            i = int(rows[i, layout.PARENT])
    return count


@outline
def _cholesky(rows, first, weighted, pair, factor):
    """Write L with L L^T = M, armature included, to `factor`; return 0 or the row where M stops being definite."""
    n = factor.shape[0]
    for i in range(n):
        for j in range(i + 1):
            x = 0.0
            if pair[i + 1, j + 1] >= 0:
                x = _dot12(weighted[i + 1], first[j + 1])
            if i == j:
                x += rows[i + 1, layout.ARMATURE]
            whole = x
            for k in range(j):
                x -= factor[i, k] * factor[j, k]
            if i != j:
                factor[i, j] = x / factor[j, j]
            elif x > 1e-14 * whole:
                factor[i, i] = np.sqrt(x)
            else:
                return i + 1
    return 0


@outline
def _fill_symbols(count, pair, outer, screws, curved, factor, raised):
    """Fill L^-1 Gamma_ij of every pair, from first and second derivatives, each as it is and weighted."""
    (first, weighted), (second, second_weighted) = screws, curved
    n = factor.shape[0]
    for p in range(count):
        j = outer[p]
        for k in range(1, n + 1):
            x = 0.0
            if pair[j, k] >= 0:
                x = _dot12(second_weighted[p], first[k]) if k <= j else _dot12(second[p], weighted[k])
            for h in range(k - 1):
                x -= factor[k - 1, h] * raised[p, h]
            raised[p, k - 1] = x / factor[k - 1, k - 1]


@outline
def _fill_normal(count, pair, outer, second, second_weighted, raised, normal):
    """Fill the Gram matrix N of the parts of x_ij that are normal to the surface."""
    n = raised.shape[1]
    for p in range(count):
        for q in range(p + 1):  # pairs are listed by their outer index, so that of p is not before that of q
            x = 0.0
            if pair[outer[p], outer[q]] >= 0:
                x = _dot12(second_weighted[p], second[q])
            for k in range(n):
                x -= raised[p, k] * raised[q, k]
            normal[p, q] = normal[q, p] = x


@outline
def _fill_curvature(pair, normal, out):
    """Write R_ijkl = N_ik,jl - N_il,jk; return a number that is zero if all are finite."""
    n = out.shape[0]
    check = 0.0
    for i in range(1, n + 1):
        for j in range(i + 1, n + 1):
            for k in range(1, i + 1):
                for l in range(k + 1, n + 1):
                    if k == i and l > j:
                        break
                    x = 0.0
                    ik, jl, il, jk = pair[i, k], pair[j, l], pair[i, l], pair[j, k]
                    if ik >= 0 and jl >= 0:
                        x = normal[ik, jl]
                    if il >= 0 and jk >= 0:
                        x -= normal[il, jk]
                    check += x * 0.0
                    a, b, c, d = i - 1, j - 1, k - 1, l - 1
                    out[a, b, c, d] = out[b, a, d, c] = out[c, d, a, b] = out[d, c, b, a] = x
                    out[b, a, c, d] = out[a, b, d, c] = out[c, d, b, a] = out[d, c, a, b] = -x
    return check


@kernel("(float64[:,::1], float64[:,::1], float64[:,:,:,:,::1])")
def curvature(rows, q, out):
    """Write R (nv, nv, nv, nv), all indices lowered, of every state (B, nq), and return a status of `layout`."""
    n = int(rows[0, layout.N_V])
    if q.shape[1] < rows[0, layout.N_Q] or out.shape[0] != q.shape[0] or out.shape[1] != n:
        return layout.BAD_SHAPE
    pairs = n * (n + 1) // 2
    work = workspace(n + 1, INERTIA_COLUMNS, q[0])
    pair = np.full((n + 1, n + 1), -1, np.int64)
    outer = np.zeros(pairs, np.int64)
    first, weighted = np.zeros((n + 1, 12)), np.zeros((n + 1, 12))
    second, second_weighted = np.zeros((pairs, 12)), np.zeros((pairs, 12))
    factor, raised, normal = np.zeros((n, n)), np.zeros((pairs, n)), np.zeros((pairs, pairs))
    for state in range(q.shape[0]):
        if not check_quaternions(rows, q[state]):
            return layout.BAD_QUATERNION
        composite_inertias(rows, q[state], work)
        _fill_screws(rows, work, first, weighted)
        count = _fill_pairs(rows, q[state], work, first, pair, outer, second, second_weighted)
        bad = _cholesky(rows, first, weighted, pair, factor)
        if bad > 0:
            return layout.SINGULAR + layout.STATUS_STEP * bad
        _fill_symbols(count, pair, outer, (first, weighted), (second, second_weighted), factor, raised)
        _fill_normal(count, pair, outer, second, second_weighted, raised, normal)
        out[state] = 0.0
        if _fill_curvature(pair, normal, out[state]) != 0.0:
            return layout.NOT_FINITE
    return layout.OK
