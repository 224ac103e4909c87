"""3-vectors, 3x3 matrices and twists as tuples of scalars (see `lanes`), for use inside kernels.

A matrix is nine scalars by rows; a twist or wrench is a pair of 3-vectors, angular part first.
"""

from __future__ import annotations

from .compile import inline


@inline
def add(a, b):
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inline
def sub(a, b):
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inline
def scale(s, a):
    """Return s a."""
    return s * a[0], s * a[1], s * a[2]


@inline
def dot(a, b):
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def cross(a, b):
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inline
def rotate(r, a):
    """Return R a."""
    return (
        r[0] * a[0] + r[1] * a[1] + r[2] * a[2],
        r[3] * a[0] + r[4] * a[1] + r[5] * a[2],
        r[6] * a[0] + r[7] * a[1] + r[8] * a[2],
    )


@inline
def unrotate(r, a):
    """Return R^T a."""
    return (
        r[0] * a[0] + r[3] * a[1] + r[6] * a[2],
        r[1] * a[0] + r[4] * a[1] + r[7] * a[2],
        r[2] * a[0] + r[5] * a[1] + r[8] * a[2],
    )


@inline
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


@inline
def transpose(r):
    """Return R^T."""
    return r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8]


@inline
def symmetric_times(s, a):
    """Return the symmetric matrix (xx, xy, xz, yy, yz, zz) times a."""
    return (
        s[0] * a[0] + s[1] * a[1] + s[2] * a[2],
        s[1] * a[0] + s[3] * a[1] + s[4] * a[2],
        s[2] * a[0] + s[4] * a[1] + s[5] * a[2],
    )


@inline
def twist_into(r, p, w, v):
    """Return Ad_{T^-1} (w, v): a twist of the parent's frame seen from a frame at T = (R, p) in it. Kim (11)."""
    return unrotate(r, w), unrotate(r, add(v, cross(w, p)))


@inline
def wrench_out(r, p, m, f):
    """Return Ad*_{T^-1} (m, f): a wrench in a frame at T = (R, p), seen from the parent's. Kim (13)."""
    f = rotate(r, f)
    return add(rotate(r, m), cross(p, f)), f


@inline
def twist_cross(w, v, x, y):
    """Return ad_{(w, v)} (x, y). Kim (27)."""
    return cross(w, x), add(cross(v, x), cross(w, y))


@inline
def wrench_cross(w, v, m, f):
    """Return -ad*_{(w, v)} (m, f). Kim (29)."""
    return add(cross(w, m), cross(v, f)), cross(w, f)


@inline
def momentum(mass, moment, inertia, w, v):
    """Return I (w, v) for a body with generalised inertia (mass, mass times centre, symmetric inertia). Kim (22), (23)."""
    return add(symmetric_times(inertia, w), cross(moment, v)), sub(scale(mass, v), cross(moment, w))
