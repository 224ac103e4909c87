"""Wrenches at frames, and how a base that floats moves."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import AccelStamped, WrenchStamped
from rclpy.node import Node

from ...core.arrays import Array
from ..wire.messages import fill_twist, fill_wrench
from .output import Output

_STRAIGHT = np.eye(3)


class WrenchOutput(Output):
    """Publishes a wrench at a frame and in its axes."""

    def __init__(self, node: Node, topic: str) -> None:
        super().__init__(node, WrenchStamped, topic)

    def publish(self, frame: str, wrench: Array, stamp: Time) -> None:
        """Publish (moment, force), shape (6,) [N m, N], under the time stamp of the state it answers."""
        message = WrenchStamped()
        message.header.stamp, message.header.frame_id = stamp, frame
        fill_wrench(message.wrench, wrench)
        self.send(message)


class BaseAcceleration(Output):
    """Publishes the rate of the root link's twist, in its axes, while somebody listens."""

    def __init__(self, node: Node) -> None:
        super().__init__(node, AccelStamped, "~/base_acceleration")

    def publish(self, frame: str, rate: Array, stamp: Time) -> None:
        """Publish (angular, linear), shape (6,) [rad/s^2, m/s^2], under the time stamp of the state it answers."""
        message = AccelStamped()
        message.header.stamp, message.header.frame_id = stamp, frame
        fill_twist(message.accel, rate, _STRAIGHT)
        self.send(message)
