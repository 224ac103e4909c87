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

import json
from collections.abc import Iterable
from os import PathLike

import numpy as np

from ..arrays import Array
from ..errors import DescriptionError
from ..lie import quaternion, se3, so3
from ..model.model import Model
from ..yaml_sections import Section, read_section
from .coupling import Coupling, mimic_couplings
from .loop import Loop
from .user import UserConstraint

_KEYS = ("loops", "couplings", "mimics")
_LOOP_KEYS = ("name", "kind", "first", "second", "axis", "second_axis", "length")
_END_KEYS = ("frame", "position", "rpy", "quaternion")
_GEAR_KEYS = ("name", "follower", "leader", "ratio", "offset")
_COUPLING_KEYS = ("name", "coefficients", "offset")


def read_constraints(source: str | PathLike[str], model: Model) -> list[Loop | Coupling]:
    """Return the loops and couplings of YAML text, or of the YAML file with that path; see `yaml_text` for its limits.

    Raises
    ------
    DescriptionError
        For what cannot be read, missing or unknown keys, or values of the wrong kind; names the loop.
    """
    top = read_section(source, _KEYS, DescriptionError)
    found: list[Loop | Coupling] = [_loop(entry.know(_LOOP_KEYS)) for entry in top.sections("loops", "loop")]
    found += [_coupling(entry) for entry in top.sections("couplings", "coupling")]
    return [*found, *(mimic_couplings(model) if top.boolean("mimics", False) else ())]


def _loop(entry: Section) -> Loop:
    entry.need(("kind", "first", "second"), f"of {', '.join(_LOOP_KEYS)}")
    (first, first_pose), (second, second_pose) = _end(entry, "first"), _end(entry, "second")
    return Loop(
        entry.text("kind"),
        first,
        second,
        entry.text("name"),
        entry.numbers("axis", (3,)) if "axis" in entry else None,
        entry.numbers("second_axis", (3,)) if "second_axis" in entry else None,
        entry.number("length") if "length" in entry else None,
        first_pose,
        second_pose,
    )


def _end(entry: Section, key: str) -> tuple[str, Array]:
    """Return the name of a link or frame, and the pose of the loop's frame in it."""
    end = entry.text_or_section(key, _END_KEYS)
    if isinstance(end, str):
        return end, np.eye(4)
    end.need(("frame",), "the name of a link or frame")
    if "rpy" in end and "quaternion" in end:
        end.refuse("rpy or quaternion is expected, not both")
    if "quaternion" in end:
        x = end.numbers("quaternion", (4,))
        if not x.any():
            end.refuse("a quaternion x, y, z, w other than zero is expected")
        rotation = quaternion.to_matrix(quaternion.normalize(x))
    else:
        rotation = so3.from_rpy(end.numbers("rpy", (3,), (0.0, 0.0, 0.0)))
    return end.text("frame"), np.asarray(se3.from_parts(rotation, end.numbers("position", (3,), (0.0, 0.0, 0.0))))


def _coupling(entry: Section) -> Coupling:
    if "coefficients" in entry:
        entry.know(_COUPLING_KEYS)
        coefficients = entry.mapping_of_numbers("coefficients")
        return Coupling(coefficients, entry.number("offset", 0.0), entry.text("name"))
    entry.know(_GEAR_KEYS).need(("follower", "leader"), "or coefficients")
    return Coupling.gear(
        entry.text("follower"),
        entry.text("leader"),
        entry.number("ratio", 1.0),
        entry.number("offset", 0.0),
        entry.text("name"),
    )


def write_constraints(constraints: Iterable[Loop | Coupling | UserConstraint]) -> str:
    """Return loops and couplings as YAML that `read_constraints` reads back, to the last bit but for rotations.

    Raises
    ------
    DescriptionError
        For a user constraint, which is a function.
    """
    lines: dict[str, list[str]] = {"loops": [], "couplings": []}
    for one in constraints:
        if isinstance(one, Loop):
            lines["loops"].append(_written_loop(one))
        elif isinstance(one, Coupling):
            coefficients = ", ".join(f"{_quoted(key)}: {value!r}" for key, value in one.coefficients.items())
            lines["couplings"].append(
                f"  - {{name: {_quoted(one.name)}, coefficients: {{{coefficients}}}, offset: {float(one.offset)!r}}}\n"
            )
        else:
            raise DescriptionError(f"constraint {one.name!r} is a function, which YAML cannot hold", name=one.name)
    return "".join(f"{key}:\n{''.join(entries)}" for key, entries in lines.items() if entries)


def _written_loop(loop: Loop) -> str:
    rows = [("name", _quoted(loop.name)), ("kind", loop.kind)]
    for key in ("first", "second"):
        name, pose = getattr(loop, key), getattr(loop, f"{key}_placement")
        text = _quoted(name)
        if not np.array_equal(pose, np.eye(4)):
            turned = not np.array_equal(pose[:3, :3], np.eye(3))
            rotation = f", quaternion: {quaternion.from_matrix(pose[:3, :3]).tolist()}" if turned else ""
            text = f"{{frame: {text}, position: {pose[:3, 3].tolist()}{rotation}}}"
        rows.append((key, text))
    rows += [
        (key, str(getattr(loop, key).tolist())) for key in ("axis", "second_axis") if getattr(loop, key) is not None
    ]
    if loop.length is not None:
        rows.append(("length", repr(float(loop.length))))
    return "".join(f"  {'- ' if k == 0 else '  '}{key}: {text}\n" for k, (key, text) in enumerate(rows))


def _quoted(name: str) -> str:
    """Return a name so that YAML reads it as text."""
    return json.dumps(name, ensure_ascii=False)
