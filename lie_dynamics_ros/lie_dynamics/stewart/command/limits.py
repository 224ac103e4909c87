"""What the legs, their joints and the platform may do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...lie._arrays import as_real
from ..errors import StewartError
from ..geometry.checks import N_LEGS, as_leg_limits
from ..geometry.inverse_kinematics import Array
from ..geometry.platform import StewartPlatform


@dataclass(frozen=True, eq=False)
class CommandLimits:
    """Limits of a platform that is commanded; infinite where there is none. Numbers are for all legs, or one a leg.

    Attributes
    ----------
    platform : StewartPlatform
    stroke : array-like, shape (2,) or (6, 2), optional
        Shortest and longest leg [m]; the platform's ``leg_limits`` when left out.
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

    platform: StewartPlatform
    stroke: npt.ArrayLike | None = None
    rate: npt.ArrayLike = np.inf
    acceleration: npt.ArrayLike = np.inf
    force: npt.ArrayLike = np.inf
    base_cone: npt.ArrayLike = np.inf
    platform_cone: npt.ArrayLike = np.inf
    base_axes: npt.ArrayLike | None = None
    platform_axes: npt.ArrayLike | None = None
    condition: float = 1e3
    speed: float = np.inf
    angular_speed: float = np.inf

    def __post_init__(self) -> None:
        platform = self.platform
        if not isinstance(platform, StewartPlatform):
            raise StewartError(f"platform is {platform!r}, expected a StewartPlatform")
        found: dict[str, object] = {
            "stroke": platform.leg_limits if self.stroke is None else as_leg_limits(self.stroke)
        }  # fmt: skip
        for name in ("rate", "acceleration", "force", "base_cone", "platform_cone"):
            found[name] = _per_leg(getattr(self, name), name)
        for name in ("condition", "speed", "angular_speed"):
            found[name] = float(_positive(getattr(self, name), name, ()))
        for side in ("base", "platform"):
            axes, cone = getattr(self, f"{side}_axes"), found[f"{side}_cone"]
            found[f"{side}_axes"] = self._axes(side, axes, bool(np.isfinite(np.asarray(cone)).any()))
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def _axes(self, side: str, given: npt.ArrayLike | None, needed: bool) -> Array:
        if given is not None:
            axes = as_real(given, (N_LEGS, 3), f"{side}_axes").reshape(N_LEGS, 3)
        elif self.platform.home_pose is not None:
            home = self.platform.home_pose
            axes = self.platform.leg_vectors(home) @ (home[:3, :3] if side == "platform" else np.eye(3))
        elif needed:
            raise StewartError(f"{side}_cone is limited, but neither {side}_axes nor a home pose is given")
        else:
            return np.zeros((N_LEGS, 3))
        size = np.linalg.norm(axes, axis=-1, keepdims=True)
        if not (size > 0.0).all():
            leg = int(np.argmin(size)) + 1
            raise StewartError(f"{side}_axes of leg {leg} is zero, expected a direction")
        return np.asarray(axes / size)

    def joint_angles(self, pose: npt.ArrayLike) -> tuple[Array, Array]:
        """Angles (..., 6) between legs and the axes of their joints on base and platform [rad]."""
        legs = self.platform.leg_vectors(pose)
        legs = legs / np.linalg.norm(legs, axis=-1, keepdims=True)
        seen = legs @ np.asarray(pose)[..., :3, :3]
        return _angles(legs, np.asarray(self.base_axes)), _angles(seen, np.asarray(self.platform_axes))


def _angles(legs: Array, axes: Array) -> Array:
    across = np.linalg.norm(np.cross(legs, axes), axis=-1)
    return np.asarray(np.arctan2(across, (legs * axes).sum(axis=-1)))


def _per_leg(value: npt.ArrayLike, name: str) -> Array:
    return np.array(np.broadcast_to(_positive(value, name, (N_LEGS,)), (N_LEGS,)))


def _positive(value: npt.ArrayLike, name: str, shape: tuple[int, ...]) -> Array:
    wrong: Callable[[object], StewartError] = lambda x: StewartError(  # noqa: E731
        f"{name} is {x!r}, expected a positive number" + (", or one a leg" if shape else "")
    )
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise wrong(value) from None
    if isinstance(value, (bool, str, bytes)) or array.shape not in ((), shape) or not (array > 0.0).all():
        raise wrong(value)
    return array
