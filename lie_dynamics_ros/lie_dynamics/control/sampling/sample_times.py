"""How often a loop is sampled and how old its samples are, as measured."""

from __future__ import annotations

import math
from collections import deque
from statistics import median

KEPT = 15
"""Samples of which medians are taken."""
FEWEST = 5
"""Below which nothing is said."""
EVERY = 4
"""Samples between two looks."""
LARGEST_DELAY = 8.0
"""Longest delay that is told apart [periods]."""
FINENESS = 0.25
"""Steps in which delays are told apart [periods]."""


class SampleTimes:
    """Period and age of samples: medians, which single late ones do not move.

    Attributes
    ----------
    period : float
        Measured [s]; zero until there are `FEWEST` samples in a row.
    age : float
        How old samples are when they come [s].
    """

    def __init__(self) -> None:
        self._periods: deque[float] = deque(maxlen=KEPT)
        self._ages: deque[float] = deque(maxlen=KEPT)
        self.reset()

    def reset(self) -> None:
        """Forget all."""
        self.period = self.age = 0.0
        self._count = 0
        self._periods.clear()
        self._ages.clear()

    def add(self, period: float, age: float) -> bool:
        """Take in the time since the sample before and the age of this one [s]; tell whether it is time for a look."""
        self._periods.append(period)
        self._ages.append(age)
        self._count += 1
        if self._count % EVERY or len(self._periods) < FEWEST:
            return False
        self.period, self.age = median(self._periods), max(0.0, median(self._ages))
        return True

    def delay(self, declared: float) -> float:
        """Return the delay [periods]: what was declared, or more where samples are older, in steps of `FINENESS`."""
        if not self.period:
            return declared
        measured = FINENESS * math.ceil(self.age / (FINENESS * self.period))
        return min(max(declared, measured), max(declared, LARGEST_DELAY))
