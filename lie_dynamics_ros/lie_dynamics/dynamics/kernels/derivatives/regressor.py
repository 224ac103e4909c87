"""The regressor: tau = Y pi, linear in the ten inertial parameters of each body.

A body with the unit parameter p and no other inertia takes the wrench Phi_p; Y(k, p) = J_k . Phi_p for each row k on
the path to it. In the world's axes, with a the acceleration of the body frame's origin and r_j the axes of that frame,

    mass          m = 0,                                        f = a,
    h along r_j   m = r_j x a,                                  f = al x r_j + w x (w x r_j),
    I_jk          m = E al + w x E w,  E = r_j r_k^T + r_k r_j^T,  f = 0      (once where j = k),

about the origin of the body frame, whence it is moved to that of the inertial frame.
"""

from __future__ import annotations

import numpy as np

from ....engine.compile import kernel, outline, straight
from ....engine.lanes import get2, get3, get9, put, put2, vector_space, workspace
from ....engine.tiles import load_tile, tile_width
from ....model.layout import BAD_QUATERNION, BAD_SHAPE, BODY, BODY_ROTATION, N_BODIES, N_Q, N_V, NOT_FINITE, OK, PARENT
from ..common.batch import BATCH_SIGNATURE, all_finite, quaternions_fit
from ..common.joints import check_quaternions, constants9
from ..common.single import NONE_GIVEN
from ..common.sparse_rows import drain, line_offset, list_blocks, store_rows, window_size
from ..common.spatial import add, cross, dot, matmul, scale
from ..common.world import J, P, R, V, poses_and_screws, screw_rates, velocities
from ..mass_matrix import clear
from .derivative_terms import COLUMNS as TERM_COLUMNS
from .derivative_terms import A, accelerations

#: Columns of the workspace for Phi: three moments of ten parameters, then three forces of the first four.
MOMENTS, FORCES = TERM_COLUMNS, TERM_COLUMNS + 30
COLUMNS = TERM_COLUMNS + 42


@straight
def _put_moment(work, p, m):
    for k in range(3):
        put2(work, 0, MOMENTS + 10 * k + p, m[k])


@straight
def _put_force(work, p, f):
    for k in range(3):
        put2(work, 0, FORCES + 4 * k + p, f[k])


@outline
def unit_wrenches(rows, i, work):
    """Fill the wrenches of the ten parameters of the body of row `i` into row 0, about the inertial frame's origin."""
    p = get3(work, i, P)
    r = matmul(get9(work, i, R), constants9(rows, i, BODY_ROTATION))
    w, al = get3(work, i, V), get3(work, i, A)
    v = add(get3(work, i, V + 3), cross(w, p))
    a = add(add(get3(work, i, A + 3), cross(al, p)), cross(w, v))
    x, y, z = (r[0], r[3], r[6]), (r[1], r[4], r[7]), (r[2], r[5], r[8])
    _put_moment(work, 0, cross(p, a))
    _put_force(work, 0, a)
    wx, wy, wz = cross(w, x), cross(w, y), cross(w, z)
    fx, fy, fz = add(cross(al, x), cross(w, wx)), add(cross(al, y), cross(w, wy)), add(cross(al, z), cross(w, wz))
    _put_moment(work, 1, add(cross(x, a), cross(p, fx)))
    _put_force(work, 1, fx)
    _put_moment(work, 2, add(cross(y, a), cross(p, fy)))
    _put_force(work, 2, fy)
    _put_moment(work, 3, add(cross(z, a), cross(p, fz)))
    _put_force(work, 3, fz)
    bx, by, bz = dot(x, w), dot(y, w), dot(z, w)
    cx, cy, cz = dot(x, al), dot(y, al), dot(z, al)
    _put_moment(work, 4, add(scale(cx, x), scale(bx, wx)))
    _put_moment(work, 5, add(add(scale(cy, x), scale(by, wx)), add(scale(cx, y), scale(bx, wy))))
    _put_moment(work, 6, add(add(scale(cz, x), scale(bz, wx)), add(scale(cx, z), scale(bx, wz))))
    _put_moment(work, 7, add(scale(cy, y), scale(by, wy)))
    _put_moment(work, 8, add(add(scale(cz, y), scale(bz, wy)), add(scale(cy, z), scale(by, wz))))
    _put_moment(work, 9, add(scale(cz, z), scale(bz, wz)))


@outline
def put_row(work, k, out, at):
    """Write the ten entries of row `k` for the parameters in row 0 to `out` from entry `at`."""
    w, v = get3(work, k, J), get3(work, k, J + 3)
    for p in range(4):
        x = w[0] * get2(work, 0, MOMENTS + p) + w[1] * get2(work, 0, MOMENTS + 10 + p)
        x = x + w[2] * get2(work, 0, MOMENTS + 20 + p) + v[0] * get2(work, 0, FORCES + p)
        put(out, at + p, x + v[1] * get2(work, 0, FORCES + 4 + p) + v[2] * get2(work, 0, FORCES + 8 + p))
    for p in range(4, 10):
        x = w[0] * get2(work, 0, MOMENTS + p) + w[1] * get2(work, 0, MOMENTS + 10 + p)
        put(out, at + p, x + w[2] * get2(work, 0, MOMENTS + 20 + p))


@outline
def motion(rows, q, qd, qdd, work):
    """Fill poses, screws, velocities and accelerations."""
    poses_and_screws(rows, q, work)
    velocities(rows, qd, work)
    screw_rates(rows, q, work)
    accelerations(rows, qd, qdd, NONE_GIVEN, work)


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[:,::1])", direct=True)
def regressor(rows, q, qd, qdd, out):
    """Write Y (nv, 10 n_bodies) of one state to `out` and return a status of `layout`."""
    n = qd.shape[0]
    if q.shape[0] != rows[0, N_Q] or n != rows[0, N_V] or qdd.shape[0] != n or out.shape[0] != n:
        return BAD_SHAPE
    if not check_quaternions(rows, q):
        return BAD_QUATERNION
    work = workspace(n + 1, COLUMNS, q)
    flat = out.reshape(out.size)
    clear(flat)
    if n > 0:
        motion(rows, q, qd, qdd, work)
    for i in range(1, n + 1):
        if rows[i, BODY] >= 0.0:
            unit_wrenches(rows, i, work)
            k = i
            while k > 0:
                put_row(work, k, flat, (k - 1) * out.shape[1] + 10 * int(rows[i, BODY]))
                k = int(rows[k, PARENT])
    return OK if all_finite(flat) else NOT_FINITE


@kernel(BATCH_SIGNATURE)
def regressor_batch(rows, q, qd, qdd, _f_ext, _c, _given, out, _z):
    """Write Y of each state of a batch and return the worst status.

    Most of it is zero; the tile holds only blocks for the bodies beyond each row.
    """
    status = OK
    count, n, states = q.shape[0], qd.shape[1], tile_width(q.shape[0])
    bodies = int(rows[0, N_BODIES])
    width = 10 * bodies
    tq = vector_space(q.shape[1], np.empty((0, states), q.dtype))
    ta, tb, work = vector_space(n, tq), vector_space(n, tq), workspace(n + 1, COLUMNS, tq)
    blocks = np.empty(3 * n + 3, np.int64)
    list_blocks(rows, 10, bodies, blocks)
    tile, window = vector_space(blocks[3 * n + 2], tq), vector_space(window_size(width, out.shape[1]), tq)
    clear(tile)
    clear(window)
    offset = line_offset(out)
    for start in range(0, count, states):
        if not quaternions_fit(rows, q, start, min(start + states, count)):
            status = max(status, BAD_QUATERNION)
            continue
        load_tile(q, start, tq)
        load_tile(qd, start, ta)
        load_tile(qdd, start, tb)
        if n > 0:
            motion(rows, tq, ta, tb, work)
        for i in range(1, n + 1):
            if rows[i, BODY] >= 0.0:
                unit_wrenches(rows, i, work)
                k = i
                while k > 0:
                    put_row(work, k, tile, blocks[3 * k - 1] + 10 * (int(rows[i, BODY]) - blocks[3 * k - 3]))
                    k = int(rows[k, PARENT])
        if not store_rows(tile, blocks, 10, width, start, out, offset, window):
            status = max(status, NOT_FINITE)
    drain()
    return status
