"""Joints of an SDF: what moves about which axes, between which two links."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ...arrays import AnyArray
from ..description import Mimic

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
        """Of the angle between two axes."""
        return float(self.axes[0].direction @ self.axes[1].direction)

    @property
    def parallel(self) -> bool:
        """Whether two axes are parallel."""
        return abs(self.cosine) > 1.0 - 1e-9

    @property
    def perpendicular(self) -> bool:
        """Whether two axes are perpendicular, to the rounding of figures in files."""
        return abs(self.cosine) < 1e-6
