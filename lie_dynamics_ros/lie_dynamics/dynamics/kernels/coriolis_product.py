"""A Coriolis matrix times a reference velocity in O(n), without the matrix.

C(q, qd) q_r is what inverse dynamics gives when one of the two velocities in each product is the reference. With the
twist V and the reference twist V_r of a body, and X the rate of V_r in the inertial frame for constant q_r, seen from
the body (X = Ad X_parent + ad_V S q_r), the particles' rates of reference velocity add up to the wrench

    m = (I X)_m + h x (w_r x v) + w x I w_r - e w x w_r,   f = (I X)_f + w_r x l,   l = m v + w x h,

with e half the trace of the rotational inertia: the Coriolis matrix of Christoffel's symbols. Ploen's is without e.
"""

from __future__ import annotations

from ...engine.compile import inline, kernel
from ...engine.lanes import add3, get, get3, get9, put, put2, put3, put9, workspace
from ...model.layout import BAD_QUATERNION, BODY, FIRST, INERTIA, LAST, MASS, MOMENT, N_V, NOT_FINITE, OK, PARENT
from .common.joints import (
    add_step,
    check_quaternions,
    constants3,
    constants6,
    custom_rate,
    has_transform,
    is_custom,
    project,
    row_transform,
)
from .common.spatial import add, cross, momentum, scale, sub, symmetric_times, twist_cross, twist_into, wrench_out
from .common.states import all_finite, make_batch, make_single

# Columns of the workspace: transform, V, V_r, X, wrench, and V_r of the parent as the joint's first row sees it.
R, P, W, V, RW, RV, XW, XV, M, F, AW, AV = 0, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39
COLUMNS = 42


@inline
def reference_wrench(body, e, w, v, rw, xw, xv):
    """Return the wrench (m, f) of a body with twist (w, v), reference rate rw of turning and rate X = (xw, xv)."""
    mass, h, inertia = body
    m, f = momentum(mass, h, inertia, xw, xv)
    m = add(m, cross(h, cross(rw, v)))
    m = add(m, cross(w, sub(symmetric_times(inertia, rw), scale(e, rw))))
    return m, add(f, cross(rw, add(scale(mass, v), cross(w, h))))


@inline
def _wrench(rows, i, ploen, work):
    """Return the wrench on the body of row `i`."""
    inertia = constants6(rows, i, INERTIA)
    e = 0.0
    if not ploen:
        e = 0.5 * (inertia[0] + inertia[3] + inertia[5])
    w, v, rw = get3(work, i, W), get3(work, i, V), get3(work, i, RW)
    xw, xv = get3(work, i, XW), get3(work, i, XV)
    return reference_wrench((rows[i, MASS], constants3(rows, i, MOMENT), inertia), e, w, v, rw, xw, xv)


@inline
def carry_reference(rows, i, q, rate, reference, work):
    """Fill the transform, V, V_r and X of row `i` from those of its parent."""
    parent = int(rows[i, PARENT])
    w, v = get3(work, parent, W), get3(work, parent, V)
    rw, rv = get3(work, parent, RW), get3(work, parent, RV)
    xw, xv = get3(work, parent, XW), get3(work, parent, XV)
    if has_transform(rows, i):
        r, p = row_transform(rows, i, q)
        put9(work, i, R, r)
        put3(work, i, P, p)
        w, v = twist_into(r, p, w, v)
        rw, rv = twist_into(r, p, rw, rv)
        xw, xv = twist_into(r, p, xw, xv)
        put3(work, i, AW, rw)
        put3(work, i, AV, rv)
    w, v = add_step(rows, i, q, w, v, rate)
    rw, rv = add_step(rows, i, q, rw, rv, reference)
    if is_custom(rows, i):
        sw, sv = custom_rate(rows, i, q)
        xw, xv = add(xw, scale(reference, sw)), add(xv, scale(reference, sv))
    if i == int(rows[i, LAST]):  # the joint's S is fixed in the frame that moves with all its coordinates
        first = int(rows[i, FIRST])
        dw, dv = twist_cross(w, v, sub(rw, get3(work, first, AW)), sub(rv, get3(work, first, AV)))
        xw, xv = add(xw, dw), add(xv, dv)
    put3(work, i, W, w)
    put3(work, i, V, v)
    put3(work, i, RW, rw)
    put3(work, i, RV, rv)
    put3(work, i, XW, xw)
    put3(work, i, XV, xv)


@inline
def coriolis_product_core(rows, q, qd, reference, given, out, work):
    """Fill `out` (nv) with C q_r; ``given[0]`` asks for Ploen's C instead of Christoffel's."""
    n = int(rows[0, N_V])
    for k in range(W, AW):
        put2(work, 0, k, 0.0)
    for i in range(1, n + 1):
        carry_reference(rows, i, q, get(qd, i - 1), get(reference, i - 1), work)
        if rows[i, BODY] >= 0.0:
            m, f = _wrench(rows, i, given[0], work)
            put3(work, i, M, m)
            put3(work, i, F, f)
        else:
            for k in range(M, AW):
                put2(work, i, k, 0.0)
    for i in range(n, 0, -1):
        m, f = get3(work, i, M), get3(work, i, F)
        put(out, i - 1, project(rows, i, q, m, f))
        if has_transform(rows, i):
            m, f = wrench_out(get9(work, i, R), get3(work, i, P), m, f)
        parent = int(rows[i, PARENT])
        add3(work, parent, M, m)
        add3(work, parent, F, f)


_one = make_single(coriolis_product_core, COLUMNS, "q a b given y")


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], boolean[::1], float64[::1])", quick=True)
def coriolis_product(rows, q, qd, reference, ploen, out):
    """Write C q_r (nv,) of one state to `out` and return a status of `layout`."""
    fit = rows[0, N_V] == qd.shape[0] == reference.shape[0] == out.shape[0]
    return _one(rows, q, qd, reference, q, q, ploen, out, out, fit)


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[:,::1], boolean[::1], float64[::1])")
def any_coriolis_product(rows, q, qd, reference, _f_ext, ploen, out):
    """Evaluate a state of any size, arguments of the right shapes; return its status."""
    if not check_quaternions(rows, q):
        return BAD_QUATERNION
    work = workspace(out.shape[0] + 1, COLUMNS, q)
    coriolis_product_core(rows, q, qd, reference, ploen, out, work)
    return OK if all_finite(out) else NOT_FINITE


coriolis_product_batch = make_batch(coriolis_product_core, COLUMNS, "q a b given y")
