"""Outputs with numbers for each joint, serialized once and filled again for every answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ...core.arrays import Array
from ..wire.serialized_form import SerializedForm
from .output import Output


class JointOutput(Output, ABC):
    """A topic whose messages differ only in time stamp and numbers; subclasses say which they are.

    Parameters
    ----------
    node : LifecycleNode
        Publishes only while it is active.
    topic : str
    """

    TYPE: type
    RUNS = 1
    """How many numbers there are for each joint."""

    def __init__(self, node: Node, topic: str) -> None:
        super().__init__(node, self.TYPE, topic)
        self.set_joints(())

    def set_joints(self, joints: Sequence[str], order: NDArray[np.intp] | None = None) -> None:
        """Make the message for these joints; ``order`` has their places in what is published, None for the same."""
        names = list(joints)
        self._order = order
        self._form = SerializedForm(lambda *runs: self.make(names, *runs), *[len(names)] * self.RUNS)
        self._values = self._form.numbers

    @abstractmethod
    def make(self, joints: list[str], *values: Sequence[float]) -> Any:
        """Make a message that holds ``values``, each of them in the order of the joints."""


class JointEfforts(JointOutput):
    """Publishes efforts by name as a JointState whose position and velocity stay empty."""

    TYPE = JointState

    def make(self, joints: list[str], *values: Sequence[float]) -> JointState:
        """Make a message."""
        return JointState(name=joints, effort=values[0])

    def publish(self, values: Array, stamp: Time) -> None:
        """Publish efforts [N m or N], in model order, under the time stamp of the state they answer."""
        self._values[0][:] = values if self._order is None else values[self._order]
        self.send_serialized(self._form.stamped(stamp))


class JointAccelerations(JointOutput):
    """Publishes accelerations by name as a JointTrajectory with one point, the message that has a place for them."""

    TYPE = JointTrajectory

    def make(self, joints: list[str], *values: Sequence[float]) -> JointTrajectory:
        """Make a message."""
        return JointTrajectory(joint_names=joints, points=[JointTrajectoryPoint(accelerations=values[0])])

    def publish(self, values: Array, stamp: Time) -> None:
        """Publish accelerations [rad/s^2 or m/s^2], in model order, under the stamp of their state."""
        self._values[0][:] = values if self._order is None else values[self._order]
        self.send_serialized(self._form.stamped(stamp))


class JointErrors(JointOutput):
    """Publishes errors of position and velocity by name as a JointState whose effort stays empty."""

    TYPE = JointState
    RUNS = 2

    def make(self, joints: list[str], *values: Sequence[float]) -> JointState:
        """Make a message."""
        return JointState(name=joints, position=values[0], velocity=values[1])

    def publish(self, position: Array, velocity: Array, stamp: Time) -> None:
        """Publish errors [rad or m, and per s], in model order, under the stamp of their state."""
        order = self._order
        self._values[0][:] = position if order is None else position[order]
        self._values[1][:] = velocity if order is None else velocity[order]
        self.send_serialized(self._form.stamped(stamp))


class EffortCommands(JointOutput):
    """Publishes efforts as the bare array that effort controllers of ros2_control take."""

    TYPE = Float64MultiArray

    def make(self, joints: list[str], *values: Sequence[float]) -> Float64MultiArray:
        """Make a message."""
        size = len(joints)
        layout = MultiArrayLayout(dim=[MultiArrayDimension(label="joints", size=size, stride=size)])
        return Float64MultiArray(layout=layout, data=values[0])

    def publish(self, values: Array) -> None:
        """Publish efforts [N m or N], in model order."""
        self._values[0][:] = values if self._order is None else values[self._order]
        self.send_serialized(self._form.unstamped())
