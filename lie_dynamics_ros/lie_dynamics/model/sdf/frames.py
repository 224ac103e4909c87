"""Frames of an SDF: models within models, what a name in one of them means, poses, and the link that carries each.

Every link, joint, frame and model has a frame, given in another one, which may be anywhere in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np

from ...arrays import AnyArray
from ...errors import DescriptionError
from ...lie import se3
from ...texts import listed, quoted
from ...xml_elements import short_name
from ..checks import suggestion
from ..urdf.fields import Strangers
from .fields import SdfFields

WORLD = "world"
"""Name of the frame that does not move."""
UNIQUE_SINCE = (1, 7)
"""Version since which all that a model holds have names of their own, and some names are reserved."""


@dataclass(eq=False)
class SdfFrame:
    """The frame of a link, joint, frame or model, or that of the world.

    Attributes
    ----------
    name : str
        With the names of the models around it, from the robot's links on.
    kind : str
        "link", "joint", "frame", "model" or "world".
    scope : Scope
        Where the names count that it uses.
    fields : Fields
        Of the element.
    pose : ndarray, shape (4, 4)
        In the frame `relative_to` [m].
    relative_to, attached_to : str
        Names; what `attached_to` names carries the frame. Empty: the model around it.
    model : Scope, optional
        Inside of a model.
    """

    name: str
    kind: str
    scope: Scope
    fields: SdfFields
    pose: AnyArray
    relative_to: str = ""
    attached_to: str = ""
    model: Scope | None = None

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"{self.kind} '{self.name}'"


class Scope:
    """A model or the world: the names in it.

    Attributes
    ----------
    prefix : str
        Put before the names in it.
    around : Scope or None
        Where it is itself; None for the world.
    own : Frame
        Its own frame.
    frames : dict of str to Frame
        All in it, by name.
    members : list of Frame
        The same in the order of the file, also those whose name another one took.
    static : bool
        Whether nothing in it moves.
    canonical, placement : str
        Names of the link that carries it, and of the frame that its pose is the pose of; empty: the usual ones.
    """

    def __init__(self, prefix: str, around: Scope | None, own: SdfFrame | None = None) -> None:
        self.prefix, self.around = prefix, around
        self.own = own if own is not None else _world(self)
        self.frames: dict[str, SdfFrame] = {}
        self.members: list[SdfFrame] = []
        self.static: bool = around is not None and around.static
        self.canonical = self.placement = ""

    def of_kind(self, kind: str) -> list[SdfFrame]:
        """Return its links, joints, frames or models in the order of the file."""
        return [frame for frame in self.members if frame.kind == kind]

    def find(self, reference: str, user: SdfFrame, what: str = "") -> SdfFrame:
        """Return the frame that a name in this scope means.

        Raises
        ------
        DescriptionError
            Where there is none; names the `user` of the name, and `what` of it has it.
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
    """Fills scopes from elements.

    Parameters
    ----------
    version : tuple of int
        Version in <sdf>.
    strangers : Strangers
        Takes what is not known.
    """

    def __init__(self, version: tuple[int, int], strangers: Strangers) -> None:
        self._version, self._strangers = version, strangers
        self._names: set[tuple[int, str, str]] = set()

    def fill(self, scope: Scope, element: Element) -> None:
        """Put all that <sdf>, <world> or <model> holds in a scope, and in those of the models in it.

        Raises
        ------
        DescriptionError
            For elements without a name or with that of another, and for included files in a model.
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
