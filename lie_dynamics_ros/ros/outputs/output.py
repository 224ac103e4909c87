"""Topics that a node publishes, with low overhead: numbers for each joint, wrenches, base accelerations, reports."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import fields
from time import monotonic
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import AccelStamped, WrenchStamped
from numpy.typing import NDArray
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ...lie_dynamics.arrays import Array
from ..wire import qos
from ..wire.compatibility import interfaces, publish_functions
from ..wire.messages import fill_twist, fill_wrench
from ..wire.serialized import SerializedForm

LISTENERS_AGE = 0.02
"""Period of checks for subscribers [s]."""


class Output:
    """A topic of a lifecycle node, on which it publishes only while it is active.

    A lifecycle publisher does no more than this to publish, but takes three functions of Python and a lock to do so,
    which matters a millisecond after they were last used. Users can override the quality of service.
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

    The message has a header, ``joint_names``, and the fields of a dataclass, ``report``. Without the interface package,
    or with one that is older than the message, there is no such topic.
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


# The joints that effort controllers expect: their messages have no names, and one of another size deactivates them.

PARAMETER = "joints"
"""Parameter of ros2_control's controllers that names their joints; other names are ignored."""
MOST_ASKED = 10
"""Most subscribers that are asked; no robot has more controllers on one topic."""


class ExpectedJoints:
    """Asks the subscribers of a topic, by its full name, for their joints, once each, as far as they can be asked."""

    def __init__(self, node: Node, topic: str) -> None:
        self._node, self._topic = node, topic
        self._asked: dict[str, tuple[Any, Any]] = {}  # client and answer to come, by subscriber
        self._told: dict[str, tuple[str, ...]] = {}

    def ask(self) -> None:
        """Ask subscribers that are new, and forget those that have gone; to be called now and then."""
        ends = self._node.get_subscriptions_info_by_topic(self._topic)[:MOST_ASKED]
        names = {f"{end.node_namespace.rstrip('/')}/{end.node_name}" for end in ends}
        for name in {*self._asked, *self._told} - names:
            self._told.pop(name, None)
            self._let_go(name)
        for name in names - set(self._told):
            client, future = self._asked.get(name) or (None, None)
            if client is None:
                client = self._node.create_client(GetParameters, f"{name}/get_parameters")
            elif future is None and client.service_is_ready():
                future = client.call_async(GetParameters.Request(names=[PARAMETER]))
            elif future is not None and future.done():
                self._told[name] = _names(future)
                self._let_go(name)
                continue
            self._asked[name] = client, future

    def _let_go(self, name: str) -> None:
        client, _ = self._asked.pop(name, (None, None))
        if client is not None:
            self._node.destroy_client(client)

    def problems(self, joints: Sequence[str]) -> tuple[str, ...]:
        """Say which subscribers expect others than these joints, or another order."""
        said = []
        for name, expected in sorted(self._told.items()):
            if not expected or expected == tuple(joints):
                continue
            same = sorted(expected) == sorted(joints)
            what = "in another order" if same else f"where {len(joints)} are sent ({', '.join(joints)})"
            said.append(
                f"{name} expects efforts of {len(expected)} joints {what}: set the parameter joints to "
                f"[{', '.join(expected)}]"
            )
        return tuple(said)


def _names(future: Any) -> tuple[str, ...]:
    """Return the joints in an answer; none where there are none."""
    answer = None if future.exception() else future.result()
    if answer is None or not answer.values or answer.values[0].type != ParameterType.PARAMETER_STRING_ARRAY:
        return ()
    return tuple(name for name in answer.values[0].string_array_value if name)


class JointOutput(Output):
    """A topic whose messages differ only in time stamp and numbers; subclasses say which they are."""

    TYPE: type
    RUNS = 1
    """Numbers for each joint."""
    make: Callable[..., Any]
    """Makes a message of the names of joints and of runs of numbers, each in their order."""

    def __init__(self, node: Node, topic: str) -> None:
        super().__init__(node, self.TYPE, topic)
        self.joints: tuple[str, ...] = ()
        self._order: NDArray[np.intp] | None = None
        self._form = self._form_for([])

    def set_joints(self, joints: Sequence[str], order: NDArray[np.intp] | None = None) -> None:
        """Make the message for these joints; ``order`` has their places in what is published, None for the same."""
        self.joints, self._order = tuple(joints), order
        self._form = self._form_for(list(joints))

    def _form_for(self, names: list[str]) -> SerializedForm:
        return SerializedForm(lambda *runs: self.make(names, *runs), *[len(names)] * self.RUNS)

    def publish_runs(self, stamp: Time | None, *values: Array) -> None:
        """Publish runs of numbers, each in model order, under the time stamp of the state they answer, if any."""
        for run, own in zip(self._form.numbers, values, strict=True):
            run[:] = own if self._order is None else own[self._order]
        self.send_serialized(self._form.unstamped() if stamp is None else self._form.stamped(stamp))

    def publish(self, values: Array, stamp: Time) -> None:
        """Publish one run of numbers, in model order, under the time stamp of the state they answer."""
        self.publish_runs(stamp, values)


class JointEfforts(JointOutput):
    """Publishes efforts [N m or N] by name as a JointState whose position and velocity stay empty."""

    TYPE = JointState
    make = staticmethod(lambda joints, effort: JointState(name=joints, effort=effort))


class JointAccelerations(JointOutput):
    """Publishes accelerations [rad/s^2 or m/s^2] by name as a JointTrajectory of one point, which has them."""

    TYPE = JointTrajectory
    make = staticmethod(
        lambda joints, values: JointTrajectory(joint_names=joints, points=[JointTrajectoryPoint(accelerations=values)])
    )


class JointMotions(JointOutput):
    """Publishes positions and velocities, or errors of them, by name as a JointState whose effort stays empty."""

    TYPE, RUNS = JointState, 2
    make = staticmethod(
        lambda joints, position, velocity: JointState(name=joints, position=position, velocity=velocity)
    )

    def publish(self, position: Array, velocity: Array, stamp: Time) -> None:
        """Publish them [rad or m, and per s], in model order, under the stamp of their state."""
        self.publish_runs(stamp, position, velocity)


class StateSetpoints(JointOutput):
    """Publishes what a driver is to follow by name, as a JointState."""

    TYPE, RUNS = JointState, 3
    make = staticmethod(
        lambda joints, position, velocity, effort: JointState(
            name=joints, position=position, velocity=velocity, effort=effort
        )
    )

    def publish(self, position: Array, velocity: Array, _: Array, effort: Array, stamp: Time) -> None:
        """Publish positions, velocities and efforts [rad, m, and per s, N m, N] under the stamp of their state."""
        self.publish_runs(stamp, position, velocity, effort)


class PointSetpoints(JointOutput):
    """Publishes what a driver is to follow as a JointTrajectoryPoint, which has neither names nor a time stamp."""

    TYPE, RUNS = JointTrajectoryPoint, 4
    make = staticmethod(
        lambda _, position, velocity, acceleration, effort: JointTrajectoryPoint(
            positions=position, velocities=velocity, accelerations=acceleration, effort=effort
        )
    )

    def publish(self, position: Array, velocity: Array, acceleration: Array, effort: Array, _: Time) -> None:
        """Publish positions, velocities, accelerations and efforts [rad, m, per s, per s^2, N m, N], in model order."""
        self.publish_runs(None, position, velocity, acceleration, effort)


def _bare_efforts(joints: list[str], values: Sequence[float]) -> Float64MultiArray:
    size = len(joints)
    layout = MultiArrayLayout(dim=[MultiArrayDimension(label="joints", size=size, stride=size)])
    return Float64MultiArray(layout=layout, data=values)


class EffortCommands(JointOutput):
    """Publishes efforts as the bare array that effort controllers of ros2_control take."""

    TYPE = Float64MultiArray
    make = staticmethod(_bare_efforts)

    def __init__(self, node: Node, topic: str) -> None:
        super().__init__(node, topic)
        self.expected = ExpectedJoints(node, self._publisher.topic_name)

    def publish(self, values: Array, _: Time | None = None) -> None:
        """Publish efforts [N m or N], in model order; the message has no time stamp."""
        self.publish_runs(None, values)
