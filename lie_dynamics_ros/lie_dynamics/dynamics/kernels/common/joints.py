"""The step of a row: its transform T_{lambda(i), i}, S applied to rates and wrenches, and steps along the manifold."""

from __future__ import annotations

import numpy as np

from ....engine.compile import COMPILED, inline, outline, straight
from ....engine.lanes import at, get, get3, get9, lift, place, place_vector, put2, put3, put9, sincos, vector_at
from ....model.layout import (
    AXIS,
    AXIS_V,
    AXIS_V_C,
    AXIS_W,
    AXIS_W_C,
    BLOCKS,
    COLUMNS_AT,
    CUSTOM,
    CUSTOM_FOLLOW,
    CUSTOM_RATE,
    CUSTOM_S,
    FOLLOW,
    FREE,
    KIND,
    LANES,
    N_COMPOUND,
    N_QUATERNIONS,
    N_V,
    ORIGIN,
    ORIGIN_C,
    PLACEMENT,
    PLACEMENT_C,
    Q_INDEX,
    Q_INDEX_C,
    QUATERNION_TOLERANCE,
    SPHERICAL,
    SUBSPACE,
)
from .spatial import add, articulated_times, cross, dot, matmul, rotate, scale, twist_cross


@straight
def constants3(rows, i, k):
    """Return three columns of a row."""
    return rows[i, k], rows[i, k + 1], rows[i, k + 2]


@straight
def constants6(rows, i, k):
    """Return six columns of a row."""
    return rows[i, k], rows[i, k + 1], rows[i, k + 2], rows[i, k + 3], rows[i, k + 4], rows[i, k + 5]


@straight
def constants9(rows, i, k):
    """Return nine columns of a row."""
    return (
        rows[i, k], rows[i, k + 1], rows[i, k + 2],
        rows[i, k + 3], rows[i, k + 4], rows[i, k + 5],
        rows[i, k + 6], rows[i, k + 7], rows[i, k + 8],
    )  # fmt: skip


@straight
def quaternion_matrix(x, y, z, w):
    """Return the rotation of the quaternion (x, y, z, w), normalised."""
    s = 2.0 / (x * x + y * y + z * z + w * w)
    sx, sy, sz = s * x, s * y, s * z
    xx, yy, zz = x * sx, y * sy, z * sz
    return (
        1.0 - (yy + zz), y * sx - w * sz, z * sx + w * sy,
        y * sx + w * sz, 1.0 - (xx + zz), z * sy - w * sx,
        z * sx - w * sy, z * sy + w * sx, 1.0 - (xx + yy),
    )  # fmt: skip


@outline
def _compound_transform(rows, i, q):
    """Return (R, p) of the motion of a ball, free or user's joint."""
    kind = rows[i, KIND]
    j = int(rows[i, Q_INDEX])
    if kind == CUSTOM:
        r = (get(q, j), get(q, j + 1), get(q, j + 2), get(q, j + 3), get(q, j + 4), get(q, j + 5),
             get(q, j + 6), get(q, j + 7), get(q, j + 8))  # fmt: skip
        return r, (get(q, j + 9), get(q, j + 10), get(q, j + 11))
    r = quaternion_matrix(get(q, j), get(q, j + 1), get(q, j + 2), get(q, j + 3))
    if kind == FREE:
        return r, (get(q, j + 4), get(q, j + 5), get(q, j + 6))
    zero = lift(0.0, r[0])
    return r, (zero, zero, zero)


@outline
def motion_of(rows, i, q):
    """Return how far a ball, free or user's joint moves its body from its zero, in the axes it has there."""
    return _compound_transform(rows, i, q)[1]


@inline
def row_transform(rows, i, q):
    """Return (R, p) of row `i` seen from its parent row, a function of q."""
    a = constants9(rows, i, PLACEMENT)
    p = constants3(rows, i, ORIGIN)
    if rows[i, KIND] == AXIS:
        x = get(q, int(rows[i, Q_INDEX]))
        s, c = sincos(rows[i, AXIS_W] * x)
        d = rows[i, AXIS_V] * x
        return (
            a[0] * c + a[1] * s, a[1] * c - a[0] * s, lift(a[2], x),
            a[3] * c + a[4] * s, a[4] * c - a[3] * s, lift(a[5], x),
            a[6] * c + a[7] * s, a[7] * c - a[6] * s, lift(a[8], x),
        ), (p[0] + a[2] * d, p[1] + a[5] * d, p[2] + a[8] * d)  # fmt: skip
    r, d3 = _compound_transform(rows, i, q)
    return matmul(a, r), add(p, rotate(a, d3))


@inline
def custom_data(rows, i):
    """Return where in q S of row `i` of a user's joint begins."""
    j = int(rows[i, Q_INDEX])
    if rows[i, KIND] == CUSTOM:
        j += CUSTOM_S
    return j


@inline
def is_custom(rows, i):
    """Tell whether row `i` belongs to a user's joint."""
    kind = rows[i, KIND]
    return kind == CUSTOM or kind == CUSTOM_FOLLOW


@inline
def has_transform(rows, i):
    """Tell whether row `i` has a transform of its own."""
    kind = rows[i, KIND]
    return not (kind == FOLLOW or kind == CUSTOM_FOLLOW)


@inline
def subspace(rows, i, q, like):
    """Return S of row `i` in its kernel frame as (w, v), widened to the scalar type of `like`."""
    if is_custom(rows, i):
        j = custom_data(rows, i)
        return (get(q, j), get(q, j + 1), get(q, j + 2)), (get(q, j + 3), get(q, j + 4), get(q, j + 5))
    s = constants6(rows, i, SUBSPACE)
    return (
        (lift(s[0], like), lift(s[1], like), lift(s[2], like)),
        (lift(s[3], like), lift(s[4], like), lift(s[5], like)),
    )


@inline
def custom_rate(rows, i, q):
    """Return dS/dt of row `i` of a user's joint as (w, v)."""
    j = custom_data(rows, i) + CUSTOM_RATE
    return (get(q, j), get(q, j + 1), get(q, j + 2)), (get(q, j + 3), get(q, j + 4), get(q, j + 5))


@inline
def add_step(rows, i, q, w, v, x):
    """Return (w, v) + S x for the scalar x."""
    if rows[i, KIND] == AXIS:
        return (w[0], w[1], w[2] + rows[i, AXIS_W] * x), (v[0], v[1], v[2] + rows[i, AXIS_V] * x)
    sw, sv = subspace(rows, i, q, x)
    return add(w, scale(x, sw)), add(v, scale(x, sv))


@inline
def add_bias(rows, i, q, aw, av, w, v, x):
    """Return (aw, av) + ad_{(w, v)} S x, plus dS/dt x for a user's joint. Kim (41)."""
    if rows[i, KIND] == AXIS:
        a, b = rows[i, AXIS_W] * x, rows[i, AXIS_V] * x
        return (
            (aw[0] + w[1] * a, aw[1] - w[0] * a, aw[2]),
            (av[0] + v[1] * a + w[1] * b, av[1] - (v[0] * a + w[0] * b), av[2]),
        )
    sw, sv = subspace(rows, i, q, x)
    cw, cv = twist_cross(w, v, scale(x, sw), scale(x, sv))
    aw, av = add(aw, cw), add(av, cv)
    if is_custom(rows, i):
        rw, rv = custom_rate(rows, i, q)
        aw, av = add(aw, scale(x, rw)), add(av, scale(x, rv))
    return aw, av


@inline
def project(rows, i, q, m, f):
    """Return S^T (m, f)."""
    if rows[i, KIND] == AXIS:
        return rows[i, AXIS_W] * m[2] + rows[i, AXIS_V] * f[2]
    sw, sv = subspace(rows, i, q, m[0])
    return dot(sw, m) + dot(sv, f)


@inline
def articulated_column(rows, i, q, j, h, m):
    """Return [[J, H], [H^T, M]] S as (angular, linear)."""
    if rows[i, KIND] == AXIS:
        a, b = rows[i, AXIS_W], rows[i, AXIS_V]
        return (
            (a * j[2] + b * h[2], a * j[4] + b * h[5], a * j[5] + b * h[8]),
            (a * h[6] + b * m[2], a * h[7] + b * m[4], a * h[8] + b * m[5]),
        )
    sw, sv = subspace(rows, i, q, j[0])
    return articulated_times(j, h, m, sw, sv)


@outline
def check_quaternions(rows, q):
    """Return True when every quaternion in the single state q is of unit length."""
    if rows[0, N_QUATERNIONS] == 0.0:
        return True
    good = True
    for i in range(1, int(rows[0, N_V]) + 1):
        kind = rows[i, KIND]
        if kind == SPHERICAL or kind == FREE:
            j = int(rows[i, Q_INDEX])
            n = q[j] * q[j] + q[j + 1] * q[j + 1] + q[j + 2] * q[j + 2] + q[j + 3] * q[j + 3]
            good = good and abs(n - 1.0) < QUATERNION_TOLERANCE
    return good


# A single state has no lanes, but its rows have the same arithmetic to do. What needs no other row is done for eight of
# them together, from columns that `layout` appends to the model's table. Batches, whose lanes are busy, and plain
# Python compute each transform where it is wanted.


def prepare_transforms(rows, q, work, column):
    """Make `transform` ready for a state, or a tile of states, with the same arguments."""


def transform(rows, i, q, work, column):
    """Return (R, p) of row `i` seen from its parent row, which must have one, and keep it from `column` of `work`."""
    r, p = row_transform(rows, i, q)
    put9(work, i, column, r)
    put3(work, i, column + 9, p)
    return r, p


def passing_transform(rows, i, q, work, column):  # noqa: ARG001
    """Return what `transform` returns, for once: `column` of `work` is free for other use then."""
    return row_transform(rows, i, q)


if COMPILED:
    from ....engine.access import for_one_state, stack_transforms

    @inline
    def step_vectors(rows, q, b, out, start, stride):
        """Write R and p of eight rows as twelve vectors of `out`, from vector `start`, `stride` apart."""
        blocks = int(rows[0, BLOCKS])
        k = int(rows[0, COLUMNS_AT]) // LANES + b
        for j in range(LANES):
            place(out, start * LANES + j, get(q, int(at(rows, (k + Q_INDEX_C * blocks) * LANES + j))))
        x = vector_at(out, start)
        s, c = sincos(vector_at(rows, k + AXIS_W_C * blocks) * x)
        d = vector_at(rows, k + AXIS_V_C * blocks) * x
        for j in range(3):
            m, o = k + (PLACEMENT_C + 3 * j) * blocks, start + 3 * j * stride
            a0, a1, a2 = vector_at(rows, m), vector_at(rows, m + blocks), vector_at(rows, m + 2 * blocks)
            place_vector(out, o, a0 * c + a1 * s)
            place_vector(out, o + stride, a1 * c - a0 * s)
            place_vector(out, o + 2 * stride, a2)
            place_vector(out, start + (9 + j) * stride, vector_at(rows, k + (ORIGIN_C + j) * blocks) + a2 * d)

    @inline
    def fill_transforms(rows, q, work, column):
        """Fill R and p of all rows of one state."""
        n = int(rows[0, N_V])
        tile = stack_transforms()
        for b in range(int(rows[0, BLOCKS])):
            step_vectors(rows, q, b, tile, 0, 1)
            for lane in range(min(LANES, n - b * LANES)):
                for j in range(12):
                    put2(work, b * LANES + lane + 1, column + j, at(tile, j * LANES + lane))
        if rows[0, N_COMPOUND] > 0.0:
            for i in range(1, n + 1):
                if rows[i, KIND] != AXIS and has_transform(rows, i):
                    r, p = row_transform(rows, i, q)
                    put9(work, i, column, r)
                    put3(work, i, column + 9, p)

    @for_one_state(prepare_transforms, "q")
    def _prepare_transforms(rows, q, work, column):
        return fill_transforms(rows, q, work, column)

    @for_one_state(transform, "q")
    def _transform(rows, i, q, work, column):  # noqa: ARG001
        return get9(work, i, column), get3(work, i, column + 9)

    @for_one_state(passing_transform, "q")
    def _passing_transform(rows, i, q, work, column):  # noqa: ARG001
        return get9(work, i, column), get3(work, i, column + 9)


_SERIES = 0.25  # below this squared angle the closed forms lose digits and the series is exact to the last


@inline
def sine_over_angle(t):
    """Return sin(a) / a for a^2 = t."""
    if t < _SERIES:
        return 1.0 - t / 6.0 * (1.0 - t / 20.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0 * (1.0 - t / 110.0))))
    a = np.sqrt(t)
    return np.sin(a) / a


@inline
def left_coefficients(t):
    """Return (1 - cos a) / a^2 and (a - sin a) / a^3 for a^2 = t: the left Jacobian is 1 + b [w] + c [w]^2."""
    if t < _SERIES:
        b = 0.5 - t / 24.0 * (1.0 - t / 30.0 * (1.0 - t / 56.0 * (1.0 - t / 90.0 * (1.0 - t / 132.0))))
        c = 1.0 / 6.0 - t / 120.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0 * (1.0 - t / 110.0 * (1.0 - t / 156.0))))
        return b, c
    a = np.sqrt(t)
    half = np.sin(0.5 * a)
    return 2.0 * half * half / t, (a - np.sin(a)) / (a * t)


@inline
def turned(x, y, z, w, r):
    """Return the quaternion (x, y, z, w) times exp(r), normalised."""
    t = 0.25 * (r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    s, c = 0.5 * sine_over_angle(t), np.cos(np.sqrt(t))
    ex, ey, ez = s * r[0], s * r[1], s * r[2]
    nx = w * ex + x * c + y * ez - z * ey
    ny = w * ey + y * c + z * ex - x * ez
    nz = w * ez + z * c + x * ey - y * ex
    nw = w * c - x * ex - y * ey - z * ez
    n = 1.0 / np.sqrt(nx * nx + ny * ny + nz * nz + nw * nw)
    return n * nx, n * ny, n * nz, n * nw


@outline
def move(rows, q, v, h, out):
    """Write q exp(h v) to `out`, which may be `q`: `Model.integrate` for models without user-defined joints."""
    for i in range(1, int(rows[0, N_V]) + 1):
        kind, j = rows[i, KIND], int(rows[i, Q_INDEX])
        if kind == AXIS:
            out[j] = q[j] + h * v[i - 1]
        elif kind == SPHERICAL or kind == FREE:
            x, y, z, w = q[j], q[j + 1], q[j + 2], q[j + 3]
            r = (h * v[i - 1], h * v[i], h * v[i + 1])
            out[j], out[j + 1], out[j + 2], out[j + 3] = turned(x, y, z, w, r)
            if kind == FREE:
                b, c = left_coefficients(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
                d = (h * v[i + 2], h * v[i + 3], h * v[i + 4])
                bent = cross(r, d)
                d = add(d, add(scale(b, bent), scale(c, cross(r, bent))))
                d = rotate(quaternion_matrix(x, y, z, w), d)
                out[j + 4], out[j + 5], out[j + 6] = q[j + 4] + d[0], q[j + 5] + d[1], q[j + 6] + d[2]


@outline
def tangent_rate(rows, u, qd, out):
    """Write the rate of u in q = q0 exp(u) for the velocity qd, up to third order in u.

    It is the inverse of the right Jacobian, 1 + ad_u / 2 + ad_u^2 / 12 - ..., which suffices for order four.
    """
    for i in range(1, int(rows[0, N_V]) + 1):
        kind = rows[i, KIND]
        if kind == AXIS:
            out[i - 1] = qd[i - 1]
        elif kind == SPHERICAL or kind == FREE:
            a, w = (u[i - 1], u[i], u[i + 1]), (qd[i - 1], qd[i], qd[i + 1])
            b, v = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
            if kind == FREE:
                b, v = (u[i + 2], u[i + 3], u[i + 4]), (qd[i + 2], qd[i + 3], qd[i + 4])
            fw, fv = twist_cross(a, b, w, v)
            sw, sv = twist_cross(a, b, fw, fv)
            for k in range(3):
                out[i - 1 + k] = w[k] + 0.5 * fw[k] + sw[k] / 12.0
                if kind == FREE:
                    out[i + 2 + k] = v[k] + 0.5 * fv[k] + sv[k] / 12.0
