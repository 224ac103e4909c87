"""From a robot description to the bodies of a Model: order of the joints, floating base, welding."""

from __future__ import annotations

import math

import numpy.typing as npt

from . import joint_types
from .bodies import BodyTree
from .description import RATE_LIMITS, JointDescription, RobotDescription
from .joint_types import JointType

#: Name of the joint that a floating base gets.
ROOT_JOINT = "root_joint"


def bodies_from_description(description: RobotDescription, floating_base: bool = False) -> BodyTree:
    """Return the bodies of a description.

    A root link called "world" that is fixed is the inertial frame itself. Joints are taken depth first
    and siblings by joint name, so the order does not hang on that of the file.
    """
    names = {link.name for link in description.links}
    world = "world" if "world" not in names or (description.root == "world" and not floating_base) else "inertial_frame"
    bodies = BodyTree(world, judge_inertias=False)  # the reader has judged them, welded parts together
    children: dict[str, list[JointDescription]] = {}
    for joint in description.joints:
        children.setdefault(joint.parent, []).append(joint)
    links = {link.name: link for link in description.links}
    root = description.root
    base = joint_types.free() if floating_base else joint_types.fixed()
    if root != world:
        bodies.add(root, None, base, inertia=links[root].inertia, joint_name=ROOT_JOINT)
    waiting = sorted(children.get(root, ()), key=lambda joint: joint.name, reverse=True)
    while waiting:
        joint = waiting.pop()
        kind = _joint_type(joint)
        limits = {} if kind.nv == 0 else _limits(joint, kind)
        bodies.add(
            joint.child,
            joint.parent,
            kind,
            joint.placement,
            links[joint.child].inertia,
            joint_name=joint.name,
            mimic=joint.mimic,
            **limits,
        )
        waiting += sorted(children.get(joint.child, ()), key=lambda child: child.name, reverse=True)
    return bodies


def _joint_type(joint: JointDescription) -> JointType:
    axis = joint.axis
    if joint.kind == "universal":
        return joint_types.universal(axis, joint_types.Y if joint.second_axis is None else joint.second_axis)
    if joint.kind == "helical":
        return joint_types.helical(axis, joint.pitch)
    with_axis = {
        "revolute": joint_types.revolute,
        "continuous": joint_types.continuous,
        "prismatic": joint_types.prismatic,
        "cylindrical": joint_types.cylindrical,
        "planar": joint_types.planar,
    }
    if joint.kind in with_axis:
        return with_axis[joint.kind](axis)
    return {"fixed": joint_types.fixed, "spherical": joint_types.spherical, "floating": joint_types.free}[joint.kind]()


def _limits(joint: JointDescription, kind: JointType) -> dict[str, npt.ArrayLike]:
    given = {attribute.removesuffix("_limit"): getattr(joint, attribute) for attribute in RATE_LIMITS}
    limits: dict[str, npt.ArrayLike] = {key: value for key, value in given.items() if value != math.inf}
    limits |= {key: value for key in ("damping", "friction", "armature") if (value := getattr(joint, key))}
    if kind.nq == kind.nv:  # a quaternion has no limits
        limits |= {"lower": joint.lower, "upper": joint.upper}
    return limits
