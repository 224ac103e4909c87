"""Projection: the state nearest to a given one that satisfies the constraints, against the drift of simulations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import SingularityError
from ..model.model import Model
from .constraint_set import ConstraintSet
from .forward import run
from .inputs import States, read_states
from .quantities import quantities_of

Array = npt.NDArray[np.float64]


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
    states = read_states(model, constraints, {"q": q, "qd": model._zero if qd is None else qd})
    free = model.with_gravity((0.0, 0.0, 0.0))
    position, rate = states.arrays["q"], states.arrays["qd"]
    still = np.zeros_like(rate)
    last = np.inf
    for _ in range(iterations + 1):
        at = read_states(model, constraints, {"q": position, "qd": rate, "tau": still})
        found, _ = quantities_of(model, constraints, at)
        size = float(np.abs(found.error).max(initial=0.0))
        if size <= tolerance or (size >= 0.5 * last and size <= 1e3 * tolerance):
            break
        if size >= last and _ > 1:
            raise SingularityError(
                f"model {model.name!r}: projection does not close its loops, {size:.3g} is left; a state close to "
                "closed is expected",
                value=size,
            )
        last = size
        at = _at_rest(at, still)
        step = run(free, constraints, at, None, None, np.ascontiguousarray(found.error)).qdd
        position = model.integrate(position, step)
    else:
        raise SingularityError(f"model {model.name!r}: projection does not close its loops in {iterations} steps")
    if rate.any():
        at = _at_rest(at, still)
        rate = rate + run(free, constraints, at, None, None, np.ascontiguousarray(found.rate)).qdd
    return position.reshape(*states.batch, model.nq), rate.reshape(*states.batch, model.nv)


def _at_rest(states: States, still: Array) -> States:
    # One flat batch axis, no velocities, no forces: what remains of the dynamics is M x = A^T lambda.
    return States((len(still),), states.extended, {**states.arrays, "qd": still, "tau": still}, states.f_ext)
