"""Real-time scheduling of a node's process: requested by parameters, granted by the system, logged in one line.

The parameters have the names that the controller manager of ros2_control gives them.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rclpy.node import Node

from ...core.setting import Setting

REMEDY = (
    "see the page on real time in the documentation: rtprio and memlock in /etc/security/limits.conf, or CAP_SYS_NICE"
)

REAL_TIME_SETTINGS = (
    Setting(
        "thread_priority",
        50,
        "Priority of all threads of the process under the scheduler SCHED_FIFO, where the system allows it. "
        "0: as the process was started.",
        "at start",
        high=99,
    ),
    Setting(
        "cpu_affinity",
        [-1],
        "Processors that all threads of the process may run on, counted from 0. [-1] stands for all.",
        "at start",
        low=-1,
        high=4095,
    ),
    Setting("lock_memory", False, "Keep all memory of the process from being paged out.", "at start"),
)
AS_STARTED = replace(REAL_TIME_SETTINGS[0], default=0)
"""The first of them, for nodes that command nothing real: the viewer, and simulated drivers. In real time, these would
set going more than a slow machine can do, and leave nothing of it to others; without, states become fewer."""

_LOCK_CURRENT, _LOCK_FUTURE = 1, 2


@dataclass
class Granted:
    """The part of the request that the system granted.

    Attributes
    ----------
    granted, refused : list of str
        What became of each request; refusals with their reason.
    """

    granted: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def apply_real_time(values: Mapping[str, Any]) -> Granted:
    """Apply the values of `REAL_TIME_SETTINGS` to this process; what cannot be had is reported, never raised.

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
    names = [setting.name for setting in REAL_TIME_SETTINGS]
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
    _for_all_threads(lambda thread: os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(priority)))


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
