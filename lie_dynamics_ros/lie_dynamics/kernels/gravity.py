"""Joint forces that hold a robot at rest: inverse dynamics with neither rates nor accelerations."""

from __future__ import annotations

from ..model.layout import BAD_QUATERNION, BAD_SHAPE, BODY, GRAVITY, MASS, MOMENT, N_Q, N_V, NOT_FINITE, OK, PARENT
from .batch import all_finite, make_batch
from .compile import inline, kernel
from .inverse_dynamics import NONE_GIVEN
from .joints import check_quaternions, constants3, has_transform, project, row_transform
from .lanes import add3, get3, get9, put, put2, put3, put9, workspace
from .spatial import cross, scale, unrotate, wrench_out

# Columns of the workspace: transform, acceleration against gravity, wrench.
_R, _P, _A, _M, _F, _COLUMNS = 0, 9, 12, 15, 18, 21


@inline
def gravity_force_core(rows, q, _a, _b, _f, _c, _given, out, _z, work):
    """Fill `out` with the joint forces of one state, or of one tile of states."""
    n = int(rows[0, N_V])
    for k in range(3):
        put2(work, 0, _A + k, -rows[0, GRAVITY + k])
    for i in range(1, n + 1):
        a = get3(work, int(rows[i, PARENT]), _A)
        if has_transform(rows, i):
            r, p = row_transform(rows, i, q)
            put9(work, i, _R, r)
            put3(work, i, _P, p)
            a = unrotate(r, a)
        put3(work, i, _A, a)
        if rows[i, BODY] >= 0.0:
            put3(work, i, _M, cross(constants3(rows, i, MOMENT), a))
            put3(work, i, _F, scale(rows[i, MASS], a))
        else:
            for k in range(_M, _COLUMNS):
                put2(work, i, k, 0.0)
    for i in range(n, 0, -1):
        m, f = get3(work, i, _M), get3(work, i, _F)
        put(out, i - 1, project(rows, i, q, m, f))
        parent = int(rows[i, PARENT])
        if parent > 0:
            if has_transform(rows, i):
                m, f = wrench_out(get9(work, i, _R), get3(work, i, _P), m, f)
            add3(work, parent, _M, m)
            add3(work, parent, _F, f)


@kernel("(float64[:,::1], float64[::1], float64[::1])")
def gravity_force(rows, q, out):
    """Write the joint forces of one state to `out` and return a status of `layout`."""
    if q.shape[0] != rows[0, N_Q] or out.shape[0] != rows[0, N_V]:
        return BAD_SHAPE
    if not check_quaternions(rows, q):
        return BAD_QUATERNION
    work = workspace(out.shape[0] + 1, _COLUMNS, q)
    gravity_force_core(rows, q, q, q, q, q, NONE_GIVEN, out, out, work)
    return OK if all_finite(out) else NOT_FINITE


gravity_force_batch = make_batch(gravity_force_core, _COLUMNS)
