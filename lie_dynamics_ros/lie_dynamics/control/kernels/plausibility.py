"""Test of whether a state can follow the one before, all joints in one call; see `control/plausibility.py`."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Array
from ...engine.compile import inline, kernel

#: Rows of the table: last position and velocity, those of a state that was refused, length of a turn (0: none), largest
#: speed, and by how much positions and velocities missed what was expected of late.
POSITION, VELOCITY, OTHER_POSITION, OTHER_VELOCITY, TURN, FASTEST, MISSED, MISSED_RATE = range(8)
ROWS = 8
#: Numbers: time since the last state, since the refused one (NaN: none), usual period, whether to accept and learn.
SINCE, SINCE_OTHER, USUAL, ACCEPT = range(4)
NUMBERS = 4
#: What was found: the state follows from the last one, or from the one that was refused; else the number of the joint
#: whose position (from `POSITIONS` on) or velocity (from `VELOCITIES` on) does not follow.
FOLLOWS, AGREES, POSITIONS, VELOCITIES = 0, 1, 1000, 1_000_000
#: Positions that are so near are the same: the step of an encoder of 12 bits [rad, m].
SAME = 2e-3
#: Part of the largest speed that may be unknown, and time in which a joint may get it [s].
UNKNOWN_SPEED, QUICKEST = 0.15, 0.02
#: The same of measured velocities, which positions do not bear out.
UNKNOWN_RATE, QUICKEST_RATE = 0.02, 0.03
#: How many times what was missed of late may be missed, and how long that counts [s].
ROOM, MEMORY = 4.0, 1.0
#: Speed towards a position that was refused, over the largest one.
AGAIN = 1.5


@inline
def _away(moved, first, second, short, long):
    """Return by how much a way is not between what two velocities lead to within two times."""
    low = min(first * short, first * long, second * short, second * long)
    high = max(first * short, first * long, second * short, second * long)
    return max(low - moved, moved - high, 0.0)


@inline
def _wrapped(moved, turn):
    return moved - turn * np.floor(moved / turn + 0.5) if turn > 0.0 else moved


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1])", quick=True)
def follows(table: Array, numbers: Array, position: Array, velocity: Array) -> int:
    """Tell whether a state (n,), (n,) can follow; velocities may be NaN. It is taken over where it does."""
    n = position.shape[0]
    if table.shape[0] != 8 or table.shape[1] != n or velocity.shape[0] != n or numbers.shape[0] != 4:
        return POSITIONS
    h, other, usual, accept = numbers[SINCE], numbers[SINCE_OTHER], numbers[USUAL], numbers[ACCEPT] > 0.0
    regular = 0.5 * usual < h < 1.5 * usual
    short, long = min(h, usual), max(h, usual if h > 0.5 * usual else 2.0 * usual)
    found = FOLLOWS
    for i in range(n):
        moved = _wrapped(position[i] - table[POSITION, i], table[TURN, i])
        before, fastest = table[VELOCITY, i], table[FASTEST, i]
        rate = before if math.isnan(velocity[i]) else velocity[i]
        usually = fastest * (long * long / (2.0 * QUICKEST) + UNKNOWN_SPEED * long) + SAME
        if _away(moved, before, rate, short, long) > max(usually, ROOM * table[MISSED, i]):
            found = POSITIONS + i
            break
        jump = abs(rate - before)
        usually = fastest * (UNKNOWN_RATE + h / QUICKEST_RATE)
        jumped = regular and jump > max(usually, ROOM * table[MISSED_RATE, i])
        if jumped and abs(moved - h * rate) > abs(moved - h * before):
            found = VELOCITIES + i
            break
    agrees = found != FOLLOWS and not math.isnan(other)
    if agrees:
        for i in range(n):
            moved = _wrapped(position[i] - table[OTHER_POSITION, i], table[TURN, i])
            fastest = table[FASTEST, i]
            if abs(moved) > AGAIN * fastest * max(other, usual) + SAME + ROOM * table[MISSED, i]:
                agrees = False
            if abs(velocity[i] - table[OTHER_VELOCITY, i]) > fastest * (UNKNOWN_RATE + other / QUICKEST_RATE):
                agrees = False
    if found != FOLLOWS and not agrees and not accept:
        for i in range(n):
            table[OTHER_POSITION, i], table[OTHER_VELOCITY, i] = position[i], velocity[i]
        return found
    keep = math.exp(-h / MEMORY)
    for i in range(n):
        moved = _wrapped(position[i] - table[POSITION, i], table[TURN, i])
        before, fastest = table[VELOCITY, i], table[FASTEST, i]
        rate = before if math.isnan(velocity[i]) else velocity[i]
        away, jump = _away(moved, before, rate, short, long), abs(rate - before)
        if not accept:  # the robot is elsewhere, but will not be so with every state
            away = min(away, 2.0 * max(fastest * long, SAME))
            jump = min(jump, 0.5 * fastest)
        table[MISSED, i] = max(keep * table[MISSED, i], away)
        table[MISSED_RATE, i] = max(keep * table[MISSED_RATE, i], jump)
        if math.isnan(velocity[i]):
            if found == FOLLOWS and h > 0.0:
                table[VELOCITY, i] = before + 0.5 * (moved / max(h, usual) - before)
            else:
                table[VELOCITY, i] = 0.0
        else:
            table[VELOCITY, i] = velocity[i]
        table[POSITION, i] = position[i]
    return AGREES if found != FOLLOWS else FOLLOWS
