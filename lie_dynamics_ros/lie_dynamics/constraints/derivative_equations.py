"""The differentiated equations of constrained dynamics, and their solution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import SingularityError
from ..lie._arrays import listed
from ..model.configuration import require_result
from ..model.model import Model
from ..tree.inverse_derivatives import inverse_dynamics_derivatives
from ..tree.regressor import torque_regressor
from .constraint_set import ConstraintSet
from .forward import Baumgarte
from .inputs import ConstrainedDynamics, States, read_states
from .loop_derivatives import constraint_derivatives
from .quantities import quantities_of
from .resolution import RANK_CUT, Objective

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Derivatives of one result r (..., k), each (..., k, columns).

    Attributes
    ----------
    dq : ndarray, shape (..., k, nv)
        Along the configuration, as `Model.integrate` moves it. Off the closed configurations too: constraints are taken
        as the functions of all q that they are.
    dqd : ndarray, shape (..., k, nv)
        Along the rates.
    dgiven : ndarray, shape (..., k, nv)
        Along the command: joint forces in forward dynamics, accelerations in inverse dynamics, and in hybrid dynamics
        for each coordinate the one of the two that is given.
    dparameters : ndarray, shape (..., k, 10 n_bodies)
        Along the inertial parameters of the bodies, ten each, as `torque_regressor` orders them.
    """

    dq: Array
    dqd: Array
    dgiven: Array
    dparameters: Array


@dataclass(frozen=True, eq=False)
class ConstrainedDerivatives:
    """Derivatives of constrained dynamics.

    Attributes
    ----------
    qdd, tau, multipliers : Sensitivity
        Of accelerations (nv), joint forces (nv) and multipliers (m); rows of what is given itself are zero or unit.
        Where constraints depend on each other, multipliers are not unique and their derivatives mean little; those of
        accelerations and forces stay valid as long as the rank stays.
    """

    qdd: Sensitivity
    tau: Sensitivity
    multipliers: Sensitivity


@dataclass(frozen=True, eq=False)
class Terms:
    """What enters the differentiated equations at one state."""

    mass: Array  # M
    jacobian: Array  # A
    load: Array  # of inverse dynamics less A^T lambda: along q, qd, parameters (nv, 2 nv + 10 n_bodies)
    target: Array  # of A qdd + dA/dt qd + stabilisation, the same columns (m, ...)
    motion: Array  # of q (nv, ...), and of A beyond it:
    geometry: Array | None = None  # (..., m, nv)


def terms_at(
    model: Model,
    constraints: ConstraintSet,
    states: States,
    qdd: Array,
    force: Array,
    stabilization: Baumgarte | None,
) -> list[Terms]:
    """Return what enters the differentiated equations, for each state of a flat batch."""
    m = constraints.size
    q, qd = states.arrays["q"], states.arrays["qd"]
    qdd, force = listed(qdd), listed(force)
    f_ext = states.f_ext.reshape(len(q), model.n_bodies, 6) if states.f_ext.size else None
    tree = inverse_dynamics_derivatives(model, q, qd, qdd, f_ext)
    regressor = torque_regressor(model, q, qd, qdd)
    A = quantities_of(model, constraints, states)[0].jacobian
    loops = constraint_derivatives(model, constraints, states, qdd, force)
    along_q, along_qd = loops.acceleration_dq, loops.acceleration_dqd
    if stabilization is not None:
        f, z = stabilization.frequency, stabilization.damping_ratio
        along_q = along_q + 2.0 * z * f * loops.rate_dq + f * f * A
        along_qd = along_qd + 2.0 * z * f * A
    load = np.concatenate([tree.dq - loops.force_dq, tree.dqd, regressor], axis=-1)
    target = np.concatenate([along_q, along_qd, np.zeros((len(q), m, regressor.shape[-1]))], axis=-1)
    motion = np.eye(model.nv, load.shape[-1])
    return [Terms(tree.dqdd[s], A[s], load[s], target[s], motion) for s in range(len(q))]


def differentiate_hybrid(
    model: Model,
    constraints: ConstraintSet,
    states: States,
    found: ConstrainedDynamics,
    mask: npt.NDArray[np.bool_],
    goal: Objective | None,
    stabilization: Baumgarte | None,
) -> ConstrainedDerivatives:
    """Return the derivatives of hybrid dynamics at its solution; forward dynamics is the case of an empty mask."""
    n, m, free = model.nv, constraints.size, ~mask
    taus, forces = listed(found.tau), listed(found.multipliers)
    results = []
    for s, one in enumerate(terms_at(model, constraints, states, found.qdd, found.multipliers, stabilization)):
        # Columns: along q, qd, what is given, parameters.
        wide = np.zeros((n, n))
        load = np.concatenate([one.load[:, : 2 * n], wide, one.load[:, 2 * n :]], axis=1)
        target = np.concatenate([one.target[:, : 2 * n], np.zeros((m, n)), one.target[:, 2 * n :]], axis=1)
        dqdd, given = np.zeros_like(load), np.zeros_like(load)
        columns = 2 * n + np.arange(n)
        dqdd[mask, columns[mask]] = 1.0
        given[free, columns[free]] = 1.0
        way = Terms(one.mass, one.jacobian, load, target, np.eye(n, load.shape[1]))
        dtau, dforce = complete(model, constraints, states, s, way, dqdd, given, mask, goal, taus[s], forces[s])
        results.append((dqdd, dtau, dforce))
    return gather(results, states.batch, model, m)


def complete(
    model: Model,
    constraints: ConstraintSet,
    states: States,
    s: int,
    one: Terms,
    dqdd: Array,
    given: Array,
    mask: npt.NDArray[np.bool_],
    goal: Objective | None,
    tau: Array,
    force: Array,
) -> tuple[Array, Array]:
    """Return derivatives of joint forces and multipliers, filling in those of accelerations where forces are given.

    `dqdd` (nv, columns) is read where `mask` is True, `given`, of joint forces, where it is False.
    """
    free = ~mask
    # M_vv x - A_v^T y = dtau_v - dload_v - M_vu dqdd_u,  A_v x = -dtarget - A_u dqdd_u.
    right = given[free] - one.load[free] - one.mass[np.ix_(free, mask)] @ dqdd[mask]
    left = -one.target - one.jacobian[:, mask] @ dqdd[mask]
    dtau, dforce = given.copy(), np.zeros_like(left)
    if free.any():
        dqdd[free], dforce = _solve(model, one.mass[np.ix_(free, free)], one.jacobian[:, free], right, left)
    if mask.any():
        assert goal is not None
        moved = one.load + one.mass @ dqdd
        dtau, dforce = share(model, constraints, states, s, one, moved, given, mask, goal, tau, force)
    return dtau, dforce


def _solve(model: Model, mass: Array, A: Array, right: Array, left: Array) -> tuple[Array, Array]:
    """Return x, y with M x - A^T y = right and A x = left, by a factor of M and one of A in its metric."""
    try:
        factor = np.linalg.cholesky(mass)
    except np.linalg.LinAlgError:
        raise SingularityError(
            f"model {model.name!r}: its mass matrix is singular at the coordinates whose force is given, so there are "
            "no derivatives; bodies with inertia or armature are expected"
        ) from None
    free = np.linalg.solve(factor, right)
    scaled = np.linalg.solve(factor, A.T).T
    inverse = np.linalg.pinv(scaled, RANK_CUT)
    # In coordinates L^T x: the constraints fix the part in the range of scaled^T, the rest is free.
    x = free + inverse @ (left - scaled @ free)
    return np.linalg.solve(factor.T, x), inverse.T @ (x - free)


def share(
    model: Model,
    constraints: ConstraintSet,
    states: States,
    s: int,
    one: Terms,
    load: Array,
    passive: Array,
    mask: npt.NDArray[np.bool_],
    goal: Objective,
    tau: Array,
    force: Array,
) -> tuple[Array, Array]:
    """Return the derivatives of joint forces and multipliers that share a load that varies by `load` (nv, columns).

    Of minimal (torque tau_a)^2 + (force lambda)^2 under the equations of motion: with Lagrange multipliers z_p, and
    z_a = torque^2 tau_a, the condition for an optimum is A z = force^2 lambda.
    """
    n, m = model.nv, constraints.size
    A, held = one.jacobian, ~mask
    square_t, square_f = goal.torque**2, goal.force**2
    A_a, A_p = A[:, mask], A[:, held]
    z = np.zeros(n)
    z[mask] = square_t * tau[mask]
    size = np.linalg.norm(A_p, axis=0)
    unit = 1.0 / np.where(size > 0.0, size, 1.0)  # of each held coordinate: the rank must not depend on that of length
    A_p = A_p * unit
    z[held] = unit * (np.linalg.pinv(A_p, RANK_CUT) @ (square_f * force - A_a @ z[mask]))
    varied = States(
        (),
        states.extended[s : s + 1],
        {"q": states.arrays["q"][s : s + 1], "qd": z[None]},
        states.f_ext[:0],
    )
    if model._custom:
        varied = read_states(model, constraints, {"q": states.arrays["q"][s], "qd": z})
    rate_q = constraint_derivatives(model, constraints, varied, np.zeros((1, n)), np.zeros((1, m))).rate_dq[0]
    h = (A_a * square_t) @ A_a.T + np.diag(square_f)
    weight = 1.0 / (float(np.linalg.norm(h)) or 1.0)
    n_p = int(held.sum())
    system = np.block([[weight * h, -A_p], [A_p.T, np.zeros((n_p, n_p))]])
    first = A_a @ (square_t[:, None] * load[mask])
    first += rate_q @ one.motion
    if one.geometry is not None:
        first += (one.geometry @ z).T
    right = np.concatenate([weight * first, unit[:, None] * (load[held] - passive[held])])
    solved = np.linalg.pinv(system, RANK_CUT) @ right
    dforce = solved[:m]
    dtau = passive.copy()
    dtau[mask] = load[mask] - A_a.T @ dforce
    return dtau, dforce


def gather(
    results: list[tuple[Array, Array, Array]], batch: tuple[int, ...], model: Model, m: int
) -> ConstrainedDerivatives:
    """Return the derivatives of qdd, tau and `m` multipliers of each state, as one object."""
    n, parts = model.nv, []
    for k, height in enumerate((n, n, m)):
        stacked = np.array([r[k] for r in results]).reshape(*batch, height, 3 * n + 10 * model.n_bodies)
        require_result(model, stacked)
        parts.append(
            Sensitivity(stacked[..., :n], stacked[..., n : 2 * n], stacked[..., 2 * n : 3 * n], stacked[..., 3 * n :])
        )
    return ConstrainedDerivatives(*parts)
