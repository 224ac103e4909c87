"""Readings of several messages put together: one set for each round of the sensors that read regularly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.leg_state import LegState


class LegSets:
    """Collects readings until all have come that were in both of the last two sets, or one of the next round comes.

    That is one that comes again, or that is later than the others by more than half of the time from set to set.

    So a set waits neither for a sensor that has fallen silent nor for one that reads more seldom than the others.

    Parameters
    ----------
    size : int
        Number of sensors.
    """

    def __init__(self, size: int) -> None:
        self._values, self._stamps = np.full(size, np.nan), np.zeros(size, dtype=np.int64)
        self.forget()

    def forget(self) -> None:
        """Begin afresh."""
        size = len(self._values)
        self._there = np.zeros(size, dtype=np.bool_)
        self._released = self._period = 0  # time of the last set, and since the one before [ns]
        self._last = self._regular = np.ones(size, dtype=np.bool_)

    def take(self, stamp: int, values: Array, present: NDArray[np.bool_], age_limit: int) -> LegState | None:
        """Take in those of the readings (n,) of a time [ns] that are present; return a set where one is complete.

        What is older than the newest of a set by more than `age_limit` [ns] has no part in it.
        """
        whole = not (self._regular & ~present).any()
        found = None
        if ((self._there & present).any() or self._next_round(stamp)) and not whole:
            found = self._release(age_limit)
        self._values[present], self._stamps[present] = values[present], stamp
        self._there |= present
        if found is None and not (self._regular & ~self._there).any():
            found = self._release(age_limit)
        return found

    def _next_round(self, stamp: int) -> bool:
        """Return whether a reading of a time [ns] is too late for the set, as after readings that were lost."""
        others = self._stamps[self._there & self._regular]
        return len(others) > 0 and 2 * (stamp - int(others.max())) > self._period > 0

    def _release(self, age_limit: int) -> LegState:
        newest = int(self._stamps[self._there].max())
        self._period, self._released = newest - self._released if self._released else 0, newest
        there = self._there & (newest - self._stamps <= age_limit)
        ages = np.where(there, newest - self._stamps, 0) * 1e-9
        both = self._last & there
        # Sets that share nothing, as after rubbish, would stay as small as they are.
        self._regular, self._last = both if both.any() else self._last | there, there
        self._there = np.zeros(len(there), dtype=np.bool_)
        return LegState(newest, np.where(there, self._values, np.nan), None, there, ages)
