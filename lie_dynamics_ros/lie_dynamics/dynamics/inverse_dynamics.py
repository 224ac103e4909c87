"""Inverse dynamics and its parts: mass matrix, bias forces, and Coriolis matrices with their products."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..arrays import Array, ArrayLike
from ..errors import InputError
from ..model import layout
from ..model.arguments import require_model, zero_velocity
from ..model.configuration import shaped
from ..model.model import Model
from .inputs import Algorithm, quick_path
from .kernels.coriolis_product import any_coriolis_product as _any_product
from .kernels.coriolis_product import coriolis_product as _product
from .kernels.coriolis_product import coriolis_product_batch as _product_batch
from .kernels.inverse_dynamics import any_inverse_dynamics as _any
from .kernels.inverse_dynamics import gravity_force as _gravity
from .kernels.inverse_dynamics import gravity_force_batch as _gravity_batch
from .kernels.inverse_dynamics import inverse_dynamics as _loaded
from .kernels.inverse_dynamics import inverse_dynamics_batch as _batch
from .kernels.inverse_dynamics import inverse_dynamics_unloaded as _unloaded
from .kernels.mass_matrix import coriolis as _coriolis
from .kernels.mass_matrix import coriolis_batch as _coriolis_batch
from .kernels.mass_matrix import mass_matrix_batch as _mass_batch
from .kernels.mass_matrix_columns import mass_matrix as _mass
from .losses import has_rotors, joint_terms, rotor_coriolis, rotor_coriolis_matrix

_INVERSE = Algorithm(_batch, "n", single=_any)


@quick_path(_loaded, "q qd qdd f_ext", unloaded=_unloaded)
def inverse_dynamics(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
) -> Array:
    """Return the joint forces that a motion takes, gravity included. Kim Table 2.

    Parameters
    ----------
    model : Model
        The robot.
    q : array-like, shape (..., nq)
        Configuration [rad, m].
    qd, qdd : array-like, shape (..., nv)
        Rates and accelerations of the coordinates [rad/s, m/s and rad/s^2, m/s^2].
    f_ext : array-like, shape (..., n_bodies, 6), optional
        Wrench (moment, force) that the environment exerts on each body, in that body's frame [N m, N].
    threads : int
        Threads that share a batch; results do not depend on it.

    Returns
    -------
    ndarray, shape (..., nv)
        Joint forces [N m, N], positive along the coordinates: what the actuators must exert.

    Raises
    ------
    InputError
        For a wrong shape, NaN or infinity; names the joint or body.
    GroupError
        For a quaternion in q whose square norm differs from one by 1e-6 or more.
    """
    (tau,) = _INVERSE.evaluate(model, {"q": q, "qd": qd, "qdd": qdd}, f_ext, threads=threads)
    return tau if model.actuation_terms is None else tau + joint_terms(model, q, qd)


_METHODS = {"christoffel": np.array([False]), "ploen": np.array([True])}
_MASS = Algorithm(_mass_batch, "n n")
_GRAVITY = Algorithm(_gravity_batch, "n")
_CORIOLIS = Algorithm(_coriolis_batch, "n n")
_PRODUCT = Algorithm(_product_batch, "n", single=_any_product)


@quick_path(_mass, "q")
def mass_matrix(model: Model, q: ArrayLike, *, threads: int = 1) -> Array:
    """Return the mass matrix M(q), symmetric, with the armature of the joints where the model includes it.

    Parameters
    ----------
    model, q, threads
        As `inverse_dynamics`.

    Returns
    -------
    ndarray, shape (..., nv, nv)
        M in M qdd + b = tau, Kim (32) [kg m^2, kg m, kg].

    Raises
    ------
    InputError, GroupError
        As `inverse_dynamics`.
    """
    return _MASS.evaluate(model, {"q": q}, threads=threads)[0]


def bias_force(model: Model, q: ArrayLike, qd: ArrayLike, *, threads: int = 1) -> Array:
    """Return b(q, qd) of M qdd + b = tau: Coriolis, centrifugal and gravity forces, and losses the model includes.

    Parameters and errors as `inverse_dynamics`; returns (..., nv) [N m, N].
    """
    return inverse_dynamics(model, q, qd, zero_velocity(model), threads=threads)


@quick_path(_gravity, "q")
def gravity_force(model: Model, q: ArrayLike, *, threads: int = 1) -> Array:
    """Return the joint forces (..., nv) that hold the robot at rest against gravity at `q` (..., nq) [N m, N]."""
    return _GRAVITY.evaluate(model, {"q": q}, threads=threads)[0]


def coriolis_matrix(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    method: Literal["christoffel", "ploen"] = "christoffel",
    *,
    threads: int = 1,
) -> Array:
    """Return a Coriolis matrix C with C qd = b - g and dM/dt - 2 C skew.

    Parameters
    ----------
    model, q, qd, threads
        As `inverse_dynamics`.
    method : {"christoffel", "ploen"}
        "christoffel": the one of the Christoffel symbols, PBP (55)-(57); for ball and free joints, whose rates are no
        derivatives of coordinates, the sum of m J^T dJ/dt over all particles, which is the same thing where both exist.
        "ploen": Ploen (37), Proposition 1, which depends on where the body frames' origins are: that of
        `ScrewTree.to_model()`, whose bodies are on the axes, is not that of the tree, but as right.

    Returns
    -------
    ndarray, shape (..., nv, nv)
        C [N m s/rad and the like]. Joint losses are no part of it.

    Raises
    ------
    InputError, GroupError
        As `inverse_dynamics`; also InputError for an unknown method.
    """
    try:
        ploen = _METHODS[method]
    except (KeyError, TypeError):
        raise InputError(f"method: one of {list(_METHODS)} is expected, got {method!r}", name="method") from None
    if type(model) is not Model:  # most often it is: a call would take a twentieth of the kernel's time
        require_model(model)
    if model.plain:
        out: Array | None = _coriolis(model.table, q, qd, ploen)
        if out is not None:
            return out
    (matrix,) = _CORIOLIS.evaluate(model, {"q": q, "qd": qd}, given=ploen, threads=threads)
    if not has_rotors(model):
        return matrix
    return np.asarray(matrix + rotor_coriolis_matrix(model, shaped(qd, model.nv, "qd", model)))


def coriolis_product(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    reference: ArrayLike,
    method: Literal["christoffel", "ploen"] = "christoffel",
    *,
    threads: int = 1,
) -> Array:
    """Return C(q, qd) q_r in O(n): what Slotine and Li's controller adds to M qdd_r + g.

    Parameters
    ----------
    model, q, qd, method, threads
        As `coriolis_matrix`; both methods make dM/dt - 2 C skew.
    reference : array-like, shape (..., nv)
        q_r, in place of the rates that C is multiplied with [rad/s, m/s].

    Returns
    -------
    ndarray, shape (..., nv)
        ``coriolis_matrix(model, q, qd, method) @ reference`` [N m, N].

    Raises
    ------
    InputError, GroupError
        As `coriolis_matrix`.
    """
    try:
        ploen = _METHODS[method]
    except (KeyError, TypeError):
        raise InputError(f"method: one of {list(_METHODS)} is expected, got {method!r}", name="method") from None
    if type(model) is not Model:  # most often it is: a call would take a twentieth of the kernel's time
        require_model(model)
    if model.plain:
        out = np.empty(model.nv)
        if _product(model.table, q, qd, reference, ploen, out) == layout.OK:
            return out
    inputs: dict[str, Any] = {"q": q, "qd": qd, "reference": reference}
    (force,) = _PRODUCT.evaluate(model, inputs, given=ploen, threads=threads)
    if not has_rotors(model):
        return force
    rates = (shaped(value, model.nv, name, model) for name, value in (("qd", qd), ("reference", reference)))
    return np.asarray(force + rotor_coriolis(model, *rates))


def mass_matrix_rate(model: Model, q: ArrayLike, qd: ArrayLike, *, threads: int = 1) -> Array:
    """Return dM/dt (..., nv, nv) along the rates `qd`: C + C^T, since dM/dt - 2 C is skew. Ploen (28)."""
    matrix = coriolis_matrix(model, q, qd, threads=threads)
    return np.asarray(matrix + np.swapaxes(matrix, -1, -2))
