"""Signals that end a process, taken as a wish and not as an exception.

rclpy's own handlers shut the context down first: what a node then has to say, such as the command that holds a robot
up, is lost. Exceptions by signals would come in the middle of anything.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class EndSignals:
    """Notes the first signal that ends a process; the second one ends it at once. A context manager.

    Attributes
    ----------
    heard : bool
        Whether one has come.
    """

    def __init__(self) -> None:
        self.heard = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> EndSignals:
        if threading.current_thread() is threading.main_thread():
            self._before = {which: signal.signal(which, self._note) for which in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for which, handler in self._before.items():
            signal.signal(which, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.heard = True
        for which in SIGNALS:
            signal.signal(which, signal.SIG_DFL)
