"""Second derivatives of all joint forces at once: O(n d^2) for a tree of depth d.

With what `second_derivatives` says, for the force r and rows j before k or of its joint, i the deeper of r and k, and
beta_i(u) = B_i^T u, e_i(u, y) the same of what a change y of the velocity adds to B_i (both have no linear part):

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
from ....engine.lanes import get, get2, get3, get6, get9, put, workspace
from ....model.layout import BAD_QUATERNION, BAD_SHAPE, FIRST, LAST, N_Q, N_V, NOT_FINITE, OK, PARENT
from ..common.batch import BATCH_SIGNATURE
from ..common.joints import check_quaternions
from ..common.single import wrench_fits
from ..common.spatial import add, cross, dot, scale, sub, symmetric_times, unrotate
from ..common.twists import bracket, get_twist, minus, on_wrench, plus, power
from ..common.world import INERTIA_C, MASS_C, MOMENT_C, D, J, L
from ..mass_matrix import clear
from .second_derivatives import (
    ALPHA,
    COLUMNS,
    PHI,
    PSI,
    F,
    inertia_of,
    rate_times,
    rows_alone,
    sum_composites,
)

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
