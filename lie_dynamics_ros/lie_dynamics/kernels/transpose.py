"""From tiles to batches, eight numbers at a time: for results that are large, such as matrices.

`batch.store_tile` stores number by number. Here blocks of eight numbers of eight states are transposed in registers and
stored as vectors.
"""

from __future__ import annotations

import numpy as np

from .compile import COMPILED, HELPER, inline, outline
from .joints import check_quaternions
from .lanes import LANES

BATCH_SIGNATURE = "(float64[:,::1], " + "float64[:,::1], " * 5 + "boolean[::1], float64[:,::1], float64[:,::1])"


@outline
def quaternions_fit(rows, q, start, stop):
    """Tell whether the states `start` to `stop` - 1 have unit quaternions."""
    good = True
    for s in range(start, stop):
        good = good and check_quaternions(rows, q[s])
    return good


def store_marked(tile, marks, start, target):
    """Transpose a tile back into the batch, and return whether all its numbers are finite.

    Blocks of eight numbers that are not marked are zero in all tiles.
    """
    target[...] = np.moveaxis(tile, -1, 0)
    return bool(np.isfinite(target).all())


@inline
def mark(marks, k):
    """Mark the block of eight numbers that holds number `k`."""
    marks[k // LANES] = True


def share_space(n, like):
    """Allocate `n` vectors of columns for each state of a tile like `like`; in plain Python, for all as one."""
    return np.empty((1, n, LANES, *like.shape[1:]), like.dtype)


def state_of(batch, s):
    """Return the results of state `s`."""
    return batch.T


def numbers_of(shares, s):
    """Return what state `s` was dealt as a flat array."""
    return shares[0].reshape(-1, shares.shape[-1])


def vectors_of(shares, s):
    """Return what state `s` was dealt as vectors of columns."""
    return shares[0]


def deal(related, m, r, whole, ms, sides):
    """Deal a tile's mass matrix and right hand sides, where `related` lists them, to the states.

    Of the mass matrix only the lower half, and of the third block the upper, unless `whole`.
    """
    groups = int(related[0]) - 1
    ms[0] = m.reshape(ms.shape[1:])
    vectors = r.reshape(-1, LANES, r.shape[-1])
    for c in range(groups):
        for a in range(related[c], related[c + 1], 2):
            for b in range(3):
                sides[0, 3 * ((a - related[0]) // 2) + b] = vectors[(3 * related[a] + b) * groups + c]


def store_line(tile, first, count, start, target, at):
    """Transpose scalars `first`, ... of a tile to columns `at`, ... of the states from `start`; tell if finite."""
    target[:, at : at + count] = np.moveaxis(tile[first : first + count], -1, 0)
    return bool(np.isfinite(tile[first : first + count]).all())


if COMPILED:
    from llvmlite import ir
    from numba import njit, types
    from numba.extending import intrinsic

    from .access import aligned_numbers
    from .lanes import place_vector_from
    from .simd import LANES_T, WIDTH, lane_sum, splat

    assert WIDTH == LANES == 8
    _I32 = ir.IntType(32)

    def _shuffle(builder, a, b, mask):
        return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, WIDTH), mask))

    @intrinsic
    def store_block(typing_context, tile, k, flat, first, stride):
        """Transpose vectors k to k + 7 of a tile, and store lane s of them at `flat[first + s stride]` and beyond.

        Return zero times their sum, which is zero in all lanes where they are finite.
        """

        def codegen(context, builder, sig, args):
            vector = ir.VectorType(ir.DoubleType(), WIDTH)
            source = context.make_array(sig.args[0])(context, builder, args[0]).data
            target = context.make_array(sig.args[2])(context, builder, args[2]).data
            rows = []
            for j in range(WIDTH):
                vector_index = builder.add(args[1], ir.Constant(args[1].type, j))
                offset = builder.mul(vector_index, ir.Constant(args[1].type, WIDTH))
                pointer = builder.bitcast(builder.gep(source, [offset]), vector.as_pointer())
                rows.append(builder.load(pointer, align=8))
            zero = ir.Constant(vector, [0.0] * WIDTH)
            total, more = zero, zero
            for j in range(0, WIDTH, 2):
                total = builder.fadd(total, builder.fmul(rows[j], zero))
                more = builder.fadd(more, builder.fmul(rows[j + 1], zero))
            total = builder.fadd(total, more)
            for step in (1, 2, 4):
                low = [i if i & step == 0 else i - step + WIDTH for i in range(WIDTH)]
                high = [i + step if i & step == 0 else i + WIDTH for i in range(WIDTH)]
                found = list(rows)
                for j in range(WIDTH):
                    if j & step == 0:
                        found[j] = _shuffle(builder, rows[j], rows[j + step], low)
                        found[j + step] = _shuffle(builder, rows[j], rows[j + step], high)
                rows = found
            index = args[3]
            for row in rows:
                builder.store(row, builder.bitcast(builder.gep(target, [index]), vector.as_pointer()), align=8)
                index = builder.add(index, args[4])
            return total

        return LANES_T(tile, types.intp, flat, types.intp, types.intp), codegen

    #: For helpers that allocate, or hand out parts of arrays, and so count references; see `compile.inline`.
    _counting = njit(**{**HELPER, "_nrt": True})

    @_counting
    def share_space(n, like):  # noqa: D103
        return aligned_numbers(LANES * n).reshape((LANES, n, LANES))

    @_counting
    def state_of(batch, s):  # noqa: D103
        return batch[s]

    @_counting
    def numbers_of(shares, s):  # noqa: D103
        return shares[s].reshape(shares.shape[1] * shares.shape[2])

    @_counting
    def vectors_of(shares, s):  # noqa: D103
        return shares[s]

    @outline
    def deal(related, m, r, whole, ms, sides):  # noqa: D103
        origin = related[0]
        groups = origin - 1
        to_m, to_side = ms.reshape(ms.size), sides.reshape(sides.size)
        for c in range(groups):
            for a in range(related[c], related[c + 1], 2):
                k = related[a] * groups + c
                if whole or related[a] >= LANES * c:
                    store_block(m, LANES * k, to_m, LANES * k, LANES * ms.shape[1])
                for b in range(3 if whole or related[a] < LANES * (c + 1) else 2):
                    k = (3 * related[a] + b) * groups + c
                    place = 3 * ((a - origin) // 2) + b
                    store_block(r, LANES * k, to_side, LANES * place, LANES * sides.shape[1])

    @inline
    def _store_some(tile, first, count, start, target, at):
        """Store a few scalars of a tile, or those of the few states that do not fill the last tile."""
        columns, flat, size = tile.reshape(tile.size), target.reshape(target.size), target.shape[1]
        total = 0.0
        for lane in range(min(LANES, target.shape[0] - start)):
            for k in range(count):
                x = columns[(first + k) * LANES + lane]
                flat[(start + lane) * size + at + k] = x
                total += x * 0.0
        return total == 0.0

    @outline
    def store_line(tile, first, count, start, target, at):  # noqa: D103
        size = target.shape[1]
        flat = target.reshape(target.size)
        if start + LANES > target.shape[0] or count < LANES:
            return _store_some(tile, first, count, start, target, at)
        total = splat(0.0)
        for k in range(0, count - LANES + 1, LANES):
            total = total + store_block(tile, first + k, flat, start * size + at + k, size)
        if count % LANES > 0:  # the last block overlaps the one before
            k = count - LANES
            total = total + store_block(tile, first + k, flat, start * size + at + k, size)
        return lane_sum(total) == 0.0  # infinity and NaN times zero are NaN

    @outline
    def store_marked(tile, marks, start, target):  # noqa: D103
        size = target.shape[1]
        flat = target.reshape(target.size)
        if start + LANES > target.shape[0] or size < LANES:
            return _store_some(tile, 0, size, start, target, 0)
        total = splat(0.0)
        for block in range(size // LANES):
            first = start * size + block * LANES
            if marks[block]:
                total = total + store_block(tile, block * LANES, flat, first, size)
            else:
                for lane in range(LANES):
                    place_vector_from(flat, first + lane * size, 0.0)
        if size % LANES > 0:
            total = total + store_block(tile, size - LANES, flat, start * size + size - LANES, size)
        return lane_sum(total) == 0.0
