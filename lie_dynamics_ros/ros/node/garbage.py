"""Garbage collection between callbacks: Python's own would come in the middle of an answer."""

from __future__ import annotations

import gc
import time
from types import TracebackType

_settled: set[int] = set()
_settled_by_others = False
_AT_FIRST = 1000  # Python 3.12 begins with some hundred objects that it does not search

CALM_TIME = 1.0
"""The oldest generation waits until the second one was not due for so long [s]."""


def freeze_gc(owner: object) -> None:
    """Take all that is there by now for lasting: searching it again and again would only delay messages."""
    global _settled_by_others
    if not _settled:
        _settled_by_others = gc.get_freeze_count() > _AT_FIRST
    _settled.add(id(owner))
    gc.collect()
    gc.freeze()


def unfreeze_gc(owner: object) -> None:
    """Undo `freeze_gc`, once all that requested it have; not where the program had frozen objects itself."""
    if id(owner) not in _settled:
        return
    _settled.remove(id(owner))
    if not _settled and not _settled_by_others:
        gc.unfreeze()


class GarbageBetweenCallbacks:
    """Switches Python's automatic collection off for as long as it lasts; `collect` does its work when there is time.

    The generations are collected at the thresholds that Python has for them; the oldest not while many objects are
    made, as of a long trajectory, which would be looked through for 10 ms.
    """

    def __init__(self) -> None:
        self._middle_at = 0.0  # when the second generation was last due
        self._was_enabled = gc.isenabled()

    def __enter__(self) -> GarbageBetweenCallbacks:
        gc.disable()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._was_enabled:
            gc.enable()

    def collect(self) -> None:
        """Collect the oldest generation that is due; costs next to nothing where none is."""
        counts, thresholds = gc.get_count(), gc.get_threshold()
        if counts[0] <= thresholds[0]:
            return
        due = 0
        for generation in (1, 2):
            if counts[generation] > thresholds[generation]:
                due = generation
        if due:
            now = time.monotonic()
            if now - self._middle_at < CALM_TIME:
                due = 1
            self._middle_at = now
        gc.collect(due)
