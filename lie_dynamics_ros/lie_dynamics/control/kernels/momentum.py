"""The momentum of a robot and what changes it besides efforts, as linear functions of inertial parameters.

With the momentum mu of a body in a frame that moves with the twist V, in which S is constant, p = S . mu has the rate

    dp/dt = (ad_V S) . mu + S . (the wrench on the body),   ad_V S . mu = S . (-wrench_cross(V, mu)),

and the wrench is gravity's and what joints transmit. So H pi = S . (gravity - wrench_cross(V, mu)) is C^T qd - g.
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
    dot,
    momentum,
    rotate,
    sub,
    twist_into,
    unrotate,
    wrench_cross,
    wrench_out,
)
from ...dynamics.kernels.common.states import all_finite
from ...engine.compile import kernel, outline
from ...engine.lanes import get3, get9, put2, put3, put9, workspace
from ...model.layout import (
    BAD_QUATERNION,
    BAD_SHAPE,
    BODY,
    BODY_ROTATION,
    GRAVITY,
    LAST,
    N_BODIES,
    N_Q,
    N_V,
    NOT_FINITE,
    OK,
    PARENT,
)

_R, _P, _W, _V, _G, _COLUMNS = 0, 9, 12, 15, 18, 21  # of the workspace: transform, twist, acceleration of free fall


@outline
def _motions(rows, q, qd, work):
    """Fill the twists of all rows, and free fall as they see it."""
    for k in range(_COLUMNS):
        put2(work, 0, k, 0.0)
    for k in range(3):
        put2(work, 0, _G + k, rows[0, GRAVITY + k])
    for i in range(1, int(rows[0, N_V]) + 1):
        parent = int(rows[i, PARENT])
        w, v, g = get3(work, parent, _W), get3(work, parent, _V), get3(work, parent, _G)
        if has_transform(rows, i):
            r, p = row_transform(rows, i, q)
            put9(work, i, _R, r)
            put3(work, i, _P, p)
            w, v = twist_into(r, p, w, v)
            g = unrotate(r, g)
        w, v = add_step(rows, i, q, w, v, qd[i - 1])
        put3(work, i, _W, w)
        put3(work, i, _V, v)
        put3(work, i, _G, g)


@outline
def _feel(rows, q, i, body, work, p_out, h_out, column):
    """Add the momentum of a body (mass, h, inertia) on row `i`, and its change, to a column of joints that feel it."""
    mass, h, inertia = body
    turn = constants9(rows, i, BODY_ROTATION)
    w, v = unrotate(turn, get3(work, i, _W)), unrotate(turn, get3(work, i, _V))
    g = unrotate(turn, get3(work, i, _G))
    m, f = momentum(mass, h, inertia, w, v)
    m, f = rotate(turn, m), rotate(turn, f)
    a, b = momentum(mass, h, inertia, (0.0, 0.0, 0.0), g)
    a, b = rotate(turn, a), rotate(turn, b)
    k = i
    while k > 0:
        last = int(rows[k, LAST])  # S of each row of a joint is fixed in the frame behind its last row
        x, y = wrench_cross(get3(work, last, _W), get3(work, last, _V), m, f)
        change = project(rows, k, q, sub(a, x), sub(b, y))
        if is_custom(rows, k):
            sw, sv = custom_rate(rows, k, q)
            change += dot(sw, m) + dot(sv, f)
        p_out[k - 1, column] += project(rows, k, q, m, f)
        h_out[k - 1, column] += change
        if has_transform(rows, k):
            r, p = get9(work, k, _R), get3(work, k, _P)
            m, f = wrench_out(r, p, m, f)
            a, b = wrench_out(r, p, a, b)
        k = int(rows[k, PARENT])


@kernel(
    "(float64[:,::1], float64[::1], float64[::1], int64[::1], float64[:,::1], float64[:,::1], float64[:,::1])",
    direct=True,
)
def momentum_terms(
    rows,  # table of the model
    q,  # (nq,)
    qd,  # (n,)
    places,  # where columns of bodies begin; -1 for given parameters, which share the last (n_bodies,)
    parameters,  # (n_bodies, 10)
    p_out,  # (n, columns + 1)
    h_out,  # (n, columns + 1)
):
    """Write p = P pi and C^T qd - g = H pi of one state; return a status of `layout`."""
    n = rows[0, N_V]
    if q.shape[0] != rows[0, N_Q] or qd.shape[0] != n or p_out.shape[0] != n or h_out.shape[0] != n:
        return BAD_SHAPE
    if places.shape[0] != rows[0, N_BODIES] or parameters.shape[0] != places.shape[0] or parameters.shape[1] != 10:
        return BAD_SHAPE
    last = p_out.shape[1] - 1
    if h_out.shape[1] != last + 1:
        return BAD_SHAPE
    for b in range(places.shape[0]):
        if places[b] >= 0 and places[b] + 10 > last:
            return BAD_SHAPE
    if not check_quaternions(rows, q):
        return BAD_QUATERNION
    work = workspace(qd.shape[0] + 1, _COLUMNS, q)
    _motions(rows, q, qd, work)
    p_out[:, :] = 0.0
    h_out[:, :] = 0.0
    for i in range(1, qd.shape[0] + 1):
        body = int(rows[i, BODY])
        if body < 0:
            continue
        if places[body] < 0:
            x = parameters[body]
            inertia = (x[4], x[5], x[6], x[7], x[8], x[9])
            _feel(rows, q, i, (x[0], (x[1], x[2], x[3]), inertia), work, p_out, h_out, last)
            continue
        for c in range(10):
            h = (1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0, 1.0 if c == 3 else 0.0)
            inertia = (
                1.0 if c == 4 else 0.0, 1.0 if c == 5 else 0.0, 1.0 if c == 6 else 0.0,
                1.0 if c == 7 else 0.0, 1.0 if c == 8 else 0.0, 1.0 if c == 9 else 0.0,
            )  # fmt: skip
            _feel(rows, q, i, (1.0 if c == 0 else 0.0, h, inertia), work, p_out, h_out, places[body] + c)
    return OK if all_finite(p_out.reshape(p_out.size)) and all_finite(h_out.reshape(h_out.size)) else NOT_FINITE
