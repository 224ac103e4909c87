"""Positions that come in steps, where velocities are found in them: what they show of a joint that hardly moves."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ...lie_dynamics.arrays import Array, Mask
from ...lie_dynamics.control.kernels.oscillation import PAUSE
from .oscillation_watch import FEW_TURNS, MEMORY, PHASE

TOGGLES = 3.0
"""Times in a row that a position passes the same edge between two steps, from which on the joint only shakes there.

Where a motion of more than a step turns round, it passes an edge twice.
"""
TOGGLED = 0.2
"""Time for which such a joint is left undamped, until it passes another edge [s]."""
EASE = 50.0
"""Rate at which a position goes on to the next step [1/s]; it is never more than a step behind."""
HALF_STEP, SAME_EDGE = 0.501, 0.25
"""Half of a step, a little more for rounding, and part of one up to which edges are the same."""
SURE_TURNS = 0.5 * FEW_TURNS
"""Turns of a position by more than a step, within the memory of the watch, that show that the joint swings."""
SLOW_PHASE = 1.1
"""As `PHASE`, below which a swing is slow for sure."""


@dataclass
class CoarseState:
    """State, all (n,).

    Attributes
    ----------
    last, edge : ndarray
        Last position, and the middle of the last two steps [rad, m].
    count : ndarray
        How often that was passed in a row.
    since, before : ndarray
        Times since it was passed last, and the time before [s].
    toggled : ndarray
        How long the joint is to be left undamped [s].
    eased : ndarray
        Position without jumps [rad, m].
    place, way : ndarray
        Position with a play of a step, in which it does not turn round by noise, and the sign of its last change.
    turns, turned, between : ndarray
        How often that changed of late, time since then, and between these times in the mean [s].
    """

    last: Array
    edge: Array = field(init=False)
    count: Array = field(init=False)
    since: Array = field(init=False)
    before: Array = field(init=False)
    toggled: Array = field(init=False)
    eased: Array = field(init=False)
    place: Array = field(init=False)
    way: Array = field(init=False)
    turns: Array = field(init=False)
    turned: Array = field(init=False)
    between: Array = field(init=False)

    def __post_init__(self) -> None:
        zero = np.zeros(len(self.last))
        self.edge = self.eased = self.place = self.last
        self.count = self.toggled = self.way = self.turns = self.turned = self.between = zero
        self.since = self.before = zero + 1.0


class CoarsePositions:
    """What steps of positions hide and show.

    A joint on an elastic gear that swings by less than a step is seen to jump between two neighbours, which velocities
    found in them exaggerate the more, the less it swings; a damper that acts too late for that keeps it up for ever.
    """

    state: CoarseState | None = None

    def reset(self) -> None:
        """Begin with the next position."""
        self.state = None

    def update(self, position: Array, step: Array, period: float, late: float) -> Array:
        """Take in positions (n,), ``period`` [s] after the last; return them without what only shakes at an edge.

        Parameters
        ----------
        position, step : ndarray, shape (n,)
            And the steps in which they come, 0 where that is not known [rad, m].
        period, late : float
            Also by which efforts act later than states [s]: what is slower than a damper damps counts as motion.
        """
        if self.state is None:
            self.state = CoarseState(position.copy())
        s, cycle = self.state, 2.0 * math.pi / PHASE * late
        s.since, s.before, s.turned = s.since + period, s.before + period, s.turned + period
        s.turns, s.toggled = s.turns * math.exp(-period / MEMORY), s.toggled - period
        if (position != s.last).any():
            self._pass(position, step, cycle)
        shakes = (s.count >= TOGGLES) & (s.before <= cycle)
        s.toggled = np.where(shakes, TOGGLED, s.toggled)
        return np.where(shakes, s.edge, position)

    def ease(self, position: Array, step: Array, period: float) -> Array:
        """Return positions that go on to the next step within a time: at once, springs would hit gears."""
        s = self.state
        assert s is not None
        smooth = s.eased - math.expm1(-EASE * period) * (position - s.eased)
        s.eased = np.clip(smooth, position - step, position + step)
        return s.eased

    @property
    def toggle(self) -> Mask:
        """Joints (n,) that swing by less than a step, faster than dampers damp."""
        assert self.state is not None
        return self.state.toggled > 0.0

    def swings(self, late: float) -> Mask:
        """Return joints (n,) that surely swing to and fro, and so slowly that a damper of such a delay damps it."""
        s = self.state
        assert s is not None
        return (s.turns > SURE_TURNS) & (math.pi * late < SLOW_PHASE * s.between)

    def _pass(self, position: Array, step: Array, cycle: float) -> None:
        """Take note of edges that are passed."""
        s, half = self.state, HALF_STEP * step
        assert s is not None
        change = position - s.last
        crossed, edge = change != 0.0, s.last + 0.5 * change
        other = crossed & ~((np.abs(edge - s.edge) < SAME_EDGE * step) & (np.abs(change) < 1.5 * step))
        count = np.where(s.before > cycle, np.minimum(s.count, 1.0), s.count)
        s.count, s.toggled = np.where(other, 0.0, count) + crossed, np.where(other, 0.0, s.toggled)
        s.last, s.edge = position.copy(), np.where(crossed, edge, s.edge)
        s.before, s.since = np.where(crossed, s.since, s.before), np.where(crossed, 0.0, s.since)
        place = np.clip(s.place, position - half, position + half)
        went = np.sign(place - s.place)
        turned = went * s.way < 0.0
        mean = np.where(s.turned > PAUSE * s.between, s.turned, 0.5 * (s.between + s.turned))
        s.between = np.where(turned, mean, s.between)
        s.turns = s.turns + turned
        s.place, s.way, s.turned = place, np.where(went != 0.0, went, s.way), np.where(turned, 0.0, s.turned)
