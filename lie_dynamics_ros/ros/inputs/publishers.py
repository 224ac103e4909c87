"""Who publishes on a topic: subscriptions that tell, and whether several take turns where one is expected."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
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
MOST_NAMES = 1000
"""Joints that are kept of each."""
GID = 16
"""Bytes of the id that rclpy gives a publisher."""
LONGEST_TURN = 1000
"""Messages of one publisher that may be lost on end; beyond, it counts as another one."""


class Counts:
    """Tells publishers apart by how each counts its messages, where rclpy tells nothing else, as that of Jazzy.

    A guess: messages that change places while two publishers have counted equally far are taken for each other's.

    Parameters
    ----------
    topic : str
        Its publishers get names of their own.
    """

    def __init__(self, topic: str = "") -> None:
        self._last: list[int] = []
        self._mark = zlib.crc32(topic.encode()) & 0xFFFF

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
        return b"%d.%d" % (k, self._mark)


def subscribe(
    node: Node, type_: type, topic: str, callback: Callable[[bytes, bytes], None], profile: QoSProfile
) -> Subscription:
    """Subscribe to serialized messages, ``callback(message, publisher)``; the user can override the quality of service.

    Executors differ in how they hand over what they know of a message: rclpy's own give it as a second argument, its
    EventsExecutor gives both as one tuple, for which it would refuse a callback of two arguments.
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
                publisher = counts.publisher(info["publication_sequence_number"])
        callback(message, publisher)

    subscription = node.create_subscription(
        type_, topic, receive, profile, qos_overriding_options=qos.overridable(), raw=True
    )
    tell_message_info(subscription)
    return subscription


class Publishers:
    """Notices publishers that take turns with the same joints on topics.

    One that takes the place of another, as when a driver is started again, is none of them; nor are those that know
    different joints.

    Parameters
    ----------
    node : Node
    subscriptions : sequence of Subscription
        To the topics.

    Attributes
    ----------
    latest : bytes
        Publisher of the last message.
    """

    def __init__(self, node: Node, subscriptions: Sequence[Subscription]) -> None:
        self._node, self._subscriptions = node, subscriptions
        self.latest = UNKNOWN
        self._names: dict[bytes, tuple[list[str], frozenset[str]]] = {}
        self._since: dict[bytes, set[bytes]] = {}  # who was heard since each was
        self._turns: set[bytes] = set()

    def heard(self, publisher: bytes, names: Sequence[str] = ()) -> None:
        """Take note of a message and the joints it names."""
        if publisher == self.latest:
            return
        self.latest = publisher
        known = self._names.get(publisher)
        if known is None or known[0] != names:
            if len(self._names) >= MOST_COUNTED:
                self._forget()
            self._names[publisher] = known = list(names)[:MOST_NAMES], frozenset(names[:MOST_NAMES])
        for other in self._since.get(publisher, ()):
            if other in self._names and (known[1] & self._names[other][1] or not (known[1] and self._names[other][1])):
                self._turns |= {publisher, other}
        for others in self._since.values():
            others.add(publisher)
        self._since[publisher] = set()

    def _forget(self) -> None:
        self._names.clear()
        self._since.clear()

    def take_several(self) -> tuple[str, ...]:
        """Nodes whose messages took turns since the last call; empty where all came from one publisher.

        Where rclpy does not tell who they are, all that publish on the topic.
        """
        turns, self._turns = self._turns, set()
        self._forget()
        self._since[self.latest] = set()
        count = sum(subscription.get_publisher_count() for subscription in self._subscriptions)
        if not turns and (self.latest != UNKNOWN or count < 2):
            return ()
        known = {
            bytes(end.endpoint_gid): f"{end.node_namespace.rstrip('/')}/{end.node_name}"
            for subscription in self._subscriptions
            for end in self._node.get_publishers_info_by_topic(subscription.topic_name)
        }
        if all(len(publisher) < GID for publisher in turns):
            return tuple(sorted(known.values()))
        return tuple(sorted(known.get(gid, f"a publisher that has gone ({gid.hex()})") for gid in turns))
