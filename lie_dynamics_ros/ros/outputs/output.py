"""Topics that a node publishes, at the least cost."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile

from ..wire import qos
from ..wire.compatibility import publish_functions

LISTENERS_AGE = 0.02
"""Period of checks for subscribers [s]."""


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
        self._hand_over, self._hand_over_serialized = publish_functions(self._publisher)
        self._heard, self._asked = False, -LISTENERS_AGE
        # As late as can be: a process may be frozen between any two of its lines, and goes on with what is stale.
        self._require_fresh: Callable[[], None] = getattr(getattr(node, "stream", None), "require_fresh", lambda: None)

    @property
    def heard(self) -> bool:
        """Whether there are subscribers, checked every `LISTENERS_AGE`: a check costs as much as a message."""
        now = monotonic()
        if now - self._asked >= LISTENERS_AGE:
            self._asked = now
            self._heard = self._publisher.get_subscription_count() > 0
        return self._heard

    def send(self, message: Any) -> None:
        """Publish a message of the topic's type."""
        if self._publisher.is_activated:
            self._hand_over(message)

    def send_serialized(self, message: bytes) -> None:
        """Publish an answer of the topic's type that is serialized already; raises MessageError where it is stale."""
        if self._publisher.is_activated:
            self._require_fresh()
            self._hand_over_serialized(message)
