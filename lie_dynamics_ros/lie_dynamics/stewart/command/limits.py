"""Limits of the legs, their joints and the platform."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Array, ArrayLike, Mask
from ...errors import StewartError
from ...lie._arrays import as_real, numbers
from ..geometry.any_platform import Platform, require_any
from ..geometry.checks import N_LEGS, as_leg_limits, as_six
from ..geometry.inverse_kinematics import as_pose, leg_vectors, norms, platform_arms
from ..geometry.offset_platform import OffsetPlatform
from ..geometry.platform import StewartPlatform
from ..geometry.rotary_platform import RotaryPlatform, as_angle_limits
from .kernels.leg_samples import joint_angles


@dataclass(frozen=True, eq=False, init=False)
class CommandLimits:
    """Limits of a platform that is commanded; infinite where there is none. Numbers are for all legs, or one a leg.

    For a `RotaryPlatform` those of legs are of the angles of its motors [rad, rad/s, rad/s^2] and their torques [N m],
    and cones are about the rods; axes on the base are those at home, and turn with the horns. On offset universal
    joints cones are about the legs, from end to end.

    Attributes
    ----------
    platform : on legs of any kind
    stroke : array-like, shape (2,) or (6, 2), optional
        Shortest and longest leg [m]; those of the platform when left out.
    rate, acceleration, force : array-like, shape () or (6,)
        Largest absolute values of leg rates [m/s], leg accelerations [m/s^2] and leg forces [N].
    base_cone, platform_cone : array-like, shape () or (6,)
        Largest angle between a leg and the axis of its joint on the base, or on the platform [rad].
    base_axes, platform_axes : array-like, shape (6, 3), optional
        Axes of these joints, in the base and the platform frame, of any length; when left out, the directions of the
        legs in the home pose.
    condition : float
        Largest condition number of the leg Jacobian, see `StewartPlatform.condition_number`: the distance that is kept
        from singular poses.
    speed, angular_speed : float
        Largest speed of the tool's origin [m/s] and angular speed of the platform [rad/s].

    Raises
    ------
    StewartError, InputError
        For shapes, and for limits that are not positive; for cones without axes and home pose.
    """

    platform: Platform
    stroke: Array
    rate: Array
    acceleration: Array
    force: Array
    base_cone: Array
    platform_cone: Array
    base_axes: Array
    platform_axes: Array
    condition: float
    speed: float
    angular_speed: float

    def __init__(
        self,
        platform: Platform,
        stroke: ArrayLike | None = None,
        rate: ArrayLike = np.inf,
        acceleration: ArrayLike = np.inf,
        force: ArrayLike = np.inf,
        base_cone: ArrayLike = np.inf,
        platform_cone: ArrayLike = np.inf,
        base_axes: ArrayLike | None = None,
        platform_axes: ArrayLike | None = None,
        condition: float = 1e3,
        speed: float = np.inf,
        angular_speed: float = np.inf,
    ) -> None:
        require_any(platform)
        as_limits = as_angle_limits if isinstance(platform, RotaryPlatform) else as_leg_limits
        cones = _per_leg(base_cone, "base_cone"), _per_leg(platform_cone, "platform_cone")
        found = {
            "platform": platform,
            "stroke": platform.motor_limits if stroke is None else as_limits(stroke),
            "rate": _per_leg(rate, "rate"),
            "acceleration": _per_leg(acceleration, "acceleration"),
            "force": _per_leg(force, "force"),
            "base_cone": cones[0],
            "platform_cone": cones[1],
            "base_axes": _axes(platform, "base", base_axes, cones[0]),
            "platform_axes": _axes(platform, "platform", platform_axes, cones[1]),
            "condition": _positive(condition, "condition"),
            "speed": _positive(speed, "speed"),
            "angular_speed": _positive(angular_speed, "angular_speed"),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def kept(self, pose: ArrayLike) -> Mask:
        """Whether strokes, angles of joints and the condition number are kept in poses (..., 4, 4)."""
        poses = as_pose(pose)
        if isinstance(self.platform, RotaryPlatform):
            there = np.asarray(np.isfinite(self.platform.reached_angles(poses)).all(axis=-1))
        elif isinstance(self.platform, OffsetPlatform):
            there = np.asarray(self.platform.told(poses)[2].all(axis=-1))
        else:
            return self._kept(poses)
        found = np.zeros(there.shape, dtype=bool)
        found[there] = self._kept(poses[there])
        return found

    def _kept(self, pose: Array) -> Mask:
        lengths, (base, platform) = self.platform.motor_positions(pose), self.joint_angles(pose)
        legs = (lengths >= self.stroke[:, 0]) & (lengths <= self.stroke[:, 1])
        legs &= (base <= self.base_cone) & (platform <= self.platform_cone)
        return np.asarray(legs.all(axis=-1) & (self.platform.condition_number(pose) <= self.condition))

    def joint_angles(self, pose: ArrayLike) -> tuple[Array, Array]:
        """Angles (..., 6) between legs and the axes of their joints on base and platform [rad]."""
        poses = as_pose(pose)
        if not isinstance(self.platform, StewartPlatform):
            return self._from_ends(self.platform, poses)
        flat = np.ascontiguousarray(poses).reshape(-1, 16)
        out = np.empty((2, len(flat), N_LEGS))
        joint_angles(self.platform.all_points, self._joint_axes, flat, out)
        base, platform = out.reshape(2, *poses.shape[:-2], N_LEGS)
        return base, platform

    def _from_ends(self, platform: OffsetPlatform | RotaryPlatform, T: Array) -> tuple[Array, Array]:
        """Return `joint_angles` of legs on offset joints, and of rods."""
        axes = self.base_axes
        if isinstance(platform, OffsetPlatform):
            rods = leg_vectors(*platform.stationary_feet(T)[:2], T)
        else:
            t = platform.reached_angles(T)
            rods = leg_vectors(platform.tips(t), platform.platform_points, T)
            axes = platform.turned(axes, t - platform.home_angles)
        on_platform = platform_arms(self.platform_axes, T)
        angles = (np.arctan2(norms(np.cross(rods, x)), (rods * x).sum(axis=-1)) for x in (axes, on_platform))
        base, top = (np.asarray(x) for x in angles)
        return base, top

    @cached_property
    def _joint_axes(self) -> Array:
        return np.concatenate([self.base_axes, self.platform_axes])


def _axes(platform: Platform, side: str, given: ArrayLike | None, cone: Array) -> Array:
    """Return unit axes (6, 3) of the joints of one side."""
    if given is not None:
        axes = as_real(given, (N_LEGS, 3), f"{side}_axes").reshape(N_LEGS, 3)
    elif platform.home_pose is not None:
        home = platform.home_pose
        if isinstance(platform, OffsetPlatform):
            legs = leg_vectors(*platform.feet(home), home)
        else:
            legs = platform.locked(platform.motor_positions(home))[0].leg_vectors(home)
        axes = legs @ (home[:3, :3] if side == "platform" else np.eye(3))
    elif np.isfinite(cone).any():
        raise StewartError(f"{side}_cone is limited, but neither {side}_axes nor a home pose is given")
    else:
        return np.zeros((N_LEGS, 3))
    size = np.linalg.norm(axes, axis=-1, keepdims=True)
    if not (size > 0.0).all():
        raise StewartError(f"{side}_axes of leg {int(np.argmin(size)) + 1} is zero, expected a direction")
    return np.asarray(axes / size)


def _per_leg(value: ArrayLike, name: str) -> Array:
    return as_six(value, name, "positive numbers", lambda x: x > 0.0)


def _positive(value: float, name: str) -> float:
    number = numbers(value)
    if isinstance(value, (bool, str, bytes)) or number.ndim or not number > 0.0:
        raise StewartError(f"{name}: a positive number is expected, got {value!r}", name=name, value=value)
    return float(number)
