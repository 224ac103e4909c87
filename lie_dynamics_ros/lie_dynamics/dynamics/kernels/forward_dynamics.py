"""Recursive forward and hybrid dynamics, Kim Tables 3 and 4.

A joint of several degrees of freedom is eliminated one coordinate after the other, which is the
factorisation of its (S^T I S)^-1; so each of its coordinates may have its force or its acceleration given.
"""

from __future__ import annotations

import numpy as np

from ...engine.compile import inline, kernel
from ...engine.lanes import (
    add3,
    add6,
    add9,
    get,
    get2,
    get3,
    get6,
    get9,
    lift,
    positive,
    put,
    put2,
    put3,
    put6,
    put9,
    workspace,
)
from ...model.layout import (
    ARMATURE,
    BAD_QUATERNION,
    BODY,
    FIRST,
    GRAVITY,
    INERTIA,
    LAST,
    MASS,
    MOMENT,
    N_V,
    NOT_FINITE,
    OK,
    PARENT,
    ROUND_OFF,
    SINGULAR,
    STATUS_STEP,
)
from .common.joints import (
    add_bias,
    add_step,
    articulated_column,
    check_quaternions,
    constants3,
    constants6,
    has_transform,
    prepare_transforms,
    project,
    transform,
)
from .common.spatial import (
    add,
    articulated_out,
    articulated_times,
    dot,
    less_outer,
    momentum,
    scale,
    sub,
    twist_into,
    unrotate,
    wrench_cross,
    wrench_out,
)
from .common.states import NONE_GIVEN, all_finite, make_batch, make_single, wrench_fits
from .inverse_dynamics import external_wrench

# Columns of the workspace. Accelerations take the place of the velocities in the last sweep.
_R, _P, _W, _V, _AW, _AV, _CW, _CV = 0, 9, 12, 15, 18, 21, 24, 27
_J, _H, _M, _BM, _BF, _UM, _UF, _D, _E = 30, 36, 45, 51, 54, 57, 60, 63, 64
COLUMNS = 65


@inline
def velocities_and_inertias(rows, q, qd, f_ext, work):
    """First sweep, outwards: velocities, eta, and each body's own inertia and bias."""
    prepare_transforms(rows, q, work, _R)
    for k in range(_W, _AW):
        put2(work, 0, k, 0.0)
    loaded = f_ext.shape[0] > 0
    for i in range(1, int(rows[0, N_V]) + 1):
        parent = int(rows[i, PARENT])
        x = get(qd, i - 1)
        w, v = get3(work, parent, _W), get3(work, parent, _V)
        if has_transform(rows, i):
            r, p = transform(rows, i, q, work, _R)
            w, v = twist_into(r, p, w, v)
            aw, av = w, v
            if i != int(rows[i, LAST]):  # further rows of the joint want to know
                put3(work, i, _AW, aw)
                put3(work, i, _AV, av)
        else:
            first = int(rows[i, FIRST])
            aw, av = get3(work, first, _AW), get3(work, first, _AV)
        zero = lift(0.0, x)
        none = (zero, zero, zero)
        cw, cv = add_bias(rows, i, q, none, none, aw, av, x)
        put3(work, i, _CW, cw)
        put3(work, i, _CV, cv)
        w, v = add_step(rows, i, q, w, v, x)
        put3(work, i, _W, w)
        put3(work, i, _V, v)

        mass, h, inertia = rows[i, MASS], constants3(rows, i, MOMENT), constants6(rows, i, INERTIA)
        for k in range(6):
            put2(work, i, _J + k, inertia[k])
        put9(work, i, _H, (0.0, -h[2], h[1], h[2], 0.0, -h[0], -h[1], h[0], 0.0))
        put6(work, i, _M, (mass, 0.0, 0.0, mass, 0.0, mass))
        if rows[i, BODY] >= 0.0:
            lm, lf = momentum(mass, h, inertia, w, v)
            m, f = wrench_cross(w, v, lm, lf)
            if loaded:
                em, ef = external_wrench(rows, i, f_ext)
                m, f = sub(m, em), sub(f, ef)
            put3(work, i, _BM, m)
            put3(work, i, _BF, f)
        else:
            put3(work, i, _BM, none)
            put3(work, i, _BF, none)


@inline
def articulate(rows, q, qdd, tau, given, work):
    """Second sweep, inwards: articulated inertias and biases; one that vanishes along S is inverted to infinity."""
    mixed = qdd.shape[0] > 0
    for i in range(int(rows[0, N_V]), 0, -1):
        j, h, m = get6(work, i, _J), get9(work, i, _H), get6(work, i, _M)
        bm, bf = get3(work, i, _BM), get3(work, i, _BF)
        cw, cv = get3(work, i, _CW), get3(work, i, _CV)
        um, uf = articulated_column(rows, i, q, j, h, m)
        sb = project(rows, i, q, bm, bf)
        put3(work, i, _UM, um)
        put3(work, i, _UF, uf)
        prescribed = mixed and given[i - 1]
        if prescribed:
            y, inverse = get(qdd, i - 1), lift(0.0, sb)
            put2(work, i, _E, sb)
        else:
            d = project(rows, i, q, um, uf) + rows[i, ARMATURE]
            inverse = 1.0 / (d * positive(d - rows[i, ROUND_OFF]))
            e = get(tau, i - 1) - sb - dot(um, cw) - dot(uf, cv)
            put2(work, i, _D, inverse)
            put2(work, i, _E, e)
            y = e * inverse
        parent = int(rows[i, PARENT])
        if parent > 0:
            cm, cf = articulated_times(j, h, m, cw, cv)
            bm, bf = add(add(bm, cm), scale(y, um)), add(add(bf, cf), scale(y, uf))
            if not prescribed:
                j, h, m = less_outer(j, h, m, um, uf, inverse)
            if has_transform(rows, i):
                r, p = get9(work, i, _R), get3(work, i, _P)
                j, h, m = articulated_out(r, p, j, h, m)
                bm, bf = wrench_out(r, p, bm, bf)
            add6(work, parent, _J, j)
            add9(work, parent, _H, h)
            add6(work, parent, _M, m)
            add3(work, parent, _BM, bm)
            add3(work, parent, _BF, bf)


@inline
def accelerate(rows, q, qdd, tau, given, work, qdd_out, tau_out):
    """Third sweep, outwards: accelerations, and forces where the acceleration is given."""
    mixed = qdd.shape[0] > 0
    for k in range(3):
        put2(work, 0, _W + k, 0.0)
        put2(work, 0, _V + k, -rows[0, GRAVITY + k])
    for i in range(1, int(rows[0, N_V]) + 1):
        parent = int(rows[i, PARENT])
        w, v = get3(work, parent, _W), get3(work, parent, _V)
        if has_transform(rows, i):
            if parent > 0:
                w, v = twist_into(get9(work, i, _R), get3(work, i, _P), w, v)
            else:  # the base does not turn
                v = unrotate(get9(work, i, _R), v)
        um, uf = get3(work, i, _UM), get3(work, i, _UF)
        prescribed = mixed and given[i - 1]
        x = get(qdd, i - 1) if prescribed else (get2(work, i, _E) - dot(um, w) - dot(uf, v)) * get2(work, i, _D)
        w, v = add(w, get3(work, i, _CW)), add(v, get3(work, i, _CV))
        w, v = add_step(rows, i, q, w, v, x)
        put3(work, i, _W, w)
        put3(work, i, _V, v)
        put(qdd_out, i - 1, x)
        if prescribed:
            put(tau_out, i - 1, dot(um, w) + dot(uf, v) + get2(work, i, _E) + rows[i, ARMATURE] * x)
        elif mixed:
            put(tau_out, i - 1, get(tau, i - 1))


@inline
def hybrid_dynamics_core(rows, q, qd, tau, f_ext, qdd, given, qdd_out, tau_out, work):
    """Evaluate one state, or one tile of states; a row without inertia leaves NaN or infinity in `qdd_out`.

    With `qdd` and `tau_out` empty every force is given: forward dynamics.
    """
    velocities_and_inertias(rows, q, qd, f_ext, work)
    articulate(rows, q, qdd, tau, given, work)
    accelerate(rows, q, qdd, tau, given, work, qdd_out, tau_out)


@inline
def _status(given, qdd, tau, work):
    """Return the status of one state: SINGULAR names the row nearest the leaves whose inertia vanishes."""
    if all_finite(qdd) and all_finite(tau):
        return OK
    for i in range(qdd.shape[0], 0, -1):
        if not (given.shape[0] > 0 and given[i - 1]) and np.isinf(work[i, _D]):
            return SINGULAR + STATUS_STEP * i
    return NOT_FINITE


_one = make_single(hybrid_dynamics_core, COLUMNS, "q a b f_ext c given y z", _status)


@kernel(
    "(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[:,::1], float64[::1])",
    quick=True,
    fresh=1,
    size=N_V,
)
def forward_dynamics(rows, q, qd, tau, f_ext, out):
    """Write qdd of one state to `out` and return a status of `layout`."""
    fit = rows[0, N_V] == qd.shape[0] == tau.shape[0] == out.shape[0] and wrench_fits(rows, f_ext)
    none = q[:0]
    return _one(rows, q, qd, tau, f_ext.reshape(f_ext.size), none, NONE_GIVEN, out, none, fit)


@inline
def _fit(rows, qd, tau, qdd, given, qdd_out, tau_out):
    whole = rows[0, N_V] == qd.shape[0] == tau.shape[0] == qdd.shape[0] == given.shape[0]
    return whole and rows[0, N_V] == qdd_out.shape[0] == tau_out.shape[0]


@kernel(
    "(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1], boolean[::1], float64[::1],"
    " float64[::1])",
    quick=True,
    fresh=2,
    size=N_V,
)
def hybrid_dynamics_unloaded(rows, q, qd, tau, qdd, given, qdd_out, tau_out):
    """As `hybrid_dynamics` without external wrenches."""
    fit = _fit(rows, qd, tau, qdd, given, qdd_out, tau_out)
    return _one(rows, q, qd, tau, q[:0], qdd, given, qdd_out, tau_out, fit)


@kernel(
    "(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[:,::1], float64[::1], boolean[::1],"
    " float64[::1], float64[::1])",
    quick=True,
    fresh=2,
    size=N_V,
)
def hybrid_dynamics(rows, q, qd, tau, f_ext, qdd, given, qdd_out, tau_out):
    """Write qdd and tau of one state to the outputs and return a status of `layout`."""
    fit = _fit(rows, qd, tau, qdd, given, qdd_out, tau_out) and wrench_fits(rows, f_ext)
    return _one(rows, q, qd, tau, f_ext.reshape(f_ext.size), qdd, given, qdd_out, tau_out, fit)


@kernel(
    "(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[:,::1], float64[::1], boolean[::1],"
    " float64[::1], float64[::1])"
)
def any_hybrid_dynamics(rows, q, qd, tau, f_ext, qdd, given, qdd_out, tau_out):
    """Evaluate a state of any size, arguments as `hybrid_dynamics_core` and of the right shapes; return its status."""
    if not check_quaternions(rows, q):
        return BAD_QUATERNION
    work = workspace(qd.shape[0] + 1, COLUMNS, q)
    hybrid_dynamics_core(rows, q, qd, tau, f_ext.reshape(f_ext.size), qdd, given, qdd_out, tau_out, work)
    return _status(given, qdd_out, tau_out, work)


hybrid_dynamics_batch = make_batch(hybrid_dynamics_core, COLUMNS, "q a b f_ext c given y z")
