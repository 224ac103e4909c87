"""Readings of one moment, a state of the filter, and the step that takes the one to the next."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Array, Mask
from .kernels.filter import LOG_DETERMINANT, MISFIT, fuse
from .kernels.motion import ANGULAR, DT, LINEAR, SUDDEN, UNTOLD_DELAY
from .kernels.readings import AGE, LAPSE, READING

#: What a reading that is left out costs in twice the negative logarithm of the likelihood, beyond that of a good one.
_COST = 4.0
#: How many times the jerk of its model a disturbed motion may have.
ROOMS = (30.0, 1000.0)


@dataclass(frozen=True)
class Sample:
    """Readings (m,) a time `dt` after those before [s], at a time `time`; NaN where there is none.

    `use` (m,) are those of sensors not left out; the jerk meanwhile may be `room` times that of the model. Readings of
    geometric sensors (k,) were made `age` earlier, and come a time `lapse` after those before [s].
    """

    dt: float
    time: float
    readings: Array
    use: Mask
    age: Array
    lapse: Array
    room: float = 1.0

    def without(self, part: slice, room: float) -> Sample:
        """Return the sample without some readings, and with at least so much room."""
        use = self.use.copy()
        use[part] = False
        return replace(self, use=use, room=max(room, self.room))


@dataclass
class Belief:
    """A state and its covariance, as `kernels.motion` describes them."""

    x: Array
    covariance: Array

    def copy(self) -> Belief:
        """Return a copy of its own."""
        return Belief(self.x.copy(), self.covariance.copy())


class SensorModel:
    """The constants of a filter, and one step of it.

    Attributes
    ----------
    constants : shape (N_CONSTANTS,), geometry : (k, N_GEOMETRY), variances : (m,), of the readings.
    judged : shape (3, m), of the last step: innovations, their variances, what of these is the state's.
    misfit : chi-square of the last step.
    """

    def __init__(self, constants: Array, geometry: Array, variances: Array) -> None:
        self.constants, self.geometry, self.variances = constants, geometry, variances
        self.judged = np.zeros((3, len(variances)))
        self._jerk = constants[[ANGULAR, LINEAR]]
        self.misfit, self._report, self._counts = 0.0, np.zeros(2), (0, 0)
        self.no_bank = np.empty((0, len(variances), 0)), np.empty((0, len(variances), 2))

    def step(self, belief: Belief, sample: Sample, bank: tuple[Array, Array]) -> float:
        """Take a belief to the time of a sample, correct it by what is in use; return -2 log of the likelihood.

        ``nan`` where the numbers fail.
        """
        self.constants[DT] = sample.dt
        self.geometry[:, AGE], self.geometry[:, LAPSE] = sample.age, sample.lapse
        self.geometry[:, READING] = sample.readings[: len(self.geometry)]
        self.constants[[ANGULAR, LINEAR]] = sample.room * self._jerk
        late = float(self.constants[UNTOLD_DELAY])
        self.constants[SUDDEN : SUDDEN + 2] = (sample.room**2 - 1.0) * self._jerk**2 * (late**3 / 3.0, late)
        chosen = sample.use & np.isfinite(sample.readings)
        failed = fuse(
            belief.x,
            belief.covariance,
            self.constants,
            self.geometry,
            self.variances,
            sample.readings,
            chosen.astype(np.float64),
            self.judged,
            *bank,
            self._report,
        )
        if failed or (self.judged[1] < 0.0).any():
            return float("nan")
        self.misfit = float(self._report[MISFIT])
        left = np.isfinite(sample.readings) & ~chosen
        self._counts = int(chosen.sum()), int(left.sum())
        cost = float((np.log(self.judged[1, left]) + _COST).sum())
        return self.misfit + float(self._report[LOG_DETERMINANT]) + cost

    def fits(self, limit: float) -> bool:
        """Return whether the last step's chi-square is within `limit` standard deviations of its mean."""
        used, _ = self._counts
        return self.misfit < used + limit * math.sqrt(2.0 * used)

    def neutral(self, cost: float) -> float:
        """Return the last step's cost where a reading left out costs as much as a good one: neither for nor against."""
        _, left = self._counts
        return cost - (_COST - 1.0) * left
