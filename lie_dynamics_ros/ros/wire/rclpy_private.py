"""What this package uses of rclpy beyond its public interface; no other module does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action.server import ActionServer, GoalEvent, ServerGoalHandle
from rclpy.impl.rcutils_logger import RcutilsLogger as Logger
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.service import Service
from rclpy.subscription import Subscription

__all__ = [
    "Logger", "begin_goal", "finish_goal", "given_parameters", "lifecycle_state", "publish_functions", "respond_by",
    "take_message", "tell_message_info",
]  # fmt: skip


def given_parameters(node: Node) -> list[str]:
    """Return the names of all parameters that the user gave a node, whether it has them or not."""
    return list(node._parameter_overrides)


def lifecycle_state(node: LifecycleNode) -> str:
    """Return the state of a lifecycle node, which can otherwise be asked for by a service only."""
    return str(node._state_machine.current_state[1])


def publish_functions(publisher: Publisher) -> tuple[Callable[[Any], None], Callable[[bytes], None]]:
    """Return what publishes a message and a serialized one, without the checks that every message is for rclpy."""
    return publisher.handle.publish, publisher.handle.publish_raw


def take_message(subscription: Subscription, type_: type) -> bytes | None:
    """Take a serialized message without an executor; None where none has come."""
    with subscription.handle:
        taken = subscription.handle.take_message(type_, True)
    return None if taken is None else taken[0]


def tell_message_info(subscription: Subscription) -> None:
    """Let the callback get what is known of a message, also where its signature does not tell that it wants it."""
    subscription._callback_type = Subscription.CallbackType.WithMessageInfo


def respond_by(service: Service, put_off: Callable[[Any, Any, Callable[[Any, Any], None]], None]) -> None:
    """Let ``put_off(request, header, send)`` answer a service, whose callback returns the request itself.

    Not every executor takes coroutines for callbacks (the EventsExecutor of Jazzy does not), but all send what a
    callback returns by `Service.send_response`: ``send(response, header)`` may be called there at any later time.
    """
    send = service.send_response
    service.send_response = lambda request, header: put_off(request, header, send)


def begin_goal(handle: ServerGoalHandle) -> None:
    """Take note that a goal of an action is being executed, without a callback that does so.

    rclpy would run one on the executor, which must not wait, and of whose coroutines some executors make busy loops.
    """
    handle._update_state(GoalEvent.EXECUTE)


def finish_goal(server: ActionServer, handle: ServerGoalHandle, result: Any) -> None:
    """Send the result of a goal that has come to its end, now or when it is asked for."""
    response = server.action_type.Impl.GetResultService.Response()
    response.status, response.result = handle.status, result
    server._result_futures[bytes(handle.goal_id.uuid)].set_result(response)
