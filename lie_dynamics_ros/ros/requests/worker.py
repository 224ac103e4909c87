"""Long computations on threads beside the executor: service calls, and jobs that a node looks after."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.service import Service

from ..wire.compatibility import respond_by

SWITCH_INTERVAL = 5e-5
"""Longest wait of a thread for the interpreter [s]; Python's own 5 ms would show in a stream.

An answer waits several times. Reading a goal of 10,000 points takes no longer with it.
"""

_beside: set[int] = set()
"""Threads whose work waits for that of the others."""


def work_beside() -> None:
    """Let the work of the thread that calls this wait for the others': in real time its priority is one less."""
    thread = threading.get_native_id()
    _beside.add(thread)
    with contextlib.suppress(OSError, AttributeError):
        if os.sched_getscheduler(0) == os.SCHED_FIFO:  # which it has from its maker
            main = os.sched_getparam(os.getpid()).sched_priority
            os.sched_setscheduler(0, os.SCHED_FIFO, priority_of(thread, main))


def priority_of(thread: int, priority: int) -> os.sched_param:
    """Return the priority of a thread in real time where that of the process is this."""
    return os.sched_param(max(priority - (thread in _beside), 1))


class Job:
    """Something to be made, and what became of it.

    Parameters
    ----------
    key : object
        What it is made from: jobs with equal keys make the same.
    make : callable
        Returns the result, or raises.

    Attributes
    ----------
    done : bool
        Whether it has been made, or has failed.
    """

    def __init__(self, key: Any, make: Callable[[], Any]) -> None:
        self.key, self._make = key, make
        self.done = False
        self._result: Any = None
        self._error: Exception | None = None

    def run(self) -> None:
        """Make it; never raises."""
        try:
            self._result = self._make()
        except Exception as error:
            self._error = error
        self.done = True

    def result(self) -> Any:
        """Return what was made, or raise why it could not be."""
        if self._error is not None:
            raise self._error
        return self._result


class Background:
    """A thread that does one job after the other.

    Parameters
    ----------
    name : str
        Of the thread.
    """

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name, initializer=work_beside)

    def start(self, job: Job) -> None:
        """Begin a job; `Job.done` is True when it is done."""
        self._thread.submit(job.run)

    def close(self) -> None:
        """Drop the jobs that wait; the one under way ends on its own."""
        self._thread.shutdown(wait=False, cancel_futures=True)


class Worker:
    """A thread on which a node's services do their work, one call after the other."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="services", initializer=work_beside)
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_INTERVAL))

    def serve(self, service: Service, respond: Callable[[Any], Any]) -> None:
        """Let a service, whose callback returns the request itself, be answered from this thread.

        Parameters
        ----------
        service : Service
        respond : callable
            Makes the response to a request; must not raise.
        """

        def answer(request: Any, header: Any, send: Callable[[Any, Any], None]) -> None:
            response = respond(request)
            with contextlib.suppress(InvalidHandle):  # the node has gone
                send(response, header)

        def put_off(request: Any, header: Any, send: Callable[[Any, Any], None]) -> None:
            with contextlib.suppress(RuntimeError):  # closed
                self._thread.submit(answer, request, header, send)

        respond_by(service, put_off)

    def close(self) -> None:
        """Drop the calls that wait; the one that is being served ends on its own."""
        self._thread.shutdown(wait=False, cancel_futures=True)
