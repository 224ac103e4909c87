"""Configurations, rates and accelerations that satisfy the constraints: projected from near, assembled from a guess."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, ArrayLike
from ..dynamics.inverse_dynamics import mass_matrix
from ..errors import InputError, SingularityError
from ..lie._arrays import as_numbers, count_of, number_of
from ..model.arguments import validate_model
from ..model.configuration import by_name, require_finite, require_result
from ..model.model import Model
from ..model.pack import extend
from ..shown import shown
from .constraint_set import ConstraintSet
from .dynamics import EMPTY, NO_MASK, Extra, sweep
from .inputs import as_mask, read_states, refuse_upside_down
from .quantities import ConstraintQuantities, constraint_quantities, loop_tables
from .resolution import RANK_CUT, constraint_rank


@validate_model
def project_to_constraints(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    *,
    tolerance: float = 1e-13,
    iterations: int = 8,
) -> tuple[Array, Array]:
    """Return the configuration and rates nearest to the given ones that satisfy the constraints.

    Nearest in the metric of the mass matrix: q moves by Newton steps -M^-1 A^T (A M^-1 A^T)^-1 f, and rates lose their
    part M^-1 A^T (A M^-1 A^T)^-1 A qd, as by an impulse, so kinetic energy never grows by it. By the O(n) recursion.
    To be called after each step of a simulation; for a guess far from closed, use `assemble`.

    Parameters
    ----------
    model, constraints
        The tree and what holds.
    q : array-like, shape (..., nq)
        Configurations, close to closed.
    qd : array-like, shape (..., nv), optional
        Rates; zero when left out.
    tolerance : float
        Errors of constraints that need no further step [m, rad].
    iterations : int
        Largest number of steps.

    Returns
    -------
    q, qd : ndarray, shape (..., nq) and (..., nv)

    Raises
    ------
    SingularityError
        If the errors do not get smaller: the state is too far away, or singular.
    """
    if not (type(tolerance) is float and tolerance >= 0.0):
        number_of("tolerance", tolerance, "a number, 0 or more,", lambda x: x >= 0.0)
    count_of("iterations", iterations, 0, 10**6)
    states = read_states(model, constraints, {"q": q, "qd": model.zero_velocity if qd is None else qd})
    position, rate = states.arrays["q"], states.arrays["qd"]
    # All in the kernel, unless what it does not know changes with q.
    alone = not (model.custom_joints or constraints.user or constraints.couplings)
    limit, last = tolerance, np.inf
    for attempt in range(iterations + 2):
        step, left, moved = _steps(model, constraints, position, rate, limit, iterations if alone else 0)
        size = left.item() if len(left) == 1 else float(left.max(initial=0.0))
        if alone:
            position = moved
        if size == 0.0:
            break
        if not alone and size >= 0.5 * last and size <= 1e3 * tolerance:
            limit = np.inf
            continue
        if alone or attempt == iterations or (size >= last and attempt > 1):
            raise SingularityError(
                f"model {model.name!r}: projection does not close its loops, {size:.3g} is left; a state close to "
                "closed is expected (assemble finds one)",
                value=size,
            )
        last, position = size, model.integrate(position, np.where(left[:, None] > 0.0, step, 0.0))
    rate = rate + step
    if states.batch == ():
        return position[0], rate[0]
    return position.reshape(*states.batch, model.nq), rate.reshape(*states.batch, model.nv)


def _steps(
    model: Model, constraints: ConstraintSet, q: Array, qd: Array, tolerance: float, iterations: int
) -> tuple[Array, Array, Array]:
    """Return the last steps (B, nv), errors where they are those of positions, else zero (B,), and q (B, nq).

    Of user-defined joints, couplings and user constraints the kernel knows nothing but at the q it is given.
    """
    n, size = model.nv, constraints.table.result_size
    extended = extend(model.custom_joints, q, qd) if model.custom_joints else q
    fixed, values = constraints.fixed_rows(model, q, None)
    extra = Extra(constraints.table.settings, fixed, values, EMPTY, EMPTY, NO_MASK, tolerance, iterations)
    out = np.empty((len(q), size + extended.shape[1]))
    sweep(model.without_gravity(), constraints, (extended, qd, np.zeros((len(q), n))), extra, out)
    return out[:, :n], out[:, size - 2], out[:, size:]


@shown
@dataclass(frozen=True, eq=False)
class Assembly:
    """Result of `assemble`.

    Attributes
    ----------
    q : ndarray, shape (nq,)
        The configuration.
    converged : bool
        Whether all constraints hold there, to the tolerance requested.
    residual : float
        Largest error of a constraint [m or rad].
    worst : str
        Name of the constraint that has it.
    rank : int
        Number of independent constraints there.
    mobility : int
        Number of coordinates that remain free, nv - rank, whether held or not.
    iterations : int
        Number of steps.
    """

    q: Array
    converged: bool
    residual: float
    worst: str
    rank: int
    mobility: int
    iterations: int


@validate_model
def assemble(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    *,
    held: ArrayLike | None = None,
    tolerance: float = 1e-12,
    iterations: int = 200,
) -> Assembly:
    """Find a configuration near `q` that closes the loops.

    Levenberg-Marquardt along `Model.integrate`, on a sum of squares in which a loop closed upside down (an axis
    reversed, a frame turned by half a turn) is no minimum. Round-off of q limits what can be reached to some 1e-15 of
    the size of the mechanism.

    Parameters
    ----------
    model : Model
        The tree.
    constraints : ConstraintSet
        What is to hold.
    q : array-like, shape (nq,)
        Guess. Closed loops usually have several assembly modes; the guess decides.
    held : array-like, optional
        Coordinates that stay as they are: truth values (nv,), or names of joints.
    tolerance : float
        Largest error that counts as closed [m or rad].
    iterations : int
        Largest number of steps.

    Returns
    -------
    Assembly
        With `converged` False where no such configuration was found: the loops may be too short to close.

    Raises
    ------
    InputError, GroupError
        For a wrong shape, NaN, or a quaternion of another norm than one.
    """
    number_of("tolerance", tolerance, "a number, 0 or more,", lambda x: x >= 0.0)
    count_of("iterations", iterations, 0, 10**6)
    states = read_states(model, constraints, {"q": q, "qd": model.zero_velocity})
    if states.batch:
        raise InputError(f"q: one configuration ({model.nq},) is expected, got a batch {states.batch}", name="q")
    state = states.arrays["q"][0].copy()
    free = np.ones(model.nv, np.bool_) if held is None else ~as_mask(model, held, "held")
    tables = constraints.upright_tables()
    error, matrix = _equations(model, constraints, tables, state)
    damping, best, count, goal = 1e-3, float(error @ error), 0, min(1.0, 1e-2 * tolerance)
    while count < iterations:
        if np.abs(error).max(initial=0.0) <= goal:
            break
        count += 1
        u, s, vt = np.linalg.svd(matrix[:, free], full_matrices=False)
        top = float(s.max(initial=0.0))
        if top == 0.0:
            break
        step = np.zeros(model.nv)
        gain = np.where(s > RANK_CUT * top, s / (s * s + damping * top * top), 0.0)
        step[free] = -vt.T @ (gain * (u.T @ error))
        trial = model.integrate(state, step)
        new_error, new_matrix = _equations(model, constraints, tables, trial)
        value = float(new_error @ new_error)
        if value < best:
            improvement = best / max(value, 1e-300)
            state, error, matrix, best = trial, new_error, new_matrix, value
            damping = 0.0 if damping < 1e-12 else damping * (0.01 if improvement > 4.0 else 0.3)
        elif np.abs(error).max() <= tolerance or damping > 1e12:
            break
        else:
            damping = max(10.0 * damping, 1e-10)
    return _report(model, constraints, state, tolerance, count, bool(np.abs(error).max(initial=0.0) <= tolerance))


def _equations(model: Model, constraints: ConstraintSet, tables: tuple[Array, Array], q: Array) -> tuple[Array, Array]:
    states = read_states(model, constraints, {"q": q, "qd": model.zero_velocity})
    loops, scalars = tables
    matrix, values, _ = loop_tables(model, loops, scalars, states.extended, states.arrays["qd"], len(scalars))
    fixed, fixed_values = constraints.fixed_rows(model, states.arrays["q"], None)
    return np.concatenate([values[0, 0], fixed_values[0, :, 0]]), np.concatenate([matrix[0, 1:].T, fixed[0]])


def _report(
    model: Model, constraints: ConstraintSet, q: Array, tolerance: float, count: int, upright: bool
) -> Assembly:
    found = constraint_quantities(model, constraints, q, model.zero_velocity)
    error = np.abs(found.error)
    rank = constraint_rank(found.jacobian)
    residual, worst = 0.0, ""
    for name, part in constraints.slices.items():
        if error[part].max() >= residual:
            residual, worst = float(error[part].max()), name
    return Assembly(q, upright and residual <= tolerance, residual, worst, rank, model.nv - rank, count)


@validate_model
def consistent_velocity(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    held: ArrayLike | None = None,
) -> Array:
    """Return the rates (nv,) nearest to `qd` with A qd = 0, in the metric of the kinetic energy.

    Parameters
    ----------
    model, constraints
        The tree and what holds.
    q, qd : array-like, shape (nq,) and (nv,)
        A closed configuration, and rates.
    held : array-like, optional
        Coordinates whose rates stay as given: truth values (nv,), or names of joints.

    Raises
    ------
    InputError
        If no rates with those held satisfy the constraints; names the worst.
    """
    found = constraint_quantities(model, constraints, q, qd)
    return _nearest(model, constraints, q, qd, found._replace(bias=0.0 * found.bias), held, "qd")


@validate_model
def consistent_acceleration(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    held: ArrayLike | None = None,
) -> Array:
    """Return the accelerations (nv,) nearest to `qdd` with A qdd + dA/dt qd = 0; otherwise as `consistent_velocity`."""
    found = constraint_quantities(model, constraints, q, qd)
    return _nearest(model, constraints, q, qdd, found, held, "qdd")


def _nearest(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    given: ArrayLike,
    found: ConstraintQuantities,
    held: ArrayLike | None,
    name: str,
) -> Array:
    matrix, bias = found.jacobian, found.bias
    x = np.array(as_numbers(by_name(given, model.nv, name, model), name).real)
    if x.shape == (model.nv,):
        require_finite(x, name, model)
    if matrix.ndim != 2 or x.shape != (model.nv,):
        raise InputError(f"{name}: one state is expected, {name} of shape ({model.nv},), got {x.shape}", name=name)
    refuse_upside_down(model, constraints, found.error[None])
    free = np.ones(model.nv, np.bool_) if held is None else ~as_mask(model, held, "held")
    rest = matrix @ x + bias
    terms = np.abs(matrix) @ np.abs(x) + np.abs(bias)
    if free.any():
        # In coordinates y = L^T x the kinetic energy is |y|^2 / 2.
        try:
            factor = np.linalg.cholesky(mass_matrix(model, q)[np.ix_(free, free)])
        except np.linalg.LinAlgError:  # massless parts: the nearest in the coordinates themselves
            factor = np.eye(int(free.sum()))
        scaled = np.linalg.solve(factor, matrix[:, free].T).T
        for _ in range(2):  # the second time for what round-off left
            x[free] -= np.linalg.solve(factor.T, np.linalg.pinv(scaled, RANK_CUT) @ rest)
            rest = matrix @ x + bias
    terms = terms + np.abs(matrix) @ np.abs(x)
    require_result(model, x, terms)
    for key, part in constraints.slices.items():
        if (np.abs(rest[part]) > 1e-8 * terms.max(initial=0.0)).any():
            worst = float(np.abs(rest[part]).max())
            raise InputError(
                f"{name}: no {'rates' if name == 'qd' else 'accelerations'} satisfy constraint {key!r}, "
                f"{worst:.3g} is left; with fewer coordinates held, or in a regular configuration, they may",
                name=key,
                value=worst,
            )
    return x
