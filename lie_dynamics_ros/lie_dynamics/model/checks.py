"""Checks of a robot description: is it a tree, are its figures possible. Each error names the link or joint."""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from ..arrays import Array
from ..errors import DescriptionError, DescriptionWarning, InertiaError
from ..lie import SpatialInertia
from ..texts import listed
from .description import AXIS_FREE, KINDS, RATE_LIMITS, JointDescription, LinkDescription
from .structure import Joint

#: Inertias in files are figures of about three digits; a triangle inequality broken by less is rounding.
INERTIA_TOLERANCE = 1e-3

InertiaCheck = Literal["error", "warn", "ignore"]


def find_root(links: Sequence[LinkDescription], joints: Sequence[JointDescription]) -> str:
    """Return the name of the root link if links and joints form one tree.

    Raises DescriptionError for duplicate or empty names, joints on links that do not exist, a link with two parents,
    several trees, cycles.
    """
    if not links:
        raise DescriptionError("the robot has no links, at least one expected", expected="at least one link")
    refuse_duplicates("link", [link.name for link in links])
    refuse_duplicates("joint", [joint.name for joint in joints])
    names = {link.name: None for link in links}
    above: dict[str, JointDescription] = {}
    for joint in joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in names:
                raise DescriptionError(
                    f"joint '{joint.name}': {role} link '{link}' does not exist{suggestion(link, names)}",
                    name=joint.name,
                    value=link,
                    expected="the name of a link",
                )
        if joint.parent == joint.child:
            raise DescriptionError(
                f"joint '{joint.name}': link '{joint.child}' is both parent and child, two different links expected",
                name=joint.name,
                value=joint.child,
            )
        if joint.child in above:
            raise DescriptionError(
                f"link '{joint.child}' is the child of two joints, '{above[joint.child].name}' and '{joint.name}'; "
                "one expected, since a description is a tree",
                name=joint.child,
                value=(above[joint.child].name, joint.name),
                expected="one parent",
            )
        above[joint.child] = joint
    roots = [name for name in names if name not in above]
    if len(roots) > 1:
        raise DescriptionError(
            f"the robot falls apart into {len(roots)} trees with the roots {listed(roots)}; one expected "
            "(connect them by joints)",
            name=roots[1],
            value=roots,
            expected="one root link",
        )
    _refuse_cycle(names, above)
    return roots[0]


_NOT_NEGATIVE = (*RATE_LIMITS, "damping", "friction", "armature")


def check_joint(joint: JointDescription) -> None:
    """Refuse a joint whose figures are impossible.

    Raises DescriptionError for a zero axis, NaN, lower limit above the upper one, negative limits, damping, friction or
    armature.
    """
    label = f"joint '{joint.name}'"
    if joint.kind not in AXIS_FREE and abs(math.hypot(*joint.axis.tolist()) - 1.0) > 1e-9:
        raise DescriptionError(
            f"{label}: axis {joint.axis.tolist()} is not a unit vector", name=joint.name, value=joint.axis
        )
    if math.isnan(joint.lower) or math.isnan(joint.upper) or joint.lower > joint.upper:
        raise DescriptionError(
            f"{label}: lower limit {joint.lower:g} must not be above the upper limit {joint.upper:g}; "
            "only Bullet takes this for no limits",
            name=joint.name,
            value=(joint.lower, joint.upper),
            expected="lower <= upper",
        )
    for attribute in _NOT_NEGATIVE:
        value = getattr(joint, attribute)
        if 0.0 <= value < math.inf:
            continue
        if math.isnan(value) or value < 0.0 or (math.isinf(value) and not attribute.endswith("limit")):
            raise DescriptionError(
                f"{label}: {attribute.replace('_', ' ')} is {value:g}, a number >= 0 expected",
                name=joint.name,
                value=value,
                expected=">= 0",
            )


def check_joint_terms(joints: Iterable[Joint], armature: Array) -> None:
    """Refuse armature (nv,) that differs between the directions of a ball or free joint.

    It would belong to rates of coordinates, which the velocities here are not; what is equal is the same in all axes.
    Raises DescriptionError, which names the joint.
    """
    for joint in joints:
        if joint.kind not in ("free", "spherical"):
            continue
        rotors = armature[joint.v_slice]
        if np.ptp(rotors[:3]) > 0.0 or np.ptp(rotors[3:] if rotors.size > 3 else 0.0) > 0.0:
            raise DescriptionError(
                f"joint {joint.name!r}: armature that differs between its directions has terms of velocity, which the "
                f"dynamics do not hold; equal numbers along its directions are expected, got {rotors.tolist()}",
                name=joint.name,
                value=rotors,
                expected="equal rotors",
            )


def check_mimics(joints: Sequence[JointDescription]) -> str:
    """Refuse a mimic joint that follows a joint without a single coordinate, or itself in the end.

    Return a sentence on those that follow a joint that does not exist, empty where there are none: they are coordinates
    of their own as all mimics are, unless somebody couples them. Raises DescriptionError, which names joint and leader.
    """
    table = {joint.name: joint for joint in joints}
    astray: list[str] = []
    sound: set[str] = set()  # joints whose chain of mimics is known to end
    for joint in joints:
        if joint.mimic is None:
            continue
        target = joint.mimic.joint
        if target not in table:
            hint = "" if astray else suggestion(target, table)
            astray.append(f"'{joint.name}' mimics '{target}'{hint}")
            continue
        for follower in (joint, table[target]):
            if KINDS[follower.kind] != 1:
                raise DescriptionError(
                    f"joint '{joint.name}': mimics joint '{target}', but joint '{follower.name}' is {follower.kind} "
                    f"and has {KINDS[follower.kind]} coordinates, 1 expected",
                    name=joint.name,
                    value=target,
                    expected="joints with one coordinate",
                )
        path: dict[str, None] = {}
        follower = joint
        while follower.mimic is not None and follower.mimic.joint in table and follower.name not in sound:
            path[follower.name] = None
            follower = table[follower.mimic.joint]
            if follower.name in path:
                ring = [*path, follower.name]
                raise DescriptionError(
                    f"joint '{joint.name}': mimics itself through {listed(ring)}", name=joint.name, value=ring
                )
        sound.update(path)
    if not astray:
        return ""
    more = f" and {len(astray) - 12} more" if len(astray) > 12 else ""
    return f"mimic joints follow joints that do not exist, and move by themselves: {'; '.join(astray[:12])}{more}"


def check_inertias(
    links: Sequence[LinkDescription], joints: Sequence[JointDescription], policy: InertiaCheck, on_world: str = ""
) -> list[str]:
    """Check that every link's inertia is one that a body can have; return remarks on those within tolerance.

    A link passes if its largest principal moment exceeds the sum of the other two by at most `INERTIA_TOLERANCE` of the
    largest moment of the link, or of the rigid body that it is a part of (all links that fixed joints weld to it): a
    placeholder of 1e-6 kg on a trunk is no reason to refuse a robot, and nothing in the motion shows it. `on_world`
    names a link that stands on the world: with all that is welded to it, it may have any inertia. Raises InertiaError,
    which names the links, if `policy` is "error". A negative mass of what can move is refused in any case.
    """
    if policy not in ("error", "warn", "ignore"):
        raise DescriptionError(
            f"inertia_check: 'error', 'warn' or 'ignore' expected, got {policy!r}", name="inertia_check", value=policy
        )
    whole: dict[str, SpatialInertia] = {}
    remarks: list[str] = []
    refused: list[tuple[str, InertiaError]] = []
    for link in _doubtful(links):
        assert link.inertia is not None
        label = f"link '{link.name}'"
        try:
            link.inertia.check(label)
            continue
        except InertiaError:
            whole = whole or _rigid_bodies(links, joints)
            if on_world and whole[link.name] is whole[on_world]:
                remarks.append(f"{label}: stands on the world; its inertia, which no body can have, is of no effect")
                continue
            if link.inertia.mass < 0.0:
                raise
        reference = float(whole[link.name].principal_moments()[-1])
        try:
            link.inertia.check(label, INERTIA_TOLERANCE, reference)
            remarks.append(
                f"{label}: inertia breaks the triangle inequality by {link.inertia.deficit():.3g} kg m^2; accepted as "
                f"rounding, or as too small to matter beside the {reference:.3g} kg m^2 of its rigid body"
            )
        except InertiaError as error:
            refused.append((link.name, error))
    if not refused:
        return remarks
    first = refused[0][1]
    message = str(first)
    if len(refused) > 1:
        message += f"; the same is true of {listed([name for name, _ in refused[1:]])}"
    if policy == "error":
        raise InertiaError(
            message + "; correct the description, or pass inertia_check='warn' to load it as it is",
            name=refused[0][0],
            value=first.value,
            expected=first.expected,
        ) from first
    if policy == "warn":
        warnings.warn(message, DescriptionWarning, stacklevel=3)
    return [*remarks, *(f"accepted on request: {error}" for _, error in refused)]


def _doubtful(links: Sequence[LinkDescription]) -> list[LinkDescription]:
    """Return the links with an inertia that does not clearly obey the triangle inequality, all looked at together."""
    given = [link for link in links if link.inertia is not None]
    figures = np.array([link.inertia.inertia for link in given if link.inertia is not None]).reshape(-1, 3, 3)
    low, middle, high = np.linalg.eigvalsh(figures).T
    clear = high - middle - low <= 0.0
    masses = np.array([link.inertia.mass for link in given if link.inertia is not None])
    return [given[k] for k in np.flatnonzero(~(clear & (masses >= 0.0)))]


def _rigid_bodies(links: Sequence[LinkDescription], joints: Sequence[JointDescription]) -> dict[str, SpatialInertia]:
    """Return, for each link, the inertia of all links welded to it by fixed joints, in the frame of one of them."""
    below: dict[str, list[JointDescription]] = {link.name: [] for link in links}
    starts = {link.name for link in links}
    for joint in joints:
        if joint.kind == "fixed":
            below[joint.parent].append(joint)
            starts.discard(joint.child)
    inertia = {link.name: link.inertia for link in links}
    whole: dict[str, SpatialInertia] = {}
    for start in starts:
        total, members, stack = SpatialInertia.zero(), [], [(start, np.eye(4))]
        while stack:
            name, pose = stack.pop()
            members.append(name)
            part = inertia[name]
            if part is not None:
                total = total + part.transformed(pose)
            stack.extend((joint.child, pose @ joint.placement) for joint in below[name])
        whole.update(dict.fromkeys(members, total))
    return whole


def refuse_duplicates(what: str, names: list[str]) -> None:
    """Refuse names that are empty or there more than once; a DescriptionError tells which."""
    if "" in names:
        raise DescriptionError(f"{what} number {names.index('') + 1} has an empty name", value="", expected="a name")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            message = f"{what} '{name}' is defined {names.count(name)} times, once expected"
            raise DescriptionError(message, name=name, value=names.count(name), expected="unique names")
        seen.add(name)


def _refuse_cycle(names: Iterable[str], above: dict[str, JointDescription]) -> None:
    """Raise if a walk up from some link comes back to it."""
    done: set[str] = set()
    for name in names:
        path: dict[str, None] = {}
        link = name
        while link in above and link not in done:
            if link in path:
                walk = list(path)
                cycle = walk[walk.index(link) :]
                raise DescriptionError(
                    f"links {listed(cycle)} form a cycle through joints {listed(above[x].name for x in cycle)}; "
                    "a tree expected (close loops by constraints)",
                    name=link,
                    value=cycle,
                    expected="a tree",
                )
            path[link] = None
            link = above[link].parent
        done.update(path)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence on a name that is not there: those that it may have meant, or those that are."""
    known = list(known)
    likely = [other for other in known[:1000] if len(other) <= 64] if len(name) <= 64 else []
    close = difflib.get_close_matches(name, likely, n=3)
    return f"; did you mean {listed(close)}?" if close else f"; there are {listed(known)}"


MOST_METRES = 100.0
"""Distance from joint to joint, or from a link's frame to its centre of mass, that no robot has [m]."""


def check_lengths(links: Sequence[LinkDescription], joints: Sequence[JointDescription]) -> str:
    """Return what looks like millimetres, in a sentence; nothing where nothing does."""
    far = [(max(map(abs, j.placement[:3, 3].tolist())), "joint {!r} from its parent", j.name) for j in joints]
    far += [
        (max(map(abs, link.inertia.com.tolist())), "centre of mass of link {!r} from its frame", link.name)
        for link in links
        if link.inertia is not None
    ]
    most, what, name = max(far, key=lambda item: item[0], default=(0.0, "", ""))
    return f"{what.format(name)}: {most:.6g} m away; lengths are expected in metres" if most > MOST_METRES else ""
