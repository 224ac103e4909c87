"""Lie groups of rigid motion, and the spatial inertia of one body: numpy only, batch axes everywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import AnyArray, Array, ArrayLike
from ..errors import InertiaError
from . import inertial_parameters, quaternion, se3, so3
from ._arrays import as_real, own_real

__all__ = ["SpatialInertia", "inertial_parameters", "quaternion", "se3", "so3"]

#: Radius of gyration [m] below which a rotational inertia counts as zero: figures this small are round-off of a tool.
NEGLIGIBLE_RADIUS = 1e-6
_UPPER = np.triu_indices(3)


@dataclass(frozen=True, eq=False)
class SpatialInertia:
    """Mass, centre of mass and rotational inertia of a rigid body, all in one body frame.

    Attributes
    ----------
    mass : float
        Mass [kg].
    com : ndarray, shape (3,)
        Centre of mass in the body frame [m].
    inertia : ndarray, shape (3, 3)
        Rotational inertia about the centre of mass, in axes parallel to the body frame [kg m^2].

    Raises
    ------
    InputError
        On construction, for a wrong shape or a value that is not finite.
    InertiaError
        On construction, if the rotational inertia is not symmetric (1e-9 of its largest entry). Whether a body can
        have these values is asked with `check`, so that estimates may be held before they are checked.
    """

    mass: float
    com: Array
    inertia: Array

    def __post_init__(self) -> None:
        mass = self.mass if type(self.mass) is float and math.isfinite(self.mass) else float(
            as_real(self.mass, (), "mass").reshape(())
        )  # fmt: skip
        com = own_real(self.com, (3,), "com")
        inertia = own_real(self.inertia, (3, 3), "inertia")
        _, xy, xz, yx, _, yz, zx, zy, _ = inertia.ravel().tolist()
        off = max(abs(xy - yx), abs(xz - zx), abs(yz - zy))
        if off > 0.0 and off > 1e-9 * np.abs(inertia).max():
            raise InertiaError(
                f"rotational inertia must be symmetric, entries differ by {off:.3g} kg m^2: {inertia.tolist()}",
                value=inertia,
                expected="a symmetric matrix",
            )
        if off > 0.0:
            inertia = 0.5 * (inertia + inertia.T)
            inertia.flags.writeable = False
        object.__setattr__(self, "mass", mass)
        object.__setattr__(self, "com", com)
        object.__setattr__(self, "inertia", inertia)

    @classmethod
    def zero(cls) -> SpatialInertia:
        """Return the inertia of a massless body."""
        return cls(0.0, np.zeros(3), np.zeros((3, 3)))

    @classmethod
    def from_parameters(cls, parameters: ArrayLike) -> SpatialInertia:
        """Return the inertia with the ten parameters (10,) of `inertial_parameters`.

        Raises
        ------
        InertiaError
            If the mass is zero and the first moment is not.
        """
        pi = as_real(parameters, (10,), "parameters").reshape(10)
        mass, h, about_origin = pi[0], pi[1:4], inertial_parameters.rotational_inertia(pi)
        if mass == 0.0:
            if h.any():
                raise InertiaError(
                    f"a body without mass has no first moment, got {h.tolist()} kg m", value=h, expected="0 0 0"
                )
            return cls(0.0, np.zeros(3), about_origin)
        com = h / mass
        return cls(mass, com, about_origin - mass * _parallel_axis(com))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> SpatialInertia:
        """Return the inertia whose generalised inertia is `matrix` (6, 6)."""
        return cls.from_parameters(inertial_parameters.from_generalized_inertia(matrix))

    @classmethod
    def from_pseudo_inertia(cls, pseudo: ArrayLike) -> SpatialInertia:
        """Return the inertia whose pseudo-inertia is `pseudo` (4, 4)."""
        return cls.from_parameters(inertial_parameters.from_pseudo_inertia(pseudo))

    def parameters(self) -> AnyArray:
        """Return m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz (10,), with I about the body frame's origin."""
        about_origin = self.inertia + self.mass * _parallel_axis(self.com)
        return np.concatenate([[self.mass], self.mass * self.com, about_origin[_UPPER]])

    def matrix(self) -> AnyArray:
        """Return the generalised inertia (6, 6) about the body frame's origin. Kim (22)."""
        return inertial_parameters.generalized_inertia(self.parameters())

    def pseudo_inertia(self) -> AnyArray:
        """Return the pseudo-inertia (4, 4); see `inertial_parameters.pseudo_inertia`."""
        return inertial_parameters.pseudo_inertia(self.parameters())

    def transformed(self, T_ab: ArrayLike) -> SpatialInertia:
        """Return this inertia, given in {b}, expressed in {a}: Ad*_{T^-1} I Ad_{T^-1}, T = `T_ab` (4, 4). Kim (21)."""
        R, p = se3.to_parts(se3.check(T_ab, "T_ab"))
        return SpatialInertia(self.mass, R @ self.com + p, R @ self.inertia @ R.T)

    def __add__(self, other: SpatialInertia) -> SpatialInertia:
        """Return the inertia of both bodies welded together; both must be given in the same frame."""
        if not isinstance(other, SpatialInertia):
            return NotImplemented
        mass = self.mass + other.mass
        com = (self.mass * self.com + other.mass * other.com) / mass if mass != 0.0 else np.zeros(3)
        inertia = self.inertia + other.inertia
        for part in (self, other):
            inertia = inertia + part.mass * _parallel_axis(part.com - com)
        return SpatialInertia(mass, com, inertia)

    def momentum(self, V: ArrayLike) -> AnyArray:
        """Return the momentum I V (..., 6), angular part first [N m s, N s], at twists `V` (..., 6). Kim (23)."""
        return np.asarray(as_real(V, (6,), "V") @ self.matrix())

    def force(self, V: ArrayLike, dV: ArrayLike) -> AnyArray:
        """Return the wrench that a motion takes, I dV - ad*_V I V (..., 6) [N m, N]. Kim (26)-(31).

        It is the sum of all moments and forces on a body of twist `V` (..., 6) with the component-wise rate `dV`
        (..., 6), in the body's frame; weight is one of them.
        """
        momentum = self.momentum(V)
        return np.asarray(self.momentum(dV) - (se3.ad_dual(V) @ momentum[..., None])[..., 0])

    def kinetic_energy(self, V: ArrayLike) -> AnyArray:
        """Return V^T I V / 2 (...) [J] at twists `V` (..., 6). Kim (15)."""
        return np.asarray(0.5 * (as_real(V, (6,), "V") * self.momentum(V)).sum(axis=-1))

    def principal_moments(self) -> AnyArray:
        """Return the principal moments of inertia about the centre of mass, ascending, (3,) [kg m^2]."""
        return np.linalg.eigvalsh(self.inertia)

    def deficit(self) -> float:
        """Return by how much the largest principal moment exceeds the sum of the other two, at least 0 [kg m^2].

        It is -2 times the smallest eigenvalue of the second moment of mass about the centre of mass, so it also
        covers negative moments; with mass >= 0, a zero deficit is the same as a positive semidefinite pseudo-inertia.
        """
        low, middle, high = self.principal_moments()
        return float(max(high - middle - low, 0.0))

    def is_physical(self, tolerance: float = 1e-9) -> bool:
        """Return whether some distribution of mass has this inertia; see `check`."""
        try:
            self.check(tolerance=tolerance)
        except InertiaError:
            return False
        return True

    def check(self, name: str = "body", tolerance: float = 1e-9, reference: float = 0.0) -> None:
        """Refuse an inertia that no distribution of mass can have.

        Mass must be >= 0 and the pseudo-inertia positive semidefinite, which means for the principal moments
        a <= b <= c about the centre of mass that c <= a + b. A massless body without inertia is valid.

        Parameters
        ----------
        name : str
            What the error message calls the body, for example "link 'forearm'".
        tolerance : float
            Accepted excess c - a - b, relative to the largest of |c|, |a| and `reference`. An inertia below that
            of the mass at a distance of `NEGLIGIBLE_RADIUS` counts as zero.
        reference : float
            A moment of inertia that the excess may be compared with instead, for example that of the rigid body that
            this one is a part of [kg m^2].

        Raises
        ------
        InertiaError
            Names the body, the moments and the inequality; carries the principal moments as `value`.
        """
        if self.mass < 0.0:
            raise InertiaError(
                f"{name}: mass {self.mass:g} kg is negative", name=name, value=self.mass, expected="mass >= 0"
            )
        moments = self.principal_moments()
        scale = max(float(np.abs(moments).max()), reference)
        allowed = max(tolerance * scale, self.mass * NEGLIGIBLE_RADIUS**2)
        excess = float(moments[2] - moments[1] - moments[0])
        if excess <= allowed:
            return
        a, b, c = (f"{moment if abs(moment) > 1e-12 * scale else 0.0:.6g}" for moment in moments)
        if moments[0] < -allowed:
            reason = f"principal moment of inertia {a} kg m^2 is negative (principal moments {a}, {b}, {c})"
        else:
            reason = (
                f"principal moments of inertia {a}, {b}, {c} kg m^2 break the triangle inequality: "
                f"{c} > {a} + {b}, by {excess / moments[2]:.3g} of the largest"
            )
        raise InertiaError(
            f"{name}: {reason}; no distribution of mass has such an inertia (largest <= sum of the other two expected, "
            f"within {allowed:.3g} kg m^2)",
            name=name,
            value=moments,
            expected="largest principal moment <= sum of the other two",
        )

    def __eq__(self, other: object) -> bool:
        """Compare all ten values exactly."""
        if not isinstance(other, SpatialInertia):
            return NotImplemented
        return bool(self.mass == other.mass and (self.com == other.com).all() and (self.inertia == other.inertia).all())

    def __hash__(self) -> int:
        """Hash all ten values."""
        return hash((self.mass, *self.com.tolist(), *self.inertia.ravel().tolist()))


def _parallel_axis(r: AnyArray) -> AnyArray:
    """Return -[r]^2 (3, 3), the inertia of a unit mass at `r` (3,)."""
    return np.asarray(r @ r * np.eye(3) - np.outer(r, r))
