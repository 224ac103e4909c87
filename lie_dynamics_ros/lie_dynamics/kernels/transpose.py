"""From tiles to batches, eight numbers at a time: for results that are large, such as matrices.

`batch.store_tile` stores number by number. Here blocks of eight numbers of eight states are transposed in registers and
stored as vectors.
"""

from __future__ import annotations

import numpy as np

from .compile import COMPILED, outline
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


def store_matrices(tile, start, target):
    """Transpose a tile back into the batch, and return whether all its numbers are finite."""
    target[...] = np.moveaxis(tile, -1, 0)
    return bool(np.isfinite(target).all())


def store_line(tile, first, count, start, target, at):
    """Transpose scalars `first`, ... of a tile to columns `at`, ... of the states from `start`; tell if finite."""
    target[:, at : at + count] = np.moveaxis(tile[first : first + count], -1, 0)
    return bool(np.isfinite(tile[first : first + count]).all())


if COMPILED:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    from .simd import WIDTH, lane_sum, load, scatter, splat

    assert WIDTH == LANES == 8
    _I32 = ir.IntType(32)

    def _shuffle(builder, a, b, mask):
        return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, WIDTH), mask))

    @intrinsic
    def _store_block(typing_context, tile, k, flat, first, stride):
        """Transpose vectors k to k + 7 of a tile, and store lane s of them at `flat[first + s stride]` and beyond."""

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
            return context.get_dummy_value()

        return types.void(tile, types.intp, flat, types.intp, types.intp), codegen

    @outline
    def store_matrices(tile, start, target):  # noqa: D103
        return store_line(tile, 0, target.shape[1], start, target, 0)

    @outline
    def store_line(tile, first, count, start, target, at):  # noqa: D103
        size = target.shape[1]
        flat = target.reshape(target.size)
        total, more = splat(0.0), splat(0.0)
        for k in range(first, first + count - 1, 2):
            total = total + load(tile, k) * 0.0
            more = more + load(tile, k + 1) * 0.0
        if count % 2 == 1:
            total = total + load(tile, first + count - 1) * 0.0
        if start + LANES > target.shape[0]:
            columns = tile.reshape(tile.size)
            for lane in range(target.shape[0] - start):
                for k in range(count):
                    flat[(start + lane) * size + at + k] = columns[(first + k) * LANES + lane]
        else:
            whole = count // LANES * LANES
            for k in range(0, whole, LANES):
                _store_block(tile, first + k, flat, start * size + at + k, size)
            if count > LANES:  # the last block may overlap the one before
                _store_block(tile, first + count - LANES, flat, start * size + at + count - LANES, size)
            else:
                for k in range(whole, count):
                    scatter(load(tile, first + k), flat, start * size + at + k, size)
        return lane_sum(total + more) == 0.0  # infinity and NaN times zero are NaN
