"""Turns of efforts that swing, counted for all joints in one call."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...engine.compile import kernel

#: Rows of the table: farthest effort since the last turn, effort at that turn, 1 where efforts rise and -1 where they
#: fall, turns of late. Efforts are over their scales.
EXTREME, TURNED, DIRECTION, TURNS = range(4)
#: Numbers given: smallest swing that counts, part of the turns that is left after this period, turns from which on a
#: joint oscillates; found: largest swing of a joint that does.
SMALLEST_SWING, LEFT, MOST, LARGEST_SWING = range(4)


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1])", quick=True)
def count_turns(table: Array, numbers: Array, effort: Array, per_scale: Array, noise: Array) -> int:
    """Take note of efforts (n,) with their noise (n,); return 1 where a joint that turns oscillates, else 0."""
    n = effort.shape[0]
    if table.shape[0] != 4 or table.shape[1] != n or numbers.shape[0] != 4:
        return -1
    if per_scale.shape[0] != n or noise.shape[0] != n:
        return -1
    shaking, largest = 0, 0.0
    for i in range(n):
        u, direction = effort[i] * per_scale[i], table[DIRECTION, i]
        if direction * (u - table[EXTREME, i]) > 0.0:
            table[EXTREME, i] = u
        if direction * (table[EXTREME, i] - u) > numbers[SMALLEST_SWING] + noise[i] * per_scale[i]:
            table[TURNS, i] += 1.0
            if table[TURNS, i] > numbers[MOST]:
                shaking = 1
                largest = max(largest, np.abs(table[EXTREME, i] - table[TURNED, i]))
            table[TURNED, i] = table[EXTREME, i]
            table[EXTREME, i] = u
            table[DIRECTION, i] = -direction
        table[TURNS, i] *= numbers[LEFT]
    numbers[LARGEST_SWING] = largest
    return shaking
