"""Second derivatives of all joint forces that are not zero for the structure of the tree, eight states at a time.

The sums of `second_derivatives`, with what depends on one row alone taken out of them. For the force r and rows j
before k or of its joint: where r is of the joint of k or beyond, e_r(J_r, y) = 2 (N_r y.w + y.v x l_r) with l_r the
linear momentum I_r J_r; where r is before k, with g = I_k J_k and x of it the linear part, and u = J_r,

    e_k(u, J_k) = 2 (g.v x u.v - N_k u.w),
    p           = 2 (M u.w + c x u.v),                    s = (X u.w + g.v x u.v, -g.v x u.w),
    M = D^T [w] - [w] D^T - N_k(psi_k) - [l] [v],         c = w x l + (linear momentum I_k psi_k),
    X = [w] S + ([w] S)^T - h v^T - v h^T + 2 h . v,      for J_k = (w, v), composite inertia (m, h, S), and D, l.

Entries come joint by joint, row k by row k of a joint, force r by force r of the rows on one branch with k, in four
parts: along q_j q_k and along qd_j qd_k for all j up to k (each stands for that of k and j as well), along q_j qd_k for
all rows j of the branch up to k's joint, but those of its first, which only turn gravity, and then q_k qd_j for those
before k's joint, and along q_k qdd_j for j before k's joint: it is also that of force j along q_k qdd_r, so that forces
r before the joint have those of j up to r alone.
"""

from __future__ import annotations

import numpy as np

from ....engine.compile import kernel, outline, straight
from ....engine.lanes import get, get3, get6, get9, put, put3, put6, put9, vector_space, workspace
from ....engine.tiles import WINDOW, drain, line_offset, load_tile, store_line, store_past, tile_width
from ....model.layout import BAD_QUATERNION, LAST, N_V, NOT_FINITE, OK, PARENT
from ..common.spatial import (
    add,
    bracket,
    cross,
    dot,
    get_twist,
    on_wrench,
    plus,
    power,
    put_twist,
    rotate,
    scale,
    sub,
    symmetric_times,
    times_skew,
    transpose,
    unrotate,
)
from ..common.states import BATCH_SIGNATURE, quaternions_fit
from ..common.world import INERTIA_C, MOMENT_C, D, J, L
from .second_derivatives import ALPHA, COLUMNS, PHI, PSI, F, inertia_of, rate_times, rows_alone, sum_composites

# Columns after those of `second_derivatives`: momentum I J, its beta, N; for row k also N of psi, M, c and X.
_MOMENTUM, _BETA, _N, _M, _C, _X, _WIDTH = 82, 88, 91, 100, 109, 112, 118
# Columns of a row of the branch: what a turn by J_j makes of wrenches of row k, along q_k and qd_k.
_Q, _QD, _TURNED = 0, 6, 12
assert COLUMNS == _MOMENTUM


@straight
def turning_rate(h, s, w, v):
    """Return N = h v^T - h . v - (half - S) [w]."""
    half, hv = 0.5 * (s[0] + s[3] + s[5]), dot(h, v)
    a, b, c = half - s[0], half - s[3], half - s[5]
    return (
        h[0] * v[0] - hv - (-s[1] * w[2] + s[2] * w[1]),
        h[0] * v[1] - (-a * w[2] - s[2] * w[0]),
        h[0] * v[2] - (a * w[1] + s[1] * w[0]),
        h[1] * v[0] - (b * w[2] + s[4] * w[1]),
        h[1] * v[1] - hv - (s[1] * w[2] - s[4] * w[0]),
        h[1] * v[2] - (-s[1] * w[1] - b * w[0]),
        h[2] * v[0] - (-s[4] * w[2] - c * w[1]),
        h[2] * v[1] - (s[2] * w[2] + c * w[0]),
        h[2] * v[2] - hv - (-s[2] * w[1] + s[4] * w[0]),
    )


@straight
def put_row(work, i):
    """Fill what the sums need of row `i`, whose composite inertia is complete."""
    w, v = get_twist(work, i, J)
    psi = get_twist(work, i, PSI)
    h, s, d, l = get3(work, i, MOMENT_C), get6(work, i, INERTIA_C), get9(work, i, D), get3(work, i, L)
    put_twist(work, i, _MOMENTUM, inertia_of(work, i, (w, v)))
    put3(work, i, _BETA, scale(2.0, sub(cross(l, v), unrotate(d, w))))
    put9(work, i, _N, turning_rate(h, s, w, v))
    a, b = times_skew(transpose(d), w), transpose(times_skew(d, w))
    n, lv = turning_rate(h, s, psi[0], psi[1]), dot(l, v)
    put9(work, i, _M, (
        a[0] + b[0] - n[0] - v[0] * l[0] + lv, a[1] + b[1] - n[1] - v[0] * l[1], a[2] + b[2] - n[2] - v[0] * l[2],
        a[3] + b[3] - n[3] - v[1] * l[0], a[4] + b[4] - n[4] - v[1] * l[1] + lv, a[5] + b[5] - n[5] - v[1] * l[2],
        a[6] + b[6] - n[6] - v[2] * l[0], a[7] + b[7] - n[7] - v[2] * l[1], a[8] + b[8] - n[8] - v[2] * l[2] + lv,
    ))  # fmt: skip
    put3(work, i, _C, add(cross(w, l), inertia_of(work, i, psi)[1]))
    t, hv = times_skew((s[0], s[1], s[2], s[1], s[3], s[4], s[2], s[4], s[5]), w), dot(h, v)
    put6(work, i, _X, (
        2.0 * (hv - t[0] - h[0] * v[0]), -t[1] - t[3] - h[0] * v[1] - v[0] * h[1],
        -t[2] - t[6] - h[0] * v[2] - v[0] * h[2], 2.0 * (hv - t[4] - h[1] * v[1]),
        -t[5] - t[7] - h[1] * v[2] - v[1] * h[2], 2.0 * (hv - t[8] - h[2] * v[2]),
    ))  # fmt: skip


@straight
def force_before(work, k, r):
    """Return p, s, e and the momentum I_k J_r of a force r before the joint of row k."""
    u, g = get_twist(work, r, J), get3(work, k, _MOMENTUM + 3)
    turn = cross(g, u[1])
    e = scale(2.0, sub(turn, rotate(get9(work, k, _N), u[0])))
    p = scale(2.0, add(rotate(get9(work, k, _M), u[0]), cross(get3(work, k, _C), u[1])))
    s = add(symmetric_times(get6(work, k, _X), u[0]), turn), cross(u[0], g)
    return p, s, e, inertia_of(work, k, u)


@straight
def force_beyond(work, k, r):
    """Return p, s, e and the momentum I_r J_r of a force r of the joint of row k or beyond."""
    j, psi = get_twist(work, k, J), get_twist(work, k, PSI)
    momentum, n = get_twist(work, r, _MOMENTUM), get9(work, r, _N)
    e = scale(2.0, add(rotate(n, j[0]), cross(j[1], momentum[1])))
    p = scale(2.0, add(rotate(n, psi[0]), cross(psi[1], momentum[1])))
    return add(p, cross(j[0], get3(work, r, _BETA))), on_wrench(j, momentum), e, momentum


@straight
def four(work, j, p, s, e):
    """Return the entries along q_j q_k, q_j qd_k, q_k qd_j and qd_j qd_k but for what lies in front of the force."""
    psi, w = get3(work, j, PSI), get3(work, j, J)
    return (
        dot(psi, p) + power(get_twist(work, j, ALPHA), s), dot(psi, e),
        dot(w, p) + power(get_twist(work, j, PHI), s), dot(w, e),
    )  # fmt: skip


@straight
def turned_by(turned, a, which, u):
    """Return the power along u of the wrench that row `a` of the branch turns."""
    return power(get_twist(turned, a, which), u)


@straight
def wrenches_of(work, k):
    """Return what row k makes beyond it along q_k and qd_k."""
    jk, psi = get_twist(work, k, J), get_twist(work, k, PSI)
    force = plus(on_wrench(jk, get_twist(work, k, F)), rate_times(work, k, psi))
    force = plus(force, inertia_of(work, k, get_twist(work, k, ALPHA)))
    return force, plus(rate_times(work, k, jk), inertia_of(work, k, get_twist(work, k, PHI)))


@straight
def put_turned(work, j, force, swing, turned, a):
    """Fill what a turn by J_j makes of two wrenches."""
    jj = get_twist(work, j, J)
    put_twist(turned, a, _Q, on_wrench(jj, force))
    put_twist(turned, a, _QD, on_wrench(jj, swing))


#: Numbers of a batch that is written past the caches, which it would fill.
LARGE = 2**18

# Rows of `lists`: rows of the branch from the last of a joint up; rows on one branch with it; their places in the
# former, -1 beyond; scratch; and how many there are of both, then where the parts of its entries begin, and end, and
# how many rows of the branch are beyond its first joint.
_BRANCH, _RELATED, _AT, _MARKS, _SIZES = 0, 1, 2, 3, 4


@outline
def list_joint(rows, last, lists):
    """List the rows on one branch with the joint that ends at a row."""
    n = int(rows[0, N_V])
    for i in range(n + 1):
        lists[_MARKS, i] = 0
    j, count = last, 0
    while j > 0:
        lists[_BRANCH, count] = j
        count += 1
        lists[_MARKS, j] = count
        j = int(rows[j, PARENT])
    related = 0
    for r in range(1, n + 1):
        parent = int(rows[r, PARENT])
        if parent == last or lists[_MARKS, parent] < 0:
            lists[_MARKS, r] = -1
        mark = lists[_MARKS, r]
        if mark != 0:
            lists[_RELATED, related] = r
            lists[_AT, related] = mark - 1 if mark > 0 else -1
            related += 1
    lists[_SIZES, 0] = count
    lists[_SIZES, 1] = related
    top = lists[_BRANCH, count - 1]
    lists[_SIZES, 7] = count - 1 - (int(rows[top, LAST]) - top)


@outline
def size_joint(own, lists):
    """Fill where the parts of the entries of a joint of `own` rows begin."""
    count, related = lists[_SIZES, 0], lists[_SIZES, 1]
    before = count - own
    lists[_SIZES, 2] = 0
    lists[_SIZES, 3] = related * (own * count - own * (own - 1) // 2)
    lists[_SIZES, 4] = lists[_SIZES, 3] + related * own * (lists[_SIZES, 7] + before)
    lists[_SIZES, 5] = lists[_SIZES, 4] + lists[_SIZES, 3]
    lists[_SIZES, 6] = lists[_SIZES, 5] + own * (before * (related - before) + before * (before + 1) // 2)


@outline
def fill_joint(rows, first, last, lists, work, turned, piece):
    """Fill the entries of a joint, part by part."""
    own, count, related = last - first + 1, lists[_SIZES, 0], lists[_SIZES, 1]
    up, deep = count - own, lists[_SIZES, 7]
    at3 = lists[_SIZES, 5]
    for k in range(first, last + 1):
        m = k - first
        force, swing = wrenches_of(work, k)
        for a in range(count):
            put_turned(work, lists[_BRANCH, a], force, swing, turned, a)
        for i in range(related):
            r, at = lists[_RELATED, i], lists[_AT, i]
            before = at >= own
            if before:
                place, start = at - (int(rows[r, LAST]) - r), at
                p, s, e, momentum = force_before(work, k, r)
            else:
                place, start = 0, own
                p, s, e, momentum = force_beyond(work, k, r)
            u = get_twist(work, r, J)
            # Entry a of the branch is at at0 + a, the first of them at the row k.
            at0 = related * (m * (up + 1) + m * (m - 1) // 2) + i * (up + 1 + m) - (last - k)
            at1 = lists[_SIZES, 3] + (m * related + i) * (deep + up)
            at2 = at0 + lists[_SIZES, 4]
            for a in range(own):
                j = lists[_BRANCH, a]
                x, y, _, z = four(work, j, p, s, e)
                if before:
                    x = x + turned_by(turned, a, _Q, u)
                    y = y + turned_by(turned, a, _QD, u)
                if own > 1:
                    z = z + power(bracket(get_twist(work, k, J), get_twist(work, j, J)), momentum)
                if a < deep:
                    put(piece, at1 + a, y)
                if j == k:
                    put(piece, at0 + a, x)
                    put(piece, at2 + a, z)
                elif j < k:  # each pair is met twice
                    put(piece, at0 + a, get(piece, at0 + a) + 0.5 * x)
                else:
                    b = j - first
                    b = related * (b * (up + 1) + b * (b - 1) // 2) + i * (up + 1 + b) + j - k
                    put(piece, b, 0.5 * x)
                    put(piece, lists[_SIZES, 4] + b, z)
            for a in range(own, place):
                x, y, v, z = four(work, lists[_BRANCH, a], p, s, e)
                put(piece, at0 + a, x + turned_by(turned, a, _Q, u))
                put(piece, at1 + a, y + turned_by(turned, a, _QD, u))
                put(piece, at1 + deep - own + a, v)
                put(piece, at2 + a, z)
            for a in range(max(own, place), deep):
                x, y, v, z = four(work, lists[_BRANCH, a], p, s, e)
                put(piece, at0 + a, x)
                put(piece, at1 + a, y)
                put(piece, at1 + deep - own + a, v)
                put(piece, at2 + a, z)
            for a in range(max(own, deep), count):  # of the first joint, whose base stands
                x, _, v, z = four(work, lists[_BRANCH, a], p, s, e)
                put(piece, at0 + a, x)
                put(piece, at1 + deep - own + a, v)
                put(piece, at2 + a, z)
            for a in range(start, count):
                put(piece, at3, power(get_twist(work, lists[_BRANCH, a], J), s))
                at3 += 1


@outline
def store_piece(piece, first, beyond, start, out, at, offset, window):
    """Store entries of a tile, past the caches where there are many; return whether all are finite."""
    if out.size > LARGE:
        return store_past(piece, first, beyond - first, start, out, at, offset, window)
    return store_line(piece, first, beyond - first, start, out, at)


@outline
def fill_states(rows, states, lists, scratch, start, totals, out, offset):
    """Fill the entries of the states of a tile: q, qd, qdd, f_ext; return whether all are finite."""
    q, qd, qdd, f_ext = states
    work, turned, piece, window = scratch
    rows_alone(rows, q, qd, qdd, f_ext, work)
    sum_composites(rows, work)
    n = int(rows[0, N_V])
    for i in range(1, n + 1):
        put_row(work, i)
    at0, at1, at2, at3 = 0, totals[0], totals[0] + totals[1], 2 * totals[0] + totals[1]
    first, good = 1, True
    while first <= n:
        last = int(rows[first, LAST])
        list_joint(rows, last, lists)
        size_joint(last - first + 1, lists)
        fill_joint(rows, first, last, lists, work, turned, piece)
        one, two, three, end = lists[_SIZES, 3], lists[_SIZES, 4], lists[_SIZES, 5], lists[_SIZES, 6]
        good = store_piece(piece, 0, one, start, out, at0, offset, window) and good
        good = store_piece(piece, one, two, start, out, at1, offset, window) and good
        good = store_piece(piece, two, three, start, out, at2, offset, window) and good
        good = store_piece(piece, three, end, start, out, at3, offset, window) and good
        at0 += one
        at1 += two - one
        at2 += one
        at3 += end - three
        first = last + 1
    return good


@outline
def total_sizes(rows, lists, totals):
    """Fill how many entries there are along q q and qd qd each, q qd, and q qdd; and at most of one joint."""
    first = 1
    for i in range(4):
        totals[i] = 0
    while first <= int(rows[0, N_V]):
        last = int(rows[first, LAST])
        list_joint(rows, last, lists)
        size_joint(last - first + 1, lists)
        totals[0] += lists[_SIZES, 3]
        totals[1] += lists[_SIZES, 4] - lists[_SIZES, 3]
        totals[2] += lists[_SIZES, 6] - lists[_SIZES, 5]
        totals[3] = max(totals[3], lists[_SIZES, 6])
        first = last + 1


@kernel(BATCH_SIGNATURE)
def packed_second_derivatives_batch(rows, q, a, b, f_ext, _c, _given, out, _z):
    """Fill each row of `out` with the entries of a state."""
    status, count, n = OK, q.shape[0], a.shape[1]
    if n == 0:
        return status
    width = tile_width(count)
    lists, totals = np.zeros((5, max(n + 1, 8)), np.int64), np.zeros(4, np.int64)
    total_sizes(rows, lists, totals)
    tq = vector_space(q.shape[1], np.empty((0, width), q.dtype))
    ta, tb, tf = vector_space(n, tq), vector_space(n, tq), vector_space(f_ext.shape[1], tq)
    scratch = (
        workspace(n + 1, _WIDTH, tq), workspace(n, _TURNED, tq), vector_space(totals[3], tq), vector_space(WINDOW, tq)
    )  # fmt: skip
    offset = line_offset(out)
    for start in range(0, count, width):
        if not quaternions_fit(rows, q, start, min(start + width, count)):
            status = max(status, BAD_QUATERNION)
            continue
        load_tile(q, start, tq)
        load_tile(a, start, ta)
        load_tile(b, start, tb)
        load_tile(f_ext, start, tf)
        if not fill_states(rows, (tq, ta, tb, tf), lists, scratch, start, totals, out, offset):
            status = max(status, NOT_FINITE)
    drain()
    return status
