"""Joint forces that hold a robot at rest: inverse dynamics with neither rates nor accelerations."""

from __future__ import annotations

from ...engine.compile import inline, kernel
from ...engine.lanes import add3, get2, get3, get9, put, put2, put3
from ...model.layout import GRAVITY, MASS, MOMENT, N_V, PARENT
from .common.batch import make_batch
from .common.joints import constants3, has_transform, project
from .common.single import NONE_GIVEN, make_single
from .common.spatial import add, cross, rotate, scale, unrotate
from .common.steps import prepare_transforms, transform

# Columns of the workspace: transform, acceleration against gravity, mass and first moment of all bodies beyond.
_R, _A, _MASS, _MOMENT, _COLUMNS = 0, 12, 15, 16, 19


@inline
def gravity_force_core(rows, q, _a, _b, _f, _c, _given, out, _z, work):
    """Fill `out` with the joint forces of one state, or of one tile of states."""
    n = int(rows[0, N_V])
    prepare_transforms(rows, q, work, _R)
    for k in range(3):
        put2(work, 0, _A + k, -rows[0, GRAVITY + k])
    for i in range(1, n + 1):
        a = get3(work, int(rows[i, PARENT]), _A)
        if has_transform(rows, i):
            r, _ = transform(rows, i, q, work, _R)
            a = unrotate(r, a)
        put3(work, i, _A, a)
        put2(work, i, _MASS, rows[i, MASS])
        put3(work, i, _MOMENT, constants3(rows, i, MOMENT))
    for i in range(n, 0, -1):
        a, mass, h = get3(work, i, _A), get2(work, i, _MASS), get3(work, i, _MOMENT)
        put(out, i - 1, project(rows, i, q, cross(h, a), scale(mass, a)))
        parent = int(rows[i, PARENT])
        if parent > 0:
            if has_transform(rows, i):
                h = add(rotate(get9(work, i, _R), h), scale(mass, get3(work, i, _R + 9)))
            put2(work, parent, _MASS, get2(work, parent, _MASS) + mass)
            add3(work, parent, _MOMENT, h)


_one = make_single(gravity_force_core, _COLUMNS)


@kernel("(float64[:,::1], float64[::1], float64[::1])", quick=True, fresh=1, size=N_V)
def gravity_force(rows, q, out):
    """Write the joint forces of one state to `out` and return a status of `layout`."""
    return _one(rows, q, q, q, q, q, NONE_GIVEN, out, out, out.shape[0] == rows[0, N_V])


gravity_force_batch = make_batch(gravity_force_core, _COLUMNS)
