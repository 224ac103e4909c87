"""Kim Tables 5, 6 and 7, derivatives of the recursions along a parameter p, line by line, and p as they ask for it.

Misprints corrected. Table 6: in the line of qdd_i, dh_i/dp (printed: of lambda(i)) and dPsi_i/dp (printed with dots);
in the last bracket of dbeta_i/dp, dS_i^T/dp (printed without the transpose). Table 7: for joints in u the paper prints
qd for qdd in dbeta_i/dp and in d(dV_i)/dp, and leaves the hat of B out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import AnyArray
from ..errors import InputError
from ..lie import inertial_parameters
from ..lie.se3 import ad, ad_dual
from .kim_dynamics import Body, Quantities, Robot, Run


@dataclass(eq=False)
class Slopes:
    """Derivatives along p of what the tables are given; zero until something is filled in."""

    dh: AnyArray  # T^-1 dT/dp of T_{lambda(i), i} (n_bodies, 6). (89)
    dF_ext: AnyArray  # (n_bodies, 6)
    dI: AnyArray  # of the generalised inertias (n_bodies, 6, 6)
    dS: list[AnyArray]  # of the joint Jacobians, (6, n_i) each
    dS_rate: list[AnyArray]  # of their time derivatives
    dqd: AnyArray  # of rates (nv,)
    dqdd: AnyArray  # of commands (nv,), of which what is given counts
    dtau: AnyArray
    ddV_0: AnyArray  # of dV_0 = (0, -g) (6,)

    @classmethod
    def none(cls, robot: Robot) -> Slopes:
        """Return the parameter that nothing depends on."""
        n = len(robot.bodies)
        dS, dS_rate = ([np.zeros_like(b.S) for b in robot.bodies] for _ in range(2))
        dqd, dqdd, dtau = np.zeros((3, len(robot.qd)))
        zero = np.zeros((n, 6))
        return cls(zero, zero.copy(), np.zeros((n, 6, 6)), dS, dS_rate, dqd, dqdd, dtau, np.zeros(6))


def along_coordinate(robot: Robot, coordinate: int) -> Slopes:
    """Return the slopes along q^k: dh = S^k (90), dS and d(dS/dt) of its joint, zero for all others (91).

    In a joint made of axes dS^a/dq^b = -[S^b, S^a] for b > a. The columns of ball and free joints are constant.

    Raises
    ------
    InputError
        For a user-defined joint, which does not give dS/dq.
    """
    found = Slopes.none(robot)
    i, k = _owner(robot, coordinate)
    b = robot.bodies[i]
    found.dh[i] = b.S[:, k]
    found.dS[i], rate = _along(b, k), robot.qd[b.at]
    for a in range(len(rate)):
        for c in range(a + 1, len(rate)) if b.kind.steps else ():
            turned = ad(found.dS[i][:, c]) @ b.S[:, a] + ad(b.S[:, c]) @ found.dS[i][:, a]
            found.dS_rate[i][:, a] -= turned * rate[c]
    return found


def along_rate(robot: Robot, coordinate: int) -> Slopes:
    """Return the slopes along qd^k: dS/dt is linear in qd, so d(dS/dt)/dqd^k = dS/dq^k.

    Errors are those of `along_coordinate`.
    """
    found = Slopes.none(robot)
    i, k = _owner(robot, coordinate)
    found.dqd[coordinate] = 1.0
    found.dS_rate[i] = _along(robot.bodies[i], k)
    return found


def along_inertia(robot: Robot, body: int, which: int) -> Slopes:
    """Return the slopes along one of the ten inertial parameters of a body, as `SpatialInertia.parameters` has them."""
    found = Slopes.none(robot)
    found.dI[body] = inertial_parameters.generalized_inertia(np.eye(10)[which])
    return found


def _owner(robot: Robot, coordinate: int) -> tuple[int, int]:
    """Return the number of the joint that a coordinate belongs to, and which of its coordinates it is."""
    i = next(i for i, b in enumerate(robot.bodies) if b.at.start <= coordinate < b.at.stop)
    return i, coordinate - robot.bodies[i].at.start


def _along(b: Body, k: int) -> AnyArray:
    """Return dS/dq^k."""
    if b.kind.custom is not None:
        raise InputError(f"joint {b.joint!r} is user-defined: its dS/dq is expected from the user", name=b.joint)
    dS = np.zeros_like(b.S)
    for a in range(k) if b.kind.steps else ():
        dS[:, a] = -ad(b.S[:, k]) @ b.S[:, a]
    return dS


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


def hybrid_dynamics_derivative(run: Run, p: Slopes) -> tuple[AnyArray, AnyArray]:
    """Return dqdd/dp and dtau/dp (nv,), complete, from a run of Table 4 and what depends on p.

    Changes of qdd are read where the acceleration is given, those of tau where it is not.
    """
    bodies = run.robot.bodies
    d = SlopesOfRun(run, p, p.dqdd.copy())
    slope_tau = p.dtau.copy()
    slope_velocities(d)

    for i in reversed(range(len(bodies))):  # backward recursion
        b = bodies[i]
        slope_articulated(d, i)
        if run.given[i]:
            qdd, dqdd = run.qdd[b.at], p.dqdd[b.at]
            d.Pi[i] = d.I_hat[i]
            d.beta[i] = (
                d.B_hat[i] + d.I_hat[i] @ (run.eta[i] + b.S @ qdd)
                + run.I_hat[i] @ (d.eta[i] + p.dS[i] @ qdd + b.S @ dqdd)
            )  # fmt: skip
        else:
            slope_eliminated(d, i)

    for i, b in enumerate(bodies):  # forward recursion
        if not run.given[i]:
            slope_acceleration(d, i)
        slope_dV(d, i)
        if run.given[i]:
            slope_F = d.I_hat[i] @ run.dV[i] + run.I_hat[i] @ d.dV[i] + d.B_hat[i]
            slope_tau[b.at] = p.dS[i].T @ run.F[i] + b.S.T @ slope_F
    return d.qdd, slope_tau
