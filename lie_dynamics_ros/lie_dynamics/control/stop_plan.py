"""The motion by which a robot comes to rest."""

from __future__ import annotations

import numpy as np

from ..arrays import Array


class StopPlan:
    """Velocities that die away, (qd0 + c t) exp(-l t) with c = qdd0 + l qd0, so that each joint stops before its limit.

    Accelerations begin at qdd0 and never step: what is elastic is not struck.

    Parameters
    ----------
    position, velocity : ndarray, shape (n,)
        Where it begins [rad, m and per s].
    rate, fastest : float
        l [1/s]: usually `rate`; up to `fastest` where a joint would pass its limit.
    lower, upper : ndarray, shape (n,)
        Limits of positions.
    acceleration : ndarray, shape (n,), optional
        qdd0 [rad/s^2, m/s^2], zero by default; as far as it brakes, by l qd0 at most, so that no joint turns round.
    """

    def __init__(
        self,
        position: Array,
        velocity: Array,
        rate: float,
        fastest: float,
        lower: Array,
        upper: Array,
        acceleration: Array | None = None,
    ) -> None:
        room = np.where(velocity > 0.0, upper - position, position - lower)
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(room > 0.0, 2.0 * np.abs(velocity) / room, np.where(velocity == 0.0, 0.0, np.inf))
        self.rates = np.clip(np.nan_to_num(needed, nan=rate, posinf=fastest), rate, max(rate, fastest))
        self._position, self._velocity = position.copy(), velocity.copy()
        steady = self.rates * velocity
        if acceleration is None:
            self._slope = steady
        else:
            self._slope = steady + np.clip(acceleration, np.minimum(-steady, 0.0), np.maximum(-steady, 0.0))
        self._end = self._position + (self._velocity + self._slope / self.rates) / self.rates

    def at(self, time: float) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration, `time` [s] after it began."""
        fading = np.exp(-self.rates * time)
        slope = self._slope * fading
        velocity = self._velocity * fading + slope * time
        return self._end - (velocity + slope / self.rates) / self.rates, velocity, slope - self.rates * velocity
