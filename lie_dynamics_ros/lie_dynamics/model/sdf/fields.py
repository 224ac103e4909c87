"""Elements of an SDF that describe the motion, and their values: each refused by name; and its frames.

Every link, joint, frame and model has a frame, given in another one, which may be anywhere in the file: models within
models, what a name in one of them means, poses, and the link that carries each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NoReturn
from xml.etree.ElementTree import Element

import numpy as np

from ...arrays import AnyArray
from ...errors import DescriptionError
from ...lie import quaternion, se3, so3
from ...texts import LARGEST, listed, plain_number, quoted, shortened
from ...xml_elements import MAX_TEXT, ElementReader, short_name
from ..checks import suggestion
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

    Raises DescriptionError for what `ElementReader.read` refuses, and what is no SDF, or of a version that is not
    known.
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
    """The children of an element of a link, joint, ...: of each kind the first; `strangers` take what is not known."""

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


WORLD = "world"
"""Name of the frame that does not move."""
UNIQUE_SINCE = (1, 7)
"""Version since which all that a model holds have names of their own, and some names are reserved."""


@dataclass(eq=False)
class SdfFrame:
    """The frame of a link, joint, frame or model, or that of the world."""

    name: str  # with the names of the models around it, from the robot's links on
    kind: str  # "link", "joint", "frame", "model" or "world"
    scope: Scope  # where the names count that it uses
    fields: SdfFields  # of the element
    pose: AnyArray  # in the frame `relative_to` [m] (4, 4)
    relative_to: str = ""  # empty: the model around it
    attached_to: str = ""  # what carries the frame; empty: the model around it
    model: Scope | None = None  # inside of a model

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"{self.kind} '{self.name}'"


class Scope:
    """A model or the world: the names in it."""

    def __init__(self, prefix: str, around: Scope | None, own: SdfFrame | None = None) -> None:
        self.prefix = prefix  # put before the names in it
        self.around = around  # where it is itself; None for the world
        self.own = own if own is not None else _world(self)  # its own frame
        self.frames: dict[str, SdfFrame] = {}  # all in it, by name
        self.members: list[SdfFrame] = []  # in the order of the file, also those whose name another one took
        self.static: bool = around is not None and around.static  # whether nothing in it moves
        # the link that carries it, and the frame that its pose is the pose of; empty: the usual ones
        self.canonical = self.placement = ""

    def of_kind(self, kind: str) -> list[SdfFrame]:
        """Return its links, joints, frames or models in the order of the file."""
        return [frame for frame in self.members if frame.kind == kind]

    def find(self, reference: str, user: SdfFrame, what: str = "") -> SdfFrame:
        """Return the frame that a name in this scope means.

        Raises DescriptionError where there is none; names the `user` of the name, and `what` of it has it.
        """
        scope: Scope = self
        if reference == WORLD:
            while scope.around is not None:
                scope = scope.around
            return scope.own
        rest = reference
        while rest not in scope.frames:
            if rest == "__model__":
                return scope.own
            first, _, rest = rest.partition("::")
            found = scope.frames.get(first)
            if not rest or found is None or found.model is None:
                raise DescriptionError(
                    f"{user.label}: {what}there is no {quoted(reference)}{suggestion(reference, self.frames)}",
                    name=user.name,
                    value=reference,
                    expected="the name of a link, joint, frame or model",
                )
            scope = found.model
        return scope.frames[rest]

    def walk(self) -> Iterator[Scope]:
        """Yield this scope and all in it, in the order of the file."""
        waiting = [self]
        while waiting:
            scope = waiting.pop()
            yield scope
            waiting += [frame.model for frame in reversed(scope.of_kind("model")) if frame.model is not None]


def _world(scope: Scope) -> SdfFrame:
    fields = SdfFields(Element(WORLD), "the world", "", Strangers())
    return SdfFrame(WORLD, WORLD, scope, fields, fields.pose())


class ScopeReader:
    """Fills scopes from elements of an SDF of some version; what is not known goes to `strangers`."""

    def __init__(self, version: tuple[int, int], strangers: Strangers) -> None:
        self._version, self._strangers = version, strangers
        self._names: set[tuple[int, str, str]] = set()

    def fill(self, scope: Scope, element: Element) -> None:
        """Put all that <sdf>, <world> or <model> holds in a scope, and in those of the models in it.

        Raises DescriptionError for elements without a name or with that of another, and for included files in a model.
        """
        for child in element:
            if child.tag in ("link", "joint", "frame", "model"):
                self._add(scope, child)
            elif child.tag == "include" and element.tag == "model":
                uri = SdfFields(child, scope.own.kind, scope.own.name, self._strangers).text("uri")
                raise DescriptionError(
                    f"{scope.own.label}: <include> of {quoted(uri)}, which is not found in package_dirs; a folder "
                    "there, or a file without <include> (`gz sdf -p FILE` writes one), is expected",
                    name=scope.own.name,
                    value=uri,
                    expected="a folder in package_dirs",
                )

    def _add(self, scope: Scope, element: Element) -> None:
        kind, name = element.tag, element.get("name", "")
        if not name.strip():
            raise DescriptionError(f"{kind} without a name in {scope.own.label}", value=name, expected="a name")
        short_name(name, kind)
        full = scope.prefix + name
        fields = SdfFields(element, kind, full, self._strangers)
        self._judge_name(scope, kind, name)
        relative_to = fields.attribute("pose", "relative_to")
        if self._version < UNIQUE_SINCE:
            relative_to = relative_to or fields.attribute("pose", "frame")
        attached_to = fields.name("child") if kind == "joint" else ""
        if kind == "frame":
            attached_to = short_name(element.get("attached_to", ""), f"{fields.label}: 'attached_to'")
        frame = SdfFrame(full, kind, scope, fields, fields.pose(), relative_to, attached_to)
        scope.members.append(frame)
        if kind == "link" or name not in scope.frames:
            scope.frames[name] = frame
        if kind == "model":
            inside = Scope("" if scope.around is None else full + "::", scope, frame)
            inside.static = scope.static or fields.boolean("static")
            inside.canonical, inside.placement = (
                short_name(element.get(key, ""), f"{fields.label}: '{key}'")
                for key in ("canonical_link", "placement_frame")
            )
            frame.model = inside
            self.fill(inside, element)

    def _judge_name(self, scope: Scope, kind: str, name: str) -> None:
        full, strict = scope.prefix + name, self._version >= UNIQUE_SINCE
        if (strict or kind == "link") and (name == WORLD or (name.startswith("__") and name.endswith("__"))):
            message = f"{kind} '{full}': the name {quoted(name)} is reserved; another one is expected"
            raise DescriptionError(message, name=full, value=name, expected="a name that is not reserved")
        other = scope.frames.get(name)
        if (id(scope), kind, name) in self._names or (strict and other is not None):
            what = f"a {other.kind}" if other is not None and strict else f"another {kind}"
            message = f"{kind} '{full}': {what} of {scope.own.label} has the name already; names of their own expected"
            raise DescriptionError(message, name=full, value=name, expected="a name that differs")
        self._names.add((id(scope), kind, name))


class Frames:
    """Poses and carriers of frames, found as they are requested, each once.

    All raise DescriptionError for names that are not there and frames that lead back to themselves.
    """

    def __init__(self) -> None:
        self._poses: dict[int, AnyArray] = {}
        self._steps: dict[int, tuple[SdfFrame, AnyArray]] = {}
        self._carriers: dict[int, SdfFrame] = {}

    def pose(self, frame: SdfFrame) -> AnyArray:
        """Return the pose (4, 4) of a frame in the world [m]."""
        path: dict[int, tuple[SdfFrame, AnyArray]] = {}
        while id(frame) not in self._poses and frame.kind != WORLD:
            if id(frame) in path:
                raise _cycle("relative to", (one for one, _ in path.values()))
            base, step = self._step(frame)
            path[id(frame)] = frame, step
            frame = base
        pose = self._poses.get(id(frame), np.eye(4))
        for key in reversed(path):
            pose = self._poses[key] = pose @ path[key][1]
        return pose

    def carrier(self, frame: SdfFrame) -> SdfFrame:
        """Return the link that carries a frame; the world's frame where nothing moves it."""
        path: dict[int, SdfFrame] = {}
        while id(frame) not in self._carriers and frame.kind != WORLD:
            if id(frame) in path:
                raise _cycle("attached to", path.values())
            path[id(frame)] = frame
            if frame.kind == "link" and not frame.scope.static:
                break
            frame = _holder(frame)
        found = self._carriers.get(id(frame), frame)
        self._carriers.update(dict.fromkeys(path, found))
        return found

    def _step(self, frame: SdfFrame) -> tuple[SdfFrame, AnyArray]:
        """Return the frame in which the pose of a frame is given, and that pose."""
        if id(frame) not in self._steps:
            name, pose = frame.relative_to or frame.attached_to, frame.pose
            base = frame.scope.find(name, frame) if name else frame.scope.own
            if frame.model is not None and frame.model.placement:
                pose = pose @ se3.inverse(self._placement(frame, frame.model))
            self._steps[id(frame)] = base, pose
        return self._steps[id(frame)]

    def _placement(self, frame: SdfFrame, model: Scope) -> AnyArray:
        """Return the pose of a model's placement frame in the model."""
        at, pose, seen = model.find(model.placement, frame, "placement_frame: "), np.eye(4), set()
        while at is not frame:
            if id(at) in seen or at.kind == WORLD:
                raise DescriptionError(
                    f"{frame.label}: placement_frame {quoted(model.placement)} is expected to have its pose "
                    "given in the model itself",
                    name=frame.name,
                    value=model.placement,
                    expected="a frame of the model",
                )
            seen.add(id(at))
            base, step = self._step(at)
            at, pose = base, step @ pose
        return pose


def _holder(frame: SdfFrame) -> SdfFrame:
    """Return the frame that a frame other than that of a moving link is attached to."""
    if frame.scope.static or (frame.model is not None and frame.model.static):
        return frame.scope.find(WORLD, frame)
    if frame.model is None:
        return frame.scope.find(frame.attached_to, frame) if frame.attached_to else frame.scope.own
    if frame.model.canonical:
        return frame.model.find(frame.model.canonical, frame, "canonical_link: ")
    first = [*frame.model.of_kind("link"), *frame.model.of_kind("model")][:1]
    if not first:
        raise DescriptionError(f"{frame.label} has no links, at least one expected", name=frame.name)
    return first[0]


def _cycle(how: str, frames: Iterable[SdfFrame]) -> DescriptionError:
    names = [frame.name for frame in frames]
    message = f"frames {listed(names)}: each is {how} the next, and one leads back to itself"
    return DescriptionError(message, name=names[0], value=names, expected="frames that lead to a model")
