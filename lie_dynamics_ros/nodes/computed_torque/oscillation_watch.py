"""Oscillation that feedback feeds: found in its efforts, in every phase, and answered by lower gains."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ...lie_dynamics.arrays import Array, Mask
from ...lie_dynamics.control.kernels.oscillation import (
    BETWEEN,
    DIRECTION,
    LARGEST_SWING,
    SINCE,
    SWUNG,
    count_turns,
)
from ...lie_dynamics.control.kernels.oscillation import TURNS as TURNS_ROW

SWING = 0.04  # smallest swing of an effort that counts, from turn to turn, over the effort limit
#: The same in a stop, where nothing is to move; swings below the second hardly lower gains.
STOP_SWING, SMALL = 5e-4, 0.005
ALONG = 0.5  # part of the turns that make an oscillation, with which a joint swings along where another has them all
MEMORY = 0.5  # time in which turns are forgotten [s]
TURNS = 10.0  # turns within the memory from which on a joint oscillates; a motion, a push and a stop have fewer
SHOWN, VIOLENT = 4.0, 0.25  # further turns that it takes to lower gains again, with swings below the second
LEAST_FACTOR = 0.1  # factor below which gains are not lowered, in stops by swings below `SMALL`
#: Factor below which a stop has let go; and after what time without oscillation it takes hold again [s].
LIMPEST, LIMP = 0.005, 0.1
#: Rate of an oscillation times the delay of efforts from which on the damper of a stop feeds it, by its phase.
PHASE = 1.6
FEW_TURNS = 6.0  # as `TURNS`, for a slower one, which what acts behind low-passes feeds
CLEAR = 2.0  # and for swings that exceed those by noise by this factor
#: Factor by which that is lowered then, and below which it is not by small swings, and by others.
LOWER, LEAST_SLOW, LIMPEST_SLOW = 0.6, 0.5, 0.05
#: Swing up to which it does not rise again, after and within `LIMP`, to more than `REGAINED` of what it was.
LARGE = 0.02
LATER = 0.002  # delay besides that damping has to bear which is raised: drives may be slower than assumed [s]
#: Factor by which the damper of that joint is raised, and up to which; no farther than `REGAINED` of what shook it.
RAISE, MOST_QUICK = 1.4, 4.0
#: Factor of damping in mode computed_torque at first, where drives may differ, and time in which it doubles [s]. What
#: is unstable shows before it is violent.
FIRST_FACTOR, FIRST_RISE = 0.25, 0.15
CALM = 2.0  # time without oscillation after which gains rise again [s]
RISE = 1.0  # time in which they double then [s]
REGAINED = 0.7  # part of the factor at which an oscillation began that gains rise to at most


@dataclass
class OscillationState:
    """State of the watch; factors of joints (n,)."""

    size: int  # number of joints n
    swing: float = SWING  # smallest swing that counts
    factor: float = 1.0  # the least by which anything is multiplied
    calm: float = CALM  # time since the last oscillation [s]
    careful: bool = False  # whether any of `first` is still below 1
    slow: float = 1.0  # in a stop: factor of what acts behind low-passes
    slow_most: float = 1.0  # what that may rise to
    quick: Array = field(init=False)  # of the rates of feedback, in a stop of dampers
    most: Array = field(init=False)  # what these may rise to
    first: Array = field(init=False)  # of damping in mode computed_torque at first, besides
    fed: Mask = field(init=False)  # in a stop: joints whose dampers were just found to feed an oscillation
    table: Array = field(init=False)  # (7, n), as `count_turns` says

    def __post_init__(self) -> None:
        self.quick, self.most, self.first = np.ones(self.size), np.ones(self.size), np.ones(self.size)
        self.fed = np.zeros(self.size, dtype=bool)
        self.table = np.zeros((7, self.size))
        self.table[DIRECTION] = 1.0

    def shake(self, joints: Mask, factor: float) -> None:
        """Lower gains of joints (n,) that oscillate by a factor."""
        quick = np.where(joints, self.first * self.quick, self.quick)
        begins = joints & ((self.calm >= CALM) | (self.quick >= self.most))
        self.most = np.where(begins, REGAINED * quick, self.most)
        self.first = np.where(joints, 1.0, self.first)
        self.quick = np.where(joints, np.minimum(quick, np.maximum(LEAST_FACTOR, factor * quick)), quick)
        self.factor, self.calm = float(self.quick.min()), 0.0


class OscillationWatch:
    """Counts how often the efforts of feedback turn round, and lowers gains while they do so again and again.

    `scale` (n,) is what is much for a joint, such as its effort limit [N m, N].
    """

    def __init__(self, scale: Array) -> None:
        self._per_scale, self._quiet, self._none = 1.0 / scale, np.zeros(len(scale)), np.zeros(len(scale), dtype=bool)
        self._numbers = np.array([0.0, 0.0, TURNS, 0.0, 0.0])
        self.reset()

    def reset(self, careful: bool = False) -> None:
        """Begin afresh, with gains as they are requested, or ``careful`` at first."""
        self.state = self._other = OscillationState(len(self._per_scale))
        self.state.first[:], self.state.careful = FIRST_FACTOR if careful else 1.0, careful

    def begin(self, stop: bool) -> None:
        """Watch a stop, which has gains of its own, or go on where the last one began."""
        s, fresh = self.state, OscillationState(len(self._per_scale), STOP_SWING)
        fresh.most[:] = MOST_QUICK
        fresh.table[:] = s.table  # an oscillation goes on
        self._other, self.state = s, fresh if stop else self._other

    @property
    def factor(self) -> float:
        """Factor of the rates of feedback."""
        return self.state.factor

    def update(self, feedback: Array, period: float, late: float = 0.0, noise: Array | None = None) -> bool:
        """Take note of efforts beyond those of the desired motion (n,) [N m, N]; return whether factors have changed.

        They come ``period`` [s] after the last. In stops, in which gains do not rise, efforts act ``late`` [s]. How far
        noise of sensors makes them swing (n,) lower gains need not end.
        """
        s, numbers = self.state, self._numbers
        s.calm += period
        before = s.quick, s.first
        numbers[0], numbers[1], numbers[3] = s.swing, math.exp(-period / MEMORY), period
        numbers[2] = FEW_TURNS if late else TURNS
        noise = self._quiet if noise is None else noise
        given = feedback, self._per_scale, noise
        found = count_turns(s.table, numbers, *given)
        if found < 0:  # arrays of another layout, or one number for all joints
            given = tuple(np.array(np.broadcast_to(x, s.size), dtype=float) for x in given)
            found = count_turns(s.table, numbers, *given)
        swing = lower = 0.0
        if found == 1:
            swing = max(float(numbers[LARGEST_SWING]), s.swing)
            lower = min(0.9, max(0.5, (max(s.swing, SMALL) / swing) ** 0.25))
        if late:
            clear = s.table[SWUNG] > CLEAR * (s.swing + noise * self._per_scale)
            return self._answer_in_stop(found == 1, clear, period, late, swing, lower)
        if s.careful:
            s.first = np.minimum(1.0, s.first * 2.0 ** (period / FIRST_RISE))
            s.careful = bool((s.first < 1.0).any())
        if found == 1:
            s.shake(s.table[TURNS_ROW] > ALONG * TURNS, lower)
            if swing < VIOLENT:  # whether it helped is to be seen
                s.table[TURNS_ROW] = np.minimum(s.table[TURNS_ROW], TURNS - SHOWN)
        if s.factor < 1.0 and s.calm >= CALM and (s.quick < s.most).any():
            s.quick = np.minimum(s.most, s.quick * 2.0 ** (period / RISE))
            s.factor = float(s.quick.min())
        return s.quick is not before[0] or s.first is not before[1]

    def _answer_in_stop(self, found: bool, clear: Mask, period: float, late: float, swing: float, lower: float) -> bool:
        """Lower what feeds an oscillation, by its phase; return whether anything changed.

        A damper feeds what is faster than its delay lets it damp. What is slower is damped by more of it, and fed by
        what low-passes hold back; so are oscillations that let go of the damper.
        """
        s, turns = self.state, self.state.table[TURNS_ROW]
        before = s.quick, s.slow
        s.fed = self._none
        if found:
            shaking = (turns > FEW_TURNS) & (s.table[SINCE] == 0.0)
            fast = math.pi * late > PHASE * s.table[BETWEEN]
            least_slow = LEAST_SLOW if swing <= SMALL else LIMPEST_SLOW
            fast |= (s.slow <= least_slow) & ((swing > SMALL) | (s.quick >= s.most))  # there is nothing else
            fed, slow = shaking & fast & (turns > TURNS), shaking & ~fast & clear
            least = LIMPEST if swing > SMALL else LEAST_FACTOR
            s.fed = fed
            s.most = np.where(fed, np.minimum(s.most, np.maximum(REGAINED * s.quick, 1.0)), s.most)
            s.quick = np.where(fed, np.minimum(s.quick, np.maximum(least, lower * s.quick)), s.quick)
            if slow.any() or (fed & (s.quick < LEAST_FACTOR)).any():
                if swing <= LARGE:
                    s.slow_most = min(s.slow_most, max(LEAST_SLOW, REGAINED * s.slow))
                s.slow = min(s.slow, max(least_slow, LOWER * s.slow))
                late += LATER
                raises = slow & (math.pi * late < PHASE * s.table[BETWEEN]) & (s.quick >= 1.0)
                s.quick = np.where(raises, np.minimum(RAISE * s.quick, s.most), s.quick)
            s.calm = 0.0
            if swing < VIOLENT:
                turns[fed], turns[slow] = TURNS - SHOWN, FEW_TURNS - SHOWN
        if s.calm >= LIMP:
            more = math.exp(period / LIMP)
            s.quick = np.maximum(s.quick, np.minimum(LEAST_FACTOR, s.quick * more))
            s.slow = min(s.slow_most, s.slow * more)
        s.factor = min(1.0, float(s.quick.min()), max(s.slow, LEAST_FACTOR))
        return s.slow != before[1] or bool((s.quick != before[0]).any())
