"""How far efforts that act later than they are meant to throw a motion off, and how late they are, found from that."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..engine.compile import raise_if_rejected
from .kernels import late_errors as k

LONGEST = 0.05  # time between states over which errors are not followed [s]


class LateErrors:
    """Errors of a robot like its model whose efforts act by l seconds later than they are commanded for.

    Feedback M (kp e + kd de/dt) lets them come to e'' + kd e' + kp e = l M^-1 dtau/dt, tau being what the desired
    motion takes. So errors e of a motion say what l is, by least squares; where they are not like that, as of another
    model, they say nothing.
    """

    def __init__(self, size: int) -> None:
        self._table, self._numbers, self._begun = np.zeros((k.ROWS, size)), np.zeros(k.NUMBERS), False

    @property
    def found(self) -> float:
        """By what efforts act later than in the middle of what is possible [s]."""
        return float(self._numbers[k.FOUND])

    @property
    def sure(self) -> float:
        """How sure that is, from 0 to 1."""
        return float(self._numbers[k.SURE])

    def forget(self) -> None:
        """Forget what was found."""
        self.pause()
        self._numbers[:] = 0.0

    def pause(self) -> None:
        """Forget the motion alone: another begins without errors."""
        self._table[:], self._begun = 0.0, False

    def put_back(self, by: float, velocity: Array, acceleration: Array) -> None:
        """Take note that a motion of a velocity and an acceleration (n,) was put back in time [s]."""
        self._table[k.LED] += by * velocity
        self._table[k.LED_RATE] += by * acceleration

    def note(
        self, mass: Array, effort: Array, gains: tuple[Array, Array], error: Array,
        lead: tuple[float, float], period: float, learn: bool,
    ) -> Array:  # fmt: skip
        """Return how large errors may be as efforts are late (n,) [rad, m], after a state.

        Known are its mass matrix (n, n), the effort that the motion takes and the error (n,), and that feedback has the
        ``gains`` kp [1/s^2] and kd [1/s] (n,). Efforts are commanded for a ``lead`` later than in the middle, of which
        it can be off by the second of the two [s]. The last state was a ``period`` [s] before. What is found stays
        where it is not to ``learn``.
        """
        table, numbers = self._table, self._numbers
        if not self._begun or not 0.0 < period <= LONGEST:
            table[:], table[k.LAST], self._begun = 0.0, effort, True
            return np.zeros(len(effort))
        numbers[k.PERIOD], (numbers[k.AHEAD], numbers[k.MOST]), numbers[k.LEARN] = period, lead, learn
        given = (np.ascontiguousarray(x, float) for x in (effort, *gains, error))
        if raise_if_rejected(k.note(table, numbers, np.array(mass, float), *given)):
            self.pause()
        bound: Array = table[k.BOUND].copy()
        return bound
