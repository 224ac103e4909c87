"""Velocities from positions, and measured ones that positions mend, of all joints in one call; see doc/control.md."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Array
from ...engine.compile import inline, kernel

#: Rows of the table: expected position and velocity, last position, its smallest change, length of a turn (0: none),
#: whether a velocity was filled in.
POSITION, VELOCITY, LAST, STEP, TURN, FILLED = range(6)
ROWS = 6
#: Numbers: time since the last state, time constant, whether measured velocities are replaced, three sums of weights,
#: usual period, and of all periods: count, sum, sum of squares, largest.
PERIOD, TIME, REPLACE, SUM_0, SUM_1, SUM_2, USUAL, COUNT, TOTAL, SQUARES, LONGEST = range(11)
NUMBERS = 11
#: A state begins afresh after so many time constants that are also so many usual periods.
GAP_TIMES, GAP_PERIODS = 20.0, 5.0
#: Part of the way to a new period by which the usual one moves.
QUICKNESS = 0.1
#: Least weight of the past: without any, the velocity would not be determined.
LEAST = 1e-12
#: No joint moves faster [rad/s, m/s].
FASTEST = 1e6
#: Rows of the other table, for velocities, and after so many for positions: the last two, their last two second
#: differences, newest first, and mean products of these with that of the same state, of one and of two before.
NEWEST, BEFORE, BENT, BENT_BEFORE, SQUARED, NEXT, NEXT_BUT_ONE = range(7)
PER_SENSOR = 7
#: Further rows: where velocities lead from the positions before, their noise, and the state as it is mended.
LED, NOISE, MENDED_POSITION, MENDED_VELOCITY = range(14, 18)
MEND_ROWS = 18
#: Its numbers: the period, part of the way to a new product by which the mean moves, and how many states there were.
SINCE, PART, STATES = range(3)
#: Standard deviation of velocities beyond which they are taken to change so fast [rad/s, m/s].
LARGEST_NOISE = 0.03
#: Noise and steps below which both are taken for exact, as no joint feels them [rad/s, m/s; rad, m].
LEAST_NOISE, LEAST_STEP = 1e-4, 3e-5
#: Largest part of what positions and measured velocities differ by in a period that corrects the velocities; and that
#: part over the noise of velocities in a period, over that of positions: what is quick gets hardly more noise.
STEADIED, BETTER = 0.25, 0.5
#: Noise times this is the most that they are corrected by: what exceeds it is a position that jumps.
MOST_MENDED = 3.0


@inline
def doubt(time: float, period: float) -> float:
    """Weight of a velocity of zero at the start, with which noise is at most twice that in the long run."""
    return 3.0 * time * time * time / max(period, 0.01 * time)


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1])", quick=True)
def filter_velocity(
    table: Array,  # (6, n)
    numbers: Array,  # (11,); `PERIOD` is NaN where there is no state before
    position: Array,  # (n,)
    velocity: Array,  # (n,); overwritten
    acceleration: Array,  # expected since the state before (n,)
) -> int:
    """Take in a state, fill in its velocities that are NaN, or all; return how many."""
    n = position.shape[0]
    if table.shape[0] != 6 or table.shape[1] != n or numbers.shape[0] != 11:
        return -1
    if velocity.shape[0] != n or acceleration.shape[0] != n:
        return -1
    h, time, usual = numbers[PERIOD], numbers[TIME], numbers[USUAL]
    if h > 0.0:
        numbers[COUNT] += 1.0
        numbers[TOTAL] += h
        numbers[SQUARES] += h * h
        numbers[LONGEST] = max(numbers[LONGEST], h)
        for i in range(n):
            step = abs(position[i] - table[LAST, i])
            if step > 0.0 and not table[STEP, i] <= step:
                table[STEP, i] = step
    if h > 0.0 and (usual == 0.0 or h <= GAP_TIMES * time or h <= GAP_PERIODS * usual):
        if usual == 0.0:
            numbers[SUM_2] = doubt(time, h)
        keep = max(LEAST, math.exp(-h / time))
        s0, s1, s2 = numbers[SUM_0], numbers[SUM_1], numbers[SUM_2]
        s2 = keep * (s2 - h * (2.0 * s1 - h * s0))
        s1 = keep * (s1 - h * s0)
        s0 = keep * s0 + 1.0
        numbers[SUM_0], numbers[SUM_1], numbers[SUM_2] = s0, s1, s2
        scale = 1.0 / (s0 * s2 - s1 * s1)
        for i in range(n):
            a = acceleration[i]
            p = table[POSITION, i] + h * (table[VELOCITY, i] + 0.5 * h * a)
            miss = position[i] - p
            turn = table[TURN, i]
            if turn > 0.0:
                miss -= turn * np.floor(miss / turn + 0.5)
            v = table[VELOCITY, i] + h * a - scale * s1 * miss
            # The position counts turns as measured ones do not, so it goes on from these.
            table[POSITION, i] = position[i] - (miss - scale * s2 * miss)
            table[VELOCITY, i] = v
            if not abs(v) <= FASTEST:
                table[POSITION, i], table[VELOCITY, i] = position[i], 0.0
        numbers[USUAL] = h if usual == 0.0 else usual + QUICKNESS * (min(h, 2.0 * usual) - usual)
    elif h != 0.0:
        for i in range(n):
            table[POSITION, i], table[VELOCITY, i] = position[i], 0.0
        numbers[SUM_0], numbers[SUM_1], numbers[SUM_2] = 1.0, 0.0, 0.0
        if h > 0.0:
            numbers[SUM_2] = doubt(time, usual)
            numbers[USUAL] = usual + QUICKNESS * (min(h, 2.0 * usual) - usual)
        else:
            numbers[USUAL] = 0.0
    count = 0
    for i in range(n):
        table[LAST, i] = position[i]
        if numbers[REPLACE] > 0.0 or math.isnan(velocity[i]):
            velocity[i], table[FILLED, i] = table[VELOCITY, i], 1.0
            count += 1
    return count


@inline
def white(r0: float, r1: float, r2: float) -> float:
    """Return the variance of white noise beside one sine, by mean products of second differences."""
    b, c = 13.0 * r0 + 16.0 * r1 + 6.0 * r2, r0 * r0 + r0 * r2 - 2.0 * r1 * r1
    return min(max((b - math.sqrt(max(b * b - 40.0 * c, 0.0))) / 20.0, 0.0), r0 / 6.0)


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1])", quick=True)
def mend(table: Array, numbers: Array, position: Array, velocity: Array, step: Array) -> int:
    """Let measured positions and velocities (n,) of a state mend each other; fill `table` (18, n).

    Positions are those that velocities lead to, within the steps (n,) in which they come, 0 where that is not known;
    what is slow in the noise of velocities shows in positions, as far as these are better: a complementary filter.
    """
    n = table.shape[1]
    if table.shape[0] != MEND_ROWS or numbers.shape[0] != 3:
        return -1
    if position.shape[0] != n or velocity.shape[0] != n or step.shape[0] != n:
        return -1
    h, states = numbers[SINCE], numbers[STATES]
    for i in range(n):
        noise = rough = 0.0
        for k in (0, PER_SENSOR):
            x = position[i] if k else velocity[i]
            bent = x - 2.0 * table[k + NEWEST, i] + table[k + BEFORE, i]
            if states == 0.0:
                for row in range(SQUARED, PER_SENSOR):
                    table[k + row, i] = 0.0
            elif states >= 4.0:
                table[k + SQUARED, i] += numbers[PART] * (bent * bent - table[k + SQUARED, i])
                table[k + NEXT, i] += numbers[PART] * (bent * table[k + BENT, i] - table[k + NEXT, i])
                table[k + NEXT_BUT_ONE, i] += numbers[PART] * (
                    bent * table[k + BENT_BEFORE, i] - table[k + NEXT_BUT_ONE, i]
                )
            found = math.sqrt(white(table[k + SQUARED, i], table[k + NEXT, i], table[k + NEXT_BUT_ONE, i]))
            noise, rough = (noise, found) if k else (found, rough)
            table[k + BENT_BEFORE, i], table[k + BENT, i] = table[k + BENT, i], bent
            table[k + BEFORE, i], table[k + NEWEST, i] = table[k + NEWEST, i], x
        noise = noise if noise < LARGEST_NOISE else 0.0
        q, v, half = position[i], velocity[i], 0.5 * step[i] if step[i] > LEAST_STEP else 0.0
        if states > 0.0:
            led = table[LED, i] + 0.5 * h * (v + table[BEFORE, i])
            outside = q - led
            outside -= min(max(outside, -half), half)
            noisy = noise > LEAST_NOISE
            part = min(STEADIED, BETTER * h * noise / max(rough, 1e-9)) if noisy else 0.0
            led += (part if noisy else 1.0) * outside
            table[LED, i] = led
            table[MENDED_POSITION, i] = min(max(led, q - half), q + half)
            table[MENDED_VELOCITY, i] = v + min(max(part / h * outside, -MOST_MENDED * noise), MOST_MENDED * noise)
        else:
            table[LED, i], table[MENDED_POSITION, i], table[MENDED_VELOCITY, i] = q, q, v
        table[NOISE, i] = noise
    numbers[STATES] += 1.0
    return 0
