"""Early ends: signals, which are not lost, and figures that fall short."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class ShortfallError(Exception):
    """A figure fell short, named in the message."""


_deferred = False
_requested = False


class Interruption(KeyboardInterrupt):
    """A signal ended this process.

    A type of its own: where a plain KeyboardInterrupt passes through code that is compiled from text at run time, as
    dataclasses and named tuples are, Python ends by SIGINT at last, although the exception was caught.
    """


def install() -> None:
    """End by `Interruption` on SIGINT, SIGTERM and SIGHUP."""
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
    """Raise `Interruption` where a signal waits."""
    if _requested:
        raise Interruption


def _on_signal(*_: object) -> None:
    global _requested
    _requested = True
    if not _deferred:
        raise Interruption
