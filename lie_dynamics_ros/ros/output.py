"""Topics that a node publishes, at the least cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile

from . import qos


class Output:
    """A topic of a node.

    A lifecycle publisher does no more than this to publish, but takes three functions of Python and a lock to do so,
    which matters a millisecond after they were last used.

    Parameters
    ----------
    node : LifecycleNode
        Publishes only while it is active.
    type_ : type
        Of its messages.
    topic : str
    profile : QoSProfile
        Quality of service, unless the user overrides it.
    """

    def __init__(self, node: Node, type_: type, topic: str, profile: QoSProfile = qos.OUTPUT) -> None:
        self._publisher = node.create_lifecycle_publisher(
            type_, topic, profile, qos_overriding_options=qos.overridable()
        )
        self._hand_over: Callable[[Any], None] = self._publisher.handle.publish

    def listeners(self) -> int:
        """Return the number of subscriptions."""
        return int(self._publisher.get_subscription_count())

    def send(self, message: Any) -> None:
        """Publish a message of the topic's type."""
        if self._publisher.is_activated:
            self._hand_over(message)
