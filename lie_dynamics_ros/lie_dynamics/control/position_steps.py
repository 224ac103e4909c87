"""The steps in which positions come."""

from __future__ import annotations

import numpy as np

from ..arrays import Array

COARSEST = 1.001 * 2.0 * np.pi / 2**12
"""Step of a position that has not changed yet; what changes by more moves [rad, m]."""


class PositionSteps:
    """Finds the steps of positions by their smallest changes.

    Attributes
    ----------
    steps : ndarray, shape (n,)
        Smallest changes so far, `COARSEST` to begin with [rad, m].
    """

    def __init__(self, n: int) -> None:
        self.steps = np.full(n, COARSEST)
        self._stepped = np.zeros(n, bool)
        self._before: Array | None = None

    def forget(self) -> None:
        """Forget where joints are; how large steps are stays."""
        self._before = None

    @property
    def found(self) -> Array:
        """Steps (n,) that were seen, 0 for none yet [rad, m]."""
        return np.where(self._stepped, self.steps, 0.0)

    def note(self, position: Array) -> bool:
        """Take in positions (n,); return whether a step was found to be smaller."""
        before, self._before = self._before, position
        if before is None:
            return False
        change = np.abs(position - before)
        smaller = (change > 0.0) & (change < self.steps)
        self.steps[smaller] = change[smaller]
        self._stepped |= smaller
        return bool(smaller.any())
