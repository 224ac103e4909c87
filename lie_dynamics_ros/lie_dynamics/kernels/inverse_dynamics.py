"""Recursive inverse dynamics, Kim Table 2."""

from __future__ import annotations

import numpy as np

from ..model.layout import (
    ARMATURE,
    BAD_QUATERNION,
    BAD_SHAPE,
    BODY,
    BODY_ROTATION,
    FIRST,
    GRAVITY,
    INERTIA,
    LAST,
    MASS,
    MOMENT,
    N_BODIES,
    N_Q,
    N_V,
    NOT_FINITE,
    OK,
    PARENT,
    TOO_LARGE,
)
from .batch import all_finite, make_batch
from .compile import inline, kernel
from .joints import (
    add_bias,
    add_step,
    check_quaternions,
    constants3,
    constants6,
    constants9,
    has_transform,
    project,
)
from .lanes import add3, get, get3, get9, on_stack, put, put2, put3, single_workspace, stack_numbers
from .spatial import add, momentum, rotate, sub, twist_into, unrotate, wrench_cross, wrench_out
from .steps import prepare_transforms, transform

#: Mask for kernels that need none.
NONE_GIVEN = np.zeros(0, np.bool_)

# Columns of the workspace.
_R, _P, _W, _V, _DW, _DV, _M, _F, _AW, _AV = 0, 9, 12, 15, 18, 21, 24, 27, 30, 33
_COLUMNS = 36


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
def wrench_fits(rows, f_ext):
    """Tell whether external wrenches are absent or one for each body."""
    if f_ext.shape[1] == 0:
        return f_ext.shape[0] == 0
    return f_ext.shape[0] == rows[0, N_BODIES] and f_ext.shape[1] == 6


@inline
def inverse_dynamics_core(rows, q, qd, qdd, f_ext, _c, _given, out, _z, work):
    """Fill `out` with the joint forces of one state, or of one tile of states."""
    n = int(rows[0, N_V])
    prepare_transforms(rows, q, work, _R)
    set_base(rows, work)
    loaded = f_ext.shape[0] > 0

    for i in range(1, n + 1):
        parent = int(rows[i, PARENT])
        x, y = get(qd, i - 1), get(qdd, i - 1)
        w, v = get3(work, parent, _W), get3(work, parent, _V)
        dw, dv = get3(work, parent, _DW), get3(work, parent, _DV)
        if not has_transform(rows, i):
            first = int(rows[i, FIRST])
            aw, av = get3(work, first, _AW), get3(work, first, _AV)
        else:
            r, p = transform(rows, i, q, work, _R)
            if parent == 0:  # at rest, and only accelerated against gravity
                dv = unrotate(r, dv)
            else:
                w, v = twist_into(r, p, w, v)
                dw, dv = twist_into(r, p, dw, dv)
            aw, av = w, v
            if i != int(rows[i, LAST]):  # further rows of the joint want to know
                put3(work, i, _AW, aw)
                put3(work, i, _AV, av)
        dw, dv = add_bias(rows, i, q, dw, dv, aw, av, x)
        dw, dv = add_step(rows, i, q, dw, dv, y)
        w, v = add_step(rows, i, q, w, v, x)
        put3(work, i, _W, w)
        put3(work, i, _V, v)
        put3(work, i, _DW, dw)
        put3(work, i, _DV, dv)

        if rows[i, BODY] >= 0.0:
            mass, moment, inertia = rows[i, MASS], constants3(rows, i, MOMENT), constants6(rows, i, INERTIA)
            lm, lf = momentum(mass, moment, inertia, w, v)
            m, f = wrench_cross(w, v, lm, lf)
            am, af = momentum(mass, moment, inertia, dw, dv)
            m, f = add(m, am), add(f, af)
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


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1])", quick=True, fresh=1, size=N_V)
def inverse_dynamics_unloaded(rows, q, qd, qdd, out):
    """Write tau of one state without external wrenches to `out` and return a status of `layout`."""
    n = rows[0, N_V]
    if q.shape[0] != rows[0, N_Q] or qd.shape[0] != n or qdd.shape[0] != n or out.shape[0] != n:
        return BAD_SHAPE
    if not check_quaternions(rows, q):
        return BAD_QUATERNION
    if not on_stack(out.shape[0] + 1, _COLUMNS):
        return TOO_LARGE
    scratch = stack_numbers()
    work = single_workspace(scratch, out.shape[0] + 1, _COLUMNS, q)
    inverse_dynamics_core(rows, q, qd, qdd, q[:0], q, NONE_GIVEN, out, out, work)
    return OK if all_finite(out) else NOT_FINITE


@kernel(
    "(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[:,::1], float64[::1])",
    quick=True,
    fresh=1,
    size=N_V,
)
def inverse_dynamics(rows, q, qd, qdd, f_ext, out):
    """Write tau of one state with external wrenches to `out` and return a status of `layout`."""
    n = rows[0, N_V]
    if q.shape[0] != rows[0, N_Q] or qd.shape[0] != n or qdd.shape[0] != n or out.shape[0] != n:
        return BAD_SHAPE
    if not wrench_fits(rows, f_ext):
        return BAD_SHAPE
    if not check_quaternions(rows, q):
        return BAD_QUATERNION
    if not on_stack(out.shape[0] + 1, _COLUMNS):
        return TOO_LARGE
    scratch = stack_numbers()
    work = single_workspace(scratch, out.shape[0] + 1, _COLUMNS, q)
    inverse_dynamics_core(rows, q, qd, qdd, f_ext.reshape(f_ext.size), q, NONE_GIVEN, out, out, work)
    return OK if all_finite(out) else NOT_FINITE


inverse_dynamics_batch = make_batch(inverse_dynamics_core, _COLUMNS)
