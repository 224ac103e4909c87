"""Checks of measured states and of commands, one call each: array operations would cost a node more than dynamics."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..kernels.compile import kernel

Array = npt.NDArray[np.float64]

#: What `clean_state` found: nothing, velocities that are NaN, now zero, or numbers that no state has.
CLEAN, ASSUMED, BAD_POSITION, BAD_VELOCITY = 0, 1, 2, 3
#: Larger numbers count as infinite: their squares are.
LARGEST = 1e150


@kernel("(float64[::1], float64[::1])", quick=True)
def clean_state(position: Array, velocity: Array) -> int:
    """Put zero in place of velocities that are NaN, and tell what a state (n,), (n,) holds besides finite numbers."""
    found = CLEAN
    for i in range(position.shape[0]):
        if not abs(position[i]) <= LARGEST:
            return BAD_POSITION
    for i in range(velocity.shape[0]):
        if math.isnan(velocity[i]):
            velocity[i] = 0.0
            found = ASSUMED
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
