"""Joints that do not move: parts of the body that they hang on, at a position."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..errors import DescriptionError, InputError
from ..lie import so3
from ..lie._arrays import number_of
from ..texts import LARGEST
from .description import KINDS, JointDescription, RobotDescription

LOCKABLE = ("revolute", "continuous", "prismatic", "helical")
"""Kinds of joints that can be locked at a position other than zero."""


def lock_joints(
    description: RobotDescription,
    positions: Mapping[str, float],
    base_link: str | None = None,
    with_carriers: bool = False,
) -> RobotDescription:
    """Return a robot some of whose joints are fixed.

    Parameters
    ----------
    description : RobotDescription
    positions : mapping of str to float
        Joints, and where they are locked [rad or m]. Joints that mimic one of them are locked where they follow it.
    base_link : str, optional
        Lock all joints that do not lie below this link, those without a position at zero or at the nearest limit.
    with_carriers : bool
        Leave the joints between the root link and `base_link` as they are, unless they have a position.

    Raises
    ------
    DescriptionError
        There is no such joint or link, a joint has several coordinates or none, or the position is beyond its limits.
    InputError
        For anything but a mapping of numbers.
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
    motion: npt.NDArray[np.float64] = np.eye(4)
    if joint.kind in ("revolute", "continuous", "helical"):
        motion[:3, :3] = so3.exp(position * joint.axis)
    if joint.kind == "prismatic":
        motion[:3, 3] = position * joint.axis
    elif joint.kind == "helical":
        motion[:3, 3] = joint.pitch * position * joint.axis
    return dataclasses.replace(joint, kind="fixed", placement=joint.placement @ motion, mimic=None)
