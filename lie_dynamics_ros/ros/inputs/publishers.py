"""Who publishes on a topic: subscriptions that tell, and whether several take turns where one is expected."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from ..wire import qos
from ..wire.compatibility import GID, MOST_COUNTED, UNKNOWN, tell_message_info, with_publisher

MOST_NAMES = 1000
"""Joints that are kept of each publisher."""


def subscribe(
    node: Node, type_: type, topic: str, callback: Callable[[bytes, bytes], None], profile: QoSProfile
) -> Subscription:
    """Subscribe to serialized messages, ``callback(message, publisher)``; users can override the quality of service."""
    subscription = node.create_subscription(
        type_,
        topic,
        with_publisher(callback, topic),
        profile,
        qos_overriding_options=qos.overridable(),
        raw=True,
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
