"""Long computations beside the messages: one thread, so that a service call does not hold up a stream."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.service import Service

from ..wire.compatibility import respond_by

SWITCH_INTERVAL = 5e-4
"""How long a thread may keep another waiting for the interpreter [s]; Python's own 5 ms would show in a stream."""


class Worker:
    """A thread on which a node's services do their work, one call after the other."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="services")
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
