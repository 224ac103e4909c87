"""Values of the elements in an SDF: numbers, vectors, poses, names and switches, each refused by name."""

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
from ...xml_elements import MAX_TEXT, short_name
from ..urdf.fields import QUATERNION_TOLERANCE, Strangers
from .elements import PASSED, READ

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
