"""Robot descriptions as broken exporters, editors and attackers write them."""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET

import numpy as np

NUMBERS = (
    "nan",
    "inf",
    "-inf",
    "1e308",
    "-1e308",
    "1e-320",
    "0",
    "-0",
    "-1",
    "",
    " ",
    "1_0",
    "0x10",
    "١",
    "1e400",
    "abc",
    "1 2",
)
TEXTS = ("", " ", "nobody", "panda_link0", "ü\u202e", "x" * 3000, "a b", "world", "../../x", "%s%n", "<", "&amp;")
TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical", "", "Revolute", "screw")


def mutated_tree(text: str, rng: np.random.Generator, sdf: bool = False) -> str:
    """Return a description with one to four changes to elements and attributes, of URDF or SDF."""
    root = ET.fromstring(text)
    for _ in range(int(rng.integers(1, 5))):
        rng.choice(SDF_CHANGES if sdf else TREE_CHANGES)(root, rng)
    return ET.tostring(root, encoding="unicode")


def mutated_text(text: str, rng: np.random.Generator) -> str:
    """Return a description with one to four changes to its characters."""
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(0, max(1, len(text))))
        kind = rng.integers(5)
        if kind == 0:
            text = text[:at]
        elif kind == 1:
            text = (
                text[:at]
                + str(rng.choice(["<", ">", '"', "&", "\0", "\ud7ff", "]]>", "<!--", "<?x", "</link>", "<!DOCTYPE a>"]))
                + text[at:]
            )
        elif kind == 2:
            text = text[:at] + text[at + int(rng.integers(1, 40)) :]
        elif kind == 3:
            end = at + int(rng.integers(1, 400))
            text = text[:end] + text[at:end] + text[end:]
        else:
            text = text[:at] + chr(int(rng.integers(1, 0xD7FF))) + text[at + 1 :]
    return text


def _any(root: ET.Element, rng: np.random.Generator, tag: str | None = None) -> ET.Element:
    found = list(root.iter(tag)) if tag else list(root.iter())
    return found[int(rng.integers(len(found)))] if found else root


def _delete(root: ET.Element, rng: np.random.Generator) -> None:
    parent = _any(root, rng)
    if len(parent):
        parent.remove(parent[int(rng.integers(len(parent)))])


def _duplicate(root: ET.Element, rng: np.random.Generator) -> None:
    parent = _any(root, rng)
    if len(parent):
        parent.append(copy.deepcopy(parent[int(rng.integers(len(parent)))]))


def _move(root: ET.Element, rng: np.random.Generator) -> None:
    child = copy.deepcopy(_any(root, rng))
    _any(root, rng).append(child)


def _rename_tag(root: ET.Element, rng: np.random.Generator) -> None:
    _any(root, rng).tag = str(rng.choice(["link", "joint", "inertial", "limit", "mimic", "origin", "unknown", "axis"]))


def _attribute(root: ET.Element, rng: np.random.Generator) -> None:
    element = _any(root, rng)
    if element.attrib:
        name = str(rng.choice(list(element.attrib)))
        kind = rng.integers(4)
        if kind == 0:
            del element.attrib[name]
        elif kind == 1:
            element.attrib[name] = str(rng.choice(TEXTS))
        elif kind == 2:
            element.attrib[name + "x"] = element.attrib.pop(name)
        else:
            element.attrib[name] = str(rng.choice(NUMBERS))


def _number(root: ET.Element, rng: np.random.Generator) -> None:
    """Change one number of a list of numbers, mildly or not."""
    element = _any(root, rng, str(rng.choice(["origin", "mass", "inertia", "axis", "limit", "dynamics", "mimic"])))
    if not element.attrib:
        return
    name = str(rng.choice(list(element.attrib)))
    words = element.attrib[name].split()
    if not words:
        return
    at = int(rng.integers(len(words)))
    try:
        value = float(words[at])
    except ValueError:
        return
    kind = rng.integers(5)
    if kind == 0:
        words[at] = str(rng.choice(NUMBERS))
    elif kind == 1:
        words[at] = repr(-value)
    elif kind == 2:
        words[at] = repr(float(value * 10.0 ** rng.integers(-6, 7)))
    elif kind == 3:
        words[at] = repr(float(value + rng.normal()))
    else:
        words.append(words[at]) if rng.random() < 0.5 else words.pop(at)
    element.attrib[name] = " ".join(words)


def _retype(root: ET.Element, rng: np.random.Generator) -> None:
    _any(root, rng, "joint").attrib["type"] = str(rng.choice(TYPES))


def _reconnect(root: ET.Element, rng: np.random.Generator) -> None:
    links = [link.get("name", "") for link in root.iter("link")]
    _any(root, rng, str(rng.choice(["parent", "child"]))).attrib["link"] = str(rng.choice(links or ["a"]))


def _mimic(root: ET.Element, rng: np.random.Generator) -> None:
    names = [joint.get("name", "") for joint in root.iter("joint")]
    attributes = {"joint": str(rng.choice(names or ["a"])), "multiplier": str(rng.choice(["2", *NUMBERS]))}
    ET.SubElement(_any(root, rng, "joint"), "mimic", attributes)


def _quaternion(root: ET.Element, rng: np.random.Generator) -> None:
    value = rng.normal(size=4)
    if rng.random() < 0.5:
        value /= np.linalg.norm(value)
    origin = _any(root, rng, "origin")
    if rng.random() < 0.7:
        origin.attrib.pop("rpy", None)
    origin.attrib["quat_xyzw"] = " ".join(repr(float(x)) for x in value[: int(rng.choice([4, 4, 4, 3]))])


def _version(root: ET.Element, rng: np.random.Generator) -> None:
    root.attrib["version"] = str(rng.choice(["1.0", "1.1", "1.2", "1", "2.0", "", "1.10", "x"]))


TREE_CHANGES = np.array(
    [
        _delete,
        _duplicate,
        _move,
        _rename_tag,
        _attribute,
        _number,
        _number,
        _number,
        _retype,
        _reconnect,
        _mimic,
        _quaternion,
        _version,
    ],
    dtype=object,
)


def _value(root: ET.Element, rng: np.random.Generator) -> None:
    """Change the text of an element: a name into another one, or one number of several, mildly or not."""
    element = _any(root, rng, str(rng.choice(SDF_VALUES)))
    words = (element.text or "").split()
    kind = rng.integers(6)
    if kind == 0 or not words:
        element.text = str(rng.choice([*NUMBERS, *TEXTS]))
        return
    at = int(rng.integers(len(words)))
    try:
        value = float(words[at])
    except ValueError:
        names = [str(one.get("name")) for one in root.iter() if one.get("name")]
        element.text = str(rng.choice([*names, "world", "__model__", *(f"{a}::{b}" for a in names[:3] for b in names)]))
        return
    words[at] = [str(rng.choice(NUMBERS)), repr(-value), repr(float(value + rng.normal())), "0", "1"][int(kind) - 1]
    element.text = " ".join(words)


def _frame(root: ET.Element, rng: np.random.Generator) -> None:
    """Tell a pose or an axis in another frame."""
    names = [str(one.get("name")) for one in root.iter() if one.get("name")]
    key = str(rng.choice(["relative_to", "expressed_in", "attached_to", "canonical_link", "placement_frame"]))
    tags = {"relative_to": "pose", "expressed_in": "xyz", "attached_to": "frame"}
    _any(root, rng, tags.get(key, "model")).attrib[key] = str(rng.choice([*names, "world", "__model__", "nobody"]))


def _sdf_type(root: ET.Element, rng: np.random.Generator) -> None:
    kinds = ("revolute", "continuous", "prismatic", "fixed", "ball", "universal", "revolute2", "screw", "gearbox", "")
    _any(root, rng, "joint").attrib["type"] = str(rng.choice(kinds))


def _sdf_version(root: ET.Element, rng: np.random.Generator) -> None:
    root.attrib["version"] = str(rng.choice(["1.4", "1.5", "1.6", "1.7", "1.8", "1.10", "1.11", "1.12", "1.3", ""]))


def _sdf_tag(root: ET.Element, rng: np.random.Generator) -> None:
    tags = ["link", "joint", "model", "frame", "inertial", "pose", "axis", "axis2", "mimic", "static", "unknown"]
    _any(root, rng).tag = str(rng.choice(tags))


SDF_VALUES = ("parent", "child", "pose", "xyz", "mass", "ixx", "ixy", "izz", "lower", "damping", "screw_thread_pitch")
SDF_CHANGES = np.array(
    [_delete, _duplicate, _move, _attribute, _value, _value, _value, _frame, _frame, _sdf_type, _sdf_version, _sdf_tag],
    dtype=object,
)
