"""Solving with the mass matrix by forward dynamics, without forming it."""

from __future__ import annotations

import numpy.typing as npt

from ..arrays import Array
from ..model.arguments import require_model
from ..model.model import Model
from .forward_dynamics import forward_dynamics


def solve_mass_matrix(model: Model, q: npt.ArrayLike, force: npt.ArrayLike, *, threads: int = 1) -> Array:
    """Return x (..., nv) with M(q) x = `force` (..., nv), in O(n) for each vector and without forming M.

    The articulated-body recursion of Kim Table 3 at rest and without gravity. Batch axes of `q` and `force` are
    broadcast: pass `q` with one axis more to solve for several vectors at one configuration.

    Raises
    ------
    InputError, GroupError, SingularityError
        As `forward_dynamics`.
    """
    require_model(model)
    return forward_dynamics(model._without_gravity(), q, model.zero_velocity, force, threads=threads)
