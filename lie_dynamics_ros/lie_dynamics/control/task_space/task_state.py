"""What laws of a frame's pose are made of: its error on SE(3), its Jacobian, and what the robot weighs there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...dynamics.jacobians import jacobian, jacobian_rate
from ...dynamics.kinematics import frame_pose
from ...dynamics.mass_matrix import bias_force, mass_matrix
from ...errors import InputError
from ...lie import se3
from ...lie._arrays import number_of
from ...model.arguments import require_model
from ...model.model import Model
from ..kernels.pose_error import FOUND_SIZE, GIVEN_SIZE, pose_error

Array = npt.NDArray[np.float64]
Axes = Literal["body", "world"]
SHARP = 0.1
"""Part of `singular` below which springs in the null space take over: above it they do not pull the frame away."""


@dataclass(frozen=True, eq=False)
class TaskTorque:
    """Torques of a task: what a frame's pose is to do.

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
    spring_space : ndarray, shape (nv, nv)
        N_s^T, as `null_space`, with directions damped below `SHARP` of the singular values only.
    damped : int
        Number of directions of the task that are near a singularity and damped.
    spring, damper : ndarray, shape (6, 6)
        Force at the frame for an error and for its rate, angular first [N m/rad, N/m, N m s/rad, N s/m].
    jacobian : ndarray, shape (6, nv)
        Of the frame, seen from it.
    pace : float
        Part of the desired speed that is asked for, so that joints keep their speeds; 1 for all of it.
    """

    torque: Array
    error: Array
    velocity_error: Array
    null_space: Array
    spring_space: Array
    damped: int
    spring: Array
    damper: Array
    jacobian: Array
    pace: float

    @property
    def stiffness(self) -> Array:
        """J^T K J (nv, nv): what the spring does to the joints around a pose at rest [N m/rad and the like]."""
        return np.asarray(self.jacobian.T @ self.spring @ self.jacobian)

    @property
    def damping(self) -> Array:
        """J^T D J (nv, nv), as `stiffness` [N m s/rad and the like]."""
        return np.asarray(self.jacobian.T @ self.damper @ self.jacobian)


@dataclass(frozen=True, eq=False)
class TaskState:
    """A frame, how it moves, and how it is to move, all seen from the frame; angular parts first.

    Attributes
    ----------
    jacobian, weighted : ndarray, shape (6, nv), (nv, 6)
        J, and M^-1 J^T.
    twist, drift : ndarray, shape (6,)
        V = J qd and dJ/dt qd [rad/s, m/s and rates].
    bias : ndarray, shape (nv,)
        Coriolis, centrifugal and gravity forces [N m, N].
    error, velocity_error, acceleration : ndarray, shape (6,)
        e = log(T^-1 T_d), de = Ad_E V_d - V, and the rate of Ad_E V_d.
    slope : ndarray, shape (6, 6)
        J_l(e)^-1: the spring whose energy is e^T K e / 2 pulls by J_l(e)^-T K e.
    turn : ndarray, shape (3, 3)
        Rotation of the desired pose in the world.
    """

    jacobian: Array
    weighted: Array
    twist: Array
    drift: Array
    bias: Array
    error: Array
    velocity_error: Array
    acceleration: Array
    slope: Array
    turn: Array

    @property
    def mobility(self) -> Array:
        """J M^-1 J^T (6, 6), the inverse of what the robot weighs at the frame; singular where J is."""
        return np.asarray(self.jacobian @ self.weighted)

    def null_torque(self, null_space: Array, torque: npt.ArrayLike | None, name: str = "null_torque") -> Array:
        """Return N^T tau_0 (nv,) of the torques for the null space; raises InputError where these are none."""
        if torque is None:
            return np.zeros(len(self.bias))
        try:
            array = np.asarray(torque, np.float64)
        except (TypeError, ValueError):
            array = np.empty(0)
        if array.shape != self.bias.shape or not np.isfinite(array).all():
            raise InputError(f"{name}: {len(self.bias)} finite numbers are expected, got {torque!r}", name=name)
        return np.asarray(null_space @ array)


def task_state(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    frame: str | int,
    pose: npt.ArrayLike,
    twist: npt.ArrayLike,
    acceleration: npt.ArrayLike,
) -> TaskState:
    """Return the state of a task; parameters as `operational_space`.

    Raises
    ------
    InputError, GroupError
        For bad input; names the frame, the joint or the argument.
    """
    require_model(model)
    J = jacobian(model, q, frame)
    M, bias = mass_matrix(model, q), bias_force(model, q, qd)
    if J.ndim != 2 or bias.ndim != 1:
        raise InputError(f"q, qd: one state is expected, got shapes {np.shape(q)} and {np.shape(qd)}", name="q")
    rate = np.asarray(qd, np.float64)
    drift: Array = jacobian_rate(model, q, rate, frame) @ rate
    actual, desired = frame_pose(model, q, frame), se3.check(pose, "pose")
    given = np.empty(GIVEN_SIZE)
    given[:6], given[6:12] = _twist(twist, "twist"), _twist(acceleration, "acceleration")
    given[12:] = J @ rate
    found, slope = np.empty(FOUND_SIZE), np.empty((6, 6))
    if desired.ndim != 2 or pose_error(np.ascontiguousarray(actual), np.array(desired), given, found, slope) != 0:
        raise InputError("pose, twist, acceleration: one finite motion is expected", name="pose", value=pose)
    weighted = np.asarray(np.linalg.solve(M, J.T), np.float64)
    return TaskState(J, weighted, given[12:], drift, bias, found[:6], found[6:12], found[12:], slope, desired[:3, :3])


def _twist(value: npt.ArrayLike, name: str) -> Array:
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (6,) or not np.isfinite(array).all():
        raise InputError(f"{name}: six finite numbers are expected, got {value!r}", name=name, value=value)
    return array


def pace_of(rates: Array, speed: npt.ArrayLike | None) -> float:
    """Return by which factor <= 1 joint rates (nv,) keep speeds (nv,); raises InputError where these are none."""
    if speed is None:
        return 1.0
    try:
        limits = np.asarray(speed, np.float64)
    except (TypeError, ValueError):
        limits = np.empty(0)
    if limits.shape != rates.shape or not (limits > 0.0).all():
        raise InputError(f"speed: {len(rates)} numbers > 0 are expected, got {speed!r}", name="speed", value=speed)
    return float(np.min(limits / np.maximum(np.abs(rates), 1e-300), initial=1.0))


def six(value: npt.ArrayLike, name: str, least: float = 0.0) -> Array:
    """Return six numbers from one or six; raises InputError for one below `least`."""
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape not in ((), (6,)) or not (array.min() >= least and array.max() < np.inf):
        raise InputError(f"{name}: one number or six >= {least:g} are expected, got {value!r}", name=name, value=value)
    return array if array.ndim else np.full(6, array)


def along(axes: str, values: Array, turn: Array) -> Array:
    """Return the matrix (6, 6), seen from the frame, of numbers along and about axes of the frame or of the world."""
    if axes == "body":
        return np.diag(values)
    if axes != "world":
        raise InputError(f"axes: 'body' or 'world' is expected, got {axes!r}", name="axes", value=axes)
    matrix = np.zeros((6, 6))
    for part in (slice(0, 3), slice(3, 6)):
        matrix[part, part] = (turn.T * values[part]) @ turn
    return matrix


def damped_inverse(matrix: Array, angular: npt.NDArray[np.bool_], singular: float) -> tuple[Array, Array, int]:
    """Return the inverse of a positive semidefinite matrix, with small eigenvalues damped: how many, it tells last.

    The second one is that for `SHARP` times `singular`.

    Of eigenvalues x, after turning and moving were scaled to the same mean: below d, the square of `singular` times the
    largest one, 1 / x is replaced by (2 - x^2 / d^2) x / d^2, which with its slope fits at d, and falls to zero.
    """
    number_of("singular", singular, "a number from 0 to 1", lambda x: 0.0 <= x <= 1.0)
    size = np.diagonal(matrix)
    turning = float(size @ angular) / max(1, int(angular.sum()))
    moving = float(size @ ~angular) / max(1, int((~angular).sum()))
    scale = np.where(angular, np.sqrt(turning) or 1.0, np.sqrt(moving) or 1.0)
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    vectors = vectors / scale[:, None]

    def inverse(threshold: float) -> Array:
        x = np.maximum(values, 0.0) / threshold if threshold > 0.0 else np.zeros_like(values)
        with np.errstate(divide="ignore"):
            small = x * (2.0 - x * x) / max(threshold, np.finfo(float).tiny)
            return np.asarray((vectors * np.where(values < threshold, small, 1.0 / values)) @ vectors.T)

    threshold = singular**2 * values[-1]
    damped = int((values < threshold).sum())
    first = inverse(threshold)
    return first, inverse(SHARP**2 * threshold) if damped else first, damped
