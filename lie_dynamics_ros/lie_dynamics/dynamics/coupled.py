"""Hybrid dynamics of models with coupled mimic joints, by the dense mass matrix."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import InputError, SingularityError
from ..model.configuration import require_finite, shaped
from ..model.model import Model
from .inverse_dynamics import inverse_dynamics
from .mass_matrix import mass_matrix

#: Condition number of the mass matrix beyond which forces give no accelerations worth the name.
_WORST_CONDITION = 1e13


def coupled_hybrid_dynamics(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    tau: npt.ArrayLike,
    given: npt.NDArray[np.bool_],
    f_ext: npt.ArrayLike | None,
    threads: int = 1,
) -> tuple[Array, Array]:
    """Return complete qdd and tau, as `hybrid_dynamics`, from M qdd + b = tau. Kim (33), (34)."""
    qdd, tau = shaped(qdd, model.nv, "qdd", model), shaped(tau, model.nv, "tau", model)
    matrix = mass_matrix(model, q, threads=threads)
    bias = inverse_dynamics(model, q, qd, model.zero_velocity, f_ext, threads=threads)
    free = ~given
    try:
        shape = np.broadcast_shapes(bias.shape, qdd.shape, tau.shape)
    except ValueError:
        listed = f"q and qd {bias.shape[:-1]}, qdd {qdd.shape[:-1]}, tau {tau.shape[:-1]}"
        raise InputError(f"batch dimensions do not fit each other: {listed}") from None
    acceleration = np.where(given, np.broadcast_to(qdd, shape), 0.0)
    wanted = np.where(free, np.broadcast_to(tau, shape), 0.0)
    require_finite(acceleration, "qdd", model)
    require_finite(wanted, "tau", model)
    rest = wanted - bias - (matrix @ acceleration[..., None])[..., 0]
    block = matrix[..., free, :][..., free]
    if block.size and np.linalg.cond(block).max() > _WORST_CONDITION:
        raise SingularityError(f"model {model.name!r}: the mass matrix is singular at coordinates whose force is given")
    solved = np.linalg.solve(np.broadcast_to(block, (*shape[:-1], *block.shape[-2:])), rest[..., free, None])
    acceleration[..., free] = solved[..., 0]
    force = (matrix @ acceleration[..., None])[..., 0] + bias
    return acceleration, np.where(free, wanted, force)
