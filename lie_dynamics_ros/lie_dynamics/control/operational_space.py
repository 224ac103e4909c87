"""Operational-space control of a frame's pose, with a dynamically consistent null space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..dynamics.jacobians import jacobian, jacobian_rate
from ..dynamics.kinematics import frame_pose
from ..dynamics.mass_matrix import bias_force, mass_matrix
from ..errors import InputError
from ..lie import se3
from ..model.arguments import require_model
from ..model.model import Model
from .tracking_error import gains

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TaskTorque:
    """Torques of an operational-space task.

    Attributes
    ----------
    torque : ndarray, shape (nv,)
        What to command [N m, N].
    error : ndarray, shape (6,)
        log(T^-1 T_d), angular part first, in the actual frame [rad, m].
    velocity_error : ndarray, shape (6,)
        Ad_E V_d - V [rad/s, m/s].
    null_space : ndarray, shape (nv, nv)
        N^T with torques N^T tau that cause no acceleration of the task (but along damped directions).
    damped : int
        Number of directions of the task that are near a singularity and damped.
    """

    torque: Array
    error: Array
    velocity_error: Array
    null_space: Array
    damped: int


def operational_space(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    frame: str | int,
    pose: npt.ArrayLike,
    twist: npt.ArrayLike = (0, 0, 0, 0, 0, 0),
    acceleration: npt.ArrayLike = (0, 0, 0, 0, 0, 0),
    *,
    kp: npt.ArrayLike,
    kd: npt.ArrayLike,
    null_torque: npt.ArrayLike | None = None,
    mask: npt.ArrayLike = (True, True, True, True, True, True),
    singular: float = 0.02,
) -> TaskTorque:
    """Return torques that make a frame follow a desired pose. Khatib 1987, with the pose's error on SE(3).

    With E = T^-1 T_d = exp(e) and de = Ad_E V_d - V, the frame's twist gets the rate
    dV = Ad_E dV_d + ad_de Ad_E V_d + Kd de + J_l(e)^-T Kp e, so d/dt de = -Kd de - J_l(e)^-T Kp e as in
    `computed_torque`. The torques are J^T Lambda (dV - dJ/dt qd + J M^-1 b_0) + N^T tau_0, where what the null space is
    given, tau_0, has the bias forces b added, Lambda = (J M^-1 J^T)^-1 and N^T = 1 - J^T Lambda J M^-1.

    Near a singularity an eigenvalue x of J M^-1 J^T falls below d, the square of `singular` times the largest one
    (turning and moving are first scaled to the same mean). Below d its inverse 1 / x is replaced by
    (2 - x^2 / d^2) x / d^2, which falls to zero: in that direction the robot gives way instead of tearing at its
    joints, and the null space takes over.

    Parameters
    ----------
    model : Model
        The robot.
    q, qd : array-like, shape (nq,), (nv,)
        Measured state [rad, m and rates].
    frame : str or int
        Body or frame whose pose is controlled.
    pose : array-like, shape (4, 4)
        Desired T_world_frame.
    twist, acceleration : array-like, shape (6,)
        Desired body twist V_d and its rate, angular part first, in the desired frame [rad/s, m/s and rates].
    kp, kd : array-like, shape () or (6,)
        Gains [1/s^2, 1/s], angular first.
    null_torque : array-like, shape (nv,), optional
        Torques of a secondary task beyond the bias forces, such as damping or a spring to a posture [N m, N].
    mask : array-like of bool, shape (6,)
        Components of the twist, in the frame, that are controlled; the others are left to the null space.
    singular : float
        Singular values of the task below this part of the largest are damped.

    Raises
    ------
    InputError, GroupError
        For bad input; names the frame or joint.
    """
    chosen = np.asarray(mask)
    if chosen.shape != (6,) or chosen.dtype != np.bool_ or not chosen.any():
        raise InputError(f"mask: six truth values, not all False, are expected, got {mask!r}", name="mask")
    rate = np.asarray(qd, np.float64)
    J, dJ = jacobian(model, q, frame), jacobian_rate(model, q, qd, frame)
    E = se3.compose(se3.inverse(frame_pose(model, q, frame)), se3.check(pose, "pose"))
    e, carry = se3.log(E), se3.Ad(E)
    reference = carry @ np.asarray(twist, np.float64)
    de = reference - J @ rate
    wanted = carry @ np.asarray(acceleration, np.float64) + se3.ad(de) @ reference
    wanted = wanted + _six(kd, "kd") * de + se3.left_jacobian_inverse(e).T @ (_six(kp, "kp") * e)
    M, bias = mass_matrix(model, q), bias_force(model, q, qd)
    J, wanted = J[chosen], (wanted - dJ @ rate)[chosen]
    weighted = np.linalg.solve(M, J.T)  # M^-1 J^T
    inverse, damped = _damped_inverse(J @ weighted, np.flatnonzero(chosen) < 3, singular)
    null = np.eye(model.nv) - J.T @ inverse @ weighted.T
    secondary = np.zeros(model.nv) if null_torque is None else np.asarray(null_torque, np.float64)
    # J M^-1 (tau - b) = dV - dJ qd with tau = b + J^T Lambda (...) + N^T tau_0
    torque = bias + J.T @ (inverse @ wanted) + null @ secondary
    return TaskTorque(torque, e, de, null, damped)


def _six(value: npt.ArrayLike, name: str) -> Array:
    array = np.asarray(value, np.float64)
    if array.shape not in ((), (6,)) or not (np.isfinite(array) & (array >= 0.0)).all():
        raise InputError(f"{name}: one number or six >= 0 are expected, got {value!r}", name=name, value=value)
    return array


def _damped_inverse(matrix: Array, angular: npt.NDArray[np.bool_], singular: float) -> tuple[Array, int]:
    """Return the inverse of a positive semidefinite matrix, with small eigenvalues damped, and their number."""
    scale = np.ones(len(matrix))
    for group in (angular, ~angular):
        mean = float(np.diagonal(matrix)[group].mean()) if group.any() else 0.0
        scale[group] = np.sqrt(mean) if mean > 0.0 else 1.0
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    threshold = singular**2 * values[-1]
    small = values < threshold
    x = np.maximum(values, 0.0) / threshold if threshold > 0.0 else np.zeros_like(values)
    with np.errstate(divide="ignore"):
        inverted = np.where(small, x * (2.0 - x * x) / max(threshold, np.finfo(float).tiny), 1.0 / values)
    vectors = vectors / scale[:, None]
    return (vectors * inverted) @ vectors.T, int(small.sum())


def posture_torque(
    model: Model, q: npt.ArrayLike, qd: npt.ArrayLike, posture: npt.ArrayLike, kp: npt.ArrayLike, kd: npt.ArrayLike
) -> Array:
    """Return a secondary task: M (kp (posture - q) - kd qd) (nv,), for `null_torque` of `operational_space`."""
    require_model(model)
    pull = gains(model, kp, "kp") * model.difference(q, posture) - gains(model, kd, "kd") * np.asarray(qd, np.float64)
    return np.asarray(mass_matrix(model, q) @ pull)
