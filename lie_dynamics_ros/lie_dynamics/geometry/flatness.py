"""Flatness: whether a change of coordinates removes the Coriolis forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.mass_matrix import mass_matrix
from ..errors import InputError
from ..lie._arrays import flatten_batch
from ..model import layout
from ..model.arguments import validate_model
from ..model.configuration import checked
from ..model.model import Model
from .curvature import curvature_tensor

#: Curvature below this part of the terms it is the sum of counts as round-off.
TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Flatness:
    """Answer of `is_flat`; true in a condition where the metric is flat.

    Attributes
    ----------
    flat : bool
        Whether the curvature vanished at every configuration that was tried.
    ratio : float
        Largest curvature found, as a part of the largest the robot's screws and masses allow (at most about one).
    q : ndarray, shape (nq,)
        Where it was found.
    tried : int
        Number of configurations.
    """

    flat: bool
    ratio: float
    q: Array
    tried: int

    def __bool__(self) -> bool:
        return self.flat


@validate_model
def is_flat(model: Model, q: npt.ArrayLike | None = None, *, samples: int = 20, seed: int = 0) -> Flatness:
    """Return whether the mass metric is flat: whether coordinates exist in which M is constant and C vanishes.

    They exist (locally) exactly where the Riemann curvature vanishes, as Spong (1992) pointed out for robots.

    Parameters
    ----------
    model : Model
        As for `curvature_tensor`.
    q : array-like, shape (..., nq), optional
        Configurations to try; random ones when left out. The curvature is analytic in q, so for a connected set of
        configurations a random one that shows none all but proves that there is none.
    samples, seed : int
        Number of random configurations, and the seed of the generator they come from.

    Returns
    -------
    Flatness
        The answer, and the worst configuration.

    Raises
    ------
    DescriptionError, InputError, GroupError, SingularityError
        As `curvature_tensor`.
    """
    if q is None:
        rng = np.random.default_rng(seed)
        states = np.array([model.random(rng) for _ in range(samples)])
    else:
        states = flatten_batch(checked(q, model.nq, "q", model))
    if not len(states):
        raise InputError("q: at least one configuration is expected", name="q", value=q)
    worst, where = 0.0, states[0]
    for state in states:  # one at a time: a tensor of forty coordinates takes 20 MB
        bound = _bound(model, state)
        tensor = np.abs(curvature_tensor(model, state))
        ratio = float(np.max(np.divide(tensor, bound, out=np.zeros_like(tensor), where=bound > 0.0), initial=0.0))
        if ratio > worst:
            worst, where = ratio, state
    return Flatness(worst <= TOLERANCE, worst, where.copy(), len(states))


def _bound(model: Model, q: Array) -> Array:
    """Return b_ik b_jl + b_il b_jk: no term of R_ijkl is larger, since |x_ij| <= |w_i| |x_j| for i before j."""
    turning = np.linalg.norm(model.rows[1:, layout.SUBSPACE : layout.SUBSPACE + 3], axis=1)
    speed = np.sqrt(np.diagonal(mass_matrix(model, q)))
    if model.coupling is not None:  # no bound any more, but of the size of the terms
        rates = np.abs(model.coupling.rates)
        turning, speed = turning @ rates, np.full(model.nv, speed.max() * max(1.0, rates.max()))
    bend = turning[:, None] * speed
    bend = np.maximum(bend, bend.T) if model.coupling is not None else np.triu(bend) + np.triu(bend, 1).T
    return np.asarray(np.einsum("ik,jl->ijkl", bend, bend) + np.einsum("il,jk->ijkl", bend, bend))
