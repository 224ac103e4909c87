"""A bare relay: a node that answers every joint state with itself; the floor for what a node can do."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rclpy.node import Node
from sensor_msgs.msg import JointState

from lie_dynamics_ros.ros import qos
from lie_dynamics_ros.ros.spinning import run as run_node


class Relay(Node):
    """Subscribes and publishes with the quality of service of the inverse_dynamics node."""

    def __init__(self, name: str = "relay") -> None:
        super().__init__(name)
        self._publisher = self.create_publisher(JointState, "~/joint_efforts", qos.OUTPUT)
        self.create_subscription(JointState, "joint_states", self.on_state, qos.STREAM_INPUT)

    def on_state(self, message: JointState) -> None:
        """Send it back."""
        self._publisher.publish(message)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node with the executor of the nodes."""
    return run_node(Relay, args)


if __name__ == "__main__":
    sys.exit(main())
