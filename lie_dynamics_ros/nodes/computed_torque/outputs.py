"""Outputs of the node computed_torque besides efforts and reports: the tool's pose, and the inertia that it learns."""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped, PoseStamped

from ...lie_dynamics import frame_pose
from ...lie_dynamics.arrays import Array
from ...ros.node.robot_node import RobotNode
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.output import Output
from ...ros.wire import qos
from ...ros.wire.messages import fill_pose_from_matrix
from .core import ComputedTorqueCore
from .tool_control import ToolControl


class ToolOutputs:
    """The tool's pose and the desired one, in the robot's base, while somebody listens."""

    def __init__(self, node: RobotNode[Any]) -> None:
        self._frame_of = node.frame_of
        self._desired, self._actual = (Output(node, PoseStamped, f"~/{name}") for name in ("desired_pose", "tool_pose"))
        self._message = PoseStamped()

    def publish(self, tool: ToolControl, position: Array, stamp: Time) -> None:
        """Publish what there is at a state."""
        if self._desired.heard and tool.reference is not None:
            self._send(self._desired, tool, tool.reference.pose, stamp)
        if self._actual.heard:
            self._send(self._actual, tool, frame_pose(tool.model, position, tool.frame), stamp)

    def _send(self, output: Output, tool: ToolControl, pose: Array, stamp: Time) -> None:
        self._message.header.stamp, self._message.header.frame_id = stamp, self._frame_of(tool.base)
        fill_pose_from_matrix(self._message.pose, pose)
        output.send(self._message)


def describe_tool(core: ComputedTorqueCore, report: Report) -> None:
    """Write what is known of the tool into a diagnostic report."""
    tool = core.tool
    report.values["tool"] = tool.frame
    report.values["tool: directions given up near a singularity"] = tool.damped
    report.values["tool: part of the desired speed"] = f"{tool.pace:.3f}"
    report.values["tool: held back by limits of joints"] = tool.held
    if core.options.mode != "impedance":
        return
    report.values["stiffness in force, least part"] = f"{tool.share:.3f}"
    shares = " ".join(f"{part:.3f}" for part in tool.shares)
    report.values["stiffness in force, part about and along x, y, z"] = shares
    if tool.share < 1.0:
        report.add(
            diagnostics.WARN,
            f"the stiffness is brought down to {100.0 * tool.share:.2g} % of what is requested in one direction: at "
            f"this pose the loop carries natural frequencies up to {core.gains.tool.fastest:.0f} rad/s",
        )


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
