"""A robot as its links and joints, before it becomes a Model: plain values, whatever file they came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import DescriptionError
from ..lie import SpatialInertia
from ..lie._arrays import own_real

#: Every kind of joint, with its number of degrees of freedom.
KINDS = {
    "fixed": 0,
    "revolute": 1,
    "continuous": 1,
    "prismatic": 1,
    "helical": 1,
    "cylindrical": 2,
    "universal": 2,
    "planar": 3,
    "spherical": 3,
    "floating": 6,
}

#: Kinds whose motion does not depend on `axis`.
AXIS_FREE = frozenset({"fixed", "spherical", "floating"})

#: Limits of a joint's motion and effort, each a number that is not negative, infinite where there is none.
RATE_LIMITS = ("velocity_limit", "effort_limit", "acceleration_limit", "deceleration_limit", "jerk_limit")


class Mimic(NamedTuple):
    """A coordinate that follows another: q = multiplier q_joint + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class LinkDescription:
    """A rigid body and its frame.

    Attributes
    ----------
    name : str
        Name, unique among the links.
    inertia : SpatialInertia or None
        Inertia in the link frame; None where the description gives none, which counts as massless.
    """

    name: str
    inertia: SpatialInertia | None = None


@dataclass(frozen=True, eq=False)
class JointDescription:
    """A joint between two links. The link frame of the child is the joint frame, moved by the joint.

    Attributes
    ----------
    name, kind, parent, child : str
        Its name, one of `KINDS`, and the names of the two links.
    placement : ndarray, shape (4, 4)
        T_parent_joint: pose of the joint frame in the frame of the parent link.
    axis : ndarray, shape (3,)
        Unit vector in the joint frame: axis of rotation, direction of translation, or normal of a planar joint.
    lower, upper : float
        Limits of the coordinate [rad or m]; infinite where there is none.
    velocity_limit, effort_limit : float
        Largest speed [rad/s or m/s] and effort [N m or N]; infinite where there is none.
    acceleration_limit, deceleration_limit, jerk_limit : float
        Largest growth and loss of speed [rad/s^2 or m/s^2] and change of acceleration [rad/s^3 or m/s^3]; infinite
        where there is none.
    damping, friction : float
        Viscous damping [N m s/rad or N s/m] and dry friction [N m or N].
    armature : float
        Inertia of the rotor seen at the joint [kg m^2 or kg].
    mimic : Mimic or None
        The joint that this one follows.
    pitch : float
        Translation along the axis per radian, of a helical joint [m/rad].
    second_axis : ndarray, shape (3,), or None
        Unit vector of the second rotation of a universal joint.
    """

    name: str
    kind: str
    parent: str
    child: str
    placement: npt.NDArray[np.float64] = field(default_factory=lambda: np.eye(4))
    axis: npt.NDArray[np.float64] = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    lower: float = -np.inf
    upper: float = np.inf
    velocity_limit: float = np.inf
    effort_limit: float = np.inf
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    mimic: Mimic | None = None
    pitch: float = 0.0
    second_axis: npt.NDArray[np.float64] | None = None
    acceleration_limit: float = np.inf
    deceleration_limit: float = np.inf
    jerk_limit: float = np.inf

    def __post_init__(self) -> None:
        label = f"joint '{self.name}'"
        if self.kind not in KINDS:
            raise DescriptionError(
                f"{label}: unknown joint type '{self.kind}', one of {', '.join(KINDS)} expected",
                name=self.name,
                value=self.kind,
                expected=", ".join(KINDS),
            )
        for attribute, shape in (("placement", (4, 4)), ("axis", (3,)), ("second_axis", (3,))):
            if getattr(self, attribute) is not None:
                array = own_real(getattr(self, attribute), shape, f"{label}: {attribute}")
                object.__setattr__(self, attribute, array)


@dataclass(frozen=True, eq=False)
class RobotDescription:
    """A tree of links and joints.

    Attributes
    ----------
    name : str
        Name of the robot.
    links : tuple of LinkDescription
        In the order of the file.
    joints : tuple of JointDescription
        In the order of the file.
    root : str
        Name of the link that is no joint's child.
    remarks : tuple of str
        What was read with leniency, one sentence each, for a log; empty for a file that leaves nothing open.
    """

    name: str
    links: tuple[LinkDescription, ...]
    joints: tuple[JointDescription, ...]
    root: str
    remarks: tuple[str, ...] = ()
