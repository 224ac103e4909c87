"""Core of the node stewart_pose with `fusion`: one estimate of legs and IMU, faulty ones left out."""

from __future__ import annotations

import copy
import math
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import KINDS, MessageError, ParameterError, WaitingError
from ...core.platform import LEGS, LegState
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.stewart import DisplacementSensor, FusedPose, StewartError, StewartFusion
from ...lie_dynamics.stewart.fusion.estimator import LARGEST
from ...lie_dynamics.stewart.fusion.result import DISAGREES
from ...lie_dynamics.stewart.geometry.any_platform import PointJointed
from .core import PoseCore, StewartPoseOptions, any_pose, level_pose
from .fusion_options import FusionOptions

# Legs are not accepted merely because they agree again with an estimate that has become vague meanwhile.

LATEST = 50_000_000
"""Largest age of lengths over that of the last answer [ns]."""
READINGS_KEPT = 1000
"""Readings of the IMU that wait for lengths, at most."""
BELIEVED_AFTER = 20
"""Readings of each leg without a fault after which an estimate that was lost is accepted."""
TOGETHER = 3
"""Number of sensors that disagree at once from which on none is excluded: the motion, or all, are at fault."""
WILD = 3
"""Jumps of an excluded leg after which its deviation no longer counts as permanent."""
SHARP, FAR = 10.0, 5.0
"""Standard deviations: of how far a leg is off to be recorded, and of a jump back to fit that."""


class ReacquisitionGate:
    """Deviations of legs that disagree, and those excluded since the estimate was lost.

    Six lengths alone fit a pose, right or wrong. So a leg with a permanent deviation, as after a slip, would be
    accepted as soon as nothing contradicts it any more. It stays excluded until it jumps back by as much as it was off,
    or has jumped so often that its deviation is not permanent.

    Parameters
    ----------
    platform : StewartPlatform or RotaryPlatform
    noise : ndarray, shape (6,)
        Standard deviations of the lengths or angles [m, rad]; may change.
    """

    def __init__(self, platform: PointJointed, noise: Array) -> None:
        self._platform, self.noise = platform, noise
        self._off: dict[int, tuple[float, float]] = {}  # how far a leg is off [m], and the variance of that
        self._jumps: dict[int, int] = {}  # of each excluded leg

    @property
    def legs(self) -> tuple[int, ...]:
        """Indices of the excluded legs."""
        return tuple(self._jumps)

    def watch(self, fused: FusedPose, state: LegState, out: list[int]) -> None:
        """Record how far the legs that are left out are off, while the estimate is sharp; 0: no more."""
        self._off = {leg: self._off[leg] for leg in out if leg in self._off}
        for leg, (off, variance) in self._distances(fused, state, out):
            furthest = max(abs(off), abs(self._off.get(leg, (0.0, 0.0))[0]))
            if variance <= (furthest / SHARP) ** 2:
                back = abs(off) <= FAR * math.sqrt(variance)
                self._off[leg] = (0.0, 0.0) if back else (off, variance)

    def lose(self, legs: list[int]) -> None:
        """Exclude legs that were left out as the estimate was lost, except those that had returned."""
        for leg in legs:
            if self._off.get(leg) != (0.0, 0.0):
                self._jumps.setdefault(leg, 0)

    def jumped(self, fused: FusedPose, state: LegState, out: list[int]) -> None:
        """Record legs that jumped against an estimate that used them."""
        for leg, (change, variance) in self._distances(fused, state, [leg for leg in out if leg in self._jumps]):
            before, uncertain = self._off.get(leg, (math.nan, math.nan))
            sharp = variance <= (change / SHARP) ** 2
            self._count(leg, change, sharp and abs(before + change) <= FAR * math.sqrt(uncertain + variance))

    def moved(self, changes: Array) -> None:
        """Take note of how readings (6,) changed from some that no pose fits [m]."""
        for leg in self.legs:
            before, _ = self._off.get(leg, (math.nan, 0.0))
            self._count(leg, changes[leg], abs(before + changes[leg]) * SHARP <= abs(before))

    def _count(self, leg: int, change: float, back: bool) -> None:
        """Count a jump that is one beside how far a leg was off; clear a leg that came back, or jumps to and fro."""
        least = max(FAR * self.noise[leg], abs(self._off.get(leg, (0.0, 0.0))[0]) / SHARP)
        self._jumps[leg] += abs(change) > least
        if back or self._jumps[leg] >= WILD:
            del self._jumps[leg]
            self._off.pop(leg, None)

    def _distances(self, fused: FusedPose, state: LegState, legs: list[int]) -> list[tuple[int, tuple[float, float]]]:
        """Return how far readings of legs are from what is expected of them [m], and the variances of that."""
        if not legs:
            return []
        pose, ages = fused.pose, np.zeros(LEGS) if state.ages is None else state.ages
        try:
            expected, slopes = self._platform.motor_positions(pose), self._platform.jacobian(pose, "aligned")
        except StewartError:  # no angle is expected of a leg that does not reach
            return []
        past = (ages[:LEGS] + fused.delays[:LEGS]) * (slopes @ fused.twist)
        off = np.clip(state.lengths[:LEGS], -LARGEST, LARGEST) - expected + past
        variances = self.noise**2 + np.einsum("ij,jk,ik->i", slopes, fused.covariance, slopes)
        return [(leg, (float(off[leg]), float(variances[leg]))) for leg in legs if np.isfinite(state.lengths[leg])]


# Times of the last readings of sensors, and readings from before there is an estimate.

SILENT = 100_000_000
"""A sensor of which nothing has come for so long, and for three of its periods, is reported as silent [ns]."""
LONGEST_START = 1_000_000_000
"""Largest difference of the times of the first lengths [ns]."""


class SensorTimes:
    """Time of the last reading of each sensor, and the time up to which all have been read.

    Parameters
    ----------
    names : sequence of str
        Of the sensors in messages, legs first.

    Attributes
    ----------
    since : int or None
        Time that the estimate has come to [ns].
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._heard, self._periods = np.zeros((2, len(names)), dtype=np.int64)
        self._known = np.full(len(names), np.nan)
        self.since: int | None = None
        self._behind = 0  # states in a row that were too late

    def forget_readings(self) -> None:
        """Forget all readings: an estimate begins from those that come from now on."""
        self._known = np.full(len(self._names), np.nan)

    def check(self, stamp: int) -> int:
        """Raise MessageError for a state that is too late, older than what was answered by more than `LATEST`.

        As many in a row as settle an estimate mean another time: then return by how much it went back [ns], else 0.
        """
        behind = 0 if self.since is None else self.since - stamp
        if behind <= LATEST:
            self._behind = 0
            return 0
        self._behind += 1
        if self._behind < BELIEVED_AFTER:
            raise MessageError("too late", f"lengths of {behind * 1e-9:.3g} s before those that were answered last")
        return behind

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

    def missing(self) -> list[str]:
        """Return names of the legs of which nothing is known."""
        return [self._names[leg] for leg in np.flatnonzero(~np.isfinite(self._known[:LEGS]))]

    def silent(self) -> list[str]:
        """Return names of the sensors that nothing has come of for a while."""
        if self.since is None:
            return []
        quiet = self.since - self._heard > np.maximum(SILENT, 3 * self._periods)
        return [self._names[place] for place in np.flatnonzero(quiet)]


@dataclass(eq=False)
class InertialReadings:
    """Readings of an IMU that wait for lengths of a later time.

    Attributes
    ----------
    waiting : list of (int, ndarray, ndarray)
        Time [ns], angular velocity and specific force, by time.
    late : int
        How many came after lengths of a later time, and were not used.
    used : int
        How many were.
    """

    waiting: list[tuple[int, Array, Array]] = field(default_factory=list)
    late: int = 0
    used: int = 0

    def take(self, stamp: int, gyroscope: Array, accelerometer: Array, since: int | None) -> None:
        """Keep a reading of a time [ns], unless lengths have been answered ``since`` then."""
        if since is not None and stamp < since:
            self.late += 1
            return
        insort(self.waiting, (stamp, gyroscope, accelerometer), key=lambda one: one[0])
        del self.waiting[READINGS_KEPT:]  # those of a clock that is ahead go first

    def until(self, stamp: int, since: int) -> list[tuple[int, Array, Array]]:
        """Return the readings up to a time [ns], for they are used now; those before ``since`` come too late."""
        waiting = self.waiting
        self.waiting = [one for one in waiting if one[0] > stamp]
        found = [one for one in waiting[: len(waiting) - len(self.waiting)] if one[0] >= since]
        self.late += len(waiting) - len(self.waiting) - len(found)
        self.used += len(found)
        return found


HELD = 1e-2
"""Standard deviation of a rotation below which an estimate is one to begin from when it was lost [rad]."""


@dataclass(eq=False, slots=True)
class FusedAnswer:
    """The answer to one state: the estimate, its time [ns], and why it is not to be published, None where it is."""

    state: LegState
    time: int
    fused: FusedPose
    refusal: MessageError | None


@dataclass(eq=False)
class _Estimate:
    """An estimate under way, or the search for its first pose."""

    fusion: StewartFusion | None = None  # None until a first pose is found
    readings: NDArray[np.int64] = field(default_factory=lambda: np.zeros(LEGS, dtype=np.int64))  # of each leg
    settled: bool = False  # whether there were enough without a fault
    rounds: int = 0  # states answered
    apart: dict[str, int] = field(default_factory=dict)  # since which of these which sensors disagree
    unfit: Array | None = None  # the last lengths (6,), where no pose fits them


class FusingCore(PoseCore):
    """Fuses what the sensors of one platform read; see `PoseCore`.

    An estimate that is lost begins again from lengths of all legs to which the last good pose leads straight, and is
    published as soon as nothing speaks against `BELIEVED_AFTER` readings of each leg, see `ReacquisitionGate`.

    Parameters
    ----------
    platform, legs, options
        As of `PoseCore`; of the options, noise and start pose count.
    fusion : FusionOptions
    sensors : sequence of DisplacementSensor
        Further ones, read after the legs.

    Attributes
    ----------
    latest : FusedPose or None
        The last estimate, good or not.
    lost, awaits : str
        What is wrong while nothing is published since the estimate was lost, and what is waited for; else empty.
    inertial : InertialReadings
        Those that wait for lengths.
    """

    platform: PointJointed
    tracked: FusedPose | None

    def __init__(
        self,
        platform: PointJointed,
        legs: Sequence[str],
        options: StewartPoseOptions,
        fusion: FusionOptions,
        sensors: Sequence[DisplacementSensor] = (),
    ) -> None:
        super().__init__(platform, legs, options)
        self.fusion_options, self._sensors = fusion, tuple(sensors)
        self._names = (*legs, *(sensor.name for sensor in sensors))
        self._called = {f"leg {k + 1}": leg for k, leg in enumerate(legs)}  # else by the sensor's name
        self.inertial = InertialReadings()
        self.lost = self.awaits = ""
        self.latest: FusedPose | None = None
        self._good: Array | None = None  # pose to begin again from
        self._gate = ReacquisitionGate(platform, options.deviations)
        self.times, self._estimate = SensorTimes(self._names), _Estimate()
        self._prepare()
        self.forget()

    def forget(self) -> None:
        """Forget where the platform is: the next lengths are those of a pose near the start pose."""
        self.tracked = None
        self.lost = self.awaits = ""
        self.latest, self._good = None, self.begins.pose
        self._gate = ReacquisitionGate(self.platform, self.options.deviations)
        self._forget_time()

    def _forget_time(self) -> None:
        """Begin at whatever time is given next."""
        self.times, self._estimate = SensorTimes(self._names), _Estimate()
        self.inertial = InertialReadings(late=self.inertial.late, used=self.inertial.used)

    def _stop(self) -> None:
        """End the estimate: the next one begins from new lengths of all legs."""
        self.times.forget_readings()
        self._estimate = _Estimate()

    def go_on(self) -> None:
        """Go on near here with the options as they are now; changes nothing in place."""
        self._gate = copy.deepcopy(self._gate)
        self._gate.noise = self.options.deviations
        if self.tracked is None:
            self._good = self.begins.pose
        elif not self.lost:
            self._good = self.tracked.pose
        self.tracked = None
        self._forget_time()
        self._fusion_at(np.eye(4) if self._good is None else self._good)

    def _fusion_at(self, pose: Array) -> StewartFusion:
        given = self.fusion_options
        try:
            return StewartFusion(
                self.platform,
                pose,
                leg_noise=self.options.deviations.tolist(),
                jerk=given.jerk,
                inertial=given.inertial,
                sensors=self._sensors,
                leg_delays=np.broadcast_to(given.leg_delays, LEGS).tolist(),
                leg_delay_deviations=np.broadcast_to(given.leg_delay_deviations, LEGS).tolist(),
                leg_resolution=given.leg_resolution if given.leg_resolution >= 0.0 else None,
            )
        except LieDynamicsError as error:
            raise ParameterError(f"the sensors cannot be fused: {error}") from error

    def _prepare(self) -> None:
        """Run once what every message needs, so that nothing is compiled while messages come in."""
        pose = any_pose(self.platform) if self.begins.pose is None else self.begins.pose
        fusion, readings = self._fusion_at(pose), np.full(len(self._names), np.nan)
        readings[:LEGS] = self.platform.motor_positions(pose)
        for _ in range(2):
            fusion.update(readings, dt=1e-3, present=np.isfinite(readings))
        self._tracker_at(pose, known=False).update(readings[:LEGS])

    def take_inertial(self, stamp: int, gyroscope: Array, accelerometer: Array) -> None:
        """Keep a reading of the IMU of a time [ns] for the lengths that come next."""
        self.inertial.take(stamp, gyroscope, accelerometer, self.times.since)

    def answer(self, state: LegState) -> FusedAnswer:
        """Take in the lengths of a state, and what the IMU read up to then.

        Raises
        ------
        WaitingError
            Nothing is known yet of some legs.
        MessageError
            No pose near the start fits the first lengths, or these are older than `LATEST`.
        """
        present = np.ones(len(self._names), dtype=bool) if state.present is None else state.present
        back = self.times.check(state.stamp)
        if back:
            self._forget_time()
            if self.latest is not None:
                self.lost = f"time went back by {back * 1e-9:.3g} s"
        if self._estimate.fusion is None:
            return self._begin(state, present)
        try:
            self._use_inertial(state.stamp)
            self.times.note(state, present)
            fused = self._step(state.stamp, state.lengths, present, 0.0 if state.ages is None else state.ages)
        except LieDynamicsError as error:
            return self._begin_again(state, present, str(error))
        self.latest, estimate = fused, self._estimate
        out = [leg for leg in range(LEGS) if f"leg {leg + 1}" in fused.left_out]
        estimate.rounds += 1
        disagree = [name for name, fault in fused.left_out.items() if fault.reason == DISAGREES]
        estimate.apart = {name: estimate.apart.get(name, estimate.rounds) for name in disagree}
        apart = [leg for leg in out if f"leg {leg + 1}" in estimate.apart]
        if self.lost and (out or fused.disturbed or fused.lost):
            self._gate.jumped(fused, state, apart)
            return self._begin_again(state, present, f"new faults: {self.faults(fused) or 'a jump of the platform'}")
        estimate.readings += present[:LEGS]
        estimate.settled |= not out and bool(estimate.readings.min() >= BELIEVED_AFTER)
        if not self.lost:
            self._gate.watch(fused, state, apart)
        if not fused.lost:
            return self._answer(state, fused)
        if not fused.left_out:  # a pause: nothing is known of the motion meanwhile
            self._stop()
            return self._begin(state, present)
        together = sum(estimate.rounds - since < BELIEVED_AFTER for since in estimate.apart.values()) >= TOGETHER
        if estimate.settled:  # before that, it is not known which are wrong
            old = [leg for leg in apart if estimate.rounds - estimate.apart[f"leg {leg + 1}"] >= BELIEVED_AFTER]
            self._gate.lose(old if together else apart)
        return self._begin_again(state, present, f"left out: {self.faults(fused)}")

    def _use_inertial(self, stamp: int) -> None:
        """Take in what the IMU read up to a time [ns]."""
        assert self.times.since is not None
        nothing = np.full(len(self._names), np.nan)
        for time, gyroscope, accelerometer in self.inertial.until(stamp, self.times.since):
            self._step(time, nothing, np.isfinite(nothing), 0.0, gyroscope, accelerometer)

    def _begin_again(self, state: LegState, present: Any, reason: str) -> FusedAnswer:
        """Begin a new estimate after one that was lost, with this state where it can be."""
        self.lost = reason
        self._stop()
        return self._begin(state, present)

    def _begin(self, state: LegState, present: Any) -> FusedAnswer:
        """Start from lengths of all legs."""
        try:
            fused = self._first(state, present)
        except (MessageError, WaitingError) as error:
            if self.latest is None or (isinstance(error, WaitingError) and not self.lost):
                raise
            self.lost = self.lost or "nothing fits since a pause"
            self.times.since = max(state.stamp, self.times.since or 0)
            return self._refused(state, self.latest, str(error))
        self.times.since, self.latest = state.stamp, fused
        self._estimate.readings += 1
        return self._answer(state, fused)

    def _first(self, state: LegState, present: Any) -> FusedPose:
        """Return the first estimate of the lengths of all legs."""
        known, ages = self.times.gather(state, present)
        missing, estimate = self.awaited(), self._estimate
        if missing and np.isfinite(state.lengths[present]).all():
            raise WaitingError(f"no length of {', '.join(missing)} yet")
        if missing:
            raise MessageError("not finite", f"all legs are needed for the start; no length of {', '.join(missing)}")
        lengths, there = known[:LEGS], np.isfinite(known)
        within = np.clip(lengths, -LARGEST, LARGEST)
        if estimate.unfit is not None:
            self._gate.moved(within - estimate.unfit)
        estimate.unfit = within
        try:
            fusion = self._fusion_at(self._place(lengths))
            fused = fusion.update(known, dt=0.0, present=there, age=ages)
        except LieDynamicsError as error:
            raise MessageError("no such pose", str(error)) from error
        estimate.fusion, estimate.unfit = fusion, None
        return fused

    def _place(self, lengths: Array) -> Array:
        """Return the pose to which lengths (6,) lead straight from the last good one, or from the start."""
        if self._good is None:
            return level_pose(self.platform, lengths)
        tracked = self._tracker_at(self._good, known=False).update(lengths)
        if not tracked.valid:
            remedy = " from the last good pose: ~/reset begins at the start pose" if self.lost else ""
            raise MessageError(KINDS[tracked.status], self.describe(tracked) + remedy)
        return tracked.pose

    def awaited(self) -> list[str]:
        """Return names of the legs without which it does not start."""
        return [] if self._estimate.fusion is not None else self.times.missing()

    def _step(self, stamp: int, lengths: Array, present: Any, ages: float | Array, *inertial: Array) -> FusedPose:
        fusion, times = self._estimate.fusion, self.times
        assert fusion is not None and times.since is not None
        passed = (stamp - times.since) * 1e-9
        times.since = max(stamp, times.since)
        age = ages + max(0.0, -passed)
        return fusion.update(lengths, *inertial, dt=max(0.0, passed), present=present, age=age)

    def _answer(self, state: LegState, fused: FusedPose) -> FusedAnswer:
        """Return what is to be published of an estimate that holds the platform, as far as it is accepted."""
        estimate = self._estimate
        if self.lost and (not estimate.settled or self._gate.legs):
            suspects = ", ".join(self.legs[leg] for leg in self._gate.legs)
            return self._refused(
                state,
                fused,
                f"{suspects} was off, and has not jumped back since: ~/reset when it is right"
                if estimate.settled
                else f"all legs agree for {estimate.readings.min()} of {BELIEVED_AFTER} readings",
            )
        self.lost = self.awaits = ""
        self.tracked = fused
        if estimate.settled and np.diagonal(fused.covariance)[:3].max() < HELD**2:
            self._good = fused.pose
        return FusedAnswer(state, self.times.since or state.stamp, fused, None)

    def _refused(self, state: LegState, fused: FusedPose, why: str) -> FusedAnswer:
        """Return an answer that is not to be published since the estimate was lost."""
        self.awaits = why
        error = MessageError("lost", f"{self.lost}; now {why}")
        return FusedAnswer(state, self.times.since or state.stamp, fused, error)

    def faults(self, fused: FusedPose) -> str:
        """Say which sensors are left out, and why; empty where none is."""
        told = {self._called.get(sensor, sensor): fault.reason for sensor, fault in fused.left_out.items()}
        told |= dict.fromkeys(self.times.silent(), "silent")
        return ", ".join(f"{sensor} ({reason})" for sensor, reason in told.items())
