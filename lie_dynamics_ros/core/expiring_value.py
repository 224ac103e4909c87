"""The last value that was received, until it is too old."""

from __future__ import annotations

from typing import Generic, TypeVar

Value = TypeVar("Value")


class ExpiringValue(Generic[Value]):
    """Keeps one value, such as a command, and when it was received."""

    def __init__(self) -> None:
        self._kept: tuple[int, Value] | None = None

    def put(self, value: Value, now: int) -> None:
        """Keep a value that was received at a time [ns], in place of the one before."""
        self._kept = now, value

    def clear(self) -> None:
        """Forget the value."""
        self._kept = None

    def at(self, now: int, timeout: int) -> Value | None:
        """Return the value where it is not older than ``timeout`` at the time ``now`` [ns]; 0 for no limit."""
        if self._kept is None:
            return None
        received, value = self._kept
        return value if not timeout or 0 <= now - received <= timeout else None

    def is_stale(self, now: int, timeout: int) -> bool:
        """Return whether there is a value that is too old."""
        return self._kept is not None and self.at(now, timeout) is None
