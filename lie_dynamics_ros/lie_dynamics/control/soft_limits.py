"""Limits of positions that brake before the stop."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .signal_kernels import within

Array = npt.NDArray[np.float64]

APPROACH = 5.0
"""Largest speed towards a limit, over the distance to it [1/s]."""


class SoftLimits:
    """Accelerations that keep joints from their stops.

    A joint may approach a limit at the speed k d, with d the distance left and k = `APPROACH`, or at the speed that is
    desired of it, if that is more: so the motion dies away by exp(-k t), and desired motions within the limits stay as
    they are. What is beyond this speed w is taken away by an acceleration -r w, at the rate r, which without overshoot
    is 4 k at least. Beyond the limit a joint
    is kept from going on, and not led back: whoever guides it there, or starts it there, is not surprised.

    Parameters
    ----------
    lower, upper : ndarray, shape (n,)
        [rad, m]; infinite for none.
    """

    def __init__(self, lower: Array, upper: Array) -> None:
        self.lower, self.upper = lower, upper
        below, above = np.isfinite(lower), np.isfinite(upper)
        self._center = 0.5 * (np.where(below & above, lower, 0.0) + np.where(below & above, upper, 0.0))
        # Half the range; as good as no room where there is a limit on one side only, which is looked at each time.
        self._usual = np.where(below & above, upper - self._center, np.where(below | above, -1.0, np.finfo(float).max))

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
        up = np.maximum(APPROACH * (self.upper - position), 0.0)
        down = np.maximum(APPROACH * (position - self.lower), 0.0)
        if desired is not None:
            up, down = np.maximum(up, desired), np.maximum(down, -desired)
        excess = np.maximum(velocity - up, 0.0) - np.maximum(-velocity - down, 0.0)
        return -rate * excess if excess.any() else None

    def inside(self, position: Array, margin: float) -> bool:
        """Tell at a glance whether all joints are within their limits, or beyond by `margin` at most.

        False where a joint has a limit on one side only, and has to be looked at more closely.
        """
        return within(position - self._center, self._usual + margin) == 1
