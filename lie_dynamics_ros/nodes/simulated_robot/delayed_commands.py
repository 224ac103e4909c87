"""Commands on their way to the joints: each takes effect some steps after it was given."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from ...core.commands import JointCommand


class DelayedCommands:
    """A queue of commands, at most one for each step: those of the same step count as one, the later ones first.

    Parameters
    ----------
    delay : int
        Steps from a command until it takes effect, not negative.
    """

    def __init__(self, delay: int) -> None:
        self.delay = delay
        self._queue: deque[tuple[int, JointCommand]] = deque()

    def clear(self) -> None:
        """Forget all that has not taken effect."""
        self._queue.clear()

    def add(self, step: int, command: JointCommand) -> None:
        """Take in a command given before a step; steps must not fall."""
        due = step + self.delay
        if self._queue and self._queue[-1][0] == due:
            named = command[0]
            last = self._queue[-1][1]
            last[0][named] = True
            for old, new in zip(last[1:], command[1:], strict=True):
                old[named] = new[named]
            return
        self._queue.append((due, JointCommand(*(np.array(x) for x in command))))

    def due(self, step: int) -> Iterator[JointCommand]:
        """Hand out the commands that take effect before a step, in their order."""
        while self._queue and self._queue[0][0] <= step:
            yield self._queue.popleft()[1]

    def until_next(self, step: int, most: int) -> int:
        """Return how many steps the commands stay as they are from a step on, at most so many."""
        return min(most, self._queue[0][0] - step) if self._queue else most
