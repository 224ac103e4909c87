"""Publishers on a topic, and what is done where several send the same joints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from ..wire import qos
from ..wire.compatibility import GID, MOST_COUNTED, UNKNOWN, tell_message_info, with_publisher
from ..wire.serialized import NameLists
from .joint_states import RATE_RATIO

MOST_NAMES = 1000
"""Joints that are kept of each publisher."""
RATE_COUNT = 64
"""Messages, at least, from which rates are compared."""
RATE_TIME = 1.0
"""Time [s] in which they are compared again; also, for how long a faster publisher that is silent is waited for."""

Source = tuple[bytes, tuple[str, ...]]
"""A publisher, and a list of names that it sends."""


def subscribe(
    node: Node, type_: type, topic: str, callback: Callable[[bytes, bytes], None], profile: QoSProfile
) -> Subscription:
    """Subscribe to serialized messages, ``callback(message, publisher)``; users can override the quality of service."""
    subscription = node.create_subscription(
        type_,
        topic,
        with_publisher(callback, topic, NameLists() if type_ is JointState else lambda message: ()),
        profile,
        qos_overriding_options=qos.overridable(),
        raw=True,
    )
    tell_message_info(subscription)
    return subscription


class Publishers:
    """Detects publishers of the same joints on topics.

    Of two that differ in rate, the faster one counts: what a slower one sends for joints of faster ones, all of
    it, is passed over, as an aggregate of all drivers' states beside the fast driver itself. Two of one rate take
    turns, which is an error. One that takes the place of another, as when a driver is started again, is none of them;
    nor are those that know different joints.

    Attributes
    ----------
    latest : bytes
        Publisher of the last message.
    several : bool
        Whether there are others: then each message that is good is to be counted.
    joints : collection of str
        That matter; none stands for all.
    """

    def __init__(self, node: Node, subscriptions: Sequence[Subscription]) -> None:
        self._node, self._subscriptions = node, subscriptions
        self.latest, self.several = UNKNOWN, False
        self.joints: Collection[str] = ()
        self._names: dict[bytes, tuple[list[str], frozenset[str]]] = {}
        self._since: dict[bytes, set[bytes]] = {}  # who has sent since each did
        self._turns: set[tuple[bytes, bytes]] = set()
        self._begin: float | None = None
        self._counts: Counter[Source] = Counter()
        self._last: dict[Source, float] = {}
        self._rates: dict[Source, float] = {}  # [Hz], as last compared
        self.slower: dict[Source, tuple[Source, ...]] = {}

    def heard(self, publisher: bytes, names: Sequence[str] = ()) -> None:
        """Take note of a message and the joints it names."""
        if publisher == self.latest:
            return
        self.several |= self.latest != UNKNOWN
        self.latest = publisher
        known = self._names.get(publisher)
        if known is None or known[0] != names:
            if len(self._names) >= MOST_COUNTED:
                self._forget()
            self._names[publisher] = known = list(names)[:MOST_NAMES], frozenset(names[:MOST_NAMES])
        for other in self._since.get(publisher, ()):
            if other in self._names and (known[1] & self._names[other][1] or not (known[1] and self._names[other][1])):
                self._turns.add((publisher, other))
        for others in self._since.values():
            others.add(publisher)
        self._since[publisher] = set()

    def _forget(self) -> None:
        self._names.clear()
        self._since.clear()

    # Rates.

    def count(self, publisher: bytes, names: Sequence[str], now: float) -> None:
        """Count a good message at a time [s], of which its rate is found."""
        source = publisher, tuple(names[:MOST_NAMES])
        self._last[source] = now
        if self._begin is None:
            self._begin = now
            return
        self._counts[source] += 1
        compared = RATE_TIME if self._rates else 0.0
        if self._counts.total() >= RATE_COUNT and now - self._begin >= compared:
            self._compare(now)

    def _compare(self, now: float) -> None:
        assert self._begin is not None
        counts, time, before = self._counts, max(now - self._begin, 1e-9), self.slower
        self.several = len({publisher for publisher, _ in counts}) > 1
        self._rates = {source: count / time for source, count in counts.items()} if self.several else {}
        self.slower = {}
        for source in counts if self.several else ():
            joints, faster = self._wanted(source), self._faster(source)
            if joints and joints <= frozenset().union(*map(self._wanted, faster)):
                self.slower[source] = faster
        for source, faster in before.items():  # too slow to be received each time
            if source not in counts and all(one in counts for one in faster):
                self.slower[source] = faster
        self._begin, self._counts = now if self.several else None, Counter()
        if len(self._last) > MOST_COUNTED:
            self._last = {source: self._last[source] for source in counts}

    def _wanted(self, source: Source) -> frozenset[str]:
        return frozenset(source[1]).intersection(self.joints) if self.joints else frozenset(source[1])

    def _faster(self, source: Source) -> tuple[Source, ...]:
        """Return the publishers that send some of the same joints more often."""
        rates, joints = self._rates, self._wanted(source)
        return tuple(
            other
            for other, rate in rates.items()
            if other[0] != source[0] and rate >= RATE_RATIO * rates[source] and joints & self._wanted(other)
        )

    def passes_over(self, publisher: bytes, names: Sequence[str], now: float) -> bool:
        """Return whether a message at a time [s] repeats joints of faster publishers that still send."""
        faster = self.slower.get((publisher, tuple(names[:MOST_NAMES])))
        return faster is not None and all(now - self._last.get(one, now) <= RATE_TIME for one in faster)

    def take_shared(self) -> tuple[str, ...]:
        """Sentences on publishers of different rates with the same joints; empty where there are none."""
        if not self._rates:
            return ()
        known, said = self._known(), []
        for source, rate in self._rates.items():
            faster = self._faster(source)
            if not faster:
                continue
            shared = sorted(self._wanted(source) & frozenset().union(*map(self._wanted, faster)))
            others = ", ".join(f"{known.get(one[0], 'another')} ({self._rates[one]:.0f} Hz)" for one in faster)
            who = f"{known.get(source[0], 'a publisher')} ({rate:.0f} Hz)"
            if source in self.slower:
                said.append(f"{who} publishes no joint that {others} does not: passed over")
            else:
                more = ", ..." if len(shared) > 3 else ""
                names = ", ".join(shared[:3])
                said.append(f"{who} and {others} publish the same joints: {names}{more} are taken from the faster")
        return tuple(said)

    def _alike(self, one: bytes, other: bytes) -> bool:
        """Return whether two publishers send about equally often, as far as that is known."""
        a, b = (sum(rate for source, rate in self._rates.items() if source[0] == who) for who in (one, other))
        return not (a and b) or max(a, b) < RATE_RATIO * min(a, b)

    def _known(self) -> dict[bytes, str]:
        """Return the names of those that publish now."""
        return {
            bytes(end.endpoint_gid): f"{end.node_namespace.rstrip('/')}/{end.node_name}"
            for subscription in self._subscriptions
            for end in self._node.get_publishers_info_by_topic(subscription.topic_name)
        }

    def take_several(self) -> tuple[str, ...]:
        """Nodes whose messages took turns since the last call; empty where all came from one publisher.

        Where rclpy does not identify them, all that publish on the topic.
        """
        turns = {who for pair in self._turns if self._alike(*pair) for who in pair}
        apart = bool(self._turns) and not turns
        self._turns = set()
        self._forget()
        self._since[self.latest] = set()
        count = sum(subscription.get_publisher_count() for subscription in self._subscriptions)
        if apart or (not turns and (self.latest != UNKNOWN or count < 2)):
            return ()
        known = self._known()
        if all(len(publisher) < GID for publisher in turns):
            return tuple(sorted(known.values()))
        return tuple(sorted(known.get(gid, f"a publisher that has gone ({gid.hex()})") for gid in turns))
