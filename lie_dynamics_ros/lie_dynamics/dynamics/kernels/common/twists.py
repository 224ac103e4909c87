"""Twists and wrenches as pairs of 3-vectors, angular part first, and where they are kept in a workspace."""

from __future__ import annotations

from ....engine.compile import inline, straight
from ....engine.lanes import get3, put2, put3
from .spatial import add, cross, dot, rotate, scale, sub, twist_cross, twist_into, wrench_cross


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
