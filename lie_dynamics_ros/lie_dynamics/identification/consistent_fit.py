"""Least squares for parameters that bodies and drives can have: convex, with one answer."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import LieDynamicsError
from ..lie import inertial_parameters
from . import consistency
from .newton import minimize

#: By which the weight of the references falls: with more, steps lead beside the barriers, and hundreds along them.
_STEP = 2.0


def consistent_fit(
    R: Array,
    z: Array,
    J0: Array,
    guess: Array,
    free: npt.NDArray[np.bool_],
    weight: float,
    start: Array | None = None,
) -> tuple[Array, int]:
    """Minimise half of |R x - z|^2 plus weight times divergences; return the parameters and the number of steps.

    Parameters
    ----------
    R, z : ndarray, shape (r, 10 k + m), (r,)
        Equations of the parameters x: ten for each of k bodies, and m coefficients.
    J0 : ndarray, shape (k, 4, 4)
        Reference of each body, see `consistency`.
    guess : ndarray, shape (m,)
        Size of each coefficient, positive.
    free : ndarray of bool, shape (m,)
        Coefficients of either sign, which are drawn to zero; the others are positive.
    weight : float
        Of the divergences.
    start : ndarray, shape (10 k + m,), optional
        The answer to equations that are nearly the same; from the references on when left out.
    """
    size, divergence = 10 * len(J0), consistency.Divergence(J0)
    first = np.concatenate([inertial_parameters.from_pseudo_inertia(J0).ravel(), np.where(free, 0.0, guess)])
    square = R.T @ R
    weights = [weight]
    while weights[-1] < 0.5 * ((R @ first - z) ** 2).sum():
        weights.append(_STEP * weights[-1])

    def value(x: Array, weight: float) -> float:
        J, c = np.tensordot(x[:size].reshape(-1, 10), consistency.BASIS, 1), x[size:]
        if (c[~free] <= 0.0).any():
            return np.inf
        ratio = c / guess
        prior = divergence.value(J) + (ratio - np.log(np.where(free, 1.0, ratio)) - 1.0)[~free].sum()
        return float(0.5 * ((R @ x - z) ** 2).sum() + weight * (prior + 0.5 * (ratio[free] ** 2).sum()))

    def slopes(x: Array, weight: float) -> tuple[Array, Array]:
        gradient, hessian = R.T @ (R @ x - z), square.copy()
        J, c = np.tensordot(x[:size].reshape(-1, 10), consistency.BASIS, 1), x[size:]
        first, second = divergence.slopes(J)
        gradient[:size] += weight * first.ravel()
        for k in range(len(J0)):
            hessian[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] += weight * second[k]
        gradient[size:] += weight * np.where(free, c / guess**2, 1.0 / guess - 1.0 / np.where(free, 1.0, c))
        at = np.arange(size, size + guess.size)
        hessian[at, at] += weight * np.where(free, 1.0 / guess**2, 1.0 / np.where(free, 1.0, c) ** 2)
        return gradient, hessian

    if start is not None and value(start, weight) < value(first, weight):
        try:
            return minimize(partial(value, weight=weight), partial(slopes, weight=weight), start)
        except LieDynamicsError:  # too near to barriers
            pass
    # From the references on, weights falling: where data want what no body has, this is the short way there.
    x, steps = first, 0
    for k, w in enumerate(reversed(weights), start=1):
        enough = 0.0 if k == len(weights) else 0.1 * w
        x, more = minimize(partial(value, weight=w), partial(slopes, weight=w), x, enough)
        steps += more
    return x, steps
