"""Derivatives of inverse dynamics along arbitrary parameters, Kim Table 5, seen from one inertial frame.

There Kim's dh_i/dp, dS_i/dp and so on need no transforms between bodies. All that a parameter does to the motion of
body b are three twists, sums over the joints on its path,

    dV_b = [E_b, V_b] + u_b,    d(dV_b/dt) = [E_b, A_b] + [u_b, V_b] + a_b,

with E the displacement, for which u takes back what the body's base would contribute if it were displaced too. A
displacement turns the wrench with the body; what is left is linear in u and a.
"""

from __future__ import annotations

import numpy as np

from ....engine.compile import inline, kernel, outline
from ....engine.lanes import get, get2, get3, get9, lift, put, put2, put3, vector_space, workspace
from ....engine.tiles import load_tile, store_tile, tile_width
from ....model.layout import (
    ARMATURE,
    BAD_QUATERNION,
    BODY,
    GRAVITY,
    N_V,
    NOT_FINITE,
    OK,
    ORIGIN,
    PARENT,
    PLACEMENT,
    Q_INDEX,
    REFERENCE,
)
from ..common.joints import constants3, constants9, custom_rate, is_custom
from ..common.spatial import (
    add,
    add_twist,
    bracket,
    clear_twist,
    cross,
    get_twist,
    matmul,
    momentum,
    on_wrench,
    outward,
    plus,
    power,
    put_twist,
    rotate,
    scale,
    sub,
    times,
    twist_into,
    wrench_out,
)
from ..common.states import quaternions_fit
from ..common.world import (
    RATE,
    J,
    P,
    R,
    V,
    inertia_times,
    moved,
    moving_rows,
    reference_point,
)
from ..inverse_dynamics import external_wrench

# The table of seeds: what a parameter changes in a tree to first order, one entry for each change. The kernel adds the
# entries up on its way through the tree; those of a parameter are sorted by row.

# Columns of an entry.
ROW = 0  # row where it acts: on that row and all beyond it
WHAT = 1
SOURCE = 2  # row whose screw J is meant
BASE = 3  # row of what the change leaves at rest: the parent of the joint
TOP = 4  # row in whose kernel frame data are given, and with which the screw turns: that of the joint's body
OFFSET = 5  # where the data begin in the values of each state, -1 for those that follow here
DATA = 6  # ten columns
SIZE = 16

# What changes.
Q = 0.0  # a coordinate along `integrate`, by data[0]
QD = 1.0
QDD = 2.0
JOINT_TWIST = 3.0  # T_{lambda, row}, by a twist of the joint at its zero, in the kernel frame as it is there
BODY_TWIST = 4.0  # T_{lambda, row}, by T^-1 dT in the kernel frame of TOP
AFTER_TWIST = 5.0  # the frame of ROW after its own step, by a twist in its kernel frame
PITCH = 6.0  # translation for each unit of the coordinate, by data[0]
SUBSPACE = 7.0  # S, by a twist in the kernel frame of TOP
SUBSPACE_RATE = 8.0  # dS/dt, likewise
INERTIA = 9.0  # mass, first moment, xx, xy, xz, yy, yz, zz in the kernel frame of ROW
BODY_WRENCH = 10.0  # external wrench in the kernel frame of ROW
WORLD_WRENCH = 11.0  # external wrench in the world frame, about its origin
ALIGNED_WRENCH = 12.0  # external wrench in the world's axes, about the origin of the body
GRAVITY_CHANGE = 13.0  # at row 0

# How external wrenches follow a body that is displaced.
HELD_BY_BODY = 0  # same components in the body frame
HELD_BY_WORLD = 1  # same components in the world frame, about its origin
HELD_ALIGNED = 2  # same force and moment in the world's axes, at the body's origin

# Columns of the workspace beyond those of `world` that are needed: acceleration with gravity, a body's own wrench and
# that of all beyond it, its external wrench; then what belongs to one parameter: E, u, a and the change of the wrench.
A, F, _FC, _X, E, U, B, _G = 40, 46, 52, 58, 64, 70, 76, 82
COLUMNS = 88


@outline
def motion(rows, q, qd, qdd, f_ext, work):
    """Fill poses, screws, velocities, accelerations and own wrenches of all rows, seen from the inertial frame."""
    n = int(rows[0, N_V])
    moving_rows(rows, q, qd, work)
    clear_twist(work, 0, A)
    for k in range(3):
        put2(work, 0, A + 3 + k, -rows[0, GRAVITY + k])
    loaded = f_ext.shape[0] > 0
    for i in range(1, n + 1):
        step = plus(times(get(qdd, i - 1), get_twist(work, i, J)), times(get(qd, i - 1), get_twist(work, i, RATE)))
        put_twist(work, i, A, plus(get_twist(work, int(rows[i, PARENT]), A), step))
        clear_twist(work, i, F)
        clear_twist(work, i, _X)
        if rows[i, BODY] >= 0.0:
            v, a = get_twist(work, i, V), get_twist(work, i, A)
            f = plus(on_wrench(v, inertia_times(work, i, v[0], v[1])), inertia_times(work, i, a[0], a[1]))
            if loaded:
                m, x = external_wrench(rows, i, f_ext)
                m, x = wrench_out(get9(work, i, R), get3(work, i, P), m, x)
                put_twist(work, i, _X, (m, x))
                f = sub(f[0], m), sub(f[1], x)
            put_twist(work, i, F, f)


@outline
def sum_wrenches(rows, work):
    """Fill the wrench of each row and all beyond it."""
    n = int(rows[0, N_V])
    for i in range(1, n + 1):
        put_twist(work, i, _FC, get_twist(work, i, F))
    for i in range(n, 0, -1):
        parent = int(rows[i, PARENT])
        if parent > 0:
            add_twist(work, parent, _FC, get_twist(work, i, _FC))


@inline
def datum(table, entry, values, k, like):
    """Return number `k` of an entry, from the table or from the values of the state."""
    offset = int(table[entry, OFFSET])
    if offset >= 0:
        return get(values, offset + k)
    return lift(table[entry, DATA + k], like)


@inline
def triple(table, entry, values, k, like):
    """Return three numbers of an entry."""
    return (
        datum(table, entry, values, k, like),
        datum(table, entry, values, k + 1, like),
        datum(table, entry, values, k + 2, like),
    )


@outline
def displace(work, i, x, base):
    """Add a displacement x of row `i` and all beyond it, whose base stays. Kim (87)."""
    v = get_twist(work, base, V)
    u = bracket(v, x)
    add_twist(work, i, E, x)
    add_twist(work, i, U, u)
    add_twist(work, i, B, plus(bracket(get_twist(work, base, A), x), bracket(v, u)))


@outline
def move(work, i, x, base, top):
    """Add the twist x to what row `i` and all beyond it have, x turning with row `top`."""
    add_twist(work, i, U, x)
    add_twist(work, i, B, plus(bracket(get_twist(work, base, V), x), bracket(get_twist(work, top, V), x)))


@outline
def change_screw(given, work, i, x, base, top, out, at):
    """Let x be the change of J_i."""
    _, qd, qdd, _ = given
    move(work, i, times(get(qd, i - 1), x), base, top)
    add_twist(work, i, B, times(get(qdd, i - 1), x))
    put(out, at, get(out, at) + power(x, get_twist(work, i, _FC)))


@outline
def apply_seed(rows, table, e, given, work, out, at):
    """Add what entry `e` changes at its row; `at` is where the row's result is."""
    q, qd, _, values = given
    what, i = table[e, WHAT], int(table[e, ROW])
    source, base, top = int(table[e, SOURCE]), int(table[e, BASE]), int(table[e, TOP])
    like = get2(work, 0, R)
    s = datum(table, e, values, 0, like)
    if what <= QDD:
        x = times(s, get_twist(work, source, J))
        if what == Q:
            displace(work, i, x, base)
        elif what == QD:
            move(work, i, x, base, top)
            if is_custom(rows, source):
                y = custom_rate(rows, source, q)
                add_twist(work, i, B, times(s, outward(get9(work, top, R), get3(work, top, P), y)))
        else:
            add_twist(work, i, B, x)
            put(out, at, get(out, at) + rows[i, ARMATURE] * s)
        return
    if what == GRAVITY_CHANGE:
        g = triple(table, e, values, 0, like)
        put3(work, 0, B + 3, sub(get3(work, 0, B + 3), g))
        return
    r, p = get9(work, top, R), get3(work, top, P)
    if what == PITCH:
        z = (s * r[2], s * r[5], s * r[8])
        zero = lift(0.0, like)
        x = ((zero, zero, zero), z)
        displace(work, i, times(get(q, int(rows[i, Q_INDEX])), x), base)
        change_screw(given, work, i, x, base, top, out, at)
        return
    x = triple(table, e, values, 0, like), triple(table, e, values, 3, like)
    if what <= SUBSPACE_RATE:
        if what == JOINT_TWIST:
            r = get9(work, source, R)
            if i > int(rows[i, REFERENCE]):
                p = add(get3(work, source, P), rotate(r, constants3(rows, i, ORIGIN)))
            else:
                p = scale(-1.0, rotate(r, moved(rows, i, q)))
            r = matmul(r, constants9(rows, i, PLACEMENT))
        elif what == AFTER_TWIST and i < int(rows[i, REFERENCE]):
            p = scale(-1.0, rotate(r, moved(rows, i + 1, q)))
        x = outward(r, p, x)
        if what <= AFTER_TWIST:
            displace(work, i, x, base)
        elif what == SUBSPACE:
            change_screw(given, work, i, x, base, top, out, at)
        else:
            add_twist(work, i, B, times(get(qd, i - 1), x))
        return
    if what == INERTIA:
        h = x[0][1], x[0][2], x[1][0]
        y = triple(table, e, values, 6, like)
        c = x[1][1], x[1][2], y[0], y[1], y[2], datum(table, e, values, 9, like)
        v = twist_into(r, p, get3(work, i, V), get3(work, i, V + 3))
        a = twist_into(r, p, get3(work, i, A), get3(work, i, A + 3))
        f = plus(on_wrench(v, momentum(s, h, c, v[0], v[1])), momentum(s, h, c, a[0], a[1]))
        add_twist(work, i, _G, wrench_out(r, p, f[0], f[1]))
        return
    if what == BODY_WRENCH:
        x = wrench_out(r, p, x[0], x[1])
    elif what == WORLD_WRENCH:
        x = add(x[0], cross(x[1], reference_point(rows, i, q)[0])), x[1]
    else:
        x = add(x[0], cross(p, x[1])), x[1]
    add_twist(work, i, _G, times(lift(-1.0, like), x))


@outline
def wrench_change(i, hold, work):
    """Add to row `i` how its body's wrench changes with its motion."""
    e, u, v = get_twist(work, i, E), get_twist(work, i, U), get_twist(work, i, V)
    a = plus(bracket(u, v), get_twist(work, i, B))
    f = plus(on_wrench(e, get_twist(work, i, F)), inertia_times(work, i, a[0], a[1]))
    f = plus(f, on_wrench(u, inertia_times(work, i, v[0], v[1])))
    f = plus(f, on_wrench(v, inertia_times(work, i, u[0], u[1])))
    if hold != HELD_BY_BODY:
        x = get_twist(work, i, _X)
        f = plus(f, on_wrench(e, x))
        if hold == HELD_ALIGNED:
            p = get3(work, i, P)
            f = sub(f[0], cross(add(e[1], cross(e[0], p)), x[1])), f[1]
    add_twist(work, i, _G, f)


@inline
def spread_changes(rows, table, entries, given, work, state, out, shift):
    """Fill what the entries of one parameter change: outwards from the base.

    `entries` are the first, that after the last, and how external wrenches are held; `given` is a state: q, qd, qdd and
    its values. `state` becomes 1 at rows that move. Results begin in row `shift` + 1 of `out`; to them goes how screws
    change.
    """
    e, end, hold = entries
    state[0] = 0
    for c in range(E, _G):
        put2(work, 0, c, 0.0)
    while e < end and table[e, ROW] == 0.0:
        apply_seed(rows, table, e, given, work, out, 0)
        state[0] = 1
        e += 1
    for i in range(1, int(rows[0, N_V]) + 1):
        parent = int(rows[i, PARENT])
        put(out, shift + i, 0.0)
        seeded = e < end and table[e, ROW] == i
        state[i] = 1 if seeded or state[parent] == 1 else 0
        if state[i] == 0:
            continue
        clear_twist(work, i, _G)
        for c in range(E, _G):
            put2(work, i, c, get2(work, parent, c) if state[parent] == 1 else lift(0.0, get2(work, i, R)))
        while e < end and table[e, ROW] == i and table[e, WHAT] != AFTER_TWIST:
            apply_seed(rows, table, e, given, work, out, shift + i)
            e += 1
        turned = power(bracket(get_twist(work, i, E), get_twist(work, i, J)), get_twist(work, i, _FC))
        put(out, shift + i, get(out, shift + i) + turned)
        while e < end and table[e, ROW] == i:
            apply_seed(rows, table, e, given, work, out, shift + i)
            e += 1
        if rows[i, BODY] >= 0.0:
            wrench_change(i, hold, work)


@inline
def add_change(work, state, i, g):
    """Add to how the wrench on row `i` changes."""
    if state[i] == 0:
        clear_twist(work, i, _G)
        state[i] = 2
    add_twist(work, i, _G, g)


@inline
def collect_changes(rows, work, state, out, shift):
    """Add to the results how wrenches change: inwards to the base."""
    for i in range(int(rows[0, N_V]), 0, -1):
        if state[i] == 0:
            continue
        g = get_twist(work, i, _G)
        put(out, shift + i, get(out, shift + i) + power(get_twist(work, i, J), g))
        parent = int(rows[i, PARENT])
        if parent > 0:
            add_change(work, state, parent, g)


@inline
def sensitivity_core(rows, table, starts, given, f_ext, out, work, state):
    """Fill `out` (parameters nv) for one tile of states; rows and wrenches that do not change are left out."""
    if rows[0, N_V] == 0.0:
        return
    q, qd, qdd, _ = given
    motion(rows, q, qd, qdd, f_ext, work)
    sum_wrenches(rows, work)
    for k in range(starts.shape[0] - 2):
        shift = k * int(rows[0, N_V]) - 1
        spread_changes(rows, table, (starts[k + 1], starts[k + 2], starts[0]), given, work, state, out, shift)
        collect_changes(rows, work, state, out, shift)


@kernel(
    "(float64[:,::1], float64[:,::1], int64[::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1],"
    " float64[:,::1], float64[:,::1])"
)
def sensitivity_batch(rows, table, starts, q, qd, qdd, f_ext, values, y):
    """Write the change of tau along each parameter (states, parameters nv) to `y` and return a status of `layout`.

    `starts` holds how external wrenches are held, then where the entries of each parameter begin, and their end.
    """
    status = OK
    count = q.shape[0]
    width = tile_width(count)
    tq = vector_space(q.shape[1], np.empty((0, width), y.dtype))
    ta, tb = vector_space(qd.shape[1], tq), vector_space(qdd.shape[1], tq)
    tc, td = vector_space(f_ext.shape[1], tq), vector_space(values.shape[1], tq)
    ty = vector_space(y.shape[1], tq)
    n = int(rows[0, N_V]) + 1
    work = workspace(n, COLUMNS, tq)
    state = np.zeros(n, np.int64)
    for start in range(0, count, width):
        if not quaternions_fit(rows, q, start, min(start + width, count)):
            status = max(status, BAD_QUATERNION)
            continue
        load_tile(q, start, tq)
        load_tile(qd, start, ta)
        load_tile(qdd, start, tb)
        load_tile(f_ext, start, tc)
        load_tile(values, start, td)
        sensitivity_core(rows, table, starts, (tq, ta, tb, td), tc, ty, work, state)
        if not store_tile(ty, start, y):
            status = max(status, NOT_FINITE)
    return status
