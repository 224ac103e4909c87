"""Turns of efforts and of coarse positions that swing, counted for all joints in one call, and a state without them."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Array
from ...engine.compile import kernel

#: Rows of the table: farthest effort since the last turn, effort at that turn, 1 where efforts rise and -1 where they
#: fall, turns of late, the swing before the last turn, time since then, and between turns in the mean. Efforts are over
#: their scales.
EXTREME, TURNED, DIRECTION, TURNS, SWUNG, SINCE, BETWEEN = range(7)
#: A swing that exceeds the one before by this factor counts as so many turns, where smaller ones than the last do not
#: count: what grows is unstable.
GROWS, GROWING, GROWN = 1.2, 3.0, 0.04
#: Numbers given: smallest swing that counts, part of the turns that is left after this period, turns from which on a
#: joint oscillates, the period; found: largest swing of a joint that does.
SMALLEST_SWING, LEFT, MOST, PERIOD, LARGEST_SWING = range(5)
#: A time between turns that is longer than the mean by this factor is taken for it: what went before has ended.
PAUSE = 2.5
#: Rows of the other table: mean errors of positions and velocities, and the desired ones less these.
AWAY, OFF, PLACE, MOVED = range(4)
#: Rows of a third: velocities beyond the desired ones, last and in the mean, and efforts of feedback in the mean.
BEYOND, GAINED, EXERTED = range(3)
#: Rows of a fourth: last position, the middle of the last two steps, how often that was passed in a row, times since it
#: was passed last and the time before, how long the joint is to be left undamped; positions without what only shakes at
#: an edge, and these without jumps; the position with a play of a step, in which it does not turn round by noise, and
#: the sign of its last change; how often that changed of late, time since then, and between these in the mean; the
#: sign of the last step, and the mean velocity since the edge before where that was passed the same way, else 0.
(
    SEEN, EDGE, PASSES, PASSED, PASSED_BEFORE, TOGGLING, SETTLED, EASED, PLAY, WAY, REVERSALS, REVERSED, SWINGING,
    HEADING, CREEP,
) = range(15)  # fmt: skip
STEP_ROWS = 15
#: Times in a row that a position passes the same edge between two steps, from which on the joint only shakes there:
#: where a motion of more than a step turns round, it passes an edge twice. Time for which such a joint is left
#: undamped, until it passes another edge [s].
TOGGLES, TOGGLED = 3.0, 0.2
#: Half of a step, a little more for rounding, and part of one up to which edges are the same.
HALF_STEP, SAME_EDGE = 0.501, 0.25
#: Rate at which a position goes on to the next step [1/s]; it is never more than a step behind.
EASE = 50.0


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])", quick=True)
def smooth_state(table: Array, part: Array, position: Array, velocity: Array, q: Array, qd: Array) -> int:
    """Let means take in a ``part`` (1,) of the errors of a state, desired and measured (n,); fill `table` (4, n)."""
    n = table.shape[1]
    if table.shape[0] != 4 or part.shape[0] != 1 or position.shape[0] != n or velocity.shape[0] != n:
        return -1
    if q.shape[0] != n or qd.shape[0] != n:
        return -1
    for i in range(n):
        table[AWAY, i] += part[0] * (position[i] - q[i] - table[AWAY, i])
        table[OFF, i] += part[0] * (velocity[i] - qd[i] - table[OFF, i])
        table[PLACE, i] = position[i] - table[AWAY, i]
        table[MOVED, i] = velocity[i] - table[OFF, i]
    return 0


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1])", quick=True)
def bear(table: Array, part: Array, feedback: Array, velocity: Array, desired: Array) -> int:
    """Let means take in a ``part`` (1,) of efforts (n,) and of velocities over desired ones; fill `table` (3, n)."""
    n = table.shape[1]
    if table.shape[0] != 3 or part.shape[0] != 1 or feedback.shape[0] != n:
        return -1
    if velocity.shape[0] != n or desired.shape[0] != n:
        return -1
    for i in range(n):
        table[BEYOND, i] = velocity[i] - desired[i]
        table[GAINED, i] += part[0] * (table[BEYOND, i] - table[GAINED, i])
        table[EXERTED, i] += part[0] * (feedback[i] - table[EXERTED, i])
    return 0


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1])", quick=True)
def count_turns(table: Array, numbers: Array, effort: Array, per_scale: Array, noise: Array) -> int:
    """Take note of efforts (n,) with their noise (n,); return 1 where a joint that turns oscillates, else 0."""
    n = effort.shape[0]
    if table.shape[0] != 7 or table.shape[1] != n or numbers.shape[0] != 5:
        return -1
    if per_scale.shape[0] != n or noise.shape[0] != n:
        return -1
    shaking, largest = 0, 0.0
    for i in range(n):
        u, direction = effort[i] * per_scale[i], table[DIRECTION, i]
        if direction * (u - table[EXTREME, i]) > 0.0:
            table[EXTREME, i] = u
        table[SINCE, i] += numbers[PERIOD]
        if direction * (table[EXTREME, i] - u) > numbers[SMALLEST_SWING] + noise[i] * per_scale[i]:
            swing = np.abs(table[EXTREME, i] - table[TURNED, i])
            grows = numbers[SMALLEST_SWING] >= GROWN and swing > GROWS * table[SWUNG, i]
            table[TURNS, i] += GROWING if grows else 1.0
            table[SWUNG, i] = swing
            pause = table[SINCE, i] > PAUSE * table[BETWEEN, i]
            table[BETWEEN, i] += (1.0 if pause else 0.5) * (table[SINCE, i] - table[BETWEEN, i])
            table[SINCE, i] = 0.0
            if table[TURNS, i] > numbers[MOST]:
                shaking = 1
                largest = max(largest, swing)
            table[TURNED, i] = table[EXTREME, i]
            table[EXTREME, i] = u
            table[DIRECTION, i] = -direction
        table[TURNS, i] *= numbers[LEFT]
    numbers[LARGEST_SWING] = largest
    return shaking


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1])", quick=True)
def pass_edges(table: Array, numbers: Array, position: Array, step: Array) -> int:
    """Take note of positions (n,) that come in steps (n,), 0 where that is not known; fill `table` (15, n).

    Numbers (3,): the period, the longest time of two swings that a damper does not damp, part of the turns that is left
    after this period.
    """
    n = table.shape[1]
    if table.shape[0] != STEP_ROWS or numbers.shape[0] != 3 or position.shape[0] != n or step.shape[0] != n:
        return -1
    h, cycle, ease = numbers[0], numbers[1], -math.expm1(-EASE * numbers[0])
    for i in range(n):
        q, change = position[i], position[i] - table[SEEN, i]
        table[PASSED, i] += h
        table[PASSED_BEFORE, i] += h
        table[REVERSED, i] += h
        table[TOGGLING, i] -= h
        table[REVERSALS, i] *= numbers[2]
        if change != 0.0:
            edge = table[SEEN, i] + 0.5 * change
            if abs(edge - table[EDGE, i]) < SAME_EDGE * step[i] and abs(change) < 1.5 * step[i]:
                before = table[PASSES, i]
                table[PASSES, i] = (min(before, 1.0) if table[PASSED_BEFORE, i] > cycle else before) + 1.0
            else:
                table[PASSES, i], table[TOGGLING, i] = 1.0, 0.0
            heading = np.sign(change)
            table[CREEP, i] = change / table[PASSED, i] if heading == table[HEADING, i] else 0.0
            table[SEEN, i], table[EDGE, i], table[HEADING, i] = q, edge, heading
            table[PASSED_BEFORE, i], table[PASSED, i] = table[PASSED, i], 0.0
            play = min(max(table[PLAY, i], q - HALF_STEP * step[i]), q + HALF_STEP * step[i])
            went = np.sign(play - table[PLAY, i])
            if went * table[WAY, i] < 0.0:
                pause = table[REVERSED, i] > PAUSE * table[SWINGING, i]
                table[SWINGING, i] += (1.0 if pause else 0.5) * (table[REVERSED, i] - table[SWINGING, i])
                table[REVERSALS, i] += 1.0
                table[REVERSED, i] = 0.0
            table[PLAY, i] = play
            if went != 0.0:
                table[WAY, i] = went
        settled = q
        if table[PASSES, i] >= TOGGLES and table[PASSED_BEFORE, i] <= cycle:
            settled, table[TOGGLING, i] = table[EDGE, i], TOGGLED
        table[SETTLED, i] = settled
        eased = table[EASED, i] + ease * (settled - table[EASED, i])
        table[EASED, i] = min(max(eased, settled - step[i]), settled + step[i])
    return 0
