"""What of the answers is wrong, by time stamps: of the states, and of when DDS says an answer was published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

TIMEOUT = 100_000_000
"""`state_timeout` of the nodes [ns]."""
AHEAD = 20_000_000
"""A simulated state may be stamped this much before it is published [ns]."""
GAP = 20_000_000
"""Silences longer than this are written down [ns]."""
PATIENCE = 1_000_000_000
"""So long after a command the states before it have been heard, if ever [ns]."""


class Answers:
    """The answers on one topic.

    Attributes
    ----------
    count, wrong : int
        Answers, and those with numbers that are not finite.
    stale : list of (int, int)
        When an answer was published, and the age of its state [ns], where that was too great.
    gaps : list of (int, int)
        Last answer before and first after each silence [ns].
    """

    def __init__(self) -> None:
        self.count = self.wrong = self.last = 0
        self.stale: list[tuple[int, int]] = []
        self.gaps: list[tuple[int, int]] = []

    def add(self, published: int, stamp: int | None, finite: bool) -> None:
        """Take note of an answer published at this time to the state with this stamp (None: it bears none) [ns]."""
        self.count += 1
        self.wrong += not finite
        if stamp is not None and abs(published - stamp) > TIMEOUT:
            self.stale.append((published, published - stamp))
        if self.last and published - self.last > GAP:
            self.gaps.append((self.last, published))
        self.last = max(self.last, published)

    def take(self) -> dict[str, Any]:
        """Return all since the last time, as plain data."""
        found = {"count": self.count, "wrong": self.wrong, "stale": self.stale, "gaps": self.gaps, "last": self.last}
        self.count = self.wrong = 0
        self.stale, self.gaps = [], []
        return found


class Unfounded:
    """Finds commands that no fresh state stands behind; commands bear no time stamp themselves."""

    def __init__(self) -> None:
        self._states: list[int] = []
        self._commands: list[int] = []

    def state(self, published: int, stamp: int) -> None:
        """Take note of a state, or of its stamp on an answer; those with wrong stamps stand behind nothing."""
        if abs(published - stamp) <= TIMEOUT:
            self._states.append(stamp)

    def command(self, published: int) -> None:
        """Take note of a command [ns]."""
        self._commands.append(published)

    def take(self, now: int) -> list[tuple[int, int]]:
        """Return the commands without a fresh state, and the age of the last one (-1: none) [ns]."""
        ripe = [c for c in self._commands if c < now - PATIENCE]
        self._commands = [c for c in self._commands if c >= now - PATIENCE]
        states = np.sort(np.array(self._states, dtype=np.int64))
        found = []
        for command in ripe:
            k = int(np.searchsorted(states, command + AHEAD, side="right")) - 1
            age = command - int(states[k]) if k >= 0 else -1
            if k < 0 or age > TIMEOUT:
                found.append((command, age))
        self._states = [s for s in self._states if s >= now - 4 * PATIENCE]
        return found


def first_answer(due: int, gaps: Sequence[tuple[int, int]], last: int) -> float:
    """Return how long after ``due`` [ns] the first answer came [s]; 0 within `GAP`, infinite where none came."""
    for before, after in gaps:
        if before <= due < after:
            return (after - due) * 1e-9
    return 0.0 if due <= last else float("inf")


def slope(times: Sequence[float], resident: Sequence[float]) -> float:
    """Least squares slope of memory [MB] over time [s], per hour."""
    t = np.asarray(times) - np.mean(times)
    return float(t @ np.asarray(resident) / (t @ t)) * 3600.0 if len(t) > 1 else 0.0
