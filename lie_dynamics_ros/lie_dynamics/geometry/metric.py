"""The mass matrix as a metric: indices up, and its inverse."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.mass_matrix import mass_matrix
from ..errors import SingularityError
from ..model.model import Model


def cholesky(model: Model, q: npt.ArrayLike, threads: int = 1) -> Array:
    """Return L (..., nv, nv) with L L^T = M.

    Raises
    ------
    SingularityError
        Where the mass matrix is not positive definite, so that it is no metric.
    """
    try:
        return np.asarray(np.linalg.cholesky(mass_matrix(model, q, threads=threads)))
    except np.linalg.LinAlgError:
        raise SingularityError(
            f"model {model.name!r}: the mass matrix is not positive definite, so it is no metric; bodies with inertia, "
            "or an armature, are expected beyond every joint",
            name=model.name,
        ) from None


def inverse_metric(model: Model, q: npt.ArrayLike, threads: int = 1) -> Array:
    """Return M^-1 (..., nv, nv); errors as `cholesky`."""
    factor = np.linalg.inv(cholesky(model, q, threads))
    return np.asarray(np.swapaxes(factor, -1, -2) @ factor)


def raise_last(model: Model, q: npt.ArrayLike, tensor: Array, threads: int = 1) -> Array:
    """Return a tensor (..., nv, nv, nv) with its last index raised; errors as `cholesky`."""
    matrix = inverse_metric(model, q, threads)
    return np.asarray(tensor @ matrix[..., None, :, :])
