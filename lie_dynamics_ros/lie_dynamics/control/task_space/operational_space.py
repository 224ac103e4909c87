"""Control of a frame's pose: operational-space control, and a spring and a damper at the frame."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...dynamics.inverse_dynamics import mass_matrix
from ...errors import InputError
from ...model.arguments import require_model
from ...model.configuration import rates
from ...model.model import Model
from ..tracking_error import gains
from .task_state import Axes, TaskTorque, evaluate_law, six


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
    null_spring: npt.ArrayLike | None = None,
    mask: npt.ArrayLike = (True, True, True, True, True, True),
    axes: Axes = "body",
    speed: npt.ArrayLike | None = None,
    singular: float = 0.02,
    yielding: float = 0.0,
    lever: float = 0.0,
) -> TaskTorque:
    """Return torques that make a frame follow a desired pose. Khatib 1987, with the pose's error on SE(3).

    With E = T^-1 T_d = exp(e) and de = Ad_E V_d - V, the frame's twist gets the rate
    dV = Ad_E dV_d + ad_de Ad_E V_d + Kd de + J_l(e)^-T Kp e, so d/dt de = -Kd de - J_l(e)^-T Kp e as in
    `computed_torque`. The torques are J^T Lambda (dV - dJ/dt qd + J M^-1 b_0) + N^T tau_0, where what the null space is
    given, tau_0, has the bias forces b added, Lambda = (J M^-1 J^T)^-1 and N^T = 1 - J^T Lambda J M^-1.

    Near a singularity an eigenvalue x of J M^-1 J^T falls below d, the square of `singular` times the largest one
    (turning and moving are first scaled to the same mean). Below d its inverse 1 / x is replaced by
    (2 - x^2 / d^2) x / d^2, which falls to zero: in that direction the robot gives way instead of tearing at its
    joints, and the null space takes over. The torques beyond b are bounded there: tau^T M^-1 tau <= 1.04 |a|^2 / d for
    scaled accelerations a; see doc/task_space.md.

    Parameters
    ----------
    model : Model
        The robot, with joints of any kind.
    q, qd : array-like, shape (nq,), (nv,)
        Measured state, one [rad, m and rates].
    frame : str or int
        Body or frame whose pose is controlled.
    pose : array-like, shape (4, 4)
        Desired T_world_frame.
    twist, acceleration : array-like, shape (6,)
        Desired body twist V_d and its rate, angular part first, in the desired frame [rad/s, m/s and rates].
    kp, kd : array-like, shape () or (6,)
        Gains [1/s^2, 1/s], angular first; kd > 0 where `speed` is given.
    null_torque : array-like, shape (nv,), optional
        Torques of a secondary task beyond the bias forces, such as damping [N m, N].
    null_spring : array-like, shape (nv,), optional
        More of them, such as a spring to a posture, that damped directions are kept from, so that it does not pull the
        frame away, down to a tenth of `singular` [N m, N].
    mask : array-like of bool, shape (6,)
        Components of the twist, in the frame, that are controlled; the others are left to the null space.
    axes : {"body", "world"}
        Along and about which axes the gains are: of the frame, or of the world.
    speed : array-like, shape (nv,), optional
        Largest joint speeds of the motion requested [rad/s, m/s]; infinite for any. Where
        M^-1 J^T Lambda v, v = Ad_E V_d + Kd^-1 J_l(e)^-T Kp e, exceeds one, v is scaled down, as in Khatib 1987.
    singular : float
        Singular values of the task below this part of the largest are damped.
    yielding : float
        Rate of a damping of joint motion outside of the task, by as much of it as the least controlled direction is
        given up [1/s].
    lever : float
        What is given up leaves an error: the one that moves the least mass away from it, by which a light tool turns
        far to come a little nearer; or, with l > 0, the one of the least |moved|^2 + l^2 |turned|^2 [m].

    Raises
    ------
    InputError, GroupError, SingularityError
        For bad input, or a mass matrix that has no inverse; names the frame or joint.
    """
    chosen = np.asarray(mask)
    if chosen.shape != (6,) or chosen.dtype != np.bool_ or not chosen.any():
        raise InputError(f"mask: six truth values, not all False, are expected, got {mask!r}", name="mask")
    fields, _, _ = evaluate_law(
        model, (q, qd), (frame, pose, twist, acceleration), {"kp": kp, "kd": kd},
        {"null_torque": null_torque, "null_spring": null_spring, "speed": speed}, axes,
        {"singular": singular, "fastest": np.inf, "yielding": yielding, "lever": lever}, chosen,
    )  # fmt: skip
    return TaskTorque(*fields)


def stiffened(
    task: TaskTorque, pose: npt.ArrayLike, *, stiffness: npt.ArrayLike, damping_ratio: npt.ArrayLike = 1.0,
    fastest: float, kp: npt.ArrayLike, axes: Axes = "body",
) -> TaskTorque:  # fmt: skip
    """Return the torques of `operational_space`, at least as stiff as a spring in every direction.

    Where the frame is light, Lambda Kp is soft: an unknown load turns it far. With K^1/2 J M^-1 J^T K^1/2 =
    U W^2 U^T, as in `impedance`, directions with w^2 = min(W, fastest)^2 > kp get the spring and the damper besides
    that make it K w^2 / W^2 there, damped by the same ratio. Errors vanish faster there; others are as they were.

    Parameters
    ----------
    task : TaskTorque
        Of `operational_space`.
    pose : array-like, shape (4, 4)
        Desired T_world_frame.
    stiffness, damping_ratio : array-like, shape () or (6,)
        Diagonal of K, angular first, all > 0 [N m/rad, N/m], and the ratio.
    fastest : float
        Largest natural frequency [rad/s].
    kp : array-like, shape () or (6,)
        That of `task` [1/s^2].
    axes : {"body", "world"}
        Of the stiffness.
    """
    K, ratio = six(stiffness, "stiffness", np.finfo(float).tiny), float(np.max(six(damping_ratio, "damping_ratio")))
    turn = np.eye(3) if axes == "body" else np.asarray(pose, np.float64)[:3, :3]
    root = np.zeros((6, 6))
    for k in (0, 3):
        root[k : k + 3, k : k + 3] = turn.T @ (np.sqrt(K[k : k + 3])[:, None] * turn)
    mobility = task.jacobian @ task.weighted
    squares, U = np.linalg.eigh(root @ (0.5 * (mobility + mobility.T)) @ root)
    most = float(np.max(six(kp, "kp")))
    wanted = np.minimum(squares, fastest**2)
    light = wanted > most
    if not light.any():
        return task
    modes, wanted, squares = root @ U[:, light], wanted[light], squares[light]
    spring = (modes * ((wanted - most) / squares)) @ modes.T
    damper = (modes * (2.0 * ratio * (np.sqrt(wanted) - most**0.5) / squares)) @ modes.T
    force = spring @ task.error + damper @ task.velocity_error
    return replace(
        task,
        torque=task.torque + task.jacobian.T @ force,
        acceleration=task.acceleration + task.weighted @ force,
        spring=task.spring + spring,
        damper=task.damper + damper,
    )


def posture_torque(
    model: Model, q: npt.ArrayLike, qd: npt.ArrayLike, posture: npt.ArrayLike, kp: npt.ArrayLike, kd: npt.ArrayLike
) -> Array:
    """Return a secondary task: M (kp (posture - q) - kd qd) (nv,), for the null space of the laws of a frame's pose."""
    require_model(model)
    pull = gains(model, kp, "kp") * model.difference(q, posture) - gains(model, kd, "kd") * rates(qd, "qd", model)
    return np.asarray(mass_matrix(model, q) @ pull)


@dataclass(frozen=True, eq=False)
class ImpedanceTorque(TaskTorque):
    """Torques of an impedance; `spring` and `damper` are the K and D in force.

    Attributes
    ----------
    frequencies : ndarray, shape (6,)
        Natural frequencies of the stiffness requested, at this pose, rising [rad/s].
    share : float
        The least part of the stiffness requested, over all directions, that is in force: 1 unless `fastest` is met.
    """

    frequencies: Array
    share: float


def impedance(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    frame: str | int,
    pose: npt.ArrayLike,
    twist: npt.ArrayLike = (0, 0, 0, 0, 0, 0),
    acceleration: npt.ArrayLike = (0, 0, 0, 0, 0, 0),
    *,
    stiffness: npt.ArrayLike,
    damping_ratio: npt.ArrayLike = 1.0,
    null_torque: npt.ArrayLike | None = None,
    null_spring: npt.ArrayLike | None = None,
    axes: Axes = "body",
    speed: npt.ArrayLike | None = None,
    fastest: float = np.inf,
    singular: float = 0.02,
    yielding: float = 0.0,
) -> ImpedanceTorque:
    """Return torques by which a frame yields to forces like a spring and a damper. Hogan 1985; Ott 2008, chapter 3.

    With e and de as in `operational_space`, the robot at the frame is to be Lambda d/dt de + D de + J_l(e)^-T K e = -F
    under an external wrench F, with the inertia Lambda = (J M^-1 J^T)^-1 that it has there. The torques are
    b + J^T (D de + J_l(e)^-T K e) + J^T Lambda (Ad_E dV_d + ad_de Ad_E V_d - dJ/dt qd) + N^T tau_0. Springs take no
    inverse, so they need no care at singularities; Lambda and N are damped there as in `operational_space`.

    With K^1/2 J M^-1 J^T K^1/2 = U W^2 U^T, W natural frequencies, D = K^1/2 U 2 W^-1 U^T K^1/2 damps each of them
    critically, and is weighed by the square roots of the damping ratios from both sides. Frequencies beyond `fastest`
    are brought down to it, K and D alike: along U the loop then decouples into pairs kp = w^2, kd = 2 zeta w.

    Parameters
    ----------
    model, q, qd, frame, pose, twist, acceleration, null_torque, null_spring, axes, singular, yielding
        As `operational_space`; the axes are those of the stiffness and the damping ratios.
    speed : array-like, shape (nv,), optional
        Largest joint speeds of the desired motion [rad/s, m/s]: Ad_E V_d is scaled down where it takes more.
    stiffness : array-like, shape () or (6,)
        Diagonal of K, angular first, all > 0 [N m/rad, N/m].
    damping_ratio : array-like, shape () or (6,)
        Along the same axes; with ratios that differ the modes are coupled.
    fastest : float
        Largest natural frequency [rad/s]; infinite for any.

    Raises
    ------
    InputError, GroupError, SingularityError
        As `operational_space`.
    """
    fields, frequencies, share = evaluate_law(
        model, (q, qd), (frame, pose, twist, acceleration), {"stiffness": stiffness, "damping_ratio": damping_ratio},
        {"null_torque": null_torque, "null_spring": null_spring, "speed": speed}, axes,
        {"singular": singular, "fastest": fastest, "yielding": yielding, "lever": 0.0},
    )  # fmt: skip
    found: tuple[Any, ...] = *fields, np.sort(frequencies), share
    return ImpedanceTorque(*found)
