"""Derivatives of inverse dynamics, and of bias and gravity forces, along all coordinates at once, and its regressor."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...arrays import AnyArray, Array, ArrayLike
from ...model.arguments import require_model, zero_velocity
from ...model.configuration import shaped
from ...model.model import Model
from ...model.pack import extend
from ...model.structure import Joint
from ...shown import shown
from ..inputs import NO_WRENCH, Algorithm, quick_path
from ..kernels.derivatives.inverse_derivatives import gravity_derivatives as _gravity
from ..kernels.derivatives.inverse_derivatives import gravity_derivatives_batch as _gravity_batch
from ..kernels.derivatives.inverse_derivatives import inverse_derivatives as _single
from ..kernels.derivatives.inverse_derivatives import inverse_derivatives_batch as _batch
from ..kernels.derivatives.regressor import regressor as _regressor
from ..kernels.derivatives.regressor import regressor_batch as _regressor_batch
from ..losses import joint_terms_rate, joint_terms_slope

# A user gives S(q) and dS/dt = sum of (dS/dq_k) qd_k. The first derivatives of S are dS/dt at unit rates. Those of
# dS/dt are differences, or complex steps of the user's function, exact to round-off, where it takes complex numbers.


_TINY = 1e-30
#: Central differences of eighth order: weights of f(x + k h) - f(x - k h), k = 1, 2, 3, 4, over h. With this step, what
#: is cut off and round-off are both below 1e-12 for functions that bend over a tenth of a radian or metre.
WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
_STEP = 0.005


def subspace_derivatives(joint: Joint, q: AnyArray, k: int) -> AnyArray:
    """Return dS/dq_k (..., 6, n) of a user's joint at configurations (..., nq)."""
    motion = joint.type.custom
    assert motion is not None
    unit = np.eye(joint.type.nv)[k]
    return _for_all(lambda x, _: np.asarray(motion.subspace_rate(x, unit)), q[..., joint.q_slice], q[..., :0], joint)


def rate_derivatives(joint: Joint, q: AnyArray, qd: AnyArray, k: int) -> AnyArray:
    """Return d(dS/dt)/dq_k (..., 6, n) of a user's joint at configurations (..., nq) and rates (..., nv)."""
    return _for_all(lambda x, y: _slope(joint, x, y, k), q[..., joint.q_slice], qd[..., joint.v_slice], joint)


def _for_all(function: Any, x: AnyArray, y: AnyArray, joint: Joint) -> AnyArray:
    batch = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    count = int(np.prod(batch))
    x = np.broadcast_to(x, (*batch, x.shape[-1])).reshape(count, x.shape[-1])
    y = np.broadcast_to(y, (*batch, y.shape[-1])).reshape(count, y.shape[-1])
    found = np.array([function(a, b) for a, b in zip(x, y, strict=True)])
    return found.reshape(*batch, 6, joint.type.nv)


def _slope(joint: Joint, x: AnyArray, y: AnyArray, k: int) -> AnyArray:
    motion = joint.type.custom
    assert motion is not None
    unit = np.eye(joint.type.nv)[k]

    estimate = _differences(joint, x, y, unit)
    if np.iscomplexobj(x) or np.iscomplexobj(y):
        return estimate
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of numpy, that an imaginary part is dropped
            exact = np.asarray(motion.subspace_rate(x + 1j * _TINY * unit, y)).imag / _TINY
    except Exception:  # the user's function, which may refuse complex numbers in any way it likes
        return estimate
    scale = max(float(np.abs(estimate).max()), 1e-3)
    agrees = (
        exact.shape == estimate.shape and np.isfinite(exact).all() and np.abs(exact - estimate).max() < 1e-6 * scale
    )
    return exact if agrees else estimate


def _differences(joint: Joint, x: AnyArray, xd: AnyArray, unit: AnyArray) -> AnyArray:
    """Return d(dS/dt)/dx (6, n) along a unit vector."""
    motion = joint.type.custom
    assert motion is not None
    total: AnyArray = np.zeros((6, joint.type.nv))
    for k, weight in enumerate(WEIGHTS, 1):
        ahead, behind = (np.asarray(motion.subspace_rate(x + s * k * _STEP * unit, xd)) for s in (1.0, -1.0))
        total = total + weight * (ahead - behind)
    return total / _STEP


def extend_twice(users: Sequence[Joint], q: AnyArray, qd: AnyArray) -> AnyArray:
    """Return what `extend` returns, with the derivatives of each user-defined joint's S appended.

    For each of its coordinates k: the derivative of dS/dt along q_k, times qd (6), then dS_i/dq_k (6) for each column
    i. Since dS/dt = sum of dS/dq_k qd_k, the latter is what the user's function returns for a unit rate; the former is
    taken by differences.
    """
    wide = extend(users, q, qd)
    if not users:
        return wide
    flat_q, flat_qd = q.reshape(-1, q.shape[-1]), qd.reshape(-1, qd.shape[-1])
    parts = [wide.reshape(len(flat_q), -1)]
    for joint in users:
        size = 6 * joint.type.nv * (1 + joint.type.nv)
        data = [_derivatives(joint, a, b) for a, b in zip(flat_q, flat_qd, strict=True)]
        parts.append(np.array(data).reshape(len(flat_q), size))
    return np.ascontiguousarray(np.concatenate(parts, axis=1).reshape(*q.shape[:-1], -1))


def _derivatives(joint: Joint, q: AnyArray, qd: AnyArray) -> AnyArray:
    motion = joint.type.custom
    assert motion is not None
    x, xd = q[joint.q_slice], qd[joint.v_slice]
    found = []
    for unit in np.eye(joint.type.nv):
        along = np.asarray(motion.subspace_rate(x, unit))
        found += [_differences(joint, x, xd, unit) @ xd, along.T.ravel()]
    return np.concatenate(found)


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
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
) -> InverseDynamicsDerivatives:
    """Return the derivatives of `inverse_dynamics` along q, qd and qdd, in O(n d) for a tree of depth d.

    They are exact, for every joint type, along `Model.integrate`: column k of `.dq` is the derivative at t = 0 of
    ``inverse_dynamics(model, model.integrate(q, t e_k), qd, qdd, f_ext)``, with the entries of qd, qdd and f_ext kept.

    Parameters
    ----------
    model, q, qd, qdd, threads
        As `inverse_dynamics`.
    f_ext : array-like, shape (..., n_bodies, 6), optional
        As there; each wrench moves with its body.

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


def bias_force_derivatives(model: Model, q: ArrayLike, qd: ArrayLike, *, threads: int = 1) -> tuple[Array, Array]:
    """Return the derivatives of `bias_force` along q and qd, each (..., nv, nv), entry [i, k] of force i along k.

    Parameters and errors as `inverse_dynamics_derivatives`.
    """
    found = inverse_dynamics_derivatives(model, q, qd, zero_velocity(model), threads=threads)
    return found.dq, found.dqd


@quick_path(_gravity, "q")
def gravity_force_derivatives(model: Model, q: ArrayLike, *, threads: int = 1) -> Array:
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


def torque_regressor(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, threads: int = 1) -> Array:
    """Return Y with tau = Y pi: the joint forces of a motion, linear in the bodies' inertial parameters.

    Parameters
    ----------
    model : Model
        The robot. Its own inertias are not read.
    q, qd, qdd, threads
        As `inverse_dynamics`.

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
