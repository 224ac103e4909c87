"""Derivatives of hybrid dynamics of models with coupled mimic joints, by the dense mass matrix."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...model.model import Model
from ..coupled import coupled_hybrid_dynamics
from .inverse_derivatives import inverse_dynamics_derivatives


def coupled_hybrid_derivatives(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    tau: npt.ArrayLike,
    given: npt.NDArray[np.bool_],
    f_ext: npt.ArrayLike | None,
    threads: int = 1,
) -> tuple[Array, Array]:
    """Return what `HybridDynamicsDerivatives` holds, by a dense solve with those of inverse dynamics."""
    acceleration, force = coupled_hybrid_dynamics(model, q, qd, qdd, tau, given, f_ext, threads)
    at = inverse_dynamics_derivatives(model, q, qd, acceleration, f_ext, threads=threads)
    free, n = ~given, model.nv
    unit = np.broadcast_to(np.eye(n), at.dqdd.shape)
    right = np.concatenate([at.dq, at.dqd, np.where(given, at.dqdd, -unit * free)], axis=-1)
    motion = np.zeros_like(right)
    block = at.dqdd[..., free, :][..., free]
    motion[..., free, :] = -np.linalg.solve(block, right[..., free, :])
    effort = right + at.dqdd @ motion
    motion[..., given, 2 * n :] = unit[..., given, :]
    effort[..., free, : 2 * n] = 0.0
    effort[..., free, 2 * n :] = unit[..., free, :]
    n_columns = (*acceleration.shape[:-1], n, 3, n)
    blocks = (np.swapaxes(x.reshape(n_columns), -3, -2).reshape(*n_columns[:-3], 3 * n, n) for x in (motion, effort))
    along = zip((acceleration, force), blocks, strict=True)
    first, second = (np.concatenate([value[..., None, :], block], axis=-2) for value, block in along)
    return first, second
