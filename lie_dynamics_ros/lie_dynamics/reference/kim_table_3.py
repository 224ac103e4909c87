"""Kim Table 3, recursive forward dynamics with articulated inertias, line by line.

I_hat and B_hat are the articulated inertia and bias force that make F_i = I_hat_i dV_i + B_hat_i (43).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..lie.se3 import ad, ad_dual
from ..model.model import Model
from .kim_bodies import Run, of_size, robot_at


def forward_dynamics(
    model: Model, q: npt.ArrayLike, qd: npt.ArrayLike, tau: npt.ArrayLike, f_ext: npt.ArrayLike | None = None
) -> Run:
    """Return the run of Table 3 that turns joint forces `tau` (nv,) into accelerations, `.qdd` (nv,).

    The other parameters and the errors are those of `kim_table_2.inverse_dynamics`; numpy's LinAlgError for a joint
    that moves no inertia.
    """
    robot = robot_at(model, q, qd, f_ext)
    run = Run(robot, np.zeros(model.nv), of_size(tau, model.nv, "tau"), (False,) * model.n_bodies)
    velocities(run)
    for i in reversed(range(model.n_bodies)):  # backward recursion
        articulate(run, i)
        eliminate(run, i)
    for i, b in enumerate(robot.bodies):  # forward recursion
        accelerate(run, i)
        run.dV[i] = run.X[i] @ run.dV[b.parent] + b.S @ run.qdd[b.at] + run.eta[i]
        run.F[i] = run.I_hat[i] @ run.dV[i] + run.B_hat[i]
    return run


def velocities(run: Run) -> None:
    """Fill V_i and eta_i from the base outwards."""
    for i, b in enumerate(run.robot.bodies):
        qd = run.robot.qd[b.at]
        run.V[i] = run.X[i] @ run.V[b.parent] + b.S @ qd
        run.eta[i] = ad(run.V[i]) @ b.S @ qd + b.S_rate @ qd


def articulate(run: Run, i: int) -> None:
    """Fill I_hat_i and B_hat_i, once Pi_k and beta_k of the children are known. (49), (50)."""
    b, X, V = run.robot.bodies[i], run.X, run.V[i]
    children = run.robot.mu(i)
    run.I_hat[i] = b.inertia + sum(X[k].T @ run.Pi[k] @ X[k] for k in children)
    run.B_hat[i] = -ad_dual(V) @ b.inertia @ V - b.F_ext + sum(X[k].T @ run.beta[k] for k in children)


def eliminate(run: Run, i: int) -> None:
    """Fill Psi_i, Pi_i and beta_i of a joint whose force is given: its acceleration is eliminated by (45)."""
    b, H, B, eta = run.robot.bodies[i], run.I_hat[i], run.B_hat[i], run.eta[i]
    S, tau = b.S, run.tau[b.at]
    Psi = run.Psi[i] = np.linalg.inv(S.T @ H @ S)
    run.Pi[i] = H - H @ S @ Psi @ S.T @ H
    run.beta[i] = B + H @ (eta + S @ Psi @ (tau - S.T @ (H @ eta + B)))


def accelerate(run: Run, i: int) -> None:
    """Fill qdd_i, once dV of the parent is known. (45)."""
    b, H = run.robot.bodies[i], run.I_hat[i]
    carried = run.X[i] @ run.dV[b.parent] + run.eta[i]
    run.qdd[b.at] = run.Psi[i] @ (run.tau[b.at] - b.S.T @ H @ carried - b.S.T @ run.B_hat[i])
