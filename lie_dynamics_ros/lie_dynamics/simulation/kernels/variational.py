"""Discrete mechanics of a tree: what the variational integrator solves, in O(n).

The discrete Lagrangian of a step is that of bodies whose centres of mass move by d and whose rotations turn by
R = R0^T R1, with kinetic energy m |d / h|^2 / 2 + w^T I_c w / 2 for h w = cay^-1(R), the Cayley map of SO(3). Its
derivatives are momenta: m d / h, and about the centre of mass D_x^T I_c w on leaving q0 and D_{-x}^T I_c w on arriving
at q1, for x = h w and D_x a = a - x cross a / 2 + (x . a) x / 4, the inverse of the right-trivialised tangent of cay.
The joints of a tree gather them as they gather wrenches, at q0 and at q1. The Lagrangian is unchanged by motions of the
inertial frame, also by a steady velocity, so that momentum is kept exactly.
"""

from __future__ import annotations

from ...dynamics.kernels.common.joints import constants3, constants6, has_transform, project, row_transform
from ...dynamics.kernels.common.spatial import (
    add,
    cross,
    dot,
    matmul,
    rotate,
    scale,
    sub,
    symmetric_times,
    transpose,
    unrotate,
    wrench_out,
)
from ...engine.compile import outline
from ...engine.lanes import add3, get3, get9, put3, put9
from ...model.layout import ARMATURE, BODY, INERTIA, MASS, MOMENT, N_V, PARENT

# Columns of the workspace: transforms of the row at q0 and q1, motion of its frame from q0 to q1, x, I_c w, linear
# momentum seen at q0, and what the joints gather.
_R0, _P0, _R1, _P1, _R, _P, _X, _SPIN, _LINEAR, _M, _F = 0, 9, 12, 21, 24, 33, 36, 39, 42, 45, 48
COLUMNS = 51


@outline
def place(rows, q, work, end):
    """Store the transforms of all rows at the start (False) or the end (True) of the step."""
    rotation, origin = (_R1, _P1) if end else (_R0, _P0)
    for i in range(1, int(rows[0, N_V]) + 1):
        if has_transform(rows, i):
            r, p = row_transform(rows, i, q)
            put9(work, i, rotation, r)
            put3(work, i, origin, p)


@outline
def body_steps(rows, h, work):
    """Find the motion of every body between the two placements, and its momenta."""
    put9(work, 0, _R, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
    put3(work, 0, _P, (0.0, 0.0, 0.0))
    for i in range(1, int(rows[0, N_V]) + 1):
        parent = int(rows[i, PARENT])
        r, p = get9(work, parent, _R), get3(work, parent, _P)
        if has_transform(rows, i):  # T0^-1 f T1
            r0 = get9(work, i, _R0)
            moved = add(rotate(r, get3(work, i, _P1)), sub(p, get3(work, i, _P0)))
            r, p = matmul(matmul(transpose(r0), r), get9(work, i, _R1)), unrotate(r0, moved)
        put9(work, i, _R, r)
        put3(work, i, _P, p)
        if rows[i, BODY] >= 0.0:
            s = 2.0 / (1.0 + r[0] + r[4] + r[8])
            x = (s * (r[7] - r[5]), s * (r[2] - r[6]), s * (r[3] - r[1]))
            mass, c, inertia = rows[i, MASS], constants3(rows, i, MOMENT), constants6(rows, i, INERTIA)
            inverse = 1.0 / mass if mass > 0.0 else 0.0
            spin = add(symmetric_times(inertia, x), scale(inverse, cross(c, cross(c, x))))  # I_c x
            put3(work, i, _X, x)
            put3(work, i, _SPIN, scale(1.0 / h, spin))
            put3(work, i, _LINEAR, scale(1.0 / h, add(scale(mass, p), sub(rotate(r, c), c))))


@outline
def joint_momenta(rows, q, end, rate, work, out):
    """Write the joints' momenta on leaving the start (False) or on arriving at the end (True) of the step.

    `q` is the configuration there, and `rate` the mean velocity of the step, for the rotors.
    """
    n = int(rows[0, N_V])
    side = -0.5 if end else 0.5
    rotation, origin = (_R1, _P1) if end else (_R0, _P0)
    for i in range(n + 1):
        m, f = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        if i > 0 and rows[i, BODY] >= 0.0:
            x, spin, f = get3(work, i, _X), get3(work, i, _SPIN), get3(work, i, _LINEAR)
            if end:
                f = unrotate(get9(work, i, _R), f)
            m = add(spin, add(scale(side, cross(x, spin)), scale(0.25 * dot(x, spin), x)))
            inverse = 1.0 / rows[i, MASS] if rows[i, MASS] > 0.0 else 0.0
            m = add(m, scale(inverse, cross(constants3(rows, i, MOMENT), f)))  # about the frame's origin
        put3(work, i, _M, m)
        put3(work, i, _F, f)
    for i in range(n, 0, -1):
        m, f = get3(work, i, _M), get3(work, i, _F)
        out[i - 1] = project(rows, i, q, m, f) + rows[i, ARMATURE] * rate[i - 1]
        if has_transform(rows, i):
            m, f = wrench_out(get9(work, i, rotation), get3(work, i, origin), m, f)
        parent = int(rows[i, PARENT])
        add3(work, parent, _M, m)
        add3(work, parent, _F, f)
