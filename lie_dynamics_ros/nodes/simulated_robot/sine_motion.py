"""A smooth motion that stays within the limits of a robot's joints."""

from __future__ import annotations

import math

import numpy as np

from ...core.arrays import Array
from ...lie_dynamics import Model

RANGE_SHARE = 0.8
"""Share of a joint's range that the motion uses at most."""
SPEED_SHARE = 0.5
"""Share of a joint's speed limit that the motion uses at most."""
MAX_AMPLITUDE = 1.0
"""Largest amplitude [rad or m], for joints with wide or no limits."""


class SineMotion:
    """Every joint swings about the middle of its range, each with a frequency and a phase of its own.

    Parameters
    ----------
    model : Model
        Whose limits are kept; all joints with one coordinate.
    frequency : float
        Frequency of the first joint [Hz]; the others follow within half an octave, so that the motion does not
        repeat itself soon.
    """

    def __init__(self, model: Model, frequency: float) -> None:
        n = len(model.joint_names)
        limits = model.limits
        bounded = np.isfinite(limits.lower) & np.isfinite(limits.upper)
        lower, upper = np.where(bounded, limits.lower, 0.0), np.where(bounded, limits.upper, 0.0)
        self.center = 0.5 * (lower + upper)
        half_range = np.where(bounded, upper - self.center, np.inf)
        speed = np.where(limits.velocity > 0.0, limits.velocity, np.inf)  # exporters write 0 for "not given"
        order = np.arange(n)
        # The fractional parts of multiples of the golden ratio spread evenly, however many joints there are.
        spread = (order * (math.sqrt(5.0) - 1.0) / 2.0) % 1.0
        self.rate = 2.0 * math.pi * frequency * (1.0 + 0.5 * spread)
        self.phase = 2.0 * math.pi * spread
        largest = np.minimum(RANGE_SHARE * half_range, MAX_AMPLITUDE)
        self.amplitude = np.minimum(largest, SPEED_SHARE * speed / self.rate)

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration at the time ``t`` [s], each of shape (n,)."""
        angle = self.rate * t + self.phase
        swing, slope = self.amplitude * np.sin(angle), self.amplitude * np.cos(angle)
        return self.center + swing, self.rate * slope, -(self.rate**2) * swing
