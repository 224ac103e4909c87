"""A hidden node beside another one, on a thread of its own, for requests that rclpy makes slowly.

rclpy makes an action's goal or a service's request of 10,000 trajectory points in one call of 0.2 to 0.3 s, by running
Python's code for each point. On the executor no state is answered meanwhile; on another thread the interpreter changes
between both every `SWITCH_INTERVAL`.
"""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rclpy.clock import Clock
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from ..requests.worker import SWITCH_INTERVAL, work_beside

WAKE = 0.5
"""Longest wait of one spin [s]."""
CLOSING = 5.0
"""Longest wait for the thread to end [s]; a long request may be under way."""
ACTION_SERVICES, ACTION_TOPICS = ("send_goal", "cancel_goal", "get_result"), ("feedback", "status")


class SideNode(Node):
    """Offers actions and services under the names that they would have at its owner, and by its clock.

    Parameters
    ----------
    owner : Node
    actions, services : sequence of str
        Names as at the owner, such as ``~/follow_joint_trajectory``.
    """

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
        with suppress(ExternalShutdownException):
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
