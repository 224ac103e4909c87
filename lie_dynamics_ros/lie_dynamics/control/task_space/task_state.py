"""Inputs and results of control laws for the pose of a frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...dynamics.inverse_dynamics import bias_force, mass_matrix
from ...dynamics.kinematics import frame_pose, jacobian_and_rate
from ...errors import InputError, SingularityError
from ...lie import se3
from ...lie._arrays import number_of
from ...model.arguments import require_model
from ...model.layout import OK
from ...model.model import Model
from ..kernels import task_law as law
from ..kernels.pose_error import GIVEN_SIZE, pose_error

Axes = Literal["body", "world"]
#: Part of `singular` below which springs in the null space take over: above it they do not pull the frame away.
SHARP = 0.1
SLOWEST = 1e-3  # natural frequencies below this part of the largest one are damped as if they were this part of it
_ONE, _ALL = np.eye(3), np.ones(6)


@dataclass(frozen=True, eq=False)
class TaskTorque:
    """Torques of a task: what a frame's pose is to do.

    Attributes
    ----------
    torque, acceleration : ndarray, shape (nv,)
        What to command [N m, N], and how the joints accelerate by that [rad/s^2, m/s^2].
    task_rate, task_acceleration : ndarray, shape (nv,)
        Joint motion that moves the frame as desired, without feedback: M^-1 J^T Lambda times the desired twist, and
        times its rate less dJ/dt qd [rad/s, m/s and rates].
    pull : ndarray, shape (nv,)
        What the spring of the null space has of the acceleration [rad/s^2, m/s^2].
    error : ndarray, shape (6,)
        log(T^-1 T_d), angular part first, in the actual frame [rad, m].
    velocity_error : ndarray, shape (6,)
        Ad_E V_d - V [rad/s, m/s].
    jacobian, weighted : ndarray, shape (6, nv), (nv, 6)
        J of the frame, seen from it, and M^-1 J^T of the components that are controlled.
    mass : ndarray, shape (nv, nv)
        M.
    inverse, sharp : ndarray, shape (6, 6)
        Lambda, damped, and as damped below `SHARP` of the singular values only.
    spring, damper : ndarray, shape (6, 6)
        Force at the frame for an error and for its rate, angular first [N m/rad, N/m, N m s/rad, N s/m].
    pace : float
        Part of the desired speed that is requested, so that joints keep their speeds; 1 for all of it.
    damped : int
        Number of directions of the task that are near a singularity and damped.
    given_up : float
        Part of the least controlled direction that is given up to the null space, 0 to 1.
    """

    torque: Array
    acceleration: Array
    task_rate: Array
    task_acceleration: Array
    pull: Array
    error: Array
    velocity_error: Array
    jacobian: Array
    weighted: Array
    mass: Array
    inverse: Array
    sharp: Array
    spring: Array
    damper: Array
    pace: float
    damped: int
    given_up: float

    @property
    def null_space(self) -> Array:
        """N^T (nv, nv), with torques N^T tau that cause no acceleration of the task (but along damped directions)."""
        return self._free(self.inverse)

    @property
    def spring_space(self) -> Array:
        """As `null_space`, with directions damped below `SHARP` of the singular values only."""
        return self._free(self.sharp)

    def _free(self, inverse: Array) -> Array:
        return np.asarray(np.eye(len(self.torque)) - self.jacobian.T @ inverse @ self.weighted.T)

    @property
    def stiffness(self) -> Array:
        """J^T K J (nv, nv): what the spring does to the joints around a pose at rest [N m/rad and the like]."""
        return np.asarray(self.jacobian.T @ self.spring @ self.jacobian)

    @property
    def damping(self) -> Array:
        """J^T D J (nv, nv), as `stiffness` [N m s/rad and the like]."""
        return np.asarray(self.jacobian.T @ self.damper @ self.jacobian)


def evaluate_law(
    model: Model,
    state: tuple[npt.ArrayLike, npt.ArrayLike],
    task: tuple[str | int, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
    gains: dict[str, npt.ArrayLike],
    joints: dict[str, npt.ArrayLike | None],
    axes: str,
    numbers: dict[str, float],
    chosen: npt.NDArray[Any] = _ALL,
) -> tuple[tuple[Any, ...], Array, float]:
    """Evaluate a law of a frame's pose at one state.

    The state is q and qd, the task a frame, and the pose, twist and acceleration desired of it. Gains are two arguments
    of six numbers, kp and kd, or stiffness and damping ratio, which make the law an impedance; `joints` has
    `null_torque`, `null_spring` and `speed`, `numbers` `singular`, `yielding`, `lever` and `fastest`; components
    `chosen` (6,) are controlled. Return fields of `TaskTorque`, natural frequencies (6,) and `share` of an impedance.
    Errors as `operational_space`, which name the frame, the joint or the argument.
    """
    require_model(model)
    (q, qd), (frame, pose, twist, acceleration), speed = state, task, joints["speed"]
    J, bias = jacobian_and_rate(model, q, qd, frame), bias_force(model, q, qd)
    if J.ndim != 2 or bias.ndim != 1:
        raise InputError(f"q, qd: one state is expected, got shapes {np.shape(q)} and {np.shape(qd)}", name="q")
    M, n, rate, elastic = mass_matrix(model, q), len(bias), np.asarray(qd, np.float64), "stiffness" in gains
    by_joint, vectors, masses = np.empty((law.JOINT_ROWS, n)), np.empty((law.VECTOR_ROWS, 6)), np.empty((2, n, n))
    masses[:] = M
    squares, weighted = np.empty((law.SQUARES, 6, 6)), np.empty((n, 6))
    by_joint[law.BIAS], by_joint[law.RATE] = bias, rate
    for row, name, least in _BY_JOINT:
        value = joints[name]
        by_joint[row] = least if value is None else _array(value, (n,), name)
    for row, (name, value) in zip((law.FIRST, law.SECOND), gains.items(), strict=True):
        vectors[row] = _array(value, (6,), name)
    vectors[law.TWIST], vectors[law.CHOSEN] = J[:6] @ rate, chosen
    given, desired = np.empty(GIVEN_SIZE), _array(pose, (4, 4), "pose")
    given[:6], given[6:12] = _array(twist, (6,), "twist"), _array(acceleration, (6,), "acceleration")
    given[12:] = vectors[law.TWIST]
    if axes not in ("body", "world"):
        raise InputError(f"axes: 'body' or 'world' is expected, got {axes!r}", name="axes", value=axes)
    found = vectors[: law.TWIST].reshape(-1)
    if pose_error(frame_pose(model, q, frame), desired, given, found, squares[law.SLOPE]) != OK:
        se3.check(pose, "pose")
        raise InputError("pose, twist, acceleration: one finite motion is expected", name="pose", value=pose)
    turn = _ONE if axes == "body" else np.ascontiguousarray(desired[:3, :3])
    told = np.zeros(law.NUMBERS)
    told[: law.PACE] = elastic, 0.0, SHARP, 0.0, SLOWEST, speed is not None, 0.0, 0.0
    for at, (name, (expected, good)) in zip(_GIVEN, _NUMBERS.items(), strict=True):
        value = numbers[name]
        told[at] = value if type(value) is float and good(value) else number_of(name, value, expected, good)
    status = law.task_law(J, masses, weighted, vectors, squares, by_joint, turn, told)
    if status != OK:
        _refuse(status, model, gains, speed)
    pace, share, damped, given_up = told[law.PACE :].tolist()
    fields = (
        by_joint[law.TORQUE], by_joint[law.ACCELERATION], by_joint[law.TASK_RATE], by_joint[law.TASK_ACCELERATION],
        by_joint[law.PULL], vectors[law.ERROR], vectors[law.VELOCITY_ERROR], J[:6], weighted, M, squares[law.INVERSE],
        squares[law.SHARP], squares[law.SPRING], squares[law.DAMPER], pace, int(damped), given_up,
    )  # fmt: skip
    return fields, vectors[law.FREQUENCIES], share


_NUMBERS: dict[str, tuple[str, Callable[[float], bool]]] = {
    "singular": ("a number from 0 to 1", lambda x: 0.0 <= x <= 1.0),
    "fastest": ("a number > 0", lambda x: x > 0.0),
    "yielding": ("a number >= 0", lambda x: 0.0 <= x < np.inf),
    "lever": ("a number >= 0", lambda x: 0.0 <= x < np.inf),
}
_BY_JOINT = (law.NULL_TORQUE, "null_torque", 0.0), (law.NULL_SPRING, "null_spring", 0.0), (law.SPEED, "speed", np.inf)
_GIVEN = law.SINGULAR, law.FASTEST, law.YIELDING, law.LEVER


def _array(value: npt.ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    """Return what may be written to an array of a shape: one of that shape, or of gains one number."""
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != shape and not (array.ndim == 0 and name in _GAINS):
        text = f"{name}: shape {shape} is expected, got {value!r}"
        raise InputError(text, name=name, value=value, expected=f"shape {shape}")
    return array


_GAINS = ("kp", "kd", "stiffness", "damping_ratio")


def _refuse(status: int, model: Model, gains: dict[str, npt.ArrayLike], speed: npt.ArrayLike | None) -> None:
    """Raise what a status of the kernel stands for."""
    if status == law.SINGULAR_MASS:
        raise SingularityError(f"model {model.name!r}: the mass matrix has no inverse at q", name="q")
    if status == law.BAD_NUMBER:
        positive = "stiffness" in gains, "kd" in gains and speed is not None
        for (name, value), more in zip(gains.items(), positive, strict=True):
            six(value, name, np.finfo(float).tiny if more else 0.0)
        raise InputError(f"speed: numbers > 0 are expected, got {speed!r}", name="speed", value=speed)
    raise InputError("q, qd, null_torque, null_spring: they lead to torques that are not finite", name="null_torque")


def six(value: npt.ArrayLike, name: str, least: float = 0.0) -> Array:
    """Return six numbers from one or six; raises InputError for one below `least`."""
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape not in ((), (6,)) or not (array.min() >= least and array.max() < np.inf):
        raise InputError(f"{name}: one number or six >= {least:g} are expected, got {value!r}", name=name, value=value)
    return array if array.ndim else np.full(6, array)
