"""Recursive inverse dynamics, Kim Table 2, and the joint forces that hold a robot at rest."""

from __future__ import annotations

from ...engine.compile import inline, kernel
from ...engine.lanes import add3, get, get2, get3, get9, lift, put, put2, put3, workspace
from ...model.layout import (
    ARMATURE,
    AXIS,
    AXIS_V,
    AXIS_W,
    BAD_QUATERNION,
    BODY,
    BODY_ROTATION,
    FIRST,
    GRAVITY,
    INERTIA,
    KIND,
    LAST,
    MASS,
    MOMENT,
    N_V,
    NOT_FINITE,
    OK,
    PARENT,
)
from .common.joints import (
    add_bias,
    add_step,
    check_quaternions,
    constants3,
    constants6,
    constants9,
    has_transform,
    prepare_transforms,
    project,
    transform,
)
from .common.spatial import acceleration_into, add, body_wrench, cross, rotate, scale, sub, unrotate, wrench_out
from .common.states import NONE_GIVEN, all_finite, make_batch, make_single, wrench_fits

# Columns of the workspace.
_R, _P, _W, _V, _DW, _DV, _M, _F, _AW = 0, 9, 12, 15, 18, 21, 24, 27, 30
_COLUMNS = 33


@inline
def set_base(rows, work):
    """Put the inertial frame at rest, accelerated against gravity, into row 0. Kim, footnote to (41)."""
    for k in range(_W, _DV):
        put2(work, 0, k, 0.0)
    for k in range(3):
        put2(work, 0, _DV + k, -rows[0, GRAVITY + k])
    for k in range(_M, _AW):
        put2(work, 0, k, 0.0)


@inline
def external_wrench(rows, i, f_ext):
    """Return the external wrench on the body of row `i` in its kernel frame; `f_ext` holds six numbers a body."""
    body = int(rows[i, BODY])
    r = constants9(rows, i, BODY_ROTATION)
    k = 6 * body
    m = (get(f_ext, k), get(f_ext, k + 1), get(f_ext, k + 2))
    f = (get(f_ext, k + 3), get(f_ext, k + 4), get(f_ext, k + 5))
    return rotate(r, m), rotate(r, f)


@inline
def add_joint_motion(rows, i, q, w, v, dw, dv, aw, x, y):
    """Add what row `i` does at rate x and acceleration y; `aw` is the parent's w, seen from the joint's frame.

    `v` is relative to the parent, and complete with the last row: then dv is that of the joint's frame's origin.
    """
    if rows[i, KIND] == AXIS:
        turn, slide = rows[i, AXIS_W], rows[i, AXIS_V]
        a, b = turn * x, 2.0 * slide * x
        dw = (dw[0] + aw[1] * a, dw[1] - aw[0] * a, dw[2] + turn * y)
        dv = (dv[0] + aw[1] * b, dv[1] - aw[0] * b, dv[2] + slide * y)
        return (w[0], w[1], w[2] + a), v, dw, dv
    zero = lift(0.0, x)
    dw, dv = add_bias(rows, i, q, dw, dv, aw, (zero, zero, zero), x)
    dw, dv = add_step(rows, i, q, dw, dv, y)
    w, v = add_step(rows, i, q, w, v, x)
    if i == int(rows[i, LAST]):
        dv = add(dv, cross(w, v))
    return w, v, dw, dv


@inline
def inverse_dynamics_core(rows, q, qd, qdd, f_ext, out, work):
    """Fill `out` with the joint forces of one state, or of one tile of states.

    Kim sees V and dV/dt from one inertial frame. Here each frame is seen from an inertial one that moves as its origin
    does at the moment: its v is zero and need not be passed on, and its dv is the acceleration of the origin.
    """
    n = int(rows[0, N_V])
    prepare_transforms(rows, q, work, _R)
    set_base(rows, work)
    loaded = f_ext.shape[0] > 0

    for i in range(1, n + 1):
        parent = int(rows[i, PARENT])
        x, y = get(qd, i - 1), get(qdd, i - 1)
        w, dw, dv = get3(work, parent, _W), get3(work, parent, _DW), get3(work, parent, _DV)
        if not has_transform(rows, i):
            v = get3(work, parent, _V)
            aw = get3(work, int(rows[i, FIRST]), _AW)
        else:
            r, p = transform(rows, i, q, work, _R)
            if parent == 0:  # at rest, and only accelerated against gravity
                dv = unrotate(r, dv)
            else:
                dv = acceleration_into(r, p, w, dw, dv)
                w, dw = unrotate(r, w), unrotate(r, dw)
            zero = lift(0.0, x)
            v, aw = (zero, zero, zero), w
        w, v, dw, dv = add_joint_motion(rows, i, q, w, v, dw, dv, aw, x, y)
        if i != int(rows[i, LAST]):  # further rows of the joint want to know
            put3(work, i, _V, v)
            if has_transform(rows, i):
                put3(work, i, _AW, aw)
        put3(work, i, _W, w)
        put3(work, i, _DW, dw)
        put3(work, i, _DV, dv)

        if rows[i, BODY] >= 0.0:
            mass, moment, inertia = rows[i, MASS], constants3(rows, i, MOMENT), constants6(rows, i, INERTIA)
            m, f = body_wrench(mass, moment, inertia, w, dw, dv)
            if loaded:
                em, ef = external_wrench(rows, i, f_ext)
                m, f = sub(m, em), sub(f, ef)
            put3(work, i, _M, m)
            put3(work, i, _F, f)
        else:
            for k in range(_M, _AW):
                put2(work, i, k, 0.0)

    for i in range(n, 0, -1):
        m, f = get3(work, i, _M), get3(work, i, _F)
        put(out, i - 1, project(rows, i, q, m, f) + rows[i, ARMATURE] * get(qdd, i - 1))
        parent = int(rows[i, PARENT])
        if parent > 0:
            if has_transform(rows, i):
                m, f = wrench_out(get9(work, i, _R), get3(work, i, _P), m, f)
            add3(work, parent, _M, m)
            add3(work, parent, _F, f)


_one = make_single(inverse_dynamics_core, _COLUMNS, "q a b f_ext y")


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1])", quick=True, fresh=1, size=N_V)
def inverse_dynamics_unloaded(rows, q, qd, qdd, out):
    """Write tau of one state without external wrenches to `out` and return a status of `layout`."""
    fit = rows[0, N_V] == qd.shape[0] == qdd.shape[0] == out.shape[0]
    return _one(rows, q, qd, qdd, q[:0], q, NONE_GIVEN, out, out, fit)


@kernel(
    "(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[:,::1], float64[::1])",
    quick=True,
    fresh=1,
    size=N_V,
)
def inverse_dynamics(rows, q, qd, qdd, f_ext, out):
    """Write tau of one state with external wrenches to `out` and return a status of `layout`."""
    fit = rows[0, N_V] == qd.shape[0] == qdd.shape[0] == out.shape[0] and wrench_fits(rows, f_ext)
    return _one(rows, q, qd, qdd, f_ext.reshape(f_ext.size), q, NONE_GIVEN, out, out, fit)


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[:,::1], float64[::1])")
def any_inverse_dynamics(rows, q, qd, qdd, f_ext, out):
    """Evaluate a state of any size, arguments as `inverse_dynamics` and of the right shapes; return its status."""
    if not check_quaternions(rows, q):
        return BAD_QUATERNION
    work = workspace(out.shape[0] + 1, _COLUMNS, q)
    inverse_dynamics_core(rows, q, qd, qdd, f_ext.reshape(f_ext.size), out, work)
    return OK if all_finite(out) else NOT_FINITE


inverse_dynamics_batch = make_batch(inverse_dynamics_core, _COLUMNS, "q a b f_ext y")


# Columns of the workspace: transform, acceleration against gravity, mass and first moment of all bodies beyond.
_A, _MASS, _MOMENT, _GRAVITY_COLUMNS = 12, 15, 16, 19


@inline
def gravity_force_core(rows, q, out, work):
    """Fill `out` with the joint forces of one state, or of one tile of states."""
    n = int(rows[0, N_V])
    prepare_transforms(rows, q, work, _R)
    for k in range(3):
        put2(work, 0, _A + k, -rows[0, GRAVITY + k])
    for i in range(1, n + 1):
        a = get3(work, int(rows[i, PARENT]), _A)
        if has_transform(rows, i):
            r, _ = transform(rows, i, q, work, _R)
            a = unrotate(r, a)
        put3(work, i, _A, a)
        put2(work, i, _MASS, rows[i, MASS])
        put3(work, i, _MOMENT, constants3(rows, i, MOMENT))
    for i in range(n, 0, -1):
        a, mass, h = get3(work, i, _A), get2(work, i, _MASS), get3(work, i, _MOMENT)
        put(out, i - 1, project(rows, i, q, cross(h, a), scale(mass, a)))
        parent = int(rows[i, PARENT])
        if parent > 0:
            if has_transform(rows, i):
                h = add(rotate(get9(work, i, _R), h), scale(mass, get3(work, i, _R + 9)))
            put2(work, parent, _MASS, get2(work, parent, _MASS) + mass)
            add3(work, parent, _MOMENT, h)


_one_gravity = make_single(gravity_force_core, _GRAVITY_COLUMNS, "q y")


@kernel("(float64[:,::1], float64[::1], float64[::1])", quick=True, fresh=1, size=N_V)
def gravity_force(rows, q, out):
    """Write the joint forces of one state to `out` and return a status of `layout`."""
    return _one_gravity(rows, q, q, q, q, q, NONE_GIVEN, out, out, out.shape[0] == rows[0, N_V])


gravity_force_batch = make_batch(gravity_force_core, _GRAVITY_COLUMNS, "q y")
