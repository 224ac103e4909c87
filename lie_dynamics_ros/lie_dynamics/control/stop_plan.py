"""The motion by which a robot comes to rest."""

from __future__ import annotations

import numpy as np

from ..arrays import Array


class StopPlan:
    """Velocities that die away, q(t) = q0 + qd0 (1 - exp(-l t)) / l, so that each joint stops before its limit.

    Parameters
    ----------
    position, velocity : ndarray, shape (n,)
        Where it begins [rad, m and per s].
    rate, fastest : float
        l [1/s]: usually `rate`; up to `fastest` where a joint would pass its limit.
    lower, upper : ndarray, shape (n,)
        Limits of positions.
    """

    def __init__(
        self, position: Array, velocity: Array, rate: float, fastest: float, lower: Array, upper: Array
    ) -> None:
        self._position, self._velocity = position.copy(), velocity.copy()
        room = np.where(velocity > 0.0, upper - position, position - lower)
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(room > 0.0, np.abs(velocity) / room, np.where(velocity == 0.0, 0.0, np.inf))
        self.rates = np.clip(np.nan_to_num(needed, nan=rate, posinf=fastest), rate, max(rate, fastest))

    def at(self, time: float) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration, `time` [s] after it began."""
        velocity = self._velocity * np.exp(-self.rates * time)
        return self._position + (self._velocity - velocity) / self.rates, velocity, -self.rates * velocity
