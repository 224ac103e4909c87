"""The motion that the controlled robot is to follow."""

from __future__ import annotations

import math

import numpy as np

from ...core.arrays import Array
from ...lie_dynamics import Model

RANGE_SHARE, SPEED_SHARE = 0.5, 0.6
"""Shares of each joint's half range and of its speed limit that the motion uses at most."""
HOME_SHARE = 0.4
"""How far from the middle of its range, as a share of half of it, a joint's motion may be centred: joints of arms are
often in line with each other in the middle."""
UNBOUNDED = 100.0
"""Ranges from which on a joint counts as one without limits [rad, m]: descriptions write 1e16 for none, too."""
MAX_AMPLITUDE = 0.8
"""Largest amplitude [rad or m]."""
FREQUENCY = 0.25
"""Frequency of the slowest joint [Hz]; the fastest swings almost twice as fast."""
RAMP = 1.0
"""Time in which the motion swells from rest, and in which it dies away again [s]."""


class Motion:
    """Every joint swings about a place in its range at a frequency of its own, from rest to rest.

    Parameters
    ----------
    model : Model
        Whose limits are kept; all joints with one coordinate.
    scale : float
        Of the amplitudes.

    Attributes
    ----------
    center : ndarray, shape (n,)
        Where the motion begins and ends [rad, m].
    """

    def __init__(self, model: Model, scale: float = 1.0) -> None:
        limits = model.limits
        bounded = limits.upper - limits.lower < UNBOUNDED
        lower, upper = np.where(bounded, limits.lower, 0.0), np.where(bounded, limits.upper, 0.0)
        half = np.where(bounded, 0.5 * (upper - lower), MAX_AMPLITUDE)
        reach = np.where(bounded, RANGE_SHARE * half, np.inf)
        speed = np.where(limits.velocity > 0.0, SPEED_SHARE * limits.velocity, np.inf)  # 0 stands for "not given"
        # The fractional parts of multiples of the golden ratio spread evenly, however many joints there are.
        spread = (np.arange(len(half)) * (math.sqrt(5.0) - 1.0) / 2.0) % 1.0
        self.center = 0.5 * (lower + upper) + HOME_SHARE * half * np.cos(2.0 * math.pi * (spread + 0.3))
        self._rate = 2.0 * math.pi * FREQUENCY * (1.0 + spread)
        fastest = self._rate + 2.0 / RAMP  # the ramp adds to the speed
        self._amplitude = scale * np.minimum(np.minimum(reach, MAX_AMPLITUDE), speed / fastest)

    def at(self, t: Array, duration: float) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration, each (k, n), at times (k,) of a motion that lasts ``duration`` [s].

        Before its start and after its end the robot rests at the centre.
        """
        t = np.clip(t, 0.0, duration)[:, None]
        (w, dw, ddw), down = _ramp(t), _ramp(duration - t)
        dw, ddw = dw * down[0] - w * down[1], ddw * down[0] - 2.0 * dw * down[1] + w * down[2]
        w = w * down[0]
        s, ds = self._amplitude * np.sin(self._rate * t), self._amplitude * self._rate * np.cos(self._rate * t)
        dds = -(self._rate**2) * s
        return self.center + w * s, dw * s + w * ds, ddw * s + 2.0 * dw * ds + w * dds


def _ramp(t: Array) -> tuple[Array, Array, Array]:
    """Rise from 0 to 1 within `RAMP`, with its first and second derivatives: 10 x^3 - 15 x^4 + 6 x^5."""
    x = np.minimum(t / RAMP, 1.0)
    return (
        x**3 * (10.0 - 15.0 * x + 6.0 * x**2),
        30.0 * x**2 * (1.0 - x) ** 2 / RAMP,
        60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / RAMP**2,
    )
