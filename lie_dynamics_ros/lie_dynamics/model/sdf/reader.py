"""Reader of SDF, the robot description of Gazebo: versions 1.4 to 1.12."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import AnyArray
from ...errors import DescriptionError
from ...lie import SpatialInertia, se3
from ...texts import unique
from .. import joint_types
from ..bodies import BodyTree
from ..checks import InertiaCheck, check_inertias, check_mimics
from ..description import JointDescription, LinkDescription
from ..from_description import ROOT_JOINT
from ..urdf.fields import Strangers
from ..urdf.source import MAX_SIZE, read_source
from .build import add_bodies, ends
from .elements import read_sdf_element
from .frames import Frames
from .includes import Includes
from .joint_reader import JointReader
from .joints import SdfJoint
from .links import is_told, read_inertia
from .scopes import WORLD, Scope, SdfFrame
from .tree import Tree, span
from .world import choose_robot, read_world

_KINDS = {"screw": "helical", "ball": "spherical", "revolute2": "universal"}
"""What joints are called in `description`, where their names differ."""


@dataclass(eq=False)
class SdfRobot:
    """A robot as described by an SDF.

    Attributes
    ----------
    name : str
        Name of the model.
    gravity : ndarray, shape (3,), or None
        Of the world around it [m/s^2]; None where there is no world.
    bodies : BodyTree
        The tree.
    cut : list of SdfJoint
        Joints that close loops.
    remarks : list of str
        What is not known or left out, a sentence each.
    """

    name: str
    gravity: AnyArray | None
    bodies: BodyTree
    cut: list[SdfJoint]
    remarks: list[str]


def read_sdf(
    source: str | bytes | os.PathLike[str],
    floating_base: bool = False,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    inertia_check: InertiaCheck = "error",
    max_size: int = MAX_SIZE,
    model: str | None = None,
) -> SdfRobot:
    """Read a robot with its loops from SDF; see `Model.from_sdf` for parameters, errors and what is read."""
    text, origin = read_source(source, package_dirs, max_size, "SDF")
    root, version = read_sdf_element(text, origin)
    strangers, left_out = Strangers("not known in SDF, and not used"), Strangers("not part of the model")
    Includes(package_dirs, version, max_size).put_in(root)
    world, gravity = read_world(root, origin, version, strangers, left_out)
    robot = choose_robot(world, root, origin, model)
    assert robot.model is not None
    scopes, frames = list(robot.model.walk()), Frames()
    for frame in (robot, *(one for scope in scopes for one in scope.members)):
        frames.pose(frame)  # refuses those that lead nowhere, whether they are used or not
        frames.carrier(frame)
    read_joint = JointReader(version, frames, strangers, left_out).read
    read = [read_joint(one) for scope in (*scopes, world) for one in scope.of_kind("joint")]
    joints = [joint for joint in read if joint is not None]
    links = [link for scope in scopes for link in scope.of_kind("link")]
    _refuse_twins("link", (link.name for link in links))
    _refuse_twins("joint", (joint.name for joint in joints))
    moving = {link.name: link for link in links if not link.scope.static}
    inertias = {name: read_inertia(link, left_out) for name, link in moving.items()}
    tree = span(list(moving), joints, frames.carrier(robot).name, robot.name)
    _judge(tree, inertias, inertia_check, floating_base)
    bodies = BodyTree(WORLD, judge_inertias=False)  # they are checked, welded parts together
    if tree.root != WORLD:
        _add_root(bodies, tree.root, frames.pose(moving[tree.root]), inertias[tree.root], floating_base)
    elif floating_base:
        message = f"the robot '{robot.name}' is held to the world; floating_base is for robots that are not"
        raise DescriptionError(message, name=robot.name)
    taken = {WORLD, *(one.name for scope in scopes for one in scope.members if one.kind in ("link", "frame"))}
    add_bodies(bodies, tree, inertias, taken)
    _add_frames(bodies, scopes, frames, taken)
    for name, link in moving.items():
        if not is_told(link) and (name != tree.root or floating_base):
            left_out.note("an inertia that is not told, and for which 1 kg and 1 kg m^2 stand,", link.label)
    for joint in tree.cut:
        for term in sorted({term for axis in joint.axes for term in axis.terms()}):
            left_out.note(f"{term} of joints that close loops", joint.label)
    for other in world.of_kind("model"):
        if other is not robot and robot not in (one for scope in _inside(other) for one in scope.members):
            left_out.note("other models", other.label)
    remarks = [sentence for one in (left_out, strangers) if (sentence := one.sentence())]
    return SdfRobot(robot.name, gravity, bodies, tree.cut, remarks)


def _inside(frame: SdfFrame) -> Iterable[Scope]:
    return frame.model.walk() if frame.model is not None else ()


def _refuse_twins(kind: str, names: Iterable[str]) -> None:
    """Refuse names that differ in the file, and not with the names of models before them."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            message = f"{kind} '{name}' is there twice; names of their own expected"
            raise DescriptionError(message, name=name, value=name, expected="unique names")
        seen.add(name)


def _judge(
    tree: Tree, inertias: Mapping[str, SpatialInertia], inertia_check: InertiaCheck, floating_base: bool
) -> None:
    """Refuse inertias that no body can have, and mimic joints that follow none with a coordinate."""
    links = [LinkDescription(WORLD), *(LinkDescription(name, inertia) for name, inertia in inertias.items())]
    joints = []
    for joint, backwards in tree.steps:
        before, link, at, inside = ends(joint, backwards)
        placement = at @ se3.inverse(inside) if joint.kind == "fixed" else np.eye(4)
        kind = _KINDS.get(joint.kind, joint.kind)
        joints.append(JointDescription(joint.name, kind, before, link, placement, mimic=joint.mimic))
    check_inertias(links, joints, inertia_check, "" if floating_base else tree.root)
    astray = check_mimics(joints)
    if astray:
        raise DescriptionError(f"{astray}; joints that move and close no loop are expected", expected="other joints")
    for joint in tree.cut:
        if joint.mimic is not None:
            message = f"{joint.label}: it closes a loop and has no coordinate that could follow '{joint.mimic.joint}'"
            raise DescriptionError(message, name=joint.name, value=joint.mimic.joint, expected="no <mimic>")


def _add_root(bodies: BodyTree, name: str, pose: AnyArray, inertia: SpatialInertia, floating: bool) -> None:
    if floating:  # the joint tells the pose
        bodies.add(name, None, joint_types.free(), inertia=inertia, joint_name=ROOT_JOINT)
    else:
        bodies.add(name, None, placement=pose, inertia=inertia)


def _add_frames(bodies: BodyTree, scopes: Iterable[Scope], frames: Frames, taken: set[str]) -> None:
    """Add links that do not move, and frames on those that do."""
    members = [one for scope in scopes for one in scope.members]
    links = {one.name for one in members if one.kind == "link"}
    for one in members:
        if one.kind == "frame" or (one.kind == "link" and one.scope.static):
            carrier = frames.carrier(one)
            name = one.name
            if one.kind == "frame" and name in links:
                name = unique(f"frame/{name}", taken)
            bodies.add(name, carrier.name, placement=_between(frames, carrier, one))


def _between(frames: Frames, first: SdfFrame, second: SdfFrame) -> AnyArray:
    return np.asarray(se3.inverse(frames.pose(first)) @ frames.pose(second))
