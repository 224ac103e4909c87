"""Output of the inertia that the node computed_torque learns."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped

from ....ros.node.robot_node import RobotNode
from ....ros.wire import qos
from ..core import ComputedTorqueCore

ESTIMATE_PERIOD = 50_000_000
"""Between estimates [ns]."""


class InertiaOutput:
    """The estimate of the first body whose parameters are learned, some times a second."""

    def __init__(self, node: RobotNode[ComputedTorqueCore]) -> None:
        self._frame_of = node.frame_of
        self._published = 0
        self._output = node.create_lifecycle_publisher(
            InertiaStamped, "~/estimated_inertia", qos.OUTPUT, qos_overriding_options=qos.overridable()
        )

    def publish(self, core: ComputedTorqueCore, time: int, stamp: Time) -> None:
        """Publish the estimate at a state's time [ns], which is its stamp too, unless the last one is fresh."""
        if time - self._published < ESTIMATE_PERIOD:
            return
        self._published = time
        message = InertiaStamped()
        message.header.stamp = stamp
        link, found = core.estimate()
        message.header.frame_id = self._frame_of(link)
        inertia, moments = message.inertia, found.inertia.tolist()
        inertia.m = found.mass
        inertia.com.x, inertia.com.y, inertia.com.z = found.com.tolist()
        inertia.ixx, inertia.ixy, inertia.ixz = moments[0]
        _, inertia.iyy, inertia.iyz = moments[1]
        inertia.izz = moments[2][2]
        self._output.publish(message)
