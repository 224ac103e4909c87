"""Large results of tiles leave as whole cache lines past the caches, which they would only fill."""

from __future__ import annotations

from .helpers import COMPILED, outline
from .lanes import LANES
from .tiles import store_line

#: How many numbers of a state are written at once, and the vectors that these take.
_RUN = 512
WINDOW = _RUN + 4 * LANES


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
    from .simd import lane_sum, load, splat, store_block, store_part
    from .tiles import stream

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
