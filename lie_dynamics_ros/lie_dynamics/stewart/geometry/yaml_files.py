"""Platform geometry in YAML, in metres and radians by default.

Either the twelve joint centres, or the four numbers of a semi-regular design::

    unit: mm                              # optional, of all lengths: m or mm
    angle_unit: deg                       # optional, of all angles: rad or deg
    base_points:      [[x, y, z], ...]      # six, leg by leg
    platform_points:  [[x, y, z], ...]
    leg_limits: [min, max]                  # optional; or six such pairs
    home_pose: {position: [x, y, z], quaternion: [x, y, z, w]}      # optional; quaternion defaults to level
    allow_singular: false                   # optional

    semi_regular: {base_radius: .., platform_radius: .., base_half_angle: .., platform_half_angle: ..}

and for an `OffsetPlatform` what is at each end of its legs, for all or leg by leg::

    universal_joints:
      base_axes: [x, y, z]                  # direction of the axis fixed in the base; or six
      platform_axes: [[x, y, z], ...]       # in the platform
      base_offsets: 0.03                    # distance of the two axes; or six
      platform_offsets: [0.03, ...]
      screw_leads: 0.005                    # optional: longer by one turn of the upper end, right-handed; or six

or for a `RotaryPlatform` its servos, whose circles have their centres at the base points::

    rotary_legs:
      pattern: coplanar                   # of upright horns: coplanar pairs, tangential, radial; or axes
      facing: apart                       # optional: apart or together in pairs, radial ones outward or inward
      axes: [[x, y, z], ...]              # in place of a pattern: directions of the motors' axes
      zero_directions: [[x, y, z], ...]   # optional, with axes: where horns point at angle 0
      horns: 20.0                         # from the axis to the ball; or six
      rods: 110.0                         # from ball to ball; or six
      home_angles: 0.0                    # optional; or six
      angle_limits: [-60, 60]             # optional; or six such pairs

Its entries `readings` and `sensors` are read by `stewart.fusion.platform_sensors`.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import StewartError
from ...lie import quaternion, se3
from ...texts import quoted
from ...yaml_sections import Section, read_section


def semi_regular_points(
    base_radius: float, platform_radius: float, base_half_angle: float, platform_half_angle: float
) -> tuple[Array, Array]:
    """Return base and platform points (6, 3) [m] of `designs.semi_regular_platform`, unchecked for singularity."""
    for name, value in (("base_radius", base_radius), ("platform_radius", platform_radius)):
        if not 0.0 < value < np.inf:
            raise StewartError(f"{name} is {value}, expected a positive radius in metres")
    for name, value in (("base_half_angle", base_half_angle), ("platform_half_angle", platform_half_angle)):
        if not 0.0 <= value <= np.pi / 3.0:
            raise StewartError(f"{name} is {value} rad, expected 0 to pi/3")
    thirds = 2.0 * np.pi / 3.0
    base_angles, platform_angles = [], []
    for sector in range(3):
        base_angles += [sector * thirds + base_half_angle, (sector + 1) * thirds - base_half_angle]
        middle = (sector + 0.5) * thirds
        platform_angles += [middle - platform_half_angle, middle + platform_half_angle]
    return _circle(base_radius, base_angles), _circle(platform_radius, platform_angles)


#: How horns stand: along a pair's line, along the circle of the motors, along its radius; and which way they may face.
HORN_PATTERNS = {
    "coplanar": ("apart", "together"),
    "tangential": ("apart", "together"),
    "radial": ("outward", "inward"),
}


def horn_directions(base_points: Array, pattern: str, facing: str | None = None) -> tuple[Array, Array]:
    """Return where upright horns point at angle 0, and axes about which positive angles raise them, (6, 3) each.

    Parameters
    ----------
    base_points : ndarray, shape (6, 3)
        Motors, about the z axis through their centroid; the nearest two are pairs.
    pattern : str
        "coplanar": both horns of a pair turn in one plane, through both motors; "tangential": each in that across the
        radius of its motor; "radial": each in that of the radius.
    facing : str, optional
        "apart" or "together" in pairs; "outward" or "inward" for radial ones. The first of the two when left out.

    Raises
    ------
    StewartError
        For other words, and where two motors are at one place, or one is at the centre.
    """
    if pattern not in HORN_PATTERNS:
        raise StewartError(f"pattern is {pattern!r}, expected one of {', '.join(HORN_PATTERNS)}", name="pattern")
    words = HORN_PATTERNS[pattern]
    facing = words[0] if facing is None else facing
    if facing not in words:
        raise StewartError(f"facing is {facing!r}, expected {' or '.join(words)} for {pattern} horns", name="facing")
    points = np.asarray(base_points, dtype=np.float64)
    if points.shape != (6, 3) or not np.isfinite(points).all():
        raise StewartError(f"base_points has shape {points.shape}, expected six finite rows of x, y, z")
    flat = (points - points.mean(axis=0)) * (1.0, 1.0, 0.0)
    away = flat - flat[_partners(flat)]
    if pattern == "coplanar":
        x = away
    elif pattern == "radial":
        x = flat
    else:
        x = np.cross((0.0, 0.0, 1.0), flat)
        x *= np.where((x * away).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
    size = np.linalg.norm(x, axis=1, keepdims=True)
    if not (size > 1e-9 * np.abs(flat).max()).all():
        raise StewartError(f"base_points of leg {int(np.argmin(size)) + 1}: no {pattern} direction follows from there")
    x = (x if facing == words[0] else -x) / size
    return x, np.cross(x, (0.0, 0.0, 1.0))


def _partners(points: Array) -> list[int]:
    """Return the partner of each of six points, all pairs together as near as they can be."""
    gaps = np.linalg.norm(points[:, None] - points, axis=-1)
    best, least = list(range(6)), np.inf
    for pairs in _pairings(tuple(range(6))):
        total = sum(gaps[i, j] ** 2 for i, j in pairs)
        if total < least * (1.0 - 1e-9):
            least, best = total, [dict([*pairs, *(pair[::-1] for pair in pairs)])[k] for k in range(6)]
    return best


def _pairings(left: tuple[int, ...]) -> list[list[tuple[int, int]]]:
    """Return all ways to make pairs."""
    if not left:
        return [[]]
    first, rest = left[0], left[1:]
    return [[(first, k), *more] for k in rest for more in _pairings(tuple(x for x in rest if x != k))]


def _circle(radius: float, angles: list[float]) -> Array:
    """Points (n, 3) on a circle in the plane z = 0."""
    return np.array([[radius * np.cos(angle), radius * np.sin(angle), 0.0] for angle in angles])


POINT_KEYS = ("base_points", "platform_points")
_DESIGN_KEYS = ("base_radius", "platform_radius", "base_half_angle", "platform_half_angle")
_POSE_KEYS = ("position", "quaternion", "rotation")
#: Name of what a leg's length changes by where it turns.
LEADS = "screw_leads"
UNIVERSAL_KEYS = ("base_axes", "platform_axes", "base_offsets", "platform_offsets")
ROTARY_KEYS = ("axes", "zero_directions", "horns", "rods", "home_angles", "angle_limits")
_PATTERN_KEYS = ("pattern", "facing")
_UNITS = {"unit": {"m": 1.0, "mm": 1e-3}, "angle_unit": {"rad": 1.0, "deg": np.pi / 180.0}}
_SENSOR_KEYS = ("readings", "sensors")
#: What stands at the ends of legs, and how to read it where something else is requested.
JOINT_KINDS = {
    "universal_joints": (
        "OffsetPlatform.from_yaml reads it, stewart_pose and stewart_command take it, the node closed_loop all its "
        'joints: mechanism("6-UCU", geometry=...).write(folder)'
    ),
    "rotary_legs": "RotaryPlatform.from_yaml reads it, the nodes stewart_pose and stewart_command take it",
}
#: What the file of a platform may hold.
PLATFORM_KEYS = (
    *POINT_KEYS, "semi_regular", "leg_limits", "home_pose", "allow_singular", *_UNITS, *JOINT_KINDS, *_SENSOR_KEYS
)  # fmt: skip


def read_yaml(source: str | PathLike[str], kind: str = "") -> dict[str, Any]:
    """Arguments of `StewartPlatform` from YAML text or the path of a YAML file; see `yaml_sections`.

    With a kind of joints also those of an `OffsetPlatform` ("universal_joints") or a `RotaryPlatform` ("rotary_legs"),
    as a mapping at that key; without, they are refused.

    Raises
    ------
    StewartError : unreadable file, text that is no YAML, missing or unknown keys, values of the wrong kind.
    """
    top = read_section(source, PLATFORM_KEYS, StewartError)
    metre, radian = (_choice(top, key, next(iter(known)), known) for key, known in _UNITS.items())
    if metre != 1.0 and any(key in top for key in _SENSOR_KEYS):
        top.refuse("unit: sensors are described in metres, m is expected")
    for other, reader in JOINT_KINDS.items():
        if other in top and other != kind:
            top.refuse(f"{other} are there, and what is requested has {_NAMES[kind]}; {reader}")
    arguments: dict[str, Any] = {}
    if kind != "rotary_legs":
        arguments["allow_singular"] = top.boolean("allow_singular", False)
    if "semi_regular" in top:
        if any(key in top for key in POINT_KEYS):
            top.refuse("both semi_regular and joint points are there, expected one of them")
        arguments |= _semi_regular(top.section("semi_regular", _DESIGN_KEYS), metre, radian)
    else:
        top.need(POINT_KEYS, "six rows of x, y, z; or semi_regular")
        arguments |= {key: metre * top.numbers(key, None) for key in POINT_KEYS}
    if kind == "universal_joints":
        joints = top.need((kind,), "of an OffsetPlatform").section(kind, (*UNIVERSAL_KEYS, LEADS))
        joints.need(UNIVERSAL_KEYS, "directions, lengths")
        units = {"base_offsets": metre, "platform_offsets": metre, LEADS: metre}
        there = [key for key in (*UNIVERSAL_KEYS, LEADS) if key in joints]
        arguments[kind] = {key: units.get(key, 1.0) * joints.numbers(key, None) for key in there}
    elif kind == "rotary_legs":
        legs = top.need((kind,), "of a RotaryPlatform").section(kind, (*_PATTERN_KEYS, *ROTARY_KEYS))
        arguments[kind] = _rotary_legs(legs, arguments["base_points"], metre, radian)
        for key in ("leg_limits", "allow_singular"):
            if key in top:
                top.refuse(f"{key} is there, and motors that turn have angle_limits, in rotary_legs")
    if "leg_limits" in top:
        arguments["leg_limits"] = metre * top.numbers("leg_limits", None, infinite=True)
    if "home_pose" in top:
        arguments["home_pose"] = _pose(top.section("home_pose", _POSE_KEYS), metre)
    return arguments


_NAMES = {"": "point joints", "universal_joints": "universal joints", "rotary_legs": "rotary legs"}


def joint_kind(source: str | PathLike[str]) -> str:
    """Return the kind of joints, "" for points, that a platform's text or file has; raises as `read_yaml`."""
    top = read_section(source, PLATFORM_KEYS, StewartError)
    return next((kind for kind in JOINT_KINDS if kind in top), "")


def _choice(section: Section, key: str, default: str, known: dict[str, Any]) -> Any:
    """Return what a word stands for."""
    word = section.text(key, default)
    if word not in known:
        section.refuse(f"{key} is {quoted(word)}, expected {' or '.join(known)}")
    return known[word]


def _rotary_legs(legs: Section, base_points: Array, metre: float, radian: float) -> dict[str, Any]:
    """Arguments of a `RotaryPlatform` besides points and home pose."""
    legs.need(("horns", "rods"), "lengths")
    found: dict[str, Any] = {}
    if "pattern" in legs:
        if "axes" in legs or "zero_directions" in legs:
            legs.refuse("both a pattern and directions are there, expected one of them")
        words = {key: legs.text(key) for key in _PATTERN_KEYS if key in legs}
        try:
            found["zero_directions"], found["axes"] = horn_directions(base_points, **words)
        except StewartError as error:
            legs.refuse(str(error))
    else:
        if "facing" in legs:
            legs.refuse("facing is there without a pattern")
        legs.need(("axes",), "directions of the motors' axes; or a pattern")
    units = {"horns": metre, "rods": metre, "home_angles": radian, "angle_limits": radian}
    return found | {key: units.get(key, 1.0) * legs.numbers(key, None) for key in ROTARY_KEYS if key in legs}


def _semi_regular(design: Section, metre: float, radian: float) -> dict[str, Any]:
    """Joint points of a semi-regular design."""
    design.need(_DESIGN_KEYS, "lengths, angles")
    units = {key: metre if key.endswith("radius") else radian for key in _DESIGN_KEYS}
    base, platform = semi_regular_points(**{key: units[key] * design.number(key) for key in _DESIGN_KEYS})
    return {"base_points": base, "platform_points": platform}


def _pose(pose: Section, metre: float) -> Array:
    """Pose (4, 4) from position and quaternion (x, y, z, w) or rotation matrix."""
    pose.need(("position",), "x, y, z")
    rotation: Array = np.eye(3)
    if "rotation" in pose and "quaternion" in pose:
        pose.refuse("rotation or quaternion is expected, not both")
    if "rotation" in pose:
        rotation = pose.numbers("rotation", (3, 3))
    elif "quaternion" in pose:
        x = pose.numbers("quaternion", (4,))
        if not x.any():
            pose.refuse("its quaternion has no direction, x, y, z, w other than zero expected")
        rotation = quaternion.to_matrix(quaternion.normalize(x))
    return np.asarray(se3.from_parts(rotation, metre * pose.numbers("position", (3,))))
