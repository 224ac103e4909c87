"""Constraints from files: YAML beside the URDF, equalities of MJCF (MuJoCo is optional), joints that close an SDF.

YAML has loops and couplings in metres and radians, links, frames and joints by name::

    loops:
      - name: tip                                  # optional
        kind: revolute                             # one of `kinds.SIZES`
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
import warnings
from collections.abc import Iterable
from os import PathLike
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import DescriptionError, DescriptionWarning
from ..lie import quaternion, se3, so3
from ..model.mjcf import MjcfNames, compiled_mjcf, pose_of, site_frames
from ..model.model import Model
from ..model.sdf.tree import SdfJoint
from ..yaml_sections import Section, read_section
from .kinds import Coupling, Loop, UserConstraint, mimic_couplings

_SCALARS = (2, 3)  # mjtJoint: slide, hinge


def read_equalities(source: Any) -> list[Loop | Coupling]:
    """Return the equality constraints of a robot in MJCF; see `ConstraintSet.from_mjcf`.

    Warns
    -----
    DescriptionWarning
        Once, for the constraints that are neither loops nor couplings, and those that are switched off.
    """
    compiled = compiled_mjcf(source)
    names = MjcfNames(compiled)
    found: list[Loop | Coupling] = []
    missing: list[str] = []
    for k in range(compiled.neq):
        made = _constraint(compiled, k, names) if compiled.eq_active0[k] else "is switched off"
        if isinstance(made, str):
            missing.append(f"'{names.of('equality', k)}' {made}")
        else:
            found.append(made)
    if missing:
        message = f"equality constraints: {'; '.join(missing)}: not among the constraints"
        warnings.warn(message, DescriptionWarning, stacklevel=3)
    return found


def _constraint(compiled: Any, k: int, names: MjcfNames) -> Loop | Coupling | str:
    """Return a constraint, or what keeps it from being one."""
    import mujoco

    kind, name, data = mujoco.mjtEq(compiled.eq_type[k]), names.of("equality", k), compiled.eq_data[k]
    pair = int(compiled.eq_obj1id[k]), int(compiled.eq_obj2id[k])
    if kind == mujoco.mjtEq.mjEQ_JOINT:
        return _joint_equation(compiled, pair, data, name, names)
    if kind not in (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD):
        return f"is of kind {kind.name.removeprefix('mjEQ_').lower()}"
    # A weld of ``torquescale="0"`` holds its anchor alone: no rotation.
    anchor, welded = se3.from_parts(np.eye(3), data[:3]), kind == mujoco.mjtEq.mjEQ_WELD
    loop = Loop.welded if welded and data[10] != 0.0 else Loop.spherical
    if compiled.eq_objtype[k] == mujoco.mjtObj.mjOBJ_SITE:
        sites = site_frames(names)
        first, second = (sites[i] for i in pair)
        return loop(first, second, name=name)
    first, second = (names.of("body", i) for i in pair)
    placements = anchor, se3.from_parts(np.eye(3), data[3:6])
    if welded:
        placements = pose_of(data[3:6], data[6:10]), anchor
    return loop(first, second, name=name, first_placement=placements[0], second_placement=placements[1])


def _joint_equation(compiled: Any, pair: tuple[int, int], data: Any, name: str, names: MjcfNames) -> Coupling | str:
    """Return q1 - q1_0 = c0 + c1 (q2 - q2_0) as a coupling; powers of q2 are none."""
    joints = [joint for joint in pair if joint >= 0]
    if any(compiled.jnt_type[joint] not in _SCALARS for joint in joints):
        return "couples joints of more than one coordinate"
    if data[2:5].any() and len(joints) == 2:
        return "has powers of a coordinate"
    those = [names.of("joint", joint) for joint in joints]
    rest = [float(compiled.qpos0[compiled.jnt_qposadr[joint]]) for joint in joints]
    ratios = [1.0, -float(data[1])][: len(joints)]
    offset = float(data[0]) + sum(ratio * q for ratio, q in zip(ratios, rest, strict=True))
    return Coupling(dict(zip(those, ratios, strict=True)), offset, name)


_CUT_JOINTS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "universal": "universal",
    "revolute2": "universal",
    "ball": "spherical",
    "fixed": "welded",
}


def closes_a_loop(model: Model, joint: SdfJoint) -> bool:
    """Return whether anything moves between the links of a joint, besides it.

    Raises DescriptionError for a model that is of another file.
    """
    for link in (joint.parent, joint.child):
        if link not in model.frames:
            raise DescriptionError(
                f"{joint.label}: the model has no link '{link}'; the one that Model.from_sdf made of the same expected",
                name=joint.name,
                value=link,
            )
    return model.frames[joint.parent].body != model.frames[joint.child].body


def loop_of(joint: SdfJoint) -> Loop:
    """Return the loop that a joint closes; it is closed as the file puts the links.

    Raises DescriptionError for joints that no cut joint stands for; names the joint.
    """
    kind = _CUT_JOINTS.get(joint.kind)
    if kind is None or (len(joint.axes) == 2 and not joint.perpendicular):
        what = "screw" if kind is None else f"{joint.kind} joint whose axes are not perpendicular"
        raise DescriptionError(
            f"{joint.label}: it closes a loop, and no loop can be closed by a {what}; another joint of the loop is "
            "expected to be cut (write it behind this one, or with <must_be_loop_joint>)",
            name=joint.name,
            value=joint.kind,
            expected=", ".join(_CUT_JOINTS),
        )
    axes = [axis.direction for axis in joint.axes]
    return Loop(
        kind,
        joint.parent,
        joint.child,
        joint.name,
        axis=axes[0] if axes else None,
        second_axis=axes[-1] if kind in ("revolute", "universal") else None,
        first_placement=joint.in_parent,
        second_placement=joint.in_child,
    )


_KEYS = ("loops", "couplings", "mimics")
_LOOP_KEYS = ("name", "kind", "first", "second", "axis", "second_axis", "length")
_END_KEYS = ("frame", "position", "rpy", "quaternion")
_GEAR_KEYS = ("name", "follower", "leader", "ratio", "offset")
_COUPLING_KEYS = ("name", "coefficients", "offset")


def read_constraints(source: str | PathLike[str], model: Model) -> list[Loop | Coupling]:
    """Return the loops and couplings of YAML text, or of the YAML file with that path; see `yaml_sections`.

    Raises DescriptionError for what cannot be read, missing or unknown keys, or values of the wrong kind; names the
    loop.
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

    Raises DescriptionError for a user constraint, which is a function.
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
