"""A bare relay: a node that answers every joint state with a message that is there already.

What rclpy takes at least to take and give messages of the same types as a node, as objects of Python. Where the answer
is a joint state, it is the one that came; otherwise always the same message, under the time stamp of the state. What a
node publishes besides for every state, the relay publishes, too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import JointState

from lie_dynamics_ros.ros.node.process import RealTimeParameters
from lie_dynamics_ros.ros.node.spinning import run as run_node
from lie_dynamics_ros.ros.wire import qos

from .subjects import SUBJECTS, Subject


class Relay(Node):
    """Subscribes and publishes with the quality of service of the node that it is compared with."""

    def __init__(self, subject: Subject, name: str = "relay", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._publisher = self.create_publisher(subject.answer, f"~/{subject.topic}", qos.OUTPUT)
        self._answer = (subject.make_answer or subject.answer)()
        self._besides = []
        for topic, make in subject.besides.items():
            message = make()
            self._besides.append((self.create_publisher(type(message), f"~/{topic}", qos.OUTPUT), message))
        self.on_state = self._return if subject.answer is JointState else self._respond
        for topic, make in subject.inputs.items():
            self.create_subscription(type(make()), f"~/{topic}", lambda _: None, qos.STREAM_INPUT)
        self.create_subscription(JointState, "joint_states", self.on_state, qos.STREAM_INPUT)

    def _publish_besides(self) -> None:
        for publisher, message in self._besides:
            publisher.publish(message)

    def _return(self, message: JointState) -> None:
        self._publish_besides()
        self._publisher.publish(message)

    def _respond(self, message: JointState) -> None:
        self._publish_besides()
        self._answer.header.stamp = message.header.stamp
        self._publisher.publish(self._answer)


class ChosenRelay(Relay):
    """The relay that the parameter ``subject`` names."""

    def __init__(self) -> None:
        probe = Node("relay")
        chosen = probe.declare_parameter("subject", "inverse_dynamics").value
        probe.destroy_node()
        super().__init__(SUBJECTS[chosen])
        for setting in RealTimeParameters.settings():  # real time is granted as it is to nodes
            self.declare_parameter(setting.name, setting.default)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node with the executor of the nodes."""
    return run_node(ChosenRelay, args)


if __name__ == "__main__":
    sys.exit(main())
