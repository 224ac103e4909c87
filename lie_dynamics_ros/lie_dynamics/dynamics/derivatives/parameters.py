"""Parameters: what the equations of motion are differentiated along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...arrays import AnyArray, ArrayLike
from ...errors import InputError
from ...lie import inertial_parameters
from ...lie._arrays import as_numbers

#: Names of a body's inertial parameters, in the order of `SpatialInertia.parameters`.
INERTIAL_PARAMETERS = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")

Coordinate = int | str


@dataclass(frozen=True, eq=False)
class Change:
    """One thing that a parameter changes: what, of which joint, body or coordinate, and by how much (..., shape)."""

    what: str
    where: Coordinate | None
    data: AnyArray
    part: int | str = 0


@dataclass(frozen=True, eq=False)
class Parameter:
    """A scalar p that the equations of motion depend on, given by what it changes to first order. Kim (92).

    Made by the class methods, one for each kind. Parameters can be added, subtracted and multiplied by numbers: the sum
    of two is the parameter that makes both changes. Coordinates are numbers of velocity coordinates, or a joint's name
    with `part` for one of several coordinates. Arrays may have leading axes, one entry for each state.
    """

    changes: tuple[Change, ...]

    def __add__(self, other: Parameter) -> Parameter:
        """Return the parameter that makes the changes of both."""
        return Parameter(self.changes + other.changes) if isinstance(other, Parameter) else NotImplemented

    def __mul__(self, factor: float) -> Parameter:
        """Return the parameter that changes everything `factor` times as much."""
        number = as_numbers(factor, "factor of a parameter")
        if not np.isfinite(number).all():
            raise InputError(f"factor of a parameter: finite numbers are expected, got {factor!r}", name="factor")
        return Parameter(tuple(Change(c.what, c.where, c.data * number, c.part) for c in self.changes))

    __rmul__ = __mul__

    def __sub__(self, other: Parameter) -> Parameter:
        """Return the parameter that makes the changes of one and undoes those of the other."""
        return self + (-1.0) * other if isinstance(other, Parameter) else NotImplemented

    @classmethod
    def _of(
        cls, what: str, where: Coordinate | None, data: Any, tail: tuple[int, ...], part: int | str = 0
    ) -> Parameter:
        array = as_numbers(data, f"parameter {what}")
        if array.shape[max(array.ndim - len(tail), 0) :] != tail or not np.isfinite(array).all():
            shape = f"(..., {', '.join(map(str, tail))})" if tail else "(...)"
            raise InputError(f"parameter {what}: finite numbers of shape {shape} are expected, got {data!r}", name=what)
        if not isinstance(where, (str, int, np.integer, type(None))) or not isinstance(part, (str, int, np.integer)):
            raise InputError(
                f"parameter {what}: a name or a whole number is expected, got {where!r}, part {part!r}", name=what
            )
        return cls((Change(what, where, array, part),))

    # -- states and commands ---------------------------------------------------------------------------------------

    @classmethod
    def q(cls, coordinate: Coordinate, part: int = 0) -> Parameter:
        """Return a coordinate of the configuration, along `Model.integrate` [1/rad or 1/m]."""
        return cls._of("q", coordinate, 1.0, (), part)

    @classmethod
    def qd(cls, coordinate: Coordinate, part: int = 0) -> Parameter:
        """Return the rate of a coordinate."""
        return cls._of("qd", coordinate, 1.0, (), part)

    @classmethod
    def qdd(cls, coordinate: Coordinate, part: int = 0) -> Parameter:
        """Return the acceleration of a coordinate: of inverse dynamics, and of hybrid dynamics where it is given."""
        return cls._of("qdd", coordinate, 1.0, (), part)

    @classmethod
    def tau(cls, coordinate: Coordinate, part: int = 0) -> Parameter:
        """Return a joint force: of forward dynamics, and of hybrid dynamics where it is given."""
        return cls._of("tau", coordinate, 1.0, (), part)

    # -- bodies and joints -----------------------------------------------------------------------------------------

    @classmethod
    def inertia(cls, body: Coordinate, which: int | str) -> Parameter:
        """Return one of the ten inertial parameters of a body, by number or as "m", "hx", ..., "Izz".

        They are those of `SpatialInertia.parameters`: mass, first moment, and rotational inertia about the origin of
        the body's frame, or of a frame that is fixed to it.

        Raises
        ------
        InputError
            If there is no such parameter; names those there are.
        """
        names: tuple[str | int, ...] = INERTIAL_PARAMETERS if isinstance(which, str) else tuple(range(10))
        if which not in names:
            raise InputError(f"inertial parameter {which!r}: one of {names} is expected", value=which)
        return cls._of("inertia", body, np.eye(10)[names.index(which)], (10,))

    @classmethod
    def placement(cls, joint: Coordinate, twist: ArrayLike, frame: Literal["joint", "parent"] = "joint") -> Parameter:
        """Return a displacement of a joint, with all it carries, on its parent.

        Parameters
        ----------
        joint : str or int
            Name or index of the joint.
        twist : array-like, shape (6,)
            Direction, angular part first.
        frame : {"joint", "parent"}
            Frame of the twist: `T_parent_joint` becomes ``T exp(p twist)`` ("joint") or ``exp(p twist) T`` ("parent").
        """
        _one_of("frame", frame, ("joint", "parent"))
        return cls._of("placement", joint, twist, (6,), frame)

    @classmethod
    def axis(cls, joint: Coordinate, rotation: ArrayLike, step: int = 0) -> Parameter:
        """Return a turn of a joint's axis about the joint's origin; the body at q = 0 stays where it is.

        Parameters
        ----------
        joint : str or int
            Name or index of a joint made of axes.
        rotation : array-like, shape (3,)
            Direction: the axis n becomes ``exp(p rotation) n``, in the joint's frame [rad].
        step : int
            Which axis, for joints of several.
        """
        return cls._of("axis", joint, rotation, (3,), step)

    @classmethod
    def pitch(cls, joint: Coordinate, step: int = 0) -> Parameter:
        """Return the translation along the axis for each unit of the coordinate, m/rad for a helical joint."""
        return cls._of("pitch", joint, 1.0, (), step)

    @classmethod
    def armature(cls, coordinate: Coordinate, part: int = 0) -> Parameter:
        """Return the rotor inertia at a coordinate, whether or not the model counts rotors."""
        return cls._of("armature", coordinate, 1.0, (), part)

    @classmethod
    def damping(cls, coordinate: Coordinate, part: int = 0) -> Parameter:
        """Return the viscous damping of a coordinate."""
        return cls._of("damping", coordinate, 1.0, (), part)

    @classmethod
    def friction(cls, coordinate: Coordinate, part: int = 0) -> Parameter:
        """Return the dry friction of a coordinate; at rest it has no effect."""
        return cls._of("friction", coordinate, 1.0, (), part)

    # -- surroundings ----------------------------------------------------------------------------------------------

    @classmethod
    def gravity(cls, direction: ArrayLike) -> Parameter:
        """Return a change of the gravity vector in a direction (3,) of the world frame."""
        return cls._of("gravity", None, direction, (3,))

    @classmethod
    def external_force(
        cls, body: Coordinate, component: int | ArrayLike, frame: Literal["body", "world", "aligned"] = "body"
    ) -> Parameter:
        """Return one component of the external wrench on a body, or a wrench that grows with p.

        Parameters
        ----------
        body : str or int
            Body, or frame fixed to one.
        component : int or array-like, shape (6,)
            0 to 2 for the moment, 3 to 5 for the force, or a wrench.
        frame : {"body", "world", "aligned"}
            Where it is expressed, as `external_wrench` has it.
        """
        _one_of("frame", frame, ("body", "world", "aligned"))
        if isinstance(component, (int, np.integer)):
            if not 0 <= component < 6:
                raise InputError(f"component of a wrench: 0 to 5 is expected, got {component}", value=component)
            component = np.eye(6)[component]
        return cls._of("wrench", body, component, (6,), frame)

    # -- anything else ---------------------------------------------------------------------------------------------

    @classmethod
    def custom(
        cls,
        dq: ArrayLike | None = None,
        dqd: ArrayLike | None = None,
        dqdd: ArrayLike | None = None,
        dtau: ArrayLike | None = None,
        dh: Mapping[Coordinate, ArrayLike] | None = None,
        dS: Mapping[Coordinate, ArrayLike] | None = None,
        dS_rate: Mapping[Coordinate, ArrayLike] | None = None,
        dI: Mapping[Coordinate, ArrayLike] | None = None,
        dF: Mapping[Coordinate, ArrayLike] | None = None,
        dgravity: ArrayLike | None = None,
    ) -> Parameter:
        """Return a parameter given by all that it changes, the quantities of Kim (92); what is left out stays.

        Parameters
        ----------
        dq, dqd, dqdd, dtau : array-like, shape (..., nv), optional
            Tangent vectors of states and commands; of q along `Model.integrate`. What q does to poses, S and dS/dt
            follows from dq and is not to be given again.
        dh : mapping of joint to array-like, shape (..., 6), optional
            T^-1 dT/dp of the joint's transform, a twist in the frame of the joint's body. Kim (89).
        dS, dS_rate : mapping of joint to array-like, shape (..., 6, n), optional
            Changes of the joint's Jacobian and of its rate dS/dt, in the frame of the joint's body.
        dI : mapping of body to array-like, shape (..., 10) or (..., 6, 6), optional
            Change of the body's inertial parameters, or of its generalised inertia.
        dF : mapping of body to array-like, shape (..., 6), optional
            Change of the external wrench in the body's frame.
        dgravity : array-like, shape (..., 3), optional
            Change of the gravity vector.
        """
        found = cls(())
        for what, tangent in (("q", dq), ("qd", dqd), ("qdd", dqdd), ("tau", dtau)):
            if tangent is not None:
                found += cls._of(what, None, tangent, np.shape(tangent)[-1:])
        for what, columns in (("subspace", dS), ("subspace_rate", dS_rate)):
            for joint, value in (columns or {}).items():
                found += cls._of(what, joint, value, (6, *np.shape(value)[-1:]))
        for joint, value in (dh or {}).items():
            found += cls._of("transform", joint, value, (6,))
        for body, value in (dI or {}).items():
            square = np.shape(value)[-2:] == (6, 6)
            ten = inertial_parameters.from_generalized_inertia(value) if square else value
            found += cls._of("inertia", body, ten, (10,))
        for body, value in (dF or {}).items():
            found += cls._of("wrench", body, value, (6,), "body")
        return found if dgravity is None else found + cls._of("gravity", None, dgravity, (3,))


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{name}: one of {allowed} is expected, got {value!r}", name=name, value=value)
