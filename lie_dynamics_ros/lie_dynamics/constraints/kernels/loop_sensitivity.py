"""Derivatives of loop constraints and constrained inverse dynamics along parameters, without differences.

A multiplier's wrench is one more force on each of its loop's bodies, fixed to the body but for what the relative pose
of the two frames does to it; so the recursion of `dynamics.kernels.derivatives.sensitivity` does the rest.
"""

from __future__ import annotations

import numpy as np

from ...dynamics.kernels.common.joints import constants3, constants9
from ...dynamics.kernels.common.spatial import (
    add,
    add_twist,
    bracket,
    get_twist,
    inward,
    matmul,
    minus,
    on_wrench,
    plus,
    power,
    put_twist,
    rotate,
    scale,
    sub,
    times,
    transpose,
    unrotate,
    wrench_out,
)
from ...dynamics.kernels.common.world import P, R, V, reference_point
from ...dynamics.kernels.derivatives.sensitivity import (
    COLUMNS,
    A,
    B,
    E,
    F,
    U,
    add_change,
    collect_changes,
    motion,
    spread_changes,
    sum_wrenches,
)
from ...engine.compile import inline, kernel, outline
from ...engine.lanes import get3, get9, workspace
from ...model.layout import N_V, OK
from .loop_derivatives import relative_acceleration, scalar_derivatives
from .loops import COUNT, P_1, P_2, R_1, R_2, ROW_1, ROW_2, START, unit_wrench

# Columns of what is known of a loop: poses of its frames in the inertial frames of their trees; pose of frame 2 in
# frame 1; twist and acceleration of frame 1 seen from frame 2, and of frame 2; the wrench on the second body.
_R1, _P1, _R2, _P2, _R, _PLACE, _V1, _A1, _V2, _A2, _FORCE, _LOOP_COLUMNS = 0, 9, 12, 21, 24, 33, 36, 42, 48, 54, 60, 66


@inline
def place_frame(rows, i, q, work, r, p):
    """Return the pose of a frame on row `i` in the inertial frame of its tree, and where that is in the world."""
    none = scale(0.0, p)
    if i == 0:
        return r, none, p, none
    turn = get9(work, i, R)
    origin, rest = reference_point(rows, i, q)
    return matmul(turn, r), add(get3(work, i, P), rotate(turn, p)), origin, rest


@outline
def prepare_loop(rows, loops, j, scalars, q, force, work, known):
    """Fill the columns of loop `j`, and add its forces to what its bodies need."""
    one, two = int(loops[j, ROW_1]), int(loops[j, ROW_2])
    r1, p1, origin1, rest1 = place_frame(rows, one, q, work, constants9(loops, j, R_1), constants3(loops, j, P_1))
    r2, p2, origin2, rest2 = place_frame(rows, two, q, work, constants9(loops, j, R_2), constants3(loops, j, P_2))
    r = matmul(transpose(r1), r2)
    p = unrotate(r1, add(add(sub(p2, p1), sub(rest2, rest1)), sub(origin2, origin1)))
    put_pose(known, _R1, r1, p1)
    put_pose(known, _R2, r2, p2)
    put_pose(known, _R, r, p)
    put_twist(known, 0, _V1, inward(r, p, inward(r1, p1, get_twist(work, one, V))))
    put_twist(known, 0, _A1, inward(r, p, inward(r1, p1, get_twist(work, one, A))))
    put_twist(known, 0, _V2, inward(r2, p2, get_twist(work, two, V)))
    put_twist(known, 0, _A2, inward(r2, p2, get_twist(work, two, A)))
    zero = 0.0 * q[0]
    total = ((zero, zero, zero), (zero, zero, zero))
    for k in range(int(loops[j, START]), int(loops[j, START] + loops[j, COUNT])):
        total = plus(total, times(force[k], unit_wrench(scalars, k, r, p)))
    put_twist(known, 0, _FORCE, total)
    if two > 0:
        add_twist(work, two, F, times(-1.0, wrench_out(r2, p2, total[0], total[1])))
    if one > 0:
        m, f = wrench_out(r, p, total[0], total[1])
        add_twist(work, one, F, wrench_out(r1, p1, m, f))


@inline
def put_pose(known, k, r, p):
    """Store a pose."""
    for c in range(9):
        known[0, k + c] = r[c]
    for c in range(3):
        known[0, k + 9 + c] = p[c]


@inline
def frame_change(work, state, i, r, p):
    """Return displacement and changes of twist and acceleration of a frame at (r, p) on row `i`, in the frame."""
    e, u, b = get_twist(work, i, E), get_twist(work, i, U), get_twist(work, i, B)
    if state[i] != 1:
        e = u = b = (scale(0.0, p), scale(0.0, p))
    a = plus(bracket(u, get_twist(work, i, V)), b)
    return inward(r, p, e), inward(r, p, u), inward(r, p, a)


@outline
def change_loop(loop, scalars, force, work, state, known, out, at):
    """Write how errors, rates and accelerations of a loop's constraints change; add to how wrenches change."""
    one, two, m = int(loop[ROW_1]), int(loop[ROW_2]), scalars.shape[0]
    r1, p1, r2, p2 = get9(known, 0, _R1), get3(known, 0, _P1), get9(known, 0, _R2), get3(known, 0, _P2)
    r, p = get9(known, 0, _R), get3(known, 0, _PLACE)
    v1, a1, v2, a2 = (
        get_twist(known, 0, _V1), get_twist(known, 0, _A1), get_twist(known, 0, _V2), get_twist(known, 0, _A2),
    )  # fmt: skip
    e1, u1, b1 = frame_change(work, state, one, r1, p1)
    e2, u2, b2 = frame_change(work, state, two, r2, p2)
    e = minus(e2, inward(r, p, e1))
    w, dw = relative_acceleration(v1, a1, v2, a2)
    wp = plus(minus(u2, inward(r, p, u1)), bracket(e, v1))
    moved = plus(minus(b2, inward(r, p, b1)), bracket(e, a1))
    dwp = plus(moved, plus(bracket(wp, v2), bracket(w, u2)))
    zero = 0.0 * p[0]
    total = ((zero, zero, zero), (zero, zero, zero))
    for k in range(int(loop[START]), int(loop[START] + loop[COUNT])):
        rate, acceleration, _, dm, df = scalar_derivatives(
            scalars, k, (r, p), (w, dw), e, wp, dwp, dwp,
        )  # fmt: skip
        out[at + k] = power(unit_wrench(scalars, k, r, p), e)
        out[at + m + k] = rate
        out[at + 2 * m + k] = acceleration
        total = plus(total, times(force[k], (dm, df)))
    if two > 0:
        add_change(work, state, two, times(-1.0, wrench_out(r2, p2, total[0], total[1])))
    if one > 0:
        total = plus(total, on_wrench(e, get_twist(known, 0, _FORCE)))
        x, f = wrench_out(r, p, total[0], total[1])
        add_change(work, state, one, wrench_out(r1, p1, x, f))


@kernel(
    "(float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], int64[::1], float64[:,::1], float64[:,::1],"
    " float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1])"
)
def loop_sensitivity(loops, scalars, rows, table, starts, q, qd, qdd, f_ext, values, y):
    """Write what each parameter changes (states, parameters (nv + 3 m)) to `y`: loads, then loops' scalars.

    Loads of joints are tau - A^T multipliers of a motion; the scalars' changes are those of errors, of A qd and of
    A qdd + dA/dt qd. The last m columns of `values` are multipliers; for all else see
    `dynamics.kernels.derivatives.sensitivity`.
    """
    n, m = int(rows[0, N_V]), scalars.shape[0]
    if n == 0 or q.shape[0] == 0:
        return OK
    work = workspace(n + 1, COLUMNS, q[0])
    known = workspace(loops.shape[0], _LOOP_COLUMNS, q[0])
    state = np.zeros(n + 1, np.int64)
    first = values.shape[1] - m
    for s in range(q.shape[0]):
        force, given, out = values[s, first:], (q[s], qd[s], qdd[s], values[s]), y[s]
        motion(rows, q[s], qd[s], qdd[s], f_ext[s], work)
        for j in range(loops.shape[0]):
            prepare_loop(rows, loops, j, scalars, q[s], force, work, known[j : j + 1])
        sum_wrenches(rows, work)
        for k in range(starts.shape[0] - 2):
            at = k * (n + 3 * m)
            spread_changes(rows, table, (starts[k + 1], starts[k + 2], starts[0]), given, work, state, out, at - 1)
            for j in range(loops.shape[0]):
                change_loop(loops[j], scalars, force, work, state, known[j : j + 1], out, at + n)
            collect_changes(rows, work, state, out, at - 1)
    return OK
