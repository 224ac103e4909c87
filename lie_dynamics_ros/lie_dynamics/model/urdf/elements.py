"""From the bytes of a URDF to the elements that describe the motion.

Visuals, collisions, meshes, transmissions, sensors and extensions are passed over while the text is read, so nothing
in them can be slow, noisy or wrong, and what is built is in proportion to links and joints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from ...errors import DescriptionError
from ...texts import quoted, shortened
from ...xml_elements import ElementReader, short_name

#: Versions of the format that are read, by what <robot> says.
VERSIONS = ((1, 0), (1, 1), (1, 2))


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
