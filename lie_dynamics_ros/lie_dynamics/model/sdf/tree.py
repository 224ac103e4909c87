"""Joints of an SDF, its tree, those cut to close loops, the link it stands on, and the bodies it becomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...arrays import AnyArray, ArrayLike
from ...errors import DescriptionError
from ...lie import SpatialInertia, se3
from ...texts import listed, quoted, shortened, unique
from .. import joint_types
from ..bodies import BodyTree
from ..description import Mimic
from ..joint_types import JointType
from ..urdf.fields import Strangers
from .fields import UNIQUE_SINCE, WORLD, Frames, SdfFields, SdfFrame

#: Kinds of joint in an SDF, and how many axes they have.
AXES = {
    "revolute": 1, "continuous": 1, "prismatic": 1, "screw": 1, "universal": 2, "revolute2": 2, "ball": 0, "fixed": 0,
}  # fmt: skip


@dataclass(eq=False)
class Axis:
    """An axis of a joint, with limits and losses."""

    direction: AnyArray
    """Unit vector in the joint's frame."""
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    spring_reference: float = 0.0

    def terms(self) -> list[str]:
        """Return what limits its position and takes its energy, in words."""
        limited = math.isfinite(self.lower) or math.isfinite(self.upper)
        return ["limits"] * limited + [key for key in ("damping", "friction", "stiffness") if getattr(self, key)]


@dataclass(eq=False)
class SdfJoint:
    """A joint between two links, or between a link and the world."""

    name: str
    kind: str  # one of `AXES`
    parent: str  # name of a link; `WORLD` where that does not move
    child: str
    in_parent: AnyArray  # its frame in that of the parent, as the file puts them (4, 4) [m]
    in_child: AnyArray
    axes: list[Axis] = field(default_factory=list)  # as many as its kind has
    pitch: float = 0.0  # translation of a screw [m/rad]
    mimic: Mimic | None = None  # the joint that it follows
    cut_last: bool = False  # whether the file asks for the loop to be cut here

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"joint '{self.name}'"

    @property
    def cosine(self) -> float:
        """Cosine of the angle between the two axes."""
        return float(self.axes[0].direction @ self.axes[1].direction)

    @property
    def parallel(self) -> bool:
        """Whether two axes are parallel."""
        return abs(self.cosine) > 1.0 - 1e-9

    @property
    def perpendicular(self) -> bool:
        """Whether two axes are perpendicular, to the rounding of figures in files."""
        return abs(self.cosine) < 1e-6


_NO_LIMIT = 1e16
"""Limit that old versions write for none."""
_MODEL_AXES_UNTIL = (1, 4)
"""Last version in which axes are in the model frame by default."""


class JointReader:
    """Makes joints of their elements; notes what is not known, and what is left out: known, but not part of a model."""

    def __init__(self, version: tuple[int, int], frames: Frames, strangers: Strangers, left_out: Strangers) -> None:
        self._version, self._frames = version, frames
        self._strangers, self._left_out = strangers, left_out

    def read(self, frame: SdfFrame) -> SdfJoint | None:
        """Return a joint; None where it holds the world to itself.

        Raises DescriptionError for unknown kinds, missing or zero axes, invalid numbers, links that are not there or
        the same; names the joint.
        """
        fields = frame.fields
        kind = fields.element.get("type", "").lower()
        if kind not in AXES:
            what = f"unknown joint type '{shortened(kind)}'" if kind else "attribute 'type' is missing"
            hint = "; write its ratio as a <mimic> of SDF 1.11" if kind == "gearbox" else ""
            raise DescriptionError(
                f"{frame.label}: {what}, one of {', '.join(AXES)} expected{hint}",
                name=frame.name,
                value=kind,
                expected=", ".join(AXES),
            )
        ends = {tag: fields.name(tag) for tag in ("parent", "child")}
        if ends["child"] == WORLD:
            message = f"{frame.label}: the world cannot be a child; it is expected as the parent"
            raise DescriptionError(message, name=frame.name, value=WORLD)
        found = (frame.scope.find(end, frame, f"<{tag}>: ") for tag, end in ends.items())
        parent, child = (self._frames.carrier(end) for end in found)
        if parent is child:
            if parent.kind == WORLD:
                return None
            raise DescriptionError(
                f"{frame.label}: link '{child.name}' is both parent and child, two different links expected",
                name=frame.name,
                value=child.name,
            )
        pose = self._frames.pose(frame)
        in_parent, in_child = (se3.inverse(self._frames.pose(link)) @ pose for link in (parent, child))
        joint = SdfJoint(frame.name, kind, parent.name, child.name, in_parent, in_child)
        joint.axes = [self._axis(frame, tag, pose) for tag in ("axis", "axis2")[: AXES[kind]]]
        if kind == "screw":
            joint.pitch = self._pitch(fields)
        if kind == "universal" and joint.parallel:
            raise DescriptionError(f"{frame.label}: its two axes are parallel; others expected", name=frame.name)
        for tag in ("axis", "axis2"):
            self._mimic(frame, joint, tag)
        joint.cut_last = fields.inside("physics").inside("simbody").boolean("must_be_loop_joint")
        return joint

    def _axis(self, frame: SdfFrame, tag: str, pose: AnyArray) -> Axis:
        if not frame.fields.has(tag):
            raise DescriptionError(f"{frame.label}: element <{tag}> is missing", name=frame.name, expected=f"<{tag}>")
        fields = frame.fields.inside(tag)
        xyz = fields.vector("xyz", 3)
        length = float(np.linalg.norm(xyz))
        if length < 1e-9:
            raise DescriptionError(
                f"{frame.label}: <xyz> of its <{tag}> is {xyz.tolist()} and has no direction, a vector of length 1 "
                "expected",
                name=frame.name,
                value=xyz,
                expected="a unit vector",
            )
        told_in = fields.attribute("xyz", "expressed_in")
        if self._version < UNIQUE_SINCE:
            of_model = fields.boolean("use_parent_model_frame", self._version <= _MODEL_AXES_UNTIL)
            told_in = "__model__" if of_model else told_in
        elif fields.has("use_parent_model_frame"):
            self._strangers.note(f"element <use_parent_model_frame> in <{tag}>", frame.label)
        direction = xyz / length
        if told_in:
            other = self._frames.pose(frame.scope.find(told_in, frame))
            direction = pose[:3, :3].T @ other[:3, :3] @ direction
        if fields.number("initial_position", 0.0) != 0.0:
            self._left_out.note("<initial_position>", frame.label)
        return Axis(direction, **self._limits(frame, fields))

    def _limits(self, frame: SdfFrame, fields: SdfFields) -> dict[str, float]:
        limit, dynamics = fields.inside("limit"), fields.inside("dynamics")
        found: dict[str, float] = {}
        for key, sign in (("lower", -1.0), ("upper", 1.0)):
            value = limit.number(key, sign * math.inf, infinite=True)
            found[key] = math.copysign(math.inf, value) if abs(value) >= _NO_LIMIT else value
        if frame.fields.element.get("type", "").lower() == "continuous":
            found = {"lower": -math.inf, "upper": math.inf}
        for key in ("velocity", "effort"):
            value = limit.number(key, math.inf, infinite=True)
            found[key] = math.inf if value < 0.0 or value >= _NO_LIMIT else value
        for key in ("damping", "friction"):
            found[key] = dynamics.number(key, 0.0)
        found["stiffness"] = dynamics.number("spring_stiffness", 0.0)
        found["spring_reference"] = dynamics.number("spring_reference", 0.0)
        return found

    @staticmethod
    def _pitch(fields: SdfFields) -> float:
        """Return the translation per radian: given per turn, or as radians per metre of a left-handed thread."""
        if fields.has("screw_thread_pitch") or not fields.has("thread_pitch"):
            return fields.number("screw_thread_pitch", 1.0) / math.tau
        value = fields.number("thread_pitch", 1.0)
        if abs(value) < 1e-9:
            raise DescriptionError(
                f"{fields.label}: <thread_pitch> is {value:g} rad/m, another number than 0 expected",
                value=value,
                expected="not 0",
            )
        return -1.0 / value

    def _mimic(self, frame: SdfFrame, joint: SdfJoint, tag: str) -> None:
        fields = frame.fields.inside(tag)
        if not fields.has("mimic"):
            return
        leader, axis = fields.attribute("mimic", "joint"), fields.attribute("mimic", "axis") or "axis"
        if len(joint.axes) != 1 or tag != "axis" or axis != "axis":
            raise DescriptionError(
                f"{frame.label}: <mimic> of <{shortened(axis)}> of {quoted(leader)} in its <{tag}>; joints with one "
                "axis expected",
                name=frame.name,
                value=leader,
                expected="joints with one axis",
            )
        found = frame.scope.find(leader, frame, "<mimic>: ")
        if found.kind != "joint":
            message = f"{frame.label}: <mimic> of {quoted(leader)}, which is a {found.kind}; a joint expected"
            raise DescriptionError(message, name=frame.name, value=leader, expected="a joint")
        values = fields.inside("mimic")
        multiplier = values.number("multiplier", 1.0)
        offset = values.number("offset", 0.0) - multiplier * values.number("reference", 0.0)
        joint.mimic = Mimic(found.name, multiplier, offset)


@dataclass(eq=False)
class Tree:
    """A spanning tree."""

    root: str  # name of a link, or `WORLD`
    # from the root outwards, depth first, siblings by name; and whether it is walked from its child to its parent
    steps: list[tuple[SdfJoint, bool]]
    cut: list[SdfJoint]  # the others, in the order of the file


def span(links: Sequence[str], joints: Sequence[SdfJoint], base: str, robot: str) -> Tree:
    """Return the tree of a robot of that name, and the joints that are cut.

    Every link hangs on the first joint of the file whose child it is; joints that come later to a link that hangs
    already are cut. What hangs on nothing then is held by the first of these that leads elsewhere, walked from its
    child to its parent. So it is done three times: with the joints that cannot be cut, or of which more than a loop is
    expected (screws, universal joints whose axes are not perpendicular, joints of a <mimic>); with all but those that
    have <must_be_loop_joint>; with all. Where no joint determines the link that the robot stands on, it is `base`.

    Raises DescriptionError if the robot falls apart.
    """
    root = _root(links, joints, base)
    groups, hanging = _Groups(), {root}
    kept: set[int] = set()
    for claimants in _by_claim(joints):
        late: list[SdfJoint] = []
        for joint in claimants:
            if joint.child not in hanging and groups.join(joint.parent, joint.child):
                hanging.add(joint.child)
                kept.add(id(joint))
            else:
                late.append(joint)
        kept |= {id(joint) for joint in late if groups.join(joint.parent, joint.child)}
    apart = [link for link in links if groups.of(link) != groups.of(root)]
    if apart:
        heads = [link for link in apart if link not in hanging] or apart
        raise DescriptionError(
            f"the robot '{robot}' falls apart: links {listed(heads)} hang on no joint that leads to '{root}'; one tree "
            "expected (connect them by joints)",
            name=heads[0],
            value=heads,
            expected="one tree",
        )
    steps = list(_walk(root, [joint for joint in joints if id(joint) in kept]))
    return Tree(root, steps, [joint for joint in joints if id(joint) not in kept])


def _by_claim(joints: Sequence[SdfJoint]) -> list[list[SdfJoint]]:
    """Return joints in three classes, of which the first may hold links first."""
    coupled = {joint.name for joint in joints if joint.mimic is not None}
    coupled |= {joint.mimic.joint for joint in joints if joint.mimic is not None}
    classes: list[list[SdfJoint]] = [[], [], []]
    for joint in joints:
        needed = joint.kind == "screw" or (len(joint.axes) == 2 and not joint.perpendicular) or joint.name in coupled
        classes[0 if needed else 2 if joint.cut_last else 1].append(joint)
    return classes


def _root(links: Sequence[str], joints: Sequence[SdfJoint], base: str) -> str:
    """Return the world where it holds anything; else a link that is no joint's child, the given one if it can be."""
    if any(WORLD in (joint.parent, joint.child) for joint in joints):
        return WORLD
    children = {joint.child for joint in joints}
    return base if base not in children else next((link for link in links if link not in children), base)


def _walk(root: str, joints: Iterable[SdfJoint]) -> Iterator[tuple[SdfJoint, bool]]:
    at: dict[str, list[SdfJoint]] = {}
    for joint in joints:
        at.setdefault(joint.parent, []).append(joint)
        at.setdefault(joint.child, []).append(joint)
    came_by: dict[str, SdfJoint | None] = {root: None}
    waiting: list[tuple[SdfJoint, str]] = []

    def push(link: str) -> None:
        out = [joint for joint in at.get(link, ()) if joint is not came_by[link]]
        waiting.extend((joint, link) for joint in sorted(out, key=lambda joint: joint.name, reverse=True))

    push(root)
    while waiting:
        joint, link = waiting.pop()
        backwards = joint.child == link
        yield joint, backwards
        reached = joint.parent if backwards else joint.child
        came_by[reached] = joint
        push(reached)


class _Groups:
    """Links that joints connect (union-find)."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def of(self, link: str) -> str:
        """Return the link that stands for a group."""
        path = []
        while (parent := self._parent.get(link, link)) != link:
            path.append(link)
            link = parent
        for one in path:
            self._parent[one] = link
        return link

    def join(self, first: str, second: str) -> bool:
        """Make one group of two; return whether they were two."""
        one, other = self.of(first), self.of(second)
        self._parent[one] = other
        return one != other


_ROUNDING = 1e-12
"""Distance below which a joint is at the origin of a link [m]: what sums of figures leave."""


def ends(joint: SdfJoint, backwards: bool) -> tuple[str, str, AnyArray, AnyArray]:
    """Return the links before and behind a joint, and its frame in both."""
    found = joint.parent, joint.child, joint.in_parent, joint.in_child
    return (found[1], found[0], found[3], found[2]) if backwards else found


def add_bodies(bodies: BodyTree, tree: Tree, inertias: Mapping[str, SpatialInertia], taken: set[str]) -> None:
    """Add all links of a tree but its root, with the joints that carry them.

    A link whose joint is at another place than its origin is welded to a body at the joint, with the same directions
    and the name "link/joint", in brackets where that is taken.
    """
    for joint, backwards in tree.steps:
        before, link, at, inside = ends(joint, backwards)
        turn, offset = inside[:3, :3], inside[:3, 3]
        if joint.kind in ("fixed", "prismatic"):  # which move alike wherever they are
            placement, whole = at @ se3.inverse(inside), True
        else:
            placement = at @ se3.from_parts(turn.T, np.zeros(3))
            whole = float(np.abs(offset).max()) <= _ROUNDING
        if joint.kind == "fixed":
            bodies.add(link, before, placement=placement, inertia=inertias[link])
            continue
        moved = link if whole else unique(f"{link}/{joint.name}", taken)
        axes = joint.axes[::-1] if backwards else joint.axes
        bodies.add(
            moved,
            before,
            _type(joint, [(-turn if backwards else turn) @ axis.direction for axis in axes]),
            placement,
            inertias[link] if whole else None,
            joint_name=joint.name,
            mimic=joint.mimic,
            **_limits(axes),
        )
        if not whole:
            bodies.add(link, moved, placement=se3.from_parts(np.eye(3), -offset), inertia=inertias[link])


def _type(joint: SdfJoint, axes: list[AnyArray]) -> JointType:
    if joint.kind == "ball":
        return joint_types.spherical()
    if joint.kind == "screw":
        return joint_types.helical(axes[0], joint.pitch)
    if len(axes) == 1:
        make: Callable[..., JointType] = getattr(joint_types, joint.kind)
        return make(axes[0])
    if joint.parallel:
        return joint_types.composite(*(joint_types.revolute(axis) for axis in axes))
    return joint_types.universal(*axes)


def _limits(axes: list[Axis]) -> dict[str, ArrayLike]:
    limits: dict[str, ArrayLike] = {}
    for key in ("lower", "upper", "velocity", "effort", "damping", "friction", "stiffness", "spring_reference"):
        values = [getattr(axis, key) for axis in axes]
        if any(math.isfinite(value) and (value or key in ("lower", "upper", "velocity", "effort")) for value in values):
            limits[key] = values
    return limits
