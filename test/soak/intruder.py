"""A second publisher of joint states, whose clock is wrong or whose numbers are none."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence

from rclpy.node import Node
from sensor_msgs.msg import JointState

from lie_dynamics_ros.ros.node.spinning import run
from lie_dynamics_ros.ros.wire import qos
from soak.robots import arm_state, leg_lengths

PERIOD = 0.005
INTRUDER = "intruder"
"""Frame of its states, by which the listener knows them."""


class Intruder(Node):
    """Publishes states that must not be answered; parameters ``shift`` [s] of the stamps and ``nan``."""

    def __init__(self) -> None:
        super().__init__("intruder")
        self._shift = round(self.declare_parameter("shift", 2.0).value * 1e9)
        bad = math.nan if self.declare_parameter("nan", False).value else 0.0
        legs = leg_lengths()
        if math.isnan(bad):
            legs.position[0] = bad
        self._messages = (arm_state(bad), legs)
        for message in self._messages:
            message.header.frame_id = INTRUDER
        topics = ("/arm/joint_states", "/legs/joint_states")
        self._publishers_ = [self.create_publisher(JointState, topic, qos.OUTPUT) for topic in topics]
        self.create_timer(PERIOD, self._publish)

    def _publish(self) -> None:
        stamp = divmod(time.time_ns() + self._shift, 10**9)
        for publisher, message in zip(self._publishers_, self._messages, strict=True):
            message.header.stamp.sec, message.header.stamp.nanosec = stamp
            publisher.publish(message)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(Intruder, args)


if __name__ == "__main__":
    sys.exit(main())
