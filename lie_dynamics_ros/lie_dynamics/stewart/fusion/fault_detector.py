"""Acceptance of sensors: the filter with its last samples, and the evidence against each sensor.

`NoFault` is the other explanation where a sensor was left out: the motion was disturbed, no sensor failed.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...arrays import Array, Integers, Mask
from ...errors import StewartError
from ..kernels.filter import INFORMATION, LOG_DETERMINANT, MISFIT, PERSISTENCE, SUPPORT, fuse
from ..kernels.readings import AGE, ANGULAR, DT, LAPSE, LINEAR, READING, SUDDEN, UNTOLD_DELAY
from .result import DISAGREES, NOT_FINITE, STUCK, Fault

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
    """A state and its covariance, as `kernels.readings` describes them."""

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
        self._jerk, self._room = constants[[ANGULAR, LINEAR]], math.nan
        self.misfit, self._report, self._counts = 0.0, np.zeros(2), (0, 0)
        self.no_bank = np.empty((0, len(variances), 0)), np.empty((0, len(variances), 2))

    def step(self, belief: Belief, sample: Sample, bank: tuple[Array, Array]) -> float:
        """Take a belief to the time of a sample, correct it by what is in use; return -2 log of the likelihood.

        ``nan`` where the numbers fail.
        """
        self.constants[DT] = sample.dt
        self.geometry[:, AGE], self.geometry[:, LAPSE] = sample.age, sample.lapse
        self.geometry[:, READING] = sample.readings[: len(self.geometry)]
        if sample.room != self._room:
            self._room = sample.room
            self.constants[[ANGULAR, LINEAR]] = sample.room * self._jerk
            late = float(self.constants[UNTOLD_DELAY])
            self.constants[SUDDEN : SUDDEN + 2] = (sample.room**2 - 1.0) * self._jerk**2 * (late**3 / 3.0, late)
        known = np.isfinite(sample.readings)
        chosen = sample.use & known
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
        used, out = np.count_nonzero(chosen), np.count_nonzero(known) - np.count_nonzero(chosen)
        self._counts = int(used), int(out)
        cost = float((np.log(self.judged[1, known & ~chosen]) + _COST).sum()) if out else 0.0
        return self.misfit + float(self._report[LOG_DETERMINANT]) + cost

    def fits(self, limit: float) -> bool:
        """Return whether the last step's chi-square is within `limit` standard deviations of its mean."""
        used, _ = self._counts
        return self.misfit < used + limit * math.sqrt(2.0 * used)

    def neutral(self, cost: float) -> float:
        """Return the last step's cost where a reading left out costs as much as a good one: neither for nor against."""
        _, left = self._counts
        return cost - (_COST - 1.0) * left


#: Readings fit together when their chi-square is within so many standard deviations of its mean.
TOO_FAR = 6.0
#: How many times the jerk of its model a disturbed motion may have, in small steps: more than it needs is unlikely.
_ROOMS = (10.0, 30.0, 100.0, 300.0, 1000.0)


class NoFault:
    """An estimate beside that of the detector, which goes on with all sensors that it was about to leave out.

    Where a sample does not fit, the motion is given room. A hit passes, and all fits again; a faulty sensor has no such
    excuse, since a motion that explains it is far from likely.

    Parameters
    ----------
    model : takes the steps.
    belief : from before the readings that speak against a sensor.
    spent : what the detector's estimate had cost until then.
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


#: A reading within so many standard deviations of what is expected agrees, beyond so many it surprises.
_AGREES, _SURPRISE = 3.0, 5.0
#: A fault and a disturbance at once are that much less likely than one of them: twice a logarithm.
_BOTH = 20.0
#: So much less likely is beyond doubt, where so many readings in a row have fitted.
_CERTAIN, _CALM = 60.0, 3
#: Times `recovery` after which a disturbance that has not passed is none.
_LONGEST = 50
#: Agreement counts where the expected reading is known to so many times its noise, or so many times sharper than the
#: reading was off before: else a wrong reading would agree as soon as the rest has become vague enough.
_SURE, _SHARPER = 3.0, 10.0
#: So many standard deviations of two readings are a jump, and so many times what the estimate moved by lately; to
#: where all was well within so many; how far off that was is known by so many.
_JUMP, _LATELY, _BACK, _FAR = 7.0, 3.0, 4.0, 20.0


class EvidenceSettings(NamedTuple):
    """Threshold, window and recovery as `StewartFusion` has them."""

    threshold: float
    window: int
    recovery: int


class FaultDetector:
    """Takes samples with the sensors that are accepted, and finds out which these are.

    Parameters
    ----------
    model : takes the steps.
    channels : which readings each sensor has; geometric ones come first.
    repeats : shape (m,), equal readings in a row that show that a sensor is stuck; 0: none do.
    settings : how much evidence excludes a sensor.
    belief : where it starts.
    biases : of the sensors whose bias is estimated, where it is among the errors of the state.

    Attributes
    ----------
    belief : the present state.
    left_out : sensors that are not accepted, with why.
    """

    def __init__(
        self,
        model: SensorModel,
        channels: Mapping[str, slice],
        repeats: Integers,
        settings: EvidenceSettings,
        belief: Belief,
        biases: Mapping[str, slice],
    ) -> None:
        n_points, window = len(model.geometry), settings.window
        self._model, self._channels, self._n_points, self._repeats = model, channels, n_points, repeats
        self._threshold, self._window, self._recovery = settings
        self.belief = belief
        self._biases = {name: (part, np.diagonal(belief.covariance)[part].copy()) for name, part in biases.items()}
        self.left_out: dict[str, Fault] = {}
        n, m = len(belief.covariance), len(repeats)
        self._time = 0.0
        self._history: deque[tuple[Belief, Sample, float]] = deque(maxlen=window)
        self._spent = 0.0
        self._no_fault: NoFault | None = None
        self._knocked = -math.inf  # when a motion that was disturbed has last explained what sensors were blamed for
        self._bank = np.zeros((window, m, n)), np.zeros((window, m, 2))
        self._count, self._begun = 0, np.zeros(window, dtype=np.int64)
        self._last, self._same = np.full(m, np.nan), np.ones(m, dtype=np.int64)
        self._furthest, self._judged = np.zeros(m), np.zeros((3, m))
        # Of what is left out: the last innovations, how far it was off when that was sharp, with the variance of that;
        # and whether it has jumped back by as much.
        self._before, self._off, self._back = np.full(m, np.nan), np.full((2, m), np.nan), np.zeros(m, dtype=np.bool_)
        self._moved, self._followed = np.zeros(m), False
        self._all = np.ones(m, dtype=np.bool_)
        self._all.flags.writeable = False
        self._streak = dict.fromkeys(channels, 0)
        self._heard, self._lapse = np.zeros(n_points), np.full(n_points, PERSISTENCE)

    def take(self, values: Array, there: Mask, dt: float, age: Array) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
        """Take readings (m,), of which those that are `there` count, a time `dt` after those before [s].

        Returns names of sensors that are newly left out and taken in again, and whether the motion was disturbed.
        """
        self._time += dt
        before = set(self.left_out)
        self._name_lifeless(values, there, dt)
        lapse = self._lapses(values)
        self._process(Sample(dt, self._time, values, self._in_use(), age, lapse))
        disturbed = self._acquit(Sample(dt, self._time, values, self._in_use(freed=True), age, lapse))
        for _ in range(len(self._channels) + 2):
            since = self._alarm()
            if not since:
                break
            disturbed |= self._diagnose(since)
        self._take_in(there)
        returned = tuple(name for name in before if name not in self.left_out)
        return tuple(name for name in self.left_out if name not in before), returned, disturbed

    def surprised(self, part: slice) -> bool | None:
        """Return whether a reading of the last sample was far from what was expected; None where none was there."""
        innovations, variances, _ = self._judged[:, part]
        seen = np.isfinite(innovations)
        return bool((innovations[seen] ** 2 > _SURPRISE**2 * variances[seen]).any()) if seen.any() else None

    def go_on_from(self, other: FaultDetector) -> None:
        """Take over the time of another one, and what it excludes of the sensors whose bias is estimated."""
        self._time, self._last, self._same = other._time, other._last, other._same
        self._heard, self._lapse = other._heard, other._lapse
        self.left_out = {name: fault for name, fault in other.left_out.items() if name in self._biases}

    def _lapses(self, values: Array) -> Array:
        """Return the time (k,) since geometric readings before [s]; several of one time count as one."""
        lapse = self._lapse.copy()
        new = self._time > self._heard
        lapse[new] = self._time - self._heard[new]
        now = np.isfinite(values[: self._n_points])
        self._lapse[now], self._heard[now] = lapse[now], self._time
        return lapse

    def _in_use(self, freed: bool = False) -> Mask:
        """Return which readings (m,) are of sensors that are not left out, or that are used as if none had failed."""
        if not self.left_out:
            return self._all
        use = self._all.copy()
        for name, fault in self.left_out.items():
            if not (freed and self._no_fault and name in self._no_fault.freed and fault.reason == DISAGREES):
                use[self._channels[name]] = False
        return use

    def _acquit(self, sample: Sample) -> bool:
        """Go on as if no sensor had failed; return whether that explains all that was better, and is now accepted.

        That is decided once the disturbance has passed, and sooner where it is beyond doubt. Each sensor beyond the
        first makes faults less likely.
        """
        other = self._no_fault
        if other is None:
            return False
        out = [name for name in other.freed if name in self.left_out and self.left_out[name].reason == DISAGREES]
        if not out or not other.take([sample]) or other.taken > _LONGEST * self._recovery:
            self._no_fault = None
            return False
        faults = self._spent - other.spent + _BOTH * (len(out) - 1)
        if other.calm < (_CALM if other.cost + _CERTAIN < faults else self._recovery):
            return False
        if not other.cost + _BOTH < faults:
            felt = not self._biases.keys().isdisjoint(other.freed) and not other.freed <= self._biases.keys()
            if not felt and faults + _BOTH < other.cost:  # where an IMU disagrees with others, that is not decided yet
                self._no_fault = None
            return False
        self._no_fault, self._knocked = None, self._time
        for name in out:
            del self.left_out[name]
        self.belief, self._history, self._judged = other.belief, other.history, self._model.judged.copy()
        self._spent += other.cost - faults
        self._begin_evidence()
        return True

    def _begin_evidence(self) -> None:
        """Forget what spoke against sensors."""
        for table in self._bank:
            table[:] = 0.0
        self._begun[:] = self._count

    def _name_lifeless(self, values: Array, there: Mask, dt: float) -> None:
        """Leave out sensors whose readings are no numbers, or stay the same for longer than their noise allows."""
        count = self._n_points
        equal = there & (values == self._last)
        # All of them, or no later: readings that were sent twice.
        again = equal[:count][there[:count]].all() and (there[:count].sum() > 1 or dt == 0.0)
        self._same = np.where(equal & (not again), self._same + 1, np.where(there, 1, self._same))
        self._last = np.where(there, values, self._last)
        stuck = (self._repeats > 0) & (self._same >= self._repeats)
        if not stuck.any() and np.isfinite(values[there]).all():
            return
        for name, part in self._channels.items():
            fault = self.left_out.get(name)
            if fault is not None:
                if fault.reason == DISAGREES and stuck[part].any():
                    self.left_out[name] = Fault(STUCK, fault.since)
            elif not np.isfinite(values[part])[there[part]].all():
                self.left_out[name] = Fault(NOT_FINITE, self._time)
            elif stuck[part].any():
                age = min(int(self._same[part].max()) - 2, len(self._history))
                since = self._history[-age][1].time if age else self._time
                self.left_out[name] = Fault(STUCK, since)
                self._replay(age, part, 1.0)

    def _process(self, sample: Sample) -> None:
        """Take one sample, and keep what it was taken from."""
        slot = self._count % self._window
        for table in self._bank:
            table[slot] = 0.0
        self._begun[slot] = self._count
        self._count += 1
        before = self.belief.copy()
        cost = self._model.step(self.belief, sample, self._bank)
        if math.isnan(cost):
            self.belief = before
            raise StewartError("the estimate has become too uncertain to calculate with: reset the fusion")
        cost = self._model.neutral(cost)
        self._history.append((before, sample, cost))
        self._spent += cost
        self._judged = self._model.judged.copy()

    def _statistics(self) -> Array:
        """Return how well a constant error of each reading since each slot began explains the innovations, squared."""
        evidence = self._bank[1]
        information = evidence[:, :, INFORMATION]
        squares = evidence[:, :, SUPPORT] ** 2
        return np.divide(squares, information, out=np.zeros_like(squares), where=information > 0.0)

    def _alarm(self) -> int:
        """Return since how many samples a reading is most likely wrong; 0 where none is."""
        statistics = self._statistics()
        if not statistics.max() > self._threshold**2:
            return 0
        slot = int(statistics.max(axis=1).argmax())
        return min(int(self._count - self._begun[slot]), len(self._history))

    def _diagnose(self, age: int) -> bool:
        """Find what explains the last samples best; return whether it is (also) a motion that was disturbed.

        A sensor that is left out explains them when the rest fits together without it. Else the motion may have
        changed more than its model allows, or a wrong sensor has been accepted for longer than the window.
        """
        suspects = [(name, part) for name, part in self._channels.items() if name not in self.left_out]
        tries = [(*self._try(age, part, 1.0), name, part, 1.0) for name, part in suspects]
        if self._time - self._knocked < PERSISTENCE:  # what is left of a knock is no fault either
            tries = [(*self._try(age, slice(0), room), "", slice(0), room) for room in ROOMS]
        best = min(tries, default=(0.0, False, "", slice(0), 1.0), key=lambda one: one[0])
        if not best[1]:
            for name, part in [("", slice(0)), *suspects]:
                for room in ROOMS:
                    cost, fits = self._try(age, part, room)
                    tries.append((cost + (_BOTH if name else 0.0), fits, name, part, room))
            best = min(tries, key=lambda one: one[0])
        _, _, name, part, room = best
        if name:
            self._doubt(age, name)
            self.left_out[name] = Fault(DISAGREES, self._history[-age][1].time)
        self._replay(age, part, room)
        return room > 1.0

    def _doubt(self, age: int, name: str) -> None:
        """Go on beside it as if a sensor that is left out had not failed the last samples."""
        if self._no_fault is None:
            past = list(self._history)[-age:]
            spent = self._spent - sum(cost for _, _, cost in past)
            self._no_fault = NoFault(self._model, past[0][0], spent, self._window)
            if not self._no_fault.take(replace(sample, room=1.0) for _, sample, _ in past):
                self._no_fault = None
                return
        self._no_fault.freed.add(name)

    def _try(self, age: int, part: slice, room: float) -> tuple[float, bool]:
        """Return the cost of the last samples without a sensor, a motion given room, and whether they fit together."""
        belief, cost = self._history[-age][0].copy(), 0.0
        misfit, count = 0.0, 0
        for _, past, _ in list(self._history)[-age:]:
            sample = past.without(part, room)
            cost += self._model.step(belief, sample, self._model.no_bank)
            misfit += self._model.misfit
            count += int((sample.use & np.isfinite(sample.readings)).sum())
        return (math.inf, False) if math.isnan(cost) else (cost, misfit < count + TOO_FAR * math.sqrt(2.0 * count))

    def _replay(self, age: int, part: slice, room: float) -> None:
        """Take the last samples again without a sensor, or with a motion that is given room; evidence starts afresh."""
        self._begin_evidence()
        past = [self._history.pop() for _ in range(age)][::-1]
        if past:
            self.belief = past[0][0]
        self._spent -= sum(cost for _, _, cost in past)
        for _, sample, _ in past:
            self._process(sample.without(part, room))

    def _take_in(self, there: Mask) -> None:
        """Take in what has agreed for long enough with an estimate sure enough to check it.

        Legs determine accelerations too vaguely to confirm an IMU. Its bias counts as unknown again instead, as far
        as at the start and as vague as the agreement was: what this forgives is not accepted.
        """
        innovations, variances, shares = self._judged
        if not (self.left_out or self._followed):
            self._before, self._moved[:] = np.where(np.isfinite(innovations), innovations, self._before), 0.0
            return
        self._followed = bool(self.left_out)
        agree = innovations**2 <= _AGREES**2 * variances
        agree &= (self._repeats == 0) | (self._same < self._repeats)
        off = np.where(there & np.isfinite(innovations), np.abs(innovations), 0.0)
        self._furthest = np.where(self._in_use(), 0.0, np.maximum(self._furthest, off))
        self._note_jumps(innovations, variances)
        sure = shares <= _SURE**2 * self._model.variances
        sharper = _SHARPER * _AGREES * np.sqrt(variances) <= self._furthest
        for name, fault in list(self.left_out.items()):
            part = self._channels[name]
            seen = bool(sure[part].all() or sharper[part].any() or self._back[part].any())
            judge = fault.reason != DISAGREES or name in self._biases or seen
            if there[part].any():
                self._streak[name] = self._streak[name] + 1 if judge and agree[part].all() else 0
            if self._streak[name] >= self._recovery:
                self._streak[name] = 0
                del self.left_out[name]
                if name in self._biases:
                    place, unknown = self._biases[name]
                    self.belief.covariance[place, place] += np.diag(unknown + shares[part])

    def _note_jumps(self, innovations: Array, variances: Array) -> None:
        """Take note of how far readings that are left out are off, and of jumps back by as much.

        However vague the estimate has become meanwhile: a jump is far beyond what it has moved by lately.
        """
        out, noise, known = ~self._in_use(), 2.0 * self._model.variances, np.isfinite(self._off[0])
        change = innovations - self._before
        jumped = change**2 > np.maximum(_JUMP**2 * noise, _LATELY**2 * self._moved)
        left = (self._off[0] + change) ** 2 <= _BACK**2 * (noise + self._off[1])
        self._back = np.where(jumped, left, self._back) & out
        sharp = (innovations**2 > _FAR**2 * variances) & ~self._back
        self._off = np.where(out, np.where(sharp, (innovations, variances), self._off), np.nan)
        self._moved = np.where(known, np.fmax(0.99 * self._moved, change**2), 0.0)
        self._before = np.where(np.isfinite(innovations), innovations, self._before)
