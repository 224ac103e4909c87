"""Platform geometry in YAML, metres and radians.

Either the twelve joint centres, or the four numbers of a semi-regular design::

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

What it says of sensors, `readings` and `sensors`, is read by `stewart.fusion.platform_sensors`.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from ...lie import quaternion, se3
from ...yaml_sections import Section, read_section
from ..errors import StewartError
from .inverse_kinematics import Array
from .point_patterns import semi_regular_points

POINT_KEYS = ("base_points", "platform_points")
_DESIGN_KEYS = ("base_radius", "platform_radius", "base_half_angle", "platform_half_angle")
_POSE_KEYS = ("position", "quaternion", "rotation")
UNIVERSAL_KEYS = ("base_axes", "platform_axes", "base_offsets", "platform_offsets")
_SENSOR_KEYS = ("readings", "sensors")
#: What the file of a platform may hold.
PLATFORM_KEYS = (
    *POINT_KEYS, "semi_regular", "leg_limits", "home_pose", "allow_singular", "universal_joints", *_SENSOR_KEYS
)  # fmt: skip


def read_yaml(source: str | PathLike[str], universal_joints: bool = False) -> dict[str, Any]:
    """Arguments of `StewartPlatform` from YAML text or the path of a YAML file; see `yaml_text` for its limits.

    With ``universal_joints`` also those of an `OffsetPlatform`, as a mapping at that key; without, they are refused.

    Raises
    ------
    StewartError : unreadable file, text that is no YAML, missing or unknown keys, values of the wrong kind.
    """
    top = read_section(source, PLATFORM_KEYS, StewartError)
    arguments: dict[str, Any] = {"allow_singular": top.boolean("allow_singular", False)}
    if universal_joints:
        joints = top.need(("universal_joints",), "of an OffsetPlatform").section("universal_joints", UNIVERSAL_KEYS)
        joints.need(UNIVERSAL_KEYS, "directions, metres")
        arguments["universal_joints"] = {key: joints.numbers(key, None) for key in UNIVERSAL_KEYS}
    elif "universal_joints" in top:
        top.refuse(
            "universal_joints are there, and what is asked for has point joints; OffsetPlatform.from_yaml reads it, "
            "the node stewart_pose follows its poses, and the node closed_loop all its joints: "
            'mechanism("6-UCU", geometry=...).write(folder)'
        )
    if "semi_regular" in top:
        if any(key in top for key in POINT_KEYS):
            top.refuse("both semi_regular and joint points are there, expected one of them")
        arguments |= _semi_regular(top.section("semi_regular", _DESIGN_KEYS))
    else:
        top.need(POINT_KEYS, "six rows of x, y, z in metres; or semi_regular")
        arguments |= {key: top.numbers(key, None) for key in POINT_KEYS}
    if "leg_limits" in top:
        arguments["leg_limits"] = top.numbers("leg_limits", None, infinite=True)
    if "home_pose" in top:
        arguments["home_pose"] = _pose(top.section("home_pose", _POSE_KEYS))
    return arguments


def has_universal_joints(source: str | PathLike[str]) -> bool:
    """Tell whether a platform's text or file is one of an `OffsetPlatform`; raises as `read_yaml`."""
    return "universal_joints" in read_section(source, PLATFORM_KEYS, StewartError)


def _semi_regular(design: Section) -> dict[str, Any]:
    """Joint points of a semi-regular design."""
    design.need(_DESIGN_KEYS, "metres, radians")
    base, platform = semi_regular_points(**{key: design.number(key) for key in _DESIGN_KEYS})
    return {"base_points": base, "platform_points": platform}


def _pose(pose: Section) -> Array:
    """Pose (4, 4) from position and quaternion (x, y, z, w) or rotation matrix."""
    pose.need(("position",), "x, y, z in metres")
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
    return np.asarray(se3.from_parts(rotation, pose.numbers("position", (3,))))
