"""Tracking errors on the configuration manifold."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..constraints.tracking.motor_dynamics import MotorDynamics
from ..errors import InputError
from ..lie import se3, so3
from ..model.configuration import rates
from ..model.structure import Joint
from .robots import Robot, require_robot


@dataclass(frozen=True, eq=False)
class TrackingError:
    """Difference of a motion from the desired one, all (..., nv), in the tangent space at the actual configuration.

    For a ball or free joint, with the desired pose seen from the actual one E = T^-1 T_d = exp(e), a desired twist is
    carried to the actual frame by Ad_E. On axis joints all this is plain subtraction.

    Attributes
    ----------
    position : ndarray
        e, ``model.difference(q, q_d)``.
    velocity : ndarray
        de = Ad_E qd_d - qd, with dE/dt = hat(de) E; so the rate of e is J_l(e)^-1 de.
    reference_velocity, reference_acceleration : ndarray
        Ad_E qd_d and its rate Ad_E qdd_d + ad_de Ad_E qd_d: the desired motion as seen from the actual frame.
    """

    position: Array
    velocity: Array
    reference_velocity: Array
    reference_acceleration: Array


def tracking_error(
    model: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    desired_q: npt.ArrayLike,
    desired_qd: npt.ArrayLike,
    desired_qdd: npt.ArrayLike,
) -> TrackingError:
    """Return how the state (q, qd) differs from a desired motion.

    Parameters
    ----------
    model : Model or MotorDynamics
        The robot.
    q, qd : array-like, shape (..., nq), (..., nv)
        Actual state [rad, m and rates].
    desired_q, desired_qd, desired_qdd : array-like, shape (..., nq), (..., nv), (..., nv)
        Desired motion.

    Raises
    ------
    InputError
        For a wrong shape, NaN or infinity; names the joint.
    """
    require_robot(model)
    rate, wanted = rates(qd, "qd", model), rates(desired_qd, "desired_qd", model)
    acceleration = rates(desired_qdd, "desired_qdd", model)
    if model.nq == model.nv:
        position = _plain_difference(model, q, desired_q)
        return TrackingError(position, wanted - rate, wanted, acceleration)
    position = model.difference(q, desired_q)
    shape = np.broadcast_shapes(position.shape, rate.shape, wanted.shape, acceleration.shape)
    wanted, acceleration = (np.array(np.broadcast_to(x, shape)) for x in (wanted, acceleration))
    velocity = wanted - rate
    for joint in _manifold_joints(model):
        at, e = joint.v_slice, position[..., joint.v_slice]
        spherical = joint.kind == "spherical"
        E, bracket = (so3.exp(e), so3.hat) if spherical else (se3.Ad(se3.exp(e)), se3.ad)
        wanted[..., at] = _apply(E, wanted[..., at])
        velocity[..., at] = wanted[..., at] - rate[..., at]
        acceleration[..., at] = _apply(E, acceleration[..., at]) + _apply(bracket(velocity[..., at]), wanted[..., at])
    return TrackingError(position, velocity, wanted, acceleration)


def _plain_difference(model: Robot, q: npt.ArrayLike, desired: npt.ArrayLike) -> Array:
    """Return desired - q; what is not plainly two finite states takes the way that finds out why."""
    if isinstance(q, np.ndarray) and isinstance(desired, np.ndarray) and q.shape == desired.shape == (model.nv,):
        position: Array = desired - q
        if math.isfinite(sum(position.tolist())):
            return position
    return model.difference(q, desired)


def gradient(model: Robot, position: Array, gain: Array) -> Array:
    """Return J_l(e)^-T K e (..., nv), the slope of e^T K e / 2 along de, for a diagonal gain K.

    Its power de . (J_l^-T K e) is the rate of that function, which makes it the restoring force of a spring; with one
    gain for a whole ball joint it is K e.
    """
    require_robot(model)
    force: Array = gain * position
    for joint in _manifold_joints(model):
        at = joint.v_slice
        force[..., at] = _apply(np.swapaxes(_slope(joint, position), -1, -2), force[..., at])
    return force


def position_rate(model: Robot, error: TrackingError) -> Array:
    """Return de/dt = J_l(e)^-1 de (..., nv) of the position error."""
    require_robot(model)
    rate = np.array(error.velocity)
    for joint in _manifold_joints(model):
        at = joint.v_slice
        rate[..., at] = _apply(_slope(joint, error.position), rate[..., at])
    return rate


def gains(model: Robot, value: npt.ArrayLike, name: str, one_per_joint: bool = False) -> Array:
    """Return gains as an array (nv,), from one number or one for each coordinate; none may be negative.

    Raises
    ------
    InputError
        For anything else, or if `one_per_joint` is requested and a ball or free joint has several.
    """
    try:
        array = np.array(np.broadcast_to(np.asarray(value, np.float64), (model.nv,)))
    except (TypeError, ValueError):
        raise InputError(f"{name}: one number or {model.nv} are expected, got {value!r}", name=name) from None
    if not (np.isfinite(array) & (array >= 0.0)).all():
        raise InputError(f"{name}: finite numbers >= 0 are expected, got {array.tolist()}", name=name, value=array)
    if one_per_joint:
        for joint in _manifold_joints(model):
            part = array[joint.v_slice]
            if (part != part[0]).any():
                raise InputError(
                    f"{name}: one number for all coordinates of joint {joint.name!r} is expected, got {part.tolist()}",
                    name=joint.name,
                    value=part,
                )
    return array


def _manifold_joints(model: Robot) -> list[Joint]:
    if isinstance(model, MotorDynamics) or model.nq == model.nv:
        return []
    return [joint for joint in model.joints if joint.kind in ("spherical", "free")]


def _slope(joint: Joint, position: Array) -> Array:
    e = position[..., joint.v_slice]
    return so3.left_jacobian_inverse(e) if joint.kind == "spherical" else se3.left_jacobian_inverse(e)


def _apply(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[..., None])[..., 0])
