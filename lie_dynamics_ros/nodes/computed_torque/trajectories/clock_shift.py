"""Time shift of desired motions once the delay of efforts is known. No messages in here."""

from __future__ import annotations

from ....core.arrays import Array
from .path_clock import PathClock
from .trajectory_piece import Desired


class ClockShift:
    """Puts the clock back where efforts act later than was expected; see doc/control.md.

    Efforts that act later than expected move the robot as desired, but later: it has no other error than that of time,
    until feedback changes it. So the clock is put back by as much as makes errors to come least, and no more than by
    which efforts act later; or put on, where they act sooner.

    Parameters
    ----------
    speed : ndarray, shape (n,)
        Speeds by which joints are compared [rad/s, m/s].

    Attributes
    ----------
    due : int
        By how much later efforts turned out to act since it was made last [ns].
    """

    def __init__(self, speed: Array) -> None:
        self._weights = 1.0 / speed**2
        self.due = 0
        self._made = 0  # since the robot was at rest [ns]

    def rest(self) -> None:
        """Take note that nothing moves: there is no error of time."""
        self.due = self._made = 0

    def make(
        self, clock: PathClock, desired: Desired, q: Array, qd: Array, stiffness: Array, damping: Array, most: float
    ) -> None:
        """Put the clock right for a state, and what was desired at its time.

        Parameters
        ----------
        stiffness, damping : ndarray, shape (n,)
            By which errors go, e'' = - damping e' - stiffness e [1/s^2, 1/s].
        most : float
            By how much the clock is put back or on in a motion, at most [s].
        """
        due, self.due = self.due, 0
        # The integral of e^2 to come is a quadratic form of e and e': x P x with A' P + P A = -diag(1, 0).
        if not (stiffness.all() and damping.all()):
            return
        both = self._weights / (2.0 * stiffness)
        own, rates = both * (damping + stiffness / damping), both / damping

        def product(e: Array, r: Array, v: Array, a: Array) -> float:
            return float((own * e + both * r) @ v + (both * e + rates * r) @ a)

        by_time = desired.velocity, desired.acceleration
        square = product(*by_time, *by_time)
        if not square > 0.0:
            return
        behind = 1e9 * product(desired.position - q, desired.velocity - qd, *by_time) / square
        largest = round(1e9 * most)
        back = round(min(max(behind, min(due, 0)), max(due, 0)))
        back = min(max(back, -largest - self._made), largest - self._made)
        self._made += back
        clock.put_back(back)
