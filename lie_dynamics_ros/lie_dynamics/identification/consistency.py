"""Fits whose bodies can exist: least squares, convex, with the divergence of pseudo-inertias as barrier.

``d(J, J0) = tr(J0^-1 J) - log det(J0^-1 J) - 4`` is zero for J = J0, convex in J, and infinite where J stops being
positive definite, that is where no distribution of mass has these parameters any more. It does not depend on units or
on the choice of the body's frame. (Lee, Wensing, Park, "Geometric robot dynamic identification", 2020.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import LieDynamicsError
from ..lie import SpatialInertia, inertial_parameters
from ..model.model import Model

#: Radius of gyration [m] that a reference body has at least in every direction: thin rods and plates get a thickness.
LEAST_RADIUS = 5e-3

#: dJ/dpi, (10, 4, 4).
BASIS: Array = inertial_parameters.pseudo_inertia(np.eye(10))


def reference(inertia: SpatialInertia) -> Array:
    """Return the pseudo-inertia (4, 4) of a body with mass, made thick enough to be positive definite."""
    spread = 0.5 * np.trace(inertia.inertia) * np.eye(3) - inertia.inertia
    values, axes = np.linalg.eigh(spread)
    values = np.maximum(values, inertia.mass * LEAST_RADIUS**2)
    spread = (axes * values) @ axes.T
    thick = SpatialInertia(inertia.mass, inertia.com, np.trace(spread) * np.eye(3) - spread)
    return thick.pseudo_inertia()


def references(model: Model, bodies: Sequence[int]) -> Array:
    """Return the reference (k, 4, 4) of each of some bodies of a model."""
    return np.array([reference(model.inertia(b)) for b in bodies]).reshape(-1, 4, 4)


class Divergence:
    """The sum of d(J, J0) over bodies, of given references.

    Parameters
    ----------
    J0 : ndarray, shape (n, 4, 4)
        References, positive definite.
    """

    def __init__(self, J0: Array) -> None:
        self._inverse = np.linalg.inv(J0)
        self._constant = float(np.linalg.slogdet(J0)[1].sum()) - 4.0 * len(J0)

    def value(self, J: Array) -> float:
        """Return the sum for bodies (n, 4, 4); infinite where one of them is not positive definite."""
        try:
            roots = np.linalg.cholesky(J)
        except np.linalg.LinAlgError:
            return np.inf
        logarithms = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum()
        return float((self._inverse * J).sum() - 2.0 * logarithms + self._constant)

    def slopes(self, J: Array) -> tuple[Array, Array]:
        """Return gradient (n, 10) and Hessian (n, 10, 10) in the parameters of each body."""
        inverse = np.linalg.inv(J)
        gradient = np.einsum("nij,kji->nk", self._inverse - inverse, BASIS)
        turned = inverse[:, None] @ BASIS
        return gradient, np.einsum("nkij,nlji->nkl", turned, turned)


_STEPS = 200
#: Times a step that must still be inside the barriers.
_BEYOND = 1.3


def minimize(
    value: Callable[[Array], float],
    slopes: Callable[[Array], tuple[Array, Array]],
    start: Array,
    enough: float = 0.0,
) -> tuple[Array, int]:
    """Return the minimum of a smooth convex function and the number of steps taken.

    Parameters
    ----------
    value : callable
        The function; infinite where it is not defined.
    slopes : callable
        Its gradient (n,) and positive definite Hessian (n, n).
    start : ndarray, shape (n,)
        A point where it is finite.
    enough : float
        Decrease that another step would bring, below which none is taken; round-off of the value in any case.

    Raises
    ------
    LieDynamicsError
        If 200 steps do not suffice.
    """
    x, now = start, value(start)
    for step in range(_STEPS):
        gradient, hessian = slopes(x)
        size = 1.0 / np.sqrt(np.diag(hessian))  # parameters differ by many orders of magnitude
        direction = -size * np.linalg.solve(hessian * size[:, None] * size, size * gradient)
        decrement = float(-gradient @ direction)
        if decrement <= max(enough, 1e-12 * max(1.0, abs(now))):
            return x, step
        length = 1.0
        while True:
            trial = value(x + length * direction)
            # Right beside a barrier Newton's method comes back by doubling distances: never leave less than a part.
            if trial <= now - 0.1 * length * decrement and value(x + _BEYOND * length * direction) < np.inf:
                break
            length *= 0.5
            if length < 1e-12:  # round-off: no smaller value is to be found
                return x, step
        x, now = x + length * direction, trial
    raise LieDynamicsError(f"identification: {_STEPS} Newton steps did not find the minimum")


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
    size, divergence = 10 * len(J0), Divergence(J0)
    first = np.concatenate([inertial_parameters.from_pseudo_inertia(J0).ravel(), np.where(free, 0.0, guess)])
    square = R.T @ R
    weights = [weight]
    while weights[-1] < 0.5 * ((R @ first - z) ** 2).sum():
        weights.append(_STEP * weights[-1])

    def value(x: Array, weight: float) -> float:
        J, c = np.tensordot(x[:size].reshape(-1, 10), BASIS, 1), x[size:]
        if (c[~free] <= 0.0).any():
            return np.inf
        ratio = c / guess
        prior = divergence.value(J) + (ratio - np.log(np.where(free, 1.0, ratio)) - 1.0)[~free].sum()
        return float(0.5 * ((R @ x - z) ** 2).sum() + weight * (prior + 0.5 * (ratio[free] ** 2).sum()))

    def slopes(x: Array, weight: float) -> tuple[Array, Array]:
        gradient, hessian = R.T @ (R @ x - z), square.copy()
        J, c = np.tensordot(x[:size].reshape(-1, 10), BASIS, 1), x[size:]
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
