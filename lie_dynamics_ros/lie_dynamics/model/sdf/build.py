"""From the tree of an SDF to bodies, whose frames are where joints move them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ...arrays import AnyArray
from ...lie import SpatialInertia, se3
from ...texts import unique
from .. import joint_types
from ..bodies import BodyTree
from ..joint_types import JointType
from .joints import Axis, SdfJoint
from .tree import Tree

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
        makers = {
            "revolute": joint_types.revolute,
            "continuous": joint_types.continuous,
            "prismatic": joint_types.prismatic,
        }
        return makers[joint.kind](axes[0])
    if joint.parallel:
        return joint_types.composite(*(joint_types.revolute(axis) for axis in axes))
    return joint_types.universal(*axes)


def _limits(axes: list[Axis]) -> dict[str, npt.ArrayLike]:
    limits: dict[str, npt.ArrayLike] = {}
    for key in ("lower", "upper", "velocity", "effort", "damping", "friction", "stiffness", "spring_reference"):
        values = [getattr(axis, key) for axis in axes]
        if any(math.isfinite(value) and (value or key in ("lower", "upper", "velocity", "effort")) for value in values):
            limits[key] = values
    return limits
