"""The kinds of constraints: a `Loop` closed by a cut joint, a `Coupling` of coordinates, and a `UserConstraint`.

A loop holds two frames of a tree together, as the scalars that the kernels know (see `kernels.loops`). Gears, belts and
mimic joints make couplings, which are linear equations. A user constraint is f(q) = 0 given by a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from ..arrays import Array, ArrayLike
from ..errors import DescriptionError
from ..lie import se3
from ..model.model import Model
from .kernels import loops as lk

# Central differences of order six: nodes and weights of the first and second derivative.
_NODES = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
_FIRST = np.array([-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / 60.0
_SECOND = np.array([2.0, -27.0, 270.0, 270.0, -27.0, 2.0]) / 180.0
_CENTRE = -490.0 / 180.0
#: Steps [rad, m] that balance truncation and round-off.
FIRST_STEP, SECOND_STEP = 2e-3, 1e-2


@dataclass(frozen=True, eq=False)
class UserConstraint:
    """An equation f(q) = 0 of any number of components, given by Python functions of one configuration.

    Parameters
    ----------
    name : str
        Name in reports.
    size : int
        Number of components.
    function : callable
        ``function(q)`` of q (nq,) returns f (size,), or a number if the size is one. Smooth in a neighbourhood of 0.01
        rad or m where derivatives are to be found.
    jacobian : callable, optional
        ``jacobian(q)`` returns A (size, nv): f(integrate(q, v)) = f(q) + A v + ... By differences when left out, to
        some 1e-11 of f.
    bias : callable, optional
        ``bias(q, qd)`` returns dA/dt qd (size,). By differences when left out.

    Raises
    ------
    DescriptionError
        If the size is no number above zero; later, if a function returns another shape, or NaN.
    """

    name: str
    size: int
    function: Callable[[Array], ArrayLike]
    jacobian: Callable[[Array], ArrayLike] | None = None
    bias: Callable[[Array, Array], ArrayLike] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.size, (int, np.integer)) or self.size < 1:
            raise DescriptionError(
                f"constraint {self.name!r}: a size of at least 1 is expected, got {self.size!r}", name=self.name
            )

    def error(self, q: Array) -> Array:
        """Return f (size,)."""
        return self._checked("function", self.function(q), (self.size,))

    def matrix(self, model: Model, q: Array) -> Array:
        """Return A (size, nv)."""
        if self.jacobian is not None:
            return self._checked("jacobian", self.jacobian(q), (self.size, model.nv))
        columns = [first_difference(self.error, model, q, e) for e in np.eye(model.nv)]
        return np.array(columns).T.reshape(self.size, model.nv)

    def rate_of_matrix(self, model: Model, q: Array, qd: Array) -> Array:
        """Return dA/dt qd (size,)."""
        if self.bias is not None:
            return self._checked("bias", self.bias(q, qd), (self.size,))
        if self.jacobian is not None:
            return first_difference(lambda x: self.matrix(model, x) @ qd, model, q, qd)
        speed = float(np.abs(qd).max(initial=0.0))
        if speed == 0.0:
            return np.zeros(self.size)
        direction = qd / speed
        total = _CENTRE * self.error(q)
        for node, weight in zip(_NODES, _SECOND, strict=True):
            total = total + weight * self.error(model.integrate(q, node * SECOND_STEP * direction))
        return np.asarray(total * (speed / SECOND_STEP) ** 2)

    def _checked(self, what: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
        array = np.asarray(value, dtype=float)
        if array.ndim == 0 and shape == (1,):
            array = array.reshape(1)
        if array.shape != shape or not np.isfinite(array).all():
            raise DescriptionError(
                f"constraint {self.name!r}: its {what} must return finite numbers of shape {shape}, got {value!r}",
                name=self.name,
                value=value,
                expected=str(shape),
            )
        return array


def first_difference(function: Callable[[Array], Array], model: Model, q: Array, direction: Array) -> Array:
    """Return the derivative of a function of q along a tangent vector (nv,), by central differences of order six."""
    speed = float(np.abs(direction).max(initial=0.0))
    if speed == 0.0:
        return np.zeros_like(function(q))
    step = FIRST_STEP / speed
    terms = [w * function(model.integrate(q, x * step * direction)) for x, w in zip(_NODES, _FIRST, strict=True)]
    return np.asarray(sum(terms) / step)


@dataclass(frozen=True, eq=False)
class Coupling:
    """A linear equation between coordinates: sum of ``coefficients[joint] * q[joint]`` equals `offset`.

    Parameters
    ----------
    coefficients : mapping of str to float
        For each joint of one coordinate that takes part, its coefficient.
    offset : float
        Right hand side [rad or m].
    name : str, optional
        Name in reports; made of the joints' names when left out.

    Raises
    ------
    DescriptionError
        If a coefficient or the offset is not finite, or none differs from zero.
    """

    coefficients: Mapping[str, float]
    offset: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        values = {str(joint): float(c) for joint, c in dict(self.coefficients).items()}
        name = self.name or "+".join(values) or "coupling"
        if not any(values.values()) or not np.isfinite([*values.values(), self.offset]).all():
            raise DescriptionError(
                f"coupling {name!r}: finite coefficients, not all zero, and a finite offset are expected, "
                f"got {values} and {self.offset}",
                name=name,
            )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "coefficients", MappingProxyType(values))

    def __reduce__(self) -> tuple[Any, ...]:
        return Coupling, (dict(self.coefficients), self.offset, self.name)

    @property
    def size(self) -> int:
        """Number of scalar constraints: one."""
        return 1

    @classmethod
    def gear(cls, follower: str, leader: str, ratio: float, offset: float = 0.0, name: str = "") -> Coupling:
        """Return the coupling ``q[follower] = ratio * q[leader] + offset``."""
        if follower == leader:
            raise DescriptionError(f"coupling: joint {follower!r} cannot follow itself", name=follower)
        return cls({follower: 1.0, leader: -ratio}, offset, name or follower)


def mimic_couplings(model: Model) -> tuple[Coupling, ...]:
    """Return a coupling for each mimic joint of a model, named after it, as its URDF asks for."""
    found = []
    for joint in model.joints:
        if joint.mimic is not None and not joint.coupled:
            leader, ratio, offset = joint.mimic
            found.append(Coupling.gear(joint.name, leader, ratio, offset))
    return tuple(found)


#: Number of scalar constraints of each cut joint.
SIZES = {
    "welded": 6,
    "revolute": 5,
    "prismatic": 5,
    "universal": 4,
    "cylindrical": 4,
    "spherical": 3,
    "planar": 3,
    "welded_in_plane": 3,
    "point_on_line": 2,
    "point_in_plane": 1,
    "perpendicular": 1,
    "distance": 1,
}

#: Cut joints that have an axis in the first frame, and those with one in the second frame too.
WITH_AXIS = frozenset(SIZES) - {"welded", "spherical", "distance"}
WITH_SECOND_AXIS = frozenset({"revolute", "cylindrical", "planar", "universal", "perpendicular"})

_X, _Y, _Z = np.eye(3)


def _scalar(kind: float, a: Any = (0, 0, 0), b: Any = (0, 0, 0), offset: float = 0.0) -> Array:
    row = np.zeros(lk.SCALAR_SIZE)
    row[lk.TYPE], row[lk.OFFSET] = kind, offset
    row[lk.VECTOR_1 : lk.VECTOR_1 + 3], row[lk.VECTOR_2 : lk.VECTOR_2 + 3] = a, b
    return row


def perpendicular(axis: Array) -> tuple[Array, Array]:
    """Return two unit vectors that make a right-handed triad with the unit vector `axis`, (x, y) for z."""
    first = np.roll(np.eye(3), -1, axis=0)[np.argmax(np.abs(axis))]
    first = first - axis * (axis @ first)
    first = first / np.linalg.norm(first)
    return first, np.cross(axis, first)


def scalars(kind: str, axis: Array | None, second_axis: Array | None, length: float | None) -> Array:
    """Return the scalars of a cut joint (SIZES[kind], SCALAR_SIZE): translations first."""
    axis = _Z if axis is None else axis
    second_axis = axis if second_axis is None else second_axis
    e1, e2 = perpendicular(axis)
    point = [_scalar(lk.ALONG, e) for e in (_X, _Y, _Z)]
    line = [_scalar(lk.ALONG, e) for e in (e1, e2)]
    parallel = [_scalar(lk.ANGLE, e, second_axis) for e in (e1, e2)]
    turned = [_scalar(lk.ANGLE, a, b) for a, b in ((_Z, _Y), (_X, _Z), (_Y, _X))]
    made = {
        "welded": point + turned,
        "revolute": point + parallel,
        "prismatic": line + turned,
        "universal": [*point, _scalar(lk.ANGLE, axis, second_axis)],
        "cylindrical": line + parallel,
        "spherical": point,
        "planar": [_scalar(lk.ALONG, axis), *parallel],
        "welded_in_plane": [*line, _scalar(lk.ANGLE, e2, e1)],
        "point_on_line": line,
        "point_in_plane": [_scalar(lk.ALONG, axis)],
        "perpendicular": [_scalar(lk.ANGLE, axis, second_axis)],
        "distance": [_scalar(lk.DISTANCE, offset=length or 1.0)],
    }
    return np.array(made[kind])


def upright(kind: str, axis: Array | None, second_axis: Array | None) -> Array:
    """Return further scalars (k, SCALAR_SIZE) that are zero too, but not in a loop closed upside down.

    The scalars of a cut joint also vanish where an axis points the other way, or where a welded frame is turned by
    half a turn. With these, the sum of the squares has no minimum there.
    """
    if kind in ("welded", "prismatic"):
        return np.array([_scalar(lk.ANGLE, a, b, float(a @ b)) for a in (_X, _Y, _Z) for b in (_X, _Y, _Z)])
    axis = _Z if axis is None else axis
    if kind == "welded_in_plane":
        e1, _ = perpendicular(axis)
        return np.array([_scalar(lk.ANGLE, e1, e1, 1.0)])
    if kind in ("revolute", "cylindrical", "planar"):
        return np.array([_scalar(lk.ANGLE, axis, second_axis, 1.0)])
    return np.empty((0, lk.SCALAR_SIZE))


def facing(kind: str, axis: Array | None, second_axis: Array | None) -> Array:
    """Return the numbers for upright against upside down (10,): columns `FACING` and `FACING_LEAST` of loops."""
    axis = _Z if axis is None else axis
    if kind in ("welded", "prismatic"):
        return np.append(np.eye(3), lk.WHOLE)
    if kind == "welded_in_plane":
        e1, _ = perpendicular(axis)
        return np.append(np.outer(e1, e1), 0.0)
    if kind in ("revolute", "cylindrical", "planar"):
        return np.append(np.outer(axis, axis if second_axis is None else second_axis), 0.0)
    return np.append(np.zeros(9), lk.NOTHING)


@dataclass(frozen=True, eq=False)
class Loop:
    """A joint that closes a loop: it holds a frame on one body to a frame on another, or on the world.

    Frame 1 is at `first_placement` in the body or frame `first`, frame 2 likewise. The class methods `welded`,
    `revolute`, ... read better than the constructor.

    Parameters
    ----------
    kind : str
        The cut joint. "welded": the frames coincide. "revolute": origins coincide, axes are parallel. "universal":
        origins coincide, `axis` and `second_axis` are perpendicular. "spherical": origins coincide. "prismatic":
        frame 2 slides along `axis` without turning. "cylindrical": it may turn about the axis, too. "planar": it slides
        in the plane normal to `axis`, and turns about it. "welded_in_plane": the frames coincide as seen along `axis`,
        for mechanisms that cannot leave a plane anyway and have no use for the other three. "point_in_plane": its
        origin stays in the plane through the origin of frame 1 normal to `axis`. "point_on_line": its origin stays on
        the axis. "perpendicular": `axis` and `second_axis` are perpendicular, wherever the origins are. "distance": the
        origins stay `length` apart.
    first, second : str
        Names of bodies or frames of the model; the name of the inertial frame stands for the world.
    name : str, optional
        Name in reports; "first-second" when left out.
    axis : array-like, shape (3,)
        Axis or normal, in frame 1, of any length but zero; z when left out, x for "universal" and "perpendicular".
    second_axis : array-like, shape (3,), optional
        Axis in frame 2. When left out, the same numbers as `axis`; for "universal" and "perpendicular"
        y.
    length : float, optional
        Distance [m], above zero.
    first_placement, second_placement : array-like, shape (4, 4), optional
        T_first_frame1 and T_second_frame2 [m]; the identity when left out.

    Raises
    ------
    DescriptionError
        For a kind that is not there, or what does not belong to it.
    GroupError
        For a placement that is no rigid transform.
    """

    kind: str
    first: str
    second: str
    name: str = ""
    axis: Any = None
    second_axis: Any = None
    length: float | None = None
    first_placement: Any = None
    second_placement: Any = None

    def __post_init__(self) -> None:
        if self.kind not in SIZES:
            self._refuse(f"kind {self.kind!r} is unknown, known are {list(SIZES)}", self.kind)
        if not self.name:
            object.__setattr__(self, "name", f"{self.first}-{self.second}")
        for key, allowed in (("axis", WITH_AXIS), ("second_axis", WITH_SECOND_AXIS)):
            if getattr(self, key) is not None and self.kind not in allowed:
                self._refuse(f"a {self.kind} cut joint has no {key}", getattr(self, key))
        universal = self.kind in ("universal", "perpendicular")
        if self.kind in WITH_AXIS:
            default = [1.0, 0.0, 0.0] if universal else [0.0, 0.0, 1.0]
            object.__setattr__(self, "axis", self._unit("axis", default if self.axis is None else self.axis))
        if self.kind in WITH_SECOND_AXIS:
            other = [0.0, 1.0, 0.0] if universal else self.axis
            axis = self._unit("second_axis", other if self.second_axis is None else self.second_axis)
            object.__setattr__(self, "second_axis", axis)
        if self.kind == "distance":
            if self.length is None or not 0.0 < self.length < np.inf:
                self._refuse("length: a distance above zero [m] is expected; for zero use 'spherical'", self.length)
        elif self.length is not None:
            self._refuse(f"a {self.kind} cut joint has no length", self.length)
        for key in ("first_placement", "second_placement"):
            given = getattr(self, key)
            pose = np.eye(4) if given is None else se3.check(given, f"{key} of loop {self.name}").real.copy()
            pose.flags.writeable = False
            object.__setattr__(self, key, pose)

    @property
    def size(self) -> int:
        """Number of scalar constraints."""
        return SIZES[self.kind]

    def _unit(self, key: str, value: ArrayLike) -> Array:
        try:
            vector = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            vector = np.zeros(0)
        norm = np.linalg.norm(vector)
        if vector.shape != (3,) or not 0.0 < norm < np.inf:
            self._refuse(f"{key}: three numbers, not all zero, are expected", value)
        vector = np.asarray(vector / norm)
        vector.flags.writeable = False
        return vector

    def _refuse(self, what: str, value: Any) -> NoReturn:
        name = self.name or f"{self.first}-{self.second}"
        raise DescriptionError(f"loop {name!r}: {what}, got {value!r}", name=name, value=value)

    @classmethod
    def welded(cls, first: str, second: str, **options: Any) -> Loop:
        """Return a loop in which the two frames coincide; `options` as for the class."""
        return cls("welded", first, second, **options)

    @classmethod
    def revolute(cls, first: str, second: str, **options: Any) -> Loop:
        """Return a loop closed by a hinge about `axis`; `options` as for the class."""
        return cls("revolute", first, second, **options)

    @classmethod
    def universal(cls, first: str, second: str, **options: Any) -> Loop:
        """Return a loop closed by a universal joint; `options` as for the class."""
        return cls("universal", first, second, **options)

    @classmethod
    def spherical(cls, first: str, second: str, **options: Any) -> Loop:
        """Return a loop closed by a ball joint; `options` as for the class."""
        return cls("spherical", first, second, **options)

    @classmethod
    def prismatic(cls, first: str, second: str, **options: Any) -> Loop:
        """Return a loop closed by a slide along `axis`; `options` as for the class."""
        return cls("prismatic", first, second, **options)

    @classmethod
    def point_in_plane(cls, first: str, second: str, **options: Any) -> Loop:
        """Return a loop that holds the second origin in a plane of the first frame; `options` as for the class."""
        return cls("point_in_plane", first, second, **options)

    @classmethod
    def distance(cls, first: str, second: str, length: float, **options: Any) -> Loop:
        """Return a loop that keeps the origins `length` [m] apart; `options` as for the class."""
        return cls("distance", first, second, length=length, **options)
