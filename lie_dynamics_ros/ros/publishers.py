"""Who publishes on a topic: subscriptions that tell, and whether several take turns where one is expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from . import qos

UNKNOWN = b""
"""Stands for the publisher where rclpy does not tell, as that of Jazzy."""
MOST = 64
"""Publishers that are kept between two reports."""


def subscribe(
    node: Node, type_: type, topic: str, callback: Callable[[bytes, bytes], None], profile: QoSProfile
) -> Subscription:
    """Subscribe to serialized messages, ``callback(message, publisher)``; the user can override the quality of service.

    Executors differ in how they hand over what they know of a message: rclpy's own give it as a second argument, its
    EventsExecutor gives both as one tuple, for which it would refuse a callback of two arguments.
    """

    def receive(message: Any, info: Any = None) -> None:
        if type(message) is tuple:
            message, info = message
        gid = info.get("publisher_gid") if info else None
        callback(message, gid["data"] if gid else UNKNOWN)

    subscription = node.create_subscription(
        type_, topic, receive, profile, qos_overriding_options=qos.overridable(), raw=True
    )
    subscription._callback_type = Subscription.CallbackType.WithMessageInfo
    return subscription


class Publishers:
    """Notices publishers that take turns on a topic.

    One that takes the place of another, as when a driver is started again, is none of them.

    Parameters
    ----------
    node : Node
    subscription : Subscription
        To the topic.
    """

    def __init__(self, node: Node, subscription: Subscription) -> None:
        self._node, self._subscription = node, subscription
        self._latest = UNKNOWN
        self._seen: set[bytes] = set()
        self._turns: set[bytes] = set()

    def heard(self, publisher: bytes) -> None:
        """Take note of a message."""
        if publisher == self._latest:
            return
        if publisher in self._seen:
            self._turns |= {publisher, self._latest}
        if len(self._seen) < MOST:
            self._seen.add(publisher)
        self._latest = publisher

    def take_several(self) -> tuple[str, ...]:
        """Nodes whose messages took turns since the last call; empty where all came from one publisher.

        Where rclpy does not tell who sent a message, all that publish on the topic, if there are several.
        """
        turns, self._turns = self._turns, set()
        self._seen = {self._latest}
        if not turns and (self._latest != UNKNOWN or self._subscription.get_publisher_count() < 2):
            return ()
        known = {
            bytes(end.endpoint_gid): f"{end.node_namespace.rstrip('/')}/{end.node_name}"
            for end in self._node.get_publishers_info_by_topic(self._subscription.topic_name)
        }
        if turns:
            names = [known.get(gid, f"a publisher that has gone ({gid.hex()})") for gid in turns]
        else:
            names = list(known.values())
        return tuple(sorted(names))
