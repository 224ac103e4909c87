"""Core of the node stewart_pose: leg lengths in, the pose and what is known of it out."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import KINDS, PUBLISH, WITHHOLD, MessageError, ParameterError
from ...core.frames import numbers_to_matrix
from ...core.parameters import Parameters, parameter
from ...core.platform import LEGS, LegState
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.arrays import Array, all_finite
from ...lie_dynamics.constraints.tracking.offset_tracker import OffsetTracker, TrackedOffsetPose
from ...lie_dynamics.stewart import (
    OffsetPlatform,
    StewartPlatform,
    StewartTracker,
    TrackedPose,
    TrackingStatus,
    level_home,
)
from ...lie_dynamics.stewart.geometry.any_platform import Platform

if TYPE_CHECKING:
    from typing_extensions import Self


# Trackers, whichever joints the legs have.


FollowedPose = TrackedPose | TrackedOffsetPose
PoseTracker = StewartTracker | OffsetTracker


@dataclass(frozen=True)
class StewartPoseOptions(Parameters):
    """Parameters of the core."""

    start_pose: tuple[float, ...] = parameter(
        [0.0],
        "Pose in which the platform is when tracking starts: x, y, z [m], quaternion x, y, z, w. [0.0] stands for the "
        "home pose of the platform. Counts from the next start or reset on.",
        low=-1000.0, high=1000.0,
    )
    leg_noise: tuple[float, ...] = parameter(
        [1e-5], "Standard deviation of the leg lengths, for the covariance; one for all legs or six [m].", high=1.0
    )
    max_speed: tuple[float, ...] = parameter(
        [0.0],
        "Largest linear [m/s] and angular speed [rad/s] that the platform can have; poses are certified only with it. "
        "[0.0]: not known.",
        "while unconfigured", high=1e6,
    )
    length_error: float = parameter(
        1e-4, "Largest error of a leg length that what is certified allows for [m].", "while unconfigured", high=1.0
    )
    when_ambiguous: str = parameter(
        WITHHOLD,
        "What becomes of a pose whose status is AMBIGUOUS: nothing, or published as any other, flagged on ~/status.",
        choices=(WITHHOLD, PUBLISH),
    )
    max_steps: int = parameter(
        1000, "Proven steps into which one change of the leg lengths may be split, 0.3 us each.", low=1, high=100_000
    )

    def check(self) -> None:
        """Check values; raises ParameterError."""
        super().check()
        if len(self.leg_noise) not in (1, LEGS):
            raise ParameterError(f"leg_noise has {len(self.leg_noise)} numbers; expected one or six")
        start = self.start_pose
        if len(start) == 7:
            try:
                numbers_to_matrix(start)
            except MessageError as error:
                raise ParameterError(f"start_pose: {error}") from error
        elif start != (0.0,):
            raise ParameterError(
                f"start_pose has {len(start)} numbers; expected 7 (x, y, z, quaternion x, y, z, w), "
                "or [0.0] for the home pose of the platform"
            )
        speed = self.max_speed
        if speed != (0.0,) and not (len(speed) == 2 and min(speed) > 0.0):
            raise ParameterError(
                f"max_speed is {list(speed)}; expected the largest linear [m/s] and angular speed [rad/s] of the "
                "platform, or [0.0] where they are not known"
            )

    @property
    def known_speed(self) -> tuple[float, ...] | None:
        """`max_speed` where it is known."""
        return self.max_speed if len(self.max_speed) == 2 else None

    @property
    def deviations(self) -> Array:
        """Standard deviations of the lengths, (6,)."""
        return np.broadcast_to(self.leg_noise, LEGS)


@dataclass(frozen=True, eq=False)
class StartPose:
    """Pose that tracking starts from.

    Attributes
    ----------
    pose : ndarray, shape (4, 4), or None
        None for a level one that fits the first lengths.
    source : str
        Where it comes from.
    assumed : bool
        Whether no start pose of the platform was given.
    """

    pose: Array | None
    source: str
    assumed: bool = False

    @classmethod
    def of(cls, platform: Platform, options: StewartPoseOptions) -> StartPose:
        """Return that of a platform; raises ParameterError where it has to be known, and is not."""
        if len(options.start_pose) == 7:
            return cls(numbers_to_matrix(options.start_pose), "parameter start_pose")
        if platform.home_pose is not None:
            return cls(platform.home_pose, "home pose of the platform")
        if isinstance(platform, OffsetPlatform):
            raise ParameterError(
                "start_pose: no level pose is assumed for legs on offset universal joints, and their platform has no "
                "home_pose; expected 7 numbers (x, y, z, quaternion x, y, z, w), or home_pose in the platform's file"
            )
        return cls(None, "level pose, assumed", assumed=True)


@dataclass(eq=False, slots=True)
class PoseAnswer:
    """The answer to one state.

    Attributes
    ----------
    state : LegState
    tracked : FollowedPose
        What became of its lengths.
    refusal : MessageError or None
        Why the pose is not to be published; None where it is.
    """

    state: LegState
    tracked: FollowedPose
    refusal: MessageError | None


class PoseCore(ABC):
    """Finds the pose of one platform by its sensors.

    Parameters
    ----------
    platform : StewartPlatform, OffsetPlatform or RotaryPlatform
    legs : sequence of str
        Names of the legs, leg by leg, for errors.
    options : StewartPoseOptions

    Attributes
    ----------
    begins : StartPose
        Where tracking starts.
    tracked : FollowedPose, FusedPose or None
        The last good pose; None before the first.

    Raises
    ------
    ParameterError
        For offset joints without a start pose.
    """

    tracked: Any

    def __init__(self, platform: Platform, legs: Sequence[str], options: StewartPoseOptions) -> None:
        self.platform, self.legs, self.tracked = platform, tuple(legs), None
        self.options, self.begins = options, StartPose.of(platform, options)

    def start(self) -> None:
        """Begin afresh: the first lengths are followed from the start pose."""
        self.forget()

    @abstractmethod
    def forget(self) -> None:
        """Forget where the platform is: the next lengths are followed from the start pose."""

    @abstractmethod
    def go_on(self) -> None:
        """Go on with the options as they are now; changes nothing in place. Raises ParameterError."""

    @abstractmethod
    def answer(self, state: LegState) -> Any:
        """Return the answer to a state; raises MessageError where there is none."""

    def with_options(self, options: StewartPoseOptions) -> Self:
        """Return a core that goes on from where this one is with other options, and leave this one as it was.

        A start pose counts from the next start on. Raises ParameterError where tracking cannot start from it.
        """
        other = copy.copy(self)
        other.options, other.begins = options, StartPose.of(self.platform, options)
        other.go_on()
        return other

    def _tracker_at(self, pose: Array, known: bool = True) -> PoseTracker:
        """Tracker at a pose; one that is only assumed certifies nothing."""
        options, speed = self.options, self.options.known_speed if known else None
        own = {"leg_noise": options.deviations, "max_steps": options.max_steps}
        if not isinstance(self.platform, OffsetPlatform):
            return StewartTracker(self.platform, pose, speed, length_error=options.length_error, **own)
        if speed is not None:
            raise ParameterError(
                "max_speed: poses of legs on offset universal joints are not certified by the speed of the platform "
                "alone; expected [0.0], or the node closed_loop with the largest rates of all joints in its max_speed"
            )
        return OffsetTracker(self.platform, pose, **own)

    def describe(self, tracked: FollowedPose) -> str:
        """Say what became of lengths, with the name of the leg where it is one."""
        leg = tracked.leg
        return tracked.message if leg is None else f"{self.legs[leg]}: {tracked.message}"


class StewartPoseCore(PoseCore):
    """Follows one platform through the lengths of its legs; see `PoseCore`.

    Attributes
    ----------
    last : FollowedPose or None
        What became of the last lengths; None before the first.
    contradiction : float
        Largest jump of a length that was out of reach since the start [m, or rad for rotary legs]: from then on lengths
        count as known no better than that, whichever they are.

    Raises
    ------
    ParameterError
        For offset joints with a bound of the speed, too.
    """

    tracked: FollowedPose | None

    def __init__(self, platform: Platform, legs: Sequence[str], options: StewartPoseOptions) -> None:
        super().__init__(platform, legs, options)
        self.last: FollowedPose | None = None
        self._tracker: PoseTracker | None = None
        self._since: int | None = None  # time of the last lengths that were followed [ns]
        self.contradiction = 0.0
        self._prepare()
        self.forget()

    @property
    def refuted(self) -> bool:
        """Whether lengths were out of reach since the last start, so that nothing is certified."""
        return bool(getattr(self._tracker, "refuted", False))

    def forget(self) -> None:
        """Forget where the platform is: the next lengths are followed from the start pose."""
        self.last = self.tracked = None
        self._since, self.contradiction = None, 0.0
        pose = self.begins.pose
        self._tracker = None if pose is None else self._tracker_at(pose)

    def go_on(self) -> None:
        """Go on with the options as they are now; changes nothing in place."""
        options = self.options
        try:
            if len(options.start_pose) == 7:
                self._tracker_at(numbers_to_matrix(options.start_pose), known=False)
        except LieDynamicsError as error:
            raise ParameterError(f"start_pose: {error}") from error
        if self.tracked is None or self._tracker is None:
            self.forget()
        else:
            self._tracker = self._tracker.with_options(leg_noise=self._deviations, max_steps=options.max_steps)

    def _prepare(self) -> None:
        """Run once what every message needs, so that nothing is compiled while messages come in."""
        pose = any_pose(self.platform) if self.begins.pose is None else self.begins.pose
        tracker = self._tracker_at(pose)
        lengths = self.platform.motor_positions(pose)
        for rates in (None, np.zeros(LEGS)):
            tracked = tracker.update(lengths, rates, dt=1e-3)
        _ = tracked.covariance
        tracked.time_to_singularity()
        if self.options.known_speed is not None:  # the slow way, too
            moved = pose.copy()
            moved[2, 3] += 2e-3 * self.options.max_speed[0]
            tracker.update(self.platform.motor_positions(moved), dt=1e-3)

    # Following.

    def answer(self, state: LegState) -> PoseAnswer:
        """Go to the pose for the lengths of a state.

        Raises
        ------
        MessageError
            No start pose is known, and none fits the lengths.
        """
        stamp, lengths = state.stamp, state.lengths
        if self._tracker is None:
            self._tracker = self._first(lengths)
        if self._since is None:
            self._tracker = self._begun(self._tracker, lengths)
        dt = 0.0 if self._since is None else max(0.0, 1e-9 * (stamp - self._since))
        tracked = self.last = self._tracker.update(lengths, state.rates, dt=dt)
        if tracked.valid or self._since is not None:
            self._since = stamp
        if tracked.status is TrackingStatus.OUT_OF_REACH:
            self._doubt(lengths)
        if self.withheld(tracked):
            return PoseAnswer(state, tracked, MessageError(KINDS[tracked.status], self.describe(tracked)))
        self.tracked = tracked
        return PoseAnswer(state, tracked, None)

    def _doubt(self, lengths: Array) -> None:
        """Know lengths no better than by what they jumped: that one of them was, or is, wrong by as much."""
        assert self._tracker is not None
        before = self.tracked.lengths if self.tracked else self.platform.motor_positions(self._tracker.pose)
        jump = float(np.abs(lengths - before).max())
        if np.isfinite(jump) and jump > self.contradiction:
            self.contradiction = jump
            self._tracker = self._tracker.with_options(leg_noise=self._deviations, max_steps=self.options.max_steps)

    @property
    def _deviations(self) -> Array:
        """Standard deviations (6,) of the lengths, with what has refuted the start."""
        return np.asarray(np.hypot(self.options.deviations, self.contradiction))

    def _begun(self, tracker: PoseTracker, lengths: Array) -> PoseTracker:
        """Tracker at the pose to which the first lengths lead straight from the start pose.

        There the platform is known to be. The given tracker where they lead nowhere.
        """
        if tracker.max_speed is None:
            return tracker
        first = self._tracker_at(tracker.pose, known=False).update(lengths)
        return self._tracker_at(first.pose) if first.valid else tracker

    def withheld(self, tracked: FollowedPose) -> bool:
        """Return whether a pose is not to be published."""
        if not tracked.valid:
            return True
        return self.options.when_ambiguous == WITHHOLD and tracked.status is TrackingStatus.AMBIGUOUS

    def _first(self, lengths: Array) -> PoseTracker:
        """Tracker at the level pose that fits the first lengths best."""
        if not (all_finite(lengths) and (lengths > 0.0).all()):
            leg = int(np.argmin(np.isfinite(lengths) & (lengths > 0.0)))
            kind = "not positive" if np.isfinite(lengths[leg]) else "not finite"
            raise MessageError(kind, f"{self.legs[leg]}: its length is {lengths[leg]} m")
        return self._tracker_at(level_pose(self.platform, lengths), known=False)


def level_pose(platform: Platform, lengths: Array) -> Array:
    """Return the level pose (4, 4) that fits lengths (6,) best; raises MessageError where none does."""
    assert isinstance(platform, StewartPlatform)
    try:
        return level_home(platform, lengths)
    except LieDynamicsError as error:
        raise MessageError("no such pose", f"no level pose fits the leg lengths: {error}") from error


def any_pose(platform: Platform) -> Array:
    """Return some level pose (4, 4), high enough not to be singular."""
    assert isinstance(platform, StewartPlatform)
    points = np.concatenate((platform.base_points, platform.platform_points))
    return level_home(platform, np.full(LEGS, 3.0 * np.linalg.norm(np.ptp(points, axis=0))))
