"""The regressor of Slotine and Li: M a_r + C(q, qd) v_r + g = Y pi, with the C of Christoffel's symbols.

The wrench that a body takes is that of `geometry.kernels.coriolis_product`, with the reference acceleration and gravity
in X; it is linear in the body's ten parameters, so each of them gives a wrench of its own, and the joints on the way to
the world feel it.
"""

from __future__ import annotations

from ...dynamics.kernels.common.joints import (
    add_step,
    check_quaternions,
    constants9,
    custom_rate,
    has_transform,
    is_custom,
    project,
    row_transform,
)
from ...dynamics.kernels.common.spatial import (
    add,
    cross,
    momentum,
    rotate,
    scale,
    sub,
    symmetric_times,
    twist_cross,
    twist_into,
    unrotate,
    wrench_out,
)
from ...engine.batch import all_finite
from ...engine.compile import kernel, outline
from ...engine.lanes import get3, get9, put2, put3, put9, workspace
from ...model.layout import (
    BAD_QUATERNION,
    BAD_SHAPE,
    BODY,
    BODY_ROTATION,
    FIRST,
    GRAVITY,
    LAST,
    N_BODIES,
    N_Q,
    N_V,
    NOT_FINITE,
    OK,
    PARENT,
)

# Columns of the workspace: transform, V, V_r, X, and V_r of the parent as the joint's first row sees it.
_R, _P, _W, _V, _RW, _RV, _XW, _XV, _AW, _AV, _COLUMNS = 0, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36


@outline
def _motions(rows, q, qd, reference, acceleration, work):
    """Fill V, V_r and X of all rows."""
    for k in range(_COLUMNS):
        put2(work, 0, k, 0.0)
    for k in range(3):
        put2(work, 0, _XV + k, -rows[0, GRAVITY + k])
    for i in range(1, int(rows[0, N_V]) + 1):
        parent = int(rows[i, PARENT])
        w, v = get3(work, parent, _W), get3(work, parent, _V)
        rw, rv = get3(work, parent, _RW), get3(work, parent, _RV)
        xw, xv = get3(work, parent, _XW), get3(work, parent, _XV)
        if has_transform(rows, i):
            r, p = row_transform(rows, i, q)
            put9(work, i, _R, r)
            put3(work, i, _P, p)
            w, v = twist_into(r, p, w, v)
            rw, rv = twist_into(r, p, rw, rv)
            xw, xv = twist_into(r, p, xw, xv)
            put3(work, i, _AW, rw)
            put3(work, i, _AV, rv)
        w, v = add_step(rows, i, q, w, v, qd[i - 1])
        rw, rv = add_step(rows, i, q, rw, rv, reference[i - 1])
        xw, xv = add_step(rows, i, q, xw, xv, acceleration[i - 1])
        if is_custom(rows, i):
            sw, sv = custom_rate(rows, i, q)
            xw, xv = add(xw, scale(reference[i - 1], sw)), add(xv, scale(reference[i - 1], sv))
        if i == int(rows[i, LAST]):  # the joint's S is fixed in the frame that moves with all its coordinates
            first = int(rows[i, FIRST])
            dw, dv = twist_cross(w, v, sub(rw, get3(work, first, _AW)), sub(rv, get3(work, first, _AV)))
            xw, xv = add(xw, dw), add(xv, dv)
        put3(work, i, _W, w)
        put3(work, i, _V, v)
        put3(work, i, _RW, rw)
        put3(work, i, _RV, rv)
        put3(work, i, _XW, xw)
        put3(work, i, _XV, xv)


@outline
def _columns(rows, q, i, work, out):
    """Write the ten columns of the body of row `i`."""
    body = int(rows[i, BODY])
    turn = constants9(rows, i, BODY_ROTATION)
    w, v = unrotate(turn, get3(work, i, _W)), unrotate(turn, get3(work, i, _V))
    rw = unrotate(turn, get3(work, i, _RW))
    xw, xv = unrotate(turn, get3(work, i, _XW)), unrotate(turn, get3(work, i, _XV))
    for p in range(10):
        mass = 1.0 if p == 0 else 0.0
        h = (1.0 if p == 1 else 0.0, 1.0 if p == 2 else 0.0, 1.0 if p == 3 else 0.0)
        a, b, c = 1.0 if p == 4 else 0.0, 1.0 if p == 7 else 0.0, 1.0 if p == 9 else 0.0
        inertia = (a, 1.0 if p == 5 else 0.0, 1.0 if p == 6 else 0.0, b, 1.0 if p == 8 else 0.0, c)
        e = 0.5 * (a + b + c)
        m, f = momentum(mass, h, inertia, xw, xv)
        m = add(m, cross(h, cross(rw, v)))
        m = add(m, cross(w, sub(symmetric_times(inertia, rw), scale(e, rw))))
        f = add(f, cross(rw, add(scale(mass, v), cross(w, h))))
        m, f = rotate(turn, m), rotate(turn, f)
        k = i
        while k > 0:
            out[k - 1, 10 * body + p] = project(rows, k, q, m, f)
            if has_transform(rows, k):
                m, f = wrench_out(get9(work, k, _R), get3(work, k, _P), m, f)
            k = int(rows[k, PARENT])


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[:,::1])", direct=True)
def slotine_li_regressor(rows, q, qd, reference, acceleration, out):
    """Write Y (nv, 10 n_bodies) of one state to `out` and return a status of `layout`."""
    n = rows[0, N_V]
    if q.shape[0] != rows[0, N_Q] or qd.shape[0] != n or reference.shape[0] != n or acceleration.shape[0] != n:
        return BAD_SHAPE
    if out.shape[0] != n or out.shape[1] != 10 * rows[0, N_BODIES]:
        return BAD_SHAPE
    if not check_quaternions(rows, q):
        return BAD_QUATERNION
    work = workspace(qd.shape[0] + 1, _COLUMNS, q)
    _motions(rows, q, qd, reference, acceleration, work)
    out[:, :] = 0.0
    for i in range(1, qd.shape[0] + 1):
        if rows[i, BODY] >= 0.0:
            _columns(rows, q, i, work, out)
    return OK if all_finite(out.reshape(out.size)) else NOT_FINITE
