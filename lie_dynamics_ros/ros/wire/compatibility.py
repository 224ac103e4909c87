"""Differences between distributions of ROS 2, and the use of rclpy beyond its public interface.

No other module names a distribution or uses what is private of rclpy: here is what a new distribution may change.
"""

from __future__ import annotations

import importlib
import inspect
import zlib
from collections.abc import Callable, Mapping
from operator import itemgetter
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ...lie_dynamics.texts import quoted

if TYPE_CHECKING:  # what sets the environment of processes must not load rclpy, which reads it
    from rclpy.action.server import ActionServer, ServerGoalHandle
    from rclpy.executors import Executor
    from rclpy.impl.rcutils_logger import RcutilsLogger as Logger  # noqa: F401  (for others)
    from rclpy.lifecycle import LifecycleNode
    from rclpy.node import Node
    from rclpy.publisher import Publisher
    from rclpy.service import Service
    from rclpy.subscription import Subscription


# Messages and services of this project, where the package that holds them is installed.

INTERFACE_PACKAGE = "lie_dynamics_interfaces"
BUILD_IT = (
    "a plain colcon build leaves it out: "
    f"colcon build --base-paths src/lie_dynamics_ros src/lie_dynamics_ros/{INTERFACE_PACKAGE}"
)
"""It lies inside the other package, where colcon does not look."""


def interfaces(kind: str) -> ModuleType | None:
    """Return the module of this project's messages ("msg") or services ("srv"); None where it is not installed."""
    try:
        module = importlib.import_module(f"{INTERFACE_PACKAGE}.{kind}")
    except ImportError:
        return None
    return module if module.__file__ else None  # in a checkout, its sources look like a package without content


BEFORE_FAST_DDS_3 = ("humble", "iron", "jazzy")
"""Distributions whose Fast DDS still goes by the name of its libraries before version 3."""

PRIMARY_STATES = ("unconfigured", "inactive", "active", "finalized")
"""States in which a node waits for a transition; the others last as long as one."""

UNKNOWN = b""
"""Stands for the publisher of a message where rclpy gives none."""
GID = 16
"""Bytes of the id that rclpy gives a publisher; names that `Counts` gives are shorter."""
MOST_COUNTED = 64
"""Publishers that are kept at a time."""
LONGEST_TURN = 1000
"""Messages of one publisher that may be lost on end; beyond, it counts as another one."""


def profiles_variable(environment: Mapping[str, str]) -> str:
    """Return the name of the environment variable that names the profile of Fast DDS."""
    library = "FASTRTPS" if environment.get("ROS_DISTRO") in BEFORE_FAST_DDS_3 else "FASTDDS"
    return f"{library}_DEFAULT_PROFILES_FILE"


def events_executor() -> Callable[..., Executor] | None:
    """Return the EventsExecutor of rclpy; None where it has none, as Jazzy in its first year."""
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return None
    return EventsExecutor


class Counts:
    """Distinguishes publishers by how each counts its messages, where rclpy gives nothing else, as that of Jazzy.

    A guess: messages of the same names that change places while two publishers have counted equally far are taken for
    each other's. Who sends other names is another one as soon as no single publisher could have counted so. Publishers
    of each topic get names of their own.
    """

    def __init__(self, topic: str = "") -> None:
        self._last: list[int] = []  # of each publisher
        self._tracks: dict[tuple[str, ...], list[list[int]]] = {}  # by what is named: numbers, and publishers
        self._mark = zlib.crc32(topic.encode()) & 0xFFFF

    def publisher(self, number: int, names: tuple[str, ...] = ()) -> bytes:
        """Return a name for the publisher of a message with this number, which names this.

        It is the one of which the last message with these names was nearest before; of new names, the one of which any
        message was.
        """
        if len(self._tracks) >= MOST_COUNTED:
            self._tracks.clear()
        near = [track for track in self._tracks.get(names, ()) if _follows(number, track[0])]
        if near:
            track = max(near, key=itemgetter(0))
        else:
            track = [number, self._nearest(number)]
            self._tracks.setdefault(names, []).append(track)
        if number <= self._last[track[1]]:  # two that name different things were taken for one
            track[1] = self._nearest(number)
        track[0] = self._last[track[1]] = number
        return b"%d.%d" % (track[1], self._mark)

    def _nearest(self, number: int) -> int:
        """Return the publisher who was nearest before a number, or a new one."""
        near = [(last, k) for k, last in enumerate(self._last) if _follows(number, last)]
        if near:
            return max(near, key=itemgetter(0))[1]
        if len(self._last) >= MOST_COUNTED:
            self._last.clear()
            self._tracks.clear()
        self._last.append(number - 1)
        return len(self._last) - 1


def _follows(number: int, last: int) -> bool:
    return last < number <= last + LONGEST_TURN


def with_publisher(
    callback: Callable[[Any, bytes], None], topic: str, names: Callable[[Any], tuple[str, ...]]
) -> Callable[..., None]:
    """Return a callback for rclpy that calls ``callback(message, publisher)``; see `tell_message_info`.

    ``names(message)`` helps to tell publishers apart.

    Executors differ in how they hand over what they know of a message: rclpy's own give it as a second argument, its
    EventsExecutor gives both as one tuple, for which it would refuse a callback of two arguments. From Kilted on that
    says who published the message; in Jazzy it is the publisher's count alone.
    """
    counts = Counts(topic)

    def receive(message: Any, info: Any = None) -> None:
        if type(message) is tuple:
            message, info = message
        publisher = UNKNOWN
        if info:
            gid = info.get("publisher_gid")
            if gid:
                publisher = gid["data"]
            elif info["publication_sequence_number"] is not None:
                publisher = counts.publisher(info["publication_sequence_number"], names(message))
        callback(message, publisher)

    return receive


def given_parameters(node: Node) -> list[str]:
    """Return the names of all parameters that the user gave a node, whether it has them or not."""
    return list(node._parameter_overrides)


def given_value(node: Node, name: str) -> Any:
    """Return the value that the user gave a parameter."""
    return node._parameter_overrides[name].value


def lifecycle_state(node: LifecycleNode) -> str:
    """Return the state of a lifecycle node, which can otherwise be requested by a service only."""
    return str(node._state_machine.current_state[1])


def refuse_impossible_transitions(node: LifecycleNode) -> None:
    """Answer requests for transitions that the node's state does not have with ``success: false``.

    rclpy (Jazzy, Kilted) raises an exception for a request by id that does not apply, which ends the process
    (ros2/rclpy issue 1209); labels it refuses. Where rclpy refuses both, this changes nothing.
    """
    service = node._service_change_state
    change = service.callback

    def guarded(request: Any, response: Any) -> Any:
        machine, asked = node._state_machine, request.transition
        known = {(number, label) for number, label, *_ in machine.available_transitions}
        named = any(label == asked.label for _, label in known)
        possible = named if asked.label else any(number == asked.id for number, _ in known)
        response.success = False
        if possible and machine.current_state[1] in PRIMARY_STATES:
            try:
                return change(request, response)
            except Exception as error:
                node.get_logger().error(f"transition {asked.label or asked.id} failed: {error}")
        else:
            node.get_logger().warning(
                f"no transition {quoted(asked.label) if asked.label else asked.id} while {machine.current_state[1]}; "
                f"possible: {', '.join(sorted(f'{label} ({number})' for number, label in known)) or 'none'}"
            )
        return response

    service.callback = guarded


def destroy_lifecycle(node: LifecycleNode) -> None:
    """Let go of the state machine of a node that is destroyed, by which it would stay among the participants."""
    machine = getattr(node, "_state_machine", None)
    if machine is not None:
        machine.destroy_when_not_in_use()


def publish_functions(publisher: Publisher) -> tuple[Callable[[Any], None], Callable[[bytes], None]]:
    """Return what publishes a message and a serialized one, without the checks that every message is for rclpy."""
    return publisher.handle.publish, publisher.handle.publish_raw


def take_message(subscription: Subscription, type_: type) -> bytes | None:
    """Take a serialized message without an executor; None where none has come."""
    with subscription.handle:
        taken = subscription.handle.take_message(type_, True)
    return None if taken is None else taken[0]


def tell_message_info(subscription: Subscription) -> None:
    """Let the callback get what is known of a message, also where its signature does not show that it takes it."""
    subscription._callback_type = subscription.CallbackType.WithMessageInfo


def respond_by(service: Service, put_off: Callable[[Any, Any, Callable[[Any, Any], None]], None]) -> None:
    """Let ``put_off(request, header, send)`` answer a service, whose callback returns the request itself.

    Not every executor takes coroutines for callbacks (the EventsExecutor of Jazzy does not), but all send what a
    callback returns by `Service.send_response`: ``send(response, header)`` may be called there at any later time.
    """
    send = service.send_response
    service.send_response = lambda request, header: put_off(request, header, send)


def put_off_transitions(node: LifecycleNode, put_off: Callable[[Any, Callable[[], None]], None]) -> None:
    """Let ``put_off(request, make)`` decide when a transition that was requested by service is made."""
    service = node._service_change_state
    change = service.callback

    def answer(request: Any, header: Any, send: Callable[[Any, Any], None]) -> None:
        put_off(request, lambda: send(change(request, service.srv_type.Response()), header))

    service.callback = lambda request, response: request
    respond_by(service, answer)


def begin_goal(handle: ServerGoalHandle) -> None:
    """Take note that a goal of an action is being executed, without a callback that does so.

    rclpy would run one on the executor, which must not wait, and of whose coroutines some executors make busy loops.
    """
    from rclpy.action.server import GoalEvent

    handle._update_state(GoalEvent.EXECUTE)


def rcl_class(name: str) -> Any:
    """Return a class that rclpy has for a thing of the C library."""
    from rclpy.impl.implementation_singleton import rclpy_implementation

    return getattr(rclpy_implementation, name)


PROFILES = ("goal_service", "result_service", "cancel_service", "feedback_pub", "status_pub")


def exchange_server(server: ActionServer, make: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Let an action server, made of these arguments, use another server of the C library, made of what rclpy gives."""
    from rclpy.action import ActionServer as Made

    given = inspect.signature(Made).bind(*args, **options)
    given.apply_defaults()
    node, clock = given.arguments["node"], given.arguments["node"].get_clock()
    profiles = [given.arguments[f"{name}_qos_profile"].get_c_qos_profile() for name in PROFILES]
    kind, name, kept = (given.arguments[argument] for argument in ("action_type", "action_name", "result_timeout"))
    with node.handle, clock.handle:
        other = make(node.handle, clock.handle, kind, name, *profiles, kept)
    server._handle.destroy_when_not_in_use()
    server._handle = other


def finish_goal(server: ActionServer, handle: ServerGoalHandle, result: Any) -> None:
    """Send the result of a goal that has come to its end, now or when it is requested."""
    response = server.action_type.Impl.GetResultService.Response()
    response.status, response.result = handle.status, result
    server._result_futures[bytes(handle.goal_id.uuid)].set_result(response)
