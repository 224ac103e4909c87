"""Simulation of trees with closed loops and other constraints."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..constraints.constraint_set import ConstraintSet
from ..constraints.dynamics import constrained_forward_dynamics
from ..constraints.projection import project_to_constraints
from ..errors import InputError
from ..model.arguments import require_model
from ..model.configuration import rates
from ..model.model import Model
from .integrators import integrate_motion
from .joint_physics import JointPhysics, joint_forces
from .simulator import Control, Simulation


def simulate_constrained(
    model: Model,
    constraints: ConstraintSet,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    tau: npt.ArrayLike | Control | None = None,
    *,
    duration: float,
    step: float = 1e-3,
    joints: JointPhysics | None = None,
    f_ext: npt.ArrayLike | None = None,
    tolerance: float = 1e-12,
) -> Simulation:
    """Simulate a motion under constraints by RKMK4, each step followed by a projection onto the constraints.

    The projection is `project_to_constraints`: errors of the loops do not grow, whatever the duration, and its
    corrections are of the order of the method's error. A start that does not satisfy the constraints is projected too.

    Parameters
    ----------
    model, constraints
        The tree and what holds.
    q, qd : array-like, shape (nq,), (nv,)
        State at the start, close to closed.
    tau : array-like, shape (nv,), or callable, optional
        Joint forces [N m, N], constant, or a function of (time, q, qd) that is asked at the beginning of each step and
        held over it. Zero when left out.
    duration, step : float
        [s]; rounded to whole steps.
    joints : JointPhysics, optional
        Damping, regularised friction and stops of the joints; none when left out.
    f_ext : array-like, shape (n_bodies, 6), optional
        Wrenches (moment, force) on the bodies, constant in their frames [N m, N].
    tolerance : float
        Errors of the constraints that need no correction [m, rad].

    Raises
    ------
    InputError, GroupError
        For bad input; names the joint.
    SingularityError
        If the start is far from closed, or a step leaves it far from closed: a smaller step is expected.
    """
    require_model(model)
    if not (np.isfinite(step) and step > 0.0):
        raise InputError(f"step: a positive time is expected, got {step}", name="step", value=step)
    count = round(duration / step)
    states_q, states_qd = np.empty((count + 1, model.nq)), np.empty((count + 1, model.nv))
    accelerations, forces = np.empty((count, model.nv)), np.empty((count, model.nv))
    x, v = project_to_constraints(model, constraints, q, qd, tolerance=tolerance)
    states_q[0], states_qd[0] = x, v
    constant = np.zeros(model.nv)
    if tau is not None and not callable(tau):
        constant = np.broadcast_to(rates(tau, "tau", model), (model.nv,))
    for k in range(count):
        held = np.asarray(tau(k * step, x, v), np.float64) if callable(tau) else constant

        def acceleration(_time: float, a: Array, b: Array, held: Array = held) -> Array:
            total = held if joints is None else held + joint_forces(joints, model, a, b, held)
            return constrained_forward_dynamics(model, constraints, a, b, total, f_ext).qdd

        accelerations[k], forces[k] = acceleration(k * step, x, v), held
        end = integrate_motion(model, acceleration, x, v, step=step, steps=1)
        x, v = project_to_constraints(model, constraints, end.q[-1], end.qd[-1], tolerance=tolerance)
        states_q[k + 1], states_qd[k + 1] = x, v
    return Simulation(np.asarray(step * np.arange(count + 1)), states_q, states_qd, accelerations, forces)
