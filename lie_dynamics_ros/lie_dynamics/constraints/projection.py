"""Projection: the state nearest to a given one that satisfies the constraints, against the drift of simulations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import SingularityError
from ..lie._arrays import count_of, number_of
from ..model.arguments import of_model
from ..model.model import Model
from ..model.user_joints import extend
from .constraint_set import ConstraintSet
from .forward import run
from .inputs import States, read_states
from .quantities import quantities_of

Array = npt.NDArray[np.float64]


@of_model
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
    number_of("tolerance", tolerance, "a number, 0 or more,", lambda x: x >= 0.0)
    count_of("iterations", iterations, 0, 10**6)
    states = read_states(model, constraints, {"q": q, "qd": model._zero if qd is None else qd})
    free = model.with_gravity((0.0, 0.0, 0.0))
    position, rate = states.arrays["q"], states.arrays["qd"]
    still, last = np.zeros_like(rate), np.inf
    for attempt in range(iterations + 1):
        at = _at(model, position, rate)
        found, _ = quantities_of(model, constraints, at)
        size = float(np.abs(found.error).max(initial=0.0))
        if size <= tolerance or (size >= 0.5 * last and size <= 1e3 * tolerance):
            break
        if attempt == iterations or (size >= last and attempt > 1):
            raise SingularityError(
                f"model {model.name!r}: projection does not close its loops, {size:.3g} is left after {attempt} steps; "
                "a state close to closed is expected",
                value=size,
            )
        last = size
        # No velocities, no forces, no gravity: what remains of the dynamics is M x = A^T lambda.
        step = run(free, constraints, _at(model, position, still), None, None, found.error).qdd
        position = model.integrate(position, step)
    if rate.any():
        rate = rate + run(free, constraints, _at(model, position, still), None, None, found.rate).qdd
    return position.reshape(*states.batch, model.nq), rate.reshape(*states.batch, model.nv)


def _at(model: Model, q: Array, qd: Array) -> States:
    """Return states that need no validation, without forces."""
    extended = extend(model, q, qd) if model._custom else q
    return States((len(q),), extended, {"q": q, "qd": qd, "tau": np.zeros_like(qd)}, np.zeros((0, 0)))
