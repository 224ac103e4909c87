"""Second derivatives of inverse dynamics, in full and contracted with a vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..kernels.second_derivatives import second_derivatives_batch as _batch
from ..lie._arrays import as_numbers
from ..model.arguments import of_model
from ..model.configuration import shaped
from ..model.model import Model
from .inputs import evaluate

Array = npt.NDArray[np.float64]


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


@of_model
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
    qd and qdd or along qdd twice, are zero.

    Parameters
    ----------
    model : Model
        The robot; without user-defined joints, whose third derivatives would be needed.
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
        As `inverse_dynamics`; also for a model with user-defined joints.
    """
    for joint in model.joints:
        if joint.type.custom is not None:
            raise InputError(
                f"joint {joint.name!r} is user-defined: second derivatives of the dynamics need third derivatives of "
                "its motion, which are not given",
                name=joint.name,
            )
    inputs = {"q": q, "qd": qd, "qdd": qdd}
    if vector is None:
        inputs = {
            name: shaped(value, model.nq if name == "q" else model.nv, name, model)[..., None, :]
            for name, value in inputs.items()
        }
        vector = np.eye(model.nv)
        f_ext = None if f_ext is None else as_numbers(f_ext, "f_ext")[..., None, :, :]
    n = model._rows.shape[0] - 1
    (found,) = evaluate(model, _batch, {**inputs, "vector": vector}, [(4, n, n)], f_ext, threads=threads)
    if model._coupling is not None:
        found = model._coupling.rates.T @ found @ model._coupling.rates
    return SecondDerivatives(*(np.ascontiguousarray(found[..., k, :, :]) for k in range(4)))
