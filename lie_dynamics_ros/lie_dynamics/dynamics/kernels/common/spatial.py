"""3-vectors, 3x3 matrices and twists as tuples of scalars (see `lanes`), for use inside kernels.

A matrix is nine scalars by rows; a twist or wrench is a pair of 3-vectors, angular part first.
"""

from __future__ import annotations

from ....engine.compile import inline, straight
from ....engine.lanes import get3, put2, put3


@straight
def add(a, b):
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@straight
def sub(a, b):
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@straight
def scale(s, a):
    """Return s a."""
    return s * a[0], s * a[1], s * a[2]


@straight
def dot(a, b):
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@straight
def cross(a, b):
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@straight
def rotate(r, a):
    """Return R a."""
    return (
        r[0] * a[0] + r[1] * a[1] + r[2] * a[2],
        r[3] * a[0] + r[4] * a[1] + r[5] * a[2],
        r[6] * a[0] + r[7] * a[1] + r[8] * a[2],
    )


@straight
def unrotate(r, a):
    """Return R^T a."""
    return (
        r[0] * a[0] + r[3] * a[1] + r[6] * a[2],
        r[1] * a[0] + r[4] * a[1] + r[7] * a[2],
        r[2] * a[0] + r[5] * a[1] + r[8] * a[2],
    )


@straight
def matmul(r, s):
    """Return R S."""
    return (
        r[0] * s[0] + r[1] * s[3] + r[2] * s[6],
        r[0] * s[1] + r[1] * s[4] + r[2] * s[7],
        r[0] * s[2] + r[1] * s[5] + r[2] * s[8],
        r[3] * s[0] + r[4] * s[3] + r[5] * s[6],
        r[3] * s[1] + r[4] * s[4] + r[5] * s[7],
        r[3] * s[2] + r[4] * s[5] + r[5] * s[8],
        r[6] * s[0] + r[7] * s[3] + r[8] * s[6],
        r[6] * s[1] + r[7] * s[4] + r[8] * s[7],
        r[6] * s[2] + r[7] * s[5] + r[8] * s[8],
    )


@straight
def transpose(r):
    """Return R^T."""
    return r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8]


@straight
def symmetric_times(s, a):
    """Return the symmetric matrix (xx, xy, xz, yy, yz, zz) times a."""
    return (
        s[0] * a[0] + s[1] * a[1] + s[2] * a[2],
        s[1] * a[0] + s[3] * a[1] + s[4] * a[2],
        s[2] * a[0] + s[4] * a[1] + s[5] * a[2],
    )


@straight
def twist_into(r, p, w, v):
    """Return Ad_{T^-1} (w, v): a twist of the parent's frame seen from a frame at T = (R, p) in it. Kim (11)."""
    return unrotate(r, w), unrotate(r, add(v, cross(w, p)))


@straight
def wrench_out(r, p, m, f):
    """Return Ad*_{T^-1} (m, f): a wrench in a frame at T = (R, p), seen from the parent's. Kim (13)."""
    f = rotate(r, f)
    return add(rotate(r, m), cross(p, f)), f


@straight
def twist_cross(w, v, x, y):
    """Return ad_{(w, v)} (x, y). Kim (27)."""
    return cross(w, x), add(cross(v, x), cross(w, y))


@straight
def wrench_cross(w, v, m, f):
    """Return -ad*_{(w, v)} (m, f). Kim (29)."""
    return add(cross(w, m), cross(v, f)), cross(w, f)


@straight
def momentum(mass, moment, inertia, w, v):
    """Return I (w, v) of a body with inertia (mass, mass times centre, symmetric inertia). Kim (22), (23)."""
    return add(symmetric_times(inertia, w), cross(moment, v)), sub(scale(mass, v), cross(moment, w))


@straight
def acceleration_into(r, p, w, dw, dv):
    """Return the acceleration of the origin of a frame fixed at T = (R, p) in another, in its own axes.

    The other frame turns at w and dw, and its origin is accelerated by dv.
    """
    return unrotate(r, add(add(dv, cross(dw, p)), cross(w, cross(w, p))))


@straight
def body_wrench(mass, h, inertia, w, dw, dv):
    """Return the wrench that a body's motion takes: Kim (42), seen from where its origin is momentarily at rest.

    The body has h = mass times centre, turns at w and dw, and its frame's origin is accelerated by dv.
    """
    m = add(add(symmetric_times(inertia, dw), cross(w, symmetric_times(inertia, w))), cross(h, dv))
    return m, add(add(scale(mass, dv), cross(dw, h)), cross(w, cross(w, h)))


@straight
def congruence(r, s):
    """Return R S R^T of a symmetric S = (xx, xy, xz, yy, yz, zz), in the same six entries."""
    t = matmul(r, (s[0], s[1], s[2], s[1], s[3], s[4], s[2], s[4], s[5]))
    return (
        t[0] * r[0] + t[1] * r[1] + t[2] * r[2],
        t[0] * r[3] + t[1] * r[4] + t[2] * r[5],
        t[0] * r[6] + t[1] * r[7] + t[2] * r[8],
        t[3] * r[3] + t[4] * r[4] + t[5] * r[5],
        t[3] * r[6] + t[4] * r[7] + t[5] * r[8],
        t[6] * r[6] + t[7] * r[7] + t[8] * r[8],
    )


@straight
def times_skew(m, p):
    """Return M [p]."""
    return (
        m[1] * p[2] - m[2] * p[1], m[2] * p[0] - m[0] * p[2], m[0] * p[1] - m[1] * p[0],
        m[4] * p[2] - m[5] * p[1], m[5] * p[0] - m[3] * p[2], m[3] * p[1] - m[4] * p[0],
        m[7] * p[2] - m[8] * p[1], m[8] * p[0] - m[6] * p[2], m[6] * p[1] - m[7] * p[0],
    )  # fmt: skip


@straight
def articulated_times(j, h, m, w, v):
    """Return [[J, H], [H^T, M]] (w, v) with J and M symmetric."""
    return add(symmetric_times(j, w), rotate(h, v)), add(unrotate(h, w), symmetric_times(m, v))


@straight
def articulated_out(r, p, j, h, m):
    """Return Ad*_{T^-1} [[J, H], [H^T, M]] Ad_{T^-1}: an inertia in a frame at T = (R, p), seen from the parent's.

    Kim (21). With the blocks turned by R: H' = H + [p] M and J' = J - H' [p] - (H [p])^T.
    """
    j, m = congruence(r, j), congruence(r, m)
    h = matmul(matmul(r, h), transpose(r))
    full = (m[0], m[1], m[2], m[1], m[3], m[4], m[2], m[4], m[5])
    t = times_skew(full, p)  # [p] M = -(M [p])^T
    moved = (h[0] - t[0], h[1] - t[3], h[2] - t[6],
             h[3] - t[1], h[4] - t[4], h[5] - t[7],
             h[6] - t[2], h[7] - t[5], h[8] - t[8])  # fmt: skip
    a, b = times_skew(moved, p), times_skew(h, p)
    j = (j[0] - a[0] - b[0], j[1] - a[1] - b[3], j[2] - a[2] - b[6],
         j[3] - a[4] - b[4], j[4] - a[5] - b[7], j[5] - a[8] - b[8])  # fmt: skip
    return j, moved, m


@straight
def less_outer(j, h, m, um, uf, d):
    """Return [[J, H], [H^T, M]] - d U U^T for U = (um, uf)."""
    x, y = scale(d, um), scale(d, uf)
    j = (j[0] - x[0] * um[0], j[1] - x[0] * um[1], j[2] - x[0] * um[2],
         j[3] - x[1] * um[1], j[4] - x[1] * um[2], j[5] - x[2] * um[2])  # fmt: skip
    h = (h[0] - x[0] * uf[0], h[1] - x[0] * uf[1], h[2] - x[0] * uf[2],
         h[3] - x[1] * uf[0], h[4] - x[1] * uf[1], h[5] - x[1] * uf[2],
         h[6] - x[2] * uf[0], h[7] - x[2] * uf[1], h[8] - x[2] * uf[2])  # fmt: skip
    m = (m[0] - y[0] * uf[0], m[1] - y[0] * uf[1], m[2] - y[0] * uf[2],
         m[3] - y[1] * uf[1], m[4] - y[1] * uf[2], m[5] - y[2] * uf[2])  # fmt: skip
    return j, h, m


@straight
def get_twist(work, i, k):
    """Return six scalars of a row as a pair of 3-vectors."""
    return get3(work, i, k), get3(work, i, k + 3)


@straight
def put_twist(work, i, k, x):
    """Store a pair of 3-vectors."""
    put3(work, i, k, x[0])
    put3(work, i, k + 3, x[1])


@straight
def add_twist(work, i, k, x):
    """Add a pair of 3-vectors to what is stored."""
    put3(work, i, k, add(get3(work, i, k), x[0]))
    put3(work, i, k + 3, add(get3(work, i, k + 3), x[1]))


@inline
def clear_twist(work, i, k):
    """Store zeros."""
    for c in range(k, k + 6):
        put2(work, i, c, 0.0)


@straight
def bracket(x, y):
    """Return [x, y] = ad_x y of two twists."""
    return twist_cross(x[0], x[1], y[0], y[1])


@straight
def on_wrench(x, f):
    """Return -ad*_x f."""
    return wrench_cross(x[0], x[1], f[0], f[1])


@straight
def plus(x, y):
    """Return x + y."""
    return add(x[0], y[0]), add(x[1], y[1])


@straight
def minus(x, y):
    """Return x - y."""
    return sub(x[0], y[0]), sub(x[1], y[1])


@straight
def times(s, x):
    """Return s x."""
    return scale(s, x[0]), scale(s, x[1])


@straight
def power(x, f):
    """Return x . f."""
    return dot(x[0], f[0]) + dot(x[1], f[1])


@straight
def outward(r, p, x):
    """Return Ad_T x for T = (R, p)."""
    w = rotate(r, x[0])
    return w, add(rotate(r, x[1]), cross(p, w))


@straight
def inward(r, p, x):
    """Return Ad_{T^-1} x for T = (R, p)."""
    return twist_into(r, p, x[0], x[1])
