"""Long computations beside the messages: one thread, so that a service call does not hold up a stream."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future

SWITCH_INTERVAL = 5e-4
"""How long a thread may keep another waiting for the interpreter [s]; Python's own 5 ms would show in a stream."""


class Worker:
    """A thread on which a node's services do their work, one call after the other.

    Parameters
    ----------
    node : Node
        Whose executor goes on with other callbacks meanwhile.

    Attributes
    ----------
    group : ReentrantCallbackGroup
        For the services that wait for this thread, so that the node's other callbacks may run meanwhile.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="services")
        self.group = ReentrantCallbackGroup()
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_INTERVAL))

    def run(self, work: Callable[[], Any]) -> Future:
        """Do some work, which must not raise, on the thread; returns what a coroutine may await its result with."""
        done: Future = Future(executor=self._node.executor)
        self._thread.submit(lambda: done.set_result(work()))
        return done

    def close(self) -> None:
        """Drop the calls that wait; the one that is being served ends by itself."""
        self._thread.shutdown(wait=False, cancel_futures=True)
