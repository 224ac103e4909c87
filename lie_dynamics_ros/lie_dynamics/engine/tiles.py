"""Tiles: how batches of states reach the lanes and come back.

A batch is ``(B, n)``, state by state; kernels want ``(n, LANES)``, scalar by scalar. Compiled, a tile holds `LANES`
states, and blocks of eight numbers of eight states are transposed in registers; in plain Python one tile holds the
whole batch, so that numpy does the work.
"""

from __future__ import annotations

import numpy as np

from .helpers import COMPILED, inline, outline
from .lanes import LANES, fetch_ahead

#: How many tiles ahead memory is asked for.
_AHEAD = 4


def tile_width(batch):
    """Return the number of states in a tile of a batch of this size."""
    return max(batch, 1)


def load_tile(source, start, tile):
    """Transpose states `start`, `start + 1`, ... into a tile; the last state fills what is left over."""
    tile[...] = np.moveaxis(source, 0, -1)


def store_line(tile, first, count, start, target, at):
    """Transpose scalars `first`, ... of a tile to columns `at`, ... of the states from `start`; tell if finite."""
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
    from .blocks import load_block, load_part, store_block, store_part
    from .lanes import place_vector_from
    from .simd import WIDTH, lane_sum, splat

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
