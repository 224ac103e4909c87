"""How long efforts take to act, told by what a robot does where the acceleration that is commanded jumps."""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import LieDynamicsError
from .kernels.signals import within
from .robots import Robot, forward_dynamics

Array = npt.NDArray[np.float64]
JUMP = 5.0
"""Changes of an acceleration from one state to the next that tell something [rad/s^2, m/s^2]."""
DOUBT = 25.0
"""What the middle of all delays that may be counts beside what was seen: as much as one of the least jumps."""
FADING = 0.9
"""What is left of what was seen with each further jump."""
BEYOND = 0.5
"""How far beyond the period in which it lies a jump may tell a delay: what tells more was a blow [periods]."""
LONGEST = 8
"""Delays that are told [periods]."""


class _State(NamedTuple):
    stamp: int
    q: Array
    qd: Array
    effort: Array
    commanded: Array


class EffortDelay:
    """Delay of the efforts, by least squares over jumps of the acceleration commanded; see doc/control.md.

    Between two states h apart the effort of the one before acts for D, then that of the first. So the accelerations by
    M^-1 of the latter exceed those measured by D x, x = M^-1 (change of effort) / h. Of both the mean of the intervals
    beside is taken off, by which errors of the model that change slowly vanish, and both are multiplied by the jump,
    which no noise has a part in: D = sum z.y / sum z.x.

    Parameters
    ----------
    n : int
        Of coordinates.
    """

    def __init__(self, n: int) -> None:
        self._states: deque[_State] = deque(maxlen=5 + LONGEST)
        self._usual = np.full(n, JUMP)
        self._seen = self._sure = 0.0
        self._whole = 0

    def forget(self) -> None:
        """Forget all: states that come after a gap may be those of another driver."""
        self._states.clear()
        self._seen = self._sure = 0.0

    def note(self, model: Robot, stamp: int, q: Array, qd: Array, effort: Array, commanded: Array) -> bool:
        """Take in a state of a time [ns], its answer, and the acceleration commanded; tell whether that says more.

        Parameters
        ----------
        model : Model or MotorDynamics
            One coordinate a joint.
        stamp : int
        q, qd, effort, commanded : ndarray, shape (n,)
            The effort is not copied.
        """
        states = self._states
        states.append(_State(stamp, q.copy(), qd.copy(), effort, commanded.copy()))
        if len(states) < 5 + self._whole:
            return False
        jump = states[-3 - self._whole].commanded - states[-4 - self._whole].commanded
        if within(jump, self._usual) == 1:
            return False
        try:
            before, here, after = (self._difference(model, k) for k in (-4, -3, -2))
        except LieDynamicsError:  # massless links where axes line up, numbers that are too large
            return False
        lacking, slope = (here[i] - 0.5 * (before[i] + after[i]) for i in (0, 1))
        with np.errstate(over="ignore", invalid="ignore"):
            seen, sure = float(jump @ lacking), float(jump @ slope)
        h = (states[-2].stamp - states[-3].stamp) * 1e-9
        if not (math.isfinite(sure) and -BEYOND * h * sure <= seen <= (1.0 + BEYOND) * h * sure):
            return False
        self._seen, self._sure = FADING * self._seen + seen, FADING * self._sure + sure
        return True

    def _difference(self, model: Robot, k: int) -> tuple[Array, Array]:
        """Return by what the efforts exceed the motion from the k-th state to the next, and what that is a second."""
        states, late = self._states, k - self._whole
        first, second = states[k], states[k + 1]
        h = (second.stamp - first.stamp) * 1e-9
        q, qd = 0.5 * (first.q + second.q), 0.5 * (first.qd + second.qd)
        by_new, by_old = (forward_dynamics(model, q, qd, states[i].effort) for i in (late, late - 1))
        return by_new - (second.qd - first.qd) / h, (by_new - by_old) / h

    def between(self, least: float, most: float, period: float) -> float:
        """Return the delay, from `least` to `most` [periods], with which it agrees best; their middle until it is seen.

        So it stays where they are more than a period apart, or beyond `LONGEST`.
        """
        whole, middle = math.floor(least), 0.5 * (least + most)
        if most > whole + 1 or whole > LONGEST:
            return middle
        if whole != self._whole:
            self._whole, self._seen, self._sure = whole, 0.0, 0.0
        doubt = DOUBT / period
        if not self._sure > 0.0:
            return middle
        found = (self._seen + doubt * (middle - whole) * period) / (self._sure + doubt) / period
        return min(max(whole + found, least), most)
