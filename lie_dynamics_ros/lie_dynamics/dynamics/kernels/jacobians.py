"""Jacobian of a frame and its rate, by one walk from the frame to the root."""

from __future__ import annotations

from ...engine.compile import fixed, inline, kernel, pasted, straight
from ...engine.lanes import get, lift, put, shared_integer
from ...model.layout import AXIS, AXIS_V, AXIS_W, KIND, LAST, N_V, NOT_FINITE, OK, PARENT
from .common.batch import all_finite, make_batch
from .common.joints import custom_rate, has_transform, is_custom, row_transform, subspace
from .common.single import NONE_GIVEN, make_single
from .common.spatial import add, cross, matmul, rotate, scale, twist_cross, twist_into
from .mass_matrix import clear

# The frame: row it hangs on (0: the world), kind of frame asked for, pose in the row's kernel frame.
WHERE_ROW, WHERE_KIND, WHERE_R, WHERE_P, WHERE_SIZE = 0, 1, 2, 11, 14
BODY_FRAME, WORLD_FRAME, ALIGNED_FRAME = 0, 1, 2

_COLUMNS = 1  # nothing is kept


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
def jacobian_core(rows, q, qd, where, _c, _d, _given, out, rate, _work):
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


_one = make_single(jacobian_core, _COLUMNS, _finite)


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[:,::1])", quick=True, fresh=1, size=(fixed(6), N_V))
def jacobian(rows, q, where, out):
    """Write J (6, nv) of one state to `out` and return a status of `layout`."""
    return _one(rows, q, q, where, q, q, NONE_GIVEN, out.reshape(out.size), q[:0], out.shape[1] == rows[0, N_V])


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
    return _one(rows, q, qd, where, q, q, NONE_GIVEN, flat[:half], flat[half:], fits)


jacobian_batch = make_batch(jacobian_core, _COLUMNS)
