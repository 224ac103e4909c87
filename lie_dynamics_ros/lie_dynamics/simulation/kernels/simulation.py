"""Many steps in one call, with damping, dry friction and stops at the joints.

`joints` is a table with the rows of `friction` and one for each of the quantities below, and a column for each velocity
coordinate.

The variational integrator solves discrete mechanics of a tree, in O(n).
The discrete Lagrangian of a step is that of bodies whose centres of mass move by d and whose rotations turn by
R = R0^T R1, with kinetic energy m |d / h|^2 / 2 + w^T I_c w / 2 for h w = cay^-1(R), the Cayley map of SO(3). Its
derivatives are momenta: m d / h, and about the centre of mass D_x^T I_c w on leaving q0 and D_{-x}^T I_c w on arriving
at q1, for x = h w and D_x a = a - x cross a / 2 + (x . a) x / 4, the inverse of the right-trivialised tangent of cay.
The joints of a tree gather them as they gather wrenches, at q0 and at q1. The Lagrangian is unchanged by motions of the
inertial frame, also by a steady velocity, so that momentum is kept exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array, Mask
from ...dynamics.kernels import friction
from ...dynamics.kernels.common.joints import (
    check_quaternions,
    constants3,
    constants6,
    has_transform,
    move,
    project,
    row_transform,
    tangent_rate,
)
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
from ...dynamics.kernels.common.states import all_finite
from ...dynamics.kernels.forward_dynamics import COLUMNS as _WORK_COLUMNS
from ...dynamics.kernels.forward_dynamics import hybrid_dynamics_core
from ...dynamics.kernels.friction import DAMPING, LOAD, SMOOTHING_SPEED, dry_friction, is_dry, smooth_side, transmitted
from ...dynamics.kernels.inverse_dynamics import inverse_dynamics_core
from ...engine.compile import inline, kernel, outline
from ...engine.lanes import add3, get3, get9, put3, put9
from ...model.layout import (
    ARMATURE,
    AXIS,
    BAD_QUATERNION,
    BODY,
    INERTIA,
    KIND,
    MASS,
    MOMENT,
    N_V,
    NOT_FINITE,
    OK,
    PARENT,
    Q_INDEX,
    STATUS_STEP,
)

# Columns of the workspace: transforms of the row at q0 and q1, motion of its frame from q0 to q1, x, I_c w, linear
# momentum seen at q0, and what the joints gather.
_R0, _P0, _R1, _P1, _TURNED, _MOVED, _HALF_TURN, _SPIN, _LINEAR, _M, _F = 0, 9, 12, 21, 24, 33, 36, 39, 42, 45, 48
_TREE_COLUMNS = 51


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
    put9(work, 0, _TURNED, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
    put3(work, 0, _MOVED, (0.0, 0.0, 0.0))
    for i in range(1, int(rows[0, N_V]) + 1):
        parent = int(rows[i, PARENT])
        r, p = get9(work, parent, _TURNED), get3(work, parent, _MOVED)
        if has_transform(rows, i):  # T0^-1 f T1
            r0 = get9(work, i, _R0)
            moved = add(rotate(r, get3(work, i, _P1)), sub(p, get3(work, i, _P0)))
            r, p = matmul(matmul(transpose(r0), r), get9(work, i, _R1)), unrotate(r0, moved)
        put9(work, i, _TURNED, r)
        put3(work, i, _MOVED, p)
        if rows[i, BODY] >= 0.0:
            s = 2.0 / (1.0 + r[0] + r[4] + r[8])
            x = (s * (r[7] - r[5]), s * (r[2] - r[6]), s * (r[3] - r[1]))
            mass, c, inertia = rows[i, MASS], constants3(rows, i, MOMENT), constants6(rows, i, INERTIA)
            inverse = 1.0 / mass if mass > 0.0 else 0.0
            spin = add(symmetric_times(inertia, x), scale(inverse, cross(c, cross(c, x))))  # I_c x
            put3(work, i, _HALF_TURN, x)
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
            x, spin, f = get3(work, i, _HALF_TURN), get3(work, i, _SPIN), get3(work, i, _LINEAR)
            if end:
                f = unrotate(get9(work, i, _TURNED), f)
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


LOWER, UPPER, STOP_STIFFNESS, STOP_DAMPING = range(friction.SIZE, friction.SIZE + 4)
SIZE = friction.SIZE + 4


@inline
def penetration(rows, joints, i, x):
    """Return how far the coordinate of row `i` is beyond a stop at position x: signed, zero within the limits."""
    if rows[i, KIND] != AXIS:
        return 0.0
    return max(x - joints[UPPER, i - 1], 0.0) + min(x - joints[LOWER, i - 1], 0.0)


@inline
def position(rows, i, q):
    """Return the coordinate of row `i`, zero where it has none of its own (ball and free joints)."""
    return q[int(rows[i, Q_INDEX])] if rows[i, KIND] == AXIS else 0.0


@outline
def smooth_forces(rows, joints, q, qd, tau, given, out):
    """Write tau less damping, smooth friction, and stops, whose damper acts on the way in only.

    Friction by load is left out where the acceleration is given: the force there is not known yet.
    """
    for i in range(1, int(rows[0, N_V]) + 1):
        j = i - 1
        v = qd[j]
        x = penetration(rows, joints, i, position(rows, i, q))
        force = tau[j] - joints[DAMPING, j] * v
        if x != 0.0:
            force -= joints[STOP_STIFFNESS, j] * x
            if x * v > 0.0:
                force -= joints[STOP_DAMPING, j] * v
        if is_dry(joints, j):
            side = smooth_side(joints, j, v)
            load = 0.0 if given[j] else side * joints[friction.LOAD, j]
            force = transmitted(force, side * dry_friction(joints, j, v, side), load)
        out[j] = force


# One step of each integrator, for one state, inside kernels.
#
# Vectors over the velocity coordinates live in rows of the table `vec`; `rows` and `weightless` are copies of the
# model's table whose armature column the steps use for what they treat implicitly: a force -s (qd + h qdd) is one more
# s h on the diagonal of the mass matrix, and so keeps the recursion O(n).

#: Rows of `vec`. The first four are for the caller; ZERO stays zero.
ACCELERATION, REACTION, ARMATURES, ZERO = 0, 1, 2, 3
_FORCE, _COMMAND, _SIDE, _RELEASED, _X, _P, _A, _B = 4, 5, 6, 7, 8, 9, 10, 11
_U, _KU, _KV, _SUM_U, _SUM_V, _RATE = 4, 5, 6, 7, 8, 9
VECTORS = 12


class Drive(NamedTuple):
    """What drives a robot over a step: forces, wrenches on bodies, accelerations, and where these count."""

    tau: Array
    f_ext: Array
    qdd: Array
    given: Mask


class Room(NamedTuple):
    """What steps work on: another state, joints that are held, `vec`, and the workspaces of recursions."""

    q: Array
    qd: Array
    held: Mask
    vec: Array
    work: Array
    tree: Array


#: Trials of the variational step before it gives up; three to six are usual.
_TRIALS = 60


@outline
def accelerations(rows, q, qd, tau, f_ext, qdd, given, out, tau_out, work):
    """Write complete accelerations and forces, `hybrid_dynamics`."""
    hybrid_dynamics_core(rows, q, qd, tau, f_ext, qdd, given, out, tau_out, work)


@outline
def forces(rows, q, qd, qdd, f_ext, out, work):
    """Write the joint forces of a motion, `inverse_dynamics`."""
    inverse_dynamics_core(rows, q, qd, qdd, f_ext, out, work)


@outline
def _implicit_forces(rows, joints, h, q, qd, tau, given, vec):
    """Fill the force without friction, and the armature that makes damping and stops implicit."""
    for i in range(1, int(rows[0, N_V]) + 1):
        j = i - 1
        a, force = vec[ARMATURES, j], tau[j]
        if not given[j]:
            force -= joints[DAMPING, j] * qd[j]
            a += h * joints[DAMPING, j]
            x = penetration(rows, joints, i, position(rows, i, q) + h * qd[j])
            if x != 0.0 and vec[_RELEASED, j] == 0.0:
                force -= joints[STOP_STIFFNESS, j] * x
                a += h * h * joints[STOP_STIFFNESS, j]
                if x * qd[j] > 0.0:
                    force -= joints[STOP_DAMPING, j] * qd[j]
                    a += h * joints[STOP_DAMPING, j]
        rows[i, ARMATURE] = a
        vec[_FORCE, j] = force


@inline
def _sliding(joints, j, qd, side):
    """Return how large dry friction of joint `j` is, unloaded, where it slides to a side; from rest where it turns."""
    return dry_friction(joints, j, qd[j] if qd[j] * side > 0.0 else 0.0, side)


@inline
def _revise(rows, joints, h, i, q, qd, held, vec):
    """Tell whether the assumption about joint `i` (sticks, slips, stop pushes) was wrong, and change it."""
    j = i - 1
    after = qd[j] + h * vec[ACCELERATION, j]
    if is_dry(joints, j):
        if held[j]:
            need = vec[REACTION, j] - vec[_FORCE, j]
            side = -1.0 if need > 0.0 else 1.0
            limit = dry_friction(joints, j, 0.0, side) + joints[LOAD, j] * abs(vec[REACTION, j])
            if abs(need) > limit * (1.0 + 1e-9):
                held[j] = False
                vec[_SIDE, j] = side
                return True
        elif after * vec[_SIDE, j] < 0.0:
            held[j] = True
            vec[_SIDE, j] = 0.0
            vec[_COMMAND, j] = -qd[j] / h
            return True
    x = penetration(rows, joints, i, position(rows, i, q) + h * qd[j])
    if x != 0.0 and vec[_RELEASED, j] == 0.0:
        push = joints[STOP_STIFFNESS, j] * (x + h * h * vec[ACCELERATION, j])
        if x * qd[j] > 0.0:
            push += joints[STOP_DAMPING, j] * after
        if x * push < 0.0:
            vec[_RELEASED, j] = 1.0
            return True
    return False


@outline
def semi_implicit(rows, joints, h, q, qd, drive, room):
    """Advance q and qd by semi-implicit Euler with implicit damping and stops, and friction that sticks exactly.

    Whether a joint sticks is a complementarity problem. A joint that sticks has its acceleration given, one that slips
    its force: each trial is one call of hybrid dynamics, and joints whose answer contradicts what was assumed change
    sides.
    """
    n, given, held, vec = qd.shape[0], drive.given, room.held, room.vec
    for j in range(n):
        held[j] = given[j]
        vec[_COMMAND, j] = drive.qdd[j] if given[j] else 0.0
        vec[_SIDE, j] = vec[_RELEASED, j] = 0.0
        if is_dry(joints, j) and not given[j]:
            if qd[j] == 0.0:
                held[j] = True
            else:
                vec[_SIDE, j] = 1.0 if qd[j] > 0.0 else -1.0
    for trial in range(8 + 4 * n):
        _implicit_forces(rows, joints, h, q, qd, drive.tau, given, vec)
        for j in range(n):
            side = vec[_SIDE, j]
            vec[_A, j] = transmitted(vec[_FORCE, j], side * _sliding(joints, j, qd, side), side * joints[LOAD, j])
        accelerations(
            rows, q, qd, vec[_A], drive.f_ext, vec[_COMMAND], held, vec[ACCELERATION], vec[REACTION], room.work
        )
        settled = True
        for i in range(1, n + 1):
            if not given[i - 1] and _revise(rows, joints, h, i, q, qd, held, vec):
                settled = False
                if trial >= 8:  # one at a time cannot go round in circles
                    break
        if settled:
            break
    for j in range(n):
        before = qd[j]
        qd[j] = 0.0 if held[j] and not given[j] else qd[j] + h * vec[ACCELERATION, j]
        if given[j]:
            side = 1.0 if before + qd[j] > 0.0 else (-1.0 if before + qd[j] < 0.0 else 0.0)
            dry = dry_friction(joints, j, before, side) + joints[LOAD, j] * abs(vec[REACTION, j])
            vec[REACTION, j] += joints[DAMPING, j] * before + dry * side
        else:
            vec[REACTION, j] = drive.tau[j]
    move(rows, q, qd, h, q)


@outline
def rkmk4(rows, joints, h, q, qd, drive, room):
    """Advance q and qd by the Runge-Kutta-Munthe-Kaas method of order four, forces held over the step."""
    n, tau, given, vec = qd.shape[0], drive.tau, drive.given, room.vec
    for j in range(n):
        vec[_U, j] = vec[_KU, j] = vec[_KV, j] = vec[_SUM_U, j] = vec[_SUM_V, j] = 0.0
    for stage in range(4):
        part = 0.0 if stage == 0 else (h if stage == 3 else 0.5 * h)
        weight = h / 6.0 if stage == 0 or stage == 3 else h / 3.0
        for j in range(n):
            vec[_U, j] = part * vec[_KU, j]
            room.qd[j] = qd[j] + part * vec[_KV, j]
        move(rows, q, vec[_U], 1.0, room.q)
        tangent_rate(rows, vec[_U], room.qd, vec[_KU])
        smooth_forces(rows, joints, room.q, room.qd, tau, given, vec[_RATE])
        accelerations(
            rows, room.q, room.qd, vec[_RATE], drive.f_ext, drive.qdd, given, vec[_KV], vec[_A], room.work
        )
        for j in range(n):
            vec[_SUM_U, j] += weight * vec[_KU, j]
            vec[_SUM_V, j] += weight * vec[_KV, j]
            if stage == 0:
                vec[ACCELERATION, j] = vec[_KV, j]
                # of a coordinate whose acceleration is given: the force it takes, with what the joint takes
                vec[REACTION, j] = tau[j]
                if given[j]:
                    load = smooth_side(joints, j, qd[j]) * joints[LOAD, j] if is_dry(joints, j) else 0.0
                    vec[REACTION, j] += vec[_A, j] - vec[_RATE, j] + load * abs(vec[_A, j])
    move(rows, q, vec[_SUM_U], 1.0, q)
    for j in range(n):
        qd[j] += vec[_SUM_V, j]


@inline
def _loss(rows, joints, j, q, v, tau):
    """Return damping, that of a stop too, and smooth friction of joint `j` as a coefficient of v."""
    slope = joints[DAMPING, j]
    if penetration(rows, joints, j + 1, position(rows, j + 1, q)) * v > 0.0:
        slope += joints[STOP_DAMPING, j]
    if is_dry(joints, j):
        side, speed = smooth_side(joints, j, v), joints[SMOOTHING_SPEED, j]
        dry, load = dry_friction(joints, j, v, side), joints[LOAD, j]
        if load > 0.0:
            dry += load * abs(transmitted(tau - slope * v, side * dry, side * load))
        slope += dry / np.sqrt(v * v + speed * speed)
    return slope


@outline
def _kick(rows, joints, h, q, drive, vec, work):
    """Add half a step's impulses of torques, gravity, wrenches and stops at `q` to the momenta in _P."""
    forces(rows, q, vec[ZERO], vec[ZERO], drive.f_ext, vec[_B], work)
    for i in range(1, int(rows[0, N_V]) + 1):
        j = i - 1
        force = -vec[_B, j] - joints[STOP_STIFFNESS, j] * penetration(rows, joints, i, position(rows, i, q))
        vec[_P, j] += 0.5 * h * (force if drive.given[j] else force + drive.tau[j])


@outline
def variational(rows, weightless, joints, h, q, qd, drive, room):
    """Advance q and qd by the variational integrator; return whether its equations were solved.

    The momenta on leaving q must be those on arriving there plus half the impulses. The mean velocity x that gives them
    is found by Newton's method with the mass matrix, factorised in O(n), in place of the derivative.
    """
    n, given, vec, work, tree = qd.shape[0], drive.given, room.vec, room.work, room.tree
    zero, x, none = vec[ZERO], vec[_X], q[:0]
    forces(weightless, q, zero, qd, none, vec[_P], work)
    _kick(rows, joints, h, q, drive, vec, work)
    place(rows, q, tree, False)
    for j in range(n):
        x[j] = qd[j] + 0.5 * h * (drive.qdd[j] if given[j] else vec[ACCELERATION, j])
    solved, last = False, np.inf
    for _ in range(_TRIALS):
        move(rows, q, x, h, room.q)
        place(rows, room.q, tree, True)
        body_steps(rows, h, tree)
        joint_momenta(rows, q, False, x, tree, vec[_A])
        for j in range(n):
            slope = 0.0 if given[j] else 0.5 * h * _loss(rows, joints, j, q, x[j], drive.tau[j])
            vec[REACTION, j] = 2.0 * (vec[_A, j] - vec[_P, j]) / h  # what the motion asks of a joint, at its start
            weightless[j + 1, ARMATURE] = vec[ARMATURES, j] + slope
            vec[_B, j] = vec[_P, j] - vec[_A, j] - slope * x[j]
        accelerations(weightless, q, zero, vec[_B], none, zero, given, room.qd, vec[_A], work)
        size, scale = 0.0, 0.0
        for j in range(n):
            if not given[j]:
                x[j] += room.qd[j]
                size = max(size, abs(room.qd[j]))
                scale = max(scale, abs(x[j]))
        # Round-off of positions, divided by h, is the floor; near it the steps stop shrinking.
        if size <= 2e-16 * (scale + 1.0 / h) or (size <= 1e-9 * (scale + 1.0) and size >= 0.5 * last):
            solved = True
            break
        last = size
    move(rows, q, x, h, room.q)
    place(rows, room.q, tree, True)
    body_steps(rows, h, tree)
    joint_momenta(rows, room.q, True, x, tree, vec[_P])
    for j in range(n):
        if not given[j]:
            vec[_P, j] -= 0.5 * h * _loss(rows, joints, j, q, x[j], drive.tau[j]) * x[j]
        weightless[j + 1, ARMATURE] = vec[ARMATURES, j]
        vec[_X, j] = qd[j] + h * drive.qdd[j] if given[j] else 0.0
    _kick(rows, joints, h, room.q, drive, vec, work)
    accelerations(weightless, room.q, zero, vec[_P], none, vec[_X], given, room.qd, vec[_A], work)
    for j in range(n):
        side = 1.0 if room.qd[j] > 0.0 else (-1.0 if room.qd[j] < 0.0 else 0.0)
        if given[j]:
            mean = 0.5 * vec[REACTION, j] + (vec[_A, j] - vec[_P, j]) / h
            dry = dry_friction(joints, j, room.qd[j], side) + joints[LOAD, j] * abs(mean)
            vec[REACTION, j] = mean + joints[DAMPING, j] * room.qd[j] + dry * side
        else:
            vec[REACTION, j] = drive.tau[j]
        vec[ACCELERATION, j] = (room.qd[j] - qd[j]) / h
        qd[j] = room.qd[j]
    for k in range(q.shape[0]):
        q[k] = room.q[k]
    return solved


#: Methods, as `settings` names them.
SEMI_IMPLICIT, RKMK4, VARIATIONAL = 0, 1, 2

#: Entries of `settings`.
STEP, SUBSTEPS, METHOD, SETTINGS = 0, 1, 2, 3

#: A status: the equations of a variational step have no solution that was found.
NOT_SOLVED = 6


@kernel(
    "(float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], boolean[::1],"
    " float64[::1], float64[::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1])"
)
def simulate(model, rows, weightless, joints, tau, qdd, given, f_ext, settings, q_out, qd_out, qdd_out, tau_out):
    """Fill states and forces from the state in the first row of `q_out` and `qd_out`, and return a status of `layout`.

    A row of `tau` and `qdd` holds for one row of results (the last for all that follow). What `qdd_out` and `tau_out`
    say is at the beginning of each, or of its last substep. `rows` and `weightless` are copies of `model`, the latter
    without gravity, whose armature the steps change as they like.
    """
    n = int(model[0, N_V])
    h, method = settings[STEP], int(settings[METHOD])
    q, qd = q_out[0].copy(), qd_out[0].copy()
    if not check_quaternions(model, q):
        return BAD_QUATERNION
    vec, held = np.zeros((VECTORS, n)), np.zeros(n, np.bool_)
    work, tree = np.empty((n + 1, _WORK_COLUMNS)), np.empty((n + 1, _TREE_COLUMNS))
    room = Room(q.copy(), qd.copy(), held, vec, work, tree)
    for i in range(n):
        vec[ARMATURES, i] = rows[i + 1, ARMATURE] = weightless[i + 1, ARMATURE] = model[i + 1, ARMATURE]
    for k in range(tau_out.shape[0]):
        drive = Drive(tau[min(k, tau.shape[0] - 1)], f_ext, qdd[min(k, qdd.shape[0] - 1)], given)
        for _ in range(int(settings[SUBSTEPS])):
            if method == SEMI_IMPLICIT:
                semi_implicit(rows, joints, h, q, qd, drive, room)
            elif method == RKMK4:
                rkmk4(rows, joints, h, q, qd, drive, room)
            elif not variational(rows, weightless, joints, h, q, qd, drive, room):
                return (NOT_SOLVED if all_finite(qd) else NOT_FINITE) + STATUS_STEP * k
            if not all_finite(qd):
                return NOT_FINITE + STATUS_STEP * k
        for i in range(q.shape[0]):
            q_out[k + 1, i] = q[i]
        for i in range(n):
            qd_out[k + 1, i], qdd_out[k, i], tau_out[k, i] = qd[i], vec[ACCELERATION, i], vec[REACTION, i]
    return OK
