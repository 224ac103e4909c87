"""The joints that effort controllers expect: their messages have no names, and one of another size deactivates them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node

PARAMETER = "joints"
"""Of the controllers of ros2_control; names that are no joints, as for other nodes, count for nothing."""
MOST_ASKED = 10
"""Most subscribers that are asked; no robot has more controllers on one topic."""


class ExpectedJoints:
    """Asks the subscribers of a topic for their joints, once each, as far as they can be asked.

    Parameters
    ----------
    node : Node
    topic : str
        Full name of a topic with a number for each joint.
    """

    def __init__(self, node: Node, topic: str) -> None:
        self._node, self._topic = node, topic
        self._asked: dict[str, tuple[Any, Any]] = {}  # client and answer to come, by subscriber
        self._told: dict[str, tuple[str, ...]] = {}

    def ask(self) -> None:
        """Ask subscribers that are new, and forget those that have gone; to be called now and then."""
        ends = self._node.get_subscriptions_info_by_topic(self._topic)[:MOST_ASKED]
        names = {f"{end.node_namespace.rstrip('/')}/{end.node_name}" for end in ends}
        for name in {*self._asked, *self._told} - names:
            self._told.pop(name, None)
            self._let_go(name)
        for name in names - set(self._told):
            client, future = self._asked.get(name) or (None, None)
            if client is None:
                client = self._node.create_client(GetParameters, f"{name}/get_parameters")
            elif future is None and client.service_is_ready():
                future = client.call_async(GetParameters.Request(names=[PARAMETER]))
            elif future is not None and future.done():
                self._told[name] = _names(future)
                self._let_go(name)
                continue
            self._asked[name] = client, future

    def _let_go(self, name: str) -> None:
        client, _ = self._asked.pop(name, (None, None))
        if client is not None:
            self._node.destroy_client(client)

    def problems(self, joints: Sequence[str]) -> tuple[str, ...]:
        """Say which subscribers expect others than these joints, or another order."""
        said = []
        for name, expected in sorted(self._told.items()):
            if not expected or expected == tuple(joints):
                continue
            same = sorted(expected) == sorted(joints)
            what = "in another order" if same else f"where {len(joints)} are sent ({', '.join(joints)})"
            said.append(
                f"{name} expects efforts of {len(expected)} joints {what}: set the parameter joints to "
                f"[{', '.join(expected)}]"
            )
        return tuple(said)


def _names(future: Any) -> tuple[str, ...]:
    """Return the joints in an answer; none where there are none."""
    answer = None if future.exception() else future.result()
    if answer is None or not answer.values or answer.values[0].type != ParameterType.PARAMETER_STRING_ARRAY:
        return ()
    return tuple(name for name in answer.values[0].string_array_value if name)
