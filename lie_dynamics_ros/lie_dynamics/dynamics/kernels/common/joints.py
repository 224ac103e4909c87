"""The step of a row: its transform T_{lambda(i), i}, and S applied to rates and wrenches."""

from __future__ import annotations

from ....engine.compile import inline, outline, straight
from ....engine.lanes import get, lift, sincos
from ....model.layout import (
    AXIS,
    AXIS_V,
    AXIS_W,
    CUSTOM,
    CUSTOM_FOLLOW,
    CUSTOM_RATE,
    CUSTOM_S,
    FOLLOW,
    FREE,
    KIND,
    N_QUATERNIONS,
    N_V,
    ORIGIN,
    PLACEMENT,
    Q_INDEX,
    QUATERNION_TOLERANCE,
    SPHERICAL,
    SUBSPACE,
)
from .spatial import add, articulated_times, dot, matmul, rotate, scale, twist_cross


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
