"""Being told to end, in a way that is not lost."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_deferred = False
_requested = False


def install() -> None:
    """End by KeyboardInterrupt on SIGINT, SIGTERM and SIGHUP."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _on_signal)


@contextmanager
def deferred() -> Iterator[None]:
    """Let signals wait for `check`: for an executor an exception within a callback is a failure, or it is lost."""
    global _deferred
    _deferred = True
    try:
        yield
    finally:
        _deferred = False


def check() -> None:
    """Raise KeyboardInterrupt where a signal waits."""
    if _requested:
        raise KeyboardInterrupt


def _on_signal(*_: object) -> None:
    global _requested
    _requested = True
    if not _deferred:
        raise KeyboardInterrupt
