"""What the node stewart_pose computes with `fusion`: one estimate of legs and IMU, faulty ones left out."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.errors import MessageError, ParameterError, WaitingError
from ...core.leg_state import LEGS, LegState
from ...core.poses import numbers_to_matrix
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.stewart import (
    DisplacementSensor,
    FusedPose,
    InertialSensor,
    StewartFusion,
    StewartPlatform,
    level_home,
)
from .core import StewartPoseCore, StewartPoseOptions

LATEST = 50_000_000
"""How much older than what was answered before lengths may be [ns]."""
READINGS_KEPT = 1000
"""Readings of the IMU that wait for lengths, at most."""
SILENT = 100_000_000
"""A sensor of which nothing has come for so long, and for three of its periods, is told to be silent [ns]."""
LONGEST_START = 1_000_000_000
"""Largest difference of the times of the first lengths [ns]."""


@dataclass(frozen=True)
class FusionOptions:
    """How sensors are fused; see the parameters of the node."""

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
            )
        return cls(
            jerk=(values["jerk"][0], values["jerk"][1]),
            delays=tuple(values["leg_delays"]),
            delay_deviations=tuple(values["leg_delay_deviations"]),
            resolution=values["leg_resolution"] if values["leg_resolution"] >= 0.0 else None,
            inertial=inertial,
        )


@dataclass(eq=False, slots=True)
class FusedAnswer:
    """The answer to one state: the estimate, its time [ns], and why it is not to be published, None where it is."""

    state: LegState
    time: int
    fused: FusedPose
    refusal: MessageError | None


class FusingCore(StewartPoseCore):
    """Fuses what the sensors of one platform read; `tracked` is the last estimate, `last` stays None.

    Parameters
    ----------
    platform, legs, options
        As of `StewartPoseCore`; of the options, noise and start pose count.
    fusion : FusionOptions
    sensors : sequence of DisplacementSensor
        Further ones, read after the legs.

    Attributes
    ----------
    late : int
        Readings of the IMU that came after lengths of a later time, and were not used.
    used : int
        Those that were.
    """

    def __init__(
        self,
        platform: StewartPlatform,
        legs: Sequence[str],
        options: StewartPoseOptions,
        fusion: FusionOptions,
        sensors: Sequence[DisplacementSensor] = (),
    ) -> None:
        self.fusion_options, self.late, self.used = fusion, 0, 0
        self._sensors, self._count = tuple(sensors), LEGS + len(sensors)
        self._here: Array | None = None
        super().__init__(platform, legs, options)

    def forget(self) -> None:
        """Forget where the platform is: the next lengths are those of a pose near the start pose."""
        super().forget()
        self._tracker = None
        self._known, self._heard = np.full(self._count, np.nan), np.zeros(self._count, dtype=np.int64)
        self._periods = np.zeros(self._count, dtype=np.int64)
        self._inertial: deque[tuple[int, Array, Array]] = deque(maxlen=READINGS_KEPT)
        self._good = pose = self.start_pose if self._here is None else self._here
        self._fusion = None if pose is None else self._fusion_at(pose)

    def start(self) -> None:
        """Begin afresh at the start pose."""
        self._here = None
        super().start()

    def with_options(self, options: StewartPoseOptions) -> FusingCore:
        """Return a core that goes on near where this one is with other options, and leave this one as it was."""
        other = copy.copy(self)
        other.options = options
        other._here = None if self.tracked is None else self.tracked.pose
        other.forget()
        other._here = None
        return other

    def _fusion_at(self, pose: Array) -> StewartFusion:
        noise, given = np.broadcast_to(self.options.leg_noise, LEGS), self.fusion_options
        try:
            return StewartFusion(
                self.platform,
                pose,
                leg_noise=noise.tolist(),
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
            pose = level_home(self.platform, np.full(LEGS, 3.0 * np.linalg.norm(np.ptp(points, axis=0))))
        fusion, readings = self._fusion_at(pose), np.full(self._count, np.nan)
        readings[:LEGS] = self.platform.leg_lengths(pose)
        for _ in range(2):
            fusion.update(readings, dt=1e-3, present=np.isfinite(readings))

    def take_inertial(self, stamp: int, gyroscope: Array, accelerometer: Array) -> None:
        """Keep a reading of the IMU of a time [ns] for the lengths that come next."""
        if self._since is not None and stamp < self._since:
            self.late += 1
            return
        self._inertial.append((stamp, gyroscope, accelerometer))

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
        if self._fusion is None or self._since is None:
            return self._begin(state, present)
        if state.stamp < self._since - LATEST:
            late = (self._since - state.stamp) * 1e-9
            raise MessageError("too late", f"lengths of {late:.3g} s before those that were answered last")
        waiting, self._inertial = sorted(self._inertial, key=lambda one: one[0]), deque(maxlen=READINGS_KEPT)
        for stamp, gyroscope, accelerometer in waiting:
            if stamp < self._since:
                self.late += 1
            elif stamp <= state.stamp:
                self.used += 1
                nothing = np.full(self._count, np.nan)
                self._step(stamp, nothing, np.isfinite(nothing), 0.0, gyroscope, accelerometer)
            else:
                self._inertial.append((stamp, gyroscope, accelerometer))
        self._note(state, present)
        fused = self._step(state.stamp, state.lengths, present, 0.0 if state.ages is None else state.ages)
        if fused.lost and not fused.left_out and present[:LEGS].all():
            # A pause: nothing told of the motion meanwhile, and all legs are good.
            fused = self._first_of(self._fusion, self._good, state.lengths, state.ages)
        return self._answer(state, fused)

    def _begin(self, state: LegState, present: Any) -> FusedAnswer:
        """Start from the first lengths of all legs."""
        self._known[present] = state.lengths[present]
        self._note(state, present)
        self._known[state.stamp - self._heard > LONGEST_START] = np.nan
        missing = self.awaited()
        if missing and np.isfinite(state.lengths[present]).all():
            raise WaitingError(f"no length of {', '.join(missing)} yet")
        if missing:
            raise MessageError("not finite", f"all legs are needed for the start; no length of {', '.join(missing)}")
        if self._fusion is None:
            try:
                self._fusion = self._fusion_at(level_home(self.platform, self._known[:LEGS]))
            except LieDynamicsError as error:
                raise MessageError("no such pose", f"no level pose fits the leg lengths: {error}") from error
        ages = np.maximum(1e-9 * (state.stamp - self._heard), 0.0)
        fused = self._first_of(self._fusion, None, self._known, ages)
        self._since = state.stamp
        return self._answer(state, fused)

    def _first_of(self, fusion: StewartFusion, pose: Array | None, lengths: Array, ages: Array | None) -> FusedPose:
        """Return the estimate of lengths that begin afresh, near a pose where one is given."""
        try:
            if pose is not None:
                fusion.reset(pose)
            there = np.isfinite(lengths)
            return fusion.update(
                lengths, dt=0.0, present=there, age=0.0 if ages is None else np.where(there, ages, 0.0)
            )
        except LieDynamicsError as error:
            raise MessageError("no such pose", str(error)) from error

    def _note(self, state: LegState, present: Any) -> None:
        """Take note of when each sensor was heard."""
        stamps = (
            state.stamp - np.int64(0) if state.ages is None else state.stamp - np.rint(1e9 * state.ages).astype(int)
        )
        self._periods = np.where(present & (self._heard > 0), stamps - self._heard, self._periods)
        self._heard = np.where(present, stamps, self._heard)

    def awaited(self) -> list[str]:
        """Return names of the legs without which it does not start."""
        known = np.isfinite(self._known[:LEGS]) | (self._since is not None)
        return [leg for leg, one in zip(self.legs, known, strict=True) if not one]

    def silent(self) -> list[str]:
        """Return names of sensors that nothing has come of for a while."""
        since = (self._since or 0) - self._heard
        quiet = (since > np.maximum(SILENT, 3 * self._periods)) & (self._since is not None)
        return [self.name(name) for name, one in zip(self._names(), quiet, strict=True) if one]

    def _names(self) -> list[str]:
        return [*(f"leg {k}" for k in range(1, LEGS + 1)), *(sensor.name for sensor in self._sensors)]

    def _step(self, stamp: int, lengths: Array, present: Any, ages: float | Array, *inertial: Array) -> FusedPose:
        assert self._fusion is not None and self._since is not None
        passed = (stamp - self._since) * 1e-9
        self._since = max(stamp, self._since)
        age = ages + max(0.0, -passed)
        return self._fusion.update(lengths, *inertial, dt=max(0.0, passed), present=present, age=age)

    def _answer(self, state: LegState, fused: FusedPose) -> FusedAnswer:
        self.tracked = fused
        refusal = None
        if not fused.lost:
            self._good = fused.pose
        else:
            refusal = MessageError(
                "lost", f"too few sensors agree to hold the platform; left out: {self.faults(fused)}"
            )
        return FusedAnswer(state, self._since or state.stamp, fused, refusal)

    def name(self, sensor: str) -> str:
        """Return the name of a sensor in messages."""
        return self.legs[int(sensor[4:]) - 1] if sensor.startswith("leg ") else sensor

    def faults(self, fused: FusedPose) -> str:
        """Say which sensors are left out, and why; empty where none is."""
        told = {self.name(sensor): fault.reason for sensor, fault in fused.left_out.items()}
        told |= dict.fromkeys(self.silent(), "silent")
        return ", ".join(f"{sensor} ({reason})" for sensor, reason in told.items())
