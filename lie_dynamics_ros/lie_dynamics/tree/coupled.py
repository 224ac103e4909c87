"""Hybrid dynamics of models with coupled mimic joints, by the dense mass matrix."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import InputError, SingularityError
from ..model.model import Model

Array = npt.NDArray[np.float64]

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
) -> tuple[Array, Array]:
    """Return complete qdd and tau, as `hybrid_dynamics`, from M qdd + b = tau. Kim (33), (34)."""
    from .inverse_dynamics import inverse_dynamics
    from .mass_matrix import mass_matrix

    matrix = mass_matrix(model, q)
    bias = inverse_dynamics(model, q, qd, model._zero, f_ext)
    free = ~given
    shape = np.broadcast_shapes(bias.shape, np.shape(qdd), np.shape(tau), (*matrix.shape[:-2], model.nv))
    acceleration = np.where(given, np.broadcast_to(qdd, shape), 0.0)
    wanted = np.where(free, np.broadcast_to(tau, shape), 0.0)
    for name, array in (("qdd", acceleration), ("tau", wanted)):
        if not np.isfinite(array).all():
            raise InputError(f"{name}: finite numbers are expected where they are read", name=name)
    rest = wanted - bias - (matrix @ acceleration[..., None])[..., 0]
    block = matrix[..., free, :][..., free]
    if block.size and np.linalg.cond(block).max() > _WORST_CONDITION:
        raise SingularityError(f"model {model.name!r}: the mass matrix is singular at coordinates whose force is given")
    solved = np.linalg.solve(np.broadcast_to(block, (*shape[:-1], *block.shape[-2:])), rest[..., free, None])
    acceleration[..., free] = solved[..., 0]
    force = (matrix @ acceleration[..., None])[..., 0] + bias
    return acceleration, np.where(free, wanted, force)
