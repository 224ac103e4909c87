"""The regressor of Slotine and Li: M a_r + C(q, qd) v_r + g = Y pi, with the C of Christoffel's symbols.

The wrench that a body takes is that of `dynamics.kernels.coriolis_product`, with the reference acceleration and gravity
in X; it is linear in the body's ten parameters, so each of them gives a wrench of its own, and the joints on the way to
the world feel it.
"""

from __future__ import annotations

from ...dynamics.kernels.common.joints import add_step, check_quaternions, constants9, has_transform, project
from ...dynamics.kernels.common.spatial import rotate, unrotate, wrench_out
from ...dynamics.kernels.common.states import all_finite
from ...dynamics.kernels.coriolis_product import COLUMNS, RW, XV, XW, P, R, V, W, carry_reference, reference_wrench
from ...engine.compile import kernel, outline
from ...engine.lanes import get3, get9, put2, put3, workspace
from ...model.layout import (
    BAD_QUATERNION,
    BAD_SHAPE,
    BODY,
    BODY_ROTATION,
    GRAVITY,
    N_BODIES,
    N_Q,
    N_V,
    NOT_FINITE,
    OK,
    PARENT,
)


@outline
def _motions(rows, q, qd, reference, acceleration, work):
    """Fill V, V_r and X of all rows."""
    for k in range(COLUMNS):
        put2(work, 0, k, 0.0)
    for k in range(3):
        put2(work, 0, XV + k, -rows[0, GRAVITY + k])
    for i in range(1, int(rows[0, N_V]) + 1):
        carry_reference(rows, i, q, qd[i - 1], reference[i - 1], work)
        xw, xv = add_step(rows, i, q, get3(work, i, XW), get3(work, i, XV), acceleration[i - 1])
        put3(work, i, XW, xw)
        put3(work, i, XV, xv)


@outline
def _columns(rows, q, i, work, out):
    """Write the ten columns of the body of row `i`."""
    body = int(rows[i, BODY])
    turn = constants9(rows, i, BODY_ROTATION)
    w, v, rw = unrotate(turn, get3(work, i, W)), unrotate(turn, get3(work, i, V)), unrotate(turn, get3(work, i, RW))
    xw, xv = unrotate(turn, get3(work, i, XW)), unrotate(turn, get3(work, i, XV))
    for p in range(10):
        mass = 1.0 if p == 0 else 0.0
        h = (1.0 if p == 1 else 0.0, 1.0 if p == 2 else 0.0, 1.0 if p == 3 else 0.0)
        a, b, c = 1.0 if p == 4 else 0.0, 1.0 if p == 7 else 0.0, 1.0 if p == 9 else 0.0
        inertia = (a, 1.0 if p == 5 else 0.0, 1.0 if p == 6 else 0.0, b, 1.0 if p == 8 else 0.0, c)
        m, f = reference_wrench((mass, h, inertia), 0.5 * (a + b + c), w, v, rw, xw, xv)
        m, f = rotate(turn, m), rotate(turn, f)
        k = i
        while k > 0:
            out[k - 1, 10 * body + p] = project(rows, k, q, m, f)
            if has_transform(rows, k):
                m, f = wrench_out(get9(work, k, R), get3(work, k, P), m, f)
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
    work = workspace(qd.shape[0] + 1, COLUMNS, q)
    _motions(rows, q, qd, reference, acceleration, work)
    out[:, :] = 0.0
    for i in range(1, qd.shape[0] + 1):
        if rows[i, BODY] >= 0.0:
            _columns(rows, q, i, work, out)
    return OK if all_finite(out.reshape(out.size)) else NOT_FINITE
