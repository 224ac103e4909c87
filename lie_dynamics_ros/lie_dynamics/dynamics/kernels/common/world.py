"""Screws, velocities and inertias of all rows in the inertial frame of their tree.

There sums over bodies need no transforms: composite inertias are plain sums, and a row's part in them
is a product with its screw. Each tree on the world has such a frame of its own, with the world's axes and the origin at
its reference point (see `layout`), so that a robot far from the world's origin loses no digits.
"""

from __future__ import annotations

from ....engine.compile import inline, outline, straight
from ....engine.lanes import add3, add6, get, get2, get3, get6, get9, lift, put2, put3, put6, put9
from ....model.layout import (
    AXIS,
    AXIS_V,
    AXIS_W,
    BODY,
    INERTIA,
    KIND,
    LAST,
    MASS,
    MOMENT,
    N_V,
    ORIGIN,
    PARENT,
    PLACEMENT,
    Q_INDEX,
    REFERENCE,
)
from .joints import (
    constants3,
    constants6,
    constants9,
    custom_rate,
    has_transform,
    is_custom,
    motion_of,
    passing_transform,
    prepare_transforms,
    row_transform,
    subspace,
)
from .spatial import add, congruence, cross, dot, matmul, rotate, scale, sub, symmetric_times, twist_cross

#: Columns of the workspace: pose, screw J, composite inertia, velocity, dJ/dt, and the D and l of `coriolis`.
R, P, J, MASS_C, MOMENT_C, INERTIA_C = 0, 9, 12, 18, 19, 22
INERTIA_COLUMNS = 28
V, RATE, D, L = 28, 34, 40, 49
COLUMNS = 52


@outline
def moved(rows, i, q):
    """Return where the reference point is, seen from the joint of row `i` at its zero, in the axes of its parent row.

    Zero for rows beyond the reference point's.
    """
    zero = lift(0.0, get(q, 0))
    one = lift(1.0, get(q, 0))
    r, p = (one, zero, zero, zero, one, zero, zero, zero, one), (zero, zero, zero)
    last = int(rows[i, REFERENCE])
    for k in range(i, last + 1):
        a = constants9(rows, k, PLACEMENT)
        if rows[k, KIND] == AXIS:
            d = rows[k, AXIS_V] * get(q, int(rows[k, Q_INDEX]))
            p = add(p, rotate(r, (a[2] * d, a[5] * d, a[8] * d)))
            if k < last:
                r = matmul(r, row_transform(rows, k, q)[0])
        elif has_transform(rows, k):  # all rows of the joint share the frame
            p = add(p, rotate(a, motion_of(rows, k, q)))
    return p


@straight
def sum_and_rest(x, y):
    """Return x + y rounded, and what rounding took: Knuth's sum."""
    s = add(x, y)
    t = sub(s, x)
    return s, add(sub(x, sub(s, t)), sub(y, t))


@inline
def reference_point(rows, i, q):
    """Return the origin of the inertial frame of row `i`, seen from the world, and what rounding took from it."""
    first = int(rows[i, REFERENCE])
    while rows[first, PARENT] > 0.0:
        first = int(rows[first, PARENT])
    if rows[first, AXIS_W] != 0.0 and rows[first, AXIS_V] == 0.0 and int(rows[first, REFERENCE]) == first:  # a hinge
        zero = lift(0.0, get(q, 0))
        p = (zero, zero, zero)
        return add(constants3(rows, first, ORIGIN), p), p
    return sum_and_rest(constants3(rows, first, ORIGIN), moved(rows, first, q))


@inline
def from_first(rows, i, q, origin):
    """Return the origin of the inertial frame of row `i` seen from that of row 1, which is `reference_point` there."""
    place, rest = reference_point(rows, i, q)
    return add(sub(place, origin[0]), sub(rest, origin[1]))


@inline
def poses_and_screws(rows, q, work):
    """Fill each row's pose and screw J = Ad_T S, seen from the inertial frame of its tree.

    The origins of rows before the reference point's are put there too: their screws are the same.
    """
    prepare_transforms(rows, q, work, R)
    zero = lift(0.0, get(q, 0))
    one = lift(1.0, get(q, 0))
    put9(work, 0, R, (one, zero, zero, zero, one, zero, zero, zero, one))
    put3(work, 0, P, (zero, zero, zero))
    for i in range(1, int(rows[0, N_V]) + 1):
        parent = int(rows[i, PARENT])
        r, p = get9(work, parent, R), get3(work, parent, P)
        if has_transform(rows, i):
            rr, pp = passing_transform(rows, i, q, work, R)
            if i > int(rows[i, REFERENCE]):
                p = add(p, rotate(r, pp))
            r = matmul(r, rr)
        put9(work, i, R, r)
        put3(work, i, P, p)
        put_screw(rows, i, q, r, p, work)


@inline
def put_screw(rows, i, q, r, p, work):
    """Fill J of row `i`; further rows of a ball, free or user's joint share the frame of its first."""
    if rows[i, KIND] == AXIS:
        z = (r[2], r[5], r[8])
        w = scale(rows[i, AXIS_W], z)
        v = add(scale(rows[i, AXIS_V], z), cross(p, w))
    else:
        sw, sv = subspace(rows, i, q, p[0])
        w = rotate(r, sw)
        v = add(rotate(r, sv), cross(p, w))
    put3(work, i, J, w)
    put3(work, i, J + 3, v)


@inline
def own_inertias(rows, work):
    """Fill each row's own mass, first moment and rotational inertia, zero for rows without a body."""
    for i in range(1, int(rows[0, N_V]) + 1):
        p = get3(work, i, P)
        if rows[i, BODY] < 0.0:
            zero = lift(0.0, p[0])
            put2(work, i, MASS_C, zero)
            put3(work, i, MOMENT_C, (zero, zero, zero))
            put6(work, i, INERTIA_C, (zero, zero, zero, zero, zero, zero))
            continue
        r = get9(work, i, R)
        mass = rows[i, MASS]
        t, s = inertia_at(r, p, mass, constants3(rows, i, MOMENT), constants6(rows, i, INERTIA))
        put2(work, i, MASS_C, mass)
        put3(work, i, MOMENT_C, t)
        put6(work, i, INERTIA_C, s)


@straight
def inertia_at(r, p, mass, h, s):
    """Return moment and inertia, given in a frame at (R, p), seen from where the frame is: Steiner's theorem."""
    h, s = rotate(r, h), congruence(r, s)
    t = add(h, scale(mass, p))
    a = dot(h, p) + dot(t, p)
    return t, (
        s[0] + a - h[0] * p[0] - p[0] * t[0],
        s[1] - h[0] * p[1] - p[0] * t[1],
        s[2] - h[0] * p[2] - p[0] * t[2],
        s[3] + a - h[1] * p[1] - p[1] * t[1],
        s[4] - h[1] * p[2] - p[1] * t[2],
        s[5] + a - h[2] * p[2] - p[2] * t[2],
    )


@inline
def composite_inertias(rows, q, work):
    """Fill poses, screws and inertias, each row's with those of all rows beyond."""
    poses_and_screws(rows, q, work)
    own_inertias(rows, work)
    for i in range(int(rows[0, N_V]), 0, -1):
        parent = int(rows[i, PARENT])
        if parent > 0:
            put2(work, parent, MASS_C, get2(work, parent, MASS_C) + get2(work, i, MASS_C))
            add3(work, parent, MOMENT_C, get3(work, i, MOMENT_C))
            add6(work, parent, INERTIA_C, get6(work, i, INERTIA_C))


@straight
def inertia_times(work, i, w, v):
    """Return the inertia kept in row `i` times a twist."""
    h = get3(work, i, MOMENT_C)
    m = add(symmetric_times(get6(work, i, INERTIA_C), w), cross(h, v))
    return m, sub(scale(get2(work, i, MASS_C), v), cross(h, w))


@inline
def velocities(rows, qd, work):
    """Fill each row's twist in the inertial frame."""
    for k in range(V, V + 6):
        put2(work, 0, k, 0.0)
    for i in range(1, int(rows[0, N_V]) + 1):
        parent = int(rows[i, PARENT])
        x = get(qd, i - 1)
        put3(work, i, V, add(get3(work, parent, V), scale(x, get3(work, i, J))))
        put3(work, i, V + 3, add(get3(work, parent, V + 3), scale(x, get3(work, i, J + 3))))


@inline
def screw_rates(rows, q, work):
    """Fill dJ/dt: a joint's S is fixed in the frame of the body that the joint carries, or changes as its user says."""
    for i in range(1, int(rows[0, N_V]) + 1):
        last = int(rows[i, LAST])
        w, v = get3(work, last, V), get3(work, last, V + 3)
        rw, rv = twist_cross(w, v, get3(work, i, J), get3(work, i, J + 3))
        if is_custom(rows, i):
            sw, sv = custom_rate(rows, i, q)
            r, p = get9(work, i, R), get3(work, i, P)
            sw = rotate(r, sw)
            rw, rv = add(rw, sw), add(rv, add(rotate(r, sv), cross(p, sw)))
        put3(work, i, RATE, rw)
        put3(work, i, RATE + 3, rv)


@inline
def moving_rows(rows, q, qd, work):
    """Fill poses, screws, their rates, velocities and own inertias."""
    poses_and_screws(rows, q, work)
    velocities(rows, qd, work)
    screw_rates(rows, q, work)
    own_inertias(rows, work)
