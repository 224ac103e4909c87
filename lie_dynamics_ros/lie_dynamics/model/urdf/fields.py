"""Elements of a URDF that describe the motion, and their attributes: each refused by name.

Visuals, collisions, meshes, transmissions, sensors and extensions are passed over while the text is read, so nothing
in them can be slow, noisy or wrong, and what is built is in proportion to links and joints. What is not known in a
<joint> or <inertial> is noted, so that it is reported rather than dropped.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import NoReturn
from xml.etree.ElementTree import Element

import numpy as np

from ...arrays import AnyArray
from ...errors import DescriptionError
from ...lie import quaternion, so3
from ...texts import LARGEST, plain_number, quoted, shortened
from ...xml_elements import ElementReader, short_name

#: Elements that are proposed for closed loops, which no version of the format has.
CLOSINGS = ("constraint", "loop_joint", "loop")
#: Versions of the format that are read, by what <robot> says.
VERSIONS = ((1, 0), (1, 1), (1, 2))


@dataclass
class RobotElement:
    """A <robot>: its name, version, namespace ("" or "{uri}"), and its <link> and <joint> elements by name.

    Of a <link>, only its <inertial> elements are kept whole, of the others the names; of a <joint>, everything down
    to the children of its children. What would close loops, which are proposed for the format, is kept by its tag.
    """

    name: str
    version: tuple[int, int]
    namespace: str
    links: list[Element] = field(default_factory=list)
    joints: list[Element] = field(default_factory=list)
    closings: list[str] = field(default_factory=list)


def read_robot(source: str | bytes, origin: str) -> RobotElement:
    """Return the robot that XML text or bytes describe.

    Raises
    ------
    DescriptionError
        For what `ElementReader.read` refuses; what is no URDF, or of a version that is not known; links and joints
        without a name.
    """
    reader = _Reader(origin, "URDF", namespaces=True)
    reader.read(source)
    return reader.robot()


class _Reader(ElementReader):
    """Keeps elements down to a depth that depends on where they are."""

    _robot: RobotElement | None = None

    def robot(self) -> RobotElement:
        assert self._robot is not None
        return self._robot

    def checked(self, tag: str, attributes: dict[str, str]) -> str:
        if "}" in tag:
            if "xacro" in tag[: tag.index("}")] and not self._passed and len(self._open) <= 1:
                raise self.raw_xacro()  # what is left of it further in says nothing of links and joints
            tag = "{" + tag
        named = tag.endswith(("link", "joint", "robot"))
        if named and any("${" in value or "$(" in value for value in attributes.values()):
            raise self.raw_xacro()
        return tag

    def take(self, element: Element, depth: int) -> None:
        if depth == 0:
            self._robot = self._begin(element)
        elif depth == 1:
            self._add(element)
        else:
            self._open[-1].append(element)

    def wanted(self, tag: str, depth: int) -> bool:
        names = self.robot().namespace
        if depth == 1:
            if tag.removeprefix(names) in CLOSINGS:
                self.robot().closings.append(tag.removeprefix(names))
            return tag in (names + "link", names + "joint")
        if self._open[1].tag == names + "link":
            return depth == 2 or (depth <= 4 and self._open[2].tag == names + "inertial")
        return depth <= 3

    def _begin(self, root: Element) -> RobotElement:
        namespace = root.tag[: root.tag.index("}") + 1] if "}" in root.tag else ""
        tag = root.tag.removeprefix(namespace)
        if tag != "robot":
            raise self.wrong_root(tag, "robot")
        name = root.get("name", "") or "unnamed"
        return RobotElement(short_name(name, "the robot"), _version(root.get("version", "1.0"), name), namespace)

    def _add(self, element: Element) -> None:
        robot = self.robot()
        what = element.tag.removeprefix(robot.namespace)
        elements = robot.links if what == "link" else robot.joints
        name = element.get("name", "")
        if not name.strip():
            message = f"{what} number {len(elements) + 1} has no name"
            raise DescriptionError(message, value=name, expected="a name")
        short_name(name, f"{what} number {len(elements) + 1}")
        elements.append(element)


def _version(text: str, robot: str) -> tuple[int, int]:
    for version in VERSIONS:
        if text == f"{version[0]}.{version[1]}":
            return version
    known = ", ".join(f"{major}.{minor}" for major, minor in VERSIONS)
    raise DescriptionError(
        f"robot '{robot}': unknown URDF version {quoted(text)}; known are {known}",
        name=robot,
        value=text,
        expected=known,
    )


def local_name(tag: str) -> str:
    """Return a tag or attribute without its namespace, short enough for a message."""
    return shortened(tag[tag.find("}") + 1 :])


_ORIGIN = ("xyz", "rpy", "quat_xyzw")
#: Elements that are known, with the attributes that are read; None where the format has attributes that say nothing
#: of the motion.
KNOWN: dict[str, dict[str, tuple[str, ...] | None]] = {
    "inertial": {"origin": _ORIGIN, "mass": ("value",), "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")},
    "joint": {
        "origin": _ORIGIN,
        "parent": ("link",),
        "child": ("link",),
        "axis": ("xyz",),
        "limit": ("lower", "upper", "effort", "velocity", "acceleration", "deceleration", "jerk"),
        "dynamics": ("damping", "friction", "armature"),
        "mimic": ("joint", "multiplier", "offset"),
        "calibration": None,
        "safety_controller": None,
    },
}
_UNTURNED = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])
_OWN = {"inertial": (), "joint": ("name", "type")}
#: By how much the length of a quaternion may differ from 1: figures of two digits.
QUATERNION_TOLERANCE = 1e-2
_BLANKS = re.compile(r"[ \t\r\n]+")
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE | re.ASCII)


class Strangers:
    """Content of a file that is not read, with its links and joints.

    Parameters
    ----------
    what : str
        What is true of all of them.
    """

    def __init__(self, what: str = "not known in URDF, and not used") -> None:
        self._what = what
        self._where: dict[str, list[str]] = {}

    def note(self, what: str, label: str) -> None:
        """Remember one more place."""
        self._where.setdefault(what, []).append(label)

    def sentence(self) -> str:
        """Return one sentence on all of them; empty where there are none."""
        if not self._where:
            return ""
        kinds = [
            f"{what} ({places[0]}{f' and {len(places) - 1} more' if len(places) > 1 else ''})"
            for what, places in self._where.items()
        ]
        more = f" and {len(kinds) - 12} more" if len(kinds) > 12 else ""
        return f"{self._what}: {', '.join(kinds[:12])}{more}"


class Fields:
    """The children of one <joint> or <inertial>: of each kind the first, as urdfdom takes them.

    Parameters
    ----------
    element : Element
        The <joint> or <inertial>.
    owner, name : str
        "joint" or "link", and its name.
    robot : RobotElement
        For its namespace and version.
    strangers : Strangers
        Takes what is not known.
    """

    def __init__(self, element: Element, owner: str, name: str, robot: RobotElement, strangers: Strangers) -> None:
        self._kind = element.tag.removeprefix(robot.namespace)
        self._name, self._label, self._version = name, f"{owner} '{name}'", robot.version
        label = self._label
        self._found: dict[str, dict[str, str]] = {}
        known = KNOWN[self._kind]
        for attribute in element.attrib:
            if attribute not in _OWN[self._kind]:
                strangers.note(f"attribute '{local_name(attribute)}' of <{self._kind}>", label)
        for child in element:
            tag = child.tag.removeprefix(robot.namespace)
            if tag not in known:
                strangers.note(f"element <{local_name(tag)}> in <{self._kind}>", label)
                continue
            if tag in self._found:
                strangers.note(f"a second <{tag}> in one <{self._kind}>", label)
                continue
            self._found[tag] = child.attrib
            attributes = known[tag]
            if attributes is None:
                continue
            for attribute in child.attrib:
                if attribute not in attributes:
                    strangers.note(f"attribute '{local_name(attribute)}' of <{tag}>", label)
            for inner in child:
                strangers.note(f"element <{local_name(inner.tag)}> in <{tag}>", label)

    def has(self, tag: str, *attributes: str) -> bool:
        """Return whether an element is there, with at least one of the attributes, where any are named."""
        found = self._found.get(tag)
        if found is None:
            return False
        return not attributes or not found.keys().isdisjoint(attributes)

    def name(self, tag: str, attribute: str) -> str:
        """Return the name that an attribute holds; it must be there."""
        return short_name(self._required(tag, attribute), f"{self._label}: '{attribute}' of <{tag}>")

    def number(self, tag: str, attribute: str, default: float | None = None, infinite: bool = False) -> float:
        """Return the number that an attribute holds, the default where it is not there.

        Parameters
        ----------
        tag, attribute : str
            Where it is.
        default : float, optional
            None: the attribute must be there.
        infinite : bool
            inf and -inf are numbers too.
        """
        found = self._found.get(tag)
        if found is None or attribute not in found:
            if default is not None:
                return default
            self._missing(tag, attribute)
        text = found[attribute].strip(" \t\r\n")
        value = plain_number(text)
        if infinite and value is None and _INFINITE.fullmatch(text):
            return -math.inf if text[0] == "-" else math.inf
        if value is None or not (infinite or abs(value) <= LARGEST):
            self._refuse(tag, attribute, text, "a plain decimal number" + (" or inf" if infinite else ""))
        return value

    def vector(self, tag: str, attribute: str, size: int) -> list[float]:
        """Return the numbers that an attribute holds; it must be there."""
        text = self._required(tag, attribute).strip(" \t\r\n")
        parts = text.split(" ")
        if len(parts) != size:
            parts = _BLANKS.split(text, maxsplit=size)
        values = [value for part in parts if (value := plain_number(part)) is not None and abs(value) <= LARGEST]
        if len(parts) != size or len(values) != size:
            self._refuse(tag, attribute, text, f"{size} plain decimal numbers with blanks between")
        return values

    def pose(self) -> AnyArray:
        """Return the pose (4, 4) that <origin> gives, by `rpy` or `quat_xyzw`; the identity where there is none."""
        x, y, z = self.vector("origin", "xyz", 3) if self.has("origin", "xyz") else (0.0, 0.0, 0.0)
        if self.has("origin", "quat_xyzw"):
            rows = quaternion.to_matrix(self._quaternion()).tolist()
        else:
            rpy = self.vector("origin", "rpy", 3) if self.has("origin", "rpy") else (0.0, 0.0, 0.0)
            rows = so3.rows_of_rpy(*rpy) if any(rpy) else _UNTURNED
        first, second, third = rows
        return np.array([*first, x, *second, y, *third, z, 0.0, 0.0, 0.0, 1.0]).reshape(4, 4)

    def _quaternion(self) -> AnyArray:
        text = self._found["origin"]["quat_xyzw"]
        if self._version < (1, 1):
            self._refuse(
                "origin",
                "quat_xyzw",
                text,
                'rpy: quaternions are part of URDF 1.1, and <robot version="1.1"> is not what this file says '
                f"(version {self._version[0]}.{self._version[1]})",
            )
        if self.has("origin", "rpy"):
            self._refuse("origin", "quat_xyzw", text, "either rpy or quat_xyzw, and both are there")
        values = np.array(self.vector("origin", "quat_xyzw", 4))
        length = float(np.linalg.norm(values))
        if not abs(length - 1.0) <= QUATERNION_TOLERANCE:
            self._refuse(
                "origin", "quat_xyzw", text, f"x, y, z, w of length 1 within {QUATERNION_TOLERANCE:g}, not {length:.6g}"
            )
        return np.asarray(values / length)

    def _required(self, tag: str, attribute: str) -> str:
        found = self._found.get(tag)
        if found is None or attribute not in found:
            self._missing(tag, attribute)
        return found[attribute]

    def _missing(self, tag: str, attribute: str) -> NoReturn:
        if tag not in self._found:
            where = " of its <inertial>" if self._kind == "inertial" else ""
            message = f"{self._label}: element <{tag}>{where} is missing"
            raise DescriptionError(message, name=self._name, expected=f"<{tag}>")
        message = f"{self._label}: attribute '{attribute}' of <{tag}> is missing"
        raise DescriptionError(message, name=self._name, expected=f"<{tag} {attribute}=...>")

    def _refuse(self, tag: str, attribute: str, text: str, expected: str) -> NoReturn:
        where = " of its <inertial>" if self._kind == "inertial" else ""
        raise DescriptionError(
            f"{self._label}: {attribute} of <{tag}>{where} is {quoted(text)}, expected {expected}",
            name=self._name,
            value=text,
            expected=expected,
        )
