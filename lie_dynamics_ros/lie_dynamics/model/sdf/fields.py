"""Elements of an SDF that describe the motion, and their values: each refused by name."""

from __future__ import annotations

import math
import re
from typing import NoReturn
from xml.etree.ElementTree import Element

import numpy as np

from ...arrays import AnyArray
from ...errors import DescriptionError
from ...lie import quaternion, se3, so3
from ...texts import LARGEST, plain_number, quoted, shortened
from ...xml_elements import MAX_TEXT, ElementReader, short_name
from ..urdf.fields import QUATERNION_TOLERANCE, Strangers

#: Versions of the format that are read, by what <sdf> says.
VERSIONS = tuple((1, minor) for minor in range(4, 13))

_LIMITS = ("lower", "upper", "effort", "velocity")
_DYNAMICS = ("damping", "friction", "spring_reference", "spring_stiffness")
_AXIS = ("xyz", "use_parent_model_frame", "dynamics", "limit", "mimic", "initial_position")
#: Elements that are read, by the element that they are in.
READ: dict[str, tuple[str, ...]] = {
    "sdf": ("world", "model"),
    "world": ("model", "joint", "frame", "gravity", "physics", "include", "state"),
    "model": ("model", "link", "joint", "frame", "pose", "static", "include"),
    "include": ("uri", "name", "pose", "static", "placement_frame"),
    "frame": ("pose",),
    "link": ("pose", "inertial", "gravity", "kinematic", "velocity_decay"),
    "velocity_decay": ("linear", "angular"),
    "inertial": ("mass", "pose", "inertia", "fluid_added_mass"),
    "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
    "joint": ("parent", "child", "pose", "axis", "axis2", "thread_pitch", "screw_thread_pitch", "physics"),
    "axis": _AXIS,
    "axis2": _AXIS,
    "limit": _LIMITS,
    "dynamics": _DYNAMICS,
    "mimic": ("multiplier", "offset", "reference"),
    "physics": ("simbody", "gravity"),
    "simbody": ("must_be_loop_joint",),
}
#: Elements that the format has and that say nothing of the motion of a model.
PASSED: dict[str, tuple[str, ...]] = {
    "model": ("plugin", "gripper", "self_collide", "allow_auto_disable", "enable_wind"),
    "link": (
        *("collision", "visual", "sensor", "projector", "audio_sink", "audio_source", "battery", "light", "plugin"),
        *("particle_emitter", "self_collide", "enable_wind", "must_be_base_link"),
    ),
    "joint": ("sensor", "plugin", "gearbox_ratio", "gearbox_reference_body"),
    "inertial": ("density", "auto_inertia_params"),
    "inertia": (),
    "axis": (),
    "axis2": (),
    "limit": ("stiffness", "dissipation"),
    "dynamics": (),
    "mimic": (),
}
"""Elements known here that are neither read nor passed over: they are reported by name."""


def read_sdf_element(source: str | bytes, origin: str) -> tuple[Element, tuple[int, int]]:
    """Return the <sdf> of XML text or bytes, and its version.

    Raises
    ------
    DescriptionError
        For what `ElementReader.read` refuses, and what is no SDF, or of a version that is not known.
    """
    reader = _Reader(origin, "SDF")
    reader.read(source)
    assert reader.root is not None
    return reader.root, _version(reader.root, origin)


class _Reader(ElementReader):
    """Keeps what is read, and the names of strangers."""

    with_text = True
    root: Element | None = None

    def checked(self, tag: str, attributes: dict[str, str]) -> str:
        if (
            tag.startswith("xacro:") and not self._passed and (not self._open or self._open[-1].tag in READ)
        ) or "${" in attributes.get("name", ""):
            raise self.raw_xacro()
        return tag

    def wanted(self, tag: str, depth: int) -> bool:
        around = self._open[-1].tag
        if tag in READ.get(around, ()):
            return True
        return around in PASSED and tag not in PASSED[around]

    def take(self, element: Element, depth: int) -> None:
        if depth:
            self._open[-1].append(element)
            return
        if element.tag != "sdf":
            raise self.wrong_root(element.tag, "sdf")
        self.root = element


def _version(root: Element, origin: str) -> tuple[int, int]:
    text = root.get("version", "")
    for version in VERSIONS:
        if text == f"{version[0]}.{version[1]}":
            return version
    known = ", ".join(f"{major}.{minor}" for major, minor in VERSIONS)
    what = f"unknown SDF version {quoted(text)}" if text else "attribute 'version' of <sdf> is missing"
    hint = "; `gz sdf -p FILE` prints it in a later version" if re.fullmatch(r"1\.[0-3]", text) else ""
    raise DescriptionError(f"{origin}: {what}; known are {known}{hint}", name=origin, value=text, expected=known)


_BLANKS = re.compile(r"[ \t\r\n]+")
_TRUE, _FALSE = ("true", "1"), ("false", "0")
_INFINITE = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
#: Attributes that are read, by element; those of others are not looked at.
_ATTRIBUTES = {
    "pose": ("relative_to", "rotation_format", "degrees"),
    "xyz": ("expressed_in",),
    "mimic": ("joint", "axis"),
}


class SdfFields:
    """The children of an element: of each kind the first.

    Parameters
    ----------
    element : Element
        The element.
    kind, name : str
        The link, joint, ... that it belongs to.
    strangers : Strangers
        Takes what is not known.
    """

    def __init__(self, element: Element, kind: str, name: str, strangers: Strangers) -> None:
        self.element, self._kind, self._name, self._strangers = element, kind, name, strangers
        label = self.label = f"{kind} '{name}'" if name else kind
        self._found: dict[str, Element] = {}
        tag = element.tag
        repeated = ("model", "link", "joint", "frame", "include")
        for child in element:
            if child.tag not in READ.get(tag, ()):
                if tag in PASSED:
                    strangers.note(f"element <{shortened(child.tag)}> in <{tag}>", label)
                continue
            if child.tag in self._found:
                if child.tag not in repeated:
                    strangers.note(f"a second <{child.tag}> in one <{tag}>", label)
                continue
            self._found[child.tag] = child
            for attribute in child.attrib if child.tag in _ATTRIBUTES else ():
                if attribute not in _ATTRIBUTES[child.tag] and not (child.tag == "pose" and attribute == "frame"):
                    strangers.note(f"attribute '{shortened(attribute)}' of <{child.tag}>", label)

    def has(self, tag: str) -> bool:
        """Return whether there is such a child."""
        return tag in self._found

    def inside(self, tag: str) -> SdfFields:
        """Return the fields of a child; empty ones where it is not there."""
        found = self._found.get(tag)
        return SdfFields(Element(tag) if found is None else found, self._kind, self._name, self._strangers)

    def attribute(self, tag: str, attribute: str, default: str = "") -> str:
        """Return what an attribute of a child holds."""
        found = self._found.get(tag)
        value = default if found is None else found.get(attribute, default)
        return short_name(value, f"{self.label}: '{attribute}' of <{tag}>")

    def text(self, tag: str) -> str:
        """Return what a child holds, without blanks around; empty where it is not there."""
        found = self._found.get(tag)
        text = ("" if found is None else found.text) or ""
        if len(text) > MAX_TEXT:
            self._refuse(tag, text, f"at most {MAX_TEXT} characters")
        return text.strip(" \t\r\n")

    def name(self, tag: str) -> str:
        """Return the name that a child holds; it must be there."""
        name = self.text(tag)
        if not name:
            message = f"{self.label}: element <{tag}> is missing or empty"
            raise DescriptionError(message, name=self._name, expected=f"<{tag}>")
        return short_name(name, f"{self.label}: <{tag}>")

    def boolean(self, tag: str, default: bool = False) -> bool:
        """Return the switch that a child holds."""
        if tag not in self._found:
            return default
        text = self.text(tag)
        if text.lower() not in _TRUE + _FALSE:
            self._refuse(tag, text, "true or false")
        return text.lower() in _TRUE

    def number(self, tag: str, default: float, infinite: bool = False) -> float:
        """Return the number that a child holds; inf and -inf count only where requested."""
        if tag not in self._found:
            return default
        text = self.text(tag)
        value = _number(text, infinite)
        if value is None:
            self._refuse(tag, text, "a plain decimal number" + (" or inf" if infinite else ""))
        return value

    def vector(self, tag: str, size: int) -> AnyArray:
        """Return the numbers that a child holds; it must be there."""
        if tag not in self._found:
            message = f"{self.label}: element <{tag}> is missing"
            raise DescriptionError(message, name=self._name, expected=f"<{tag}>")
        text = self.text(tag)
        parts = _BLANKS.split(text)
        values = [value for part in parts if (value := _number(part, False)) is not None]
        if len(parts) != size or len(values) != size:
            self._refuse(tag, text, f"{size} plain decimal numbers with blanks between")
        return np.array(values)

    def pose(self) -> AnyArray:
        """Return the pose (4, 4) that <pose> holds; the identity where it is empty or not there."""
        if not self.text("pose"):
            return np.eye(4)
        form = self.attribute("pose", "rotation_format") or "euler_rpy"
        if form == "quat_xyzw":
            values = self.vector("pose", 7)
            length = float(np.linalg.norm(values[3:]))
            if not abs(length - 1.0) <= QUATERNION_TOLERANCE:
                self._refuse("pose", self.text("pose"), f"a quaternion of length 1, not {length:.6g}")
            rotation = quaternion.to_matrix(values[3:] / length)
        elif form == "euler_rpy":
            values = self.vector("pose", 6)
            degrees = self.attribute("pose", "degrees") or "false"
            if degrees.lower() not in _TRUE + _FALSE:
                self._refuse("pose", degrees, "true or false", "'degrees' of ")
            angles = np.radians(values[3:]) if degrees.lower() in _TRUE else values[3:]
            rotation = so3.from_rpy(angles) if angles.any() else np.eye(3)
        else:
            self._refuse("pose", form, "euler_rpy or quat_xyzw", "'rotation_format' of ")
        return np.asarray(se3.from_parts(rotation, values[:3]))

    def _refuse(self, tag: str, text: str, expected: str, what: str = "") -> NoReturn:
        around = "" if self.element.tag == self._kind else f" of its <{self.element.tag}>"
        raise DescriptionError(
            f"{self.label}: {what}<{tag}>{around} is {quoted(text)}, expected {expected}",
            name=self._name,
            value=text,
            expected=expected,
        )


def _number(text: str, infinite: bool) -> float | None:
    value = plain_number(text)
    if infinite:
        return _INFINITE.get(text.lower(), value)
    return value if value is not None and abs(value) <= LARGEST else None
