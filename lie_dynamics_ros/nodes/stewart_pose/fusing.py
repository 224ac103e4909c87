"""Core of the node stewart_pose with `fusion`: one estimate of legs and IMU, faulty ones left out."""

from __future__ import annotations

import copy
import math
from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.errors import MessageError, ParameterError, WaitingError
from ...core.leg_state import LEGS, LegState
from ...core.poses import numbers_to_matrix
from ...core.tracking import KINDS
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.stewart import (
    DisplacementSensor,
    FusedPose,
    InertialSensor,
    StewartError,
    StewartFusion,
    StewartPlatform,
    level_home,
)
from ...lie_dynamics.stewart.fusion.estimator import LARGEST
from ...lie_dynamics.stewart.fusion.result import DISAGREES
from ...lie_dynamics.stewart.geometry.any_platform import PointJointed
from .core import StewartPoseCore, StewartPoseOptions

# Legs are not accepted merely because they agree again with an estimate that has become vague meanwhile.

BELIEVED_AFTER = 20
"""Readings of each leg without a fault after which an estimate that was lost is accepted."""
TOGETHER = 3
"""So many sensors that disagree at once speak against the motion, or against all, and against none of them."""
WILD = 3
"""A leg that jumped so often while it was suspected is no longer off by something that stays."""
SHARP, FAR = 10.0, 5.0
"""Standard deviations: of how far a leg is off to be recorded, and of a jump back to fit that."""


class Suspects:
    """Deviations of legs that disagree, and those excluded since the estimate was lost.

    Six lengths alone fit a pose, right or wrong. So a leg that was off by something that stays, as after a slip, would
    be believed as soon as nothing speaks against it any more. It is suspected until it jumps back by as much as it was
    off, or has jumped so often that it was off by nothing that stays.

    Parameters
    ----------
    platform : StewartPlatform or RotaryPlatform
    noise : ndarray, shape (6,)
        Standard deviations of the lengths or angles [m, rad]; may change.
    """

    def __init__(self, platform: PointJointed, noise: Array) -> None:
        self._platform, self.noise = platform, noise
        self._off: dict[int, tuple[float, float]] = {}  # how far a leg is off [m], and the variance of that
        self._jumps: dict[int, int] = {}  # of each suspect

    @property
    def legs(self) -> tuple[int, ...]:
        """Indices of the legs that are suspected."""
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
        """Suspect legs that were left out as the estimate was lost, but for those that were off no more."""
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


# When sensors were heard, and what they read before there is an estimate.

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


# Options, from parameters of the node.

@dataclass(frozen=True)
class FusionOptions:
    """Options of the fusion; see the parameters of the node."""

    jerk: tuple[float, float]
    delays: tuple[float, ...]
    delay_deviations: tuple[float, ...]
    resolution: float | None
    inertial: InertialSensor | None

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> FusionOptions:
        """Make options of parameter values; raises ParameterError where they make no sense."""
        for name, sizes in (("jerk", (2,)), ("leg_delays", (1, LEGS)), ("leg_delay_deviations", (1, LEGS))):
            if len(values[name]) not in sizes:
                raise ParameterError(f"{name} has {len(values[name])} numbers; expected {' or '.join(map(str, sizes))}")
        inertial = None
        if values["use_imu"]:
            place = tuple(values["imu_pose"])
            if place != (0.0,) and len(place) != 7:
                raise ParameterError(
                    f"imu_pose has {len(place)} numbers; expected 7, or [0.0] for the platform's frame"
                )
            try:
                pose = np.eye(4) if len(place) != 7 else numbers_to_matrix(place)
            except MessageError as error:
                raise ParameterError(f"imu_pose: {error}") from error
            inertial = InertialSensor(
                gyroscope_noise=values["gyroscope_noise"],
                accelerometer_noise=values["accelerometer_noise"],
                pose=pose,
                delay=values["imu_delay"],
                delay_deviation=values["imu_delay_deviation"],
                gyroscope_bias=values["gyroscope_bias_deviation"],
                accelerometer_bias=values["accelerometer_bias_deviation"],
                gyroscope_scale=values["gyroscope_scale_deviation"],
                accelerometer_scale=values["accelerometer_scale_deviation"],
                alignment=values["imu_alignment_deviation"],
            )
        return cls(
            jerk=(values["jerk"][0], values["jerk"][1]),
            delays=tuple(values["leg_delays"]),
            delay_deviations=tuple(values["leg_delay_deviations"]),
            resolution=values["leg_resolution"] if values["leg_resolution"] >= 0.0 else None,
            inertial=inertial,
        )


LATEST = 50_000_000
"""How much older than what was answered before lengths may be [ns]."""
READINGS_KEPT = 1000
"""Readings of the IMU that wait for lengths, at most."""
HELD = 1e-2
"""Standard deviation of a rotation below which an estimate is one to begin from when it was lost [rad]."""


@dataclass(eq=False, slots=True)
class FusedAnswer:
    """The answer to one state: the estimate, its time [ns], and why it is not to be published, None where it is."""

    state: LegState
    time: int
    fused: FusedPose
    refusal: MessageError | None


class FusingCore(StewartPoseCore):
    """Fuses what the sensors of one platform read; `tracked` is the last good estimate, `last` stays None.

    An estimate that is lost begins again from lengths of all legs to which the last good pose leads straight, and is
    published as soon as nothing speaks against `BELIEVED_AFTER` readings of each leg, see `Suspects`.

    Parameters
    ----------
    platform, legs, options
        As of `StewartPoseCore`; of the options, noise and start pose count.
    fusion : FusionOptions
    sensors : sequence of DisplacementSensor
        Further ones, read after the legs.

    Attributes
    ----------
    latest : FusedPose or None
        The last estimate, good or not.
    lost : str
        What is wrong while nothing is published since the estimate was lost; else empty.
    late : int
        Readings of the IMU that came after lengths of a later time, and were not used.
    used : int
        Those that were.
    """

    platform: PointJointed

    def __init__(
        self,
        platform: PointJointed,
        legs: Sequence[str],
        options: StewartPoseOptions,
        fusion: FusionOptions,
        sensors: Sequence[DisplacementSensor] = (),
    ) -> None:
        self.fusion_options, self.late, self.used = fusion, 0, 0
        self._sensors, self._count = tuple(sensors), LEGS + len(sensors)
        super().__init__(platform, legs, options)

    def forget(self) -> None:
        """Forget where the platform is: the next lengths are those of a pose near the start pose."""
        super().forget()
        self.lost, self.latest, self._good = "", None, self.start_pose
        self._suspects = Suspects(self.platform, self._noise())
        self._forget_time()

    def _forget_time(self) -> None:
        """Begin at whatever time is given next."""
        self._since, self._behind = None, 0
        self._heard = SensorTimes(self._count)
        self._inertial: list[tuple[int, Array, Array]] = []
        self._stop()

    def _stop(self) -> None:
        """End the estimate: the next one begins from new lengths of all legs."""
        self._heard.forget_readings()
        self._readings, self._settled = np.zeros(LEGS, dtype=np.int64), False  # of each leg since the estimate began
        self._rounds, self._apart = 0, dict[str, int]()  # which sensors disagree, and since which round
        self._unfit: Array | None = None  # the last lengths, where no pose fits them
        self._fusion: StewartFusion | None = None

    def with_options(self, options: StewartPoseOptions) -> FusingCore:
        """Return a core that goes on near where this one is with other options, and leave this one as it was."""
        other = copy.copy(self)
        other.options, other.tracked = options, None
        other._suspects = copy.deepcopy(self._suspects)
        other._suspects.noise = other._noise()
        if self.tracked is None:
            other._good = other.start_pose
        elif not self.lost:
            other._good = self.tracked.pose
        other._forget_time()
        other._fusion_at(np.eye(4) if other._good is None else other._good)
        return other

    def _noise(self) -> Array:
        return np.broadcast_to(self.options.leg_noise, LEGS)

    def _fusion_at(self, pose: Array) -> StewartFusion:
        given = self.fusion_options
        try:
            return StewartFusion(
                self.platform,
                pose,
                leg_noise=self._noise().tolist(),
                jerk=given.jerk,
                inertial=given.inertial,
                sensors=self._sensors,
                leg_delays=np.broadcast_to(given.delays, LEGS).tolist(),
                leg_delay_deviations=np.broadcast_to(given.delay_deviations, LEGS).tolist(),
                leg_resolution=given.resolution,
            )
        except LieDynamicsError as error:
            raise ParameterError(f"the sensors cannot be fused: {error}") from error

    def _prepare(self) -> None:
        """Run once what every message needs, so that nothing is compiled while messages come in."""
        pose = self.start_pose
        if pose is None:
            points = np.concatenate((self.platform.base_points, self.platform.platform_points))
            assert isinstance(self.platform, StewartPlatform)
            pose = level_home(self.platform, np.full(LEGS, 3.0 * np.linalg.norm(np.ptp(points, axis=0))))
        fusion, readings = self._fusion_at(pose), np.full(self._count, np.nan)
        readings[:LEGS] = self.platform.motor_positions(pose)
        for _ in range(2):
            fusion.update(readings, dt=1e-3, present=np.isfinite(readings))

    def take_inertial(self, stamp: int, gyroscope: Array, accelerometer: Array) -> None:
        """Keep a reading of the IMU of a time [ns] for the lengths that come next."""
        if self._since is not None and stamp < self._since:
            self.late += 1
            return
        insort(self._inertial, (stamp, gyroscope, accelerometer), key=lambda one: one[0])
        del self._inertial[READINGS_KEPT:]  # those of a clock that is ahead go first

    def answer(self, state: LegState) -> FusedAnswer:
        """Take in the lengths of a state, and what the IMU read up to then.

        Raises
        ------
        WaitingError
            Nothing is known yet of some legs.
        MessageError
            No pose near the start fits the first lengths, or these are older than `LATEST`.
        """
        present = np.ones(self._count, dtype=bool) if state.present is None else state.present
        self._check_time(state.stamp)
        if self._fusion is None:
            return self._begin(state, present)
        try:
            self._use_inertial(state.stamp)
            self._heard.note(state, present)
            fused = self._step(state.stamp, state.lengths, present, 0.0 if state.ages is None else state.ages)
        except LieDynamicsError as error:
            return self._begin_again(state, present, str(error))
        self.latest = fused
        out = [leg for leg in range(LEGS) if f"leg {leg + 1}" in fused.left_out]
        self._rounds += 1
        disagree = [name for name, fault in fused.left_out.items() if fault.reason == DISAGREES]
        self._apart = {name: self._apart.get(name, self._rounds) for name in disagree}
        apart = [leg for leg in out if f"leg {leg + 1}" in self._apart]
        if self.lost and (out or fused.disturbed or fused.lost):
            self._suspects.jumped(fused, state, apart)
            return self._begin_again(state, present, f"new faults: {self.faults(fused) or 'a jump of the platform'}")
        self._readings += present[:LEGS]
        self._settled |= not out and bool(self._readings.min() >= BELIEVED_AFTER)
        if not self.lost:
            self._suspects.watch(fused, state, apart)
        if not fused.lost:
            return self._answer(state, fused)
        if not fused.left_out:  # a pause: nothing told of the motion meanwhile
            self._stop()
            return self._begin(state, present)
        together = sum(self._rounds - since < BELIEVED_AFTER for since in self._apart.values()) >= TOGETHER
        if self._settled:  # before that, it is not known which are wrong
            old = [leg for leg in apart if self._rounds - self._apart[f"leg {leg + 1}"] >= BELIEVED_AFTER]
            self._suspects.lose(old if together else apart)
        return self._begin_again(state, present, f"left out: {self.faults(fused)}")

    def _check_time(self, stamp: int) -> None:
        """Raise MessageError where lengths are too old; as many in a row as settle an estimate mean another time."""
        behind = 0 if self._since is None else self._since - stamp
        if behind <= LATEST:
            self._behind = 0
            return
        self._behind += 1
        if self._behind < BELIEVED_AFTER:
            raise MessageError("too late", f"lengths of {behind * 1e-9:.3g} s before those that were answered last")
        self._forget_time()
        if self.latest is not None:
            self.lost = f"time went back by {behind * 1e-9:.3g} s"

    def _use_inertial(self, stamp: int) -> None:
        """Take in what the IMU read up to a time [ns]."""
        assert self._since is not None
        nothing, waiting = np.full(self._count, np.nan), self._inertial
        self._inertial = [one for one in waiting if one[0] > stamp]
        for time, gyroscope, accelerometer in waiting[: len(waiting) - len(self._inertial)]:
            if time < self._since:
                self.late += 1
            else:
                self.used += 1
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
            self._since = max(state.stamp, self._since or 0)
            return self._refused(state, self.latest, str(error))
        self._since, self.latest = state.stamp, fused
        self._readings += 1
        return self._answer(state, fused)

    def _first(self, state: LegState, present: Any) -> FusedPose:
        """Return the first estimate of the lengths of all legs."""
        known, ages = self._heard.gather(state, present)
        missing = self.awaited()
        if missing and np.isfinite(state.lengths[present]).all():
            raise WaitingError(f"no length of {', '.join(missing)} yet")
        if missing:
            raise MessageError("not finite", f"all legs are needed for the start; no length of {', '.join(missing)}")
        lengths, there = known[:LEGS], np.isfinite(known)
        within = np.clip(lengths, -LARGEST, LARGEST)
        if self._unfit is not None:
            self._suspects.moved(within - self._unfit)
        self._unfit = within
        try:
            fusion = self._fusion_at(self._place(lengths))
            fused = fusion.update(known, dt=0.0, present=there, age=ages)
        except LieDynamicsError as error:
            raise MessageError("no such pose", str(error)) from error
        self._fusion, self._unfit = fusion, None
        return fused

    def _place(self, lengths: Array) -> Array:
        """Return the pose to which lengths (6,) lead straight from the last good one, or from the start."""
        if self._good is None:
            assert isinstance(self.platform, StewartPlatform)
            try:
                return level_home(self.platform, lengths)
            except LieDynamicsError as error:
                raise MessageError("no such pose", f"no level pose fits the leg lengths: {error}") from error
        tracked = self._tracker_at(self._good, known=False).update(lengths)
        if not tracked.valid:
            raise MessageError(KINDS[tracked.status], self.describe(tracked))
        return tracked.pose

    def awaited(self) -> list[str]:
        """Return names of the legs without which it does not start."""
        return [] if self._fusion is not None else [self.legs[leg] for leg in self._heard.missing()]

    def silent(self) -> list[str]:
        """Return names of sensors that nothing has come of for a while."""
        quiet = [] if self._since is None else self._heard.silent(self._since)
        return [self.name(self._names()[place]) for place in quiet]

    def _names(self) -> list[str]:
        return [*(f"leg {k}" for k in range(1, LEGS + 1)), *(sensor.name for sensor in self._sensors)]

    def _step(self, stamp: int, lengths: Array, present: Any, ages: float | Array, *inertial: Array) -> FusedPose:
        assert self._fusion is not None and self._since is not None
        passed = (stamp - self._since) * 1e-9
        self._since = max(stamp, self._since)
        age = ages + max(0.0, -passed)
        return self._fusion.update(lengths, *inertial, dt=max(0.0, passed), present=present, age=age)

    def _answer(self, state: LegState, fused: FusedPose) -> FusedAnswer:
        """Return what is to be published of an estimate that holds the platform, as far as it is accepted."""
        if self.lost and (not self._settled or self._suspects.legs):
            suspects = ", ".join(self.legs[leg] for leg in self._suspects.legs)
            return self._refused(
                state,
                fused,
                f"{suspects} was off, and has not jumped back since: ~/reset when it is right"
                if self._settled
                else f"all legs agree for {self._readings.min()} of {BELIEVED_AFTER} readings",
            )
        self.lost, self.tracked = "", fused
        if self._settled and np.diagonal(fused.covariance)[:3].max() < HELD**2:
            self._good = fused.pose
        return FusedAnswer(state, self._since or state.stamp, fused, None)

    def _refused(self, state: LegState, fused: FusedPose, why: str) -> FusedAnswer:
        """Return an answer that is not to be published since the estimate was lost."""
        return FusedAnswer(state, self._since or state.stamp, fused, MessageError("lost", f"{self.lost}; now {why}"))

    def name(self, sensor: str) -> str:
        """Return the name of a sensor in messages."""
        return self.legs[int(sensor[4:]) - 1] if sensor.startswith("leg ") else sensor

    def faults(self, fused: FusedPose) -> str:
        """Say which sensors are left out, and why; empty where none is."""
        told = {self.name(sensor): fault.reason for sensor, fault in fused.left_out.items()}
        told |= dict.fromkeys(self.silent(), "silent")
        return ", ".join(f"{sensor} ({reason})" for sensor, reason in told.items())
