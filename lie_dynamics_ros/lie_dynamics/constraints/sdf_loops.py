"""Joints that close the loops of an SDF as loops; see `model.sdf`."""

from __future__ import annotations

from ..errors import DescriptionError
from ..model.model import Model
from ..model.sdf.joints import SdfJoint
from .loop import Loop

_CUT_JOINTS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "universal": "universal",
    "revolute2": "universal",
    "ball": "spherical",
    "fixed": "welded",
}


def closes_a_loop(model: Model, joint: SdfJoint) -> bool:
    """Return whether anything moves between the links of a joint, besides it.

    Raises
    ------
    DescriptionError
        For a model that is of another file.
    """
    for link in (joint.parent, joint.child):
        if link not in model.frames:
            raise DescriptionError(
                f"{joint.label}: the model has no link '{link}'; the one that Model.from_sdf made of the same expected",
                name=joint.name,
                value=link,
            )
    return model.frames[joint.parent].body != model.frames[joint.child].body


def loop_of(joint: SdfJoint) -> Loop:
    """Return the loop that a joint closes; it is closed as the file puts the links.

    Raises
    ------
    DescriptionError
        For joints that no cut joint stands for; names the joint.
    """
    kind = _CUT_JOINTS.get(joint.kind)
    if kind is None or (len(joint.axes) == 2 and not joint.perpendicular):
        what = "screw" if kind is None else f"{joint.kind} joint whose axes are not perpendicular"
        raise DescriptionError(
            f"{joint.label}: it closes a loop, and no loop can be closed by a {what}; another joint of the loop is "
            "expected to be cut (write it behind this one, or with <must_be_loop_joint>)",
            name=joint.name,
            value=joint.kind,
            expected=", ".join(_CUT_JOINTS),
        )
    axes = [axis.direction for axis in joint.axes]
    return Loop(
        kind,
        joint.parent,
        joint.child,
        joint.name,
        axis=axes[0] if axes else None,
        second_axis=axes[-1] if kind in ("revolute", "universal") else None,
        first_placement=joint.in_parent,
        second_placement=joint.in_child,
    )
