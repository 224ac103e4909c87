"""Past desired motions, and the way back. No messages in here."""

from __future__ import annotations

from collections import deque

import numpy as np

from ....core.commands import JointPoints
from ....lie_dynamics.arrays import Array

STEP = 0.005
"""Time of motion between kept positions [s]."""
MOVING = 1e-3
"""Speed of a joint from which on time counts as that of motion [rad/s, m/s]."""
PARTS = 8
"""Pieces of a way back, one polynomial each."""


class PastPath:
    """The desired motion of the last seconds in which something moved."""

    def __init__(self) -> None:
        self._kept: deque[tuple[float, Array, Array]] = deque()
        self._time = 0.0  # of motion [s]

    def forget(self) -> None:
        """Forget all."""
        self._kept.clear()

    def add(self, period: float, position: Array, velocity: Array, seconds: float) -> None:
        """Take in the motion desired a period [s] after the last; of motion beyond some seconds nothing is kept."""
        kept = self._kept
        if kept and float(np.abs(velocity).max()) < MOVING:
            return
        self._time += period
        if kept and self._time - kept[-1][0] < STEP:
            return
        kept.append((self._time, position, velocity))
        while self._time - kept[0][0] > seconds:
            kept.popleft()

    def back(self, duration: float) -> JointPoints | None:
        """Return the way back over all that is kept, in some time [s] from rest to rest; None where nothing moved."""
        if len(self._kept) < 2:
            return None
        time, position, velocity = (np.array(x) for x in zip(*self._kept, strict=True))
        part = np.arange(1, PARTS + 1) / PARTS
        whole = self._time - time[0]
        at = self._time - whole * part**2 * (3.0 - 2.0 * part)
        pace = -whole / duration * 6.0 * part * (1.0 - part)
        n = position.shape[1]
        q, v = (np.column_stack([np.interp(at, time, x[:, j]) for j in range(n)]) for x in (position, velocity))
        return JointPoints(np.arange(n), duration * part, q, pace[:, None] * v)
