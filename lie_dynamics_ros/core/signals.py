"""Signals that end a process, taken as a wish and not as an exception.

rclpy's own handlers shut the context down first: what a node then has to say, such as the command that holds a robot
up, is lost. Exceptions by signals would come in the middle of anything.
"""

from __future__ import annotations

import atexit
import signal
import threading
import time
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)

ONE_WISH = 1.0
"""Signals within this time after the first are the same wish [s]: a supervisor signals launch and the nodes, and
launch signals the nodes too. What a node publishes at its end must not be lost by that."""

ONE_STROKE = 0.05
"""The same signal again, later than this after the first [s], is somebody who does not want to wait."""


class EndSignals:
    """Notes the first signal that ends a process; one more than `ONE_WISH` later ends it at once. A context manager.

    Once it is left, later signals are handled as before it; one that only repeats the wish is still ignored, also
    while the interpreter ends, which takes their handlers away before all else.

    Attributes
    ----------
    heard : bool
        Whether one has come.
    hurry : bool
        Whether the same one came again: what takes time at the end is left out, but nothing that is published last.
    """

    def __init__(self) -> None:
        self.heard = self.hurry = False
        self._first = 0
        self._since = 0.0
        self._before: dict[signal.Signals, Any] = {}
        self._left = False

    def __enter__(self) -> EndSignals:
        if threading.current_thread() is threading.main_thread():
            self._before = {which: signal.signal(which, self._note) for which in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        self._left = True
        if self.heard:  # the process is about to end, and launch may be telling it so right now
            atexit.register(_ignore)
            return
        for which, handler in self._before.items():
            signal.signal(which, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if not self.heard:
            self.heard, self._since, self._first = True, time.monotonic(), number
            return
        self.hurry |= number == self._first and time.monotonic() - self._since > ONE_STROKE
        if time.monotonic() - self._since > ONE_WISH:
            for which in SIGNALS:
                signal.signal(which, self._before[which] if self._left else signal.SIG_DFL)
            signal.raise_signal(number)


def _ignore() -> None:
    for which in SIGNALS:
        signal.signal(which, signal.SIG_IGN)
