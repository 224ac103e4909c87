"""Rates and accelerations of all coordinates of a closed mechanism from those of some, at one configuration."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...model.model import Model
from ..constraint_set import ConstraintSet
from ..idle import HELD
from ..inputs import refuse_upside_down
from ..quantities import constraint_quantities
from ..resolution import RANK_CUT


class ClosedMotion:
    """Motions that keep loops closed: q' = F z and q'' = F z + p, with A F = 0 and A p + dA/dt q' = 0.

    Parameters
    ----------
    model : Model
    constraints : ConstraintSet
    q : ndarray, shape (nq,)
        A closed configuration.

    Attributes
    ----------
    q : ndarray, shape (nq,)

    Raises
    ------
    InputError
        For a loop that is closed upside down.
    """

    def __init__(self, model: Model, constraints: ConstraintSet, q: Array) -> None:
        self._model, self._constraints, self.q = model, constraints, q
        found = constraint_quantities(model, constraints, q, model.zero_velocity)
        refuse_upside_down(model, constraints, found.error[None])
        self._u, self._s, vt = np.linalg.svd(found.jacobian)
        rank = int((self._s > RANK_CUT * self._s.max(initial=0.0)).sum())
        self._held, self._free = vt[:rank], vt[rank:].T
        self._u, self._s = self._u[:, :rank], self._s[:rank]

    @property
    def freedoms(self) -> int:
        """How many the mechanism has."""
        return int(self._free.shape[1])

    def held_by(self, places: npt.NDArray[np.intp]) -> int:
        """Return how many of them joints at places hold."""
        return int(np.linalg.matrix_rank(self._free[places], HELD))

    def left_by(self, places: npt.NDArray[np.intp]) -> Array:
        """Return a basis (nv, k) of the motions that joints at places leave."""
        _, s, vt = np.linalg.svd(self._free[places])
        return np.asarray(self._free @ vt[int((s > HELD).sum()) :].T)

    def gain(self, places: npt.NDArray[np.intp], noise: Array) -> Array:
        """Return the rates (nv, k) that unit rates at places make, by least squares weighted by their noise (k,)."""
        return np.asarray(
            self._free @ np.linalg.pinv(self._free[places] / noise[:, None], HELD * noise.min() / noise.max()) / noise
        )

    def accelerations(self, rates: Array, places: npt.NDArray[np.intp], given: Array) -> Array:
        """Return accelerations (nv,) at rates (nv,) that come nearest to those given at places (k,)."""
        bias = constraint_quantities(self._model, self._constraints, self.q, rates).bias
        found = -self._held.T @ ((self._u.T @ bias) / self._s)
        return np.asarray(found + self._free @ (np.linalg.pinv(self._free[places], HELD) @ (given - found[places])))
