"""Second derivatives of inverse dynamics along q, qd and qdd, contracted with a vector: O(n d) for a tree of depth d.

Seen from one inertial frame. A step along q_j turns all beyond row j by its screw J_j; what its base does not share of
that are the twists psi_j = [P_j, J_j] and alpha_j = [A_P, J_j] + [P_j, psi_j], with P_j and A_P the motion of the base.
With composite inertias I, wrenches F and the operator B u = I [u, V] + u x* I V + V x* I u, for r the row of a torque,

    d tau_r / dq_j = J_r . (B_r psi_j + I_r alpha_j)                        for r beyond j,
    d tau_r / dq_j = J_r . (J_j x* F_j + B_j psi_j + I_j alpha_j)           for r before j,

and likewise along qd_j with J_j for psi_j and phi_j = psi_j + dJ_j/dt for alpha_j, J_j x* F left out. A second step,
along q_k of a row k beyond j, turns I_k, B_k, F_k and J_r alike, so that only their arguments count, turned back; and
it changes V in B by psi_k. Rows on different branches have no part in each other.

Contracted with a vector y, rows r beyond k enter through three sums over them (BETA, IOTA, N below), those before k
through the twist that y would give the base of k.

Those of all joint forces at once take O(n d^2). For the force r and rows j before k or of its joint, i the deeper of r
and k, and beta_i(u) = B_i^T u, e_i(u, y) the same of what a change y of the velocity adds to B_i (both have no linear
part):

    p = J_k.w x beta_i(J_r) + e_i(J_r, psi_k)   less  beta_k([J_k, J_r])  where r is before k,
    s = J_k x* I_i J_r                          less  I_k [J_k, J_r]      where r is before k,
    d2 tau_r / dq_j dq_k  = p . psi_j.w + s . alpha_j,          d2 tau_r / dq_k dqd_j = p . J_j.w + s . phi_j,
    d2 tau_r / dq_k dqdd_j = s . J_j,                           d2 tau_r / dq_j dqd_k = e_i(J_r, J_k) . psi_j.w,
    d2 tau_r / dqd_j dqd_k = e_i(J_r, J_k) . J_j.w,

and where r is before j, J_r . J_j x* (that of row k alone). So all that depends on r and k is two vectors and a wrench,
and what is left are sums of products over the rows j of a branch.
"""

from __future__ import annotations

import numpy as np

from ....engine.compile import inline, kernel, outline, pasted, straight
from ....engine.lanes import add3, add9, get, get2, get3, get6, get9, put, put2, workspace
from ....model.layout import BAD_QUATERNION, BAD_SHAPE, BODY, FIRST, GRAVITY, LAST, N_Q, N_V, NOT_FINITE, OK, PARENT
from ..common.joints import check_quaternions
from ..common.spatial import (
    add,
    add_twist,
    bracket,
    clear_twist,
    cross,
    dot,
    get_twist,
    minus,
    on_wrench,
    plus,
    power,
    put_twist,
    rotate,
    scale,
    sub,
    symmetric_times,
    times,
    unrotate,
    wrench_out,
)
from ..common.states import BATCH_SIGNATURE, make_batch, wrench_fits
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
)
from ..inverse_dynamics import external_wrench
from ..mass_matrix import clear, rate_terms

# Columns of the workspace after those of `world`: acceleration with gravity, composite wrench, psi, alpha, phi,
# the twist of y, and the sums over all rows beyond: B^T J y (3), I J y (6), and N (9).
A, F, PSI, ALPHA, PHI, COLUMNS = 52, 58, 64, 70, 76, 82
_Y, _BETA, _IOTA, _N, _SUMMED = 82, 88, 91, 97, 106


@straight
def rate_times(work, i, u):
    """Return B_i u."""
    d, l = get9(work, i, D), get3(work, i, L)
    return scale(-2.0, rotate(d, u[0])), scale(2.0, cross(u[0], l))


@straight
def both(work, i, x, y):
    """Return I [x, y] + x x* I y + y x* I x: the part of B_i x that is linear in a change y of the velocity."""
    mass, h, s = get2(work, i, MASS_C), get3(work, i, MOMENT_C), get6(work, i, INERTIA_C)
    w, v, turn = y[0], y[1], x[0]
    half = 0.5 * (s[0] + s[3] + s[5])
    # 2 (tr E - E) turn for E = v h^T + [w] (half - I); tr([w] I) = 0.
    inner = sub(scale(half, turn), symmetric_times(s, turn))
    m = sub(scale(dot(h, v), turn), scale(dot(h, turn), v))
    m = sub(m, cross(w, inner))
    momentum = scale(mass, v)
    momentum = (
        momentum[0] + w[1] * h[2] - w[2] * h[1],
        momentum[1] + w[2] * h[0] - w[0] * h[2],
        momentum[2] + w[0] * h[1] - w[1] * h[0],
    )
    return scale(2.0, m), scale(2.0, cross(turn, momentum))


@straight
def inertia_of(work, i, x):
    """Return I_i x."""
    return inertia_times(work, i, x[0], x[1])


@outline
def rows_alone(rows, q, qd, qdd, f_ext, work):
    """Fill motion and wrenches, own inertias, and what each row alone brings along."""
    n = int(rows[0, N_V])
    moving_rows(rows, q, qd, work)
    rate_terms(rows, False, work)
    clear_twist(work, 0, A)
    for k in range(3):
        put2(work, 0, A + 3 + k, -rows[0, GRAVITY + k])
    loaded = f_ext.shape[0] > 0
    for i in range(1, n + 1):
        parent, base = int(rows[i, PARENT]), int(rows[int(rows[i, FIRST]), PARENT])
        j, rate, v = get_twist(work, i, J), get_twist(work, i, RATE), get_twist(work, i, V)
        a = plus(get_twist(work, parent, A), plus(times(get(qdd, i - 1), j), times(get(qd, i - 1), rate)))
        put_twist(work, i, A, a)
        above = get_twist(work, base, V)
        psi = bracket(above, j)
        put_twist(work, i, PSI, psi)
        put_twist(work, i, PHI, plus(psi, rate))
        put_twist(work, i, ALPHA, plus(bracket(get_twist(work, base, A), j), bracket(above, psi)))
        clear_twist(work, i, F)
        if rows[i, BODY] >= 0.0:
            f = plus(on_wrench(v, inertia_of(work, i, v)), inertia_of(work, i, a))
            if loaded:
                m, x = external_wrench(rows, i, f_ext)
                f = minus(f, wrench_out(get9(work, i, R), get3(work, i, P), m, x))
            put_twist(work, i, F, f)


@inline
def sum_composites(rows, work):
    """Add inertias, wrenches, and D and l, of each row to those of its parent, leaves first."""
    for i in range(int(rows[0, N_V]), 0, -1):
        parent = int(rows[i, PARENT])
        if parent > 0:
            for k in range(MASS_C, V):
                put2(work, parent, k, get2(work, parent, k) + get2(work, i, k))
            for k in range(D, A):
                put2(work, parent, k, get2(work, parent, k) + get2(work, i, k))
            add_twist(work, parent, F, get_twist(work, i, F))


@outline
def first_order(rows, q, qd, qdd, f_ext, y, work):
    """Fill what rows bring along, composites, the twists of y, and the sums over all rows beyond."""
    rows_alone(rows, q, qd, qdd, f_ext, work)
    sum_composites(rows, work)
    n = int(rows[0, N_V])
    clear_twist(work, 0, _Y)
    for i in range(1, n + 1):
        above = get_twist(work, int(rows[i, PARENT]), _Y)
        put_twist(work, i, _Y, plus(above, times(get(y, i - 1), get_twist(work, i, J))))
        for k in range(_BETA, _SUMMED):
            put2(work, i, k, 0.0)
    for i in range(n, 0, -1):
        sums_beyond(work, i, get(y, i - 1))
        parent = int(rows[i, PARENT])
        if parent > 0:
            for k in range(_BETA, _SUMMED):
                put2(work, parent, k, get2(work, parent, k) + get2(work, i, k))


@straight
def sums_beyond(work, i, y):
    """Add row `i` to the sums over all rows beyond each row; its composite inertia is complete."""
    w, v = get_twist(work, i, J)
    s, h = get6(work, i, INERTIA_C), get3(work, i, MOMENT_C)
    beta = sub(cross(get3(work, i, L), v), unrotate(get9(work, i, D), w))
    add3(work, i, _BETA, scale(2.0 * y, beta))
    add_twist(work, i, _IOTA, times(y, inertia_times(work, i, w, v)))
    half, hv = 0.5 * (s[0] + s[3] + s[5]), dot(h, v)
    a, b, c = half - s[0], half - s[3], half - s[5]
    # h v^T - h . v - (half - I) [w]
    add9(work, i, _N, (
        y * (h[0] * v[0] - hv - (-s[1] * w[2] + s[2] * w[1])),
        y * (h[0] * v[1] - (-a * w[2] - s[2] * w[0])),
        y * (h[0] * v[2] - (a * w[1] + s[1] * w[0])),
        y * (h[1] * v[0] - (b * w[2] + s[4] * w[1])),
        y * (h[1] * v[1] - hv - (s[1] * w[2] - s[4] * w[0])),
        y * (h[1] * v[2] - (-s[1] * w[1] - b * w[0])),
        y * (h[2] * v[0] - (-s[4] * w[2] - c * w[1])),
        y * (h[2] * v[1] - (s[2] * w[2] + c * w[0])),
        y * (h[2] * v[2] - hv - (-s[2] * w[1] + s[4] * w[0])),
    ))  # fmt: skip


@straight
def beyond(work, f, x, y):
    """Return the sum over all rows beyond `f` of y_r J_r . (the part of B_r x that is linear in a change y of V)."""
    turned = rotate(get9(work, f, _N), y[0])
    push = cross(y[1], get3(work, f, _IOTA + 3))
    return 2.0 * dot(x[0], (turned[0] + push[0], turned[1] + push[1], turned[2] + push[2]))


@straight
def turned_back(work, k, f, above, x, a, jk):
    """Return the contraction of what a turn by J_k of B x + I a makes, for all rows before and beyond k."""
    back, less = bracket(jk, x), bracket(jk, a)
    value = on_wrench(jk, plus(rate_times(work, k, x), inertia_of(work, k, a)))
    value = minus(value, plus(rate_times(work, k, back), inertia_of(work, k, less)))
    return power(above, value) - dot(get3(work, f, _BETA), back[0]) - power(less, get_twist(work, f, _IOTA))


@straight
def add_entry(out, at, x):
    """Add to an entry of a flat array."""
    put(out, at, get(out, at) + x)


@outline
def same_branch(rows, j, k, work, out):
    """Add the entries of row `k` and a row `j` of its joint or before it."""
    n = int(rows[0, N_V])
    f, same = int(rows[k, FIRST]), rows[j, FIRST] == rows[k, FIRST]
    jj, jk = get_twist(work, j, J), get_twist(work, k, J)
    psi_j, psi_k = get_twist(work, j, PSI), get_twist(work, k, PSI)
    above = get_twist(work, int(rows[f, PARENT]), _Y)
    below = get_twist(work, int(rows[int(rows[j, FIRST]), PARENT]), _Y)  # of row j's own base
    jk_at, kj_at, size = (j - 1) * n + k - 1, (k - 1) * n + j - 1, n * n

    # q_j and q_k
    phi, alpha = get_twist(work, k, PHI), get_twist(work, k, ALPHA)
    change = plus(on_wrench(jk, get_twist(work, k, F)), rate_times(work, k, psi_k))
    change = on_wrench(jj, plus(change, inertia_of(work, k, alpha)))
    x = turned_back(work, k, f, above, psi_j, get_twist(work, j, ALPHA), jk) + power(below, change)
    x = x + power(above, both(work, k, psi_j, psi_k)) + beyond(work, f, psi_j, psi_k)
    if same:
        x = 0.5 * x
    add_entry(out, jk_at, x)
    add_entry(out, kj_at, x)

    # q_j, and qd_k or qdd_k
    moved = inertia_of(work, k, jk)
    change = on_wrench(jj, plus(rate_times(work, k, jk), inertia_of(work, k, phi)))
    x = power(above, both(work, k, psi_j, jk)) + beyond(work, f, psi_j, jk) + power(below, change)
    put(out, size + jk_at, x)
    put(out, 3 * size + jk_at, power(below, on_wrench(jj, moved)))
    if not same:  # q_k, and qd_j or qdd_j
        x = turned_back(work, k, f, above, jj, get_twist(work, j, PHI), jk)
        x = x + power(above, both(work, k, jj, psi_k)) + beyond(work, f, jj, psi_k)
        put(out, size + kj_at, x)
        back = bracket(jk, jj)
        value = minus(on_wrench(jk, inertia_of(work, k, jj)), inertia_of(work, k, back))
        put(out, 3 * size + kj_at, power(above, value) - power(back, get_twist(work, f, _IOTA)))

    # qd_j and qd_k
    x = power(above, both(work, k, jj, jk)) + beyond(work, f, jj, jk)
    if same:
        back = bracket(jk, jj)
        x = x + power(back, get_twist(work, f, _IOTA)) + power(above, inertia_of(work, k, back))
    put(out, 2 * size + jk_at, x)
    put(out, 2 * size + kj_at, x)


@inline
def second_derivatives_core(rows, q, qd, qdd, f_ext, y, out, work):
    """Fill `out` (4 nv nv) with the derivatives of y . tau along q q, q qd, qd qd and q qdd of one state, or tile."""
    n = int(rows[0, N_V])
    clear(out)
    if n == 0:
        return
    first_order(rows, q, qd, qdd, f_ext, y, work)
    for k in range(1, n + 1):
        for j in range(int(rows[k, FIRST]), int(rows[k, LAST]) + 1):
            same_branch(rows, j, k, work, out)
        j = int(rows[int(rows[k, FIRST]), PARENT])
        while j > 0:
            same_branch(rows, j, k, work, out)
            j = int(rows[j, PARENT])


second_derivatives_batch = make_batch(second_derivatives_core, _SUMMED, "q a b f_ext c y")


# Rows of the table of a branch, a column for each row j: psi.w, alpha, phi, J, and three wrenches J_j x* of row k.
_PSI, _ALPHA, _PHI, _J, _Q, _QD, _QDD = 0, 3, 9, 15, 21, 27, 33
_ROWS = 39


@straight
def rate_transposed(work, i, u):
    """Return the angular part of B_i^T u; the other is zero."""
    return scale(2.0, sub(cross(get3(work, i, L), u[1]), unrotate(get9(work, i, D), u[0])))


@straight
def rate_change(work, i, u, y):
    """Return the angular part of (the change of B_i by a change y of the velocity)^T u; the other is zero."""
    h, s = get3(work, i, MOMENT_C), get6(work, i, INERTIA_C)
    half, turn = 0.5 * (s[0] + s[3] + s[5]), cross(u[0], y[0])
    momentum = add(scale(get2(work, i, MASS_C), y[1]), cross(y[0], h))
    x = sub(scale(dot(h, y[1]), u[0]), scale(dot(y[1], u[0]), h))
    x = add(sub(x, sub(scale(half, turn), symmetric_times(s, turn))), cross(momentum, u[1]))
    return scale(2.0, x)


@inline
def put_column(table, row, at, x):
    """Store a twist or wrench in six rows of a column."""
    table[row, at] = x[0][0]
    table[row + 1, at] = x[0][1]
    table[row + 2, at] = x[0][2]
    table[row + 3, at] = x[1][0]
    table[row + 4, at] = x[1][1]
    table[row + 5, at] = x[1][2]


@outline
def branch(rows, k, work, branch_rows, table):
    """List the rows of joint k and all before it, deepest first, and what each has to do with k; return how many."""
    jk = get_twist(work, k, J)
    psi = get_twist(work, k, PSI)
    force = plus(on_wrench(jk, get_twist(work, k, F)), rate_times(work, k, psi))
    force = plus(force, inertia_of(work, k, get_twist(work, k, ALPHA)))
    swing = plus(rate_times(work, k, jk), inertia_of(work, k, get_twist(work, k, PHI)))
    push = inertia_of(work, k, jk)
    j, count = int(rows[k, LAST]), 0
    while j > 0:
        branch_rows[count] = j
        jj, above = get_twist(work, j, J), get_twist(work, j, PSI)
        table[_PSI, count] = above[0][0]
        table[_PSI + 1, count] = above[0][1]
        table[_PSI + 2, count] = above[0][2]
        put_column(table, _ALPHA, count, get_twist(work, j, ALPHA))
        put_column(table, _PHI, count, get_twist(work, j, PHI))
        put_column(table, _J, count, jj)
        put_column(table, _Q, count, on_wrench(jj, force))
        put_column(table, _QD, count, on_wrench(jj, swing))
        put_column(table, _QDD, count, on_wrench(jj, push))
        count += 1
        j = int(rows[j, PARENT])
    return count


@inline
def along(table, row, a, x):
    """Return a wrench times a twist of column `a`, or the other way round."""
    return (
        table[row, a] * x[0][0] + table[row + 1, a] * x[0][1] + table[row + 2, a] * x[0][2]
        + table[row + 3, a] * x[1][0] + table[row + 4, a] * x[1][1] + table[row + 5, a] * x[1][2]
    )  # fmt: skip


@inline
def turning(table, row, a, x):
    """Return a moment times an angular part of column `a`."""
    return table[row, a] * x[0] + table[row + 1, a] * x[1] + table[row + 2, a] * x[2]


@outline
def force_of(rows, r, k, place, count, work, branch_rows, table, values):
    """Fill the entries of force `r` and row `k` for all rows of the branch.

    `place` is that of the first row of r's joint or beyond in the branch: rows j before `place` have r before them.
    """
    jr, jk = get_twist(work, r, J), get_twist(work, k, J)
    before = place > 0
    i = k if before else r
    momentum = inertia_of(work, i, jr)
    p = add(cross(jk[0], rate_transposed(work, i, jr)), rate_change(work, i, jr, get_twist(work, k, PSI)))
    s = on_wrench(jk, momentum)
    if before:
        back = bracket(jk, jr)
        p = sub(p, rate_transposed(work, k, back))
        s = minus(s, inertia_of(work, k, back))
    e = rate_change(work, i, jr, jk)
    for a in range(count):
        values[0, a] = turning(table, _PSI, a, p) + along(table, _ALPHA, a, s)
        values[1, a] = turning(table, _PSI, a, e)
        values[2, a] = turning(table, _J, a, p) + along(table, _PHI, a, s)
        values[3, a] = turning(table, _J, a, e)
        values[4, a] = 0.0
        values[5, a] = along(table, _J, a, s)
    for a in range(place):
        values[0, a] += along(table, _Q, a, jr)
        values[1, a] += along(table, _QD, a, jr)
        values[4, a] = along(table, _QDD, a, jr)
    for a in range(int(rows[k, LAST]) - int(rows[k, FIRST]) + 1):  # of the joint of k: each pair is met twice
        back = bracket(jk, get_twist(work, branch_rows[a], J))
        values[0, a] *= 0.5
        values[3, a] += power(back, momentum)


@outline
def store_force(r, k, n, own, count, branch_rows, values, out):
    """Store the entries of force `r` and row `k`, of whose joint the first `own` rows are; return 0 or NaN."""
    size = n * n * n
    start, rest = (r - 1) * n * n, 0.0 * values[0, 0]
    for a in range(count):
        j = branch_rows[a]
        jk, kj = start + (j - 1) * n + k - 1, start + (k - 1) * n + j - 1
        x, y = values[0, a], values[3, a]
        if a < own:
            put(out, jk, get(out, jk) + x)
            put(out, kj, get(out, kj) + x)
        else:
            put(out, jk, x)
            put(out, kj, x)
            put(out, size + kj, values[2, a])
            put(out, 3 * size + kj, values[5, a])
        put(out, size + jk, values[1, a])
        put(out, 2 * size + jk, y)
        put(out, 2 * size + kj, y)
        put(out, 3 * size + jk, values[4, a])
        rest = rest + (x + y + values[1, a] + values[2, a]) * 0.0
    return rest


@outline
def forces_of_row(rows, r, scratch, out):
    """Fill the part of force `r` of the tensors; return 0 or NaN."""
    n = int(rows[0, N_V])
    work, branch_rows, counts, tables, values = scratch
    for part in range(4):
        clear(out[(part * n + r - 1) * n * n : (part * n + r) * n * n])
    rest = 0.0 * get2(work, r, J)
    for k in range(1, n + 1):
        own, count = int(rows[k, LAST]) - int(rows[k, FIRST]) + 1, counts[k]
        place = count - counts[r]  # of the last row of r's joint, where r is before k
        before = place >= own and branch_rows[k, place] == int(rows[r, LAST])
        if not before:  # is k of the joint of r, or before it?
            at = counts[r] - count + int(rows[k, LAST]) - k
            if at < 0 or branch_rows[r, at] != k:
                continue
            place = 0
        force_of(rows, r, k, place, count, work, branch_rows[k], tables[k], values)
        rest = rest + store_force(r, k, n, own, count, branch_rows[k], values, out)
    return rest


@outline
def tensors_of_state(rows, q, qd, qdd, f_ext, scratch, out):
    """Fill `out` (4 nv nv nv) with derivatives along q q, q qd, qd qd and q qdd of one state; return its status."""
    if not check_quaternions(rows, q):
        return BAD_QUATERNION
    work, branch_rows, counts, tables, _ = scratch
    n = int(rows[0, N_V])
    rows_alone(rows, q, qd, qdd, f_ext, work)
    sum_composites(rows, work)
    for k in range(1, n + 1):
        counts[k] = branch(rows, k, work, branch_rows[k], tables[k])
    rest = 0.0 * get(q, 0)
    for r in range(1, n + 1):  # forces first: what is stored of one fits the nearest memory
        rest = rest + forces_of_row(rows, r, scratch, out)
    return OK if rest == 0.0 else NOT_FINITE


@pasted
def memory(n, like):
    """Allocate what a state takes: rows, branches and how long they are, tables of branches, entries of a force."""
    return (
        workspace(n + 1, COLUMNS, like),
        np.zeros((n + 1, n), np.int64),
        np.zeros(n + 1, np.int64),
        np.empty((n + 1, _ROWS, n), like.dtype),
        np.empty((6, n), like.dtype),
    )


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[:,::1], float64[::1])", direct=True)
def second_derivative_tensors(rows, q, qd, qdd, f_ext, out):
    """Fill `out` (4 nv nv nv) for one state and return a status of `layout`."""
    n = qd.shape[0]
    if q.shape[0] != rows[0, N_Q] or n != rows[0, N_V] or qdd.shape[0] != n or out.size != 4 * n * n * n:
        return BAD_SHAPE
    if not wrench_fits(rows, f_ext):
        return BAD_SHAPE
    if n == 0:
        return OK
    return tensors_of_state(rows, q, qd, qdd, f_ext.reshape(f_ext.size), memory(n, q), out)


@kernel(BATCH_SIGNATURE)
def second_derivative_tensors_batch(rows, q, qd, qdd, f_ext, _c, _given, out, _z):
    """Fill each row of `out` with the tensors of a state."""
    n, status = qd.shape[1], OK
    if n == 0:
        return status
    scratch = memory(n, q[0])
    for s in range(q.shape[0]):
        status = max(status, tensors_of_state(rows, q[s], qd[s], qdd[s], f_ext[s], scratch, out[s]))
    return status
