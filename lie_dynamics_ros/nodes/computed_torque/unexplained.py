"""Accelerations beyond those commanded: by contacts, and by unknown loads."""

from __future__ import annotations

import numpy as np

from ...lie_dynamics.arrays import Array

NEW_SHARE = 0.3
"""Part of what is new that is taken in with each state: a load is known within some five of them."""
LONGEST_KNOWN = 0.05
"""Longest period that is used [s]."""


class UnexplainedAcceleration:
    """The difference between measured accelerations and commanded ones, smoothed: tau_ext = M times this.

    A spring that holds a load commands a large acceleration, though nothing moves. Limits of motion hold for the sum.

    Parameters
    ----------
    size : int
        Number of joints.

    Attributes
    ----------
    value : ndarray, shape (n,)
        [rad/s^2, m/s^2].
    """

    def __init__(self, size: int) -> None:
        self._zero = np.zeros(size)
        self.forget()

    def forget(self) -> None:
        """Begin anew, with nothing unexplained."""
        self.value = self._zero
        self._velocity: Array | None = None
        self._commanded = [self._zero, self._zero]  # by the last answer, and the one before

    def update(self, period: float, velocity: Array, delay: float) -> None:
        """Take in the velocity of a state (n,), ``period`` [s] after the last; efforts act ``delay`` periods late."""
        last, self._velocity = self._velocity, velocity
        if last is None or not 0.0 < period <= LONGEST_KNOWN:
            return
        late = min(max(delay, 0.0), 1.0)
        acted = (1.0 - late) * self._commanded[0] + late * self._commanded[1]
        self.value = self.value + NEW_SHARE * ((velocity - last) / period - acted - self.value)

    def note(self, commanded: Array) -> None:
        """Take note of the acceleration (n,) that an answer commands."""
        self._commanded = [commanded, self._commanded[0]]
