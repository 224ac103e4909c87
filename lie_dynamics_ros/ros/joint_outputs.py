"""Output messages that are made once and filled again for every answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from . import qos
from .messages import Array


class JointEfforts:
    """Publishes efforts by name as a JointState whose position and velocity stay empty.

    Parameters
    ----------
    node : LifecycleNode
        Publishes only while it is active.
    topic : str
    """

    def __init__(self, node: Node, topic: str) -> None:
        self._publisher = node.create_lifecycle_publisher(
            JointState, topic, qos.OUTPUT, qos_overriding_options=qos.overridable()
        )
        self.set_joints(())

    def set_joints(self, joints: Sequence[str]) -> None:
        """Make the message for these joints."""
        self._message = JointState(name=list(joints), effort=[0.0] * len(joints))
        # A view into the message: filling it costs less than assigning a new array.
        self._values = np.frombuffer(self._message.effort) if joints else np.empty(0)

    def listeners(self) -> int:
        """Return the number of subscriptions."""
        return int(self._publisher.get_subscription_count())

    def publish(self, values: Array, stamp: Time) -> None:
        """Publish efforts [N m or N], in the order of the joints, under the time stamp of the state they answer."""
        self._values[:] = values
        self._message.header.stamp = stamp
        self._publisher.publish(self._message)


class JointAccelerations:
    """Publishes accelerations by name as a JointTrajectory with one point, the message that has a place for them.

    Parameters
    ----------
    node : LifecycleNode
        Publishes only while it is active.
    topic : str
    """

    def __init__(self, node: Node, topic: str) -> None:
        self._publisher = node.create_lifecycle_publisher(
            JointTrajectory, topic, qos.OUTPUT, qos_overriding_options=qos.overridable()
        )
        self.set_joints(())

    def set_joints(self, joints: Sequence[str]) -> None:
        """Make the message for these joints."""
        point = JointTrajectoryPoint(accelerations=[0.0] * len(joints))
        self._message = JointTrajectory(joint_names=list(joints), points=[point])
        self._values = np.frombuffer(point.accelerations) if joints else np.empty(0)

    def publish(self, values: Array, stamp: Time) -> None:
        """Publish accelerations [rad/s^2 or m/s^2], in the order of the joints, under the stamp of their state."""
        self._values[:] = values
        self._message.header.stamp = stamp
        self._publisher.publish(self._message)


class EffortCommands:
    """Publishes efforts as the bare array that effort controllers of ros2_control take."""

    def __init__(self, node: Node, topic: str) -> None:
        self._publisher = node.create_lifecycle_publisher(
            Float64MultiArray, topic, qos.OUTPUT, qos_overriding_options=qos.overridable()
        )
        self.set_joints(())

    def set_joints(self, joints: Sequence[str]) -> None:
        """Make the message for these joints."""
        size = len(joints)
        layout = MultiArrayLayout(dim=[MultiArrayDimension(label="joints", size=size, stride=size)])
        self._message = Float64MultiArray(layout=layout, data=[0.0] * size)
        self._values = np.frombuffer(self._message.data) if joints else np.empty(0)

    def publish(self, values: Array) -> None:
        """Publish efforts [N m or N], in the order of the joints."""
        self._values[:] = values
        self._publisher.publish(self._message)
