"""Kim Table 5, derivative of recursive inverse dynamics along a parameter, line by line."""

from __future__ import annotations

import numpy as np

from ..arrays import AnyArray
from ..lie.se3 import ad, ad_dual
from .kim_bodies import Run
from .kim_parameter import Slopes


def inverse_dynamics_derivative(run: Run, p: Slopes) -> AnyArray:
    """Return dtau/dp (nv,), from a run of Table 2 and what depends on p. Changes of tau are not read."""
    bodies, X, V, dV = run.robot.bodies, run.X, run.V, run.dV
    slope_V: dict[int, AnyArray] = {-1: np.zeros(6)}
    slope_dV: dict[int, AnyArray] = {-1: p.ddV_0}
    slope_F: dict[int, AnyArray] = {}
    slope_tau = np.zeros_like(run.tau)

    for i, b in enumerate(bodies):  # forward recursion
        qd, dqd = run.robot.qd[b.at], p.dqd[b.at]
        own = p.dS[i] @ qd + b.S @ dqd
        slope_V[i] = X[i] @ slope_V[b.parent] - ad(p.dh[i]) @ X[i] @ V[b.parent] + own
        slope_dV[i] = (
            X[i] @ slope_dV[b.parent] - ad(p.dh[i]) @ X[i] @ dV[b.parent]
            + p.dS[i] @ run.qdd[b.at] + b.S @ p.dqdd[b.at]
            + ad(slope_V[i]) @ b.S @ qd + ad(V[i]) @ own + p.dS_rate[i] @ qd + b.S_rate @ dqd
        )  # fmt: skip

    for i in reversed(range(len(bodies))):  # backward recursion
        b = bodies[i]
        slope_F[i] = (
            p.dI[i] @ dV[i] + b.inertia @ slope_dV[i] - ad_dual(slope_V[i]) @ b.inertia @ V[i]
            - ad_dual(V[i]) @ (p.dI[i] @ V[i] + b.inertia @ slope_V[i]) - p.dF_ext[i]
            + sum(X[k].T @ (slope_F[k] - ad_dual(p.dh[k]) @ run.F[k]) for k in run.robot.mu(i))
        )  # fmt: skip
        slope_tau[b.at] = p.dS[i].T @ run.F[i] + b.S.T @ slope_F[i]
    return slope_tau
