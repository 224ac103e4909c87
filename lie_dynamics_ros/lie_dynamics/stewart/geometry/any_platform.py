"""Platforms of all kinds of legs: read from files, ready-made, and what they have in common."""

from __future__ import annotations

from os import PathLike

import numpy as np

from ...arrays import Array, ArrayLike
from ...errors import StewartError
from ...texts import quoted
from .offset_platform import OffsetPlatform
from .platform import StewartPlatform
from .rotary_platform import RotaryPlatform
from .yaml_files import horn_directions, joint_kind, semi_regular_points

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


def require_any(value: object) -> None:
    """Raise StewartError unless a value is a platform on legs of any kind."""
    if not isinstance(value, Platform):
        kinds = "a StewartPlatform is expected, or one on legs of another kind"
        raise StewartError(f"platform: {kinds}, got {quoted(value)}", name="platform")


def require_legs(value: object) -> None:
    """Raise StewartError unless a value is a platform on point joints, its legs sliding or rotary."""
    if isinstance(value, OffsetPlatform):
        raise StewartError(
            "platform: a StewartPlatform is expected, or a RotaryPlatform, got an OffsetPlatform: what is proven here "
            "takes legs from point to point; see poses_near, mechanism('6-UCU', geometry=...) with its "
            "assembly_modes and a ClosedLoopTracker, and the node stewart_pose", name="platform",
        )  # fmt: skip
    if not isinstance(value, PointJointed):
        expected = "a StewartPlatform is expected, or a RotaryPlatform"
        raise StewartError(f"platform: {expected}, got {quoted(value)}", name="platform")


def reference_platform(leg_limits: ArrayLike | None = None) -> StewartPlatform:
    """Platform of Table 1 of Mathematics 2021, 9(7), 757, in metres (the paper uses cm).

    Its home pose, not given by the paper, is level at 0.5 m above the base, the height of the paper's true pose.
    """
    base = [
        [0.289778, 0.077646, 0.0],
        [-0.077646, 0.289778, 0.0],
        [-0.212132, 0.212132, 0.0],
        [-0.212132, -0.212132, 0.0],
        [-0.077646, -0.289778, 0.0],
        [0.289778, -0.077646, 0.0],
    ]
    platform = [
        [0.141421, 0.141421, 0.0],
        [0.051764, 0.193185, 0.0],
        [-0.193185, 0.051764, 0.0],
        [-0.193185, -0.051764, 0.0],
        [0.051764, -0.193185, 0.0],
        [0.141421, -0.141421, 0.0],
    ]
    return StewartPlatform(base, platform, leg_limits, home_pose=_level(0.5))


def semi_regular_platform(
    base_radius: float,
    platform_radius: float,
    base_half_angle: float,
    platform_half_angle: float,
    *,
    height: float | None = None,
    leg_limits: ArrayLike | None = None,
) -> StewartPlatform:
    """Three-fold symmetric platform, the usual design of motion bases: three pairs of joints on each of two circles.

    Parameters
    ----------
    base_radius, platform_radius : radii of the joint circles [m].
    base_half_angle : half the angle between the joints of a base pair [rad]; pairs centred at 0, 120, 240 degrees.
    platform_half_angle : the same on the platform; pairs centred at 60, 180, 300 degrees.
    height : home height of the platform [m]; sets ``home_pose`` level at this height.
    leg_limits : as for `StewartPlatform`.

    Leg 1 starts at ``+base_half_angle`` and the others follow counter-clockwise seen from above. Half angles are from
    0 (a shared joint) to 60 degrees. When they add up to 60 degrees, base and platform are similar hexagons on
    circles, and the design is architecturally singular.
    """
    base, platform = semi_regular_points(base_radius, platform_radius, base_half_angle, platform_half_angle)
    return StewartPlatform(base, platform, leg_limits, home_pose=None if height is None else _level(height))


def semi_regular_rotary_platform(
    base_radius: float,
    platform_radius: float,
    base_half_angle: float,
    platform_half_angle: float,
    horns: ArrayLike,
    rods: ArrayLike,
    *,
    pattern: str = "coplanar",
    facing: str | None = None,
    home_angles: ArrayLike = 0.0,
    angle_limits: ArrayLike | None = None,
) -> RotaryPlatform:
    """Three-fold symmetric platform on upright horns: the usual design of servo hexapods.

    Parameters
    ----------
    base_radius, platform_radius, base_half_angle, platform_half_angle
        Of motors and of balls on the platform, as in `semi_regular_platform`.
    horns, rods, home_angles, angle_limits
        As of `RotaryPlatform`; angles are above the horizontal.
    pattern, facing : str
        How the horns stand, see `yaml_files.horn_directions`.
    """
    base, platform = semi_regular_points(base_radius, platform_radius, base_half_angle, platform_half_angle)
    zero, axes = horn_directions(base, pattern, facing)
    return RotaryPlatform(base, platform, axes, horns, rods, zero, home_angles, angle_limits)


def dietmaier_platform() -> tuple[StewartPlatform, Array]:
    """Dietmaier's platform and the leg lengths (6,) [m] for which all 40 poses are real; published figures."""
    base = [
        [0.0, 0.0, 0.0],
        [1.107915, 0.0, 0.0],
        [0.549094, 0.756063, 0.0],
        [0.735077, -0.223935, 0.525991],
        [0.514188, -0.526063, -0.368418],
        [0.590473, 0.094733, -0.205018],
    ]
    platform = [
        [0.0, 0.0, 0.0],
        [0.542805, 0.0, 0.0],
        [0.956919, -0.528915, 0.0],
        [0.665885, -0.353482, 1.402538],
        [0.478359, 1.158742, 0.107672],
        [-0.137087, -0.235121, 0.353913],
    ]
    lengths = np.array([1.0, 0.645275, 1.086284, 1.503439, 1.281933, 0.771071])
    return StewartPlatform(base, platform), lengths


def griffis_duffy_platform() -> tuple[StewartPlatform, Array]:
    """Griffis-Duffy platform and leg lengths (6,) [m] with which it moves though all six legs are locked.

    It is architecturally singular: joints of one side at the corners of a triangle, of the other at the mid-sides.
    """
    h = np.sqrt(0.75)
    base = [[0.0, 0.0], [-0.5, h], [0.5, h], [1.5, h], [1.0, 0.0], [0.5, -h]]
    platform = [[0.0, 0.0], [0.5, h], [1.0, 2.0 * h], [1.5, h], [2.0, 0.0], [1.0, 0.0]]
    lengths = np.array([1.519640, 1.922131, 1.812880, 1.380117, 1.715536, 1.714524])
    return StewartPlatform(_flat(base), _flat(platform), allow_singular=True), lengths


def _flat(points: list[list[float]]) -> Array:
    """Points (n, 2) as (n, 3) in the plane z = 0."""
    return np.hstack([np.array(points, dtype=np.float64), np.zeros((len(points), 1))])


def _level(height: float) -> Array:
    """Pose of a level platform above the middle of the base."""
    pose = np.eye(4)
    pose[2, 3] = height
    return pose
