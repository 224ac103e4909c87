"""Poses of the bodies in the world."""

from __future__ import annotations

import numpy as np

from ..model.layout import (
    BAD_QUATERNION,
    BAD_SHAPE,
    BODY,
    BODY_ROTATION,
    CUSTOM_FOLLOW,
    FOLLOW,
    KIND,
    N_BODIES,
    N_Q,
    N_V,
    NOT_FINITE,
    OK,
    PARENT,
)
from .batch import load_tile, store_tile, tile_width, within_reach
from .compile import inline, kernel
from .joints import check_quaternions, constants9, row_transform
from .lanes import get, get3, get9, lift, put2, put3, put9, workspace
from .spatial import add, matmul, rotate

#: Columns of the table of poses: rotation by rows, then origin, in the world frame.
POSE_R, POSE_P, POSE_COLUMNS = 0, 9, 12


@inline
def world_poses(rows, q, work):
    """Fill columns 0 to 11 of `work` with each row's pose T_{0,i} of the kernel frame."""
    for k in range(POSE_COLUMNS):
        put2(work, 0, k, 0.0)
    put2(work, 0, 0, 1.0)
    put2(work, 0, 4, 1.0)
    put2(work, 0, 8, 1.0)
    for i in range(1, int(rows[0, N_V]) + 1):
        parent = int(rows[i, PARENT])
        rp, pp = get9(work, parent, POSE_R), get3(work, parent, POSE_P)
        kind = rows[i, KIND]
        if not (kind == FOLLOW or kind == CUSTOM_FOLLOW):
            r, p = row_transform(rows, i, q)
            pp = add(pp, rotate(rp, p))
            rp = matmul(rp, r)
        put9(work, i, POSE_R, rp)
        put3(work, i, POSE_P, pp)


@inline
def forward_kinematics_core(rows, q, out, work):
    """Fill `out` (16 n_bodies) with the 4x4 poses of the bodies of one state, or of one tile."""
    world_poses(rows, q, work)
    for i in range(1, int(rows[0, N_V]) + 1):
        body = int(rows[i, BODY])
        if body < 0:
            continue
        like = get(q, 0)
        turn = constants9(rows, i, BODY_ROTATION)
        r, p = matmul(get9(work, i, POSE_R), turn), get3(work, i, POSE_P)
        for j in range(3):
            put3(out, body, 4 * j, (r[3 * j], r[3 * j + 1], r[3 * j + 2]))
            put2(out, body, 4 * j + 3, p[j])
            put2(out, body, 12 + j, lift(0.0, like))
        put2(out, body, 15, lift(1.0, like))


@inline
def forward_kinematics_state(rows, q, out, work):
    """Evaluate one state, all shapes known to be right, and return a status."""
    if not check_quaternions(rows, q):
        return BAD_QUATERNION
    forward_kinematics_core(rows, q, out, work)
    total = 0.0
    for body in range(out.shape[0]):
        total += out[body, 3] * 0.0 + out[body, 7] * 0.0 + out[body, 11] * 0.0 + out[body, 0] * 0.0
    return OK if total == 0.0 else NOT_FINITE


@kernel("(float64[:,::1], float64[::1], float64[:,:,::1])")
def forward_kinematics(rows, q, out):
    """Write the poses (n_bodies, 4, 4) of one state to `out` and return a status of `layout`."""
    if q.shape[0] != rows[0, N_Q] or out.shape[0] != rows[0, N_BODIES]:
        return BAD_SHAPE
    work = workspace(int(rows[0, N_V]) + 1, POSE_COLUMNS, q)
    return forward_kinematics_state(rows, q, out.reshape((out.shape[0], 16)), work)


@kernel("(float64[:,::1], float64[:,::1], float64[:,:,:,::1])")
def forward_kinematics_batch(rows, q, out):
    """Write the poses of each state to `out` (B, n_bodies, 4, 4) and return the worst status."""
    status = OK
    batch, n = q.shape[0], int(rows[0, N_V])
    width = tile_width(batch)
    flat = out.reshape((batch, out.shape[1], 16))
    tq, to = np.empty((q.shape[1], width), q.dtype), np.empty((out.shape[1], 16, width), q.dtype)
    work, single = workspace(n + 1, POSE_COLUMNS, tq), np.empty((n + 1, POSE_COLUMNS), q.dtype)
    for start in range(0, batch, width):
        load_tile(q, start, tq)
        if within_reach(tq):
            forward_kinematics_core(rows, tq, to, work)
            if not store_tile(to, start, flat):
                status = max(status, NOT_FINITE)
        else:
            for s in range(start, min(start + width, batch)):
                status = max(status, forward_kinematics_state(rows, q[s], flat[s], single))
    return status
