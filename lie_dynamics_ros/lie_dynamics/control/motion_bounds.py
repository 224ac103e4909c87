"""Accelerations that keep joints within limits of position and speed, as near as possible to those wanted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array
from ..engine.compile import raise_if_rejected
from .kernels.laws import DONE
from .kernels.nearest import LIMITS, WORK_ROWS, motion_bounds, nearest_within
from .kernels.signals import APPROACH

BACK = 0.02
"""Distance beyond a limit from which on a joint is led back at full speed [rad, m]."""


class MotionBounds:
    """Bounds of the accelerations of a robot's joints.

    At the distance d from a limit a joint may move towards it at k d, k = `APPROACH`, and at its largest speed w. With

        a <= r (k d - v) - k v   and   a <= s (w - v)

    upwards, and the same downwards, k d - v and w - v stay positive, or become so at the rates r and s.

    Parameters
    ----------
    lower, upper : ndarray, shape (n,)
        [rad, m]; infinite for none.
    speed : ndarray, shape (n,)
        [rad/s, m/s]; infinite for none.
    """

    def __init__(self, lower: Array, upper: Array, speed: Array) -> None:
        self._limits, n = np.array([lower, upper, speed]), len(lower)
        assert len(self._limits) == LIMITS
        self._bounds, self._work, self._factor = np.empty((2, n)), np.empty((WORK_ROWS, n)), np.empty((n, n))
        self._nearest(np.eye(n), np.zeros(n), np.zeros((2, n)))  # so that nothing is compiled when it is needed

    def nearest(
        self, metric: Callable[[], Array], wanted: Array, q: Array, qd: Array, brake: float, slow: float
    ) -> Array:
        """Return the acceleration within the bounds with the least (a - wanted)^T W (a - wanted).

        With the mass matrix for W that is what joints do which meet ideal stops: Gauss's principle of least constraint.

        Parameters
        ----------
        metric : callable
            Returns W (n, n), positive definite; called where it is needed.
        wanted, q, qd : ndarray, shape (n,)
        brake, slow : float
            r and s [1/s].

        Returns
        -------
        ndarray, shape (n,)
            `wanted` itself where that is within.
        """
        bounds, rates = self._bounds, np.array([APPROACH, brake, slow, BACK])
        if motion_bounds(wanted, q, qd, self._limits, rates, bounds) == DONE:
            return wanted
        return self._nearest(metric(), wanted, bounds)

    def _nearest(self, metric: Array, wanted: Array, bounds: Array) -> Array:
        found = np.empty(len(wanted))
        # Within, in any case.
        raise_if_rejected(nearest_within(metric, wanted, bounds[0], bounds[1], found, self._factor, self._work))
        return found
