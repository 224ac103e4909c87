"""Delay of efforts, estimated from the response of a robot to jumps of the commanded acceleration."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import LieDynamicsError
from .kernels.signals import within
from .robots import Robot, forward_dynamics

JUMP = 5.0
"""Changes of an acceleration from one state to the next that count, whatever the noise [rad/s^2, m/s^2]."""
LITTLE = 0.1
"""Those that are used until the delay is known well, which count where there is little noise."""
DOUBT = 25.0
"""Weight of the prior delay, the middle of the possible range, before noise is known: 12 times the variance of the
acceleration error [rad^2/s^4, m^2/s^4], as delays are spread over a period."""
PRIOR = 0.25
"""Weight of the noise that is assumed before any is known [states]."""
MEMORY = 30.0
"""Most states over which noise is averaged."""
KNOWN = 20.0
"""Weight of the measurements over that of the prior delay from which on the delay is known well."""
FADING = 0.9
"""Factor by which earlier jumps lose weight with each further one."""
BEYOND = 0.5
"""Largest delay of a jump beyond the period in which it lies; a longer one was a blow [periods]."""
LONGEST = 8
"""Longest delay that is reported [periods]."""


class _State(NamedTuple):
    stamp: int
    q: Array
    qd: Array
    effort: Array
    commanded: Array


@dataclass(slots=True)
class DelayEvidence:
    """Evidence on the delay from jumps of the commanded acceleration.

    Attributes
    ----------
    seen, sure : float
        The sums of z.y and z.x.
    doubt, count : float
        12 times the variance of the acceleration error, and from how many states [rad^2/s^4, m^2/s^4].
    """

    seen: float = 0.0
    sure: float = 0.0
    doubt: float = DOUBT
    count: float = PRIOR


class EffortDelay:
    """Delay of the efforts, by least squares over jumps of the acceleration commanded; see doc/control.md.

    Between two states h apart the effort of the one before acts for D, then that of the first. So the accelerations by
    M^-1 of the latter exceed those measured by D x, x = M^-1 (change of effort) / h. Of both the mean of the intervals
    beside is taken off, by which errors of the model that change slowly vanish, and both are multiplied by the jump,
    free of noise: D = sum z.y / sum z.x. The residual of the former gives the noise, and so how much
    that is beside what was known before.

    Parameters
    ----------
    n : int
        Of coordinates.
    """

    def __init__(self, n: int) -> None:
        self._states: deque[_State] = deque(maxlen=5 + LONGEST)
        self._usual, self._little = np.full(n, JUMP), np.full(n, LITTLE)
        self._whole, self._evidence = 0, DelayEvidence()

    def forget(self) -> None:
        """Forget all: states that come after a gap may be those of another driver."""
        self._states.clear()
        self._evidence = DelayEvidence()

    def note(self, model: Robot, stamp: int, q: Array, qd: Array, effort: Array, commanded: Array) -> bool:
        """Take in a state of a time [ns], its answer, and the acceleration commanded; return whether that says more.

        Parameters
        ----------
        model : Model or MotorDynamics
            One coordinate a joint.
        stamp : int
        q, qd, effort, commanded : ndarray, shape (n,)
            The effort is not copied.
        """
        states, known = self._states, self._evidence
        states.append(_State(stamp, q.copy(), qd.copy(), effort, commanded.copy()))
        if len(states) < 5 + self._whole:
            return False
        jump = states[-3 - self._whole].commanded - states[-4 - self._whole].commanded
        h = (states[-2].stamp - states[-3].stamp) * 1e-9
        if within(jump, self._usual if self.known(h) else self._little) == 1:
            return False
        try:
            before, here, after = (self._difference(model, k) for k in (-4, -3, -2))
        except LieDynamicsError:  # massless links where axes line up, numbers that are too large
            return False
        lacking, slope = (here[i] - 0.5 * (before[i] + after[i]) for i in (0, 1))
        with np.errstate(over="ignore", invalid="ignore"):
            seen, sure = float(jump @ lacking), float(jump @ slope)
            if sure < 0.0:  # as where a jump follows a larger one
                seen, sure = -seen, -sure
            own = min(max(seen / sure, 0.0), h) if sure else 0.0
            left = lacking - own * slope
            noise = float(left @ left)
        if not (math.isfinite(sure) and math.isfinite(noise)):
            return False
        if len(jump) > 1:  # of which one was spent on a delay of its own
            known.doubt += (12.0 * noise / (len(jump) - 1) - known.doubt) / (known.count + 1.0)
            known.count = min(known.count + 1.0, MEMORY)
        if not -BEYOND * h * sure <= seen <= (1.0 + BEYOND) * h * sure:
            return False
        fading = 1.0 - (1.0 - FADING) * min(1.0, h * sure / DOUBT)
        known.seen, known.sure = fading * known.seen + seen, fading * known.sure + sure
        return True

    def _difference(self, model: Robot, k: int) -> tuple[Array, Array]:
        """Return by what the efforts exceed the motion from the k-th state to the next, and what that is a second."""
        states, late = self._states, k - self._whole
        first, second = states[k], states[k + 1]
        h = (second.stamp - first.stamp) * 1e-9
        q, qd = 0.5 * (first.q + second.q), 0.5 * (first.qd + second.qd)
        by_new, by_old = (forward_dynamics(model, q, qd, states[i].effort) for i in (late, late - 1))
        return by_new - (second.qd - first.qd) / h, (by_new - by_old) / h

    def known(self, period: float) -> bool:
        """Return whether what was seen counts much more than what was known before, with a period [s]."""
        return period * self._evidence.sure > KNOWN * self._evidence.doubt

    def between(self, least: float, most: float, period: float) -> float:
        """Return the delay, from `least` to `most` [periods], with which it agrees best; their middle until it is seen.

        So it stays where they are more than a period apart, or beyond `LONGEST`.
        """
        whole, middle, known = math.floor(least), 0.5 * (least + most), self._evidence
        if most > whole + 1 or whole > LONGEST:
            return middle
        if whole != self._whole:
            self._whole, known.seen, known.sure = whole, 0.0, 0.0
        doubt = known.doubt / period
        if not known.sure > 0.0:
            return middle
        found = (known.seen + doubt * (middle - whole) * period) / (known.sure + doubt) / period
        return min(max(whole + found, least), most)
