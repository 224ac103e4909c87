"""Another explanation of readings for which a sensor was left out: the motion was disturbed, no sensor failed."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

from .samples import Belief, Sample, SensorModel

#: Readings fit together when their chi-square is within so many standard deviations of its mean.
TOO_FAR = 6.0
#: How many times the jerk of its model a disturbed motion may have, in small steps: more than it needs is unlikely.
_ROOMS = (10.0, 30.0, 100.0, 300.0, 1000.0)


class NoFault:
    """An estimate beside that of the judge, which goes on with all sensors that it was about to leave out.

    Where a sample does not fit, the motion is given room. A hit passes, and all fits again; a faulty sensor has no such
    excuse, since a motion that explains it is far from likely.

    Parameters
    ----------
    model : takes the steps.
    belief : from before the readings that speak against a sensor.
    spent : what the judge's own estimate had cost until then.
    length : samples that are kept.

    Attributes
    ----------
    freed : names of sensors that are used here only.
    history : the last beliefs, with the sample that each was taken on with, and its cost.
    cost : of all samples.
    calm, taken : samples in a row that fit, and all samples.
    """

    def __init__(self, model: SensorModel, belief: Belief, spent: float, length: int) -> None:
        self._model, self.belief, self.spent = model, belief.copy(), spent
        self.freed: set[str] = set()
        self.history: deque[tuple[Belief, Sample, float]] = deque(maxlen=length)
        self.cost, self.calm, self.taken = 0.0, 0, 0

    def take(self, samples: Iterable[Sample]) -> bool:
        """Take samples, whose `use` are the readings that count here; return whether the numbers still hold."""
        for sample in samples:
            tries = []
            for room in (1.0, *_ROOMS):
                belief, given = self.belief.copy(), sample.without(slice(0), room)
                cost = self._model.step(belief, given, self._model.no_bank)
                if not math.isnan(cost):
                    tries.append((self._model.neutral(cost), belief, given))
                if room == 1.0 and tries and self._model.fits(TOO_FAR):
                    break
            if not tries:
                return False
            cost, belief, given = min(tries, key=lambda one: one[0])
            self.history.append((self.belief, given, cost))
            self.belief = belief
            self.cost += cost
            self.taken += 1
            self.calm = self.calm + 1 if given.room == 1.0 else 0
        return True
