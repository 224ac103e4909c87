"""Passivity-based control after Slotine and Li."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.inputs import Algorithm
from ..dynamics.inverse_dynamics import coriolis_product, inverse_dynamics
from ..dynamics.losses import joint_losses
from ..errors import InputError
from ..model import layout
from ..model.arguments import require_model
from ..model.configuration import rates
from ..model.model import Model
from .kernels.laws import DONE, sliding_motion
from .kernels.slotine_li import slotine_li_regressor as _single
from .tracking_error import gains, position_rate, tracking_error


@dataclass(frozen=True, eq=False)
class SlidingReference:
    """The reference motion of Slotine and Li, all (..., nv).

    Attributes
    ----------
    velocity : ndarray
        v_r = Ad_E qd_d + Lambda e.
    acceleration : ndarray
        Its rate.
    sliding : ndarray
        s = qd - v_r; where it is zero, e decays by de/dt = -Lambda e on every joint, balls included.
    """

    velocity: Array
    acceleration: Array
    sliding: Array


def sliding_reference(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    desired_q: npt.ArrayLike,
    desired_qd: npt.ArrayLike,
    desired_qdd: npt.ArrayLike,
    rate: npt.ArrayLike,
) -> SlidingReference:
    """Return the reference motion for a tracking task.

    `rate` is Lambda [1/s], one number or (nv,), the same for all coordinates of a ball or free joint: e is then an
    eigenvector of the Jacobians of exp, and the error shrinks along itself. Other parameters as `tracking_error`.
    """
    require_model(model)
    if model.nq == model.nv:
        n = model.nv
        out = SlidingReference(np.empty(n), np.empty(n), np.empty(n))
        try:
            motion = out.velocity, out.acceleration, out.sliding
            if sliding_motion(q, qd, desired_q, desired_qd, desired_qdd, rate, *motion) == DONE:
                return out
        except TypeError:
            pass
    shrink = gains(model, rate, "rate", one_per_joint=True)
    error = tracking_error(model, q, qd, desired_q, desired_qd, desired_qdd)
    velocity = error.reference_velocity + shrink * error.position
    acceleration = error.reference_acceleration + shrink * position_rate(model, error)
    return SlidingReference(velocity, acceleration, rates(qd, "qd", model) - velocity)


def slotine_li_force(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    reference_velocity: npt.ArrayLike,
    reference_acceleration: npt.ArrayLike,
    method: Literal["christoffel", "ploen"] = "christoffel",
) -> Array:
    """Return M a_r + C(q, qd) v_r + g (..., nv) in O(n), plus the losses that the model includes.

    Either C makes dM/dt - 2 C skew, as the proof of `passivity_based` requires.
    """
    require_model(model)
    force = inverse_dynamics(model, q, model.zero_velocity, reference_acceleration)
    force = force + coriolis_product(model, q, qd, reference_velocity, method)
    return force if model.actuation_terms is None else np.asarray(force + joint_losses(model, q, qd))


def passivity_based(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    desired_q: npt.ArrayLike,
    desired_qd: npt.ArrayLike,
    desired_qdd: npt.ArrayLike,
    rate: npt.ArrayLike,
    kd: npt.ArrayLike,
    method: Literal["christoffel", "ploen"] = "christoffel",
) -> Array:
    """Return torques tau = M a_r + C(q, qd) v_r + g - Kd s (..., nv). Slotine and Li 1987.

    The closed loop is M ds/dt + C s = -Kd s. With V = s^T M s / 2 and dM/dt - 2 C skew, dV/dt = -s^T Kd s: no
    cancellation of C qd is needed, and errors of the model enter as bounded disturbances.

    Parameters
    ----------
    model, q, qd, desired_q, desired_qd, desired_qdd
        As `computed_torque`.
    rate : array-like, shape () or (nv,)
        Lambda [1/s], see `sliding_reference`.
    kd : array-like, shape () or (nv,)
        Damping of s [N m s/rad, N s/m].
    method : {"christoffel", "ploen"}
        Which Coriolis matrix.

    Raises
    ------
    InputError, GroupError
        For bad input or gains; names the joint.
    """
    require_model(model)
    r = sliding_reference(model, q, qd, desired_q, desired_qd, desired_qdd, rate)
    force = slotine_li_force(model, q, qd, r.velocity, r.acceleration, method)
    return np.asarray(force - gains(model, kd, "kd") * r.sliding)


def armature(model: Model) -> Array:
    """Return the rotor inertias (nv,) that the model includes: part of M, but not of any body's parameters."""
    return np.asarray(model.rows[1:, layout.ARMATURE])


def slotine_li_regressor(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    reference_velocity: npt.ArrayLike,
    reference_acceleration: npt.ArrayLike,
) -> Array:
    """Return Y with M a_r + C(q, qd) v_r + g = Y pi, for the C of Christoffel's symbols (dM/dt - 2 C is skew).

    Parameters
    ----------
    model : Model
        The robot; its inertias do not matter, its armature and losses are no part of pi.
    q : array-like, shape (..., nq)
        Configuration [rad, m].
    qd, reference_velocity, reference_acceleration : array-like, shape (..., nv)
        Rates of the coordinates, and the reference motion [rad/s, m/s and rad/s^2, m/s^2].

    Returns
    -------
    ndarray, shape (..., nv, 10 n_bodies)
        Y; columns in the order of `SpatialInertia.parameters` of each body, body after body. With the actual motion as
        reference it is `torque_regressor`.

    Raises
    ------
    InputError, GroupError
        For bad input; names the joint. InputError for coupled mimic joints, which have no bodies of their own.
    """
    require_model(model)
    if model.plain:
        out = np.empty((model.nv, 10 * model.n_bodies))
        if _single(model.table, q, qd, reference_velocity, reference_acceleration, out) == layout.OK:
            return out
    if model.coupling is not None:
        raise InputError(f"model {model.name!r}: independent joints are expected, mimic joints are coupled")
    references = {"reference_velocity": reference_velocity, "reference_acceleration": reference_acceleration}
    return _REGRESSOR.evaluate(model, {"q": q, "qd": qd, **references})[0]


def _batch(rows: Array, q: Array, qd: Array, v: Array, _f_ext: Array, a: Array, _given: Any, y: Array, _z: Any) -> int:
    """Write Y of each state and return the worst status."""
    shape = (qd.shape[1], y.shape[1] // max(qd.shape[1], 1))
    aligned = (np.require(x, requirements=("C", "A")) for x in (q, qd, v, a))  # the kernel takes no others
    states = zip(*aligned, y, strict=True)
    return max((_single(rows, *state, out.reshape(shape)) for *state, out in states), default=layout.OK)


_REGRESSOR = Algorithm(_batch, "n 10b")
