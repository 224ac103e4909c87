"""Efforts that acted between two states, when each acts some time after the state it answers and until the next."""

from __future__ import annotations

from collections import deque

from ..arrays import Array

LONGEST = 32
"""Efforts that are kept."""


class EffortHistory:
    """The last efforts, by the time of the states that they answer."""

    def __init__(self) -> None:
        self._efforts: deque[tuple[int, Array]] = deque(maxlen=LONGEST)

    def add(self, stamp: int, effort: Array) -> None:
        """Keep the effort that answers the state of a time [ns]; not copied."""
        self._efforts.append((stamp, effort))

    def forget(self) -> None:
        """Forget all."""
        self._efforts.clear()

    def mean(self, begin: int, end: int, delay: float) -> Array | None:
        """Return the mean effort (n,) between two times [ns], each acting `delay` [ns] after its state.

        None where the history does not reach back so far, or the time is none.
        """
        if end <= begin:
            return None
        total: Array | None = None
        until = float(end)
        for stamp, effort in reversed(self._efforts):
            since = stamp + delay
            if since < until:
                part = (until - max(since, begin)) / (end - begin)
                total = part * effort if total is None else total + part * effort
                if since <= begin:
                    return total
                until = since
        return None
