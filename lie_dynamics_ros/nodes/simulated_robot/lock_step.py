"""Whether a simulation may go on: in lock step each state waits for the command that answers it."""

from __future__ import annotations

SETTLE = 0.1
"""Wait after the first command, for answers to earlier states that are under way [s]."""

PATIENCE = 1.0
"""Longest wait for a command [s]; it may never come."""


class LockStep:
    """Keeps what was published and what was answered; all times ``now`` are of one steady clock [s]."""

    def __init__(self) -> None:
        self._answered = False
        self._stamp = 0  # of the last state [ns]
        self._published = self._settled = 0.0  # steady time [s]

    def engage(self, now: float) -> None:
        """Take note of the first command after a time without."""
        self._settled = now + SETTLE

    def published(self, stamp: int, now: float) -> None:
        """Take note of a state with a time stamp [ns]."""
        self._answered, self._stamp, self._published = False, stamp, now

    def commanded(self, stamp: int) -> None:
        """Take note of a command with a time stamp [ns], 0 for none.

        One that is stamped before the last state answers an earlier one. Controllers stamp with the time of the state
        or with their own, which is not before it; whatever has no stamp counts as the answer.
        """
        if not stamp or stamp >= self._stamp:
            self._answered = True

    def waits(self, now: float) -> bool:
        """Tell whether the command that answers the last state is still to come."""
        if now < self._settled:  # until only the answer to the last state is left
            return True
        return not self._answered and now - self._published < PATIENCE
