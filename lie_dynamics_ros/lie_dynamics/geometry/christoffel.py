"""The mass matrix as a metric: its inverse, its Christoffel symbols, and its derivatives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.derivatives.inverse_derivatives import inverse_dynamics_derivatives
from ..dynamics.derivatives.second_derivatives import inverse_dynamics_second_derivatives
from ..dynamics.derivatives.user_joint_derivatives import extend_twice
from ..dynamics.inputs import Algorithm
from ..dynamics.mass_matrix import mass_matrix
from ..errors import SingularityError
from ..model.arguments import require_coordinates, require_model
from ..model.configuration import shaped
from ..model.model import Model
from .kernels.christoffel import christoffel as _single
from .kernels.christoffel import christoffel_batch as _batch

_SYMBOLS = Algorithm(_batch, "n n n", extension=extend_twice)
_empty = np.empty


def christoffel_symbols(model: Model, q: npt.ArrayLike, *, threads: int = 1) -> Array:
    """Return the Christoffel symbols of the first kind of the mass matrix, in O(nv^3).

    Parameters
    ----------
    model : Model
        The robot, of joints of any kind but ball and free.
    q : array-like, shape (..., nq)
        Configuration [rad, m].
    threads : int
        Threads that share a batch.

    Returns
    -------
    ndarray, shape (..., nv, nv, nv)
        Gamma[i, j, k] = (dM_kj/dq_i + dM_ki/dq_j - dM_ij/dq_k) / 2, PBP (52): symmetric in i and j, the lowered index
        last. ``Gamma_ijk qd_i qd_j`` is the Coriolis force at k, ``Gamma_ijk qd_i`` the entry [k, j] of the Coriolis
        matrix.

    Raises
    ------
    DescriptionError
        For a ball or free joint, whose rates are no derivatives of coordinates; names it.
    InputError
        For a wrong shape, NaN or infinity; names the joint.
    """
    require_model(model)
    if model.plain:
        n = model.nv
        out = _empty((n, n, n))
        if _single(model.table, q, out) == 0:
            return out
    require_coordinates(model, "a table of Christoffel symbols")
    # Where mimics are coupled q is linear in the independent coordinates, so the symbols transform as a tensor.
    return _SYMBOLS.evaluate(model, {"q": q}, threads=threads)[0]


def christoffel_symbols_second_kind(model: Model, q: npt.ArrayLike, *, threads: int = 1) -> Array:
    """Return the symbols with the last index raised, Gamma_ij^k = M^kh Gamma_ijh (..., nv, nv, nv).

    Geodesics of the mass metric obey qdd_k + Gamma_ij^k qd_i qd_j = 0. Other parameters and errors as
    `christoffel_symbols`; raises SingularityError where the mass matrix is singular.
    """
    return raise_last(model, q, christoffel_symbols(model, q, threads=threads), threads)


def christoffel_derivatives(model: Model, q: npt.ArrayLike, *, threads: int = 1) -> Array:
    """Return dGamma/dq (..., nv, nv, nv, nv), entry [l, i, j, k] = dGamma_ijk/dq_l, exact. PBP (53)-(57).

    Other parameters and errors as `christoffel_symbols`.
    """
    require_model(model)
    require_coordinates(model, "a table of Christoffel symbols")
    # Without gravity and accelerations tau_k = Gamma_ijk qd_i qd_j, so d2 tau_k / dq_l dqd_i at qd = e_j is twice that.
    still = model.with_gravity(np.zeros(3))
    at = shaped(q, model.nq, "q", model)[..., None, :]
    found = inverse_dynamics_second_derivatives(still, at, np.eye(model.nv), model.zero_velocity, threads=threads)
    return np.ascontiguousarray(0.5 * np.moveaxis(found.dq_dqd, (-2, -1, -4, -3), (-4, -3, -2, -1)))


def mass_matrix_derivatives(model: Model, q: npt.ArrayLike, *, threads: int = 1) -> Array:
    """Return dM/dq (..., nv, nv, nv), entry [k, i, j] = dM_ij/dq_k = Gamma_kij + Gamma_kji.

    Joints of any kind: derivatives are along `Model.integrate`. Parameters and errors as `mass_matrix`.
    """
    require_model(model)
    if not all(joint.type.steps for joint in model.joints):
        # Column j of M is what acceleration j alone takes, without gravity and rates.
        still = model.with_gravity(np.zeros(3))
        at = shaped(q, model.nq, "q", model)[..., None, :]
        along = inverse_dynamics_derivatives(still, at, model.zero_velocity, np.eye(model.nv), threads=threads).dq
        return np.ascontiguousarray(np.moveaxis(along, (-1, -2, -3), (-3, -2, -1)))
    symbols = christoffel_symbols(model, q, threads=threads)
    return np.asarray(symbols + np.swapaxes(symbols, -1, -2))


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
