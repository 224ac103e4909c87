"""Joints on which efforts act the other way round: no stop by efforts can stop them."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ...errors import LieDynamicsError
from ..robots import Robot, inverse_dynamics

Array = npt.NDArray[np.float64]
KEPT = 12
"""Answers that are looked at."""
FEWEST = 6
"""Below which nothing is said."""
FAST = 0.5
"""Least speed of a joint that is told, over its limit."""
UNLIKE = 0.03
"""How much of the efforts' square a motion may leave that the reversed efforts explain."""
LEAST = 0.02
"""Standard deviation of efforts that tell something, over their limit, or [N m, N] where there is none."""


class Reversal:
    """The last answers, and which joints moved as if their efforts had been the opposite ones.

    Parameters
    ----------
    limit, fastest : ndarray, shape (n,)
        Limits of efforts and velocities [N m, N; rad/s, m/s]; the largest float for none.
    """

    def __init__(self, limit: Array, fastest: Array) -> None:
        self._fast = FAST * fastest
        self._least = LEAST * np.where(limit < np.finfo(float).max, limit, 1.0)
        self._answers: deque[tuple[int, Array, Array, Array]] = deque(maxlen=KEPT)

    def forget(self) -> None:
        """Forget all answers."""
        self._answers.clear()

    def note(self, stamp: int, q: Array, qd: Array, effort: Array) -> None:
        """Take in the state of a time [ns] and what was exerted in answer (n,), which are not copied."""
        self._answers.append((stamp, q, qd, effort))

    def find(self, model: Robot, stamp: int, q: Array, qd: Array) -> npt.NDArray[np.bool_]:
        """Return which joints (n,) moved so until a state.

        The model's efforts of the measured motion are held against those exerted, by the last answer or that before:
        a joint counts that became faster, and where the opposite of these leaves next to nothing, of their mean and
        of how they change. What pushes a joint, from outside or because the model does not know it, would have to be
        twice its effort, and change as that does.
        """
        states = [*self._answers, (stamp, q, qd, qd)]
        count = len(states) - 2
        reversed_ = np.zeros(len(q), bool)
        if count < FEWEST:
            return reversed_
        faster = (np.abs(qd) > self._fast) & (np.abs(qd) > np.abs(states[1][2]))
        if not faster.any():
            return reversed_
        taken = []
        try:
            for first, second in pairwise(states[1:]):
                h = (second[0] - first[0]) * 1e-9
                if h <= 0.0:
                    return reversed_
                place, speed = (first[k] + 0.5 * (second[k] - first[k]) for k in (1, 2))
                taken.append(inverse_dynamics(model, place, speed, (second[2] - first[2]) / h))
        except LieDynamicsError:
            return reversed_
        motion = np.array(taken)
        for late in (0, 1):
            exerted = np.array([x[3] for x in states[1 - late : 1 - late + count]])
            left = motion + exerted
            found = [((x**2).mean(axis=0), x.var(axis=0)) for x in (left, exerted)]
            (rest, wavering), (square, change) = found
            reversed_ |= faster & (rest < UNLIKE * square) & (wavering < UNLIKE * change) & (change > self._least**2)
        return reversed_
