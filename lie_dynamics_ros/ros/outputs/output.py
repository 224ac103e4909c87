"""Topics that a node publishes, at the least cost: wrenches, base accelerations, reports among them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import fields
from time import monotonic
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import AccelStamped, WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile

from ...core.arrays import Array
from ..wire import qos
from ..wire.compatibility import interfaces, publish_functions
from ..wire.messages import fill_twist, fill_wrench
from ..wire.serialized import SerializedForm

LISTENERS_AGE = 0.02
"""Period of checks for subscribers [s]."""


class Output:
    """A topic of a node.

    A lifecycle publisher does no more than this to publish, but takes three functions of Python and a lock to do so,
    which matters a millisecond after they were last used.

    Parameters
    ----------
    node : LifecycleNode
        Publishes only while it is active.
    type_ : type
        Of its messages.
    topic : str
    profile : QoSProfile
        Quality of service, unless the user overrides it.
    """

    def __init__(self, node: Node, type_: type, topic: str, profile: QoSProfile = qos.OUTPUT) -> None:
        self._publisher = node.create_lifecycle_publisher(
            type_, topic, profile, qos_overriding_options=qos.overridable()
        )
        self._hand_over, self._hand_over_serialized = publish_functions(self._publisher)
        self._heard, self._asked = False, -LISTENERS_AGE
        # As late as can be: a process may be frozen between any two of its lines, and goes on with what is stale.
        self._require_fresh: Callable[[], None] = getattr(getattr(node, "stream", None), "require_fresh", lambda: None)

    @property
    def heard(self) -> bool:
        """Whether there are subscribers, checked every `LISTENERS_AGE`: a check costs as much as a message."""
        now = monotonic()
        if now - self._asked >= LISTENERS_AGE:
            self._asked = now
            self._heard = self._publisher.get_subscription_count() > 0
        return self._heard

    def send(self, message: Any) -> None:
        """Publish a message of the topic's type."""
        if self._publisher.is_activated:
            self._hand_over(message)

    def send_serialized(self, message: bytes) -> None:
        """Publish an answer of the topic's type that is serialized already; raises MessageError where it is stale."""
        if self._publisher.is_activated:
            self._require_fresh()
            self._hand_over_serialized(message)


# Wrenches at frames, and how a base that floats moves.

_STRAIGHT = np.eye(3)


class WrenchOutput(Output):
    """Publishes a wrench at a frame and in its axes; the message is serialized once for each frame."""

    def __init__(self, node: Node, topic: str) -> None:
        super().__init__(node, WrenchStamped, topic)
        self._frame, self._form = "", _wrench_form("")

    def publish(self, frame: str, wrench: Array, stamp: Time) -> None:
        """Publish (moment, force), shape (6,) [N m, N], under the time stamp of the state it answers."""
        if frame != self._frame:
            self._frame, self._form = frame, _wrench_form(frame)
        values = self._form.numbers[0]
        values[:3], values[3:] = wrench[3:], wrench[:3]
        self.send_serialized(self._form.stamped(stamp))


def _wrench_form(frame: str) -> SerializedForm:
    return SerializedForm(lambda values: _wrench_message(frame, values), 6)


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


# The topic on which a node reports its answers and their inputs.

class StateReports:
    """A topic of this project's own message type, published only while somebody subscribes.

    Without the interface package, or with one that is older than the message, there is no such topic.

    Parameters
    ----------
    node : LifecycleNode
        Publishes only while it is active.
    topic : str
    type_name : str
        Of the message, which has a header and ``joint_names``.
    report : type
        The dataclass that is published; its attributes are fields of the message.
    """

    def __init__(self, node: Node, topic: str, type_name: str, report: type) -> None:
        self._type = getattr(interfaces("msg"), type_name, None)
        if self._type is not None and not {f.name for f in fields(report)} <= set(
            self._type.get_fields_and_field_types()
        ):
            node.get_logger().warning(f"without {topic}: the interface package that is installed is another version")
            self._type = None
        self._output = None if self._type is None else Output(node, self._type, topic)

    @property
    def heard(self) -> bool:
        """Whether somebody listens; see `Output`."""
        return self._output is not None and self._output.heard

    def publish(self, joints: Sequence[str], report: Any, stamp: Time) -> None:
        """Publish a dataclass whose attributes are fields of the message, under the stamp of the state it is about."""
        assert self._type is not None and self._output is not None
        message = self._type(joint_names=list(joints))
        message.header.stamp = stamp
        for field in fields(report):
            value = getattr(report, field.name)
            if isinstance(value, np.ndarray):  # rclpy would look at each entry of an array
                value = array("d", value.tobytes()) if value.dtype == np.float64 else value.tolist()
            setattr(message, field.name, value)
        self._output.send(message)
