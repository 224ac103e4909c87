"""Measured period and age of the samples of a loop."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from heapq import nlargest
from statistics import median

KEPT = 15  # samples of which medians are taken
REMEMBERED = 60  # periods among which long ones are looked for
SINGLE = 3  # number of long ones among these that changes nothing
BORNE = 2.0  # longest tolerated period, over the period that gains suit
CALM = 240  # samples without long periods after which they are forgotten
FEWEST = 5  # fewest samples of a result
EVERY = 4  # samples between two looks
LARGEST_DELAY = 8.0  # longest delay that is distinguished [periods]
FINENESS = 0.25  # steps in which delays are distinguished [periods]


@dataclass(slots=True)
class SampleTimes:
    """Period and age of samples: medians, which single late ones do not move, and long periods among them.

    Attributes
    ----------
    period : float
        Measured [s]; zero until there are `FEWEST` samples in a row.
    suited : float
        What gains are to suit [s]: the period, or more where more than `SINGLE` of `REMEMBERED` ones are
        more than `BORNE` times as long, up to `CALM` samples after they were.
    age : float
        How old samples are when they come [s].
    count : int
        Number of samples.
    """

    period: float = 0.0
    suited: float = 0.0
    age: float = 0.0
    count: int = 0
    _long: float = 0.0
    _long_since: int = 0
    _periods: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    _ages: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    _recent: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def add(self, period: float, age: float) -> bool:
        """Take in the time since the sample before and the age of this one [s]; return whether a check is due."""
        self._periods.append(period)
        self._recent.append(period)
        self._ages.append(age)
        self.count += 1
        if self.count % EVERY or len(self._periods) < FEWEST:
            return False
        self.period, self.age = median(self._periods), max(0.0, median(self._ages))
        self.suited = max(self.period, self._long_ones())
        return True

    def _long_ones(self) -> float:
        """Return the period that long ones ask for [s]: more at once, less after a while."""
        found = nlargest(SINGLE + 1, self._recent)[-1] / BORNE
        calm = self.count > self._long_since + CALM
        if calm or found >= 0.95 * self._long:
            self._long, self._long_since = found if calm else max(found, self._long), self.count
        return self._long

    def delay(self, declared: float) -> float:
        """Return the delay [periods]: what was declared, or more where samples are older, in steps of `FINENESS`."""
        if not self.period:
            return declared
        measured = FINENESS * math.ceil(self.age / (FINENESS * self.period))
        return min(max(declared, measured), max(declared, LARGEST_DELAY))
