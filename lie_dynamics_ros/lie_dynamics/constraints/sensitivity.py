"""Derivatives of constrained dynamics along arbitrary parameters, Kim's p.

The equations of constrained dynamics are differentiated and solved again, as in `derivatives`; what is in them comes
from one recursion through the tree and its loops for each parameter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import Array, ArrayLike
from ..dynamics.derivatives.sensitivity import (
    Hold,
    Parameters,
    SeededMotion,
    Seeding,
    SensitivityOptions,
    listed_parameters,
    run_seeded,
    sensitivity_options,
    with_direct,
)
from ..dynamics.inverse_dynamics import mass_matrix
from ..lie._arrays import flatten_batch
from ..model.configuration import require_result
from ..model.model import Model
from ..shown import shared_options, shown
from .constraint_set import ConstraintSet
from .derivatives import (
    LinearizedProblem,
    Terms,
    constraint_derivatives,
    forward_problem,
    hybrid_problem,
    inverse_problem,
    results_in,
    solve,
)
from .dynamics import ConstrainedModel, ConstrainedOptions, constrained_model
from .inputs import read_states
from .kernels.loop_sensitivity import loop_sensitivity
from .quantities import tables_of
from .resolution import Baumgarte, InverseOptions, Resolution, inverse_options

if TYPE_CHECKING:
    from typing import Unpack


@shown
class ConstrainedSensitivity(NamedTuple):
    """Derivatives of constrained dynamics along one parameter, or along each of k with one more axis (k, ...).

    Attributes
    ----------
    qdd, tau : ndarray, shape (..., nv)
        Of accelerations and joint forces: changes of what is given, as the parameter says, and of what follows.
    multipliers : ndarray, shape (..., m)
        Of constraint forces; where constraints depend on each other they are not unique, and mean little.
    """

    qdd: Array
    tau: Array
    multipliers: Array


@shared_options(sensitivity_options)
def constrained_forward_sensitivity(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    parameter: Parameters,
    f_ext: ArrayLike | None = None,
    *,
    stabilization: Baumgarte | None = None,
    **options: Unpack[SensitivityOptions],
) -> ConstrainedSensitivity:
    """Return how the result of `constrained_forward_dynamics` changes with parameters; its arguments and errors.

    Parameters
    ----------
    parameter : Parameter, or sequence of k of them
        What to differentiate along; q is held when it is not q itself, so a displaced joint opens its loop. Changes of
        "qdd" have no effect. User constraints are functions of q: along it their derivatives are by central differences
        of order six, whose error is some 1e-10; what else moves bodies does nothing to them.
    f_ext_held, threads
        As `inverse_dynamics_sensitivity`.

    Returns
    -------
    ConstrainedSensitivity

    Raises
    ------
    InputError
        Also for what `forward_dynamics_sensitivity` refuses.
    """
    of = ConstrainedModel(model, constraints, stabilization=stabilization)
    problem = forward_problem(of, q, qd, tau, f_ext)
    return _sensitivity(problem, q, qd, parameter, f_ext, *sensitivity_options(**options))


@shared_options(constrained_model)
def constrained_hybrid_sensitivity(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
    prescribed: ArrayLike,
    parameter: Parameters,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_held: Hold = "body",
    threads: int = 1,
    **options: Unpack[ConstrainedOptions],
) -> ConstrainedSensitivity:
    """Return how the result of `constrained_hybrid_dynamics` changes with parameters; its arguments and errors.

    `parameter`, `f_ext_held`, `threads` and more errors are those of `constrained_forward_sensitivity`. Changes of
    what is not read, "tau" where `prescribed` is True and "qdd" where it is False, have no effect.
    """
    problem = hybrid_problem(constrained_model(model, constraints, **options), q, qd, qdd, tau, prescribed, f_ext)
    return _sensitivity(problem, q, qd, parameter, f_ext, f_ext_held, threads)


class InverseSensitivityOptions(InverseOptions, SensitivityOptions, total=False):
    """Keywords of `constrained_inverse_sensitivity`."""


@shared_options(inverse_options)
def _inverse_options(
    *, f_ext_held: Hold = "body", threads: int = 1, **options: Unpack[InverseOptions]
) -> tuple[Resolution, tuple[ArrayLike | None, ArrayLike | None], tuple[Hold, int]]:
    """Return what `inverse_options` and `sensitivity_options` do."""
    return *inverse_options(**options), (f_ext_held, threads)


@shared_options(_inverse_options)
def constrained_inverse_sensitivity(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    parameter: Parameters,
    f_ext: ArrayLike | None = None,
    **options: Unpack[InverseSensitivityOptions],
) -> ConstrainedSensitivity:
    """Return how the result of `constrained_inverse_dynamics` changes with parameters; no torque limits.

    Arguments and errors are those of that function; `parameter`, `f_ext_held`, `threads` and more errors those of
    `constrained_forward_sensitivity`. q, qd and qdd are varied independently: nobody asks whether they fit the
    constraints. Changes of "tau" have no effect.
    """
    resolution, actuation, others = _inverse_options(**options)
    problem = inverse_problem(ConstrainedModel(model, constraints, resolution), q, qd, qdd, f_ext, *actuation)
    return _sensitivity(problem, q, qd, parameter, f_ext, *others)


def _sensitivity(
    problem: LinearizedProblem,
    q: ArrayLike,
    qd: ArrayLike,
    parameter: Parameters,
    f_ext: ArrayLike | None,
    held: Hold,
    threads: int,
) -> ConstrainedSensitivity:
    model, constraints = problem.of.model, problem.of.constraints
    single, parameters = listed_parameters(parameter)
    found, n, m, loops = problem.found, model.nv, constraints.size, len(constraints.table.scalars)
    known = None if problem.inverse else problem.mask

    def kernel(*arguments: Any) -> int:
        return loop_sensitivity(constraints.table.loops, constraints.table.scalars, *arguments)

    def changes(
        q: ArrayLike, qd: ArrayLike, qdd: Array, force: Array, f_ext: ArrayLike | None
    ) -> tuple[Array, Seeding]:
        motion = SeededMotion(q, qd, qdd, parameters, f_ext, held, threads, known)
        return run_seeded(model, kernel, motion, 3 * loops, [force[..., :loops]])

    change, seeding = changes(q, qd, found.qdd, found.multipliers, f_ext)
    total, batch = len(parameters), change.shape[1:-1]
    count = int(np.prod(batch))

    def columns(a: Array) -> Array:
        """Return derivatives (k, ..., j) as columns of each state (count, j, k)."""
        return np.moveaxis(a.reshape(total, count, a.shape[-1]), 0, -1)

    def spread(a: ArrayLike) -> Array:
        array = np.asarray(a, float)
        return np.array(np.broadcast_to(array, (*batch, array.shape[-1])), order="C")  # one that kernels may be given

    wide_q, wide_qd = spread(q), spread(qd)
    states = read_states(model, constraints, {"q": wide_q, "qd": wide_qd})
    moves = {name: np.zeros((total, *batch, n)) for name in ("q", "qd", "qdd", "tau")}
    for number, what, at, data in seeding.direct:
        if at is None:
            moves[what][number] += data
    dq, dqd, dqdd, dtau = (columns(a) for a in moves.values())
    load = columns(with_direct(model, seeding, change[..., :n].copy(), wide_q, wide_qd, spread(found.qdd)))
    matrix, _, _ = tables_of(model, constraints, states)
    A = matrix[:, 1:].swapaxes(1, 2)
    # Of couplings and user constraints, A x for given x; then of loops.
    error, rate, target = A @ dq, A @ dqd, A @ dqdd
    for k, whole in enumerate((error, rate, target)):
        whole[:, :loops] = columns(change[..., n + k * loops : n + (k + 1) * loops])
    if constraints.user:
        force = flatten_batch(spread(found.multipliers))
        user = constraint_derivatives(model, constraints, states, flatten_batch(spread(found.qdd)), force, loops=False)
        load = load - user.force_dq @ dq
        rate += user.rate_dq @ dq
        target += user.acceleration_dq @ dq + user.acceleration_dqd @ dqd
    if problem.of.stabilization is not None:
        of_rate, of_error = problem.of.stabilization.gains
        target += of_rate * rate + of_error * error

    def turned(z: Array) -> Array:
        zero = np.zeros_like(wide_qd)
        varied, _ = changes(wide_q, z.reshape(wide_qd.shape), zero, np.zeros((loops,)), None)
        out = np.zeros((count, m, total))
        out[:, :loops] = columns(varied[..., n + loops : n + 2 * loops]) - A[:, :loops] @ dqd
        if constraints.user:
            there = read_states(model, constraints, {"q": states.arrays["q"], "qd": z})
            nothing = np.zeros((count, m))
            out += constraint_derivatives(model, constraints, there, np.zeros_like(z), nothing, False).rate_dq @ dq
        return out

    if problem.freely is not None:
        target = turned(problem.freely)
    given = np.zeros_like(dtau) if problem.inverse else np.where(problem.mask[:, None], 0.0, dtau)
    M = mass_matrix(model, states.arrays["q"], threads=threads)
    result = flatten_batch(spread(found.tau)), flatten_batch(spread(found.multipliers))
    changed = solve(model, problem, Terms(M, matrix, load, target, dqdd, given, *result), turned, threads)
    require_result(model, changed)
    results = [np.moveaxis(a, -1, 0).reshape(total, *batch, a.shape[1]) for a in results_in(changed, n)]
    return ConstrainedSensitivity(*(a[0] if single else a for a in results))
