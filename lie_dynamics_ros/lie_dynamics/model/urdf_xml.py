"""From the bytes of a URDF to elements that hold only what describes the motion.

Visuals, collisions, meshes, transmissions, sensors and extensions are dropped before any parser of URDF sees them,
so nothing in them can be slow, noisy or wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element, SubElement, TreeBuilder
from xml.parsers import expat

from ..errors import DescriptionError

_ORIGIN = ("xyz", "rpy")
#: What is kept: attributes of each element, by element, below link and joint. An asterisk marks what must be there.
_KEPT: dict[str, dict[str, tuple[str, ...]]] = {
    "inertial": {"origin": _ORIGIN, "*mass": ("*value",), "*inertia": ("*ixx", "*ixy", "*ixz", "*iyy", "*iyz", "*izz")},
    "joint": {
        "origin": _ORIGIN,
        "*parent": ("*link",),
        "*child": ("*link",),
        "axis": ("*xyz",),
        "limit": ("lower", "upper", "effort", "velocity"),
        "dynamics": ("damping", "friction"),
        "mimic": ("*joint", "multiplier", "offset"),
    },
}


def parse_xml(source: str | bytes, origin: str) -> Element:
    """Return the root element, namespaces kept as '{uri}tag'.

    Entities cannot be defined or fetched, so a hostile file can neither read other files nor blow up.

    Raises
    ------
    DescriptionError
        For malformed XML, with line and column, and for entity definitions.
    """
    builder = TreeBuilder()
    parser = expat.ParserCreate(namespace_separator="}")

    def universal(name: str) -> str:
        return "{" + name if "}" in name else name

    def start(tag: str, attributes: dict[str, str]) -> None:
        builder.start(universal(tag), {universal(key): value for key, value in attributes.items()})

    def refuse_entity(name: str, *_: Any) -> None:
        raise DescriptionError(f"{origin}: defines the XML entity '{name}', which a URDF may not", name=name)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: builder.end(universal(tag))
    parser.EntityDeclHandler = refuse_entity
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
    root: Element = builder.close()
    return root


def robot_element(root: Element, origin: str) -> tuple[str, list[Element], list[Element]]:
    """Return the robot's name and its link and joint elements, reduced to what is kept.

    Raises
    ------
    DescriptionError
        If this is not a URDF, is xacro that was not expanded, or if a required element or attribute is missing.
    """
    namespace = root.tag[: root.tag.index("}") + 1] if "}" in root.tag else ""
    _refuse_raw_xacro(root, origin)
    if root.tag != namespace + "robot":
        tag = root.tag.removeprefix(namespace)
        hint = " (this is SDF, not URDF)" if tag == "sdf" else ""
        hint = " (this is MJCF, not URDF)" if tag == "mujoco" else hint
        raise DescriptionError(
            f"{origin}: the root element is <{tag}>, <robot> expected{hint}", name=origin, value=tag, expected="<robot>"
        )
    links, joints = [], []
    for number, element in enumerate(root.findall(f"{namespace}link"), start=1):
        link = Element("link", name=_name(element, number))
        for inertial in element.findall(f"{namespace}inertial")[:1]:
            _copy_kept(inertial, SubElement(link, "inertial"), "inertial", f"link '{link.get('name')}'", namespace)
        links.append(link)
    for number, element in enumerate(root.findall(f"{namespace}joint"), start=1):
        name = _name(element, number)
        if element.get("type") is None:
            raise DescriptionError(f"joint '{name}': attribute 'type' is missing", name=name, expected="a type")
        joint = Element("joint", name=name, type=element.get("type", ""))
        _copy_kept(element, joint, "joint", f"joint '{name}'", namespace)
        joints.append(joint)
    return root.get("name", ""), links, joints


def _name(element: Element, number: int) -> str:
    name = element.get("name", "")
    if not name.strip():
        what = element.tag[element.tag.find("}") + 1 :]
        raise DescriptionError(f"{what} number {number} has no name", value=name, expected="a name")
    return name


def _copy_kept(element: Element, kept: Element, kind: str, label: str, namespace: str) -> None:
    """Copy the first of each element that matters, as urdfdom does, with the attributes that matter."""
    for key, attributes in _KEPT[kind].items():
        tag = key.lstrip("*")
        found = element.find(namespace + tag)
        if found is None:
            if key != tag:
                where = " of its <inertial>" if kind == "inertial" else ""
                raise DescriptionError(f"{label}: element <{tag}>{where} is missing", name=label, expected=f"<{tag}>")
            continue
        copy = SubElement(kept, tag)
        for required in attributes:
            attribute = required.lstrip("*")
            value = found.get(attribute)
            if value is not None:
                copy.set(attribute, value)
            elif required != attribute:
                message = f"{label}: attribute '{attribute}' of <{tag}> is missing"
                raise DescriptionError(message, name=label, expected=f"<{tag} {attribute}=...>")


def _refuse_raw_xacro(root: Element, origin: str) -> None:
    for tag, attributes in _walk(root):
        if re.match(r"\{[^}]*xacro[^}]*\}", tag) or any("${" in value or "$(" in value for value in attributes):
            raise _raw_xacro(origin)


def _walk(root: Element) -> Iterator[tuple[str, list[str]]]:
    """Yield tag and attribute values of every element that could be kept, and the tags of the others."""
    for element in root.iter():
        yield element.tag, list(element.attrib.values()) if element.tag.endswith(("link", "joint", "robot")) else []


def _raw_xacro(origin: str) -> DescriptionError:
    return DescriptionError(
        f"{origin}: this is xacro that has not been expanded; run `xacro {origin} > robot.urdf` and pass its output"
        if origin != "URDF"
        else "URDF: this is xacro that has not been expanded; run `xacro` on the file and pass its output",
        name=origin,
        expected="the output of xacro",
    )
