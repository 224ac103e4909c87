"""Kim's symbols (section 2.1), Tables 2, 3 and 4 line by line, and dynamics of constrained systems (section 3).

In Tables 3 and 4 I_hat and B_hat are the articulated inertia and bias force with F_i = I_hat_i dV_i + B_hat_i (43).
Constraints A qd = 0 are of full rank: `A` is (m, nv) and `A_rate_qd` = dA/dt qd is (m,), at the state that goes with
them; lambda (m,) are the multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..arrays import AnyArray, ArrayLike
from ..errors import DescriptionError, InputError
from ..lie import se3
from ..lie._arrays import as_real
from ..lie.se3 import ad, ad_dual
from ..model import layout
from ..model.joint_types import JointType
from ..model.model import Model
from ..model.pack import get_placement


@dataclass(frozen=True, eq=False)
class Body:
    """Body i and the joint between it and its parent, in frame {i}."""

    joint: str  # its name
    kind: JointType
    parent: int  # lambda(i); -1 stands for the inertial frame {0}
    at: slice  # entries of q_i's rates in qd, qdd and tau
    T: AnyArray  # T_{lambda(i), i}, pose of {i} in {lambda(i)} (4, 4) [m]
    S: AnyArray  # joint Jacobian T^-1 dT/dq_i (6, n_i)
    S_rate: AnyArray  # its time derivative
    inertia: AnyArray  # generalised inertia I_i (6, 6). (22)
    F_ext: AnyArray  # wrench of the environment on the body (6,) [N m, N]


@dataclass(frozen=True, eq=False)
class Robot:
    """All bodies at one state, parents first, with qd and dV_0 = (0, -g), the footnote to (41)."""

    bodies: tuple[Body, ...]
    qd: AnyArray
    dV_0: AnyArray

    def mu(self, i: int) -> list[int]:
        """Return mu(i), the children of body i."""
        return [k for k, b in enumerate(self.bodies) if b.parent == i]


@dataclass(eq=False, kw_only=True)
class Quantities:
    """Results of the tables, by the number of the body; -1 stands for {0}.

    V, dV, F are as in Table 2; eta, I_hat, B_hat, Psi, Pi, beta as in Tables 3 and 4.
    """

    V: dict[int, AnyArray] = field(default_factory=dict)
    dV: dict[int, AnyArray] = field(default_factory=dict)
    F: dict[int, AnyArray] = field(default_factory=dict)
    eta: dict[int, AnyArray] = field(default_factory=dict)
    I_hat: dict[int, AnyArray] = field(default_factory=dict)
    B_hat: dict[int, AnyArray] = field(default_factory=dict)
    Psi: dict[int, AnyArray] = field(default_factory=dict)
    Pi: dict[int, AnyArray] = field(default_factory=dict)
    beta: dict[int, AnyArray] = field(default_factory=dict)


@dataclass(eq=False)
class Run(Quantities):
    """One run of Table 2, 3 or 4; qdd and tau (nv,) end up complete.

    `given` says of each body whether its joint's acceleration is given (i in u); X is Ad of T_{lambda(i), i}^-1.
    """

    robot: Robot
    qdd: AnyArray
    tau: AnyArray
    given: tuple[bool, ...]
    X: dict[int, AnyArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.V[-1], self.dV[-1] = np.zeros(6), self.robot.dV_0
        for i, b in enumerate(self.robot.bodies):
            self.X[i] = se3.Ad(se3.inverse(b.T))


def robot_at(model: Model, q: ArrayLike, qd: ArrayLike, f_ext: ArrayLike | None = None) -> Robot:
    """Return the symbols of all bodies at `q` (nq,), `qd` (nv,), with wrenches `f_ext` (n_bodies, 6) in their frames.

    Raises DescriptionError for coupled joints, and for models that count armature, damping or friction, which the paper
    does not; InputError, GroupError for states or wrenches of another shape, or not finite, and quaternions that are no
    rotations.
    """
    _require_rigid_bodies(model)
    x, rate = of_size(q, model.nq, "q"), of_size(qd, model.nv, "qd")
    wrenches = np.zeros((model.n_bodies, 6)) if f_ext is None else as_real(f_ext, (model.n_bodies, 6), "f_ext")
    if wrenches.ndim != 2:
        raise InputError(f"f_ext: one state, shape ({model.n_bodies}, 6), is expected, got {wrenches.shape}")
    bodies = []
    for joint in model.joints:
        motion, S, S_rate = joint_motion(joint.type, x[joint.q_slice], rate[joint.v_slice])
        bodies.append(Body(
            joint.name, joint.type, model.frames[joint.parent_body].body, joint.v_slice,
            get_placement(model.table, joint) @ motion, S, S_rate, model.inertia(joint.index).matrix(),
            wrenches[joint.index],
        ))  # fmt: skip
    return Robot(tuple(bodies), rate, np.concatenate([np.zeros(3), -model.gravity]))


def of_size(value: ArrayLike, size: int, name: str) -> AnyArray:
    """Return a vector (size,); one state, no batch."""
    vector = as_real(value, (size,), name)
    if vector.ndim != 1:
        raise InputError(f"{name}: one state, shape ({size},), is expected, got {vector.shape}", name=name)
    return vector


def joint_motion(kind: JointType, q: AnyArray, qd: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return T(q), S = T^-1 dT/dq and dS/dt of a joint, apart from where it sits.

    A joint made of axes is a product of exponentials, T = exp(A_1 q_1) ... exp(A_n q_n). Column a of S is A_a carried
    back over the axes after it, so dS^a/dq^b = -[S^b, S^a] for b > a.
    """
    n = kind.nv
    if kind.custom is not None:
        return tuple(np.asarray(f(*x)) for f, x in (
            (kind.custom.transform, (q,)), (kind.custom.subspace, (q,)), (kind.custom.subspace_rate, (q, qd)),
        ))  # type: ignore[return-value]  # fmt: skip
    if kind.kind in ("spherical", "free"):
        position = q[4:] if kind.kind == "free" else np.zeros(3)
        return se3.from_position_quaternion(position, q[:4]), np.eye(6)[:, :n], np.zeros((6, n))
    T, S, S_rate = np.eye(4), np.zeros((6, n)), np.zeros((6, n))
    for a in reversed(range(n)):
        step = kind.steps[a]
        A = np.concatenate([step.rotation * np.array(step.axis), step.translation * np.array(step.axis)])
        S[:, a] = se3.Ad(se3.inverse(T)) @ A
        T = se3.exp(A * q[a]) @ T
        for b in range(a + 1, n):
            S_rate[:, a] -= se3.ad(S[:, b]) @ S[:, a] * qd[b]
    return T, S, S_rate


def joints_in_u(model: Model, prescribed: ArrayLike) -> tuple[bool, ...]:
    """Return for each joint whether it is in u, from the mask `prescribed` (nv,) of `hybrid_dynamics`.

    Raises InputError if the mask is of another shape, or splits a joint, which Tables 4 and 7 do not do.
    """
    mask = np.asarray(prescribed)
    if mask.shape != (model.nv,) or mask.dtype != np.bool_:
        raise InputError(f"prescribed: booleans of shape ({model.nv},) are expected, got {prescribed!r}")
    for joint in model.joints:
        part = mask[joint.v_slice]
        if part.any() != part.all():
            raise InputError(
                f"joint {joint.name!r}: all of its coordinates in u or none is expected, got {part.tolist()}",
                name=joint.name, value=part,
            )  # fmt: skip
    return tuple(bool(mask[joint.v_slice].all()) for joint in model.joints)


def _require_rigid_bodies(model: Model) -> None:
    for joint in model.joints:
        if joint.coupled:
            raise DescriptionError(f"joint {joint.name!r} follows another: the tables need independent joints")
    if model.actuation_terms is not None or model.rows[1:, layout.ARMATURE].any():
        raise DescriptionError("armature, damping or friction: the tables know rigid bodies alone, with_joint_terms()")


def inverse_dynamics(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: ArrayLike | None = None) -> Run:
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
        As `robot_at`.
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


def forward_dynamics(model: Model, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None) -> Run:
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
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
    prescribed: ArrayLike,
    f_ext: ArrayLike | None = None,
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


# Section 3, (54)-(80): constrained systems.

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
