"""Velocities from positions, of all joints in one call; doc/control.md derives it."""

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


@inline
def doubt(time: float, period: float) -> float:
    """Weight of a velocity of zero at the start, with which noise is at most twice that in the long run."""
    return 3.0 * time * time * time / max(period, 0.01 * time)


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1])", quick=True)
def filter_velocity(table: Array, numbers: Array, position: Array, velocity: Array, acceleration: Array) -> int:
    """Take in a state (n,), fill in its velocities (n,) that are NaN, or all; return how many.

    Parameters
    ----------
    table : ndarray, shape (6, n)
    numbers : ndarray, shape (11,)
        `PERIOD` is NaN where there is no state before.
    position, velocity : ndarray, shape (n,)
        The velocities are overwritten.
    acceleration : ndarray, shape (n,)
        Expected since the state before.
    """
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
