"""From a robot description to a Model: order of the joints, floating base, welding."""

from __future__ import annotations

import numpy.typing as npt

from . import joint_types
from .builder import ModelBuilder
from .description import JointDescription, RobotDescription
from .joint_types import JointType
from .model import Model

#: Name of the joint that a floating base gets.
ROOT_JOINT = "root_joint"


def model_from_description(
    description: RobotDescription, floating_base: bool = False, gravity: npt.ArrayLike = (0.0, 0.0, -9.81)
) -> Model:
    """Return the model of a description.

    Joints are taken depth first and siblings by joint name, so the order does not hang on that of the file.
    """
    builder = ModelBuilder(gravity)
    children: dict[str, list[JointDescription]] = {}
    for joint in description.joints:
        children.setdefault(joint.parent, []).append(joint)
    links = {link.name: link for link in description.links}
    root = description.root
    base = joint_types.free() if floating_base else joint_types.fixed()
    builder.add(root, "world", base, inertia=links[root].inertia, joint_name=ROOT_JOINT)
    waiting = sorted(children.get(root, ()), key=lambda joint: joint.name, reverse=True)
    while waiting:
        joint = waiting.pop()
        kind = _joint_type(joint)
        limits = {} if kind.nv == 0 else _limits(joint, kind)
        builder.add(
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
    return builder.build(description.name)
