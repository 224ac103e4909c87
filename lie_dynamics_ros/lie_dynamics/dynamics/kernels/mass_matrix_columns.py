"""Mass matrix of one state, eight rows of the tree to a SIMD vector.

The same sums as `mass_matrix`, in the inertial frame. There only the poses and the composite inertias need other rows;
screws, inertias and the products of the two are computed for eight rows at once, from columns instead of rows.
"""

from __future__ import annotations

from ...engine.compile import COMPILED, inline, kernel, pasted, straight
from ...engine.lanes import at, place, place_vector, place_vector_from, positive, vector_at
from ...model.layout import (
    ARMATURE,
    AXIS,
    BLOCKS,
    COLUMNS_AT,
    DEPTH_FIRST,
    INERTIA_C,
    KIND,
    LANES,
    MASS_C,
    MOMENT_C,
    N_COMPOUND,
    N_V,
    PARENT,
    REFERENCE,
    SUBSPACE_C,
    SUBTREE_END_C,
)
from .common.joints import has_transform, row_transform
from .common.spatial import add, cross, dot, matmul, rotate, scale, sub, symmetric_times
from .common.states import NONE_GIVEN, make_single
from .common.world import inertia_at
from .mass_matrix import mass_matrix_core

# Columns of the workspace.
_R, _P, _J, _MASS, _MOMENT, _INERTIA, _F, _COLUMNS = 0, 9, 12, 18, 19, 22, 28, 34


@straight
def _numbers3(a, k, stride):
    return at(a, k), at(a, k + stride), at(a, k + 2 * stride)


@straight
def _numbers9(a, k, stride):
    return (
        *_numbers3(a, k, stride), *_numbers3(a, k + 3 * stride, stride), *_numbers3(a, k + 6 * stride, stride)
    )  # fmt: skip


@straight
def _place3(a, k, stride, x):
    for j in range(3):
        place(a, k + j * stride, x[j])


@straight
def _place9(a, k, stride, x):
    for j in range(9):
        place(a, k + j * stride, x[j])


@straight
def _vectors3(a, k, stride):
    return vector_at(a, k), vector_at(a, k + stride), vector_at(a, k + 2 * stride)


@straight
def _vectors6(a, k, stride):
    return (*_vectors3(a, k, stride), *_vectors3(a, k + 3 * stride, stride))


@straight
def _place_vectors(a, k, stride, x):
    for j in range(len(x)):
        place_vector(a, k + j * stride, x[j])


if COMPILED:
    from .common.joints import step_vectors

    @inline
    def _poses(rows, q, work):
        """Fill each row's pose, seen from its tree's reference point; its step seen from its parent row comes first."""
        n, stride = int(rows[0, N_V]), int(rows[0, BLOCKS]) * LANES
        for b in range(int(rows[0, BLOCKS])):
            step_vectors(rows, q, b, work, b, stride // LANES)
        if rows[0, N_COMPOUND] > 0.0:
            for i in range(1, n + 1):
                if rows[i, KIND] != AXIS and has_transform(rows, i):
                    r, p = row_transform(rows, i, q)
                    _place9(work, i - 1, stride, r)
                    _place3(work, i - 1 + _P * stride, stride, p)
        for i in range(1, n + 1):
            k, m = i - 1, int(rows[i, PARENT]) - 1
            if m < 0:
                _place3(work, k + _P * stride, stride, (0.0, 0.0, 0.0))
                continue
            r, p = _numbers9(work, m, stride), _numbers3(work, m + _P * stride, stride)
            if has_transform(rows, i):
                if i > int(rows[i, REFERENCE]):
                    p = add(p, rotate(r, _numbers3(work, k + _P * stride, stride)))
                r = matmul(r, _numbers9(work, k, stride))
            _place9(work, k, stride, r)
            _place3(work, k + _P * stride, stride, p)

    @straight
    def _screws_and_inertias(constants, work, b, stride, first):
        """Fill screw, mass, first moment and rotational inertia of eight rows in the inertial frame."""
        r = (*_vectors6(work, b, stride), *_vectors3(work, b + 6 * stride, stride))
        p = _vectors3(work, b + _P * stride, stride)
        w = rotate(r, _vectors3(constants, first + SUBSPACE_C * stride, stride))
        v = add(rotate(r, _vectors3(constants, first + (SUBSPACE_C + 3) * stride, stride)), cross(p, w))
        mass = vector_at(constants, first + MASS_C * stride)
        moment = _vectors3(constants, first + MOMENT_C * stride, stride)
        t, s = inertia_at(r, p, mass, moment, _vectors6(constants, first + INERTIA_C * stride, stride))
        _place_vectors(work, b + _J * stride, stride, (*w, *v, mass, *t, *s))

    @straight
    def _add_composite(work, k, m, stride):
        """Add the inertia of row `k` to that of row `m`."""
        for j in range(_MASS, _F):
            place(work, m + j * stride, at(work, m + j * stride) + at(work, k + j * stride))

    @straight
    def _wrenches(work, b, stride):
        """Fill the product of inertia and screw of eight rows."""
        w, v = _vectors3(work, b + _J * stride, stride), _vectors3(work, b + (_J + 3) * stride, stride)
        h = _vectors3(work, b + _MOMENT * stride, stride)
        m = add(symmetric_times(_vectors6(work, b + _INERTIA * stride, stride), w), cross(h, v))
        f = sub(scale(vector_at(work, b + _MASS * stride), v), cross(h, w))
        _place_vectors(work, b + _F * stride, stride, (*m, *f))

    @straight
    def _entries(constants, work, b, k, stride, lanes_stride, ends):
        """Return the products of row `k`'s wrench with eight screws, zero for those that do not move it."""
        m, f = _numbers3(work, k + _F * stride, stride), _numbers3(work, k + (_F + 3) * stride, stride)
        w = _vectors3(work, b + _J * lanes_stride, lanes_stride)
        v = _vectors3(work, b + (_J + 3) * lanes_stride, lanes_stride)
        return (dot(w, m) + dot(v, f)) * positive(vector_at(constants, ends) - (k + 0.5))

    @inline
    def _fill(rows, q, out, work):
        n, blocks = int(rows[0, N_V]), int(rows[0, BLOCKS])
        stride, first = blocks * LANES, int(rows[0, COLUMNS_AT]) // LANES
        _poses(rows, q, work)
        for b in range(blocks):
            _screws_and_inertias(rows, work, b, blocks, first + b)
        for i in range(n, 0, -1):
            m = int(rows[i, PARENT]) - 1
            if m >= 0:
                _add_composite(work, i - 1, m, stride)
        for b in range(blocks):
            _wrenches(work, b, blocks)
        for k in range(n):
            for b in range(k // LANES + 1):
                x = _entries(rows, work, b, k, stride, blocks, first + b + SUBTREE_END_C * blocks)
                # What runs over the end of a row is overwritten by the rows after it; the last has none after it.
                place = k * n + b * LANES
                if place + LANES <= n * n:
                    place_vector_from(out, place, x)
                else:
                    place_vector(work, 0, x)
                    for j in range(n * n - place):
                        out[place + j] = at(work, j)
            for j in range(k):
                out[j * n + k] = out[k * n + j]
            out[k * n + k] += rows[k + 1, ARMATURE]

else:
    _fill = mass_matrix_core


@pasted
def _lines(rows):
    return int(rows[0, BLOCKS]) * LANES


_one = make_single(_fill, _COLUMNS, "q y", lines=_lines)


@kernel("(float64[:,::1], float64[::1], float64[:,::1])", quick=True, fresh=1, size=(N_V, N_V))
def mass_matrix(rows, q, out):
    """Write M (nv, nv) of one state to `out` and return a status; BAD_SHAPE for what only batches can do."""
    fit = rows[0, N_V] == out.shape[0] == out.shape[1] and rows[0, DEPTH_FIRST] != 0.0 and out.shape[0] > 0
    flat = out.reshape(out.size)
    return _one(rows, q, q, q, q, q, NONE_GIVEN, flat, flat, fit)
