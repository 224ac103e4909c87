"""The parts of a Model that a user reads: joints, bodies' frames, and the tree's shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..arrays import Array
from ..errors import DescriptionError
from ..lie._arrays import numbers
from .joint_types import JointType


@dataclass(frozen=True)
class Joint:
    """A joint that moves, as a Model holds it.

    Attributes
    ----------
    name : str
        Name of the joint.
    type : JointType
        What it does.
    index : int
        Its index, and that of the body it carries.
    body, parent_body : str
        Names of that body and of the body it moves on ("world" for the inertial frame).
    q_slice, v_slice : slice
        Its entries of q and of qd, qdd, tau.
    mimic : tuple or None
        (joint name, multiplier, offset) where it follows another joint by the description.
    coupled : bool
        True in a model whose mimic joints are coupled, for a joint that follows: then its slices are those of the
        joint followed.
    """

    name: str
    type: JointType
    index: int
    body: str
    parent_body: str
    q_slice: slice
    v_slice: slice
    mimic: tuple[str, float, float] | None = None
    coupled: bool = False

    @property
    def kind(self) -> str:
        """Kind of the joint: "revolute", "prismatic", "free", ..."""
        return self.type.kind

    def with_prefix(self, prefix: str) -> Joint:
        """Return this joint with a prefix before its name, and before that of the joint it follows."""
        mimic = None if self.mimic is None else (prefix + self.mimic[0], *self.mimic[1:])
        return replace(self, name=prefix + self.name, mimic=mimic)


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame fixed to a body (index -1: to the world); `placement` (4, 4) is T_body_frame."""

    name: str
    body: int
    placement: Array

    def __post_init__(self) -> None:
        placement = self.placement.copy()
        placement.flags.writeable = False
        object.__setattr__(self, "placement", placement)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild(self)


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Limits and losses of the coordinates, infinite or zero where the description gives none.

    Attributes
    ----------
    lower, upper : ndarray, shape (nq,)
        Position limits [rad or m].
    velocity, effort : ndarray, shape (nv,)
        Largest rate [rad/s or m/s] and joint force [N m or N].
    acceleration, deceleration, jerk : ndarray, shape (nv,)
        Largest growth and loss of speed [rad/s^2 or m/s^2] and change of acceleration [rad/s^3 or m/s^3].
    damping, friction, armature : ndarray, shape (nv,)
        Viscous damping [N m s/rad or N s/m], dry friction [N m or N], rotor inertia seen at the joint
        [kg m^2 or kg]. Part of the dynamics only after `Model.with_joint_terms`.
    stiffness, spring_reference : ndarray, shape (nv,)
        Of springs at coordinates that are plain numbers [N m/rad or N/m], and where they are at rest [rad or m]; as
        damping.
    """

    lower: Array
    upper: Array
    velocity: Array
    effort: Array
    acceleration: Array
    deceleration: Array
    jerk: Array
    damping: Array
    friction: Array
    armature: Array
    stiffness: Array
    spring_reference: Array

    def __post_init__(self) -> None:
        _freeze_arrays(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild(self)


@dataclass(frozen=True, eq=False)
class BodySpring:
    """A spring and damper along the line between points of two bodies, or of a body and the world.

    Parameters
    ----------
    first, second : str
        Bodies or frames.
    stiffness : float
        k [N/m], not negative.
    rest : float or (float, float)
        Length at which it pulls nothing [m], or the shortest and longest such one: a rope that goes slack has 0.
    damping : float
        c [N s/m], not negative. The points are drawn to each other by k (l - rest) + c dl/dt.
    first_point, second_point : array-like, shape (3,)
        In these frames [m].
    name : str
        In errors; "first-second" when left out.

    Raises
    ------
    DescriptionError
        For numbers that are negative or not finite, and points of other shapes; with its name.
    """

    first: str
    second: str
    stiffness: float = 0.0
    rest: Any = 0.0
    damping: float = 0.0
    first_point: Any = (0.0, 0.0, 0.0)
    second_point: Any = (0.0, 0.0, 0.0)
    name: str = ""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "name", self.name or f"{self.first}-{self.second}")
        for key in ("stiffness", "damping"):
            put(self, key, float(_not_negative(self, key, [()])))
        rest = _not_negative(self, "rest", [(), (2,)], ", or two that ascend,")
        put(self, "rest", tuple(np.broadcast_to(rest, (2,)).tolist()))
        for key in ("first_point", "second_point"):
            point = numbers(getattr(self, key))
            if point.shape != (3,) or not np.isfinite(point).all():
                _refuse(self, key, "three finite numbers")
            put(self, key, point)

    @property
    def ends(self) -> tuple[tuple[str, Array], tuple[str, Array]]:
        """Frames and points."""
        return (self.first, self.first_point), (self.second, self.second_point)


@dataclass(frozen=True, eq=False)
class TorsionSpring:
    """A spring and damper against the turn of two bodies, or of a body and the world, whatever is between them.

    Parameters
    ----------
    first, second : str
        Bodies or frames.
    stiffness : float
        k [N m/rad], not negative.
    rest : array-like, shape (3, 3)
        Orientation of the second in the first at which it turns nothing; equal ones when left out.
    damping : float
        c [N m s/rad], not negative. The bodies are turned back to each other by the torque k phi + c w: phi, up to half
        a turn, is the rotation vector from `rest`, w the second's angular velocity less the first's.
    name : str
        In errors; "first-second" when left out.

    Raises
    ------
    DescriptionError
        For numbers that are negative or not finite, and what is no rotation; with its name.
    """

    first: str
    second: str
    stiffness: float = 0.0
    rest: Any = None
    damping: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "name", self.name or f"{self.first}-{self.second}")
        for key in ("stiffness", "damping"):
            put(self, key, float(_not_negative(self, key, [()])))
        turn = np.eye(3) if self.rest is None else numbers(self.rest)
        if turn.shape != (3, 3) or not np.abs(turn.T @ turn - np.eye(3)).max() < 1e-6 or np.linalg.det(turn) < 0.0:
            _refuse(self, "rest", "a rotation (3, 3)")
        put(self, "rest", turn)


def _not_negative(spring: Any, key: str, shapes: list[tuple[int, ...]], more: str = "") -> Array:
    """Return a number that is not negative, or two that ascend; raises DescriptionError."""
    value = numbers(getattr(spring, key))
    good = value.shape in shapes and bool((np.isfinite(value) & (value >= 0.0)).all())
    if not good or (value.shape and value[0] > value[1]):
        _refuse(spring, key, f"a finite number that is not negative{more}")
    return value


def _refuse(spring: Any, key: str, wanted: str) -> NoReturn:
    value = getattr(spring, key)
    raise DescriptionError(
        f"spring {spring.name!r}: {key}: {wanted} expected, got {value!r}", name=spring.name, value=value
    )


#: Springs and dampers between bodies.
AnySpring = BodySpring | TorsionSpring


class ActuationTerms(NamedTuple):
    """Joint terms of the forces of a model, apart from its bodies."""

    damping: Array  # as in `JointLimits`, zero where the model does not include them (nv,)
    friction: Array
    # for each free joint with armature a along its position, which is that of a mass on the world's axes: its first
    # velocity coordinate and a [kg]. Its force is a (dv/dt + w x v), the first part of which is in the mass matrix
    free_rotors: tuple[tuple[int, float], ...] = ()
    # for each free joint with dry friction along its position, which acts along the axes in which that is counted: its
    # first entries of q and of qd
    sliding: tuple[tuple[int, int], ...] = ()
    # for each spring its entries of q and of qd, its stiffness, and where it is at rest
    springs: tuple[tuple[int, int, float, float], ...] = ()
    body_springs: tuple[AnySpring, ...] = ()  # between bodies


def free_rotors(joints: Iterable[Joint], armature: Array) -> tuple[tuple[int, float], ...]:
    """Return the part of `ActuationTerms` of that name; armature (nv,) along a position is equal in all directions."""
    firsts = [joint.v_slice.start for joint in joints if joint.kind == "free"]
    return tuple((first, float(armature[first + 3])) for first in firsts if armature[first + 3])


def free_sliding(joints: Iterable[Joint], friction: Array) -> tuple[tuple[int, int], ...]:
    """Return the part `sliding` of `ActuationTerms`, of dry friction (nv,)."""
    firsts = [(joint.q_slice.start, joint.v_slice.start) for joint in joints if joint.kind == "free"]
    return tuple((q, v) for q, v in firsts if friction[v + 3 : v + 6].any())


def joint_springs(joints: Iterable[Joint], limits: JointLimits) -> tuple[tuple[int, int, float, float], ...]:
    """Return the part `springs` of `ActuationTerms`."""
    found = []
    for joint in joints:
        for k in () if joint.coupled or joint.kind in ("spherical", "free") else range(joint.type.nv):
            q, v = joint.q_slice.start + k, joint.v_slice.start + k
            if limits.stiffness[v]:
                found.append((q, v, float(limits.stiffness[v]), float(limits.spring_reference[v])))
    return tuple(found)


def _freeze_arrays(record: Any) -> None:
    """Make the arrays of a record read-only copies: models share them."""
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray):
            value = value.copy()
            value.flags.writeable = False
            object.__setattr__(record, field.name, value)


def _rebuild(record: Any) -> tuple[Any, ...]:
    """Pickle by way of the constructor, since numpy forgets that an array is read-only."""
    return type(record), tuple(getattr(record, field.name) for field in fields(record))
