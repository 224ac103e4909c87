"""Tiles: how batches of states reach the lanes and come back.

A batch is ``(B, n)``, state by state; kernels want ``(n, LANES)``, scalar by scalar. Compiled, a
tile holds `LANES` states; in plain Python one tile holds the whole batch, so that numpy does the work.
"""

from __future__ import annotations

import numpy as np

from .compile import COMPILED, inline
from .lanes import LANES
from .trigonometry import REDUCTION_LIMIT


def tile_width(batch):
    """Return the number of states in a tile of a batch of this size."""
    return max(batch, 1)


def load_tile(source, start, tile):
    """Transpose states `start`, `start + 1`, ... into a tile; the last state fills what is left over."""
    tile[...] = np.moveaxis(source, 0, -1)


def store_tile(tile, start, target):
    """Transpose a tile back into the batch, and return whether all its numbers are finite."""
    target[...] = np.moveaxis(tile, -1, 0)
    return bool(np.isfinite(target).all())


def all_ones(tile, i):
    """Tell whether scalar `i` of a tile is one for every state."""
    return bool((tile[i] == 1.0).all())


def within_reach(tile):
    """Tell whether all angles of a tile are small enough for the lanes' sine and cosine."""
    return True


if COMPILED:
    from .simd import gather, lane_sum, load, scatter, splat, store

    @inline
    def tile_width(batch):  # noqa: F811
        return LANES

    @inline
    def load_tile(source, start, tile):  # noqa: F811
        last = source.shape[0] - 1
        size = tile.size // LANES
        flat = source.reshape(source.size)
        if start + LANES <= last + 1:
            for k in range(size):
                store(tile, k, gather(flat, start * size + k, size))
            return
        columns = tile.reshape(tile.size)
        for lane in range(LANES):
            first = min(start + lane, last) * size
            for k in range(size):
                columns[k * LANES + lane] = flat[first + k]

    @inline
    def store_tile(tile, start, target):  # noqa: F811
        size = tile.size // LANES
        flat = target.reshape(target.size)
        total = splat(0.0)
        for k in range(size):
            total = total + load(tile, k) * 0.0
        if start + LANES <= target.shape[0]:
            for k in range(size):
                scatter(load(tile, k), flat, start * size + k, size)
        else:
            columns = tile.reshape(tile.size)
            for lane in range(target.shape[0] - start):
                for k in range(size):
                    flat[(start + lane) * size + k] = columns[k * LANES + lane]
        return lane_sum(total) == 0.0  # infinity and NaN times zero are NaN

    @inline
    def within_reach(tile):  # noqa: F811
        total = splat(0.0)
        for k in range(tile.shape[0]):
            x = load(tile, k)
            total = total + x * x
        return lane_sum(total) < REDUCTION_LIMIT * REDUCTION_LIMIT

    @inline
    def all_ones(tile, i):  # noqa: F811
        return lane_sum(load(tile, i)) == LANES
