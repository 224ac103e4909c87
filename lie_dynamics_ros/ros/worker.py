"""Long computations beside the messages: one thread, so that a service call does not hold up a stream."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.service import Service
from rclpy.task import Future

from ..lie_dynamics import LieDynamicsError
from .errors import NodeError

SWITCH_INTERVAL = 5e-4
"""How long a thread may keep another waiting for the interpreter [s]; Python's own 5 ms would show in a stream."""


class Worker:
    """A thread on which a node's services do their work, one after the other.

    Parameters
    ----------
    node : Node
        Whose executor goes on with other callbacks meanwhile.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="services")
        # A group that lets the node's other callbacks run while a service waits.
        self._group = ReentrantCallbackGroup()
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_INTERVAL))

    def create_service(self, type_: type, name: str, answer: Callable[[Any, Any], None]) -> Service:
        """Offer a service whose ``answer(request, response)`` fills in the response, on the thread.

        Where it raises, the caller gets an otherwise empty response with ``success`` false and the reason.
        """

        async def serve(request: Any, response: Any) -> Any:
            done: Future = Future(executor=self._node.executor)
            self._thread.submit(lambda: done.set_result(self._answer(type_, answer, request, response)))
            return await done

        return self._node.create_service(type_, name, serve, callback_group=self._group)

    def _answer(self, type_: Any, answer: Callable[[Any, Any], None], request: Any, response: Any) -> Any:
        try:
            answer(request, response)
            return response
        except (NodeError, LieDynamicsError) as error:
            return type_.Response(success=False, message=str(error))
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            self._node.get_logger().error(f"a service call failed: {text}")
            return type_.Response(success=False, message=text)

    def close(self) -> None:
        """Drop the calls that wait; the one that is being served ends by itself."""
        self._thread.shutdown(wait=False, cancel_futures=True)
