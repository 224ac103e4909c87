"""What acts on joints at a state, and its sums over time."""

from __future__ import annotations

import math

import numpy.typing as npt
from numpy import float64

from ...engine.compile import kernel
from .windows import (
    DRY,
    EFFORT,
    GAPS,
    HELD,
    IMPULSE,
    LASTING,
    LONGER,
    NOW,
    OFFSET,
    SHORT_DRY,
    SQUARES,
    UNEVEN,
    UNEVEN_DRY,
)

Array = npt.NDArray[float64]

#: Beyond which a state is none: sums keep their digits [SI units].
LARGEST = 1e9
#: Rates (n, N_RATES): those of `windows` that have one, and the effort itself. Of joints (n, 2): what friction holds at
#: rest that is not known, and the speed below which its direction is not.
N_RATES, HOLDS, SMOOTHING = 6, 0, 1
OWN = N_RATES - 1
#: Settings: the step since the state before, by how much it is longer than usual, from where on that is a gap [s];
#: whether an effort acted over the period before its state.
STEP, MORE, GAP, AS_HELD, N_SETTINGS = range(5)


@kernel("(float64[::1], float64[::1], float64[::1], float64[::1], float64[:, ::1], float64[:, ::1])", quick=True)
def rates_at(v: Array, effort: Array, known: Array, momentum: Array, joints: Array, rates: Array) -> int:
    """Write rates (n, N_RATES) at velocities v and efforts (n,) with what the model knows; 1 where one is too large."""
    good = True
    for i in range(v.shape[0]):
        side = v[i] / math.sqrt(v[i] * v[i] + joints[i, SMOOTHING] * joints[i, SMOOTHING])
        rates[i, IMPULSE], rates[i, OFFSET], rates[i, DRY] = effort[i] + known[i], 1.0, side
        rates[i, HELD], rates[i, EFFORT] = joints[i, HOLDS] * (1.0 - side * side), abs(effort[i])
        rates[i, OWN] = effort[i]
        good = good and abs(rates[i, IMPULSE]) <= LARGEST and abs(effort[i]) <= LARGEST
        good = good and abs(momentum[i]) <= LARGEST and side * side <= 1.0
    return 0 if good else 1


@kernel("(float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1])", quick=True)
def add_step(settings: Array, before: Array, rates: Array, sums: Array, time: Array) -> int:
    """Add a step between two states with rates to sums (n, N_SUMS) and times (N_TIMES,); 0.

    What is not known of torques goes on for no less than a usual step, however soon the next state comes.
    """
    step, more = settings[STEP], settings[MORE]
    lasts = max(step, step - more)
    for i in range(rates.shape[0]):
        side = 0.5 * (rates[i, DRY] + before[i, DRY])
        sums[i, OFFSET] += step
        sums[i, DRY] += step * side
        sums[i, UNEVEN_DRY] += more * side
        sums[i, SHORT_DRY] += (lasts - step) * side
        for c in range(HELD, OWN):
            sums[i, c] += lasts * 0.5 * (rates[i, c] + before[i, c])
        mean = 0.5 * (rates[i, IMPULSE] + before[i, IMPULSE])
        mean += settings[AS_HELD] * 0.5 * (rates[i, OWN] - before[i, OWN])
        sums[i, IMPULSE] += step * mean
        sums[i, UNEVEN] += more * mean
        if more > settings[GAP]:  # it may have been as before all the time, or as after it
            half = 0.5 * step * (rates[i, IMPULSE] - before[i, IMPULSE])
            sums[i, GAPS] += half * half
    time[NOW] += step
    time[SQUARES] += step * step
    time[LASTING] += lasts
    time[LONGER] += more
    return 0
