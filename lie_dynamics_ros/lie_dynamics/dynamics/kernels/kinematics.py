"""Poses of the bodies in the world; Jacobian of a frame and its rate, by one walk from the frame to the root."""

from __future__ import annotations

from ...engine.compile import fixed, inline, kernel, pasted, straight
from ...engine.lanes import get, get3, get9, lift, put, put2, put3, put9, shared_integer
from ...model.layout import AXIS, AXIS_V, AXIS_W, BODY, BODY_ROTATION, KIND, LAST, N_BODIES, N_V, NOT_FINITE, OK, PARENT
from .common.joints import (
    constants9,
    custom_rate,
    has_transform,
    is_custom,
    passing_transform,
    prepare_transforms,
    row_transform,
    subspace,
)
from .common.spatial import add, cross, matmul, rotate, scale, twist_cross, twist_into
from .common.states import NONE_GIVEN, all_finite, make_batch, make_single
from .mass_matrix import clear

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
def forward_kinematics_core(rows, q, out, work):
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


_one = make_single(forward_kinematics_core, POSE_COLUMNS, "q y")


@kernel("(float64[:,::1], float64[::1], float64[:,:,::1])", quick=True, fresh=1, size=(N_BODIES, fixed(4), fixed(4)))
def forward_kinematics(rows, q, out):
    """Write the poses (n_bodies, 4, 4) of one state to `out` and return a status of `layout`."""
    flat = out.reshape(out.size)
    return _one(rows, q, q, q, q, q, NONE_GIVEN, flat, flat, out.shape[0] == rows[0, N_BODIES])


forward_kinematics_batch = make_batch(forward_kinematics_core, POSE_COLUMNS, "q y")


# The frame: row it hangs on (0: the world), kind of frame asked for, pose in the row's kernel frame.
WHERE_ROW, WHERE_KIND, WHERE_R, WHERE_P, WHERE_SIZE = 0, 1, 2, 11, 14
BODY_FRAME, WORLD_FRAME, ALIGNED_FRAME = 0, 1, 2


@inline
def _column(rows, i, q, r, p):
    """Return S of row `i` seen from the frame at (r, p) in the row's kernel frame."""
    if rows[i, KIND] == AXIS:
        a, b = rows[i, AXIS_W], rows[i, AXIS_V]
        # S = (a z, b z): R^T z is the last row of R, and w x p = a (-p_y, p_x, 0).
        z = (r[6], r[7], r[8])
        x, y = a * p[0], a * p[1]
        v = (r[3] * x - r[0] * y, r[4] * x - r[1] * y, r[5] * x - r[2] * y)
        return scale(a, z), add(v, scale(b, z))
    sw, sv = subspace(rows, i, q, p[0])
    return twist_into(r, p, sw, sv)


@inline
def _put_column(out, n, i, w, v):
    """Store column `i` - 1 of a 6 x n matrix."""
    for k in range(3):
        put(out, k * n + i - 1, w[k])
        put(out, (k + 3) * n + i - 1, v[k])


@straight
def _get_column(out, n, i):
    """Read column `i` - 1 of a 6 x n matrix."""
    k = i - 1
    return (
        (get(out, k), get(out, n + k), get(out, 2 * n + k)),
        (get(out, 3 * n + k), get(out, 4 * n + k), get(out, 5 * n + k)),
    )


@inline
def jacobian_core(rows, q, qd, where, out, rate, _work):
    """Fill `out` (6 nv), and `rate` (6 nv) unless it is empty, of one state or of one tile."""
    n = int(rows[0, N_V])
    clear(out)
    clear(rate)
    r = (get(where, 2), get(where, 3), get(where, 4), get(where, 5), get(where, 6),
         get(where, 7), get(where, 8), get(where, 9), get(where, 10))  # fmt: skip
    p = (get(where, 11), get(where, 12), get(where, 13))
    zero = lift(0.0, p[0])
    w, v = (zero, zero, zero), (zero, zero, zero)  # twist of the frame relative to the row's body, in the frame
    aw, av = w, v
    leaf, kind = shared_integer(where, WHERE_ROW), shared_integer(where, WHERE_KIND)
    i = leaf
    while i > 0:
        if i == int(rows[i, LAST]):
            aw, av = w, v
        jw, jv = _column(rows, i, q, r, p)
        _put_column(out, n, i, jw, jv)
        if rate.shape[0] > 0:
            dw, dv = twist_cross(aw, av, jw, jv)
            dw, dv = scale(-1.0, dw), scale(-1.0, dv)
            if is_custom(rows, i):
                sw, sv = custom_rate(rows, i, q)
                sw, sv = twist_into(r, p, sw, sv)
                dw, dv = add(dw, sw), add(dv, sv)
            _put_column(rate, n, i, dw, dv)
            x = get(qd, i - 1)
            w, v = add(w, scale(x, jw)), add(v, scale(x, jv))
        if has_transform(rows, i):
            rr, pp = row_transform(rows, i, q)
            p = add(pp, rotate(rr, p))
            r = matmul(rr, r)
        i = int(rows[i, PARENT])
    if kind == BODY_FRAME:
        return
    if kind == ALIGNED_FRAME:
        p, v = (zero, zero, zero), (zero, zero, zero)
    i = leaf
    while i > 0:
        jw, jv = _get_column(out, n, i)
        if rate.shape[0] > 0:
            dw, dv = _get_column(rate, n, i)
            cw, cv = twist_cross(w, v, jw, jv)
            dw, dv = rotate(r, add(dw, cw)), rotate(r, add(dv, cv))
            _put_column(rate, n, i, dw, add(dv, cross(p, dw)))
        jw, jv = rotate(r, jw), rotate(r, jv)
        _put_column(out, n, i, jw, add(jv, cross(p, jw)))
        i = int(rows[i, PARENT])


@pasted
def _finite(_given, y, z, _work):
    """Return the status of one state whose Jacobian and rate must be finite."""
    return OK if all_finite(y) and all_finite(z) else NOT_FINITE


_one_jacobian = make_single(jacobian_core, 1, "q a b y z", _finite)  # nothing is kept


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[:,::1])", quick=True, fresh=1, size=(fixed(6), N_V))
def jacobian(rows, q, where, out):
    """Write J (6, nv) of one state to `out` and return a status of `layout`."""
    fits = out.shape[1] == rows[0, N_V]
    return _one_jacobian(rows, q, q, where, q, q, NONE_GIVEN, out.reshape(out.size), q[:0], fits)


@kernel(
    "(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[:,::1])",
    quick=True,
    fresh=1,
    size=(fixed(12), N_V),
)
def jacobian_and_rate(rows, q, qd, where, out):
    """Write J, and below it dJ/dt, of one state to `out` (12, nv) and return a status of `layout`."""
    flat, half = out.reshape(out.size), out.size // 2
    fits = qd.shape[0] == rows[0, N_V] and out.shape[1] == rows[0, N_V]
    return _one_jacobian(rows, q, qd, where, q, q, NONE_GIVEN, flat[:half], flat[half:], fits)


jacobian_batch = make_batch(jacobian_core, 1, "q a b y z")
