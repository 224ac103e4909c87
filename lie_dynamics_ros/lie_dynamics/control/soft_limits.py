"""Limits of positions that brake before the stop."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .kernels.signals import APPROACH, comes_to_rest_within


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

    Attributes
    ----------
    center, usual : ndarray, shape (n,)
        Middle of the range, and half of it: where a joint is within that, it is within its limits. Half the range is
        negative, as good as no room, where there is a limit on one side only, which has to be looked at each time.
    """

    def __init__(self, lower: Array, upper: Array) -> None:
        self.lower, self.upper = lower, upper
        below, above = np.isfinite(lower), np.isfinite(upper)
        self.center = 0.5 * (np.where(below & above, lower, 0.0) + np.where(below & above, upper, 0.0))
        self.usual = np.where(below & above, upper - self.center, np.where(below | above, -1.0, np.finfo(float).max))

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
        if comes_to_rest_within(position, velocity, self.center, self.usual) == 1:
            return None
        up = np.maximum(APPROACH * (self.upper - position), 0.0)
        down = np.maximum(APPROACH * (position - self.lower), 0.0)
        if desired is not None:
            up, down = np.maximum(up, desired), np.maximum(down, -desired)
        excess = np.maximum(velocity - up, 0.0) - np.maximum(-velocity - down, 0.0)
        return -rate * excess if excess.any() else None
