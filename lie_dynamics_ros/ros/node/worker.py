"""Threads beside the executor: service calls, jobs that a node looks after, and requests that rclpy makes slowly."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rclpy.clock import Clock
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
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
    """Something to be made, of a key: jobs with equal keys make the same. It is done when made, or failed."""

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


class Worker:
    """A thread that does one thing after the other: jobs, and the work of services."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name, initializer=work_beside)
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_INTERVAL))

    def start(self, job: Job) -> None:
        """Begin a job; `Job.done` is True when it is done."""
        self._thread.submit(job.run)

    def serve(self, service: Service, respond: Callable[[Any], Any]) -> None:
        """Let ``respond(request)``, which must not raise, answer a service; its callback returns the request itself."""

        def answer(request: Any, header: Any, send: Callable[[Any, Any], None]) -> None:
            response = respond(request)
            with contextlib.suppress(InvalidHandle):  # the node has gone
                send(response, header)

        def put_off(request: Any, header: Any, send: Callable[[Any, Any], None]) -> None:
            with contextlib.suppress(RuntimeError):  # closed
                self._thread.submit(answer, request, header, send)

        respond_by(service, put_off)

    def close(self) -> None:
        """Drop what waits; what is under way ends on its own."""
        self._thread.shutdown(wait=False, cancel_futures=True)


# A hidden node beside another one, on a thread of its own. rclpy makes an action's goal or a service's request of
# 10,000 trajectory points in one call of 0.2 to 0.3 s, by running Python's code for each point. On the executor no
# state is answered meanwhile; on another thread the interpreter changes between both every `SWITCH_INTERVAL`.

WAKE = 0.5
"""Longest wait of one spin [s]."""
CLOSING = 5.0
"""Longest wait for the thread to end [s]; a long request may be under way."""
ACTION_SERVICES, ACTION_TOPICS = ("send_goal", "cancel_goal", "get_result"), ("feedback", "status")


class SideNode(Node):
    """Offers actions and services under the names that they would have at its owner, ``~/name``, and by its clock."""

    def __init__(self, owner: Node, actions: tuple[str, ...] = (), services: tuple[str, ...] = ()) -> None:
        self._owner = owner
        self._names = {name: owner.resolve_service_name(name, only_expand=True) for name in (*actions, *services)}
        rules = _remappings(owner, [self._names[name] for name in actions], [self._names[name] for name in services])
        super().__init__(
            f"_{owner.get_name()}_requests",
            namespace=owner.get_namespace(),
            context=owner.context,
            cli_args=["--ros-args", *rules] if rules else [],
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_INTERVAL))
        self._spinner = SingleThreadedExecutor(context=owner.context)
        self._ended = False
        self._thread = threading.Thread(target=self._spin, name="requests", daemon=True)

    def name_of(self, name: str) -> str:
        """Return the full name of one of the actions and services."""
        return self._names[name]

    def get_clock(self) -> Clock:
        """Return the owner's clock, by which goals are stamped."""
        return self._owner.get_clock()

    def begin(self) -> None:
        """Begin to serve, once all has been made."""
        self._spinner.add_node(self)
        self._thread.start()
        atexit.register(self._end)  # a thread that is in rclpy when Python ends would end the process with an error

    def post(self, do: Callable[..., Any], *args: Any) -> None:
        """Let something be done on its thread, in the order in which it is posted."""
        self._spinner.create_task(do, *args)

    def _spin(self) -> None:
        work_beside()
        with contextlib.suppress(ExternalShutdownException):
            while not self._ended and self.context.ok():
                self._spinner.spin_once(timeout_sec=WAKE)

    def _end(self) -> None:
        self._ended = True
        self._spinner.wake()
        if self._thread.is_alive():
            self._thread.join(CLOSING)

    def close(self) -> None:
        """End the thread and the node."""
        atexit.unregister(self._end)
        self._end()
        self._spinner.shutdown(timeout_sec=0.0)
        self.destroy_node()


def _remappings(owner: Node, actions: list[str], services: list[str]) -> list[str]:
    """Return the rules by which names of the owner were remapped, as arguments."""
    found = {name: owner.resolve_service_name(name) for name in services}
    for action in actions:
        for part in ACTION_SERVICES:
            name = f"{action}/_action/{part}"
            found[name] = owner.resolve_service_name(name)
        for part in ACTION_TOPICS:
            name = f"{action}/_action/{part}"
            found[name] = owner.resolve_topic_name(name)
    return [word for name, other in found.items() if name != other for word in ("-r", f"{name}:={other}")]
