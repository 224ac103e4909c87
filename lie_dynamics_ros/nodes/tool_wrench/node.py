"""Node for contacts of a tool behind a force-torque sensor, whose bias and tool it calibrates.

See doc/nodes/tool_wrench.md for topics, services, parameters, units, frames and signs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped

from ...lie_dynamics.arrays import Array
from ...ros.node.robot_node import RobotNode, TreeNodeParameters
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.output import WrenchOutput
from ...ros.wire import qos
from ...ros.wire.messages import wrench_to_array
from .core import READING_AGE, ToolAnswer, ToolWrenchCore, ToolWrenchOptions


@dataclass(frozen=True)
class ToolWrenchParameters(ToolWrenchOptions, TreeNodeParameters):
    """Parameters of the node."""


SETTINGS = ToolWrenchParameters.settings()


class ToolWrenchNode(RobotNode[ToolWrenchCore]):
    """Joint states and readings in, contact wrenches out."""

    OPTIONS = ToolWrenchOptions
    CORE = ToolWrenchCore

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("tool_wrench", ToolWrenchParameters, **kwargs)
        self._wrench = WrenchOutput(self, "~/contact_wrench")
        self.take_in(WrenchStamped, "~/wrench", self._take_reading, qos.STREAM_INPUT)
        for name, do in (("calibrate", self._calibrate), ("forget_poses", self._forget), ("zero", self._zero)):
            self.serve_trigger(f"~/{name}", lambda do=do: do(self.require_active()))

    # Messages.

    def publish(self, core: ToolWrenchCore, answer: ToolAnswer | None, stamp: Time) -> None:
        """Publish the contact, where it is known."""
        if answer is not None:
            self._wrench.publish(self.frame_of(answer.frame), answer.wrench, stamp)

    def _take_reading(self, core: ToolWrenchCore, _: Any, message: WrenchStamped) -> None:
        core.read(self.link_of(message.header.frame_id), wrench_to_array(message.wrench), self.ros_time())

    # Services.

    def _calibrate(self, core: ToolWrenchCore) -> str:
        found, text = core.add_pose()
        if found is not None:
            core.known = found
            tool = {"tool_mass": found.mass, "tool_center_of_mass": found.com.tolist(), "reading_sign": found.sign}
            self._keep(found.bias, **tool)
        return text

    def _forget(self, core: ToolWrenchCore) -> str:
        count, core.poses = len(core.poses), []
        return f"{count} poses are forgotten; the calibration is as it was"

    def _zero(self, core: ToolWrenchCore) -> str:
        self._keep(core.zeroed())
        return "the sensor reads nothing here"

    def _keep(self, bias: Array, **values: Any) -> None:
        """Set parameters to what was calibrated, so that they can be saved; raises RequestError."""
        values["sensor_bias"] = [*bias[3:].tolist(), *bias[:3].tolist()]
        self.set_values(values)

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        super().describe(report, period)
        core, values = self.core, report.values
        if core is None:
            return
        values["sensor frame"] = core.frame or "unknown"
        values["poses of the calibration"] = len(core.poses)
        if core.known is None:
            report.add(diagnostics.WARN, "the sensor is not calibrated: call ~/calibrate at four poses or more")
        else:
            known = core.known
            values["tool"] = f"{known.mass:.4g} kg at {known.com.round(4).tolist()} m"
            if known.degrees:
                values["plausibility of the calibration"] = f"{known.plausibility:.2g}"
        if self.answering is not None and core.reading.is_stale(self.ros_time(), READING_AGE):
            report.add(diagnostics.WARN, "the sensor's readings are stale; no contact is published")


main = partial(run, ToolWrenchNode)

if __name__ == "__main__":
    sys.exit(main())
