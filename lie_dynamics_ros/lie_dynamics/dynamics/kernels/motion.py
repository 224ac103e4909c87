"""Twists and accelerations of the bodies, and sums over all bodies: momentum, energy, centre of mass."""

from __future__ import annotations

from ...engine.compile import fixed, inline, kernel, outline
from ...engine.lanes import add3, get, get2, get3, lift, put, put2, put3
from ...model.layout import ARMATURE, BODY, BODY_ROTATION, FIRST, INERTIA, MASS, MOMENT, N_TREES, N_V, PARENT, REFERENCE
from .common.joints import (
    add_bias,
    add_step,
    constants3,
    constants6,
    constants9,
    has_transform,
    passing_transform,
    prepare_transforms,
    row_transform,
    transform,
)
from .common.spatial import add, cross, dot, momentum, rotate, scale, sub, twist_into, unrotate
from .common.states import NONE_GIVEN, make_batch, make_single
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
from .mass_matrix import clear

# Columns of the workspace of `body_motion_core`.
_W, _V, _DW, _DV, _AW, _AV, _COLUMNS = 0, 3, 6, 9, 12, 15, 18

#: Entries of what `body_sums_core` writes: total mass, centre of mass, momentum about it.
SUM_MASS, SUM_COM, SUM_ANGULAR, SUM_LINEAR, SUM_SIZE = 0, 1, 4, 7, 10

# Columns of the workspaces of `center_of_mass_core`, mass and first moment beyond, and of `kinetic_energy_core`.
_R, _MASS, _MOMENT, _CENTER_COLUMNS = 0, 12, 13, 16
_TWIST, _ENERGY_COLUMNS = 12, 18


@inline
def body_motion_core(rows, q, qd, qdd, twists, accelerations, work):
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
def body_sums_core(rows, q, qd, out, work):
    """Fill the sums over all bodies, in the world frame; see `SUM_MASS` and its neighbours."""
    clear(out)
    n = int(rows[0, N_V])
    if n == 0:
        return
    poses_and_screws(rows, q, work)
    velocities(rows, qd, work)
    own_inertias(rows, work)
    zero = lift(0.0, get(q, 0))
    mass = zero
    moment, angular, linear = (zero, zero, zero), (zero, zero, zero), (zero, zero, zero)
    for i in range(1, n + 1):
        if rows[i, BODY] >= 0.0:
            m, f = inertia_times(work, i, get3(work, i, V), get3(work, i, V + 3))
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
    for k in range(3):
        put(out, SUM_COM + k, com[k])
        put(out, SUM_ANGULAR + k, angular[k])
        put(out, SUM_LINEAR + k, linear[k])


@inline
def kinetic_energy_core(rows, q, qd, out, work):
    """Fill `out` (1) with qd^T M qd / 2: bodies by their twists in their own frames, and rotors."""
    clear(out)
    n = int(rows[0, N_V])
    if n == 0:
        return
    prepare_transforms(rows, q, work, _R)
    for k in range(6):
        put2(work, 0, _TWIST + k, 0.0)
    energy = lift(0.0, get(qd, 0))
    for i in range(1, n + 1):
        parent = int(rows[i, PARENT])
        w, v = get3(work, parent, _TWIST), get3(work, parent, _TWIST + 3)
        if has_transform(rows, i):
            r, p = passing_transform(rows, i, q, work, _R)
            w, v = twist_into(r, p, w, v)
        x = get(qd, i - 1)
        w, v = add_step(rows, i, q, w, v, x)
        put3(work, i, _TWIST, w)
        put3(work, i, _TWIST + 3, v)
        energy = energy + rows[i, ARMATURE] * x * x
        if rows[i, BODY] >= 0.0:
            m, f = momentum(rows[i, MASS], constants3(rows, i, MOMENT), constants6(rows, i, INERTIA), w, v)
            energy = energy + dot(m, w) + dot(f, v)
    put(out, 0, 0.5 * energy)


@inline
def center_of_mass_core(rows, q, out, work):
    """Fill `out` (3) with the centre of mass in the world: masses and first moments of all bodies, leaves first."""
    clear(out)
    n = int(rows[0, N_V])
    if n == 0:
        return
    prepare_transforms(rows, q, work, _R)
    put2(work, 0, _MASS, 0.0)
    for k in range(3):
        put2(work, 0, _MOMENT + k, 0.0)
    for i in range(1, n + 1):
        put2(work, i, _MASS, rows[i, MASS])
        put3(work, i, _MOMENT, constants3(rows, i, MOMENT))
    for i in range(n, 0, -1):
        mass, h, parent = get2(work, i, _MASS), get3(work, i, _MOMENT), int(rows[i, PARENT])
        if has_transform(rows, i):
            r, p = transform(rows, i, q, work, _R)
            h = add(rotate(r, h), scale(mass, p))
        put2(work, parent, _MASS, get2(work, parent, _MASS) + mass)
        add3(work, parent, _MOMENT, h)
    mass, h = get2(work, 0, _MASS), get3(work, 0, _MOMENT)
    for k in range(3):
        put(out, k, h[k] / mass)


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
def centroidal_matrix_core(rows, q, out, work):
    """Fill the 6 x nv matrix that takes qd to the momentum about the centre of mass, in the world's axes."""
    clear(out)
    n = int(rows[0, N_V])
    if n == 0:
        return
    composite_inertias(rows, q, work)
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


_one_sum = make_single(body_sums_core, COLUMNS, "q a y")
_one_energy = make_single(kinetic_energy_core, _ENERGY_COLUMNS, "q a y")
_one_center = make_single(center_of_mass_core, _CENTER_COLUMNS, "q y")


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1])", quick=True, fresh=1, size=fixed(SUM_SIZE))
def body_sums(rows, q, qd, out):
    """Write the sums of one state (`SUM_SIZE`) to `out` and return a status of `layout`."""
    fit = rows[0, N_V] == qd.shape[0] and qd.shape[0] > 0 and out.shape[0] == SUM_SIZE
    return _one_sum(rows, q, qd, q, q, q, NONE_GIVEN, out, out, fit)


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1])", quick=True, fresh=1, size=fixed(1))
def kinetic_energy(rows, q, qd, out):
    """Write the kinetic energy of one state to `out` (1) and return a status of `layout`."""
    fit = rows[0, N_V] == qd.shape[0] and qd.shape[0] > 0 and out.shape[0] == 1
    return _one_energy(rows, q, qd, q, q, q, NONE_GIVEN, out, out, fit)


@kernel("(float64[:,::1], float64[::1], float64[::1])", quick=True, fresh=1, size=fixed(3))
def center_of_mass(rows, q, out):
    """Write the centre of mass of one state to `out` (3) and return a status of `layout`."""
    fit = rows[0, N_V] > 0.0 and out.shape[0] == 3
    return _one_center(rows, q, q, q, q, q, NONE_GIVEN, out, out, fit)


kinetic_energy_batch = make_batch(kinetic_energy_core, _ENERGY_COLUMNS, "q a y")
center_of_mass_batch = make_batch(center_of_mass_core, _CENTER_COLUMNS, "q y")
body_motion_batch = make_batch(body_motion_core, _COLUMNS, "q a b y z")
body_sums_batch = make_batch(body_sums_core, COLUMNS, "q a y")
centroidal_matrix_batch = make_batch(centroidal_matrix_core, INERTIA_COLUMNS, "q y")
