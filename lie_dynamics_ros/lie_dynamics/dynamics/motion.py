"""Motion of the bodies, momentum and energy."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import Array, ArrayLike
from ..errors import InputError, SingularityError
from ..model import layout
from ..model.arguments import require_model, validate_model, zero_velocity
from ..model.model import Model
from .inputs import Algorithm, quick_path
from .kernels.motion import (
    SUM_ANGULAR,
    SUM_COM,
    SUM_LINEAR,
    SUM_MASS,
    SUM_SIZE,
    body_motion_batch,
    body_sums,
    body_sums_batch,
    center_of_mass_batch,
    centroidal_matrix_batch,
    kinetic_energy_batch,
)
from .kernels.motion import center_of_mass as _center
from .kernels.motion import kinetic_energy as _energy
from .losses import spring_energy

_MOTION = Algorithm(body_motion_batch, "b 6,b 6")
_SUMS = Algorithm(body_sums_batch, str(SUM_SIZE))
_CENTER = Algorithm(center_of_mass_batch, "3")
_ENERGY = Algorithm(kinetic_energy_batch, "1")
_CENTROIDAL = Algorithm(centroidal_matrix_batch, "6 n")


@validate_model
def body_velocities(model: Model, q: ArrayLike, qd: ArrayLike, *, threads: int = 1) -> Array:
    """Return the twist of every body in its own frame. Kim (37).

    Parameters
    ----------
    model, q, qd, threads
        As `inverse_dynamics`.

    Returns
    -------
    ndarray, shape (..., n_bodies, 6)
        Body twists, angular part first [rad/s, m/s].

    Raises
    ------
    InputError, GroupError
        As `inverse_dynamics`.
    """
    return _MOTION.evaluate(model, {"q": q, "qd": qd, "qdd": model.zero_velocity}, threads=threads)[0]


@validate_model
def body_accelerations(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, threads: int = 1) -> Array:
    """Return dV/dt (..., n_bodies, 6), the component-wise rate of every body's twist in its own frame. Kim (41).

    Gravity is no part of it. The ordinary acceleration of the frame's origin, seen from the body, is its linear part
    plus w x v. Parameters and errors as `inverse_dynamics`; units [rad/s^2, m/s^2].
    """
    return _MOTION.evaluate(model, {"q": q, "qd": qd, "qdd": qdd}, threads=threads)[1]


@quick_path(body_sums, "q qd")
def _sums(model: Model, q: ArrayLike, qd: ArrayLike, *, threads: int = 1) -> Array:
    require_mass(model)
    return _SUMS.evaluate(model, {"q": q, "qd": qd}, threads=threads)[0]


def require_mass(model: Model) -> None:
    """Raise a SingularityError for a model without masses."""
    require_model(model)
    if total_mass(model) == 0.0:
        raise SingularityError(f"model {model.name!r} has no mass, so no centre of mass", name=model.name, value=0.0)


@validate_model
def total_mass(model: Model) -> float:
    """Return the mass of all bodies that move [kg]."""
    return float(model.rows[1:, layout.MASS].sum())


@quick_path(_center, "q")
def center_of_mass(model: Model, q: ArrayLike, *, threads: int = 1) -> Array:
    """Return the centre of mass (..., 3) of the bodies that move, in the world frame [m].

    Raises
    ------
    SingularityError
        If no body has mass. Other errors as `forward_kinematics`.
    """
    require_mass(model)
    return _CENTER.evaluate(model, {"q": q}, threads=threads)[0]


def kinetic_energy(model: Model, q: ArrayLike, qd: ArrayLike, *, threads: int = 1) -> Array:
    """Return the kinetic energy (...) [J], qd^T M qd / 2, at `q` (..., nq) and `qd` (..., nv); zero without masses."""
    if type(model) is not Model:  # most often it is: a call would take a twentieth of the kernel's time
        require_model(model)
    if model.plain:
        out: Array | None = _energy(model.table, q, qd)
        if out is not None:
            return out.reshape(())
    return _ENERGY.evaluate(model, {"q": q, "qd": qd}, threads=threads)[0][..., 0]


def potential_energy(model: Model, q: ArrayLike, *, threads: int = 1) -> Array:
    """Return the potential energy (...) in gravity [J], zero with the centre of mass at the world's origin.

    It is -m g . c with the gravity vector g of the model, so it grows upwards for (0, 0, -9.81), and its derivative
    along q is `gravity_force`. Springs that the model includes add theirs.
    """
    sums = _sums(model, q, zero_velocity(model), threads=threads)
    energy = np.asarray(-sums[..., SUM_MASS] * (sums[..., SUM_COM : SUM_COM + 3] @ model.gravity))
    return energy if model.actuation_terms is None else np.asarray(energy + spring_energy(model, q))


def momentum(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    about: Literal["world", "com"] = "world",
    *,
    threads: int = 1,
) -> Array:
    """Return the momentum of all bodies in the world's axes.

    Parameters
    ----------
    model, q, qd, threads
        As `body_velocities`.
    about : {"world", "com"}
        Point that the angular part refers to: the world's origin, or the centre of mass (centroidal momentum).

    Returns
    -------
    ndarray, shape (..., 6)
        Angular part first [N m s, N s].
    """
    if not isinstance(about, str) or about not in ("world", "com"):
        raise InputError(f"about: 'world' or 'com' is expected, got {about!r}", name="about", value=about)
    sums = _sums(model, q, qd, threads=threads)
    result = sums[..., SUM_ANGULAR : SUM_LINEAR + 3].copy()
    if about == "world":
        result[..., :3] += np.cross(sums[..., SUM_COM : SUM_COM + 3], result[..., 3:])
    return result


@validate_model
def centroidal_momentum_matrix(model: Model, q: ArrayLike, *, threads: int = 1) -> Array:
    """Return A (..., 6, nv) with A qd the momentum about the centre of mass in the world's axes, angular part first.

    Raises
    ------
    SingularityError
        If no body has mass. Other errors as `forward_kinematics`.
    """
    require_mass(model)
    return _CENTROIDAL.evaluate(model, {"q": q}, threads=threads)[0]
