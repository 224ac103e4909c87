"""Leaving DDS with a deadline: Fast DDS can hang where several participants leave at once."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence

import rclpy
from rclpy.node import Node

from . import enabled

LEAVING = 4.0
"""Longest time to leave DDS [s], less than what launch gives a process.

Fast DDS can wait for itself for ever where several participants leave at once.
"""

AFTERWARDS = 0.5
"""Time for the trace of where a process hung, before it is ended [s]."""

_CLOCK_MONOTONIC, _SIGEV_THREAD = 1, 2


class _Event(ctypes.Structure):
    """``struct sigevent`` of Linux: call ``function(value)`` in a thread."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("rest", ctypes.c_byte * 40),
    )


class _Time(ctypes.Structure):
    """``struct itimerspec``: once, after ``seconds`` and ``nanoseconds``."""

    _fields_ = (("interval", ctypes.c_long * 2), ("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def shutdown_with_deadline(nodes: Sequence[Node], code: int) -> None:
    """Destroy the nodes; a process that hangs in that is ended with its exit code, and logs where it hung.

    What hangs is DDS, and all work of the nodes has been done before: to whoever waits for the
    process, it ended as it was to end.
    """
    with _ended_after(LEAVING, code) if enabled() else contextlib.nullcontext():
        for part in (*(node.destroy_node for node in nodes), rclpy.try_shutdown):
            try:
                part()
            except Exception:
                if rclpy.ok():
                    traceback.print_exc()


@contextlib.contextmanager
def _ended_after(seconds: float, code: int) -> Iterator[None]:
    """Let the process end if this takes longer [s], also if all that waits holds Python's lock.

    With the exit code; where the system has no such timers, with 1.
    """
    cancel: Callable[[], None] | None = None
    with contextlib.suppress(OSError, AttributeError):
        cancel = _end_after(seconds + AFTERWARDS, code)
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    faulthandler.dump_traceback_later(seconds, exit=cancel is None)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        if cancel is not None:
            cancel()


def _end_after(seconds: float, code: int) -> Callable[[], None]:
    """Have the C library end the process after a time [s]; return what calls that off."""
    library = ctypes.CDLL(None, use_errno=True)
    end = ctypes.cast(library._exit, ctypes.c_void_p)
    timer = ctypes.c_void_p()
    event = _Event(value=code, notify=_SIGEV_THREAD, function=end)
    if library.timer_create(_CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)):
        raise OSError(ctypes.get_errno(), "no timer")
    whole, part = divmod(seconds, 1.0)
    library.timer_settime(timer, 0, ctypes.byref(_Time(seconds=int(whole), nanoseconds=int(part * 1e9))), None)

    def cancel() -> None:
        library.timer_delete(timer)

    return cancel
