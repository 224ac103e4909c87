"""Who publishes on a topic: subscriptions that tell, and whether several take turns where one is expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from ..wire import qos
from ..wire.rclpy_private import tell_message_info

UNKNOWN = b""
"""Stands for the publisher where rclpy tells nothing."""
MOST_COUNTED = 64
"""Publishers that are kept at a time."""
GID = 16
"""Bytes of the id that rclpy gives a publisher."""
LONGEST_TURN = 1000
"""Messages of one publisher that may be lost on end; beyond, it counts as another one."""


class Counts:
    """Tells publishers apart by how each counts its messages, where rclpy tells nothing else, as that of Jazzy.

    A guess: messages that change places while two publishers have counted equally far are taken for each other's.
    """

    def __init__(self) -> None:
        self._last: list[int] = []

    def publisher(self, number: int) -> bytes:
        """Return a name for the publisher of a message with this number: of which the last one was nearest before."""
        near = [(last, k) for k, last in enumerate(self._last) if last < number <= last + LONGEST_TURN]
        if near:
            last = max(near)[0]
            k = self._last.index(last)
            self._last[k] = number
        else:
            if len(self._last) >= MOST_COUNTED:
                self._last.clear()
            k = len(self._last)
            self._last.append(number)
        return b"%d" % k


def subscribe(
    node: Node, type_: type, topic: str, callback: Callable[[bytes, bytes], None], profile: QoSProfile
) -> Subscription:
    """Subscribe to serialized messages, ``callback(message, publisher)``; the user can override the quality of service.

    Executors differ in how they hand over what they know of a message: rclpy's own give it as a second argument, its
    EventsExecutor gives both as one tuple, for which it would refuse a callback of two arguments.
    """
    counts = Counts()

    def receive(message: Any, info: Any = None) -> None:
        if type(message) is tuple:
            message, info = message
        publisher = UNKNOWN
        if info:
            gid = info.get("publisher_gid")
            if gid:
                publisher = gid["data"]
            elif info["publication_sequence_number"] is not None:
                publisher = counts.publisher(info["publication_sequence_number"])
        callback(message, publisher)

    subscription = node.create_subscription(
        type_, topic, receive, profile, qos_overriding_options=qos.overridable(), raw=True
    )
    tell_message_info(subscription)
    return subscription


class Publishers:
    """Notices publishers that take turns on a topic.

    One that takes the place of another, as when a driver is started again, is none of them.

    Parameters
    ----------
    node : Node
    subscription : Subscription
        To the topic.

    Attributes
    ----------
    latest : bytes
        Publisher of the last message.
    """

    def __init__(self, node: Node, subscription: Subscription) -> None:
        self._node, self._subscription = node, subscription
        self.latest = UNKNOWN
        self._seen: set[bytes] = set()
        self._turns: set[bytes] = set()

    def heard(self, publisher: bytes) -> None:
        """Take note of a message."""
        if publisher == self.latest:
            return
        if publisher in self._seen:
            self._turns |= {publisher, self.latest}
        if len(self._seen) < MOST_COUNTED:
            self._seen.add(publisher)
        self.latest = publisher

    def take_several(self) -> tuple[str, ...]:
        """Nodes whose messages took turns since the last call; empty where all came from one publisher.

        Where rclpy does not tell who they are, all that publish on the topic.
        """
        turns, self._turns = self._turns, set()
        self._seen = {self.latest}
        if not turns and (self.latest != UNKNOWN or self._subscription.get_publisher_count() < 2):
            return ()
        known = {
            bytes(end.endpoint_gid): f"{end.node_namespace.rstrip('/')}/{end.node_name}"
            for end in self._node.get_publishers_info_by_topic(self._subscription.topic_name)
        }
        if all(len(publisher) < GID for publisher in turns):
            return tuple(sorted(known.values()))
        return tuple(sorted(known.get(gid, f"a publisher that has gone ({gid.hex()})") for gid in turns))
