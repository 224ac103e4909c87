"""Tree of an SDF: its joints, those cut to close loops, the link it stands on, and the bodies it becomes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...arrays import AnyArray
from ...errors import DescriptionError
from ...lie import SpatialInertia, se3
from ...texts import listed, unique
from .. import joint_types
from ..bodies import BodyTree
from ..joint_types import JointType
from .frames import WORLD
from .joints import Axis, SdfJoint


@dataclass(eq=False)
class Tree:
    """A spanning tree.

    Attributes
    ----------
    root : str
        Name of a link, or `WORLD`.
    steps : list of (SdfJoint, bool)
        Joints from the root outwards, depth first, siblings by name; and whether the joint is walked from its child to
        its parent.
    cut : list of SdfJoint
        The others, in the order of the file.
    """

    root: str
    steps: list[tuple[SdfJoint, bool]]
    cut: list[SdfJoint]


def span(links: Sequence[str], joints: Sequence[SdfJoint], base: str, robot: str) -> Tree:
    """Return the tree of a robot, and the joints that are cut.

    Every link hangs on the first joint of the file whose child it is; joints that come later to a link that hangs
    already are cut. What hangs on nothing then is held by the first of these that leads elsewhere, walked from its
    child to its parent. So it is done three times: with the joints that cannot be cut, or of which more than a loop is
    expected (screws, universal joints whose axes are not perpendicular, joints of a <mimic>); with all but those that
    have <must_be_loop_joint>; with all.

    Parameters
    ----------
    links : sequence of str
        Names of the links.
    joints : sequence of SdfJoint
        In the order of the file.
    base : str
        The link that the robot stands on where no joint determines it.
    robot : str
        Its name.

    Raises
    ------
    DescriptionError
        If the robot falls apart.
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
