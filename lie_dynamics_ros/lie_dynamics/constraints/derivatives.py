"""Analytic derivatives of constrained forward, inverse and hybrid dynamics.

The equations that determine accelerations, forces and multipliers are differentiated and solved again; what they are
made of comes from the derivatives of inverse dynamics, the torque regressor, and the derivatives of the constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import AnyArray, Array, ArrayLike, Mask
from ..dynamics.derivatives.inverse_derivatives import inverse_dynamics_derivatives, torque_regressor
from ..dynamics.inputs import in_parts
from ..engine.compile import raise_if_rejected
from ..errors import SingularityError
from ..lie._arrays import flatten_batch
from ..model.configuration import require_result
from ..model.model import Model
from ..shown import shared_options, shown
from .constraint_set import ConstraintSet
from .dynamics import ConstrainedModel, ConstrainedOptions, constrained_model, forces_of, sharing_of
from .inputs import ConstrainedDynamics, States, as_mask, read_states
from .kernels import loop_derivatives as dk
from .kernels import loops as lk
from .kernels.force_distribution import held_solution, motion_maps
from .kinds import first_difference
from .quantities import quantities_of, tables_of
from .resolution import PLAIN_CUT, RANK_CUT, Baumgarte, InverseOptions, Objective, inverse_options

if TYPE_CHECKING:
    from typing import Unpack


class ConstraintDerivatives(NamedTuple):
    """Derivatives along q (tangent, as `Model.integrate` moves it) and qd, flat over the batch."""

    rate_dq: Array  # of A x along q, for fixed x in place of qd (B, m, nv)
    acceleration_dq: Array  # of A qdd + dA/dt qd (B, m, nv)
    acceleration_dqd: Array
    force_dq: Array  # of A^T multipliers, for fixed multipliers (B, nv, nv)


def constraint_derivatives(
    model: Model, constraints: ConstraintSet, states: States, qdd: Array, force: Array, loops: bool = True
) -> ConstraintDerivatives:
    """Return the derivatives at states with "q" and "qd", for accelerations (B, nv) and multipliers (B, m).

    Those of loops are analytic; loops through user-defined joints, and user constraints, are differentiated by central
    differences of order six, whose error is some 1e-10. Without `loops` those of loops are left at zero.
    """
    qd = states.arrays["qd"]
    count, n, m = len(qd), model.nv, constraints.size
    out = ConstraintDerivatives(
        np.zeros((count, m, n)), np.zeros((count, m, n)), np.zeros((count, m, n)), np.zeros((count, n, n))
    )
    table = constraints.table
    exact = ~table.through_custom if loops and model.custom_joints and table.through_custom.any() else None
    if loops and (exact is None or exact.any()):
        kept = table.loops if exact is None else np.ascontiguousarray(table.loops[exact])
        motion = (np.ascontiguousarray(a) for a in (qd, qdd, force))
        raise_if_rejected(dk.loop_derivatives(model.table, kept, table.scalars, states.extended, *motion, *out))
    if constraints.user or exact is not None:
        rows = _rows_left(constraints, exact)
        for s in range(count):
            one = States((), states.extended[s : s + 1], {k: a[s : s + 1] for k, a in states.arrays.items()}, qd[:0])
            _by_differences(model, constraints, one, qdd[s], force[s], rows, [a[s] for a in out])
    return out


def _rows_left(constraints: ConstraintSet, exact: Mask | None) -> npt.NDArray[np.intp]:
    """Return the scalars of loops that are not `exact`, and of user constraints; couplings are linear."""
    left = () if exact is None else constraints.table.loops[~exact]
    rows = [np.arange(loop[lk.START], loop[lk.START] + loop[lk.COUNT]) for loop in left]
    rows.append(np.arange(constraints.size - constraints.table.user_size, constraints.size))
    return np.concatenate(rows).astype(np.intp)


def _by_differences(
    model: Model,
    constraints: ConstraintSet,
    state: States,
    qdd: Array,
    force: Array,
    rows: npt.NDArray[np.intp],
    out: list[Array],
) -> None:

    q, qd = state.arrays["q"][0], state.arrays["qd"][0]
    m = rows.size

    def values(x: Array, v: Array) -> Array:
        found, _ = quantities_of(model, constraints, read_states(model, constraints, {"q": x, "qd": v}))
        A, bias = found.jacobian[0][rows], found.bias[0][rows]
        return np.concatenate([A @ v, A @ qdd + bias, A.T @ force[rows]])

    for k, e in enumerate(np.eye(model.nv)):
        column = first_difference(lambda x: values(x, qd), model, q, e)
        out[0][rows, k], out[1][rows, k] = column[:m], column[m : 2 * m]
        out[3][:, k] += column[2 * m :]
        # dA/dt qd is quadratic in qd, so this difference is exact.
        out[2][rows, k] = 0.5 * (values(q, qd + e) - values(q, qd - e))[m : 2 * m]


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
        Along the inertial parameters of the bodies, ten each, as `torque_regressor` orders them; computed when it is
        requested first.
    """

    dq: Array
    dqd: Array
    dgiven: Array
    _of_parameters: Callable[[], Array] = field(repr=False)

    @property
    def dparameters(self) -> Array:  # noqa: D102
        return self._of_parameters()


@shown
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
class LinearizedProblem:
    """A problem of constrained dynamics and its solution, which are to be differentiated."""

    of: ConstrainedModel
    found: ConstrainedDynamics
    mask: Mask  # of coordinates whose force is to be found
    goal: Objective | None  # which forces are chosen there
    inverse: bool  # all accelerations are given
    known: tuple[States, tuple[Array, Array, Array]] | None = None  # with tables, where the solution needed them too
    #: How passive coordinates move beyond the given motion, where constraints leave some free.
    freely: Array | None = None


def forward_problem(
    of: ConstrainedModel, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None
) -> LinearizedProblem:
    """Return the problem of `constrained_forward_dynamics`."""
    return LinearizedProblem(of, of.forward(q, qd, tau, f_ext), np.zeros(of.model.nv, np.bool_), None, False)


def hybrid_problem(
    of: ConstrainedModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
    prescribed: ArrayLike,
    f_ext: ArrayLike | None,
) -> LinearizedProblem:
    """Return the problem of `constrained_hybrid_dynamics`."""
    mask = as_mask(of.model, prescribed, "prescribed")
    found = of.hybrid(q, qd, qdd, tau, mask, f_ext)
    goal = of.resolution.objective(int(np.count_nonzero(mask)), of.constraints.size)
    return LinearizedProblem(of, found, mask, goal, False)


def inverse_problem(
    of: ConstrainedModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    f_ext: ArrayLike | None,
    actuated: ArrayLike | None,
    passive_torque: ArrayLike | None,
) -> LinearizedProblem:
    """Return the problem of `constrained_inverse_dynamics`."""
    states = of.states({"q": q, "qd": qd, "qdd": qdd}, f_ext)
    sharing = sharing_of(of, states, actuated, passive_torque)
    tables = tables_of(of.model, of.constraints, states)
    found, mask, freely = forces_of(of, states, tables, sharing), sharing.mask, None
    if np.min(found.rank, initial=of.model.nv) < np.count_nonzero(~mask):
        qdd_found = np.ascontiguousarray(flatten_batch(found.qdd))
        freely = qdd_found - states.arrays["qdd"]
        states = states.with_accelerations(qdd_found)
    return LinearizedProblem(of, found, mask, sharing.goal, True, (states, tables), freely)


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms of the differentiated equations, for each of B states and c columns to differentiate along.

    Changes of given accelerations are counted in `load` and `target`. Where `forces`, which asks for all joint forces
    to be given, derivatives along these come after the others, as `tau` has them.
    """

    mass: Array  # M (B, nv, nv)
    matrix: Array  # A transposed, one row ahead (B, nv + 1, m)
    load: Array  # of inverse dynamics less A^T lambda (B, nv, c)
    target: Array  # of A qdd + dA/dt qd + stabilisation (B, m, c); in inverse dynamics of A x, x moving `freely`
    qdd: Array  # of accelerations that are given (B, nv, c)
    tau: Array  # of joint forces that are given (B, nv, c)
    found_tau: Array  # the solution (B, nv)
    found_force: Array  # (B, m)
    forces: bool = False


def solve(
    model: Model, problem: LinearizedProblem, terms: Terms, turned: Callable[[Array], Array], threads: int = 1
) -> Array:
    """Return the derivatives of joint forces, accelerations and multipliers, one below the other (B, 2 nv + m, c).

    `turned` (B, nv) -> (B, m, c) returns those of A z for vectors z that do not change.
    """
    mask, goal, matrix = problem.mask, problem.goal, terms.matrix
    free = ~mask
    qdd, load, dtau = terms.qdd, terms.load, terms.tau
    # M_vv x - A_v^T y = dtau_v - dload_v,  A_v x = -dtarget.
    if goal is None or not (mask.any() or problem.inverse):
        right = -load if terms.forces else dtau - load
        (found,) = in_parts(
            threads, partial(_free, model, free, terms.forces), terms.mass, matrix, right, -terms.target
        )
        return np.concatenate([dtau, found], axis=1)
    unique = _unique(problem, terms) if problem.freely is None else None
    if unique is not None:
        return unique
    if free.any() and (problem.freely is not None or not problem.inverse):
        places = np.flatnonzero(free)  # to take rows by these is faster
        sides = (dtau - load).take(places, 1), -terms.target
        (found,) = in_parts(threads, partial(_free, model, free, False), terms.mass, matrix, *sides)
        x = found[:, : len(places)]
        qdd, load = qdd.copy(), load + terms.mass.take(places, 2) @ x
        qdd[:, places] += x
    A = _transposed(matrix[:, 1:])
    (z,) = in_parts(threads, partial(_costates, mask, goal), A, terms.found_tau, terms.found_force)
    dtau, dforce = in_parts(threads, partial(_share, mask, goal), A, load, dtau, turned(z))
    return np.concatenate([dtau, qdd, dforce], axis=1)


def results_in(found: Array, n: int) -> tuple[Array, Array, Array]:
    """Return the derivatives of accelerations, joint forces and multipliers that `solve` found."""
    return found[..., n : 2 * n, :], found[..., :n, :], found[..., 2 * n :, :]


def _transposed(a: AnyArray) -> Array:
    return np.swapaxes(a, -1, -2)


def _free(
    model: Model, free: Mask, forces: bool, mass: Array, matrix: Array, right: Array, left: Array
) -> tuple[Array]:
    """Return (x, y) with M x - A^T y = right and A x = left at the `free` coordinates, and `forces`: for right = 1."""
    n = right.shape[1]
    maps = np.empty((len(mass), n + left.shape[1], n + left.shape[1]))
    done = np.empty(len(mass), np.bool_)
    raise_if_rejected(motion_maps(mass, matrix, free, PLAIN_CUT, done, maps))
    if not done.all():
        rest = ~done
        maps[rest] = _deficient_maps(model, mass[rest][:, free][..., free], _transposed(matrix[rest, 1:][:, free]))
    found = maps @ np.concatenate([right, left], axis=1)
    if forces:
        found = np.concatenate([found, maps[:, :, :n]], axis=2)
    return (found,)


def _deficient_maps(model: Model, mass: Array, A: Array) -> Array:
    """Return what `motion_maps` does, of any rank, by a factor of M and the pseudo-inverse of A in its metric."""
    try:
        factor = np.linalg.cholesky(mass)
    except np.linalg.LinAlgError:
        raise SingularityError(
            f"model {model.name!r}: its mass matrix is singular at the coordinates whose force is given, so there are "
            "no derivatives; bodies with inertia or armature are expected"
        ) from None
    n, m = A.shape[2], A.shape[1]
    sides = np.broadcast_to(np.eye(n + m), (len(A), n + m, n + m))
    free = np.linalg.solve(factor, sides[:, :n])
    scaled = _transposed(np.linalg.solve(factor, _transposed(A)))
    inverse = np.linalg.pinv(scaled, RANK_CUT)
    # In coordinates L^T x: the constraints fix the part in the range of scaled^T, the rest is free.
    x = free + inverse @ (sides[:, n:] - scaled @ free)
    y = _transposed(inverse) @ (x - free)
    return np.concatenate([np.linalg.solve(_transposed(factor), x), y], axis=1)


def _unique(problem: LinearizedProblem, terms: Terms) -> Array | None:
    """Return what `solve` does where the constraints leave no choice: unless A_p is plainly regular, None."""
    (count, n, width), m = terms.load.shape, terms.matrix.shape[2]
    if n - np.count_nonzero(problem.mask) != m:
        return None
    done, out = np.empty(count, np.bool_), np.empty((count, 2 * n + m, width))
    target = terms.target[:, :0] if problem.inverse else terms.target
    forces = terms.load, target, terms.qdd, terms.tau
    raise_if_rejected(held_solution(terms.mass, terms.matrix, *forces, problem.mask, PLAIN_CUT, done, out))
    return out if done.all() else None


def _held(mask: Mask, A: Array) -> tuple[Array, Array]:
    """Return A_p with columns of unit length, for the rank must not depend on the unit of length, and the factors."""
    A_p = A[..., ~mask]
    size = np.linalg.norm(A_p, axis=1)
    some = size > RANK_CUT * size.max(axis=1, initial=0.0)[:, None]  # spins that move nothing have round-off
    A_p, unit = A_p * some[:, None], 1.0 / np.where(some, size, 1.0)
    return A_p * unit[:, None], unit


def _costates(mask: Mask, goal: Objective, A: Array, tau: Array, force: Array) -> tuple[Array]:
    """Return the Lagrange multipliers z of the equations of motion, in the sharing that `_share` differentiates."""
    A_p, unit = _held(mask, A)
    z = np.zeros_like(tau)
    z[:, mask] = goal.torque**2 * tau[:, mask]
    rest = goal.force**2 * force - (A[..., mask] @ z[:, mask, None])[..., 0]
    z[:, ~mask] = unit * (np.linalg.pinv(A_p, RANK_CUT) @ rest[..., None])[..., 0]
    return (z,)


def _share(mask: Mask, goal: Objective, A: Array, load: Array, given: Array, turned: Array) -> tuple[Array, Array]:
    """Return the derivatives of joint forces and multipliers that share a load that varies by `load`.

    Of minimal (torque tau_a)^2 + (force lambda)^2 under the equations of motion: with Lagrange multipliers z_p, and
    z_a = torque^2 tau_a, the condition for an optimum is A z = force^2 lambda.
    """
    m, n_p = A.shape[1], int((~mask).sum())
    square_t = goal.torque**2
    A_a, (A_p, unit) = A[..., mask], _held(mask, A)
    h = (A_a * square_t) @ _transposed(A_a) + np.diag(goal.force**2)
    norm = np.linalg.norm(h, axis=(1, 2))
    weight = (1.0 / np.where(norm > 0.0, norm, 1.0))[:, None, None]
    system = np.zeros((len(A), m + n_p, m + n_p))
    system[:, :m, :m], system[:, :m, m:], system[:, m:, :m] = weight * h, -A_p, _transposed(A_p)
    first = A_a @ (square_t[:, None] * load[:, mask]) + turned
    right = np.concatenate([weight * first, unit[..., None] * (load[:, ~mask] - given[:, ~mask])], axis=1)
    dforce = (np.linalg.pinv(system, RANK_CUT) @ right)[:, :m]
    dtau = given.copy()
    dtau[:, mask] = load[:, mask] - _transposed(A_a) @ dforce
    return dtau, dforce


def constrained_forward_derivatives(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
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


@shared_options(constrained_model)
def constrained_hybrid_derivatives(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
    prescribed: ArrayLike,
    f_ext: ArrayLike | None = None,
    **options: Unpack[ConstrainedOptions],
) -> ConstrainedDerivatives:
    """Return the derivatives of `constrained_hybrid_dynamics`, with its arguments and errors.

    Where more accelerations are given than the mechanism has freedoms, those along a command that violates the
    constraints are derivatives of the nearest motion that does not.
    """
    problem = hybrid_problem(constrained_model(model, constraints, **options), q, qd, qdd, tau, prescribed, f_ext)
    return _differentiate(problem, q, qd, f_ext)


@shared_options(inverse_options)
def constrained_inverse_derivatives(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    f_ext: ArrayLike | None = None,
    **options: Unpack[InverseOptions],
) -> ConstrainedDerivatives:
    """Return the derivatives of `constrained_inverse_dynamics`, with its arguments and errors; no torque limits.

    q, qd and qdd are varied independently, as that function takes them: it does not ask whether they fit the
    constraints.
    """
    resolution, actuation = inverse_options(**options)
    problem = inverse_problem(ConstrainedModel(model, constraints, resolution), q, qd, qdd, f_ext, *actuation)
    return _differentiate(problem, q, qd, f_ext)


def _differentiate(
    problem: LinearizedProblem, q: ArrayLike, qd: ArrayLike, f_ext: ArrayLike | None
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
