"""Loops and couplings in YAML, beside the URDF: metres and radians, links, frames and joints by name.

::

    loops:
      - name: tip                                  # optional
        kind: revolute                             # one of `cut_joints.SIZES`
        first: forearm_tip                         # a link, or
        second: {frame: base, position: [0.4, 0, 0], rpy: [0, 0, 1.57]}      # quaternion: [x, y, z, w] in place of rpy
        axis: [0, 0, 1]                            # optional, in the first frame
        second_axis: [0, 0, 1]                     # optional, in the second
        length: 0.3                                # of "distance"
    couplings:
      - {follower: finger_2, leader: finger_1, ratio: 1.0, offset: 0.0}      # q_follower = ratio q_leader + offset
      - {name: differential, coefficients: {left: 1, right: 1, carrier: -2}, offset: 0}
    mimics: true                                   # a coupling for each mimic joint of the URDF
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ..errors import DescriptionError, LieDynamicsError
from ..lie import quaternion, se3, so3
from ..model.model import Model
from .coupling import Coupling, mimic_couplings
from .loop import Loop

Array = npt.NDArray[np.float64]

_KEYS = ("loops", "couplings", "mimics")
_LOOP_KEYS = ("name", "kind", "first", "second", "axis", "second_axis", "length")
_END_KEYS = ("frame", "position", "rpy", "quaternion")
_GEAR_KEYS = ("name", "follower", "leader", "ratio", "offset")
_COUPLING_KEYS = ("name", "coefficients", "offset")


def read_constraints(source: str | PathLike[str], model: Model) -> list[Loop | Coupling]:
    """Return the loops and couplings of YAML text, or of the YAML file with that path.

    Raises
    ------
    DescriptionError
        For what cannot be read, missing or unknown keys, or values of the wrong kind; names the loop.
    """
    content, where = _load(source)
    if not isinstance(content, dict):
        _refuse(f"{where}: the keys {list(_KEYS)} are expected at the top, got {type(content).__name__}")
    _known(content, _KEYS, where)
    found: list[Loop | Coupling] = []
    for k, entry in enumerate(_entries(content, "loops", where)):
        found.append(_loop(entry, f"loop {k + 1} in {where}"))
    for k, entry in enumerate(_entries(content, "couplings", where)):
        found.append(_coupling(entry, f"coupling {k + 1} in {where}"))
    mimics = content.get("mimics", False)
    if not isinstance(mimics, bool):
        _refuse(f"{where}: mimics must be true or false, got {mimics!r}", mimics)
    return [*found, *(mimic_couplings(model) if mimics else ())]


def _load(source: str | PathLike[str]) -> tuple[Any, str]:
    import yaml  # type: ignore[import-untyped]

    text = str(source)
    is_text = isinstance(source, str) and ("\n" in text or ": " in text)
    where = "YAML text"
    if not is_text:
        where = text
        try:
            text = Path(source).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            _refuse(f"cannot read the constraints of {where}: {error}")
    try:
        return yaml.safe_load(text), where
    except yaml.YAMLError as error:
        _refuse(f"{where} is no YAML: {error}")


def _entries(content: dict[str, Any], key: str, where: str) -> list[Any]:
    entries = content.get(key)
    if entries is None:
        return []
    if not isinstance(entries, list):
        _refuse(f"{where}: {key} must be a list, each entry after a dash, got {entries!r}", entries)
    return entries


def _loop(entry: Any, where: str) -> Loop:
    where = _named(entry, where)
    _known(entry, _LOOP_KEYS, where)
    for key in ("kind", "first", "second"):
        if key not in entry:
            _refuse(f"{where}: the key {key!r} is missing; {list(_LOOP_KEYS)} are known", entry)
    (first, first_pose), (second, second_pose) = _end(entry["first"], where), _end(entry["second"], where)
    length = entry.get("length")
    return Loop(
        str(entry["kind"]),
        first,
        second,
        str(entry.get("name", "")),
        entry.get("axis"),
        entry.get("second_axis"),
        None if length is None else float(_numbers(length, (), f"{where}: length")),
        first_pose,
        second_pose,
    )


def _end(value: Any, where: str) -> tuple[str, Array]:
    """Return the name of a link or frame, and the pose of the loop's frame in it."""
    pose = np.eye(4)
    if isinstance(value, str):
        return value, pose
    if not isinstance(value, dict) or "frame" not in value:
        _refuse(f"{where}: the name of a link is expected, or keys {list(_END_KEYS)}, got {value!r}", value)
    _known(value, _END_KEYS, where)
    if "rpy" in value and "quaternion" in value:
        _refuse(f"{where}: rpy or quaternion is expected, not both", value)
    position = _numbers(value.get("position", (0.0, 0.0, 0.0)), (3,), f"{where}: position")
    if "quaternion" in value:
        x = _numbers(value["quaternion"], (4,), f"{where}: quaternion")
        if not np.linalg.norm(x) > 0.0:
            _refuse(f"{where}: a quaternion x, y, z, w other than zero is expected, got {value['quaternion']}", value)
        rotation = quaternion.to_matrix(quaternion.normalize(x))
    else:
        rotation = so3.from_rpy(_numbers(value.get("rpy", (0.0, 0.0, 0.0)), (3,), f"{where}: rpy"))
    pose = se3.from_parts(rotation, position)
    return str(value["frame"]), np.asarray(pose)


def _coupling(entry: Any, where: str) -> Coupling:
    where = _named(entry, where)
    if "coefficients" in entry:
        _known(entry, _COUPLING_KEYS, where)
        given = entry["coefficients"]
        if not isinstance(given, dict):
            _refuse(f"{where}: coefficients must be joint: number, got {given!r}", given)
        coefficients = {str(k): float(_numbers(v, (), f"{where}: coefficient of {k}")) for k, v in given.items()}
        return Coupling(coefficients, _number(entry, "offset", 0.0, where), str(entry.get("name", "")))
    _known(entry, _GEAR_KEYS, where)
    for key in ("follower", "leader"):
        if key not in entry:
            _refuse(f"{where}: follower and leader, or coefficients, are expected, got {entry!r}", entry)
    ratio, offset = _number(entry, "ratio", 1.0, where), _number(entry, "offset", 0.0, where)
    return Coupling.gear(str(entry["follower"]), str(entry["leader"]), ratio, offset, str(entry.get("name", "")))


def _named(entry: Any, where: str) -> str:
    if not isinstance(entry, dict):
        _refuse(f"{where}: keys with values are expected, got {entry!r}", entry)
    return f"{where} ({entry['name']!r})" if "name" in entry else where


def _known(entry: dict[str, Any], keys: tuple[str, ...], where: str) -> None:
    unknown = [key for key in entry if key not in keys]
    if unknown:
        _refuse(f"{where}: unknown keys {unknown}, known are {list(keys)}", unknown)


def _number(entry: dict[str, Any], key: str, default: float, where: str) -> float:
    return float(_numbers(entry.get(key, default), (), f"{where}: {key}"))


def _numbers(value: Any, shape: tuple[int, ...], what: str) -> Array:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.full(1, np.nan)
    if array.shape != shape or not np.isfinite(array).all() or isinstance(value, bool):
        expected = f"{shape[0]} finite numbers are" if shape else "a finite number is"
        _refuse(f"{what}: {expected} expected, got {value!r}", value)
    return array


def _refuse(message: str, value: Any = None) -> NoReturn:
    error: LieDynamicsError = DescriptionError(message, value=value)
    raise error from None
