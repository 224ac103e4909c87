"""Velocities of joints that report positions alone, and the steps in which these come."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import InputError
from .kernels import velocity_filter as k

#: Step of a position that has not changed yet; what changes by more moves [rad, m].
COARSEST = 1.001 * 2.0 * np.pi / 2**12


class Sampling(NamedTuple):
    """Timing of received states.

    Attributes
    ----------
    periods : int
        Number of periods between states.
    period, jitter, longest : float
        Their mean, standard deviation and largest [s]; zero for no period.
    resolution : ndarray, shape (n,)
        Smallest change of each position; NaN where it did not change [rad, m].
    filled : ndarray of bool, shape (n,)
        Joints whose velocities were filled in.
    """

    periods: int
    period: float
    jitter: float
    longest: float
    resolution: Array
    filled: npt.NDArray[np.bool_]


class VelocityFilter:
    """Finds velocities in positions: the straight line through them that fits best, those before counting ever less.

    Weights fall by exp(-t / time). The line is fitted to what positions exceed a motion by whose accelerations are
    known, so velocities are not late where these are right. At equal periods that is the Kalman filter of a double
    integrator, with both poles at `velocity_pole`; the sums are those of the true times, so jitter and lost states do
    no harm. It begins with a velocity of zero and no more noise than later; it does so again after a time that goes
    back, and after a gap of 20 time constants that is also one of 5 usual periods.

    Parameters
    ----------
    size : int
        Number of joints.
    time : float
        Time constant [s].
    turns : array-like of bool, shape (n,), optional
        Joints whose position may jump by 2 pi, as that of some joints without end does.

    Attributes
    ----------
    time : float
    """

    def __init__(self, size: int, time: float, turns: npt.ArrayLike | None = None) -> None:
        if not 0.0 < time < math.inf:
            raise InputError(f"time is {time}; expected a positive number of seconds")
        self.time = time
        self._table, self._numbers = np.zeros((k.ROWS, size)), np.zeros(k.NUMBERS)
        if turns is not None:
            self._table[k.TURN] = np.where(turns, 2.0 * math.pi, 0.0)
        self._zero = np.zeros(size)
        self._last: int | None = None
        self.forget()
        self.fill(0, self._zero, self._zero.copy())  # what needs compiling is compiled now
        self.forget()
        self.take_sampling()

    def forget(self) -> None:
        """Begin afresh at the next state."""
        self._last = None

    def fill(
        self, stamp: int, position: Array, velocity: Array, acceleration: Array | None = None, replace: bool = False
    ) -> int:
        """Take in a state, fill in velocities that are NaN, and return how many.

        Parameters
        ----------
        stamp : int
            Time of the state [ns].
        position, velocity : ndarray of float64, shape (n,)
            [rad, m, and per s]; the velocities are overwritten.
        acceleration : ndarray of float64, shape (n,), optional
            That the joints are expected to have had since the state before, e.g. desired [rad/s^2, m/s^2].
        replace : bool
            Fill in all velocities.
        """
        numbers, last = self._numbers, self._last
        numbers[k.PERIOD] = math.nan if last is None else (stamp - last) * 1e-9
        numbers[k.TIME], numbers[k.REPLACE] = self.time, replace
        self._last = stamp
        count = k.filter_velocity(
            self._table, numbers, position, velocity, self._zero if acceleration is None else acceleration
        )
        if count < 0:
            raise InputError(f"position, velocity, acceleration: expected shape ({len(self._zero)},)")
        return count

    def take_sampling(self) -> Sampling:
        """Return how states came since the last call."""
        numbers = self._numbers
        count, total, squares, longest = numbers[k.COUNT :].tolist()
        mean = total / count if count else 0.0
        jitter = math.sqrt(max(0.0, squares / count - mean * mean)) if count else 0.0
        found = Sampling(int(count), mean, jitter, longest, self._table[k.STEP].copy(), self._table[k.FILLED] > 0.0)
        numbers[k.COUNT :] = 0.0
        self._table[k.STEP], self._table[k.FILLED] = math.nan, 0.0
        return found


def velocity_pole(time: float, period: float) -> float:
    """Return where both poles of a `VelocityFilter` with this time constant lie at equal periods [s]."""
    return math.exp(-period / time)


def velocity_delay(time: float, period: float) -> float:
    """Return how late a `VelocityFilter` is where accelerations are not known [s].

    Exact for constant accelerations; half a period and twice the time constant, of which it is the larger one nearly.
    """
    pole = velocity_pole(time, period)
    return period * (0.5 + 2.0 * pole / (1.0 - pole))


def velocity_noise(time: float, period: float) -> float:
    """Return the standard deviation of velocities over that of positions, whose errors are independent [1/s]."""
    pole = velocity_pole(time, period)
    return math.sqrt(2.0 * ((1.0 - pole) / (1.0 + pole)) ** 3) / period


class PositionSteps:
    """Finds the steps of positions by their smallest changes.

    Attributes
    ----------
    steps : ndarray, shape (n,)
        Smallest changes so far, `COARSEST` to begin with [rad, m].
    """

    def __init__(self, n: int) -> None:
        self.steps = np.full(n, COARSEST)
        self._stepped = np.zeros(n, bool)
        self._before: Array | None = None

    def forget(self) -> None:
        """Forget where joints are; how large steps are stays."""
        self._before = None

    @property
    def found(self) -> Array:
        """Steps (n,) that were seen, 0 for none yet [rad, m]."""
        return np.where(self._stepped, self.steps, 0.0)

    def note(self, position: Array) -> bool:
        """Take in positions (n,); return whether a step was found to be smaller."""
        before, self._before = self._before, position
        if before is None:
            return False
        change = np.abs(position - before)
        smaller = (change > 0.0) & (change < self.steps)
        self.steps[smaller] = change[smaller]
        self._stepped |= smaller
        return bool(smaller.any())
