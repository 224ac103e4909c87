"""Limits of positions that brake before the stop."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .signal_kernels import within

Array = npt.NDArray[np.float64]

APPROACH = 10.0
"""Largest speed towards a limit, over the distance to it [1/s]."""


class SoftLimits:
    """Accelerations that keep joints from their stops.

    A joint may approach a limit at the speed k d, with d the distance left and k = `APPROACH`, or at the speed that is
    desired of it, if that is more: so the motion dies away by exp(-k t), and desired motions within the limits stay as
    they are. What is beyond this speed w is taken away by an acceleration -r w, at the rate r. Beyond the limit k d is
    negative: there the joint is led back, unless it is desired there.

    Parameters
    ----------
    lower, upper : ndarray, shape (n,)
        [rad, m]; infinite for none.
    """

    def __init__(self, lower: Array, upper: Array) -> None:
        self.lower, self.upper = lower, upper
        finite = np.isfinite(lower) & np.isfinite(upper)
        self._center = np.where(finite, 0.5 * (lower + upper), 0.0)
        self._half = np.where(finite, 0.5 * (upper - lower), np.inf)
        self._usual = np.where(np.isfinite(lower) | np.isfinite(upper), np.where(finite, self._half, -1.0), np.inf)
        self._usual = np.minimum(self._usual, np.finfo(float).max)

    def acceleration(self, position: Array, velocity: Array, rate: float, desired: Array | None = None) -> Array | None:
        """Return the braking acceleration (n,), or None where no joint needs any.

        Parameters
        ----------
        position, velocity : ndarray, shape (n,)
        rate : float
            r [1/s].
        desired : ndarray, shape (n,), optional
            Desired velocity, where a motion is followed.
        """
        # Where the joint would be after 1/k at its speed is inside: nothing to do.
        if within(position + velocity / APPROACH - self._center, self._usual) == 1:
            return None
        up, down = APPROACH * (self.upper - position), APPROACH * (position - self.lower)
        if desired is not None:
            up, down = np.maximum(up, desired), np.maximum(down, -desired)
        excess = np.maximum(velocity - up, 0.0) - np.maximum(-velocity - down, 0.0)
        return -rate * excess if excess.any() else None

    def inside(self, position: Array, margin: float) -> bool:
        """Tell whether all joints with limits on both sides are within them, or beyond by `margin` at most."""
        return within(position - self._center, self._usual + margin) == 1
