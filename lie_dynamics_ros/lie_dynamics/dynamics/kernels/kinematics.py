"""Poses of the bodies in the world."""

from __future__ import annotations

from ...engine.compile import fixed, inline, kernel
from ...engine.lanes import get3, get9, put, put2, put3, put9
from ...model.layout import BODY, BODY_ROTATION, N_BODIES, N_V, PARENT
from .common.batch import make_batch
from .common.joints import constants9, has_transform
from .common.single import NONE_GIVEN, make_single
from .common.spatial import add, matmul, rotate
from .common.steps import passing_transform, prepare_transforms

#: Columns of the table of poses: rotation by rows, then origin, in the world frame.
POSE_R, POSE_P, POSE_COLUMNS = 0, 9, 12


@inline
def world_poses(rows, q, work):
    """Fill columns 0 to 11 of `work` with each row's pose T_{0,i} of the kernel frame."""
    prepare_transforms(rows, q, work, POSE_R)
    for k in range(POSE_COLUMNS):
        put2(work, 0, k, 0.0)
    put2(work, 0, 0, 1.0)
    put2(work, 0, 4, 1.0)
    put2(work, 0, 8, 1.0)
    for i in range(1, int(rows[0, N_V]) + 1):
        parent = int(rows[i, PARENT])
        rp, pp = get9(work, parent, POSE_R), get3(work, parent, POSE_P)
        if has_transform(rows, i):
            r, p = passing_transform(rows, i, q, work, POSE_R)
            pp = add(pp, rotate(rp, p))
            rp = matmul(rp, r)
        put9(work, i, POSE_R, rp)
        put3(work, i, POSE_P, pp)


@inline
def forward_kinematics_core(rows, q, _a, _b, _c, _d, _given, out, _z, work):
    """Fill `out` (16 n_bodies) with the 4x4 poses of the bodies of one state, or of one tile."""
    world_poses(rows, q, work)
    for i in range(1, int(rows[0, N_V]) + 1):
        body = int(rows[i, BODY])
        if body < 0:
            continue
        turn = constants9(rows, i, BODY_ROTATION)
        r, p = matmul(get9(work, i, POSE_R), turn), get3(work, i, POSE_P)
        k = 16 * body
        for j in range(3):
            put(out, k + 4 * j, r[3 * j])
            put(out, k + 4 * j + 1, r[3 * j + 1])
            put(out, k + 4 * j + 2, r[3 * j + 2])
            put(out, k + 4 * j + 3, p[j])
            put(out, k + 12 + j, 0.0)
        put(out, k + 15, 1.0)


_one = make_single(forward_kinematics_core, POSE_COLUMNS)


@kernel("(float64[:,::1], float64[::1], float64[:,:,::1])", quick=True, fresh=1, size=(N_BODIES, fixed(4), fixed(4)))
def forward_kinematics(rows, q, out):
    """Write the poses (n_bodies, 4, 4) of one state to `out` and return a status of `layout`."""
    flat = out.reshape(out.size)
    return _one(rows, q, q, q, q, q, NONE_GIVEN, flat, flat, out.shape[0] == rows[0, N_BODIES])


forward_kinematics_batch = make_batch(forward_kinematics_core, POSE_COLUMNS)
