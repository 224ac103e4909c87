"""Platform geometry in YAML, metres and radians.

Either the twelve joint centres, or the four numbers of a semi-regular design::

    base_points:      [[x, y, z], ...]      # six, leg by leg
    platform_points:  [[x, y, z], ...]
    leg_limits: [min, max]                  # optional; or six such pairs
    home_pose: {position: [x, y, z], quaternion: [x, y, z, w]}      # optional; quaternion defaults to level
    allow_singular: false                   # optional

    semi_regular: {base_radius: .., platform_radius: .., base_half_angle: .., platform_half_angle: ..}
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import StewartError
from .inverse_kinematics import Array

if TYPE_CHECKING:
    from .platform import StewartPlatform

_POINT_KEYS = ("base_points", "platform_points")
_DESIGN_KEYS = ("base_radius", "platform_radius", "base_half_angle", "platform_half_angle")
_OPTIONAL_KEYS = ("leg_limits", "home_pose", "allow_singular")


def read_yaml(source: str | PathLike[str]) -> dict[str, Any]:
    """Arguments of `StewartPlatform` from YAML text or the path of a YAML file.

    A string without a line break and without a colon followed by a space counts as a path.

    Raises
    ------
    StewartError : unreadable file, text that is no YAML, missing or unknown keys.
    """
    import yaml  # type: ignore[import-untyped]

    text, where = _text_of(source)
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise StewartError(f"{where} is not valid YAML: {error}") from error
    if not isinstance(content, dict):
        kind = type(content).__name__
        raise StewartError(f"{where} holds a {kind}, expected keys such as base_points, platform_points")
    known = (*_POINT_KEYS, "semi_regular", *_OPTIONAL_KEYS)
    _refuse_unknown(content, known, where)
    arguments = {key: content[key] for key in ("leg_limits", "allow_singular") if key in content}
    if "semi_regular" in content:
        if any(key in content for key in _POINT_KEYS):
            raise StewartError(f"{where} has both semi_regular and joint points, expected one of them")
        arguments |= _semi_regular(content["semi_regular"], where)
    else:
        for key in _POINT_KEYS:
            if key not in content:
                raise StewartError(f"{where} has no {key}, expected six rows of x, y, z in metres (or semi_regular)")
            arguments[key] = content[key]
    if content.get("home_pose") is not None:
        arguments["home_pose"] = _pose(content["home_pose"], where)
    return arguments


def write_yaml(platform: StewartPlatform) -> str:
    """YAML text of a platform, with every digit that float64 needs."""
    lines = []
    for key in _POINT_KEYS:
        lines.append(f"{key}:")
        lines += [f"  - {row.tolist()}" for row in getattr(platform, key)]
    if not np.array_equal(platform.leg_limits, np.tile((0.0, np.inf), (6, 1))):
        pairs = [f"[{low!r}, {'.inf' if np.isinf(high) else repr(high)}]" for low, high in platform.leg_limits.tolist()]
        lines.append(f"leg_limits: [{', '.join(pairs)}]")
    if platform.home_pose is not None:
        position = platform.home_pose[:3, 3].tolist()
        rotation = platform.home_pose[:3, :3].tolist()
        lines.append(f"home_pose: {{position: {position}, rotation: {rotation}}}")
    if platform.allow_singular:
        lines.append("allow_singular: true")
    return "\n".join(lines) + "\n"


def _text_of(source: str | PathLike[str]) -> tuple[str, str]:
    """YAML text, and the name by which messages call it."""
    if isinstance(source, str) and ("\n" in source or ": " in source):
        return source, "the YAML text"
    path = Path(source)
    try:
        return path.read_text(encoding="utf-8"), f"file {path}"
    except (OSError, UnicodeDecodeError) as error:
        raise StewartError(f"file {path} cannot be read: {error}") from error


def _refuse_unknown(content: dict[Any, Any], known: tuple[str, ...], where: str) -> None:
    """Raise StewartError for keys that nobody reads: most often a slip of the pen."""
    unknown = [str(key) for key in content if key not in known]
    if unknown:
        raise StewartError(f"{where} has unknown keys {', '.join(unknown)}; known are {', '.join(known)}")


def _semi_regular(values: Any, where: str) -> dict[str, Any]:
    """Joint points of a semi-regular design."""
    from .designs import semi_regular_points

    if not isinstance(values, dict):
        raise StewartError(f"semi_regular in {where} is {values!r}, expected the keys {', '.join(_DESIGN_KEYS)}")
    _refuse_unknown(values, _DESIGN_KEYS, f"semi_regular in {where}")
    missing = [key for key in _DESIGN_KEYS if key not in values]
    if missing:
        raise StewartError(f"semi_regular in {where} has no {', '.join(missing)} (metres, radians)")
    base, platform = semi_regular_points(**{key: float(values[key]) for key in _DESIGN_KEYS})
    return {"base_points": base, "platform_points": platform}


def _pose(values: Any, where: str) -> Array:
    """Pose (4, 4) from position and quaternion (x, y, z, w) or rotation matrix."""
    if not isinstance(values, dict):
        raise StewartError(f"home_pose in {where} is {values!r}, expected the keys position, quaternion or rotation")
    _refuse_unknown(values, ("position", "quaternion", "rotation"), f"home_pose in {where}")
    pose = np.eye(4)
    try:
        pose[:3, 3] = values["position"]
        if "rotation" in values:
            pose[:3, :3] = values["rotation"]
        elif "quaternion" in values:
            quaternion = np.array(values["quaternion"], dtype=np.float64).reshape(4)
            norm = np.linalg.norm(quaternion)
            if not 0.0 < norm < np.inf:
                raise ValueError("its quaternion has no direction")
            vector, w = quaternion[:3] / norm, quaternion[3] / norm
            cross = np.cross(vector, np.eye(3)).T
            pose[:3, :3] = np.eye(3) + 2.0 * w * cross + 2.0 * cross @ cross
    except (KeyError, TypeError, ValueError) as error:
        raise StewartError(
            f"home_pose in {where} is {values!r} ({error}), expected position [x, y, z] in metres and quaternion "
            "[x, y, z, w]"
        ) from error
    return pose
