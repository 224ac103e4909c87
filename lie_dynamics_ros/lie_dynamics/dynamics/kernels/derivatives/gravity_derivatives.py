"""Derivatives of the joint forces that hold a robot at rest, along its coordinates.

A unit of coordinate i moves what lies beyond, of mass m and first moment h, with the momentum p_i = m v + w x h of the
screw J_i = (w, v): the force is -g . p_i. A step along a coordinate k before it turns p_i with it: the derivative is
-w_k . (p_i x g), of both along the other.
"""

from __future__ import annotations

from ....engine.compile import inline, kernel
from ....engine.lanes import add3, get2, get3, get9, put, put2, put3
from ....model.layout import FIRST, GRAVITY, MASS, MOMENT, N_V, PARENT
from ..common.joints import constants3
from ..common.spatial import add, cross, dot, rotate, scale
from ..common.states import NONE_GIVEN, make_batch, make_single
from ..common.world import MASS_C, MOMENT_C, J, P, R, poses_and_screws
from ..mass_matrix import clear

_COLUMNS = 22  # poses, screws, mass and first moment, as in `world`


@inline
def gravity_derivatives_core(rows, q, _a, _b, _f, _c, _given, out, _z, work):
    """Fill `out` (nv nv) with the derivatives of one state, or of one tile of states; without users' joints."""
    n = int(rows[0, N_V])
    if n == 0:
        return
    clear(out)
    poses_and_screws(rows, q, work)
    for i in range(1, n + 1):
        mass = rows[i, MASS]
        put2(work, i, MASS_C, mass)
        h = rotate(get9(work, i, R), constants3(rows, i, MOMENT))
        put3(work, i, MOMENT_C, add(h, scale(mass, get3(work, i, P))))
    g = constants3(rows, 0, GRAVITY)
    for i in range(n, 0, -1):
        mass, h = get2(work, i, MASS_C), get3(work, i, MOMENT_C)
        w, first = get3(work, i, J), int(rows[i, FIRST])
        x = cross(add(scale(mass, get3(work, i, J + 3)), cross(w, h)), g)
        k = i
        while k > 0:
            wk = get3(work, k, J)
            value = -dot(wk, x)
            put(out, (i - 1) * n + k - 1, value)
            if k < first:
                put(out, (k - 1) * n + i - 1, value)
            elif k < i:  # rows of one joint move with their body, whatever the order
                xk = cross(add(scale(mass, get3(work, k, J + 3)), cross(wk, h)), g)
                put(out, (k - 1) * n + i - 1, -dot(w, xk))
            k = int(rows[k, PARENT])
        parent = int(rows[i, PARENT])
        if parent > 0:
            put2(work, parent, MASS_C, get2(work, parent, MASS_C) + mass)
            add3(work, parent, MOMENT_C, h)


_one = make_single(gravity_derivatives_core, _COLUMNS)


@kernel("(float64[:,::1], float64[::1], float64[:,::1])", quick=True, fresh=1, size=(N_V, N_V))
def gravity_derivatives(rows, q, out):
    """Write the derivatives (nv, nv) of one state to `out` and return a status of `layout`."""
    fit = rows[0, N_V] == out.shape[0] == out.shape[1]
    flat = out.reshape(out.size)
    return _one(rows, q, q, q, q, q, NONE_GIVEN, flat, flat, fit)


gravity_derivatives_batch = make_batch(gravity_derivatives_core, _COLUMNS)
