"""Kim Table 4, recursive hybrid dynamics, line by line: at each joint either the acceleration or the force is given."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..model.model import Model
from .kim_bodies import Run, joints_in_u, of_size, robot_at
from .kim_table_3 import accelerate, articulate, eliminate, velocities


def hybrid_dynamics(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    tau: npt.ArrayLike,
    prescribed: npt.ArrayLike,
    f_ext: npt.ArrayLike | None = None,
) -> Run:
    """Return the run of Table 4, with complete `.qdd` and `.tau` (nv,).

    Parameters
    ----------
    model, q, qd, f_ext
        As `kim_table_2.inverse_dynamics`.
    qdd, tau : array-like, shape (nv,)
        Read where they are given only.
    prescribed : array-like of bool, shape (nv,)
        True where the acceleration is given (i in u); the same for all coordinates of a joint.

    Raises
    ------
    InputError
        If the mask splits a joint; and as `kim_table_2.inverse_dynamics`.
    """
    robot, given = robot_at(model, q, qd, f_ext), joints_in_u(model, prescribed)
    mask = np.asarray(prescribed)
    accelerations = np.where(mask, of_size(qdd, model.nv, "qdd"), 0.0)
    forces = np.where(mask, 0.0, of_size(tau, model.nv, "tau"))
    run = Run(robot, accelerations, forces, given)
    velocities(run)
    for i in reversed(range(model.n_bodies)):  # backward recursion
        b = robot.bodies[i]
        articulate(run, i)
        if given[i]:
            run.Pi[i] = run.I_hat[i]
            run.beta[i] = run.B_hat[i] + run.I_hat[i] @ (run.eta[i] + b.S @ run.qdd[b.at])  # (52)
        else:
            eliminate(run, i)
    for i, b in enumerate(robot.bodies):  # forward recursion
        if not given[i]:
            accelerate(run, i)
        run.dV[i] = run.X[i] @ run.dV[b.parent] + b.S @ run.qdd[b.at] + run.eta[i]
        run.F[i] = run.I_hat[i] @ run.dV[i] + run.B_hat[i]
        if given[i]:
            run.tau[b.at] = b.S.T @ run.F[i]
    return run
