"""Platforms of all kinds of legs: read from files, and what they have in common."""

from __future__ import annotations

from os import PathLike

from ...errors import StewartError
from ...texts import quoted
from .offset_platform import OffsetPlatform
from .platform import StewartPlatform
from .rotary_platform import RotaryPlatform
from .yaml_files import joint_kind

Platform = StewartPlatform | OffsetPlatform | RotaryPlatform
#: Whose poses follow from those of platforms on point joints.
PointJointed = StewartPlatform | RotaryPlatform

_KINDS: dict[str, type[StewartPlatform] | type[OffsetPlatform] | type[RotaryPlatform]] = {
    "": StewartPlatform,
    "universal_joints": OffsetPlatform,
    "rotary_legs": RotaryPlatform,
}


def any_platform(source: str | PathLike[str]) -> Platform:
    """Read a platform of any kind of legs, see `StewartPlatform.from_yaml`."""
    return _KINDS[joint_kind(source)].from_yaml(source)


def points_of(platform: Platform) -> StewartPlatform:
    """Return a platform, or that on the points of its joints or motors."""
    return platform.points if isinstance(platform, (OffsetPlatform, RotaryPlatform)) else platform


def sliding_points_of(platform: Platform, name: str = "platform") -> StewartPlatform:
    """Return `points_of` a platform whose legs slide; raise StewartError for rotary ones."""
    if isinstance(platform, RotaryPlatform):
        raise StewartError(
            f"{name}: legs that slide are calibrated here, those of a RotaryPlatform by calibrate_rotary"
        )
    return points_of(platform)


def require_any(value: object, name: str = "platform") -> None:
    """Raise StewartError unless a value is a platform on legs of any kind."""
    if not isinstance(value, Platform):
        raise StewartError(
            f"{name}: a StewartPlatform is expected, or one on legs of another kind, got {quoted(value)}", name=name
        )


def require_legs(value: object, name: str = "platform") -> None:
    """Raise StewartError unless a value is a platform on point joints, its legs sliding or rotary."""
    if isinstance(value, OffsetPlatform):
        raise StewartError(
            f"{name}: a StewartPlatform is expected, or a RotaryPlatform, got an OffsetPlatform: what is proven here "
            "takes legs from point to point; see poses_near, mechanism('6-UCU', geometry=...) with its "
            "assembly_modes and a ClosedLoopTracker, and the node stewart_pose", name=name,
        )  # fmt: skip
    if not isinstance(value, PointJointed):
        raise StewartError(
            f"{name}: a StewartPlatform is expected, or a RotaryPlatform, got {quoted(value)}", name=name
        )
