"""Effects of the controller's efforts between states, for mode adaptive to learn from; no ROS in here."""

from __future__ import annotations

import math

from ...core.arrays import Array
from ...lie_dynamics.control import AdaptiveController, EffortHistory, SoftLimits
from .gains import Gains


class Observer:
    """The efforts of the last answers, and which of them acted when."""

    def __init__(self, soft: SoftLimits) -> None:
        self._soft = soft
        self._history = EffortHistory()
        self._wrench: Array | None = None
        self._taught: int | None = None  # time of the last state that was learned from [ns]

    def forget(self) -> None:
        """Forget them: what the robot did until the next state is not known."""
        self._history.forget()
        self._wrench = self._taught = None

    def note(self, stamp: int, effort: Array, wrench: Array) -> None:
        """Take note of the answer to the state of a time [ns], without known friction, and of known wrenches."""
        self._history.add(stamp, effort)
        self._wrench = wrench

    def teach(self, learner: AdaptiveController, stamp: int, q: Array, qd: Array, gains: Gains) -> None:
        """Let a controller learn from how the robot came to a state, after that was answered.

        Parameters
        ----------
        learner : AdaptiveController
        stamp : int
            Of the state [ns].
        q, qd : ndarray, shape (n,)
            The state.
        gains : Gains
            Their `delay` is the longest that efforts can take; that they took up to a period less is left open.
        """
        begin, self._taught = self._taught, stamp
        inside = ((q >= self._soft.lower) & (q <= self._soft.upper)).all()  # else a stop may carry part of the robot
        if begin is None or self._wrench is None or not inside:
            learner.observe(q, qd, None, 0.0)
            return
        step, last = 1e9 * gains.usual, max(1, math.ceil(gains.delay))
        acted = self._history.mean(begin, stamp, gains.delay * step)
        later, earlier = (self._history.mean(begin, stamp, x * step) for x in (last, last - 1))
        if acted is None or later is None or earlier is None:
            learner.observe(q, qd, None, 0.0)
        else:
            learner.observe(q, qd, acted + self._wrench, (stamp - begin) * 1e-9, earlier - later)
