"""Kim Table 6, derivative of recursive forward dynamics along a parameter, line by line.

Misprints corrected: in the line of qdd_i, dh_i/dp (printed: of lambda(i)) and dPsi_i/dp (printed with dots); in the
last bracket of dbeta_i/dp, dS_i^T/dp (printed without the transpose).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import AnyArray
from ..lie.se3 import ad, ad_dual
from .kim_bodies import Quantities, Run
from .kim_parameter import Slopes


@dataclass(eq=False)
class SlopesOfRun(Quantities):
    """d/dp of the quantities of a run."""

    run: Run
    p: Slopes
    qdd: AnyArray


def forward_dynamics_derivative(run: Run, p: Slopes) -> AnyArray:
    """Return dqdd/dp (nv,), from a run of Table 3 and what depends on p. Changes of qdd are not read."""
    d = SlopesOfRun(run, p, np.zeros_like(run.qdd))
    slope_velocities(d)
    for i in reversed(range(len(run.robot.bodies))):  # backward recursion
        slope_articulated(d, i)
        slope_eliminated(d, i)
    for i in range(len(run.robot.bodies)):  # forward recursion
        slope_acceleration(d, i)
        slope_dV(d, i)
    return d.qdd


def slope_velocities(d: SlopesOfRun) -> None:
    """Fill dV_i/dp and deta_i/dp from the base outwards."""
    run, p = d.run, d.p
    d.V[-1], d.dV[-1] = np.zeros(6), p.ddV_0
    for i, b in enumerate(run.robot.bodies):
        qd, dqd = run.robot.qd[b.at], p.dqd[b.at]
        own = p.dS[i] @ qd + b.S @ dqd
        d.V[i] = run.X[i] @ d.V[b.parent] - ad(p.dh[i]) @ run.X[i] @ run.V[b.parent] + own
        d.eta[i] = ad(d.V[i]) @ b.S @ qd + ad(run.V[i]) @ own + p.dS_rate[i] @ qd + b.S_rate @ dqd


def slope_articulated(d: SlopesOfRun, i: int) -> None:
    """Fill dI_hat_i/dp and dB_hat_i/dp, once those of Pi_k and beta_k of the children are known."""
    run, p, b, V = d.run, d.p, d.run.robot.bodies[i], d.run.V[i]
    d.I_hat[i] = p.dI[i]
    d.B_hat[i] = -ad_dual(d.V[i]) @ b.inertia @ V - ad_dual(V) @ (p.dI[i] @ V + b.inertia @ d.V[i]) - p.dF_ext[i]
    for k in run.robot.mu(i):
        X, turned = run.X[k], run.Pi[k] @ ad(p.dh[k])
        d.I_hat[i] = d.I_hat[i] + X.T @ (d.Pi[k] - turned - turned.T) @ X
        d.B_hat[i] = d.B_hat[i] + X.T @ (d.beta[k] - ad_dual(p.dh[k]) @ run.beta[k])


def slope_eliminated(d: SlopesOfRun, i: int) -> None:
    """Fill dPsi_i/dp, dPi_i/dp and dbeta_i/dp of a joint whose force is given."""
    run, b, dS = d.run, d.run.robot.bodies[i], d.p.dS[i]
    S, H, B, eta, Psi = b.S, run.I_hat[i], run.B_hat[i], run.eta[i], run.Psi[i]
    dH, dB, deta = d.I_hat[i], d.B_hat[i], d.eta[i]
    mixed = dS.T @ H @ S
    dPsi = d.Psi[i] = -Psi @ (S.T @ dH @ S + mixed + mixed.T) @ Psi
    first, second = dH @ S @ Psi @ S.T @ H, H @ dS @ Psi @ S.T @ H
    d.Pi[i] = dH - (H @ S @ dPsi @ S.T @ H + first + first.T + second + second.T)
    rest = run.tau[b.at] - S.T @ (H @ eta + B)
    drest = d.p.dtau[b.at] - dS.T @ (H @ eta + B) - S.T @ (dH @ eta + H @ deta + dB)
    d.beta[i] = (
        dB + dH @ (eta + S @ Psi @ rest)
        + H @ (deta + (dS @ Psi + S @ dPsi) @ rest + S @ Psi @ drest)
    )  # fmt: skip


def slope_acceleration(d: SlopesOfRun, i: int) -> None:
    """Fill dqdd_i/dp, once that of dV of the parent is known."""
    run, p, b, dS = d.run, d.p, d.run.robot.bodies[i], d.p.dS[i]
    S, H, B = b.S, run.I_hat[i], run.B_hat[i]
    above = run.X[i] @ run.dV[b.parent]
    carried = above + run.eta[i]
    dcarried = run.X[i] @ d.dV[b.parent] - ad(p.dh[i]) @ above + d.eta[i]
    d.qdd[b.at] = d.Psi[i] @ (run.tau[b.at] - S.T @ H @ carried - S.T @ B) + run.Psi[i] @ (
        p.dtau[b.at] - (dS.T @ H + S.T @ d.I_hat[i]) @ carried - S.T @ H @ dcarried - dS.T @ B - S.T @ d.B_hat[i]
    )


def slope_dV(d: SlopesOfRun, i: int) -> None:
    """Fill d(dV_i)/dp, once dqdd_i/dp is known."""
    run, p, b = d.run, d.p, d.run.robot.bodies[i]
    above = run.X[i] @ d.dV[b.parent] - ad(p.dh[i]) @ run.X[i] @ run.dV[b.parent]
    d.dV[i] = above + p.dS[i] @ run.qdd[b.at] + b.S @ d.qdd[b.at] + d.eta[i]
