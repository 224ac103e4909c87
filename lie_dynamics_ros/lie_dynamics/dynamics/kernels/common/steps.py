"""Transforms of all rows of one state at once, eight rows to a SIMD vector.

A single state has no lanes, but its rows have the same arithmetic to do. What needs no other row is done for eight of
them together, from columns that `layout` appends to the model's table. Batches, whose lanes are busy, and plain Python
compute each transform where it is wanted.
"""

from __future__ import annotations

from ....engine.compile import COMPILED, inline
from ....engine.lanes import at, get, get3, get9, place, place_vector, put2, put3, put9, sincos, vector_at
from ....model.layout import (
    AXIS,
    AXIS_V_C,
    AXIS_W_C,
    BLOCKS,
    COLUMNS_AT,
    KIND,
    LANES,
    N_COMPOUND,
    N_V,
    ORIGIN_C,
    PLACEMENT_C,
    Q_INDEX_C,
)
from .joints import has_transform, row_transform


def prepare_transforms(rows, q, work, column):
    """Make `transform` ready for a state, or a tile of states, with the same arguments."""


def transform(rows, i, q, work, column):
    """Return (R, p) of row `i` seen from its parent row, which must have one, and keep it from `column` of `work`."""
    r, p = row_transform(rows, i, q)
    put9(work, i, column, r)
    put3(work, i, column + 9, p)
    return r, p


def passing_transform(rows, i, q, work, column):  # noqa: ARG001
    """Return what `transform` returns, for once: `column` of `work` is free for other use then."""
    return row_transform(rows, i, q)


if COMPILED:
    from ....engine.access import for_one_state, stack_transforms

    @inline
    def step_vectors(rows, q, b, out, start, stride):
        """Write R and p of eight rows as twelve vectors of `out`, from vector `start`, `stride` apart."""
        blocks = int(rows[0, BLOCKS])
        k = int(rows[0, COLUMNS_AT]) // LANES + b
        for j in range(LANES):
            place(out, start * LANES + j, get(q, int(at(rows, (k + Q_INDEX_C * blocks) * LANES + j))))
        x = vector_at(out, start)
        s, c = sincos(vector_at(rows, k + AXIS_W_C * blocks) * x)
        d = vector_at(rows, k + AXIS_V_C * blocks) * x
        for j in range(3):
            m, o = k + (PLACEMENT_C + 3 * j) * blocks, start + 3 * j * stride
            a0, a1, a2 = vector_at(rows, m), vector_at(rows, m + blocks), vector_at(rows, m + 2 * blocks)
            place_vector(out, o, a0 * c + a1 * s)
            place_vector(out, o + stride, a1 * c - a0 * s)
            place_vector(out, o + 2 * stride, a2)
            place_vector(out, start + (9 + j) * stride, vector_at(rows, k + (ORIGIN_C + j) * blocks) + a2 * d)

    @inline
    def fill_transforms(rows, q, work, column):
        """Fill R and p of all rows of one state."""
        n = int(rows[0, N_V])
        tile = stack_transforms()
        for b in range(int(rows[0, BLOCKS])):
            step_vectors(rows, q, b, tile, 0, 1)
            for lane in range(min(LANES, n - b * LANES)):
                for j in range(12):
                    put2(work, b * LANES + lane + 1, column + j, at(tile, j * LANES + lane))
        if rows[0, N_COMPOUND] > 0.0:
            for i in range(1, n + 1):
                if rows[i, KIND] != AXIS and has_transform(rows, i):
                    r, p = row_transform(rows, i, q)
                    put9(work, i, column, r)
                    put3(work, i, column + 9, p)

    @for_one_state(prepare_transforms, "q")
    def _prepare_transforms(rows, q, work, column):
        return fill_transforms(rows, q, work, column)

    @for_one_state(transform, "q")
    def _transform(rows, i, q, work, column):  # noqa: ARG001
        return get9(work, i, column), get3(work, i, column + 9)

    @for_one_state(passing_transform, "q")
    def _passing_transform(rows, i, q, work, column):  # noqa: ARG001
        return get9(work, i, column), get3(work, i, column + 9)
