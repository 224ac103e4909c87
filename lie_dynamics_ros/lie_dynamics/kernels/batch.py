"""Tiles: how batches of states reach the lanes and come back.

A batch is ``(B, n)``, state by state; kernels want ``(n, LANES)``, scalar by scalar. Compiled, a
tile holds `LANES` states; in plain Python one tile holds the whole batch, so that numpy does the work.
"""

from __future__ import annotations

import numpy as np

from ..model.layout import BAD_QUATERNION, N_QUATERNIONS, N_V, NOT_FINITE, OK
from .compile import COMPILED, inline, kernel, outline
from .joints import check_quaternions
from .lanes import LANES, vector_space, workspace


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


if COMPILED:
    from .simd import gather, lane_sum, load, scatter, splat, store

    @inline
    def tile_width(batch):  # noqa: D103
        return LANES

    @outline
    def load_tile(source, start, tile):  # noqa: D103
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

    @outline
    def store_tile(tile, start, target):  # noqa: D103
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


def all_finite(numbers):
    """Tell whether no number of a flat array is NaN or infinite."""
    return bool(np.isfinite(numbers).all())


if COMPILED:

    @outline
    def all_finite(numbers):
        """Tell whether no number of a flat array is NaN or infinite: only those times zero are not zero."""
        total, more = splat(0.0), splat(0.0)
        whole = numbers.shape[0] // LANES
        for k in range(0, whole - 1, 2):
            total = total + load(numbers, k) * 0.0
            more = more + load(numbers, k + 1) * 0.0
        if whole % 2 == 1:
            total = total + load(numbers, whole - 1) * 0.0
        rest = lane_sum(total + more)
        for i in range(whole * LANES, numbers.shape[0]):
            rest += numbers[i] * 0.0
        return rest == 0.0


@outline
def _quaternions_fit(rows, q, start, stop):
    """Tell whether the states `start` to `stop` - 1 have unit quaternions."""
    good = True
    if rows[0, N_QUATERNIONS] == 0.0:
        return good
    for s in range(start, stop):
        good = good and check_quaternions(rows, q[s])
    return good


_SIGNATURE = "(float64[:,::1], " + "float64[:,::1], " * 5 + "boolean[::1], float64[:,::1], float64[:,::1])"


def make_batch(core, columns):
    """Make the kernel that runs `core` over a batch.

    Parameters
    ----------
    core : function
        ``core(rows, q, a, b, f_ext, c, given, y, z, work)``, an `inline` function that reads the flat arrays of scalars
        q, a, b, f_ext, c and writes the flat arrays y, z (any may be empty); `given` is the same for all states.
    columns : int
        Columns of its workspace.

    Returns
    -------
    kernel
        ``batch(rows, q, a, b, f_ext, c, given, y, z)``, arrays with a leading axis of states; returns the worst status.
    """

    def batch(rows, q, a, b, c, d, given, y, z):
        status = OK
        count = q.shape[0]
        width = tile_width(count)
        tq = vector_space(q.shape[1], np.empty((0, width), q.dtype))
        ta, tb = vector_space(a.shape[1], tq), vector_space(b.shape[1], tq)
        tc, td = vector_space(c.shape[1], tq), vector_space(d.shape[1], tq)
        ty, tz = vector_space(y.shape[1], tq), vector_space(z.shape[1], tq)
        n = int(rows[0, N_V]) + 1
        work = workspace(n, columns, tq)
        for start in range(0, count, width):
            if not _quaternions_fit(rows, q, start, min(start + width, count)):
                status = max(status, BAD_QUATERNION)
                continue
            load_tile(q, start, tq)
            load_tile(a, start, ta)
            load_tile(b, start, tb)
            load_tile(c, start, tc)
            load_tile(d, start, td)
            core(rows, tq, ta, tb, tc, td, given, ty, tz, work)
            good = store_tile(ty, start, y)
            if not (store_tile(tz, start, z) and good):
                status = max(status, NOT_FINITE)
        return status

    batch.__name__ = batch.__qualname__ = core.__name__.replace("_core", "_batch")
    batch.__module__ = core.__module__
    return kernel(_SIGNATURE)(batch)
