"""From the bytes of a URDF to the elements that describe the motion.

Visuals, collisions, meshes, transmissions, sensors and extensions are passed over while the text is read, so nothing
in them can be slow, noisy or wrong, and what is built is in proportion to links and joints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element
from xml.parsers import expat

from ...errors import DescriptionError
from ...texts import MAX_NAME, quoted, shortened

#: Versions of the format that are read, by what <robot> says.
VERSIONS = ((1, 0), (1, 1), (1, 2))
#: Nesting beyond which a text is no robot.
MAX_DEPTH = 100


@dataclass
class RobotElement:
    """A <robot>: its name, version, namespace ("" or "{uri}"), and its <link> and <joint> elements by name.

    Of a <link>, only its <inertial> elements are kept whole, of the others the names; of a <joint>, everything down
    to the children of its children.
    """

    name: str
    version: tuple[int, int]
    namespace: str
    links: list[Element] = field(default_factory=list)
    joints: list[Element] = field(default_factory=list)


def read_robot(source: str | bytes, origin: str) -> RobotElement:
    """Return the robot that XML text or bytes describe.

    There is no document type in a URDF, and with it no entity: a hostile file can neither read other files nor blow up.

    Raises
    ------
    DescriptionError
        For malformed XML, with line and column; document types; what is no URDF, or of a version that is not known;
        xacro that was not expanded; links and joints without a name.
    """
    reader = _Reader(origin)
    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.StartDoctypeDeclHandler = reader.refuse_doctype
    try:
        parser.Parse(source, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, DescriptionError):
            raise
        text = source if isinstance(source, str) else source.decode("utf-8", "replace")
        if "<xacro:" in text:
            raise _raw_xacro(origin) from error
        what = f"malformed XML: {error}" if text.strip() else "the text is empty, XML expected"
        raise DescriptionError(f"{origin}: {what}", name=origin, expected="well-formed XML") from error
    return reader.robot()


class _Reader:
    """Builds elements from what expat tells, down to a depth that depends on where they are."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._open: list[Element] = []  # elements that are kept, from <robot> down to the innermost
        self._passed = 0  # how many elements further in, which are not
        self._robot: RobotElement | None = None

    def robot(self) -> RobotElement:
        assert self._robot is not None
        return self._robot

    def refuse_doctype(self, name: str, *_: Any) -> None:
        raise DescriptionError(
            f"{self._origin}: has a document type (<!DOCTYPE {shortened(name)}>), which a URDF may not", name=name
        )

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        depth = len(self._open) + self._passed
        if "}" in tag:
            if "xacro" in tag[: tag.index("}")]:
                raise _raw_xacro(self._origin)
            tag = "{" + tag
        if depth >= MAX_DEPTH:
            raise DescriptionError(
                f"{self._origin}: elements nested deeper than {MAX_DEPTH}, which no URDF is", expected="a URDF"
            )
        named = tag.endswith(("link", "joint", "robot"))
        if named and any("${" in value or "$(" in value for value in attributes.values()):
            raise _raw_xacro(self._origin)
        if self._passed or not self._wanted(tag, depth):
            self._passed += 1
            return
        if "}" in "".join(attributes):
            attributes = {"{" + key if "}" in key else key: value for key, value in attributes.items()}
        element = Element(tag, attributes)
        if depth == 0:
            self._robot = self._begin(element)
        elif depth == 1:
            self._add(element)
        else:
            self._open[-1].append(element)
        self._open.append(element)

    def end(self, _tag: str) -> None:
        if self._passed:
            self._passed -= 1
        else:
            self._open.pop()

    def _wanted(self, tag: str, depth: int) -> bool:
        if depth == 0:
            return True
        names = self.robot().namespace
        if depth == 1:
            return tag in (names + "link", names + "joint")
        if self._open[1].tag == names + "link":
            return depth == 2 or (depth <= 4 and self._open[2].tag == names + "inertial")
        return depth <= 3

    def _begin(self, root: Element) -> RobotElement:
        namespace = root.tag[: root.tag.index("}") + 1] if "}" in root.tag else ""
        tag = root.tag.removeprefix(namespace)
        if tag != "robot":
            hint = {"sdf": " (this is SDF, not URDF)", "mujoco": " (this is MJCF, not URDF)"}.get(tag, "")
            raise DescriptionError(
                f"{self._origin}: the root element is <{shortened(tag)}>, <robot> expected{hint}",
                name=self._origin,
                value=tag,
                expected="<robot>",
            )
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


def short_name(name: str, label: str) -> str:
    """Return a name that is short enough for messages; refuse another one with a `DescriptionError`."""
    if len(name) > MAX_NAME:
        raise DescriptionError(
            f"{label}: a name of {len(name)} characters ({quoted(name)}), at most {MAX_NAME} expected",
            value=name,
            expected=f"at most {MAX_NAME} characters",
        )
    return name


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


def _raw_xacro(origin: str) -> DescriptionError:
    return DescriptionError(
        f"{origin}: this is xacro that has not been expanded; run `xacro {origin} > robot.urdf` and pass its output"
        if origin != "URDF"
        else "URDF: this is xacro that has not been expanded; run `xacro` on the file and pass its output",
        name=origin,
        expected="the output of xacro",
    )


def local_name(tag: str) -> str:
    """Return a tag or attribute without its namespace, short enough for a message."""
    return shortened(tag[tag.find("}") + 1 :])
