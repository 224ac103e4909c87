"""Distance of a body from a reference that no step can make unphysical: the divergence of pseudo-inertias.

``d(J, J0) = tr(J0^-1 J) - log det(J0^-1 J) - 4`` is zero for J = J0, convex in J, and infinite where J stops being
positive definite, that is where no distribution of mass has these parameters any more. It does not depend on units or
on the choice of the body's frame. (Lee, Wensing, Park, "Geometric robot dynamic identification", 2020.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array
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
