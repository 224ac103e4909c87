"""Bodies and joints of a Model, collected one by one, parents first, or from the description of a robot."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, ArrayLike
from ..errors import DescriptionError
from ..lie import SpatialInertia, se3
from ..lie._arrays import numbers
from . import joint_types
from .description import AXIS_FREE, RATE_LIMITS, JointDescription, RobotDescription
from .joint_types import JointType, fixed
from .pack import PackedBody, pack
from .structure import Frame, Joint, JointLimits

if TYPE_CHECKING:
    from typing import Self


#: Limits and losses of a joint, and what they are where nobody says.
_LIMITS = {
    "lower": -np.inf, "upper": np.inf, "velocity": np.inf, "effort": np.inf,
    "acceleration": np.inf, "deceleration": np.inf, "jerk": np.inf,
    "damping": 0.0, "friction": 0.0, "armature": 0.0, "stiffness": 0.0, "spring_reference": 0.0,
}  # fmt: skip


@dataclass
class _Draft:
    """A moving body while the model is being built."""

    joint: Joint
    parent: int
    placement: Array
    inertia: SpatialInertia
    limits: dict[str, Array]


class BodyTree:
    """Collects bodies, parents first; see `ModelBuilder`."""

    def __init__(self, world: str = "world", judge_inertias: bool = True) -> None:
        self._judge_inertias = judge_inertias
        self._world = world
        self._bodies: list[_Draft] = []
        self._frames: dict[str, Frame] = {world: Frame(world, -1, np.eye(4))}
        self._joint_names: set[str] = set()
        self._told: set[str] = set()
        self._nq = self._nv = 0

    def add(
        self,
        name: str,
        parent: str | None = None,
        joint: JointType | None = None,
        placement: ArrayLike | None = None,
        inertia: SpatialInertia | None = None,
        joint_name: str | None = None,
        mimic: tuple[str, float, float] | None = None,
        **limits: ArrayLike,
    ) -> Self:
        """Add a body and the joint that carries it.

        Parameters
        ----------
        name : str
            Name of the body.
        parent : str, optional
            Body or frame added before; the world when left out.
        joint : JointType, optional
            See `joint_types`; fixed when left out, and then the body becomes part of its parent.
        placement : array-like, shape (4, 4), optional
            T_parent_joint, the joint's frame (the body's frame at q = 0) seen from the parent's [m].
        inertia : SpatialInertia, optional
            In the body's frame; massless when left out.
        joint_name : str, optional
            Defaults to the body's name.
        mimic : tuple, optional
            (joint name, multiplier, offset) that the joint is meant to follow; kept as information.
        **limits : float or array-like
            lower, upper (per entry of q); velocity, effort, acceleration, deceleration, jerk, damping, friction,
            armature, stiffness, spring_reference (per entry of qd).

        Returns
        -------
        Self
            This object, so that calls can be chained.

        Raises
        ------
        DescriptionError
            For a name used twice, an unknown parent or limit, a limit of the wrong length, or what describes a joint
            where the body has none.
        InertiaError
            For an inertia that no body can have; names the body.
        GroupError
            For a placement that is no rigid transform.
        """
        joint = fixed() if joint is None else joint
        if not isinstance(joint, JointType):
            raise DescriptionError(f"body {name!r}: a joint of `joint_types` is expected, got {joint!r}", name=name)
        inertia = _MASSLESS if inertia is None else inertia
        if self._judge_inertias and inertia is not _MASSLESS:
            inertia.check(name)
        placement = _IDENTITY if placement is None else se3.check(placement, f"placement of {name}").real
        if name in self._frames:
            raise DescriptionError(
                f"body {name!r} is there already: every body and frame needs a name of its own", name=name
            )
        parent = self._world if parent is None else parent
        if parent not in self._frames:
            raise DescriptionError(
                f"body {name!r}: parent {parent!r} is unknown, known are {sorted(self._frames)}",
                name=name,
                value=parent,
            )
        if joint.nv == 0:
            unused = [*(["mimic"] if mimic is not None else []), *limits]
            if unused:
                raise DescriptionError(
                    f"body {name!r}: it has no joint that moves, so {', '.join(unused)} would have no effect", name=name
                )
            return self._weld(name, parent, placement, inertia)
        joint_name = name if joint_name is None else joint_name
        if joint_name in self._joint_names:
            raise DescriptionError(
                f"joint {joint_name!r} is there already: every joint needs a name of its own", name=joint_name
            )
        at = self._frames[parent]
        index = len(self._bodies)
        parent_body = self._world if at.body < 0 else self._bodies[at.body].joint.body
        q_slice, v_slice = slice(self._nq, self._nq + joint.nq), slice(self._nv, self._nv + joint.nv)
        record = Joint(joint_name, joint, index, name, parent_body, q_slice, v_slice, mimic)
        given = _read_limits(joint_name, joint, limits)
        self._told |= limits.keys()
        self._bodies.append(_Draft(record, at.body, at.placement @ placement, inertia, given))
        self._frames[name] = Frame(name, index, _IDENTITY)
        self._joint_names.add(joint_name)
        self._nq, self._nv = q_slice.stop, v_slice.stop
        return self

    def _weld(self, name: str, parent: str, placement: Array, inertia: SpatialInertia) -> Self:
        at = self._frames[parent]
        pose = at.placement @ placement
        self._frames[name] = Frame(name, at.body, pose)
        if at.body >= 0 and inertia is not _MASSLESS:
            body = self._bodies[at.body]
            body.inertia = body.inertia + inertia.transformed(pose)
        return self

    def parts(self) -> tuple[Array, tuple[Joint, ...], dict[str, Frame], JointLimits]:
        """Return the rows of the table, the joints, the frames and the limits of the bodies added so far."""
        joints = tuple(draft.joint for draft in self._bodies)
        limits = JointLimits(**{key: self._all_limits(key) for key in _LIMITS})
        bodies = [PackedBody(draft.joint, draft.parent, draft.placement, draft.inertia) for draft in self._bodies]
        return pack(bodies, self._nq, self._nv), joints, self._frames, limits

    def _all_limits(self, key: str) -> Array:
        if key not in self._told:
            return np.full(self._nq if key in ("lower", "upper") else self._nv, _LIMITS[key])
        return np.concatenate([draft.limits[key] for draft in self._bodies])


_MASSLESS = SpatialInertia.zero()
_IDENTITY = np.eye(4)


@cache
def _no_limits(nq: int, nv: int) -> dict[str, Array]:
    """Return the limits of a joint of which nobody says any; the same for all who ask, who only read them."""
    found = {key: np.full(nq if key in ("lower", "upper") else nv, default) for key, default in _LIMITS.items()}
    for array in found.values():
        array.flags.writeable = False
    return found


def _read_limits(name: str, joint: JointType, given: dict[str, ArrayLike]) -> dict[str, Array]:
    unknown = set(given) - set(_LIMITS)
    if unknown:
        raise DescriptionError(
            f"joint {name!r}: unknown limits {sorted(unknown)}, known are {list(_LIMITS)}", name=name
        )
    limits = dict(_no_limits(joint.nq, joint.nv))
    for key, told in given.items():
        single: object = told
        size = joint.nq if key in ("lower", "upper") else joint.nv
        if isinstance(single, float) and (single >= 0.0 or (key in ("lower", "upper") and single < 0.0)):
            # as readers give it; others are looked at below
            limits[key] = np.array([single] * size)
            continue
        value = numbers(single)
        if value.shape not in ((), (size,)) or np.isnan(value).any():
            raise DescriptionError(f"joint {name!r}: {key} must be one number or {size}, got {told!r}", name=name)
        limits[key] = np.full(size, value)
        if key not in ("lower", "upper", "spring_reference") and (value < 0.0).any():
            raise DescriptionError(f"joint {name!r}: {key} must not be negative, got {limits[key].tolist()}", name=name)
    if joint.kind in ("spherical", "free") and limits["stiffness"].any():
        raise DescriptionError(f"joint {name!r}: a {joint.kind} joint has no spring; stiffness 0 expected", name=name)
    if ("lower" in given or "upper" in given) and (limits["lower"] > limits["upper"]).any():
        raise DescriptionError(
            f"joint {name!r}: lower limit {limits['lower'].tolist()} is above upper limit {limits['upper'].tolist()}",
            name=name,
        )
    return limits


#: Name of the joint that a floating base gets.
ROOT_JOINT = "root_joint"


def bodies_from_description(description: RobotDescription, floating_base: bool = False) -> BodyTree:
    """Return the bodies of a description.

    A root link called "world" that is fixed is the inertial frame itself. Joints are taken depth first
    and siblings by joint name, so the order does not hang on that of the file.
    """
    names = {link.name for link in description.links}
    world = "world" if "world" not in names or (description.root == "world" and not floating_base) else "inertial_frame"
    bodies = BodyTree(world, judge_inertias=False)  # the reader has checked them, welded parts together
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
    make: Callable[..., JointType] = getattr(joint_types, "free" if joint.kind == "floating" else joint.kind)
    return make() if joint.kind in AXIS_FREE else make(axis)


def _limits(joint: JointDescription, kind: JointType) -> dict[str, ArrayLike]:
    given = {attribute.removesuffix("_limit"): getattr(joint, attribute) for attribute in RATE_LIMITS}
    limits: dict[str, ArrayLike] = {key: value for key, value in given.items() if value != math.inf}
    limits |= {key: value for key in ("damping", "friction", "armature") if (value := getattr(joint, key))}
    if kind.nq == kind.nv:  # a quaternion has no limits
        limits |= {"lower": joint.lower, "upper": joint.upper}
    return limits
