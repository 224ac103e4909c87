"""Reader of SDF, the robot description of Gazebo: versions 1.4 to 1.12."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from ...arrays import AnyArray
from ...errors import DescriptionError
from ...files import read_file
from ...lie import SpatialInertia, se3
from ...texts import listed, quoted, unique
from .. import joint_types
from ..bodies import ROOT_JOINT, BodyTree
from ..checks import InertiaCheck, check_inertias, check_mimics, refuse_duplicates, suggestion
from ..description import JointDescription, LinkDescription
from ..urdf.fields import Strangers
from ..urdf.reader import MAX_SIZE, read_source
from .fields import UNIQUE_SINCE, WORLD, Frames, Scope, ScopeReader, SdfFields, SdfFrame, read_sdf_element
from .tree import JointReader, SdfJoint, Tree, add_bodies, ends, span

#: Acceleration of free fall in a <world> that gives none, by the format [m/s^2].
WORLD_GRAVITY = (0.0, 0.0, -9.8)
_GRAVITY_MOVED = (1, 6)
"""Version since which it is given beside the <physics> instead of in it."""
MOST = 200
"""Files that one description may include, those in included files among them."""
DEEPEST = 20
"""Included files that may lie in each other."""
_KINDS = {"screw": "helical", "ball": "spherical", "revolute2": "universal"}
"""Joint types whose names differ in `description`."""


@dataclass(eq=False)
class SdfRobot:
    """A robot as described by an SDF."""

    name: str
    gravity: AnyArray | None  # of the world around it (3,) [m/s^2]; None where there is no world
    bodies: BodyTree
    cut: list[SdfJoint]  # joints that close loops
    remarks: list[str]  # what is not known or left out, a sentence each


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
    refuse_duplicates("link", [link.name for link in links])
    refuse_duplicates("joint", [joint.name for joint in joints])
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
            left_out.note("an inertia that is not given, and for which 1 kg and 1 kg m^2 stand,", link.label)
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
    if floating:  # the joint gives the pose
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


def read_world(
    root: Element, origin: str, version: tuple[int, int], strangers: Strangers, left_out: Strangers
) -> tuple[Scope, AnyArray | None]:
    """Return all models of a file, and the gravity of its world; None where a model stands alone.

    Raises DescriptionError for several worlds, and for what `ScopeReader` refuses.
    """
    worlds = [child for child in root if child.tag == "world"]
    if len(worlds) > 1 or (worlds and len(root) > 1):
        raise DescriptionError(
            f"{origin}: <sdf> holds {len(worlds)} <world> and {len(root) - len(worlds)} <model>; one of both expected",
            name=origin,
            expected="one <world> or <model>",
        )
    scope = Scope("", None)
    ScopeReader(version, strangers).fill(scope, worlds[0] if worlds else root)
    if not worlds:
        return scope, None
    for child in worlds[0]:
        if child.tag in ("include", "state"):
            left_out.note(f"<{child.tag}>", "the world")
    fields = SdfFields(worlds[0], "the world", "", strangers)
    if version < _GRAVITY_MOVED and not fields.has("gravity"):
        fields = fields.inside("physics")
    return scope, fields.vector("gravity", 3) if fields.has("gravity") else np.array(WORLD_GRAVITY)


def choose_robot(world: Scope, root: Element, origin: str, name: str | None = None) -> SdfFrame:
    """Return the model that is the robot: that of a name, the only one, or the only one that is not static.

    Models in others have names as "outer::inner".

    Raises DescriptionError if it is not clear which one that is.
    """
    models = world.of_kind("model")
    if name is not None:
        inside = [frame for scope in world.walk() for frame in scope.of_kind("model")]
        named = {_path(frame): frame for frame in inside}
        if name not in named:
            message = f"{origin}: it holds no model {quoted(name)}{suggestion(name, named)}"
            raise DescriptionError(message, name=origin, value=name, expected="the name of a model")
        return named[name]
    moving = [model for model in models if model.model is not None and not model.model.static]
    for candidates in (moving, models):
        if len(candidates) == 1:
            return candidates[0]
    includes = any(child.tag == "include" for top in root for child in top)
    if moving:
        what = f"{len(moving)} models that are not static, {listed(model.name for model in moving)}"
    else:
        what = f"{len(models)} models that are static" if models else "no <model>"
    hint = ""
    if models:
        hint = f" (choose one by the argument model: {listed(model.name for model in models)})"
    elif includes:
        hint = " (included files are read from package_dirs; `gz sdf -p FILE` writes one file without them)"
    raise DescriptionError(f"{origin}: it holds {what}; one robot expected{hint}", name=origin, expected="one robot")


def _path(frame: SdfFrame) -> str:
    """Return the name of a model with those of the models around it."""
    names, scope = [frame.name.rpartition("::")[2]], frame.scope
    while scope.around is not None:
        names.append(scope.own.name.rpartition("::")[2])
        scope = scope.around
    return "::".join(reversed(names))


def read_inertia(link: SdfFrame, left_out: Strangers) -> SpatialInertia:
    """Return the inertia of a link in its frame; by default 1 kg and 1 kg m^2, as the format requires.

    Raises DescriptionError for invalid numbers, and inertias that are to be computed from shapes; names the link.
    """
    fields = link.fields
    if not fields.boolean("gravity", True):
        left_out.note("switched off <gravity>", link.label)
    if fields.boolean("kinematic"):
        left_out.note("<kinematic>", link.label)
    decay = fields.inside("velocity_decay")
    if any(decay.number(key, 0.0) for key in ("linear", "angular")):
        left_out.note("<velocity_decay>", link.label)
    inertial = fields.inside("inertial")
    if inertial.element.get("auto", "false").lower() not in ("false", "0", ""):
        raise DescriptionError(
            f"{link.label}: auto of <inertial> is {quoted(inertial.element.get('auto', ''))}; shapes are not read, and "
            "an inertia in figures is expected (`gz sdf -p --expand-auto-inertials FILE` writes them)",
            name=link.name,
            expected="<mass> and <inertia>",
        )
    told_in = inertial.attribute("pose", "relative_to")
    if told_in:
        raise DescriptionError(
            f"{link.label}: relative_to of the <pose> of its <inertial> is {quoted(told_in)}; none expected, "
            "since it is given in the link",
            name=link.name,
            value=told_in,
            expected="no relative_to",
        )
    if inertial.has("fluid_added_mass"):
        left_out.note("<fluid_added_mass>", link.label)
    pose, inertia = inertial.pose(), inertial.inside("inertia")
    mass = inertial.number("mass", 1.0)
    xx, yy, zz = (inertia.number(key, 1.0) for key in ("ixx", "iyy", "izz"))
    xy, xz, yz = (inertia.number(key, 0.0) for key in ("ixy", "ixz", "iyz"))
    figures = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    rotation = pose[:3, :3]
    return SpatialInertia(mass, pose[:3, 3], rotation @ figures @ rotation.T)


def is_told(link: SdfFrame) -> bool:
    """Return whether a file gives the mass and the inertia of a link."""
    inertial = link.fields.inside("inertial")
    return inertial.has("mass") and all(inertial.inside("inertia").has(key) for key in ("ixx", "iyy", "izz"))


class Includes:
    """Puts included models in the place of their <include>, where they are found.

    ``model://NAME`` is looked for in folders as NAME/model.sdf, or as the only file NAME/*.sdf, of at most `max_size`
    bytes. `version` is that of the including file.
    """

    def __init__(self, folders: Sequence[str | os.PathLike[str]], version: tuple[int, int], max_size: int) -> None:
        self._folders = [Path(folder).expanduser() for folder in folders]
        self._version, self._max_size, self._count = version, max_size, 0

    def put_in(self, element: Element, within: Path | None = None, depth: int = 0) -> None:
        """Replace each <include> in <sdf>, <world> or <model> whose file is found.

        Raises DescriptionError for files that hold other than one model, that cannot be merged, or that are of a
        version with other rules for names; too many.
        """
        for child in list(element):
            if child.tag in ("world", "model"):
                self.put_in(child, within, depth)
            elif child.tag == "include" and (path := self._find(_text(child, "uri"), within)) is not None:
                self._count += 1
                if self._count > MOST or depth >= DEEPEST:
                    raise DescriptionError(
                        f"<include> of {quoted(str(path))}: too many files; at most {MOST}, and {DEEPEST} in each "
                        "other, expected",
                        name=str(path),
                    )
                place = list(element).index(child)
                model = self._model(child, path, depth)
                merged = element.tag == "model" and child.get("merge", "").strip().lower() in ("true", "1")
                element[place : place + 1] = _merged(model) if merged else [model]

    def _find(self, uri: str, within: Path | None) -> Path | None:
        scheme, _, rest = uri.partition("://") if "://" in uri else ("", "", uri)
        if scheme == "file":
            candidates = [Path(rest)]
        elif scheme in ("model", "package"):
            candidates = [folder / rest for folder in self._folders]
        elif not scheme:
            candidates = [folder / uri for folder in (within, *self._folders) if folder is not None]
        else:
            candidates = []
        for candidate in candidates if self._folders else ():
            if candidate.is_file():
                return candidate
            if (candidate / "model.sdf").is_file():
                return candidate / "model.sdf"
            files = sorted(candidate.glob("*.sdf")) if candidate.is_dir() else []
            if len(files) == 1:
                return files[0]
        return None

    def _model(self, include: Element, path: Path, depth: int) -> Element:
        try:
            root, version = read_sdf_element(read_file(path, self._max_size), str(path))
        except OSError as error:
            message = f"<include> of {quoted(str(path))}: {error.strerror or error}"
            raise DescriptionError(message, name=str(path)) from error
        if (version >= UNIQUE_SINCE) != (self._version >= UNIQUE_SINCE):
            raise DescriptionError(
                f"<include> of {quoted(str(path))}: version {version[0]}.{version[1]} in a file of version "
                f"{self._version[0]}.{self._version[1]}, whose frames have other rules (`gz sdf -p FILE` prints it "
                "in a later version)",
                name=str(path),
                value=version,
            )
        self.put_in(root, path.parent, depth + 1)
        models = [child for child in root if child.tag == "model"]
        if len(models) != 1:
            message = f"<include> of {quoted(str(path))}: it holds {len(models)} models, one expected"
            raise DescriptionError(message, name=str(path), value=len(models), expected="one model")
        model = models[0]
        for key in ("name", "placement_frame"):
            if text := _text(include, key):
                model.set(key, text)
        for key in ("pose", "static"):
            told = include.find(key)
            if told is not None:
                for own in model.findall(key):
                    model.remove(own)
                model.append(told)
        return model


def _merged(model: Element) -> list[Element]:
    """Return what an included model holds as parts of the model around it, with a frame that stands for its own.

    Raises DescriptionError for a placement frame, and a model without links.
    """
    name, placement = model.get("name", ""), model.get("placement_frame", "")
    parts = [child for child in model if child.tag in ("link", "joint", "frame", "model")]
    carriers = [child.get("name", "") for tag in ("link", "model") for child in parts if child.tag == tag]
    if placement or not carriers:
        what = f"placement_frame {quoted(placement)}; none expected" if placement else "no links; at least one expected"
        raise DescriptionError(f"<include merge='true'> of model '{name}': it has {what}", name=name)
    own = Element("frame", name=f"_merged__{name}__model__", attached_to=model.get("canonical_link") or carriers[0])
    pose = model.find("pose")
    own.append(Element("pose") if pose is None else pose)
    own[0].set("relative_to", own[0].get("relative_to") or "__model__")
    stand_in = own.get("name", "")
    for part in parts:
        if part.tag in ("link", "model") and part.find("pose") is None:
            part.append(Element("pose"))
        if part.tag == "frame":
            part.set("attached_to", part.get("attached_to") or "__model__")
        for one in part.findall("pose") if part.tag in ("link", "model") else ():
            one.set("relative_to", one.get("relative_to") or "__model__")
        for one in (part, *part.findall("pose")) if part.tag in ("link", "model") else part.iter():
            for key in ("relative_to", "attached_to", "expressed_in"):
                if one.get(key) == "__model__":
                    one.set(key, stand_in)
            if one.tag in ("parent", "child") and (one.text or "").strip() == "__model__":
                one.text = stand_in
    return [own, *parts]


def _text(element: Element, tag: str) -> str:
    found = element.find(tag)
    return "" if found is None else (found.text or "").strip()
