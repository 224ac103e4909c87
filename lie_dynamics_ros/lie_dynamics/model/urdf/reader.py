"""Reader of URDF, the robot description of ROS, versions 1.0, 1.1 and 1.2: from text, path or URI to a description."""

from __future__ import annotations

import difflib
import math
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse
from xml.etree.ElementTree import Element

import numpy as np

from ...arrays import AnyArray
from ...errors import DescriptionError, DescriptionWarning
from ...files import read_file
from ...lie import SpatialInertia
from ...texts import quoted
from ..checks import InertiaCheck, check_inertias, check_joint, check_lengths, check_mimics, find_root
from ..description import AXIS_FREE, JointDescription, LinkDescription, Mimic, RobotDescription
from .fields import Fields, RobotElement, Strangers, local_name, read_robot

#: Largest description that is read unless a caller says otherwise [bytes]: some 10,000 links with their meshes.
MAX_SIZE = 16 * 2**20
FROM_YAML = "StewartPlatform.from_yaml reads platforms, ConstraintSet.from_yaml loops"


def read_source(
    source: object,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    max_size: int = MAX_SIZE,
    kind: str = "URDF",
) -> tuple[str | bytes, str]:
    """Return the XML and what to call its origin in messages; see `urdf.read_urdf` for what is accepted.

    `kind` is the name of the format that is expected.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        _refuse_large(memoryview(source).nbytes, max_size, kind)
        return bytes(source), kind
    if isinstance(source, str):
        _refuse_large(len(source), max_size, kind)
        text = source.lstrip("\ufeff \t\r\n")
        if not text:
            raise DescriptionError(f"{kind}: the text is empty, XML or a path expected", value=source, expected="XML")
        if text.startswith("<"):
            return source, kind
        if "\n" in text:
            raise DescriptionError(
                f"{kind}: neither XML nor a path: it starts with {text[:40]!r}, and XML starts with '<'; {FROM_YAML}",
                value=text[:40],
                expected="XML or a path",
            )
        path = resolve(text.strip(), package_dirs, kind)
    elif isinstance(source, os.PathLike):
        path = Path(source)
    else:
        message = f"{kind}: XML text, bytes or a path expected, got {type(source).__name__}"
        raise DescriptionError(message, value=source, expected="XML or a path")
    if path.suffix in (".yaml", ".yml"):
        raise DescriptionError(
            f"{kind}: {quoted(str(path))} is YAML, XML expected; {FROM_YAML}", name=str(path), expected="XML"
        )
    try:
        return read_file(path, max_size), str(path)
    except OSError as error:
        raise DescriptionError(
            f"{kind}: cannot read {quoted(str(path))}: {error.strerror or error} (XML text, which starts with '<', or "
            "the path of a file expected)",
            name=str(path),
            expected="the path of a file",
        ) from error


def resolve(uri: str, package_dirs: Sequence[str | os.PathLike[str]] = (), kind: str = "URDF") -> Path:
    """Return the path that a plain path, a file:// or a package:// URI means.

    A package is looked for in `package_dirs`, then under `share` of each AMENT_PREFIX_PATH entry, then in
    ROS_PACKAGE_PATH; a folder matches if it holds the package or has its name. Raises DescriptionError if no such
    package or file is found; lists where it was looked for.
    """
    try:
        if uri.startswith("file://"):
            return Path(unquote(urlparse(uri).path))
        if not uri.startswith("package://"):
            return Path(uri).expanduser()
    except (ValueError, RuntimeError) as error:  # no URI; no home folder of such a user
        message = f"{kind}: {quoted(uri)} is no path: {error}"
        raise DescriptionError(message, name=uri, expected="the path of a file") from error
    package, _, inside = uri.removeprefix("package://").partition("/")
    folders = [Path(folder).expanduser() for folder in package_dirs]
    folders += [Path(prefix) / "share" for prefix in _paths("AMENT_PREFIX_PATH")]
    folders += [Path(folder) for folder in _paths("ROS_PACKAGE_PATH")]
    candidates = [folder / package / inside for folder in folders]
    candidates += [folder / inside for folder in folders if folder.name == package]
    for candidate in candidates:
        if _is_file(candidate):
            return candidate
    looked = ", ".join(str(folder) for folder in folders) or "no folder: package_dirs and AMENT_PREFIX_PATH are empty"
    raise DescriptionError(
        f"{kind}: {quoted(uri)} not found; looked in {looked}", name=uri, expected="an installed package"
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, a null character
        return False


def _paths(variable: str) -> list[str]:
    return [part for part in os.environ.get(variable, "").split(os.pathsep) if part]


def _refuse_large(size: int, max_size: int, kind: str) -> None:
    if size > max_size:
        raise DescriptionError(
            f"{kind}: a text of {size} bytes, at most {max_size} expected (the argument max_size)",
            value=size,
            expected=f"at most {max_size} bytes",
        )


#: The kinds of joint that URDF knows.
URDF_KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


def read_urdf(
    xml_or_path: str | bytes | os.PathLike[str],
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    inertia_check: InertiaCheck = "error",
    max_size: int = MAX_SIZE,
    *,
    on_world: bool = False,
) -> RobotDescription:
    """Read a robot from URDF.

    Only what describes the motion is read. Visuals, collisions, meshes, transmissions and extensions are ignored
    without being looked at.

    Parameters
    ----------
    xml_or_path, package_dirs, inertia_check, max_size
        As `Model.from_urdf`; "error" refuses the robot, "warn" loads it with a `DescriptionWarning`, "ignore" silently.
        See `checks.check_inertias` for the tolerance.
    on_world : bool
        Whether the root link stands on the world: what never moves may have any inertia.

    Raises
    ------
    DescriptionError, InertiaError
        As `Model.from_urdf`.

    Warns
    -----
    DescriptionWarning
        Once for all attributes and elements of joints and inertials that are not known, and once for all mimic joints
        that follow a joint that does not exist.

    Notes
    -----
    Where files in use and the letter of the format differ, or versions of the format do:

    - A file without `version` is of version 1.0.
    - `quat_xyzw` belongs to version 1.1. In a file of version 1.0, where urdfdom passes over it, it is refused, and so
      it is beside `rpy`. It is normalised if its length is 1 within `fields.QUATERNION_TOLERANCE`.
    - Limits of acceleration, deceleration and jerk are read in every version. A missing one is infinite, but for
      deceleration, whose limit then is that of acceleration.
    - A revolute or prismatic joint without <limit>, or whose <limit> gives neither lower nor upper, has no position
      limits (the letter would lock it at 0). Given only one of them, the other is 0, as in version 1.0 and 1.1;
      version 1.2 requires both, and one alone is refused.
    - A missing velocity or effort limit is infinite. An explicit 0 is kept as 0.
    - An axis of another length than 1 is normalised; a zero axis is refused where the joint needs an axis.
    - `armature` of <dynamics>, the inertia of a rotor seen at the joint, is in no version of the format; it is read in
      all of them, and other readers pass over it.
    - Of a fixed joint only its links and its place are read.
    - The limits lower and upper of a continuous joint mean nothing and are infinite.
    - Numbers are in plain decimal notation. Limits may also be inf or -inf; nothing may be NaN.
    """
    source, origin = read_source(xml_or_path, package_dirs, max_size)
    robot = read_robot(source, origin)
    remarks: list[str] = []
    strangers = Strangers()
    for tag in robot.closings:
        what = f"element <{tag}> in <robot> (give what closes loops as a ConstraintSet)"
        strangers.note(what, f"robot '{robot.name}'")
    for tag in robot.leftovers:
        strangers.note(f"element <xacro:{local_name(tag)}>, which xacro has not expanded,", f"robot '{robot.name}'")
    links = tuple(_link(element, robot, strangers) for element in robot.links)
    joints = tuple(_joint(element, robot, remarks, strangers) for element in robot.joints)
    try:
        root = find_root(links, joints)
    except DescriptionError as error:
        if links:
            raise
        raise DescriptionError(f"{origin}: {error}", name=origin, expected=error.expected) from None
    for joint in joints:
        check_joint(joint)
    remarks += check_inertias(links, joints, inertia_check, root if on_world else "")
    for sentence in (strangers.sentence(), check_mimics(joints), check_lengths(links, joints)):
        if sentence:
            remarks.append(sentence)
            warnings.warn(f"robot '{robot.name}': {sentence}", DescriptionWarning, stacklevel=2)
    return RobotDescription(robot.name, links, joints, root, tuple(remarks))


def _link(element: Element, robot: RobotElement, strangers: Strangers) -> LinkDescription:
    name = element.get("name", "")
    inertials = []
    for child in element:
        if child.tag == robot.namespace + "inertial":
            inertials.append(child)
            continue
        tag = local_name(child.tag)
        if tag in ("visual", "collision"):
            continue
        if tag == "mass" or difflib.SequenceMatcher(None, tag.lower(), "inertial").ratio() > 0.75:
            strangers.note(f"element <{tag}> in <link>", f"link '{name}'")  # a slip that would cost the link its mass
    if not inertials:
        return LinkDescription(name)
    if len(inertials) > 1:
        strangers.note("a second <inertial> in one <link>", f"link '{name}'")
    fields = Fields(inertials[0], "link", name, robot, strangers)
    mass = fields.number("mass", "value")
    xx, xy, xz, yy, yz, zz = (fields.number("inertia", key) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    pose = fields.pose()
    figures = np.array([xx, xy, xz, xy, yy, yz, xz, yz, zz]).reshape(3, 3)
    if fields.has("origin", "rpy", "quat_xyzw"):
        turned = pose[:3, :3]
        figures = turned @ figures @ turned.T
    return LinkDescription(name, SpatialInertia(mass, pose[:3, 3], figures))


def _joint(element: Element, robot: RobotElement, remarks: list[str], strangers: Strangers) -> JointDescription:
    name, kind = element.get("name", ""), element.get("type")
    label = f"joint '{name}'"
    if kind is None:
        raise DescriptionError(f"{label}: attribute 'type' is missing", name=name, expected="a type")
    if kind not in URDF_KINDS:
        raise DescriptionError(
            f"{label}: unknown joint type '{local_name(kind)}', one of {', '.join(URDF_KINDS)} expected",
            name=name,
            value=kind,
            expected=", ".join(URDF_KINDS),
        )
    fields = Fields(element, "joint", name, robot, strangers)
    if kind == "fixed":  # an axis, limits and losses of what never moves mean nothing
        _mimic(fields, kind, label, remarks)
        parent, child = fields.name("parent", "link"), fields.name("child", "link")
        return JointDescription(name, kind, parent, child, fields.pose())
    lower, upper = _position_limits(fields, kind, name, robot.version, remarks)
    acceleration = fields.number("limit", "acceleration", math.inf, infinite=True)
    return JointDescription(
        name=name,
        kind=kind,
        parent=fields.name("parent", "link"),
        child=fields.name("child", "link"),
        placement=fields.pose(),
        axis=_axis(fields, kind, name, remarks),
        lower=lower,
        upper=upper,
        velocity_limit=_rate_limit(fields, "velocity", label, remarks),
        effort_limit=_rate_limit(fields, "effort", label, remarks),
        acceleration_limit=acceleration,
        deceleration_limit=fields.number("limit", "deceleration", acceleration, infinite=True),
        jerk_limit=fields.number("limit", "jerk", math.inf, infinite=True),
        damping=fields.number("dynamics", "damping", 0.0),
        friction=fields.number("dynamics", "friction", 0.0),
        armature=fields.number("dynamics", "armature", 0.0),
        mimic=_mimic(fields, kind, label, remarks),
    )


def _position_limits(
    fields: Fields, kind: str, name: str, version: tuple[int, int], remarks: list[str]
) -> tuple[float, float]:
    limited = kind in ("revolute", "prismatic")
    if not fields.has("limit", "lower", "upper"):
        if limited:
            what = "position limits" if fields.has("limit") else "limits"
            remarks.append(f"joint '{name}': no {what} given, none assumed")
        return -math.inf, math.inf
    if limited and version >= (1, 2) and not (fields.has("limit", "lower") and fields.has("limit", "upper")):
        raise DescriptionError(
            f"joint '{name}': <limit> gives one of lower and upper; URDF 1.2 requires both", name=name, expected="both"
        )
    lower = fields.number("limit", "lower", 0.0, infinite=True)
    upper = fields.number("limit", "upper", 0.0, infinite=True)
    return (lower, upper) if limited else (-math.inf, math.inf)


def _rate_limit(fields: Fields, attribute: str, label: str, remarks: list[str]) -> float:
    if fields.has("limit") and not fields.has("limit", attribute):
        remarks.append(f"{label}: no {attribute} limit given, none assumed")
    return fields.number("limit", attribute, math.inf, infinite=True)


def _axis(fields: Fields, kind: str, name: str, remarks: list[str]) -> AnyArray:
    axis = np.array(fields.vector("axis", "xyz", 3) if fields.has("axis") else [1.0, 0.0, 0.0])
    if kind in AXIS_FREE:
        return np.array([1.0, 0.0, 0.0])
    length = math.hypot(*axis.tolist())
    if length < 1e-9:
        raise DescriptionError(
            f"joint '{name}': axis {axis.tolist()} has no direction, a vector of length 1 expected",
            name=name,
            value=axis,
            expected="a unit vector",
        )
    if abs(length - 1.0) > 1e-3:
        remarks.append(f"joint '{name}': axis {axis.tolist()} of length {length:.6g} normalised")
    return np.asarray(axis / length)


def _mimic(fields: Fields, kind: str, label: str, remarks: list[str]) -> Mimic | None:
    if not fields.has("mimic"):
        return None
    if kind == "fixed":
        remarks.append(f"{label}: is fixed, its <mimic> has no meaning")
        return None
    return Mimic(
        fields.name("mimic", "joint"),
        fields.number("mimic", "multiplier", 1.0),
        fields.number("mimic", "offset", 0.0),
    )
