"""Joints on which efforts act the other way round: no stop by efforts can stop them."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import LieDynamicsError
from .robots import Robot, inverse_dynamics

KEPT = 12  # answers that are looked at
FEWEST = 6  # motions below which no result is given
LATEST = 2  # longest delay of efforts [periods]; halves of them, too
FAST = 0.5  # least speed of a joint that is tested, over its limit
#: Motion of a reversed joint over that by its efforts: less with the inertia of its drive, which few models have.
SHARES = (-2.0, -0.4)
UNLIKE = 0.05  # largest part of the motion's variance that those efforts leave unexplained
APART = 0.5  # largest other part of the motion, by friction or a payload, over that by those efforts
LEAST = 0.02  # least standard deviation of efforts that count, over their limit, or [N m, N] where there is none
TRIED = 6  # motions of a joint on trial that are looked at
#: Change of motion of a reversed joint when it is let go, over its efforts' share; other joints: the other sign.
FREED = (0.6, 1.6)

STEADY = 0.25  # largest change of the remaining motion meanwhile, over that share


class _Trial(NamedTuple):
    """Since when a joint gets no effort [ns], its motion then, what efforts should lack in it, and motions since."""

    begun: int
    motion: float
    share: float
    since: list[float]


class Reversal:
    """Joints that move as if their efforts had the opposite sign; arrays (n,).

    Limits of efforts and velocities are the largest float for none [N m, N; rad/s, m/s]. Joints at `let_go` are to get
    no effort, on trial or for good; the trials of those at `found` have shown it, and of those in `news` since somebody
    emptied that.
    """

    def __init__(self, limit: Array, fastest: Array) -> None:
        self._fast = FAST * fastest
        self._least = LEAST * np.where(limit < np.finfo(float).max, limit, 1.0)
        self._answers: deque[tuple[int, Array, Array, Array]] = deque(maxlen=KEPT)
        self._trials: dict[int, _Trial] = {}
        self.let_go, self.found = np.zeros(len(limit), bool), np.zeros(len(limit), bool)
        self.news: list[int] = []

    def forget(self) -> None:
        """Forget all answers, and trials under way."""
        self._answers.clear()
        self._trials.clear()
        self.let_go = self.found.copy()

    def acquit(self) -> None:
        """Let no joint go any more."""
        self.let_go[:] = self.found[:] = False
        self.forget()

    def note(self, stamp: int, q: Array, qd: Array, effort: Array) -> None:
        """Take in the state of a time [ns] and what was exerted in answer (n,), which are not copied."""
        self._answers.append((stamp, q, qd, effort))

    def look(self, model: Robot, stamp: int, q: Array, qd: Array, too_fast: bool, late: float) -> bool:
        """Take in a state of a stop, whose velocities are late [s]; return whether joints are let go, or no more.

        Efforts that drive a joint faster are no proof: a push that grows as they do looks the same. So the joint gets
        none for some answers. A reversed one then loses what they exerted; one that is pushed gains it.
        """
        if not (self._trials or too_fast):
            return False
        before = self.let_go.copy()
        if self._trials:
            self._judge(model, stamp, q, qd, late)
        if too_fast:
            self._suspect(model, stamp, q, qd)
        return not np.array_equal(before, self.let_go)

    def _suspect(self, model: Robot, stamp: int, q: Array, qd: Array) -> None:
        states = [*self._answers, (stamp, q, qd, qd)]
        count = len(states) - 1 - LATEST
        if count < FEWEST:
            return
        way = np.sign(qd)
        faster = (np.abs(qd) > self._fast) & (np.abs(qd) > np.abs(states[LATEST][2])) & ~self.let_go
        faster &= np.all([way * x[2] > 0.0 for x in states[-FEWEST:]], axis=0)  # what swings is no runaway
        if not faster.any():
            return
        motion = _motion(model, states[LATEST:])
        if motion is None:
            return
        wavering, mean = motion.var(axis=0), motion.mean(axis=0)
        efforts = np.array([x[3] for x in states[:-1]])
        for late in range(2 * LATEST + 1):
            newer, older = (efforts[LATEST - k : LATEST - k + count] for k in (late // 2, (late + 1) // 2))
            exerted = 0.5 * (newer + older)
            middle, change = exerted.mean(axis=0), exerted.var(axis=0)
            told = faster & (change > self._least**2) & (way * exerted[-3:].sum(axis=0) < 0.0)
            share = ((exerted - middle) * (motion - mean)).mean(axis=0) / np.where(told, change, 1.0)
            told &= (SHARES[0] < share) & (share < SHARES[1]) & (wavering - share**2 * change < UNLIKE * wavering)
            told &= np.abs(mean - share * middle) < APART * np.sqrt(share**2 * (middle**2 + change))
            last = share * exerted[-3:].mean(axis=0)
            for k in np.flatnonzero(told & ~self.let_go).tolist():
                self._trials[k] = _Trial(stamp, float(mean[k] + last[k] - share[k] * middle[k]), float(last[k]), [])
                self.let_go[k] = True

    def _judge(self, model: Robot, stamp: int, q: Array, qd: Array, late: float) -> None:
        states = [*self._answers][-1:]
        motion = _motion(model, [*states, (stamp, q, qd, qd)])
        for k, trial in list(self._trials.items()):
            period = stamp - states[0][0]
            if motion is not None and states[0][0] - trial.begun > LATEST * period - 1 + round(1e9 * late):
                trial.since.append(float(motion[0, k]))
            if len(trial.since) < TRIED:
                continue
            del self._trials[k]
            lost = (trial.motion - float(np.mean(trial.since))) / trial.share
            steady = np.ptp(trial.since) < STEADY * abs(trial.share)
            self.found[k] = steady and FREED[0] < lost < FREED[1]
            if self.found[k]:
                self.news.append(k)
            else:
                self.let_go[k] = False
                self._answers.clear()


def _motion(model: Robot, states: list[tuple[int, Array, Array, Array]]) -> Array | None:
    """Return the model's efforts of the motion between states, (k - 1, n); None where there are none."""
    found = []
    for first, second in pairwise(states):
        h = (second[0] - first[0]) * 1e-9
        if h <= 0.0:
            return None
        place, speed = (first[k] + 0.5 * (second[k] - first[k]) for k in (1, 2))
        try:
            found.append(inverse_dynamics(model, place, speed, (second[2] - first[2]) / h))
        except LieDynamicsError:
            return None
    return np.array(found)
