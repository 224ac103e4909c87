"""Trackers of the node stewart_pose, whichever joints the legs have. No ROS in here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...core.arrays import Array
from ...core.errors import ConfigurationError, ParameterError
from ...lie_dynamics.constraints.tracking.offset_tracker import OffsetTracker
from ...lie_dynamics.stewart import OffsetPlatform, StewartTracker
from ...lie_dynamics.stewart.geometry.any_platform import Platform
from ...lie_dynamics.tracking import Tracked


class FollowedPose(Tracked, Protocol):
    """Outcome for one set of lengths; see `TrackedPose`."""

    @property
    def leg(self) -> int | None:
        """Index of the leg to blame, from 0; None where it is none."""

    @property
    def pose(self) -> Array:
        """Pose (4, 4); the last good one where not valid."""

    @property
    def lengths(self) -> Array:
        """As given, (6,) [m, or rad for rotary legs]."""

    @property
    def twist(self) -> Array:
        """Body twist (6,) [rad/s, m/s]; NaN where unknown."""

    @property
    def covariance(self) -> Array:
        """Covariance of the pose, (6, 6)."""

    @property
    def steps(self) -> int:
        """Proven steps that were taken."""

    @property
    def residual(self) -> float:
        """Deviation of the pose."""

    @property
    def condition_number(self) -> float:
        """Condition number of the Jacobian."""

    def time_to_singularity(self, horizon: float = ...) -> float:
        """Return when the platform comes to a singular pose at its present speed [s]."""

    def position_quaternion(self) -> tuple[list[float], list[float]]:
        """Return position x, y, z [m] and orientation x, y, z, w."""

    def write_covariance(self, out: Array, order: npt.NDArray[np.int64]) -> bool:
        """Write the covariance in another order of components; return whether it is finite."""


class PoseTracker(Protocol):
    """Tracker of a platform; see `StewartTracker`."""

    @property
    def max_speed(self) -> tuple[float, float] | None:
        """Largest linear [m/s] and angular speed [rad/s]; None when not given."""

    @property
    def pose(self) -> Array:
        """The last good pose, (4, 4)."""

    def update(self, lengths: Array, rates: Array | None = None, *, dt: float | None = None) -> FollowedPose:
        """Go to the pose for new lengths."""

    def with_options(self, *, leg_noise: npt.ArrayLike, max_steps: int) -> PoseTracker:
        """Return a tracker that goes on from the same knowledge with other options."""


def tracker_at(
    platform: Platform,
    pose: Array,
    max_speed: Sequence[float] | None = None,
    *,
    length_error: float = 0.0,
    leg_noise: npt.ArrayLike = 1e-5,
    max_steps: int = 1000,
) -> PoseTracker:
    """Return what follows a platform from a pose; arguments and errors as in `StewartTracker`.

    Raises
    ------
    ParameterError
        A bound of the speed for offset joints.
    """
    if not isinstance(platform, OffsetPlatform):
        return StewartTracker(
            platform, pose, max_speed, length_error=length_error, leg_noise=leg_noise, max_steps=max_steps
        )
    if max_speed is not None:
        raise ParameterError(
            "max_speed: poses of legs on offset universal joints are not certified by the speed of the platform alone; "
            "expected [0.0], or the node closed_loop with the largest rates of all joints in its max_speed"
        )
    return OffsetTracker(platform, pose, leg_noise=leg_noise, max_steps=max_steps)


def check_offset_joints(platform: Platform, settings: Any) -> None:
    """Raise ConfigurationError where parameters want what legs on offset joints do not have."""
    if isinstance(platform, OffsetPlatform) and settings["fusion"]:
        raise ConfigurationError(
            "fusion: takes legs on point joints, and universal_joints are in the platform's file; expected false, "
            "which answers as long as all six lengths are right"
        )
