"""Finds the coefficients of least cost: quasi-Newton steps in coordinates where the Hessian is nearly one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .problem import Multipliers, Problem

Array = npt.NDArray[np.float64]

_ROUNDS = 12
_STEPS = 60
_PUSHES = 30
#: Largest stiffness of limits: beyond, the Hessian has too few digits left.
_STIFFEST = 1e7


def factor(hessian: Array) -> Array:
    """Return L (n, n), L L^T the Hessian, lifted by round-off of its diagonal so that it has one."""
    diagonal = np.einsum("ii->i", hessian).copy()
    largest = diagonal.max(initial=0.0) or 1.0
    scale = np.sqrt(np.where(diagonal > 1e-30 * largest, diagonal, largest))
    unit = hessian / scale / scale[:, None]
    for lift in (1e-13, 1e-10, 1e-7):
        try:
            return np.asarray(scale[:, None] * np.linalg.cholesky(unit + lift * np.eye(len(unit))))
        except np.linalg.LinAlgError:
            continue
    return np.diag(scale)


def descend(problem: Problem, x: Array, given: Multipliers, small: float) -> tuple[Array, float]:
    """Return coefficients (count, nv) near x of least Lagrangian, and what a step more is predicted to gain.

    In y = L^T x, L L^T the Hessian of Gauss and Newton, what is left of the true Hessian beside the unit matrix comes
    from second derivatives of the joint forces, which act on low modes alone: L-BFGS learns it in few steps. L is
    renewed until the gain predicted, g^T H^-1 g / 2, is below `small`.
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import minimize

    gain = before = np.inf
    if not x.size:
        return x, 0.0
    for _ in range(_ROUNDS):
        L, start = factor(problem.hessian(x, given)), x

        def along(y: Array, L: Array = L, start: Array = start) -> Array:
            return np.asarray(start + solve_triangular(L, y, lower=True, trans="T").reshape(start.shape))

        def objective(y: Array, L: Array = L) -> tuple[float, Array]:
            value, gradient = problem.gradient(along(y), given)
            return value, solve_triangular(L, gradient.ravel(), lower=True)

        zero = np.zeros(x.size)
        gain = 0.5 * float(np.sum(objective(zero)[1] ** 2))
        if gain <= small or gain > 0.5 * before:  # found, or no further than round-off lets it
            break
        before = gain
        options = {"maxiter": _STEPS, "maxcor": 30, "ftol": 0.0, "gtol": np.sqrt(0.1 * small / x.size)}
        x = along(minimize(objective, zero, jac=True, method="L-BFGS-B", options=options).x)
    return x, gain


def settle(problem: Problem, x: Array, given: Multipliers, small: float, tight: float) -> tuple[Array, Multipliers]:
    """Return coefficients and multipliers of least cost within the limits, by augmented Lagrangians.

    Limits are kept to `tight` at the points of the quadrature, in units of each limit's scale, unless stiffness ends.
    """
    x, _ = descend(problem, x, given, small)
    before = np.inf
    for _ in range(_PUSHES if problem.bounds else 0):
        values = problem.task.values(problem.task.motion(problem.table, x))
        now = problem.unsettled(values, given)
        given = problem.raised(values, given)
        if now <= tight:
            break
        if now > 0.25 * before and given.stiffness < _STIFFEST:
            given = Multipliers(given.values, 10.0 * given.stiffness)
        before = now
        x, _ = descend(problem, x, given, small)
    return x, given
