"""Second derivatives of inverse and forward dynamics, in full and contracted with a vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...lie import so3
from ...lie._arrays import as_numbers
from ...model.arguments import validate_model
from ...model.configuration import shaped
from ...model.model import Model
from ...shown import shown
from ..inputs import evaluate
from ..kernels.derivatives.second_derivatives import second_derivatives_batch as _batch
from .forward_derivatives import forward_dynamics_derivatives
from .user_second_derivatives import user_second_derivatives


@shown
@dataclass(frozen=True, eq=False)
class SecondDerivatives:
    """Second derivatives of joint forces: of one number, (..., nv, nv), or of all, (..., nv, nv, nv), the force first.

    Derivatives along q are along `Model.integrate`, symmetric: those of ``t -> integrate(q, t)`` at t = 0. Where a
    joint is a ball or free, the derivative along one coordinate after the other differs from it by half the derivative
    along the bracket of the two, and is not symmetric.

    Attributes
    ----------
    dq_dq : ndarray
        Along q_j and q_k; symmetric in the last two axes.
    dq_dqd : ndarray
        Along q_j and qd_k.
    dqd_dqd : ndarray
        Along qd_j and qd_k; symmetric.
    dq_dqdd : ndarray
        Along q_j and qdd_k: the derivative of column k of the mass matrix along q_j.
    """

    dq_dq: Array
    dq_dqd: Array
    dqd_dqd: Array
    dq_dqdd: Array


@validate_model
def inverse_dynamics_second_derivatives(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    vector: npt.ArrayLike | None = None,
    f_ext: npt.ArrayLike | None = None,
    *,
    threads: int = 1,
) -> SecondDerivatives:
    """Return the second derivatives of inverse dynamics, of all joint forces or of ``vector . tau``.

    Exact: sums over pairs of coordinates on one branch, O(n d) for each vector and a tree of depth d. All others, along
    qd and qdd or along qdd twice, are zero. Third derivatives of user-defined joints are not given, so those along
    their coordinates follow from `inverse_dynamics_derivatives`, for all joint forces with or without a vector.

    Parameters
    ----------
    model : Model
        The robot.
    q, qd, qdd : array-like, shape (..., nq), (..., nv), (..., nv)
        Motion.
    vector : array-like, shape (..., nv), optional
        What to contract the joint forces with, for instance multipliers of the equations of motion. Left out, all
        joint forces are differentiated, at about the cost of nv vectors in a batch.
    f_ext : array-like, shape (..., n_bodies, 6), optional
        External wrenches on the bodies, constant in their frames.
    threads : int
        Threads that share a batch.

    Returns
    -------
    SecondDerivatives
        With entries (..., nv, nv) for a vector, (..., nv, nv, nv) without, the joint force first.

    Raises
    ------
    InputError, GroupError
        As `inverse_dynamics`.

    Notes
    -----
    The functions of a user-defined joint are asked for its dS up to 0.06 [rad, m] away from q along each of its
    coordinates: entries of `dq_dq` along these are central differences of eighth order of first derivatives, with
    errors of some 1e-11 of the largest entry for functions that bend over a radian or metre. All its other entries are
    differences over any step of what is quadratic or linear, and as good as the first derivatives.
    """
    inputs, contract, wrench = {"q": q, "qd": qd, "qdd": qdd}, vector, f_ext
    if vector is None:
        inputs = {
            name: shaped(value, model.nq if name == "q" else model.nv, name, model)[..., None, :]
            for name, value in inputs.items()
        }
        contract = np.eye(model.nv)
        wrench = None if f_ext is None else as_numbers(f_ext, "f_ext")[..., None, :, :]
    n = model.rows.shape[0] - 1
    (found,) = evaluate(model, _batch, {**inputs, "vector": contract}, [(4, n, n)], wrench, threads=threads)
    if model.coupling is not None:
        found = model.coupling.rates.T @ found @ model.coupling.rates
    _add_rotors(model, found, contract)
    if model.custom_joints:
        whole = user_second_derivatives(model, found[..., 0, :, :], q, qd, qdd, vector, f_ext, threads)
        return SecondDerivatives(*whole)
    return SecondDerivatives(*(np.ascontiguousarray(found[..., k, :, :]) for k in range(4)))


def _add_rotors(model: Model, found: Array, vector: npt.ArrayLike | None) -> None:
    """Add those of a w x v along the position of free joints, contracted."""
    for first, a in () if model.actuation_terms is None else model.actuation_terms.free_rotors:
        turn, slide = slice(first, first + 3), slice(first + 3, first + 6)
        along = a * so3.hat(np.asarray(vector)[..., slide])
        found[..., 2, turn, slide] -= along
        found[..., 2, slide, turn] += along


@dataclass(frozen=True, eq=False)
class ForwardSecondDerivatives:
    """Second derivatives of accelerations: of one number, (..., nv, nv), or of all, (..., nv, nv, nv).

    The acceleration comes first. Derivatives along q are along `Model.integrate`, symmetric, as in `SecondDerivatives`.

    Attributes
    ----------
    dq_dq : ndarray
        Along q_j and q_k; symmetric in the last two axes.
    dq_dqd : ndarray
        Along q_j and qd_k.
    dqd_dqd : ndarray
        Along qd_j and qd_k; symmetric.
    dq_dtau : ndarray
        Along q_j and tau_k: the derivative of column k of the inverse mass matrix along q_j.
    """

    dq_dq: Array
    dq_dqd: Array
    dqd_dqd: Array
    dq_dtau: Array


@validate_model
def forward_dynamics_second_derivatives(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    tau: npt.ArrayLike,
    vector: npt.ArrayLike | None = None,
    f_ext: npt.ArrayLike | None = None,
    *,
    threads: int = 1,
) -> ForwardSecondDerivatives:
    """Return the second derivatives of forward dynamics, of all accelerations or of ``vector . qdd``.

    Those of inverse dynamics, contracted with the inverse mass matrix times the vector, and first derivatives: the
    equation tau = ID(q, qd, qdd(q, qd, tau)), differentiated twice. All others, along qd and tau or along tau twice,
    are zero. At user-defined joints as exact as `inverse_dynamics_second_derivatives`.

    Parameters
    ----------
    model : Model
        The robot.
    q, qd, tau : array-like, shape (..., nq), (..., nv), (..., nv)
        State and joint forces.
    vector : array-like, shape (..., nv), optional
        What to contract the accelerations with, for instance costates. Left out, all accelerations are differentiated.
    f_ext : array-like, shape (..., n_bodies, 6), optional
        External wrenches on the bodies, constant in their frames.
    threads : int
        Threads that share a batch.

    Returns
    -------
    ForwardSecondDerivatives
        With entries (..., nv, nv) for a vector, (..., nv, nv, nv) without, the acceleration first.

    Raises
    ------
    InputError, GroupError, SingularityError
        As `forward_dynamics_derivatives`.
    """
    first = forward_dynamics_derivatives(model, q, qd, tau, f_ext, threads=threads)
    along_q, along_qd, inverse = first.dq, first.dqd, first.dtau
    q, qd, qdd, wrench = shaped(q, model.nq, "q", model), shaped(qd, model.nv, "qd", model), first.qdd, f_ext
    if vector is None:
        vectors = inverse
        q, qd, qdd = q[..., None, :], qd[..., None, :], qdd[..., None, :]
        wrench = None if f_ext is None else as_numbers(f_ext, "f_ext")[..., None, :, :]
        along_q, along_qd, inverse = along_q[..., None, :, :], along_qd[..., None, :, :], inverse[..., None, :, :]
    else:
        vectors = (inverse @ shaped(vector, model.nv, "vector", model)[..., None])[..., 0]
    d = inverse_dynamics_second_derivatives(model, q, qd, qdd, vectors, wrench, threads=threads)
    bent, mixed = d.dq_dqdd @ along_q, d.dq_dqdd @ along_qd
    # in place: the memory of large tensors costs more than their sums
    for part in (bent, np.swapaxes(bent, -1, -2)):
        np.add(d.dq_dq, part, out=d.dq_dq)
    np.add(mixed, d.dq_dqd, out=mixed)
    for whole in (d.dq_dq, mixed, d.dqd_dqd):
        np.negative(whole, out=whole)
    return ForwardSecondDerivatives(d.dq_dq, mixed, d.dqd_dqd, d.dq_dqdd @ -inverse)
