"""Analytic derivatives of constrained forward, inverse and hybrid dynamics.

The equations that determine accelerations, forces and multipliers are differentiated and solved again; what they are
made of comes from the derivatives of inverse dynamics, the torque regressor, and the derivatives of the constraints.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...dynamics.derivatives.inverse_derivatives import inverse_dynamics_derivatives, torque_regressor
from ...lie._arrays import flatten_batch
from ...model.arguments import validate_model
from ...model.configuration import require_result
from ...model.model import Model
from ..constraint_set import ConstraintSet
from ..dynamics import ConstrainedModel
from ..inputs import States, read_states
from ..quantities import tables_of
from ..resolution import Baumgarte, resolution_of
from .equations import (
    ConstrainedDerivatives,
    LinearizedProblem,
    Sensitivity,
    Terms,
    constraint_derivatives,
    forward_problem,
    hybrid_problem,
    inverse_problem,
    results_in,
    solve,
)


@validate_model
def constrained_forward_derivatives(
    model: Model,
    constraints: ConstraintSet,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    tau: npt.ArrayLike,
    f_ext: npt.ArrayLike | None = None,
    *,
    stabilization: Baumgarte | None = None,
) -> ConstrainedDerivatives:
    """Return the derivatives of `constrained_forward_dynamics`, with its arguments and errors.

    Returns
    -------
    ConstrainedDerivatives
        Derivatives along q, qd, tau and inertial parameters; wrenches of `f_ext` are kept in their bodies' frames.
    """
    of = ConstrainedModel(model, constraints, stabilization=stabilization)
    problem = forward_problem(of, q, qd, tau, f_ext)
    return _differentiate(problem, q, qd, f_ext)


@validate_model
def constrained_hybrid_derivatives(
    model: Model,
    constraints: ConstraintSet,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    tau: npt.ArrayLike,
    prescribed: npt.ArrayLike,
    f_ext: npt.ArrayLike | None = None,
    *,
    resolution: str = "least_constraint_force",
    torque_weights: npt.ArrayLike | None = None,
    force_weights: npt.ArrayLike | None = None,
    stabilization: Baumgarte | None = None,
) -> ConstrainedDerivatives:
    """Return the derivatives of `constrained_hybrid_dynamics`, with its arguments and errors.

    Where more accelerations are given than the mechanism has freedoms, those along a command that violates the
    constraints are derivatives of the nearest motion that does not.
    """
    of = ConstrainedModel(model, constraints, resolution_of(resolution, torque_weights, force_weights), stabilization)
    problem = hybrid_problem(of, q, qd, qdd, tau, prescribed, f_ext)
    return _differentiate(problem, q, qd, f_ext)


@validate_model
def constrained_inverse_derivatives(
    model: Model,
    constraints: ConstraintSet,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    f_ext: npt.ArrayLike | None = None,
    *,
    actuated: npt.ArrayLike | None = None,
    resolution: str = "least_constraint_force",
    passive_torque: npt.ArrayLike | None = None,
    torque_weights: npt.ArrayLike | None = None,
    force_weights: npt.ArrayLike | None = None,
) -> ConstrainedDerivatives:
    """Return the derivatives of `constrained_inverse_dynamics`, with its arguments and errors; no torque limits.

    q, qd and qdd are varied independently, as that function takes them: it does not ask whether they fit the
    constraints.
    """
    of = ConstrainedModel(model, constraints, resolution_of(resolution, torque_weights, force_weights))
    problem = inverse_problem(of, q, qd, qdd, f_ext, actuated, passive_torque)
    return _differentiate(problem, q, qd, f_ext)


def _differentiate(
    problem: LinearizedProblem, q: npt.ArrayLike, qd: npt.ArrayLike, f_ext: npt.ArrayLike | None
) -> ConstrainedDerivatives:
    model, constraints = problem.of.model, problem.of.constraints
    if problem.known is None:
        states = read_states(model, constraints, {"q": q, "qd": qd, "qdd": problem.found.qdd}, f_ext)
        tables = tables_of(model, constraints, states)
    else:
        states, tables = problem.known
    terms = _terms(model, constraints, states, tables[0], problem)
    n = model.nv

    def turned(z: Array) -> Array:
        out = np.zeros_like(terms.target)
        out[..., :n] = _rate_along_q(model, constraints, states, z)
        return out

    found = solve(model, problem, terms, turned)
    require_result(model, found)
    along = _AlongParameters(model, problem, terms, states)
    parts = []
    for k, part in enumerate(results_in(found.reshape(*states.batch, *found.shape[1:]), n)):
        parts.append(Sensitivity(part[..., :n], part[..., n : 2 * n], part[..., 2 * n :], partial(along.part, k)))
    return ConstrainedDerivatives(*parts)


def _rate_along_q(model: Model, constraints: ConstraintSet, states: States, z: Array) -> Array:
    """Return the derivatives (B, m, nv) of A z along q, for rates z (B, nv) that do not change."""
    varied = read_states(model, constraints, {"q": states.arrays["q"], "qd": z})
    none = np.zeros((len(z), constraints.size))
    return constraint_derivatives(model, constraints, varied, np.zeros_like(z), none).rate_dq


@dataclass(frozen=True, eq=False)
class _AlongParameters:
    """Derivatives along inertial parameters, of which there are many, and most callers want none."""

    model: Model
    problem: LinearizedProblem
    terms: Terms
    states: States

    def part(self, k: int) -> Array:
        return self._parts[k]

    @cached_property
    def _parts(self) -> list[Array]:
        q, qd, qdd = (self.states.arrays[name] for name in ("q", "qd", "qdd"))
        load = torque_regressor(self.model, q, qd, qdd)
        target = np.zeros((len(q), self.terms.matrix.shape[2], load.shape[2]))
        none = np.zeros_like(load)
        terms = replace(self.terms, load=load, target=target, qdd=none, tau=none, forces=False)
        found = solve(self.model, self.problem, terms, lambda z: target)
        require_result(self.model, found)
        return [part.reshape(*self.states.batch, *part.shape[1:]) for part in results_in(found, self.model.nv)]


def _terms(
    model: Model, constraints: ConstraintSet, states: States, matrix: Array, problem: LinearizedProblem
) -> Terms:
    """Return what enters the differentiated equations along q, qd and what is given; `matrix` is that of `Terms`."""
    q, qd, qdd = (states.arrays[name] for name in ("q", "qd", "qdd"))
    count, n, m = len(q), model.nv, constraints.size
    f_ext = states.f_ext.reshape(count, model.n_bodies, 6) if states.f_ext.size else None
    if count == 1:
        single = inverse_dynamics_derivatives(model, q[0], qd[0], qdd[0], None if f_ext is None else f_ext[0])
        tree = [part[None] for part in single]
    else:
        tree = list(inverse_dynamics_derivatives(model, q, qd, qdd, f_ext))
    mass = np.ascontiguousarray(tree[2])
    A = matrix[:, 1:].swapaxes(1, 2)
    force = np.ascontiguousarray(flatten_batch(problem.found.multipliers))
    loops = constraint_derivatives(model, constraints, states, qdd, force)
    along_q, along_qd = loops.acceleration_dq, loops.acceleration_dqd
    if problem.of.stabilization is not None:
        of_rate, of_error = problem.of.stabilization.gains
        along_q = along_q + of_rate * loops.rate_dq + of_error * A
        along_qd = along_qd + of_rate * A
    forces = problem.goal is None
    width = 2 * n if forces else 3 * n
    load, target = np.empty((count, n, width)), np.empty((count, m, width))
    given = np.zeros((count, n, 3 * n))
    motion = given if forces else np.zeros((count, n, 3 * n))  # where no motion is given, it is not read
    np.subtract(tree[0], loops.force_dq, out=load[..., :n])
    load[..., n : 2 * n] = tree[1]
    if not problem.inverse:
        target[..., :n], target[..., n : 2 * n] = along_q, along_qd
    elif problem.freely is not None:
        target[...] = 0.0
        target[..., :n] = _rate_along_q(model, constraints, states, problem.freely)
    if problem.inverse:
        load[..., 2 * n :] = mass
        motion.reshape(count, 3 * n * n)[:, 2 * n :: 3 * n + 1] = 1.0
    elif forces:
        given.reshape(count, 3 * n * n)[:, 2 * n :: 3 * n + 1] = 1.0
    else:
        known = problem.mask.astype(float)
        np.multiply(mass, known, out=load[..., 2 * n :])
        np.multiply(A, known, out=target[..., 2 * n :])
        for part, diagonal in ((motion, known), (given, 1.0 - known)):
            part.reshape(count, 3 * n * n)[:, 2 * n :: 3 * n + 1] = diagonal
    return Terms(mass, matrix, load, target, motion, given, flatten_batch(problem.found.tau), force, forces)
