"""Wrenches at frames, and how a base that floats moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import AccelStamped, WrenchStamped
from rclpy.node import Node

from ...core.arrays import Array
from ..wire.messages import fill_twist, fill_wrench
from ..wire.serialized_form import SerializedForm
from .output import Output

_STRAIGHT = np.eye(3)


class WrenchOutput(Output):
    """Publishes a wrench at a frame and in its axes; the message is serialized once for each frame."""

    def __init__(self, node: Node, topic: str) -> None:
        super().__init__(node, WrenchStamped, topic)
        self._set_frame("")

    def _set_frame(self, frame: str) -> None:
        self._frame, self._form = frame, SerializedForm(lambda values: _wrench_message(frame, values), 6)
        self._values: Array = np.frombuffer(self._form.numbers[0])

    def publish(self, frame: str, wrench: Array, stamp: Time) -> None:
        """Publish (moment, force), shape (6,) [N m, N], under the time stamp of the state it answers."""
        if frame != self._frame:
            self._set_frame(frame)
        self._values[:3], self._values[3:] = wrench[3:], wrench[:3]
        self.send_serialized(self._form.stamped(stamp))


def _wrench_message(frame: str, values: Sequence[float]) -> WrenchStamped:
    """Make a message of (force, moment)."""
    message = WrenchStamped()
    message.header.frame_id = frame
    fill_wrench(message.wrench, np.array([*values[3:], *values[:3]]))
    return message


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
