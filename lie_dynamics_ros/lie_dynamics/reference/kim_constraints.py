"""Kim's section 3, dynamics of constrained systems, (54)-(80), for constraints A qd = 0 of full rank.

`A` is (m, nv) and `A_rate_qd` = dA/dt qd is (m,), at the state that goes with them; lambda (m,) are the multipliers.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import AnyArray
from ..errors import InputError
from ..model.model import Model
from .kim_dynamics import forward_dynamics, hybrid_dynamics, inverse_dynamics

Smallest = Literal["constraint force", "torque"]


def constrained_inverse_dynamics(
    model: Model,
    q: AnyArray,
    qd: AnyArray,
    qdd: AnyArray,
    A: AnyArray,
    active: AnyArray,
    tau_p: AnyArray,
    smallest: Smallest,
) -> tuple[AnyArray, AnyArray]:
    """Return tau (nv,) and lambda of a motion that satisfies the constraints.

    Parameters
    ----------
    active : ndarray of bool, shape (nv,)
        Joints with actuators (a); the others are passive (p).
    tau_p : ndarray, shape (n_p,)
        Known joint forces at the passive ones.
    smallest : {"constraint force", "torque"}
        What is smallest where actuation is redundant, m > n_p: |lambda| by (59), or |tau_a| by (62)-(66).

    Raises
    ------
    InputError
        If m < n_p: no joint forces make this motion.
    """
    tau_r = inverse_dynamics(model, q, qd, qdd).tau
    m, A_a, A_p = len(A), A[:, active], A[:, ~active]
    n_p = A_p.shape[1]
    if m < n_p:
        raise InputError(f"{m} constraints cannot hold {n_p} passive coordinates: m >= n_p is expected")
    lam = np.linalg.pinv(A_p.T) @ (tau_r[~active] - tau_p)  # (57); (58) where m = n_p
    if m > n_p and smallest == "torque":
        N = np.linalg.svd(A_p.T)[2][n_p:].T  # basis of the null space of A_p^T
        s = np.linalg.pinv(A_a.T @ N) @ (tau_r[active] - A_a.T @ lam)  # (64)
        lam = lam + N @ s  # (63)
    tau = np.empty_like(tau_r)
    tau[active], tau[~active] = tau_r[active] - A_a.T @ lam, tau_p  # (60); (62), (65)
    return tau, lam


def constrained_forward_dynamics(
    model: Model, q: AnyArray, qd: AnyArray, tau: AnyArray, A: AnyArray, A_rate_qd: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """Return qdd (nv,) and lambda: one run of Table 3, and one without bias for each constraint and for lambda."""
    qdd_r = forward_dynamics(model, q, qd, tau).qdd
    none = np.zeros(model.nv, np.bool_)
    M_inv_At = np.array([_without_bias(model, q, row, none)[0] for row in A]).T  # M^-1 A^T
    lam = -np.linalg.solve(A @ M_inv_At, A @ qdd_r + A_rate_qd)  # (67)
    return qdd_r + _without_bias(model, q, A.T @ lam, none)[0], lam  # (68), (69)


def constrained_hybrid_dynamics(
    model: Model,
    q: AnyArray,
    qd: AnyArray,
    qdd: AnyArray,
    tau: AnyArray,
    prescribed: AnyArray,
    A: AnyArray,
    A_rate_qd: AnyArray,
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return qdd, tau (nv,) and lambda, for m <= n_v; `prescribed` is the mask of Table 4.

    The paper prints M_uv for M_vu = M_uv^T in (72)-(77).

    Raises
    ------
    InputError
        If m > n_v: then qdd_v follows from the constraints alone, and tau from inverse dynamics with u for a.
    """
    u, v = prescribed, ~prescribed
    if len(A) > v.sum():
        raise InputError(f"{len(A)} constraints on {v.sum()} free coordinates: m <= n_v is expected")
    free = hybrid_dynamics(model, q, qd, qdd, tau, prescribed)  # first system of (78)
    A_v = np.where(v, A, 0.0)
    M_inv_At = np.array([_without_bias(model, q, row, u)[0] for row in A_v]).T  # M_vv^-1 A_v^T, zero in u
    lam = -np.linalg.solve(A_v @ M_inv_At, A @ free.qdd + A_rate_qd)  # (76)
    qdd_c, tau_c = _without_bias(model, q, A_v.T @ lam, u)  # second system of (78)
    return free.qdd + qdd_c, np.where(u, free.tau + tau_c - A.T @ lam, free.tau), lam  # (79), (80)


def _without_bias(model: Model, q: AnyArray, tau: AnyArray, u: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return qdd and tau of M qdd = tau with zero accelerations in u: Table 4 without rates and gravity."""
    zero = np.zeros(model.nv)
    run = hybrid_dynamics(model.with_gravity(np.zeros(3)), q, zero, zero, tau, u)
    return run.qdd, run.tau
