"""Readings of legs and other sensors on topics of their own, as plain numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

if TYPE_CHECKING:
    from ..node.answering_node import AnsweringNode


class LegTopics:
    """The topics of the parameter ``leg_topics``; each number is a state of one joint, of the time of its arrival.

    Parameters
    ----------
    node : AnsweringNode
        Whose `LegInputs` name the sensors.

    Attributes
    ----------
    heard : bool
        Whether there are any.
    """

    def __init__(self, node: AnsweringNode[Any]) -> None:
        self._node = node
        self.heard = node.stream.hear("leg_topics", Float64, self._listener)

    def _listener(self, place: int) -> Callable[[bytes, bytes], None]:
        node, state = self._node, JointState(name=[""], position=[0.0])

        def take(message: bytes, publisher: bytes) -> None:
            state.position[0] = deserialize_message(message, Float64).data
            node.stream.on_state(state, publisher)

        def listen(message: bytes, publisher: bytes) -> None:
            inputs = node.inputs
            if inputs is not None and node.stream.open and place < len(inputs.measured):
                state.name[0] = inputs.measured[place]
                node.stream.accept(lambda: take(message, publisher))

        return listen
