"""Topics that parameters name: heard where each is one of its own, as ROS resolves it, and refused else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rclpy.subscription import Subscription

from ...core.errors import ConfigurationError, start_problem
from ...lie_dynamics.texts import quoted
from ..wire import qos
from .publishers import subscribe

if TYPE_CHECKING:
    from ..node.managed_node import ManagedNode

MOST_TOPICS = 100
"""Names in one parameter: each subscription takes threads and memory of DDS."""


class InputTopics:
    """The topics on which a node hears states.

    Two names are the same topic where ROS resolves them alike: with or without the namespace, or by a remapping.

    Parameters
    ----------
    node : ManagedNode
    first : Subscription
        To the topic that needs no parameter.

    Attributes
    ----------
    heard : list of Subscription
    """

    def __init__(self, node: ManagedNode, first: Subscription) -> None:
        self._node, self.heard = node, [first]
        self._names = {first.topic_name: "the input joint_states"}
        self._problems: list[str] = []

    def hear(
        self,
        parameter: str,
        topics: Sequence[str],
        type_: type,
        listener: Callable[[int], Callable[[bytes, bytes], None]],
    ) -> bool:
        """Subscribe to the topics that a parameter names, with ``listener(place)`` for each that is not empty.

        What cannot be heard is kept for `check`, and no more. Tells whether there are any names.
        """
        if len(topics) > MOST_TOPICS:
            self._problems.append(f"{parameter} has {len(topics)} names; expected at most {MOST_TOPICS}")
            return True
        for place, topic in enumerate(topics):
            if topic:
                self._hear(f"{parameter} {place + 1} ({quoted(topic)})", topic, type_, listener(place))
        return any(topics)

    def _hear(self, name: str, topic: str, type_: type, callback: Callable[[bytes, bytes], None]) -> None:
        try:
            resolved = self._node.resolve_topic_name(topic)
            problem = self._taken(resolved, name)
            if resolved in self._names:
                problem = self._both(name, self._names[resolved], resolved)
            if not problem:
                self.heard.append(subscribe(self._node, type_, topic, callback, qos.STREAM_INPUT))
                self._names[resolved] = name
        except Exception as error:
            problem = f"{name} cannot be heard: {start_problem(error)}"
        if problem:
            self._problems.append(problem)

    def check(self) -> None:
        """Raise ConfigurationError where a name is no topic, or that of another name, input or output of the node."""
        taken = [self._taken(topic, name) for topic, name in self._names.items()]
        for problem in (*self._problems, *taken):
            if problem:
                raise ConfigurationError(problem)

    def _taken(self, topic: str, name: str) -> str:
        """Return what else the node has the topic for; empty where nothing."""
        if any(one.topic_name == topic for one in self._node.publishers):
            return f"{name} is the topic {topic}, which this node publishes; expected another"
        if any(one.topic_name == topic for one in self._node.subscriptions if one not in self.heard):
            return self._both(name, "another input of this node", topic)
        return ""

    @staticmethod
    def _both(one: str, other: str, topic: str) -> str:
        return f"{one} and {other} are both the topic {topic}; expected a topic of its own for each"
