"""Constraints at a state: A, dA/dt qd, errors in position and velocity, and wrenches of multipliers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Array, ArrayLike
from ..engine.compile import raise_if_rejected
from ..errors import InputError
from ..lie._arrays import as_numbers
from ..model.arguments import validate_model
from ..model.configuration import require_result
from ..model.model import Model
from ..shown import shown
from .constraint_set import ConstraintSet
from .inputs import States, read_states, refuse_upside_down
from .kernels import loops as lk


@shown
class ConstraintQuantities(NamedTuple):
    """Constraints f(q) = 0 at a state.

    Attributes
    ----------
    jacobian : ndarray, shape (..., m, nv)
        A = df/dq along `Model.integrate`.
    error : ndarray, shape (..., m)
        f(q) [m; rad, or rather sines of angles].
    rate : ndarray, shape (..., m)
        A qd, the error in velocity.
    bias : ndarray, shape (..., m)
        dA/dt qd.
    """

    jacobian: Array
    error: Array
    rate: Array
    bias: Array


@validate_model
def constraint_quantities(
    model: Model, constraints: ConstraintSet, q: ArrayLike, qd: ArrayLike
) -> ConstraintQuantities:
    """Return all that the constraints are at a state, see `ConstraintQuantities`.

    Parameters
    ----------
    model : Model
        The tree.
    constraints : ConstraintSet
        What holds.
    q, qd : array-like, shape (..., nq) and (..., nv)
        Configuration and rates.

    Raises
    ------
    InputError, GroupError
        For a wrong shape, NaN, a quaternion of another norm than one, or numbers whose result overflows.
    """
    states = read_states(model, constraints, {"q": q, "qd": qd})
    found, _ = quantities_of(model, constraints, states)
    require_result(model, *found)
    return ConstraintQuantities(*(np.array(a.reshape(*states.batch, *a.shape[1:]), order="C") for a in found))


def quantities_of(model: Model, constraints: ConstraintSet, states: States) -> tuple[ConstraintQuantities, Array]:
    """Return the quantities, flat over the batch, and the unit wrenches (B, m of the loops, 6)."""
    matrix, values, wrenches = _tables(model, constraints, states)
    jacobian = matrix[:, 1:].swapaxes(1, 2)
    rate = (jacobian @ states.arrays["qd"][..., None])[..., 0]
    return ConstraintQuantities(jacobian, values[:, lk.ERROR], rate, values[:, lk.BIAS]), wrenches


def tables_of(model: Model, constraints: ConstraintSet, states: States) -> tuple[Array, Array, Array]:
    """Return A transposed, a row ahead (B, nv + 1, m), values of `kernels.loops` (B, VALUE_ROWS, m), unit wrenches.

    For dynamics: refuses loops that are closed upside down.
    """
    found = _tables(model, constraints, states)
    refuse_upside_down(model, constraints, found[1][:, lk.ERROR])
    return found


def _tables(model: Model, constraints: ConstraintSet, states: States) -> tuple[Array, Array, Array]:
    q, qd, table = states.extended, states.arrays["qd"], constraints.table
    loops = len(table.scalars)
    found = matrix, values, _ = loop_tables(model, table.loops, table.scalars, q, qd, constraints.size)
    if constraints.size > loops:
        fixed, more = constraints.fixed_rows(model, states.arrays["q"], qd)
        matrix[:, 1:, loops:] = fixed.swapaxes(1, 2)
        values[:, lk.ERROR, loops:], values[:, lk.BIAS, loops:] = more[..., 0], more[..., 1]
    return found


def loop_tables(
    model: Model, loops: Array, scalars: Array, q: Array, qd: Array, size: int
) -> tuple[Array, Array, Array]:
    """Return what `tables_of` does, for loops alone, with room for `size` constraints."""
    count = len(q)
    matrix = np.empty((count, qd.shape[1] + 1, size), q.dtype)
    values = np.empty((count, lk.VALUE_ROWS, size), q.dtype)
    wrenches = np.empty((count, len(scalars), 6), q.dtype)
    if count:
        raise_if_rejected(lk.loop_quantities(model.table, loops, scalars, q, qd, matrix, values, wrenches))
    return matrix, values, wrenches


@validate_model
def constraint_jacobian(model: Model, constraints: ConstraintSet, q: ArrayLike) -> Array:
    """Return A (..., m, nv), the derivative of the constraints along `Model.integrate`; errors as above."""
    return constraint_quantities(model, constraints, q, model.zero_velocity).jacobian


@validate_model
def constraint_bias(model: Model, constraints: ConstraintSet, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return dA/dt qd (..., m); errors as above."""
    return constraint_quantities(model, constraints, q, qd).bias


@validate_model
def constraint_error(
    model: Model, constraints: ConstraintSet, q: ArrayLike, qd: ArrayLike | None = None
) -> Array | tuple[Array, Array]:
    """Return the errors of the constraints (..., m), zero where loops are closed, and with `qd` those in velocity too.

    Lengths in m. Angles enter by their sines, so an error of 1e-6 is one of 1e-6 rad. Beyond a quarter of a turn one of
    a loop's sines is moved by 2.25, away from zero: a loop whose axes point opposite ways, or whose welded frames are
    half a turn apart, has an error of 2.25.
    """
    found = constraint_quantities(model, constraints, q, model.zero_velocity if qd is None else qd)
    return found.error if qd is None else (found.error, found.rate)


@validate_model
def loop_wrenches(model: Model, constraints: ConstraintSet, q: ArrayLike, multipliers: ArrayLike) -> dict[str, Array]:
    """Return the wrench (..., 6) of each cut joint on its second body, in frame 2, by the loop's name [N m, N].

    Parameters
    ----------
    model, constraints, q
        As elsewhere.
    multipliers : array-like, shape (..., m)
        As the constrained algorithms return them.
    """
    states = read_states(model, constraints, {"q": q, "qd": model.zero_velocity})
    _, unit = quantities_of(model, constraints, states)
    unit = unit.reshape(*states.batch, *unit.shape[1:])
    force = as_numbers(multipliers, "multipliers")
    if not np.isfinite(force).all():
        raise InputError(f"multipliers: finite numbers are expected, got {multipliers!r}", name="multipliers")
    if force.shape[-1:] != (constraints.size,):
        raise InputError(f"multipliers: shape (..., {constraints.size}) is expected, got {force.shape}")
    try:
        np.broadcast_shapes(states.batch, force.shape[:-1])
    except ValueError:
        raise InputError(
            f"batch dimensions do not fit each other: q {states.batch}, multipliers {force.shape[:-1]}"
        ) from None
    result = {}
    for loop in constraints.loops:
        part = constraints.slices[loop.name]
        result[loop.name] = np.asarray((force[..., None, part] @ unit[..., part, :])[..., 0, :])
        require_result(model, result[loop.name])
    return result
