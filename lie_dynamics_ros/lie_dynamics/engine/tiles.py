"""Tiles: how batches of states reach the lanes and come back, and linear systems of a tile their states.

A batch is ``(B, n)``, state by state; kernels want ``(n, LANES)``, scalar by scalar. Compiled, a tile holds `LANES`
states, and blocks of eight numbers of eight states are transposed in registers; in plain Python one tile holds the
whole batch, so that numpy does the work. Linear systems are dealt to the states: lanes that held one state each then
hold columns of one state. Large results leave as whole cache lines past the caches.
"""

from __future__ import annotations

import numpy as np

from .helpers import COMPILED, HELPER, inline, outline
from .lanes import LANES, fetch_ahead

#: How many tiles ahead memory is asked for.
_AHEAD = 4
#: How many numbers of a state are written at once, and the vectors that these take.
_RUN = 512
WINDOW = _RUN + 4 * LANES


def tile_width(batch):
    """Return the number of states in a tile of a batch of this size."""
    return max(batch, 1)


def load_tile(source, start, tile):
    """Transpose states `start`, `start + 1`, ... into a tile; the last state fills what is left over."""
    tile[...] = np.moveaxis(source, 0, -1)


def store_line(tile, first, count, start, target, at):
    """Transpose scalars `first`, ... of a tile to columns `at`, ... of the states from `start`; return if finite."""
    target[:, at : at + count] = np.moveaxis(tile[first : first + count], -1, 0)
    return bool(np.isfinite(tile[first : first + count]).all())


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


if COMPILED:
    from .lanes import place_vector_from
    from .simd import WIDTH, lane_sum, load_block, load_part, splat, store_block, store_part

    assert WIDTH == LANES == 8

    @inline
    def tile_width(batch):  # noqa: D103
        return LANES

    @inline
    def load_tile(source, start, tile):  # noqa: D103
        if source.shape[1] > 0:  # many are empty, and a call takes as long as a good part of a block
            _load_some(source, start, tile)

    @outline
    def _load_some(source, start, tile):
        size, last = source.shape[1], source.shape[0] - 1
        if start + LANES > last + 1:
            for lane in range(LANES):
                here = min(start + lane, last)
                for k in range(size):
                    tile[k, lane] = source[here, k]
            return
        first = start * size
        for k in range(size):
            fetch_ahead(source, first + (_AHEAD * size + k) * LANES)
        if size >= LANES:
            for k in range(0, size - LANES, LANES):
                load_block(source, first + k, size, tile, k)
            load_block(source, first + size - LANES, size, tile, size - LANES)  # may overlap the one before
        else:
            load_part(source, first, size, tile, 0, size)

    @inline
    def _store_some(tile, first, count, start, target, at):
        """Store scalars of a tile to the few states that do not fill the last tile."""
        total = 0.0
        for lane in range(target.shape[0] - start):
            for k in range(count):
                x = tile[first + k, lane]
                target[start + lane, at + k] = x
                total += x * 0.0
        return total == 0.0

    @outline
    def store_line(tile, first, count, start, target, at):  # noqa: D103
        size = target.shape[1]
        if start + LANES > target.shape[0]:
            return _store_some(tile, first, count, start, target, at)
        here = start * size + at
        total = splat(0.0)
        if count >= LANES:
            for k in range(0, count - LANES, LANES):
                total = total + store_block(tile, first + k, target, here + k, size)
            k = count - LANES  # may overlap the one before
            total = total + store_block(tile, first + k, target, here + k, size)
        elif count > 0:
            total = store_part(tile, first, target, here, size, count)
        return lane_sum(total) == 0.0  # infinity and NaN times zero are NaN

    @outline
    def store_marked(tile, marks, start, target):  # noqa: D103
        size = target.shape[1]
        if start + LANES > target.shape[0] or size < LANES:
            return store_line(tile, 0, size, start, target, 0)
        total = splat(0.0)
        for block in range(size // LANES):
            first = start * size + block * LANES
            if marks[block]:
                total = total + store_block(tile, block * LANES, target, first, size)
            else:
                for lane in range(LANES):
                    place_vector_from(target, first + lane * size, 0.0)
        if size % LANES > 0:
            total = total + store_block(tile, size - LANES, target, start * size + size - LANES, size)
        return lane_sum(total) == 0.0


@inline
def store_tile(tile, start, target):
    """Transpose a tile back into the batch, and return whether all its numbers are finite."""
    return target.shape[1] == 0 or store_line(tile, 0, target.shape[1], start, target, 0)


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


def transpose_systems(related, m, r, whole, ms, sides):
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


if COMPILED:
    from numba import njit

    from .access import aligned_numbers

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
    def transpose_systems(related, m, r, whole, ms, sides):  # noqa: D103
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


def line_offset(numbers):
    """Return the place of an array's first number in its cache line; in plain Python it does not matter."""
    return 0


def drain():
    """Wait until all results have left the processor."""


def store_past(tile, first, count, start, target, at, offset, window):
    """Do what `store_line` does, past the caches, by a window of `WINDOW` vectors.

    `offset` is the `line_offset` of the batch. In plain Python the two are the same.
    """
    return store_line(tile, first, count, start, target, at)


def copy_past(window, begin, count, flat, shift):
    """Copy numbers of a window to a flat array, `shift` further on, whose cache lines begin with vectors of it."""
    numbers = window.reshape(-1)
    flat[begin + shift : begin + shift + count] = numbers[begin : begin + count]


if COMPILED:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    from .simd import LANES_T, load

    @intrinsic
    def stream(typing_context, flat, first, vector):
        """Store a vector in the numbers from `first` on, a whole cache line, past the caches."""

        def codegen(context, builder, sig, args):
            data = context.make_array(sig.args[0])(context, builder, args[0]).data
            pointer = builder.bitcast(builder.gep(data, [args[1]]), args[2].type.as_pointer())
            written = builder.store(args[2], pointer, align=8 * LANES)
            written.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))
            return context.get_dummy_value()

        return types.void(flat, types.intp, LANES_T), codegen

    @intrinsic
    def drain(typing_context):  # noqa: D103
        def codegen(context, builder, sig, args):
            builder.fence("seq_cst")
            return context.get_dummy_value()

        return types.void(), codegen

    @intrinsic
    def line_offset(typing_context, numbers):
        """Return the place of an array's first number in its cache line."""

        def codegen(context, builder, sig, args):
            data = context.make_array(sig.args[0])(context, builder, args[0]).data
            address = builder.udiv(builder.ptrtoint(data, ir.IntType(64)), ir.Constant(ir.IntType(64), 8))
            return builder.urem(address, ir.Constant(ir.IntType(64), LANES))

        return types.intp(numbers), codegen

    @outline
    def copy_past(window, begin, count, flat, shift):  # noqa: D103
        numbers, end = window.reshape(window.size), begin + count
        line, last = min((begin + LANES - 1) // LANES * LANES, end), end // LANES * LANES
        for j in range(begin, line):  # others share these cache lines
            flat[j + shift] = numbers[j]
        for j in range(line, last, LANES):
            stream(flat, j + shift, load(window, j // LANES))
        for j in range(max(line, last), end):
            flat[j + shift] = numbers[j]

    @outline
    def store_past(tile, first, count, start, target, at, offset, window):  # noqa: D103
        size = target.shape[1]
        if start + LANES > target.shape[0]:
            return store_line(tile, first, count, start, target, at)
        flat, numbers = target.reshape(target.size), window.reshape(window.size)
        stride = _RUN + 2 * LANES + size % LANES  # keeps places in cache lines
        total = splat(0.0)
        for part in range(0, count, _RUN):
            n, here = min(_RUN, count - part), start * size + at + part
            lead = (here + offset) % LANES
            for k in range(0, n - LANES + 1, LANES):
                total = total + store_block(tile, first + part + k, numbers, lead + k, stride)
            k = n - n % LANES
            if k < n:
                total = total + store_part(tile, first + part + k, numbers, lead + k, stride, n - k)
            for lane in range(LANES):
                copy_past(window, lead + lane * stride, n, flat, here - lead + lane * (size - stride))
        return lane_sum(total) == 0.0
