"""Derivatives of inverse dynamics, and of bias and gravity forces, along all coordinates at once, and its regressor."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...model.arguments import require_model, zero_velocity
from ...model.configuration import shaped
from ...model.model import Model
from ...shown import shown
from ..inputs import NO_WRENCH, Algorithm, quick_path
from ..kernels.derivatives.inverse_derivatives import gravity_derivatives as _gravity
from ..kernels.derivatives.inverse_derivatives import gravity_derivatives_batch as _gravity_batch
from ..kernels.derivatives.inverse_derivatives import inverse_derivatives as _single
from ..kernels.derivatives.inverse_derivatives import inverse_derivatives_batch as _batch
from ..kernels.derivatives.regressor import regressor as _regressor
from ..kernels.derivatives.regressor import regressor_batch as _regressor_batch
from ..losses import joint_terms_rate, joint_terms_slope
from .user_joint_derivatives import extend_twice

_DERIVATIVES = Algorithm(_batch, "3 n n", extension=extend_twice)
_GRAVITY = Algorithm(_gravity_batch, "n n")
_REGRESSOR = Algorithm(_regressor_batch, "n 10b")
_empty = np.empty
_new = tuple.__new__


@shown
class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of the joint forces of a motion, each (..., nv, nv): entry [i, k] is that of tau_i along k.

    Attributes
    ----------
    dq : ndarray
        Along the configuration: for ball and free joints along their tangent, as `Model.integrate` moves it
        [N m/rad and the like].
    dqd : ndarray
        Along the rates [N m s/rad], with the damping that the model includes.
    dqdd : ndarray
        Along the accelerations: the mass matrix [kg m^2], with the armature that the model includes.
    """

    dq: Array
    dqd: Array
    dqdd: Array


def inverse_dynamics_derivatives(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    f_ext: npt.ArrayLike | None = None,
    *,
    threads: int = 1,
) -> InverseDynamicsDerivatives:
    """Return the derivatives of `inverse_dynamics` along q, qd and qdd, in O(n d) for a tree of depth d.

    They are exact, for every joint type, along `Model.integrate`: column k of `.dq` is the derivative at t = 0 of
    ``inverse_dynamics(model, model.integrate(q, t e_k), qd, qdd, f_ext)``, with the entries of qd, qdd and f_ext kept.

    Parameters
    ----------
    model : Model
        The robot.
    q : array-like, shape (..., nq)
        Configuration [rad, m].
    qd, qdd : array-like, shape (..., nv)
        Rates and accelerations of the coordinates [rad/s, m/s and rad/s^2, m/s^2].
    f_ext : array-like, shape (..., n_bodies, 6), optional
        Wrench (moment, force) that the environment exerts on each body, in that body's frame [N m, N]; it moves with
        the body.
    threads : int
        Threads that share a batch; results do not depend on it.

    Returns
    -------
    InverseDynamicsDerivatives
        Named tuple of `dq`, `dqd` and `dqdd`, each (..., nv, nv). Dry friction has no part in them.

    Raises
    ------
    InputError, GroupError
        As `inverse_dynamics`.

    Notes
    -----
    The functions of a user-defined joint are called for its dS at eight configurations around q, up to 0.02 [rad, m]
    away along each of its coordinates: dS/dt is differentiated by central differences of eighth order.
    """
    require_model(model)
    if model.plain:
        n = model.nv
        out = _empty((3, n, n))
        if _single(model.table, q, qd, qdd, NO_WRENCH if f_ext is None else f_ext, out) == 0:
            return _new(InverseDynamicsDerivatives, (out[0], out[1], out[2]))
    (out,) = _DERIVATIVES.evaluate(model, {"q": q, "qd": qd, "qdd": qdd}, f_ext, threads=threads)
    if model.actuation_terms is not None:
        rates = shaped(qd, model.nv, "qd", model)
        out[..., 1, :, :] += joint_terms_rate(model, q, rates)
        slope = joint_terms_slope(model, q, rates)
        if slope is not None:
            out[..., 0, :, :] += slope
    return InverseDynamicsDerivatives(out[..., 0, :, :], out[..., 1, :, :], out[..., 2, :, :])


def bias_force_derivatives(
    model: Model, q: npt.ArrayLike, qd: npt.ArrayLike, *, threads: int = 1
) -> tuple[Array, Array]:
    """Return the derivatives of `bias_force` along q and qd, each (..., nv, nv), entry [i, k] of force i along k.

    Parameters and errors as `inverse_dynamics_derivatives`.
    """
    found = inverse_dynamics_derivatives(model, q, qd, zero_velocity(model), threads=threads)
    return found.dq, found.dqd


@quick_path(_gravity, "q")
def gravity_force_derivatives(model: Model, q: npt.ArrayLike, *, threads: int = 1) -> Array:
    """Return the derivative of `gravity_force` along q (..., nv, nv), entry [i, k] of force i along k.

    The Hessian of the potential energy, symmetric, for joints made of axes. Parameters and errors as
    `inverse_dynamics_derivatives`.
    """
    require_model(model)
    if not model.custom_joints:
        return _GRAVITY.evaluate(model, {"q": q}, threads=threads)[0]
    still = zero_velocity(model)
    if model.actuation_terms is not None:  # springs are none of gravity
        model = model.with_joint_terms()
    return inverse_dynamics_derivatives(model, q, still, still, threads=threads).dq


def torque_regressor(
    model: Model, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike, *, threads: int = 1
) -> Array:
    """Return Y with tau = Y pi: the joint forces of a motion, linear in the bodies' inertial parameters.

    Parameters
    ----------
    model : Model
        The robot. Its own inertias are not read.
    q : array-like, shape (..., nq)
        Configuration [rad, m].
    qd, qdd : array-like, shape (..., nv)
        Rates and accelerations of the coordinates [rad/s, m/s and rad/s^2, m/s^2].
    threads : int
        Threads that share a batch; results do not depend on it.

    Returns
    -------
    ndarray, shape (..., nv, 10 n_bodies)
        Y. Columns 10 b to 10 b + 9 belong to body b and its parameters (m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz),
        h = m c and I about the origin of the body's frame and in its axes: ``model.inertia(b).parameters()``. Gravity
        is included; armature, damping, dry friction and external wrenches are not: `inverse_dynamics` adds them.

    Raises
    ------
    InputError, GroupError
        As `inverse_dynamics`.
    """
    require_model(model)
    if model.plain:
        out = _empty((model.nv, 10 * model.n_bodies))
        if _regressor(model.table, q, qd, qdd, out) == 0:
            return out
    return _REGRESSOR.evaluate(model, {"q": q, "qd": qd, "qdd": qdd}, threads=threads)[0]
