"""Impedance control of a frame's pose: a spring and a damper at the frame, as stiff as a sampled loop can carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...lie._arrays import number_of
from ...model.model import Model
from .task_state import Array, Axes, TaskTorque, along, damped_inverse, pace_of, six, task_state

TURNING = np.arange(6) < 3
SLOWEST = 1e-3
"""Natural frequencies below this part of the largest one are damped as if they were this part of it."""


@dataclass(frozen=True, eq=False)
class ImpedanceTorque(TaskTorque):
    """Torques of an impedance; `spring` and `damper` are the K and D in force.

    Attributes
    ----------
    frequencies : ndarray, shape (6,)
        Natural frequencies of the stiffness asked for, at this pose, rising [rad/s].
    share : float
        The least part of the stiffness asked for, over all directions, that is in force: 1 unless `fastest` is met.
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
    model, q, qd, frame, pose, twist, acceleration, null_torque, null_spring, axes, singular
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
    InputError, GroupError
        For bad input; names the frame, the joint or the argument.
    """
    number_of("fastest", fastest, "a number > 0", lambda x: x > 0.0)
    state = task_state(model, q, qd, frame, pose, twist, acceleration)
    wanted = six(stiffness, "stiffness", np.finfo(float).tiny)
    root = along(axes, np.sqrt(wanted), state.turn)
    values, vectors = np.linalg.eigh(root @ state.mobility @ root)
    frequencies = np.sqrt(np.maximum(values, 0.0))
    slow = np.maximum(frequencies, max(SLOWEST * frequencies[-1], np.finfo(float).tiny))
    part = np.minimum(1.0, fastest / slow)
    modes = root @ vectors
    spring = (modes * part**2) @ modes.T
    weight = along(axes, np.sqrt(six(damping_ratio, "damping_ratio")), state.turn)
    weighed = weight @ modes
    damper = (weighed * (2.0 * part / slow)) @ weighed.T
    inverse, sharp, damped = damped_inverse(state.mobility, TURNING, singular)
    J = state.jacobian
    lifted = J.T @ inverse
    null = np.eye(model.nv) - lifted @ state.weighted.T
    springs = np.eye(model.nv) - J.T @ sharp @ state.weighted.T if damped else null
    reference = state.velocity_error + state.twist
    pace = pace_of(state.weighted @ (inverse @ reference), speed)
    force = damper @ (pace * reference - state.twist) + state.slope.T @ (spring @ state.error)
    torque = state.bias + J.T @ force + lifted @ (state.acceleration - state.drift)
    torque = torque + state.null_torque(null, null_torque) + state.null_torque(springs, null_spring, "null_spring")
    return ImpedanceTorque(
        torque, state.error, state.velocity_error, null, springs, damped, spring, damper, J, pace,
        frequencies, float(part.min() ** 2),
    )  # fmt: skip
