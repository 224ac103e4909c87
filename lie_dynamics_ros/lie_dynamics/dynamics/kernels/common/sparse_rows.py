"""From tiles to batches, for matrices whose rows are zero but for one block: each cache line is written once.

A row is put together for eight states at once in a window that stays in the fastest cache, and leaves it as whole cache
lines; what begins the next line waits for the next row. Results larger than caches pass them by, which halves the
traffic: a line that is written whole need not be read before.
"""

from __future__ import annotations

import numpy as np

from ....engine.compile import COMPILED, inline, outline
from ....engine.lanes import LANES
from ....engine.streams import drain as drain
from ....engine.streams import line_offset as line_offset
from ....model.layout import BODY, N_V, PARENT

#: Numbers of a result from which on it bypasses the caches: 16 MB, more than one core should claim of them.
LARGE = 2**21


@outline
def list_blocks(rows, entries, n_bodies, blocks):
    """List, for each row, the first of the bodies beyond it, the one after the last, and where its block begins.

    A block has `entries` numbers for each of these bodies. Row `i`, counted from zero, has ``blocks[3 i : 3 i + 3]``;
    ``blocks[3 nv + 2]`` is the size of all blocks together.
    """
    n = int(rows[0, N_V])
    for i in range(n):
        blocks[3 * i], blocks[3 * i + 1] = n_bodies, 0
    for i in range(1, n + 1):
        body, k = int(rows[i, BODY]), i
        while body >= 0 and k > 0:
            blocks[3 * k - 3] = min(blocks[3 * k - 3], body)
            blocks[3 * k - 2] = max(blocks[3 * k - 2], body + 1)
            k = int(rows[k, PARENT])
    blocks[2] = 0
    for i in range(n):
        blocks[3 * i + 5] = blocks[3 * i + 2] + entries * max(blocks[3 * i + 1] - blocks[3 * i], 0)


def window_size(width, size):  # noqa: ARG001
    """Return how many vectors the window wants for results of `size` numbers in rows of `width`."""
    return 0


def store_rows(tile, blocks, entries, width, start, target, offset, window):  # noqa: ARG001
    """Store the rows of a tile: their blocks, and zeros around them; return whether all numbers are finite.

    `offset` is the `line_offset` of the batch. The window, zero at first, is zero again in the end.
    """
    target[...] = 0.0
    for k in range(target.shape[1] // max(width, 1)):
        first, count = entries * blocks[3 * k], blocks[3 * k + 5] - blocks[3 * k + 2]
        block = tile[blocks[3 * k + 2] : blocks[3 * k + 2] + count]
        target[:, k * width + first : k * width + first + count] = np.moveaxis(block, -1, 0)
    return bool(np.isfinite(target).all())


if COMPILED:
    from ....engine.blocks import store_block
    from ....engine.lanes import at as number_at
    from ....engine.lanes import place, place_vector_from
    from ....engine.simd import lane_sum, load, splat, store
    from ....engine.streams import stream

    @inline
    def _stride(width, size):
        """Return a distance of the states in the window that keeps their places in cache lines."""
        return (width + 3 * LANES) // LANES * LANES + size % LANES

    @inline
    def window_size(width, size):  # noqa: D103
        return _stride(width, size) + 2

    @inline
    def _clear_lines(window, first, beyond):
        for j in range(first - first % LANES, beyond, LANES):
            place_vector_from(window, j, 0.0)

    @inline
    def _copy(window, first, beyond, flat, shift):
        for j in range(first, beyond):
            place(flat, j + shift, number_at(window, j))

    @inline
    def _flush(window, first, width, flat, shift, begins, ends, large):
        """Store the whole lines that end in a row of the window, and return where what is left of it begins.

        Of the first and the last row of a state, store all: others share their cache lines.
        """
        line, last = first - first % LANES, (first + width) // LANES * LANES
        if begins and line < first:
            line += LANES
            _copy(window, first, min(line, first + width), flat, shift)
        if large:
            for j in range(line, last, LANES):
                stream(flat, j + shift, load(window, j // LANES))
        else:
            for j in range(line, last, LANES):
                place_vector_from(flat, j + shift, load(window, j // LANES))
        if ends:
            _copy(window, max(last, line), first + width, flat, shift)
        return last

    @outline
    def store_rows(tile, blocks, entries, width, start, target, offset, window):  # noqa: D103
        flat, size = target.reshape(target.size), target.shape[1]
        numbers, stride = window.reshape(window.size), _stride(width, size)
        n = size // max(width, 1)
        large = flat.shape[0] > LARGE
        total = splat(0.0)
        for k in range(n):
            first = start * size + k * width
            at = (first + offset) % LANES
            following = (first + width + offset) % LANES
            begin, count, block = entries * blocks[3 * k], blocks[3 * k + 5] - blocks[3 * k + 2], blocks[3 * k + 2]
            for e in range(0, count - LANES + 1, LANES):
                total = total + store_block(tile, block + e, numbers, at + begin + e, stride)
            if count % LANES > 0:  # the last may overlap the one before
                e = count - LANES
                total = total + store_block(tile, block + e, numbers, at + begin + e, stride)
            for s in range(min(LANES, target.shape[0] - start)):
                place_in = at + s * stride
                left = _flush(numbers, place_in, width, flat, first + s * size - place_in, k == 0, k == n - 1, large)
                rest = load(window, left // LANES)
                _clear_lines(numbers, place_in, place_in + 1)
                if count > 0:
                    _clear_lines(numbers, place_in + begin, place_in + begin + count)
                if k < n - 1:
                    store(window, (following + s * stride) // LANES, rest)
        return lane_sum(total) == 0.0
