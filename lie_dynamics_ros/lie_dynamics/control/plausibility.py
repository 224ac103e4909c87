"""States that no motion explains: a lone one, such as a driver's zeros, or a robot that is elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from .kernels import plausibility as k

UNLIMITED = 20.0  # taken for the largest speed of joints without a limit [rad/s, m/s]
FIRST = 20  # states that are accepted whatever they hold, to learn how well those of this driver follow from each other
IN_A_ROW = 3  # states in a row that are refused at most
GAP = 0.1  # after so long without a state the robot may be anywhere [s]


@dataclass(slots=True)
class CheckState:
    """State of a `StateCheck` besides its table."""

    last: int | None = None  # time of the last state [ns]
    other: int | None = None  # time of the one that was refused last [ns]
    count: int = 0  # how many were accepted
    refused: int = 0  # how many were refused since
    relocated: bool = False  # see `StateCheck`


class StateCheck:
    """Holds each state of a robot against the one before it.

    Between both positions lies what the velocity before, or the one measured now, leads to in that time, but for

        max(s t^2 / 0.04 s + 0.15 s t + 0.002, 4 m),

    s the largest speed: a joint may get it within 20 ms; m the largest such miss of late, which fades within a second:
    so coarse encoders, noise, and drivers that place their robots anywhere are not refused. A measured velocity that
    jumps by more than 0.02 s + s t / 0.03 s is refused where positions bear out the one before. What follows neither
    from the last state nor from the one that was refused before is refused: a lone one always, two that agree never.

    Parameters
    ----------
    fastest : ndarray, shape (n,)
        Velocity limits; infinite or 0 for none [rad/s, m/s].
    turns : ndarray of bool, shape (n,)
        Joints whose position may jump by 2 pi.
    """

    def __init__(self, fastest: npt.ArrayLike, turns: npt.ArrayLike) -> None:
        speed = np.asarray(fastest, np.float64)
        self._table, self._numbers = np.zeros((k.ROWS, len(speed))), np.zeros(k.NUMBERS)
        self._table[k.TURN] = np.where(turns, 2.0 * math.pi, 0.0)
        self._table[k.FASTEST] = np.where((speed > 0.0) & np.isfinite(speed), speed, UNLIMITED)
        self.state = CheckState()
        zero = np.zeros(len(speed))
        self.find(0, zero, zero)  # what needs compiling is compiled now
        self.forget()

    def forget(self) -> None:
        """Begin afresh at the next state."""
        self.state = CheckState()
        self._numbers[k.USUAL] = 0.0

    @property
    def relocated(self) -> bool:
        """Whether the last state is where nobody expected the robot: velocities found in positions begin anew there."""
        return self.state.relocated

    def find(self, stamp: int, position: Array, velocity: Array) -> tuple[int, str] | None:
        """Take in a state of a time [ns], positions (n,) and velocities (n,), NaN where not measured.

        Return the first joint that does not follow, and "position" or "velocity", where the state is to be refused.
        """
        numbers, s = self._numbers, self.state
        last = s.last
        h = 0.0 if last is None else (stamp - last) * 1e-9
        fresh = last is None or not 0.0 <= h <= GAP
        if fresh:
            self._table[k.POSITION], self._table[k.VELOCITY] = position, np.nan_to_num(velocity)
            h, s.other = 0.0, None
        elif numbers[k.USUAL] == 0.0:
            numbers[k.USUAL] = h
        numbers[k.SINCE] = h
        numbers[k.SINCE_OTHER] = math.nan if s.other is None else (stamp - s.other) * 1e-9
        numbers[k.ACCEPT] = fresh or s.count < FIRST or s.refused >= IN_A_ROW
        found = k.follows(self._table, numbers, position, velocity)
        if found >= k.POSITIONS:
            s.other, s.refused = stamp, s.refused + 1
            return (found - k.VELOCITIES, "velocity") if found >= k.VELOCITIES else (found - k.POSITIONS, "position")
        if not s.refused:
            usual = numbers[k.USUAL]
            numbers[k.USUAL] = usual + 0.1 * (min(h, 2.0 * usual) - usual)
        s.relocated, s.last, s.other, s.refused = found == k.AGREES, stamp, None, 0
        s.count += 1
        return None
