"""Kim Tables 2, 3 and 4, recursive inverse, forward and hybrid dynamics, line by line.

In Tables 3 and 4 I_hat and B_hat are the articulated inertia and bias force with F_i = I_hat_i dV_i + B_hat_i (43).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..lie.se3 import ad, ad_dual
from ..model.model import Model
from .kim_bodies import Run, joints_in_u, of_size, robot_at


def inverse_dynamics(
    model: Model, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike, f_ext: npt.ArrayLike | None = None
) -> Run:
    """Return the run of Table 2 that turns accelerations into joint forces, `.tau` (nv,).

    Parameters
    ----------
    model : Model
        A tree of rigid bodies; joints of any kind.
    q, qd, qdd : array-like, shape (nq,), (nv,), (nv,)
        Motion [rad, m and rates].
    f_ext : array-like, shape (n_bodies, 6), optional
        Wrenches of the environment on the bodies, in their frames [N m, N].

    Raises
    ------
    DescriptionError, InputError, GroupError
        As `kim_bodies.robot_at`.
    """
    robot = robot_at(model, q, qd, f_ext)
    run = Run(robot, of_size(qdd, model.nv, "qdd"), np.zeros(model.nv), (True,) * model.n_bodies)
    X, V, dV, F = run.X, run.V, run.dV, run.F

    for i, b in enumerate(robot.bodies):  # forward recursion
        own = b.S @ robot.qd[b.at]
        V[i] = X[i] @ V[b.parent] + own  # (37)
        dV[i] = X[i] @ dV[b.parent] + ad(V[i]) @ own + b.S_rate @ robot.qd[b.at] + b.S @ run.qdd[b.at]  # (41)

    for i in reversed(range(model.n_bodies)):  # backward recursion
        b = robot.bodies[i]
        F[i] = b.inertia @ dV[i] - ad_dual(V[i]) @ b.inertia @ V[i] - b.F_ext  # (42)
        F[i] = F[i] + sum(X[k].T @ F[k] for k in robot.mu(i))
        run.tau[b.at] = b.S.T @ F[i]
    return run


def forward_dynamics(
    model: Model, q: npt.ArrayLike, qd: npt.ArrayLike, tau: npt.ArrayLike, f_ext: npt.ArrayLike | None = None
) -> Run:
    """Return the run of Table 3 that turns joint forces `tau` (nv,) into accelerations, `.qdd` (nv,).

    The other parameters and the errors are those of `kim_dynamics.inverse_dynamics`; numpy's LinAlgError for a joint
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
        As `kim_dynamics.inverse_dynamics`.
    qdd, tau : array-like, shape (nv,)
        Read where they are given only.
    prescribed : array-like of bool, shape (nv,)
        True where the acceleration is given (i in u); the same for all coordinates of a joint.

    Raises
    ------
    InputError
        If the mask splits a joint; and as `kim_dynamics.inverse_dynamics`.
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
