"""Topics of one node: each for messages of one type, and none that it hears and publishes on."""

from __future__ import annotations

from rclpy.node import Node

from ...core.errors import ConfigurationError, ParameterError

SHARED_TOPICS = {"/clock", "/diagnostics", "/parameter_events", "/rosout"}
"""Topics that a node may hear and publish on: those of all nodes."""


def check_type(node: Node, type_: type, topic: str) -> None:
    """Raise ParameterError where remappings give one topic to messages of two types, which DDS hardly reports."""
    resolved = node.resolve_topic_name(topic)
    for other in (*node.subscriptions, *node.publishers):
        if other.topic_name == resolved and other.msg_type is not type_:
            raise ParameterError(
                f"{topic} is the topic {resolved}, which this node has for {other.msg_type.__name__}; expected "
                f"another topic for {type_.__name__}"
            )


def check_inputs(node: Node) -> None:
    """Raise ConfigurationError where a remapping makes the node receive its own messages."""
    own = {one.topic_name for one in node.publishers} - SHARED_TOPICS
    for heard in node.subscriptions:
        if heard.topic_name in own:
            raise ConfigurationError(
                f"{heard.topic_name} is an input and an output of this node; expected a topic of its own for each"
            )
