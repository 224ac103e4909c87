"""Projection: the state nearest to a given one that satisfies the constraints, against the drift of simulations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import SingularityError
from ..lie._arrays import count_of, number_of
from ..model.arguments import validate_model
from ..model.model import Model
from ..model.user_joints import extend
from .constraint_set import ConstraintSet
from .dynamics import EMPTY, NO_MASK, Extra, sweep
from .inputs import read_states


@validate_model
def project_to_constraints(
    model: Model,
    constraints: ConstraintSet,
    q: npt.ArrayLike,
    qd: npt.ArrayLike | None = None,
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
    extended = extend(model, q, qd) if model.custom_joints else q
    fixed, values = constraints.fixed_rows(model, q, None)
    extra = Extra(constraints.table.settings, fixed, values, EMPTY, EMPTY, NO_MASK, tolerance, iterations)
    out = np.empty((len(q), size + extended.shape[1]))
    sweep(model.without_gravity(), constraints, (extended, qd, np.zeros((len(q), n))), extra, out)
    return out[:, :n], out[:, size - 2], out[:, size:]
