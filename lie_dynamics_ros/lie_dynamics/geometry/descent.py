"""Moves a path downhill in energy, with the exact gradient: a guess from which a boundary-value solver converges."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..dynamics.mass_matrix import coriolis_matrix, mass_matrix
from ..model.model import Model

Array = npt.NDArray[np.float64]

_MODES = 16
_ITERATIONS = 200


def path_energy(model: Model, path: Array) -> tuple[float, Array]:
    """Return the energy of a polygon (m + 1, nv) run through in unit time [J], and its gradient (m + 1, nv).

    The sum of m d^T M d / 2 over its sides d, M at their middles. Since d^T (dM/dq_l) d = 2 (C(q, d)^T d)_l with the C
    of Christoffel's symbols, the gradient needs no more than C.
    """
    count, sides, middles = len(path) - 1, np.diff(path, axis=0), 0.5 * (path[1:] + path[:-1])
    momenta = np.einsum("kij,kj->ki", mass_matrix(model, middles), sides)
    bends = 0.5 * np.einsum("kji,kj->ki", coriolis_matrix(model, middles, sides), sides)
    gradient = np.zeros_like(path)
    gradient[1:] += count * (momenta + bends)
    gradient[:-1] += count * (bends - momenta)
    return 0.5 * count * float(np.einsum("ki,ki->", sides, momenta)), gradient


def descend(model: Model, path: Array) -> Array:
    """Return a polygon (m + 1, nv) of nearly least energy near `path`, with the same ends.

    Minimised over the sines that bend it, each divided by its number: in those the Hessian of the energy is well
    conditioned (a multiple of one for a constant mass matrix of one coordinate), so that few steps are enough.
    """
    from scipy.optimize import minimize

    s = np.linspace(0.0, 1.0, len(path))
    k = np.arange(1, min(_MODES, len(path) - 2) + 1)
    sines = np.sin(np.pi * np.outer(s, k)) / k
    sines[[0, -1]] = 0.0

    def objective(x: Array) -> tuple[float, Array]:
        energy, gradient = path_energy(model, path + sines @ x.reshape(len(k), -1))
        return energy, (sines.T @ gradient).ravel()

    start = np.zeros(len(k) * path.shape[1])
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": _ITERATIONS})
    return np.asarray(path + sines @ found.x.reshape(len(k), -1))
