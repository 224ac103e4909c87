"""Workarounds for faults and costs of the middleware, each of which can go once that is mended upstream.

`shutdown_with_deadline`
    Mends: Fast DDS (2.14 to 3.2) can wait for itself for ever where several participants leave at once.
    Upstream: https://github.com/eProsima/Fast-DDS/issues/6193 (open), which sees it in one end of ten.
    Buys: a process that hangs ends after 4.5 s, with the exit code that it would have had.
    Can go: once that is closed, and no end hangs where many nodes leave at once.
`unfinished_files`
    Mends: Fast DDS (2.14 to 3.2) waits in silence for a file that a killed process left unfinished.
    Upstream: https://github.com/eProsima/Fast-DDS/issues/2051 (open) is alike.
    Buys: a message with the file's name and the remedy, before DDS is touched.
    Can go: once Fast DDS has a time limit there.
`wire.serialized`, its reading of states and trajectories
    Mends: rclpy makes Python objects of all that a message holds, and keeps the interpreter meanwhile.
    Upstream: none; it is how rclpy converts messages.
    Buys: 1.4 us in place of 38 us for a state of 7 joints; no pause of 0.2 s for a trajectory of 10,000 points.
    Can go: once `rclpy.serialization.deserialize_message` is as fast.
`wire.goal_requests`
    Mends: the same in goals, which rclpy moreover takes while it keeps the interpreter.
    Upstream: none.
    Buys: no pause of 3 ms and more for a goal of 10,000 points, which is read in a fifth of the time.
    Can go: with the last.

The environment variable ``LIE_DYNAMICS_ROS_WORKAROUNDS=0`` switches all of them off.

What costs nothing stays where it acts: finite spins, for an unlimited one of the EventsExecutor can starve, and the
usual scheduling before the end (`node.spinning`); texts too short for the deserializer of Fast DDS, which fewer bytes
can crash (`node.description_source`, `wire.serialized`).
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import re
import stat
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import rclpy
from rclpy.node import Node

SWITCH = "LIE_DYNAMICS_ROS_WORKAROUNDS"
"""Environment variable that switches the workarounds off where it is 0."""


def enabled() -> bool:
    """Return whether the workarounds are in use."""
    return os.environ.get(SWITCH, "1") != "0"


# Unfinished files of Fast DDS in shared memory, for which every later process waits without a word.

SHARED_MEMORY = Path("/dev/shm")
PORT_FILE = re.compile(r"fast(dds|rtps)_port\d+")
"""Files that processes of all domains share; a number is taken by whoever comes first."""
FINISHED = 2
"""The first word of a finished file; smaller before."""
LONGEST_CREATION = 5.0
"""Age from which an unfinished file counts as abandoned [s]; to create one takes a millisecond."""


def unfinished_files(place: Path = SHARED_MEMORY) -> list[str]:
    """Return the paths of abandoned files, of all users, sorted.

    Fast DDS (2.14 and 3.2) waits in `rclpy.init`, or while a node is created, until such a file is finished.
    """
    try:
        files = [file for file in os.scandir(place) if PORT_FILE.fullmatch(file.name)]
    except OSError:  # no such place: no shared memory
        return []
    return sorted(file.path for file in files if _is_unfinished(file))


def shared_memory_warning(place: Path = SHARED_MEMORY) -> str:
    """Return a message that names the abandoned files, their owners and the remedy; empty where there are none."""
    files = unfinished_files(place)
    if not files:
        return ""
    owners = ", ".join(f"{file} (user {os.stat(file).st_uid})" for file in files if os.path.exists(file))
    return (
        f"a killed process left unfinished files in shared memory: {owners}. Fast DDS may wait for them without end; "
        "run 'fastdds shm clean' as their owner, or remove them"
    )


def _is_unfinished(file: os.DirEntry[str]) -> bool:
    try:
        status = file.stat(follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode) or time.time() - status.st_mtime < LONGEST_CREATION:
            return False
        with open(file.path, "rb") as content:
            return int.from_bytes(content.read(4), sys.byteorder) < FINISHED
    except OSError:  # it has gone, or only its owner may read it
        return False


# Leaving DDS with a deadline.

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
