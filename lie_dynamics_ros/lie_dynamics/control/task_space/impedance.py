"""Impedance control of a frame's pose: a spring and a damper at the frame, as stiff as a sampled loop can carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...model.model import Model
from .task_state import Axes, TaskTorque, evaluate_law


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
        model, q, qd, frame, (pose, twist, acceleration), {"stiffness": stiffness, "damping_ratio": damping_ratio},
        {"null_torque": null_torque, "null_spring": null_spring}, axes, speed,
        {"singular": singular, "fastest": fastest, "yielding": yielding, "lever": 0.0},
    )  # fmt: skip
    found: tuple[Any, ...] = *fields, np.sort(frequencies), share
    return ImpedanceTorque(*found)
