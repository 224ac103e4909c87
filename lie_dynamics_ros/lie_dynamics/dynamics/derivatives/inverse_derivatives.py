"""Derivatives of inverse dynamics, and of bias and gravity forces, along all coordinates at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...model.arguments import require_model, zero_velocity
from ...model.configuration import shaped
from ...model.model import Model
from ...shown import shown
from ..inputs import evaluate
from ..kernels.derivatives.inverse_derivatives import inverse_derivatives as _single
from ..kernels.derivatives.inverse_derivatives import inverse_derivatives_batch as _batch
from ..losses import joint_terms_rate, joint_terms_slope
from ..plain import NO_WRENCH
from .user_joint_subspaces import extend_twice

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
    try:
        if model.plain and qd.ndim == 1:  # type: ignore[union-attr]
            n = model.nv
            out = _empty((3, n, n))
            if _single(model.table, q, qd, qdd, NO_WRENCH if f_ext is None else f_ext, out) == 0:
                return _new(InverseDynamicsDerivatives, (out[0], out[1], out[2]))
    except (AttributeError, TypeError, ValueError):
        pass
    require_model(model)
    return _general(model, {"q": q, "qd": qd, "qdd": qdd}, f_ext, threads)


def _general(
    model: Model, inputs: dict[str, Any], f_ext: npt.ArrayLike | None, threads: int
) -> InverseDynamicsDerivatives:
    n = int(model.rows.shape[0]) - 1  # of all joints, also where mimics are coupled
    (out,) = evaluate(model, _batch, inputs, [(3, n, n)], f_ext, threads=threads, extension=extend_twice)
    if model.coupling is not None:
        rates = model.coupling.rates
        out = np.asarray(rates.T @ out @ rates)
    if model.actuation_terms is not None:
        rates = shaped(inputs["qd"], model.nv, "qd", model)
        out[..., 1, :, :] += joint_terms_rate(model, rates)
        slope = joint_terms_slope(model, inputs["q"], rates)
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


def gravity_force_derivatives(model: Model, q: npt.ArrayLike, *, threads: int = 1) -> Array:
    """Return the derivative of `gravity_force` along q (..., nv, nv), entry [i, k] of force i along k.

    The Hessian of the potential energy, symmetric, for joints made of axes. Parameters and errors as
    `inverse_dynamics_derivatives`.
    """
    require_model(model)
    still = zero_velocity(model)
    if model.actuation_terms is not None:  # springs are none of gravity
        model = model.with_joint_terms()
    return inverse_dynamics_derivatives(model, q, still, still, threads=threads).dq
