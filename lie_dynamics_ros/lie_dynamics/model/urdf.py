"""Reader of URDF, the robot description of ROS."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, tostring

import numpy as np

from ..errors import DescriptionError, InputError
from ..lie import SpatialInertia, se3, so3
from ..lie._arrays import Array, as_real
from .checks import InertiaCheck, check_inertias, check_joint, check_mimics, find_root
from .description import AXIS_FREE, JointDescription, LinkDescription, Mimic, RobotDescription
from .urdf_source import read_source
from .urdf_xml import parse_xml, robot_element

#: The kinds of joint that URDF knows.
URDF_KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")

# urdf_parser_py fills its table of types at first use, without a lock of its own
_PARSER_LOCK = threading.Lock()


def read_urdf(
    xml_or_path: str | bytes | os.PathLike[str],
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    inertia_check: InertiaCheck = "error",
) -> RobotDescription:
    """Read a robot from URDF.

    Only what describes the motion is read. Visuals, collisions, meshes, transmissions and extensions are ignored
    without being looked at.

    Parameters
    ----------
    xml_or_path : str, bytes or os.PathLike
        XML text (the output of xacro is fine), a path, or a URI, file:///... or package://name/...
    package_dirs : sequence of path-like
        Folders in which packages are looked for before AMENT_PREFIX_PATH and ROS_PACKAGE_PATH.
    inertia_check : {"error", "warn", "ignore"}
        What happens if no body can have the inertia of some link: refuse the robot, warn (`DescriptionWarning`), or
        load it silently. See `checks.check_inertias` for the tolerance.

    Returns
    -------
    RobotDescription
        Links and joints in the order of the file; see its `remarks` for what was read with leniency.

    Raises
    ------
    DescriptionError
        If it cannot be read, is not URDF, or is not a tree with possible figures; names the link or joint.
    InertiaError
        If a link has an inertia that no body can have.

    Notes
    -----
    Where files in use and the letter of the format differ:

    - A revolute or prismatic joint without <limit>, or whose <limit> gives neither lower nor upper, has no position
      limits (the letter would lock it at 0). Given only one of them, the other is 0, as the format says.
    - A missing velocity or effort limit is infinite. An explicit 0 is kept as 0.
    - An axis of another length than 1 is normalised; a zero axis is refused where the joint needs an axis.
    - The limits lower and upper of a continuous joint mean nothing and are infinite.
    """
    source, origin = read_source(xml_or_path, package_dirs)
    name, link_elements, joint_elements = robot_element(parse_xml(source, origin), origin)
    remarks: list[str] = []
    links = tuple(_link(element) for element in link_elements)
    joints = tuple(_joint(element, remarks) for element in joint_elements)
    try:
        root = find_root(links, joints)
    except DescriptionError as error:
        if links:
            raise
        raise DescriptionError(f"{origin}: {error}", name=origin, expected=error.expected) from None
    for joint in joints:
        check_joint(joint)
    remarks += check_inertias(links, joints, inertia_check)
    check_mimics(joints)
    return RobotDescription(name or "unnamed", links, joints, root, tuple(remarks))


def _parsed(element: Element) -> Any:
    """Return what urdf_parser_py makes of a <link> or <joint>, its many kinds of exception turned into one."""
    label = f"{element.tag} '{element.get('name')}'"
    with _PARSER_LOCK:
        try:
            from urdf_parser_py import urdf
        except ImportError as error:
            raise DescriptionError("reading URDF needs the package urdf_parser_py; install it with pip") from error
        try:
            return (urdf.Link if element.tag == "link" else urdf.Joint).from_xml_string(tostring(element))
        except Exception as error:  # the parser raises bare Exception, AssertionError, TypeError, ...
            where = str(getattr(error, "path", "")).rpartition("/")[2]
            reason = getattr(error, "e", error)
            raise DescriptionError(
                f"{label}: cannot be read{', at ' + where if where else ''}: {reason}", name=element.get("name")
            ) from error


def _link(element: Element) -> LinkDescription:
    link = _parsed(element)
    if link.inertial is None:
        return LinkDescription(link.name)
    label = f"link '{link.name}'"
    try:
        figures = as_real(link.inertial.inertia.to_matrix(), (3, 3), f"{label}: inertia")
        mass = float(as_real(link.inertial.mass, (), f"{label}: mass"))
        pose = _pose(link.inertial.origin, f"{label}: inertial origin")
    except InputError as error:
        raise _not_finite(error, link.name) from error
    return LinkDescription(link.name, SpatialInertia(mass, np.zeros(3), figures).transformed(pose))


def _joint(element: Element, remarks: list[str]) -> JointDescription:
    name, kind = element.get("name", ""), element.get("type", "")
    label = f"joint '{name}'"
    if kind not in URDF_KINDS:
        raise DescriptionError(
            f"{label}: unknown joint type '{kind}', one of {', '.join(URDF_KINDS)} expected",
            name=name,
            value=kind,
            expected=", ".join(URDF_KINDS),
        )
    limited = kind in ("revolute", "prismatic")
    limit = element.find("limit")
    if limit is not None:
        if "lower" not in limit.attrib and "upper" not in limit.attrib:
            limit.attrib.update(lower="-inf", upper="inf")
            if limited:
                remarks.append(f"{label}: no position limits given, none assumed")
        for attribute in ("velocity", "effort"):
            if attribute not in limit.attrib:
                limit.set(attribute, "inf")
                if kind != "fixed":
                    remarks.append(f"{label}: no {attribute} limit given, none assumed")
    elif limited:
        remarks.append(f"{label}: no limits given, none assumed")
    if kind == "fixed" and (mimic := element.find("mimic")) is not None:
        element.remove(mimic)
        remarks.append(f"{label}: is fixed, its <mimic> has no meaning")
    joint = _parsed(element)
    try:
        pose = _pose(joint.origin, f"{label}: origin")
        axis = _axis(joint, label, remarks)
        _finite(joint.dynamics, ("damping", "friction"), label)
        _finite(joint.mimic, ("multiplier", "offset"), label)
    except InputError as error:
        raise _not_finite(error, name) from error
    limits, dynamics = joint.limit, joint.dynamics
    return JointDescription(
        name=joint.name,
        kind=kind,
        parent=joint.parent,
        child=joint.child,
        placement=pose,
        axis=axis,
        lower=limits.lower if limits and limited else -math.inf,
        upper=limits.upper if limits and limited else math.inf,
        velocity_limit=limits.velocity if limits else math.inf,
        effort_limit=limits.effort if limits else math.inf,
        damping=_value(dynamics, "damping", 0.0),
        friction=_value(dynamics, "friction", 0.0),
        mimic=_mimic(joint.mimic),
    )


def _axis(joint: Any, label: str, remarks: list[str]) -> Array:
    axis = as_real([1.0, 0.0, 0.0] if joint.axis is None else joint.axis, (3,), f"{label}: axis")
    if joint.type in AXIS_FREE:
        return np.array([1.0, 0.0, 0.0])
    length = float(np.linalg.norm(axis))
    if length < 1e-9:
        raise DescriptionError(
            f"{label}: axis {axis.tolist()} has no direction, a vector of length 1 expected",
            name=joint.name,
            value=axis,
            expected="a unit vector",
        )
    if abs(length - 1.0) > 1e-3:
        remarks.append(f"{label}: axis {axis.tolist()} of length {length:.6g} normalised")
    return np.asarray(axis / length)


def _pose(origin: Any, label: str) -> Array:
    if origin is None:
        return np.eye(4)
    xyz = as_real(origin.xyz or [0.0, 0.0, 0.0], (3,), f"{label} xyz")
    rpy = as_real(origin.rpy or [0.0, 0.0, 0.0], (3,), f"{label} rpy")
    return se3.from_parts(so3.from_rpy(rpy), xyz)


def _mimic(mimic: Any) -> Mimic | None:
    return None if mimic is None else Mimic(mimic.joint, _value(mimic, "multiplier", 1.0), _value(mimic, "offset", 0.0))


def _finite(holder: Any, attributes: tuple[str, ...], label: str) -> None:
    for attribute in attributes:
        as_real(_value(holder, attribute, 0.0), (), f"{label}: {attribute}")


def _value(holder: Any, attribute: str, default: float) -> float:
    value = getattr(holder, attribute, None)
    return default if value is None else float(value)


def _not_finite(error: InputError, name: str) -> DescriptionError:
    return DescriptionError(str(error), name=name, value=error.value, expected=error.expected)
