"""Joints of an SDF, and how they are read: what moves about which axes, between which two links."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ...arrays import AnyArray
from ...errors import DescriptionError
from ...lie import se3
from ...texts import quoted, shortened
from ..description import Mimic
from ..urdf.fields import Strangers
from .fields import SdfFields
from .frames import UNIQUE_SINCE, WORLD, Frames, SdfFrame

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
    """A joint between two links, or between a link and the world.

    Attributes
    ----------
    name, kind : str
        Its name, and one of `AXES`.
    parent, child : str
        Names of links; `WORLD` where that does not move.
    in_parent, in_child : ndarray, shape (4, 4)
        Its frame in those of the two links, as the file puts them [m].
    axes : list of Axis
        As many as its kind has.
    pitch : float
        Translation of a screw [m/rad].
    mimic : Mimic or None
        The joint that it follows.
    cut_last : bool
        Whether the file asks for the loop to be cut here.
    """

    name: str
    kind: str
    parent: str
    child: str
    in_parent: AnyArray
    in_child: AnyArray
    axes: list[Axis] = field(default_factory=list)
    pitch: float = 0.0
    mimic: Mimic | None = None
    cut_last: bool = False

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
    """Makes joints of their elements.

    Parameters
    ----------
    version : tuple of int
        Version in <sdf>.
    frames : Frames
        Of the file.
    strangers, left_out : Strangers
        Take what is not known, and what is known but not part of a model.
    """

    def __init__(self, version: tuple[int, int], frames: Frames, strangers: Strangers, left_out: Strangers) -> None:
        self._version, self._frames = version, frames
        self._strangers, self._left_out = strangers, left_out

    def read(self, frame: SdfFrame) -> SdfJoint | None:
        """Return a joint; None where it holds the world to itself.

        Raises
        ------
        DescriptionError
            For unknown kinds, missing or zero axes, invalid numbers, links that are not there or the same;
            names the joint.
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
