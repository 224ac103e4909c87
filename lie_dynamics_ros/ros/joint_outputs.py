"""Output messages that are made once and filled again for every answer."""

from __future__ import annotations

from collections.abc import Sequence

from builtin_interfaces.msg import Time
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .messages import Array
from .output import Output


class JointEfforts(Output):
    """Publishes efforts by name as a JointState whose position and velocity stay empty.

    Parameters
    ----------
    node : LifecycleNode
        Publishes only while it is active.
    topic : str
    """

    def __init__(self, node: Node, topic: str) -> None:
        super().__init__(node, JointState, topic)
        self.set_joints(())

    def set_joints(self, joints: Sequence[str]) -> None:
        """Make the message for these joints."""
        self._message = JointState(name=list(joints), effort=[0.0] * len(joints))
        self._header = self._message.header
        # A view into the message: filling it costs less than assigning a new array.
        self._values = memoryview(self._message.effort)

    def publish(self, values: Array, stamp: Time) -> None:
        """Publish efforts [N m or N], in the order of the joints, under the time stamp of the state they answer."""
        self._values[:] = values
        self._header.stamp = stamp
        self.send(self._message)


class JointAccelerations(Output):
    """Publishes accelerations by name as a JointTrajectory with one point, the message that has a place for them.

    Parameters
    ----------
    node : LifecycleNode
        Publishes only while it is active.
    topic : str
    """

    def __init__(self, node: Node, topic: str) -> None:
        super().__init__(node, JointTrajectory, topic)
        self.set_joints(())

    def set_joints(self, joints: Sequence[str]) -> None:
        """Make the message for these joints."""
        point = JointTrajectoryPoint(accelerations=[0.0] * len(joints))
        self._message = JointTrajectory(joint_names=list(joints), points=[point])
        self._header = self._message.header
        self._values = memoryview(point.accelerations)

    def publish(self, values: Array, stamp: Time) -> None:
        """Publish accelerations [rad/s^2 or m/s^2], in the order of the joints, under the stamp of their state."""
        self._values[:] = values
        self._header.stamp = stamp
        self.send(self._message)


class EffortCommands(Output):
    """Publishes efforts as the bare array that effort controllers of ros2_control take."""

    def __init__(self, node: Node, topic: str) -> None:
        super().__init__(node, Float64MultiArray, topic)
        self.set_joints(())

    def set_joints(self, joints: Sequence[str]) -> None:
        """Make the message for these joints."""
        size = len(joints)
        layout = MultiArrayLayout(dim=[MultiArrayDimension(label="joints", size=size, stride=size)])
        self._message = Float64MultiArray(layout=layout, data=[0.0] * size)
        self._values = memoryview(self._message.data)

    def publish(self, values: Array) -> None:
        """Publish efforts [N m or N], in the order of the joints."""
        self._values[:] = values
        self.send(self._message)
