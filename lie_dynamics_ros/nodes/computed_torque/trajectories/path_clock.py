"""The clock of desired motions: it runs slower, or stands, where speed is scaled down. No messages in here."""

from __future__ import annotations

import math

SETTLED = 1e-6
"""Difference to a rate at which it counts as reached, and its change times the time constant."""
SHARE = 4.74
"""Time constants in which all but 5 % of a change of rate has been made."""


class PathClock:
    """A clock whose rate follows a wanted one through two lags of one time constant, one after the other.

    So the rate and its change are continuous, efforts do not jump, and the rate stays in the range of what was wanted.

    Attributes
    ----------
    rate, slope : float
        Of the clock, and its change [1/s].
    wanted : float
        What the rate goes to, 0 to 1.
    """

    def __init__(self) -> None:
        self.rate, self.slope, self.wanted = 1.0, 0.0, 1.0
        self._pole = SHARE / 0.5
        self._stamp: int | None = None
        self._time = 0

    def follow(self, wanted: float, within: float) -> None:
        """Let the rate go to another one, most of the way within some time [s]."""
        self.wanted, self._pole = wanted, SHARE / max(within, 1e-3)

    def put_back(self, by: int) -> None:
        """Let it show less, or, below 0, more [ns]."""
        self._time -= by

    def restart(self) -> None:
        """Show time itself from the next time on, at the rate it has."""
        self._stamp = None

    def pause(self, stamp: int, share: float, within: float) -> None:
        """Let nothing have passed on it until a time [ns], from a share of its rate rise again, as by `follow`."""
        if self._stamp is not None:
            self._stamp, self.rate, self.slope = stamp, share * self.rate, 0.0
            self.follow(self.wanted, within)

    @property
    def steady(self) -> bool:
        """Whether it is as fast as time, and stays so."""
        return self.rate == 1.0 and self.slope == 0.0 and self.wanted == 1.0

    def at(self, stamp: int) -> int:
        """Return what it shows at a time [ns], which must not fall; at first that time itself."""
        if self._stamp is None:
            self._time = stamp
        elif self.steady:
            self._time += stamp - self._stamp
        elif stamp > self._stamp:
            self._time += round(1e9 * self._pass((stamp - self._stamp) * 1e-9))
        self._stamp = stamp
        return self._time

    def shown(self, stamp: int) -> int:
        """Return what it shows at a time to come, or past, if it ran as time does from now on [ns]."""
        return stamp if self._stamp is None else self._time + stamp - self._stamp

    def _pass(self, t: float) -> float:
        """Let time pass [s]; return what passes on the clock."""
        w, goal = self._pole, self.wanted
        away = self.rate - goal
        lead = self.slope + w * away  # rate = goal + (away + lead t) exp(-w t)
        fade = math.exp(-w * t)
        total = away + lead * t
        passed = goal * t + (away + lead / w - (total + lead / w) * fade) / w
        self.rate, self.slope = goal + total * fade, (lead - w * total) * fade
        if abs(self.rate - goal) < SETTLED and abs(self.slope) < SETTLED * w:
            self.rate, self.slope = goal, 0.0
        return passed
