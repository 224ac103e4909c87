"""Set points as messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header

from ...lie_dynamics.stewart.command import LegSetpoints
from ...ros.outputs.output import Output
from ...ros.wire.messages import fill_pose_from_matrix


class SetpointOutputs:
    """Lengths, rates and forces of legs, and the pose that they make; `count` of them published.

    Parameters
    ----------
    node : LifecycleNode
    topic : str
        Of lengths, rates and forces.
    """

    def __init__(self, node: Any, topic: str) -> None:
        self._node, self.count = node, 0
        self.commands = Output(node, JointState, topic)
        self._numbers = Output(node, Float64MultiArray, "~/commands")
        self._poses = Output(node, PoseStamped, "~/desired_pose")
        self.name([], "")

    def name(self, legs: Sequence[str], base: str) -> None:
        """Call the legs and the base frame so."""
        self._message, self._pose = JointState(name=list(legs)), PoseStamped(header=Header(frame_id=base))

    def send(self, points: LegSetpoints) -> None:
        """Publish set points, under the time of the node's clock."""
        message = self._message
        message.header.stamp = self._pose.header.stamp = self._node.get_clock().now().to_msg()
        message.position, message.velocity = points.lengths.tolist(), points.rates.tolist()
        message.effort = points.forces.tolist()
        self.commands.send(message)
        if self._numbers.heard:
            self._numbers.send(Float64MultiArray(data=message.position))
        if self._poses.heard:
            fill_pose_from_matrix(self._pose.pose, points.pose)
            self._poses.send(self._pose)
        self.count += 1
