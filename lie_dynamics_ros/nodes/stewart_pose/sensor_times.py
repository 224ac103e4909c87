"""When the sensors that a platform's pose is fused of were heard, and what they read before there is an estimate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.leg_state import LEGS, LegState

SILENT = 100_000_000
"""A sensor of which nothing has come for so long, and for three of its periods, is reported as silent [ns]."""
LONGEST_START = 1_000_000_000
"""Largest difference of the times of the first lengths [ns]."""


class SensorTimes:
    """When each of some sensors was last heard.

    Parameters
    ----------
    size : int
        Number of sensors, legs first.
    """

    def __init__(self, size: int) -> None:
        self._heard, self._periods = np.zeros((2, size), dtype=np.int64)
        self.forget_readings()

    def forget_readings(self) -> None:
        """Forget what was read: an estimate begins from what is heard from now on."""
        self._known = np.full(len(self._heard), np.nan)

    def note(self, state: LegState, present: NDArray[np.bool_]) -> None:
        """Take note of the sensors that are `present` in a state."""
        ages = np.int64(0) if state.ages is None else np.rint(1e9 * state.ages).astype(np.int64)
        self._periods = np.where(present & (self._heard > 0), state.stamp - ages - self._heard, self._periods)
        self._heard = np.where(present, state.stamp - ages, self._heard)

    def gather(self, state: LegState, present: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Add a state to what is known; return that, NaN where it is nothing, and how old it is then [s]."""
        self._known[present] = state.lengths[present]
        self.note(state, present)
        ages = state.stamp - self._heard
        self._known[ages > LONGEST_START] = np.nan
        return self._known, np.where(np.isfinite(self._known), np.maximum(1e-9 * ages, 0.0), 0.0)

    def missing(self) -> list[int]:
        """Return indices of legs of which nothing is known."""
        return np.flatnonzero(~np.isfinite(self._known[:LEGS])).tolist()

    def silent(self, now: int) -> list[int]:
        """Return indices of sensors that nothing has come of for a while at a time [ns]."""
        return np.flatnonzero(now - self._heard > np.maximum(SILENT, 3 * self._periods)).tolist()
