"""Node that answers joint states with the joint efforts that produce the desired accelerations.

See doc/nodes/inverse_dynamics.md for topics, services, parameters, units, frames and signs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

from builtin_interfaces.msg import Time
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ...core.joint_mapping import JointMatch
from ...core.parameters import parameter
from ...core.robot_state import DynamicsAnswer
from ...ros.inputs.robot_inputs import RobotInputs
from ...ros.node.robot_node import DynamicsServices, RobotNode, TreeNodeParameters
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.output import EffortCommands, JointEfforts, JointOutput, StateReports, WrenchOutput
from ...ros.wire.messages import first_point, read_rates
from .core import EffortAnswer, InverseDynamicsCore, InverseDynamicsOptions


@dataclass(frozen=True)
class InverseDynamicsParameters(InverseDynamicsOptions, TreeNodeParameters):
    """Parameters of the node."""

    publish_commands: bool = parameter(False, "Publish ~/commands as well.", "at start")
    publish_gravity_efforts: bool = parameter(False, "Publish ~/gravity_efforts as well.", "at start")


SETTINGS = InverseDynamicsParameters.settings()


class InverseDynamicsNode(RobotNode[InverseDynamicsCore]):
    """Joint states in, joint efforts out."""

    OPTIONS = InverseDynamicsOptions
    CORE = InverseDynamicsCore

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("inverse_dynamics", InverseDynamicsParameters, **kwargs)
        self._efforts = JointEfforts(self, "~/joint_efforts")
        self._commands = EffortCommands(self, "~/commands") if self.settings["publish_commands"] else None
        self._gravity_efforts: JointEfforts | None = None
        if self.settings["publish_gravity_efforts"]:
            self._gravity_efforts = JointEfforts(self, "~/gravity_efforts")
        self._base_wrench = WrenchOutput(self, "~/base_wrench") if self.settings["base_motion"] == "odometry" else None
        self._reports = StateReports(self, "~/dynamics_state", "DynamicsState", DynamicsAnswer)
        self.take_in(JointTrajectoryPoint, "~/joint_trajectory_point", self._take_point)
        self.take_in(JointTrajectory, "~/joint_trajectory", self._take_trajectory)
        DynamicsServices(self).offer("inverse_dynamics", "mass_matrix", "bias_force", "dynamics_derivatives")

    # Configuration.

    def outputs(self) -> tuple[JointOutput | None, ...]:
        """Return the outputs with a number for each joint."""
        return self._efforts, self._commands, self._gravity_efforts

    def effort_outputs(self) -> tuple[EffortCommands | JointEfforts | None, ...]:
        """Return the outputs on which the last command is published."""
        return self._commands, self._efforts

    def commands(self) -> bool:
        """Return whether somebody obeys ~/commands: efforts beside a driver's own loop do not move the robot alone."""
        return self._commands is not None and self._commands.heard

    # Messages.

    def publish(self, core: InverseDynamicsCore, answer: EffortAnswer, stamp: Time) -> None:
        """Publish the efforts."""
        self._efforts.publish(answer.effort, stamp)
        if self._commands is not None:
            self._commands.publish(answer.effort)
        if self._gravity_efforts is not None:
            gravity = core.gravity_efforts(answer.state.position) if answer.gravity is None else answer.gravity
            self._gravity_efforts.publish(gravity, stamp)
        if self._base_wrench is not None and self._base_wrench.heard:
            wrench = core.base_wrench(answer.state, answer.acceleration)
            if wrench is not None:
                self._base_wrench.publish(self.frame_of(core.root_link), wrench, stamp)
        if self._reports.heard:
            self._reports.publish(core.model.joint_names, core.explain(answer), stamp)

    def _take_point(self, core: InverseDynamicsCore, inputs: RobotInputs, message: JointTrajectoryPoint) -> None:
        self._desire(core, message, inputs.unnamed)

    def _take_trajectory(self, core: InverseDynamicsCore, inputs: RobotInputs, message: JointTrajectory) -> None:
        self._desire(core, first_point(message), inputs.commands.match(message.joint_names))

    def _desire(self, core: InverseDynamicsCore, point: JointTrajectoryPoint, match: JointMatch) -> None:
        velocity = None
        acceleration = read_rates(point.accelerations, match, "accelerations")
        if core.friction is not None and point.velocities:
            velocity = read_rates(point.velocities, match, "velocities")
        core.desired.put((acceleration, velocity), self.ros_time())

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        super().describe(report, period)
        core = self.core
        if core is None:
            return
        options = core.options
        report.values["gravity included"] = not options.driver_compensates_gravity
        report.values["gravity only"] = options.gravity_only
        if self.answering is not None and core.desired.is_stale(self.ros_time(), options.acceleration_timeout):
            report.add(diagnostics.WARN, "desired accelerations are stale and taken as zero")


main = partial(run, InverseDynamicsNode)

if __name__ == "__main__":
    sys.exit(main())
