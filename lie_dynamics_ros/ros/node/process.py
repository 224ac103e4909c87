"""The process of nodes: real-time scheduling, garbage between callbacks, a watchdog."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import fcntl
import gc
import os
import resource
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from rclpy.node import Node

from ...core.parameters import Parameters, parameter
from .worker import priority_of

# Real-time scheduling of a node's process: requested by parameters, granted by the system, logged in one line.
#
# The parameters have the names that the controller manager of ros2_control gives them.

REMEDY = (
    "see the page on real time in the documentation: rtprio and memlock in /etc/security/limits.conf, or CAP_SYS_NICE"
)


@dataclass(frozen=True)
class RealTimeParameters(Parameters):
    """Parameters of real-time scheduling."""

    thread_priority: int = parameter(
        50,
        "Priority of all threads of the process under the scheduler SCHED_FIFO, where the system allows it. 0: as the "
        "process was started.",
        "at start",
        high=99,
    )
    cpu_affinity: tuple[int, ...] = parameter(
        [-1],
        "Processors that all threads of the process may run on, counted from 0. [-1] stands for all.",
        "at start",
        low=-1,
        high=4095,
    )
    lock_memory: bool = parameter(False, "Keep all memory of the process from being paged out.", "at start")


_LOCK_CURRENT, _LOCK_FUTURE = 1, 2


@dataclass
class Granted:
    """What became of each request; refusals with their reason."""

    granted: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def apply_real_time(values: Mapping[str, Any]) -> Granted:
    """Apply the values of `RealTimeParameters` to this process; what cannot be had is reported, never raised.

    Threads that exist get the priority one by one. Threads that are made later inherit it from their makers.
    """
    outcome = Granted()
    processors = [p for p in values["cpu_affinity"] if p >= 0]
    if processors:
        _try(outcome, f"processors {', '.join(map(str, processors))}", lambda: _set_affinity(processors))
    if values["thread_priority"]:
        priority = int(values["thread_priority"])
        _try(outcome, f"SCHED_FIFO priority {priority}", lambda: _set_priority(priority))
    if values["lock_memory"]:
        _try(outcome, "locked memory", _lock_memory)
    return outcome


def request_real_time(node: Node) -> None:
    """Apply a node's parameters of this module to its process, and log the outcome."""
    names = [setting.name for setting in RealTimeParameters.settings()]
    if not all(node.has_parameter(name) for name in names):
        return
    outcome = apply_real_time({name: node.get_parameter(name).value for name in names})
    if outcome.granted:
        node.get_logger().info(f"real time: {', '.join(outcome.granted)}")
    if outcome.refused:
        node.get_logger().warning(f"not in real time: {'; '.join(outcome.refused)}. {REMEDY}")


def usual_scheduling() -> None:
    """Give all threads of this process back to the usual scheduler."""
    _for_all_threads(lambda thread: os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0)))


def _try(outcome: Granted, what: str, request: Any) -> None:
    try:
        request()
    except (OSError, AttributeError, ValueError) as error:  # AttributeError: a system without these calls
        outcome.refused.append(f"{what} ({error})")
    else:
        outcome.granted.append(what)


def _threads() -> list[int]:
    return [int(entry.name) for entry in Path("/proc/self/task").iterdir()]


def _for_all_threads(apply: Any) -> None:
    """Apply a change to all threads, those too that are made while it goes on."""
    done: set[int] = set()
    while new := set(_threads()) - done:
        for thread in new:
            with contextlib.suppress(ProcessLookupError):  # it has ended
                apply(thread)
        done |= new


def _set_priority(priority: int) -> None:
    _for_all_threads(lambda thread: os.sched_setscheduler(thread, os.SCHED_FIFO, priority_of(thread, priority)))


def _set_affinity(processors: Sequence[int]) -> None:
    missing = set(processors) - os.sched_getaffinity(0)
    if missing:
        raise OSError(f"this process may not use processor {', '.join(map(str, sorted(missing)))}")
    _for_all_threads(lambda thread: os.sched_setaffinity(thread, processors))


def _lock_memory() -> None:
    """Lock what is there, and what comes later where no limit could turn that into a failure to allocate."""
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    unlimited = limit == resource.RLIM_INFINITY or os.geteuid() == 0
    library = ctypes.CDLL(None, use_errno=True)
    if library.mlockall(_LOCK_CURRENT | _LOCK_FUTURE if unlimited else _LOCK_CURRENT) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


# Connectivity of a process: callbacks that do not return, and networks that came up later.
#
# Fast DDS looks for networks once, when a participant is made.

STUCK = 20.0
"""Time after which a callback that does not return, or a network that is left out, counts as a failure [s]."""
INTERVAL = 5.0
"""Between two checks [s]; each takes a third of a millisecond."""

_ADDRESS, _FLAGS, _RUNNING = 0x8915, 0x8913, 0x41


class ConnectivityWatchdog:
    """Checks every `INTERVAL` from the loop that spins, and counts checks, so that a frozen process raises no alarm.

    Callbacks are watched while all nodes are active: a transition may take long. One that does not return for `STUCK`
    has its stack printed, and ends the process where that is wanted.

    Attributes
    ----------
    left_out : str
        Names the networks that DDS does not use; empty where it uses all.
    """

    def __init__(self, nodes: Sequence[Node], end: bool) -> None:
        self._nodes, self._end = nodes, end
        self._known = networks()
        self._next, self._apart = 0.0, 0
        self.left_out = ""

    def update(self) -> None:
        """Check, where it is time to."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + INTERVAL
        if all_active(self._nodes):
            faulthandler.dump_traceback_later(STUCK, exit=self._end)  # needs no Python to run, which may be stuck
        else:
            self.pause()
        self.left_out = ""
        late = networks() - self._known
        if late:
            names = ", ".join(f"{name} ({address})" for name, address in sorted(late))
            self.left_out = f"DDS does not use {names}, up only since this process was started: start it again"
        hear = all(node.hears() for node in self._nodes if hasattr(node, "hears"))
        self._apart = self._apart + 1 if late and not hear else 0

    def pause(self) -> None:
        """Watch no callback until the next check: this one may take long."""
        faulthandler.cancel_dump_traceback_later()

    @property
    def reason_to_end(self) -> str:
        """Why starting the process again is better than to go on; empty where it is not."""
        return self.left_out if self._apart * INTERVAL >= STUCK else ""


def all_active(nodes: Sequence[Node]) -> bool:
    """Return whether all nodes that have a lifecycle are active."""
    return all(getattr(node, "state", "active") == "active" for node in nodes)


def networks() -> set[tuple[str, str]]:
    """Return names and IPv4 addresses of the networks of this machine that are up."""
    found = set()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            question = struct.pack("256s", name.encode())
            try:
                (flags,) = struct.unpack_from("H", fcntl.ioctl(asked, _FLAGS, question), 16)
                if flags & _RUNNING == _RUNNING:
                    found.add((name, socket.inet_ntoa(fcntl.ioctl(asked, _ADDRESS, question)[20:24])))
            except OSError:  # it has no address, or has just gone
                continue
    return found


# Garbage collection between callbacks: Python's own would come in the middle of an answer.

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
