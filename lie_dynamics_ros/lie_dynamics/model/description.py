"""A robot as its links and joints, before it becomes a Model: plain values, whatever file they came from."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import DescriptionError, InputError
from ..lie import SpatialInertia, so3
from ..lie._arrays import number_of, own_real
from ..texts import LARGEST

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
    """A rigid body and its frame."""

    name: str  # unique among the links
    # inertia in the link frame; None where the description gives none, which counts as massless
    inertia: SpatialInertia | None = None


@dataclass(frozen=True, eq=False)
class JointDescription:
    """A joint between two links. The link frame of the child is the joint frame, moved by the joint."""

    name: str
    kind: str  # one of `KINDS`
    parent: str
    child: str
    # T_parent_joint: pose of the joint frame in the frame of the parent link (4, 4)
    placement: Array = field(default_factory=lambda: np.eye(4))
    # unit vector in the joint frame: axis of rotation, direction of translation, or normal of a planar joint (3,)
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    lower: float = -np.inf  # limit of the coordinate [rad or m]
    upper: float = np.inf
    velocity_limit: float = np.inf  # [rad/s or m/s]
    effort_limit: float = np.inf  # [N m or N]
    damping: float = 0.0  # viscous [N m s/rad or N s/m]
    friction: float = 0.0  # dry [N m or N]
    armature: float = 0.0  # inertia of the rotor seen at the joint [kg m^2 or kg]
    mimic: Mimic | None = None  # the joint that this one follows
    pitch: float = 0.0  # translation along the axis per radian, of a helical joint [m/rad]
    second_axis: Array | None = None  # unit vector of the second rotation of a universal joint (3,)
    acceleration_limit: float = np.inf  # growth of speed [rad/s^2 or m/s^2]
    deceleration_limit: float = np.inf  # loss of speed [rad/s^2 or m/s^2]
    jerk_limit: float = np.inf  # change of acceleration [rad/s^3 or m/s^3]

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
    """A tree of links and joints."""

    name: str
    links: tuple[LinkDescription, ...]  # in the order of the file
    joints: tuple[JointDescription, ...]  # in the order of the file
    root: str  # the link that is no joint's child
    # what was read with leniency, one sentence each, for a log; empty for a file that leaves nothing open
    remarks: tuple[str, ...] = ()


LOCKABLE = ("revolute", "continuous", "prismatic", "helical")
"""Kinds of joints that can be locked at a position other than zero."""


def lock_joints(
    description: RobotDescription,
    positions: Mapping[str, float],
    base_link: str | None = None,
    with_carriers: bool = False,
) -> RobotDescription:
    """Return a robot some of whose joints are fixed.

    `positions` are those of the joints that are locked [rad or m]; joints that mimic one of them are locked where they
    follow it. With a `base_link`, all joints that do not lie below it are locked, those without a position at zero or
    at the nearest limit; but for those between it and the root link, without a position, if `with_carriers`.

    Raises DescriptionError where there is no such joint or link, a joint has several coordinates or none, or the
    position is beyond its limits, and InputError for anything but a mapping of numbers.
    """
    if not isinstance(positions, Mapping):
        raise InputError(f"locked: a mapping of positions by joint is expected, got {positions!r}", name="locked")
    joints = {joint.name: joint for joint in description.joints}
    locked = dict(positions)
    for name, position in positions.items():
        _check(joints, name, position)
    carriers: set[str] = set()
    if base_link is not None:
        below = _below(description, base_link)
        carriers = _carriers(description, base_link) if with_carriers else carriers
        for name, joint in joints.items():
            if name not in below | carriers and KINDS[joint.kind]:
                locked.setdefault(name, min(max(0.0, joint.lower), joint.upper))
    found = True
    while found:  # who mimics a joint may be mimicked in turn
        found = False
        for name, joint in joints.items():
            # What carries the base follows a joint that is locked by name, not one that lies elsewhere in the robot.
            leaders = positions if name in carriers else locked
            if joint.mimic is not None and joint.mimic.joint in leaders and name not in positions:
                position = joint.mimic.multiplier * locked[joint.mimic.joint] + joint.mimic.offset
                if not abs(position) <= LARGEST:
                    raise DescriptionError(f"joint '{name}' follows a locked one to {position:g}", name=name)
                found |= locked.get(name) != position
                locked[name] = position
    changed = tuple(_fixed(joint, locked[name]) if name in locked else joint for name, joint in joints.items())
    return dataclasses.replace(description, joints=changed)


def _check(joints: Mapping[str, JointDescription], name: str, position: float) -> None:
    """Raise DescriptionError where a joint cannot be locked at a position."""
    joint = joints.get(name)
    if joint is None or joint.kind not in LOCKABLE:
        there = ", ".join(one.name for one in joints.values() if one.kind in LOCKABLE)
        what = "there is no such joint" if joint is None else f"a {joint.kind} joint cannot be"
        raise DescriptionError(f"joint '{name}' to be locked: {what}; there are {there or 'none'}", name=name)
    position = number_of(f"locked: {name}", position, f"a number up to {LARGEST:g}", lambda x: not abs(x) > LARGEST)
    if not joint.lower <= position <= joint.upper:
        raise DescriptionError(
            f"joint '{name}' is to be locked at {position:g}; "
            f"its limits are {joint.lower:g} and {joint.upper:g}", name=name, value=position,
        )  # fmt: skip


def _below(description: RobotDescription, base_link: str) -> set[str]:
    """Return the joints below a link; raises DescriptionError where there is no such link, or none below it moves."""
    if base_link not in {link.name for link in description.links}:
        names = ", ".join(link.name for link in description.links)
        raise DescriptionError(f"there is no link '{base_link}'; there are {names}", name=base_link)
    children: dict[str, list[JointDescription]] = {}
    for joint in description.joints:
        children.setdefault(joint.parent, []).append(joint)
    below, waiting = set(), [base_link]
    while waiting:
        for joint in children.get(waiting.pop(), ()):
            below.add(joint.name)
            waiting.append(joint.child)
    return below


def _carriers(description: RobotDescription, link: str) -> set[str]:
    """Return the joints between the root link and a link."""
    above = {joint.child: joint for joint in description.joints}
    carriers = set()
    while link in above:
        carriers.add(above[link].name)
        link = above[link].parent
    return carriers


def _fixed(joint: JointDescription, position: float) -> JointDescription:
    motion: Array = np.eye(4)
    if joint.kind in ("revolute", "continuous", "helical"):
        motion[:3, :3] = so3.exp(position * joint.axis)
    if joint.kind == "prismatic":
        motion[:3, 3] = position * joint.axis
    elif joint.kind == "helical":
        motion[:3, 3] = joint.pitch * position * joint.axis
    return dataclasses.replace(joint, kind="fixed", placement=joint.placement @ motion, mimic=None)
