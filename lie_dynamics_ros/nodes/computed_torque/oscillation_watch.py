"""Oscillation that feedback feeds: found in its efforts, in every phase, and answered by lower gains."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ...core.arrays import Array
from ...lie_dynamics.control.kernels.oscillation import DIRECTION, LARGEST_SWING, count_turns
from ...lie_dynamics.control.kernels.oscillation import TURNS as TURNS_ROW

SWING = 0.04
"""Smallest swing of an effort that counts, from turn to turn, over the effort limit."""
STOP_SWING, SMALL = 5e-4, 0.005
"""The same in a stop, where nothing is to move; swings below the second hardly lower gains."""
MEMORY = 0.5
"""Time in which turns are forgotten [s]."""
TURNS = 10.0
"""Turns within the memory from which on a joint oscillates; a motion, a push and a stop have fewer."""
SHOWN, VIOLENT = 4.0, 0.25
"""Further turns that it takes to lower gains again, with swings below the second."""
LEAST_FACTOR = 0.1
"""Factor below which gains are not lowered."""
LIMPEST, LIMP = 0.005, 0.1
"""Factor below which a stop has let go; and after what time without oscillation it takes hold again [s]."""
LEAST_BY_SMALL = 0.2
"""Factor below which swings below `SMALL` do not lower gains."""
CALM = 2.0
"""Time without oscillation after which gains rise again [s]."""
RISE = 1.0
"""Time in which they double then [s]."""
REGAINED = 0.7
"""Part of the factor at which an oscillation began that gains rise to at most."""


@dataclass
class OscillationState:
    """State of the watch.

    Attributes
    ----------
    size : int
        Number of joints n.
    swing : float
        Smallest swing that counts.
    least : float
        Least factor.
    factor, ceiling : float
        By which rates of feedback are multiplied, and what that may rise to.
    calm : float
        Time since the last oscillation [s].
    table : ndarray, shape (5, n)
        As `count_turns` says.
    """

    size: int
    swing: float = SWING
    least: float = LEAST_FACTOR
    factor: float = 1.0
    ceiling: float = 1.0
    calm: float = CALM
    table: Array = field(init=False)

    def __post_init__(self) -> None:
        self.table = np.zeros((5, self.size))
        self.table[DIRECTION] = 1.0


class OscillationWatch:
    """Counts how often the efforts of feedback turn round, and lowers gains while they do so again and again.

    Parameters
    ----------
    scale : ndarray, shape (n,)
        What is much for a joint, such as its effort limit [N m, N].
    """

    def __init__(self, scale: Array) -> None:
        self._per_scale, self._quiet = 1.0 / scale, np.zeros(len(scale))
        self._numbers = np.array([0.0, 0.0, TURNS, 0.0])
        self.reset()

    def reset(self) -> None:
        """Begin afresh, with gains as they are requested."""
        self.state = self._other = OscillationState(len(self._per_scale))

    def begin(self, stop: bool) -> None:
        """Watch a stop, which has gains of its own, or go on where the last one began."""
        fresh = OscillationState(len(self._per_scale), STOP_SWING, LIMPEST)
        fresh.table[:] = self.state.table  # an oscillation goes on
        self._other, self.state = self.state, fresh if stop else self._other

    @property
    def factor(self) -> float:
        """Factor of the rates of feedback."""
        return self.state.factor

    def update(self, feedback: Array, period: float, rises: bool = True, noise: Array | None = None) -> bool:
        """Take note of efforts of feedback (n,) [N m, N]; return whether `factor` has changed.

        Parameters
        ----------
        feedback : ndarray, shape (n,)
            Efforts beyond those of the desired motion.
        period : float
            Since the last call [s].
        rises : bool
            Whether gains may rise; not in stops.
        noise : ndarray, shape (n,), optional
            How far noise of sensors makes these efforts swing [N m, N], which lower gains need not end.
        """
        s, numbers = self.state, self._numbers
        s.calm += period
        before = s.factor
        numbers[0], numbers[1] = s.swing, math.exp(-period / MEMORY)
        noise = self._quiet if noise is None else noise
        found = count_turns(s.table, numbers, feedback, self._per_scale, noise)
        if found < 0:  # arrays of another layout, or one number for all joints
            plain = (np.array(np.broadcast_to(x, s.size), dtype=float) for x in (feedback, self._per_scale, noise))
            found = count_turns(s.table, numbers, *plain)
        if found == 1:
            if s.calm >= CALM:
                s.ceiling = REGAINED * s.factor
            swing = max(float(numbers[LARGEST_SWING]), s.swing)
            least = s.least if swing > SMALL else max(s.least, LEAST_BY_SMALL)
            s.factor = min(s.factor, max(least, s.factor * min(0.9, max(0.5, (max(s.swing, SMALL) / swing) ** 0.25))))
            s.calm = 0.0
            if swing < VIOLENT:  # whether it helped is to be seen
                s.table[TURNS_ROW] = np.minimum(s.table[TURNS_ROW], TURNS - SHOWN)
        if s.factor < LEAST_FACTOR and s.calm >= LIMP:
            s.factor = min(LEAST_FACTOR, s.factor * math.exp(period / LIMP))
        if rises and s.factor < s.ceiling and s.calm >= CALM:
            s.factor = min(s.ceiling, s.factor * 2.0 ** (period / RISE))
        return s.factor != before
