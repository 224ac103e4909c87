"""Twists and accelerations of the bodies, and sums over all bodies: momentum, energy, centre of mass."""

from __future__ import annotations

from ...engine.compile import inline, kernel, outline
from ...engine.lanes import get, get2, get3, lift, on_stack, put, put2, put3, single_workspace, stack_numbers
from ...model.layout import (
    ARMATURE,
    BAD_QUATERNION,
    BAD_SHAPE,
    BODY,
    BODY_ROTATION,
    FIRST,
    N_Q,
    N_TREES,
    N_V,
    NOT_FINITE,
    OK,
    PARENT,
    REFERENCE,
    TOO_LARGE,
)
from .common.batch import all_finite, make_batch
from .common.joints import add_bias, add_step, check_quaternions, constants9, has_transform, row_transform
from .common.spatial import add, cross, dot, scale, sub, twist_into, unrotate
from .common.world import (
    COLUMNS,
    INERTIA_COLUMNS,
    MASS_C,
    MOMENT_C,
    J,
    V,
    composite_inertias,
    from_first,
    inertia_times,
    own_inertias,
    poses_and_screws,
    reference_point,
    velocities,
)
from .inverse_dynamics import NONE_GIVEN
from .mass_matrix import clear

# Columns of the workspace of `body_motion_core`.
_W, _V, _DW, _DV, _AW, _AV, _COLUMNS = 0, 3, 6, 9, 12, 15, 18

#: Entries of what `body_sums_core` writes: total mass, centre of mass, momentum about it, kinetic energy.
SUM_MASS, SUM_COM, SUM_ANGULAR, SUM_LINEAR, SUM_ENERGY, SUM_SIZE = 0, 1, 4, 7, 10, 11


@inline
def body_motion_core(rows, q, qd, qdd, _c, _d, _given, twists, accelerations, work):
    """Fill the bodies' twists and their rates (6 n_bodies each), every one in its own frame. Kim (37), (41)."""
    for k in range(_COLUMNS):
        put2(work, 0, k, 0.0)
    for i in range(1, int(rows[0, N_V]) + 1):
        parent = int(rows[i, PARENT])
        x, y = get(qd, i - 1), get(qdd, i - 1)
        w, v, dw, dv = get3(work, parent, _W), get3(work, parent, _V), get3(work, parent, _DW), get3(work, parent, _DV)
        if has_transform(rows, i):
            r, p = row_transform(rows, i, q)
            w, v = twist_into(r, p, w, v)
            dw, dv = twist_into(r, p, dw, dv)
            aw, av = w, v
            put3(work, i, _AW, aw)
            put3(work, i, _AV, av)
        else:
            first = int(rows[i, FIRST])
            aw, av = get3(work, first, _AW), get3(work, first, _AV)
        dw, dv = add_bias(rows, i, q, dw, dv, aw, av, x)
        dw, dv = add_step(rows, i, q, dw, dv, y)
        w, v = add_step(rows, i, q, w, v, x)
        put3(work, i, _W, w)
        put3(work, i, _V, v)
        put3(work, i, _DW, dw)
        put3(work, i, _DV, dv)
        body = int(rows[i, BODY])
        if body >= 0:
            turn = constants9(rows, i, BODY_ROTATION)
            _put_pair(twists, body, unrotate(turn, w), unrotate(turn, v))
            _put_pair(accelerations, body, unrotate(turn, dw), unrotate(turn, dv))


@inline
def _put_pair(out, body, w, v):
    """Store a twist of a body."""
    for k in range(3):
        put(out, 6 * body + k, w[k])
        put(out, 6 * body + 3 + k, v[k])


@outline
def seen_from_first(rows, q, origin, work):
    """Return what first moments and angular momenta of all trees gain when seen from the first tree's frame."""
    zero = lift(0.0, get(q, 0))
    moment, angular, away = (zero, zero, zero), (zero, zero, zero), (zero, zero, zero)
    tree = int(rows[1, REFERENCE])
    for i in range(1, int(rows[0, N_V]) + 1):
        if rows[i, BODY] >= 0.0:
            if int(rows[i, REFERENCE]) != tree:
                tree, away = int(rows[i, REFERENCE]), from_first(rows, i, q, origin)
            _, f = inertia_times(work, i, get3(work, i, V), get3(work, i, V + 3))
            moment = add(moment, scale(get2(work, i, MASS_C), away))
            angular = add(angular, cross(away, f))
    return moment, angular


@inline
def body_sums_core(rows, q, qd, _b, _c, _d, _given, out, _z, work):
    """Fill the sums over all bodies, in the world frame; see `SUM_MASS` and its neighbours."""
    clear(out)
    n = int(rows[0, N_V])
    if n == 0:
        return
    poses_and_screws(rows, q, work)
    velocities(rows, qd, work)
    own_inertias(rows, work)
    zero = lift(0.0, get(q, 0))
    mass, energy = zero, zero
    moment, angular, linear = (zero, zero, zero), (zero, zero, zero), (zero, zero, zero)
    for i in range(1, n + 1):
        x = get(qd, i - 1)
        energy = energy + rows[i, ARMATURE] * x * x
        if rows[i, BODY] >= 0.0:
            w, v = get3(work, i, V), get3(work, i, V + 3)
            m, f = inertia_times(work, i, w, v)
            energy = energy + dot(m, w) + dot(f, v)
            angular, linear = add(angular, m), add(linear, f)
            mass = mass + get2(work, i, MASS_C)
            moment = add(moment, get3(work, i, MOMENT_C))
    origin = reference_point(rows, 1, q)
    if rows[0, N_TREES] > 1.0:
        more, turn = seen_from_first(rows, q, origin, work)
        moment, angular = add(moment, more), add(angular, turn)
    com = scale(1.0 / mass, moment)
    angular = sub(angular, cross(com, linear))
    com = add(add(com, origin[1]), origin[0])
    put(out, SUM_MASS, mass)
    put(out, SUM_ENERGY, 0.5 * energy)
    for k in range(3):
        put(out, SUM_COM + k, com[k])
        put(out, SUM_ANGULAR + k, angular[k])
        put(out, SUM_LINEAR + k, linear[k])


@outline
def sums_of_trees(rows, q, work):
    """Return mass and first moment of all trees, seen from the first tree's frame, from those of each."""
    zero = lift(0.0, get(q, 0))
    mass, moment = zero, (zero, zero, zero)
    origin = reference_point(rows, 1, q)
    for i in range(1, int(rows[0, N_V]) + 1):
        if rows[i, PARENT] == 0.0:
            own, away = get2(work, i, MASS_C), from_first(rows, i, q, origin)
            mass = mass + own
            moment = add(moment, add(get3(work, i, MOMENT_C), scale(own, away)))
    return mass, moment


@outline
def move_columns(rows, q, out):
    """Let the columns (6 nv) of all trees, moments about their reference points, be about that of the first."""
    n = int(rows[0, N_V])
    origin = reference_point(rows, 1, q)
    tree, away = int(rows[1, REFERENCE]), scale(0.0, origin[0])
    for i in range(1, n + 1):
        if int(rows[i, REFERENCE]) != tree:
            tree, away = int(rows[i, REFERENCE]), from_first(rows, i, q, origin)
        k = i - 1
        x = cross(away, (get(out, 3 * n + k), get(out, 4 * n + k), get(out, 5 * n + k)))
        for c in range(3):
            put(out, c * n + k, get(out, c * n + k) + x[c])


@inline
def centroidal_matrix_core(rows, q, _a, _b, _c, _d, _given, out, _z, work):
    """Fill the 6 x nv matrix that takes qd to the momentum about the centre of mass, in the world's axes."""
    clear(out)
    n = int(rows[0, N_V])
    if n == 0:
        return
    poses_and_screws(rows, q, work)
    own_inertias(rows, work)
    composite_inertias(rows, work)
    mass, moment = get2(work, 1, MASS_C), get3(work, 1, MOMENT_C)
    if rows[0, N_TREES] > 1.0:
        mass, moment = sums_of_trees(rows, q, work)
    com = scale(1.0 / mass, moment)
    for i in range(1, n + 1):
        m, f = inertia_times(work, i, get3(work, i, J), get3(work, i, J + 3))
        m = sub(m, cross(com, f))
        for k in range(3):
            put(out, k * n + i - 1, m[k])
            put(out, (k + 3) * n + i - 1, f[k])
    if rows[0, N_TREES] > 1.0:
        move_columns(rows, q, out)


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1])", quick=True)
def body_sums(rows, q, qd, out):
    """Write the sums of one state (`SUM_SIZE`) to `out` and return a status of `layout`."""
    if q.shape[0] != rows[0, N_Q] or qd.shape[0] != rows[0, N_V] or qd.shape[0] == 0 or out.shape[0] != SUM_SIZE:
        return BAD_SHAPE
    if not check_quaternions(rows, q):
        return BAD_QUATERNION
    if not on_stack(qd.shape[0] + 1, COLUMNS):
        return TOO_LARGE
    scratch = stack_numbers()
    work = single_workspace(scratch, qd.shape[0] + 1, COLUMNS, q)
    body_sums_core(rows, q, qd, q, q, q, NONE_GIVEN, out, out, work)
    return OK if all_finite(out) else NOT_FINITE


body_motion_batch = make_batch(body_motion_core, _COLUMNS)
body_sums_batch = make_batch(body_sums_core, COLUMNS)
centroidal_matrix_batch = make_batch(centroidal_matrix_core, INERTIA_COLUMNS)
