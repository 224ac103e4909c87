"""Derivatives along a parameter as Kim's Tables 5, 6 and 7 have them, misprints corrected: a readable reference.

One state, dense 6x6 matrices, joints of several degrees of freedom as one. `inverse_dynamics_sensitivity` and its
companions give the same numbers with less work, for batches, and for any mask of coordinates.

Corrected are, in Table 6, dh_i/dp in the line of qdd_i (printed: of lambda(i)) and dS_i^T/dp in the last bracket of
d beta_i/dp; in Table 7, for joints whose acceleration is given, qdd where qd is printed, and the hats on I and B.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..dynamics.jacobians import jacobian, jacobian_rate
from ..dynamics.kinematics import forward_kinematics
from ..geometry.coordinates import require_independent, require_screws
from ..lie import inertial_parameters, se3
from ..model.model import Model
from ..model.structure import Joint

Array = npt.NDArray[np.float64]


@dataclass(eq=False)
class BodyTerms:
    """One body's terms in the tables: T_{lambda(i), i}, S_i, dS_i/dt, I_i, F_i^ext, and Kim (92) for one parameter."""

    parent: int
    at: slice
    T: Array
    S: Array
    S_rate: Array
    inertia: Array
    wrench: Array
    dh: Array
    dS: Array
    dS_rate: Array
    d_inertia: Array
    d_wrench: Array


@dataclass(eq=False)
class Given:
    """Rates, commands and gravity with their derivatives along the parameter."""

    qd: Array
    qdd: Array
    tau: Array
    gravity: Array
    dqd: Array
    dqdd: Array
    dtau: Array
    d_gravity: Array


def body_terms(model: Model, q: Array, qd: Array, f_ext: Array | None = None) -> list[BodyTerms]:
    """Return the terms of all bodies of one state, with no change along the parameter.

    Raises
    ------
    DescriptionError
        For a user-defined joint, or coupled mimic joints; names the joint.
    """
    require_screws(model, "a table of derivatives")
    require_independent(model, "a table of derivatives")
    poses, found = forward_kinematics(model, q), []
    for joint in model.joints:
        i, at = joint.index, joint.v_slice
        parent, n = model.frames[joint.parent_body].body, joint.type.nv
        above = np.eye(4) if parent < 0 else poses[parent]
        wrench = np.zeros(6) if f_ext is None else f_ext[i]
        S, S_rate = jacobian(model, q, i, "body")[:, at], jacobian_rate(model, q, qd, i, "body")[:, at]
        # A joint's own columns of its body's Jacobian are S_i, which depends on q_i alone.
        found.append(BodyTerms(
            parent, at, se3.inverse(above) @ poses[i], S, S_rate, model.inertia(i).matrix(), wrench,
            np.zeros(6), np.zeros((6, n)), np.zeros((6, n)), np.zeros((6, 6)), np.zeros(6),
        ))  # fmt: skip
    return found


def along_coordinate(model: Model, bodies: list[BodyTerms], qd: Array, coordinate: int) -> None:
    """Let the parameter be a coordinate of q: fill dh = S^k, dS and d(dS/dt) of its joint. Kim (90).

    In a joint made of axes, column a of S turns back with the axes after it: dS^a/dq^b = -[S^b, S^a] for b > a. The
    columns of ball and free joints are constant.
    """
    joint, k = _owner(model, coordinate)
    body = bodies[joint.index]
    body.dh, rate = body.S[:, k], qd[joint.v_slice]
    if not joint.type.steps:
        return
    for a in range(joint.type.nv):
        body.dS[:, a] = _turned(body, k, a)
        for b in range(a + 1, joint.type.nv):
            change = se3.ad(_turned(body, k, b)) @ body.S[:, a] + se3.ad(body.S[:, b]) @ _turned(body, k, a)
            body.dS_rate[:, a] -= change * rate[b]


def along_rate(model: Model, bodies: list[BodyTerms], x: Given, coordinate: int) -> None:
    """Let the parameter be an entry of qd: it is in dS/dt of its joint too, whose derivative is dS/dq^k."""
    x.dqd = np.eye(model.nv)[coordinate]
    joint, k = _owner(model, coordinate)
    if joint.type.steps:
        body = bodies[joint.index]
        body.dS_rate = np.stack([_turned(body, k, a) for a in range(joint.type.nv)], axis=-1)


def _owner(model: Model, coordinate: int) -> tuple[Joint, int]:
    joint = next(j for j in model.joints if j.v_slice.start <= coordinate < j.v_slice.stop)
    return joint, coordinate - joint.v_slice.start


def _turned(body: BodyTerms, b: int, a: int) -> Array:
    return np.asarray(-se3.ad(body.S[:, b]) @ body.S[:, a]) if b > a else np.zeros(6)


def along_inertia(bodies: list[BodyTerms], body: int, which: int) -> None:
    """Let the parameter be one of the ten inertial parameters of a body."""
    bodies[body].d_inertia = inertial_parameters.generalized_inertia(np.eye(10)[which])


def inverse_dynamics_table(bodies: list[BodyTerms], x: Given) -> Array:
    """Return dtau/dp (nv,). Kim Table 5."""
    base = np.concatenate([np.zeros(3), -x.gravity]), np.concatenate([np.zeros(3), -x.d_gravity])
    V: list[Array] = []
    dV: list[Array] = []
    A: list[Array] = []
    dA: list[Array] = []
    for b in bodies:
        X, turn = se3.Ad(se3.inverse(b.T)), se3.ad(b.dh)
        still = np.zeros(6)
        V0, dV0 = (X @ V[b.parent], X @ dV[b.parent]) if b.parent >= 0 else (still, still)
        A0, dA0 = (X @ A[b.parent], X @ dA[b.parent]) if b.parent >= 0 else (X @ base[0], X @ base[1])
        own, d_own = b.S @ x.qd[b.at], b.dS @ x.qd[b.at] + b.S @ x.dqd[b.at]
        V.append(V0 + own)
        dV.append(dV0 - turn @ V0 + d_own)
        A.append(A0 + b.S @ x.qdd[b.at] + se3.ad(V[-1]) @ own + b.S_rate @ x.qd[b.at])
        dA.append(
            dA0 - turn @ A0 + b.dS @ x.qdd[b.at] + b.S @ x.dqdd[b.at]
            + se3.ad(dV[-1]) @ own + se3.ad(V[-1]) @ d_own + b.dS_rate @ x.qd[b.at] + b.S_rate @ x.dqd[b.at]
        )  # fmt: skip
    F = [b.inertia @ A[i] - se3.ad_dual(V[i]) @ b.inertia @ V[i] - b.wrench for i, b in enumerate(bodies)]
    dF = [
        b.d_inertia @ A[i] + b.inertia @ dA[i] - se3.ad_dual(dV[i]) @ b.inertia @ V[i]
        - se3.ad_dual(V[i]) @ (b.d_inertia @ V[i] + b.inertia @ dV[i]) - b.d_wrench
        for i, b in enumerate(bodies)
    ]  # fmt: skip
    dtau = np.zeros_like(x.qd)
    for i in reversed(range(len(bodies))):
        b = bodies[i]
        dtau[b.at] = b.dS.T @ F[i] + b.S.T @ dF[i]
        if b.parent >= 0:
            X = se3.Ad_dual(se3.inverse(b.T))
            dF[b.parent] = dF[b.parent] + X @ (dF[i] - se3.ad_dual(b.dh) @ F[i])
            F[b.parent] = F[b.parent] + X @ F[i]
    return dtau


def hybrid_dynamics_table(bodies: list[BodyTerms], x: Given, prescribed: npt.ArrayLike) -> tuple[Array, Array]:
    """Return dqdd/dp and dtau/dp (nv,), complete, for joints whose acceleration is given or not. Kim Table 7.

    With none prescribed it is Table 6. `x.qdd` and `x.tau` are read where they are given only.

    Parameters
    ----------
    bodies : list of BodyTerms
        Parents first.
    x : Given
        Rates, commands, gravity.
    prescribed : array-like of bool, shape (n_bodies,)
        True for the joints of the set u.
    """
    given, count = np.asarray(prescribed, dtype=bool), len(bodies)
    X = [se3.Ad(se3.inverse(b.T)) for b in bodies]
    turn = [se3.ad(b.dh) for b in bodies]
    V: list[Array] = []
    dV: list[Array] = []
    eta: list[Array] = []
    d_eta: list[Array] = []
    for i, b in enumerate(bodies):
        V0, dV0 = (X[i] @ V[b.parent], X[i] @ dV[b.parent]) if b.parent >= 0 else (np.zeros(6), np.zeros(6))
        own, d_own = b.S @ x.qd[b.at], b.dS @ x.qd[b.at] + b.S @ x.dqd[b.at]
        V.append(V0 + own)
        dV.append(dV0 - turn[i] @ V0 + d_own)
        eta.append(se3.ad(V[i]) @ own + b.S_rate @ x.qd[b.at])
        d_eta.append(se3.ad(dV[i]) @ own + se3.ad(V[i]) @ d_own + b.dS_rate @ x.qd[b.at] + b.S_rate @ x.dqd[b.at])
    # Articulated inertia and bias, and their derivatives; H stands for I with a hat, Psi for the inverse of S^T H S.
    H, dH = [b.inertia.copy() for b in bodies], [b.d_inertia.copy() for b in bodies]
    B = [-se3.ad_dual(V[i]) @ b.inertia @ V[i] - b.wrench for i, b in enumerate(bodies)]
    dB = [
        -se3.ad_dual(dV[i]) @ b.inertia @ V[i]
        - se3.ad_dual(V[i]) @ (b.d_inertia @ V[i] + b.inertia @ dV[i]) - b.d_wrench
        for i, b in enumerate(bodies)
    ]  # fmt: skip
    Psi: list[Array] = [np.zeros((0, 0))] * count
    dPsi: list[Array] = [np.zeros((0, 0))] * count
    for i in reversed(range(count)):
        b = bodies[i]
        S, dS, qdd, dqdd = b.S, b.dS, x.qdd[b.at], x.dqdd[b.at]
        if given[i]:
            Pi, dPi = H[i], dH[i]
            beta = B[i] + H[i] @ (eta[i] + S @ qdd)
            d_beta = dB[i] + dH[i] @ (eta[i] + S @ qdd) + H[i] @ (d_eta[i] + dS @ qdd + S @ dqdd)
        else:
            Psi[i] = np.asarray(np.linalg.inv(S.T @ H[i] @ S), np.float64)
            mixed = dS.T @ H[i] @ S
            dPsi[i] = -Psi[i] @ (S.T @ dH[i] @ S + mixed + mixed.T) @ Psi[i]
            HS, dHS, HdS = H[i] @ S, dH[i] @ S @ Psi[i] @ S.T @ H[i], H[i] @ dS @ Psi[i] @ S.T @ H[i]
            Pi = H[i] - HS @ Psi[i] @ HS.T
            dPi = dH[i] - (HS @ dPsi[i] @ HS.T + dHS + dHS.T + HdS + HdS.T)
            bias, d_bias = H[i] @ eta[i] + B[i], dH[i] @ eta[i] + H[i] @ d_eta[i] + dB[i]
            rest, d_rest = x.tau[b.at] - S.T @ bias, x.dtau[b.at] - dS.T @ bias - S.T @ d_bias
            beta = B[i] + H[i] @ (eta[i] + S @ Psi[i] @ rest)
            d_beta = (
                dB[i] + dH[i] @ (eta[i] + S @ Psi[i] @ rest)
                + H[i] @ (d_eta[i] + (dS @ Psi[i] + S @ dPsi[i]) @ rest + S @ Psi[i] @ d_rest)
            )  # fmt: skip
        if b.parent >= 0:
            turned = Pi @ turn[i]
            H[b.parent] = H[b.parent] + X[i].T @ Pi @ X[i]
            dH[b.parent] = dH[b.parent] + X[i].T @ (dPi - turned - turned.T) @ X[i]
            B[b.parent] = B[b.parent] + X[i].T @ beta
            dB[b.parent] = dB[b.parent] + X[i].T @ (d_beta - turn[i].T @ beta)
    A: list[Array] = []
    dA: list[Array] = []
    found_qdd, found_tau = x.dqdd.copy(), x.dtau.copy()
    for i, b in enumerate(bodies):
        above = (A[b.parent], dA[b.parent]) if b.parent >= 0 else (
            np.concatenate([np.zeros(3), -x.gravity]), np.concatenate([np.zeros(3), -x.d_gravity])
        )  # fmt: skip
        A0 = X[i] @ above[0]
        dA0 = X[i] @ above[1] - turn[i] @ A0
        qdd, dqdd = x.qdd[b.at], x.dqdd[b.at]
        if not given[i]:
            rest = x.tau[b.at] - b.S.T @ (H[i] @ (A0 + eta[i]) + B[i])
            d_rest = (
                x.dtau[b.at] - b.dS.T @ (H[i] @ (A0 + eta[i]) + B[i])
                - b.S.T @ (dH[i] @ (A0 + eta[i]) + H[i] @ (dA0 + d_eta[i]) + dB[i])
            )  # fmt: skip
            qdd, dqdd = Psi[i] @ rest, dPsi[i] @ rest + Psi[i] @ d_rest
            found_qdd[b.at] = dqdd
        A.append(A0 + b.S @ qdd + eta[i])
        dA.append(dA0 + b.dS @ qdd + b.S @ dqdd + d_eta[i])
        if given[i]:
            F, dF = H[i] @ A[i] + B[i], dH[i] @ A[i] + H[i] @ dA[i] + dB[i]
            found_tau[b.at] = b.dS.T @ F + b.S.T @ dF
    return found_qdd, found_tau
