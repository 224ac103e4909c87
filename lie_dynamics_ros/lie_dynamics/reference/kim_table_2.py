"""Kim Table 2, recursive inverse dynamics, line by line."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..lie.se3 import ad, ad_dual
from ..model.model import Model
from .kim_bodies import Run, of_size, robot_at


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
