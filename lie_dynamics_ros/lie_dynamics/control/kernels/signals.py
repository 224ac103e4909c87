"""Checks of measured states and of commands, one call each: array operations would cost a node more than dynamics."""

from __future__ import annotations

import math

from ...arrays import Array
from ...engine.compile import kernel

#: What `check_state` found: numbers, velocities that are NaN besides, or numbers that no state has.
GOOD, UNKNOWN_VELOCITY, BAD_POSITION, BAD_VELOCITY = 0, 1, 2, 3
#: Largest speed towards a limit, over the distance to it [1/s].
APPROACH = 5.0
#: Larger numbers count as infinite: their squares are.
LARGEST = 1e150


@kernel("(float64[::1], float64[::1])", quick=True)
def check_state(position: Array, velocity: Array) -> int:
    """Tell what a state (n,), (n,) holds besides finite numbers."""
    found = GOOD
    for i in range(position.shape[0]):
        if not abs(position[i]) <= LARGEST:
            return BAD_POSITION
    for i in range(velocity.shape[0]):
        if math.isnan(velocity[i]):
            found = UNKNOWN_VELOCITY
        elif not abs(velocity[i]) <= LARGEST:
            return BAD_VELOCITY
    return found


@kernel("(float64[::1], float64[::1])", quick=True)
def within(values: Array, bounds: Array) -> int:
    """Return 1 where no number (n,) is larger than its bound, up or down; else, as for NaN, 0."""
    if values.shape[0] != bounds.shape[0]:
        return 0
    for i in range(values.shape[0]):
        if not -bounds[i] <= values[i] <= bounds[i]:
            return 0
    return 1


@kernel("(float64[::1], float64[::1], float64[::1], float64[::1])", quick=True)
def comes_to_rest_within(position: Array, velocity: Array, center: Array, room: Array) -> int:
    """Return 1 where position + velocity / `APPROACH` is no farther from the center than there is room, all (n,)."""
    n = position.shape[0]
    if velocity.shape[0] != n or center.shape[0] != n or room.shape[0] != n:
        return 0
    for i in range(n):
        if not abs(position[i] + velocity[i] / APPROACH - center[i]) <= room[i]:
            return 0
    return 1


@kernel(
    "(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])", quick=True
)
def keeps_limits(
    position: Array, velocity: Array, desired: Array, center: Array, room: Array, fastest: Array, farthest: Array
) -> int:
    """Return 1 where a state (n,), (n,) is within its range, not too fast and not too far from the desired position."""
    n = position.shape[0]
    if velocity.shape[0] != n or desired.shape[0] != n or center.shape[0] != n or room.shape[0] != n:
        return 0
    if fastest.shape[0] != n or farthest.shape[0] != n:
        return 0
    for i in range(n):
        if not abs(position[i] - center[i]) <= room[i]:
            return 0
        if not (abs(velocity[i]) <= fastest[i] and abs(desired[i] - position[i]) <= farthest[i]):
            return 0
    return 1
