"""Writer of URDF: a model as text that `Model.from_urdf` reads back, or the name of what URDF cannot hold."""

from __future__ import annotations

import math
from typing import Any, NoReturn
from xml.etree import ElementTree

import numpy as np

from ...arrays import Array
from ...errors import DescriptionError
from ...lie import se3, so3
from ..model_data import ModelData
from ..pack import get_placement
from ..structure import Joint

Element = ElementTree.Element
_KINDS = {"revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "planar": "planar",
          "free": "floating"}  # fmt: skip
#: What a screw adds to its joint's name, and to its body's: a slide that mimics it, and what turns alone.
RISE, _TURNED = "_rise", "_turned"


def write_urdf(model: ModelData, without_armature: bool = False) -> str:
    """Return a model as URDF; see `Model.to_urdf`."""
    if model.body_springs:
        name = model.body_springs[0].name
        raise DescriptionError(f"spring {name!r}: URDF has none; with_body_springs([]) leaves them out", name=name)
    root = Element("robot", name=model.name)
    base = next(iter(model.frames))  # the inertial frame
    bodies = set(model.body_names)
    screws = [joint for joint in model.joints if joint.kind == "helical"]
    added = [name for joint in screws for name in (joint.name + RISE, joint.body + _TURNED)]
    taken = sorted({joint.name for joint in model.joints}.union(model.frames).intersection(added))
    if taken:
        raise DescriptionError(f"{taken[0]!r}: the name is needed for a screw in URDF", name=taken[0])
    ElementTree.SubElement(root, "link", name=base)
    for joint in model.joints:
        _write_link(root, model, joint.body)
        _write_joint(root, model, joint, base, without_armature)
    names = {joint.name for joint in model.joints}.union(added)
    for name, frame in model.frames.items():
        if name in bodies or name == base:
            continue
        ElementTree.SubElement(root, "link", name=name)
        weld = f"{name}_fixed"
        while weld in names:
            weld += "_"
        names.add(weld)
        parent = base if frame.body < 0 else model.body_names[frame.body]
        _connect(root, weld, "fixed", parent, name, frame.placement)
    ElementTree.indent(root)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _numbers(*values: float) -> str:
    return " ".join(repr(float(value)) for value in values)


def _place(element: Element, placement: Array) -> None:
    rotation, position = se3.to_parts(placement)
    ElementTree.SubElement(element, "origin", xyz=_numbers(*position), rpy=_numbers(*so3.to_rpy(rotation)))


def _connect(root: Element, name: str, kind: str, parent: str, child: str, placement: Array) -> Element:
    element = ElementTree.SubElement(root, "joint", name=name, type=kind)
    _place(element, placement)
    ElementTree.SubElement(element, "parent", link=parent)
    ElementTree.SubElement(element, "child", link=child)
    return element


def _write_link(root: Element, model: ModelData, body: str) -> None:
    link = ElementTree.SubElement(root, "link", name=body)
    inertia = model.inertia(body)
    if inertia.mass == 0.0 and not np.any(inertia.inertia):
        return
    inertial = ElementTree.SubElement(link, "inertial")
    ElementTree.SubElement(inertial, "origin", xyz=_numbers(*inertia.com), rpy="0 0 0")
    ElementTree.SubElement(inertial, "mass", value=_numbers(inertia.mass))
    figures = np.asarray(inertia.inertia)
    keys = {f"i{'xyz'[i]}{'xyz'[k]}": _numbers(figures[i, k]) for i in range(3) for k in range(i, 3)}
    ElementTree.SubElement(inertial, "inertia", keys)


def _write_joint(root: Element, model: ModelData, joint: Joint, base: str, without_armature: bool) -> None:
    if joint.coupled:
        _refuse(joint, "is coupled to the joint it follows: write the model without coupled mimics")
    kind = "revolute" if joint.kind == "helical" else _KINDS.get(joint.kind)
    if kind is None:
        _refuse(joint, f"is {joint.kind}; URDF has joints that are {', '.join(_KINDS)} and fixed", joint.kind)
    limits = model.limits
    terms = ("damping", "friction") if without_armature else ("damping", "friction", "armature")
    values = {key: getattr(limits, key)[joint.v_slice] for key in terms}
    values |= {key: getattr(limits, key)[joint.v_slice] for key in ("velocity", "effort", "acceleration")}
    values |= {key: getattr(limits, key)[joint.v_slice] for key in ("deceleration", "jerk")}
    for key, value in values.items():
        if np.any(value != value[0]):
            _refuse(joint, f"has {key} {value.tolist()}; URDF has one number for a joint", value)
    lower, upper = (getattr(limits, key)[joint.q_slice] for key in ("lower", "upper"))
    bounded = np.isfinite(lower).any() or np.isfinite(upper).any()
    if bounded and kind not in ("revolute", "prismatic"):
        _refuse(joint, f"is {joint.kind} and has position limits, which URDF has for revolute and prismatic joints")
    if kind == "revolute" and not bounded:
        kind = "continuous"  # most readers lock a revolute joint without limits at zero
    parent = base if joint.parent_body not in model.frames else joint.parent_body
    child = joint.body + _TURNED if joint.kind == "helical" else joint.body
    element = _connect(root, joint.name, kind, parent, child, get_placement(model.table, joint))
    if kind != "floating":
        axis = joint.type.steps[-1].axis
        ElementTree.SubElement(element, "axis", xyz=_numbers(*axis))
    first = {key: float(value[0]) for key, value in values.items()}
    rates = {key: _numbers(first[key]) for key in ("acceleration", "deceleration", "jerk") if first[key] != math.inf}
    ends = {"lower": _numbers(lower[0]), "upper": _numbers(upper[0])} if kind in ("revolute", "prismatic") else {}
    if ends or rates or min(first["effort"], first["velocity"]) != math.inf:
        both = {key: _numbers(first[key]) for key in ("effort", "velocity")}
        ElementTree.SubElement(element, "limit", ends | both | rates)
    losses = {key: _numbers(first[key]) for key in terms if first[key]}
    if losses:
        ElementTree.SubElement(element, "dynamics", losses)
    if joint.mimic is not None:
        _mimic(element, *joint.mimic)
    if joint.kind == "helical":  # a slide that follows the turn
        step = joint.type.steps[-1]
        ElementTree.SubElement(root, "link", name=child)
        slide = _connect(root, joint.name + RISE, "prismatic", child, joint.body, np.eye(4))
        ElementTree.SubElement(slide, "axis", xyz=_numbers(*step.axis))
        free = {"lower": -math.inf, "upper": math.inf, "effort": math.inf, "velocity": math.inf}
        ElementTree.SubElement(slide, "limit", {key: _numbers(value) for key, value in free.items()})
        _mimic(slide, joint.name, step.translation, 0.0)


def _mimic(element: Element, followed: str, multiplier: float, offset: float) -> None:
    figures = {"multiplier": _numbers(multiplier), "offset": _numbers(offset)}
    ElementTree.SubElement(element, "mimic", {"joint": followed} | figures)


def _refuse(joint: Joint, what: str, value: Any = None) -> NoReturn:
    raise DescriptionError(f"joint '{joint.name}': {what}", name=joint.name, value=value)
