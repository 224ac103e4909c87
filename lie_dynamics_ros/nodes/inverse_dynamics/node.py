"""Node that answers joint states with the joint efforts that produce the desired accelerations.

See doc/nodes/inverse_dynamics.md for topics, services, parameters, units, frames and signs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ...core.arrays import Array
from ...core.errors import MessageError
from ...core.joint_mapping import JointMatch
from ...core.robot_options import RobotOptions
from ...core.setting import Setting
from ...lie_dynamics import Model
from ...ros.node.robot_node import ROBOT_SETTINGS, RobotNode
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.joint_outputs import EffortCommands, JointEfforts
from ...ros.outputs.state_reports import StateReports
from ...ros.requests.dynamics_services import DynamicsServices
from ...ros.wire.messages import read_accelerations
from .core import InverseDynamicsTask, Options

SETTINGS = (
    *ROBOT_SETTINGS,
    Setting("gravity_only", False, "Answer with the efforts that hold the robot against gravity, and nothing else."),
    Setting(
        "driver_compensates_gravity",
        False,
        "Leave gravity out of ~/joint_efforts and ~/commands, for drivers that add it themselves.",
    ),
    Setting("saturate_efforts", True, "Limit the outputs to the effort limits of the URDF; limiting is reported."),
    Setting(
        "acceleration_timeout",
        0.5,
        "Desired accelerations older than this count as zero [s]. 0: no limit.",
        low=0.0,
        high=3600.0,
    ),
    Setting("publish_commands", False, "Publish ~/commands as well.", "at start"),
    Setting("publish_gravity_efforts", False, "Publish ~/gravity_efforts as well.", "at start"),
)


class InverseDynamicsNode(RobotNode[InverseDynamicsTask]):
    """Joint states in, joint efforts out."""

    def __init__(self, **kwargs: Any) -> None:
        self._acceleration_time: int | None = None  # ROS time [ns]
        super().__init__("inverse_dynamics", SETTINGS, **kwargs)
        self._efforts = JointEfforts(self, "~/joint_efforts")
        self._commands = EffortCommands(self, "~/commands") if self.settings["publish_commands"] else None
        self._gravity_efforts: JointEfforts | None = None
        if self.settings["publish_gravity_efforts"]:
            self._gravity_efforts = JointEfforts(self, "~/gravity_efforts")
        self._reports = StateReports(self, "~/dynamics_state", "DynamicsState")
        self.listen(JointTrajectoryPoint, "~/joint_trajectory_point", self._on_point)
        self.listen(JointTrajectory, "~/joint_trajectory", self._on_trajectory)
        DynamicsServices(self).offer("inverse_dynamics", "mass_matrix", "bias_force", "dynamics_derivatives")

    # Configuration.

    def read_options(self, values: Mapping[str, Any]) -> Options:
        """Make options of parameter values; raises ParameterError where they make no sense together."""
        return Options.from_values(values)

    def make_task(self, model: Model, joints: list[str], options: RobotOptions) -> InverseDynamicsTask:
        """Prepare everything for a robot; raises with the reason where that cannot be done."""
        assert isinstance(options, Options)
        return InverseDynamicsTask(model, joints, options)

    def set_joints(self, joints: tuple[str, ...]) -> None:
        """Make the outputs for these joints."""
        for output in (self._efforts, self._commands, self._gravity_efforts):
            if output is not None:
                output.set_joints(joints)

    def set_timeouts(self) -> None:
        """Take over the timeouts."""
        super().set_timeouts()
        self._acceleration_timeout = round(self.settings["acceleration_timeout"] * 1e9)

    def forget_inputs(self) -> None:
        """Forget the desired accelerations."""
        self._acceleration_time = None

    # Messages.

    def answer(self, task: InverseDynamicsTask, message: JointState, wrenches: Array | None, now: int) -> None:
        """Publish the efforts for the state in ``task``."""
        desired = self._acceleration_is_fresh(now)
        efforts, gravity = task.efforts(desired, wrenches)
        stamp = message.header.stamp
        chosen = task.select(efforts)
        self._efforts.publish(chosen, stamp)
        if self._commands is not None:
            self._commands.publish(chosen)
        if self._gravity_efforts is not None:
            self._gravity_efforts.publish(task.select(task.gravity_efforts() if gravity is None else gravity), stamp)
        if self._reports.heard:
            self._reports.publish(task.model.joint_names, task.explain(efforts, desired, wrenches), stamp)

    def _acceleration_is_fresh(self, now: int) -> bool:
        if self._acceleration_time is None:
            return False
        return not self._acceleration_timeout or 0 <= now - self._acceleration_time <= self._acceleration_timeout

    def _on_point(self, message: JointTrajectoryPoint) -> None:
        task = self.answering
        if task is not None:
            self.accept(lambda: self._take(task, message, task.points))

    def _on_trajectory(self, message: JointTrajectory) -> None:
        task = self.answering
        if task is not None:
            self.accept(lambda: self._take_first(task, message))

    def _take_first(self, task: InverseDynamicsTask, message: JointTrajectory) -> None:
        if not message.points:
            raise MessageError("desired accelerations", "a trajectory without points")
        self._take(task, message.points[0], task.commands.match(message.joint_names))

    def _take(self, task: InverseDynamicsTask, point: JointTrajectoryPoint, match: JointMatch) -> None:
        task.acceleration = read_accelerations(point.accelerations, match, len(task.acceleration))
        self._acceleration_time = self.ros_time()

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        super().describe(report, period)
        if self.task is None:
            return
        report.values["gravity included"] = not self.task.options.driver_compensates_gravity
        report.values["gravity only"] = self.task.options.gravity_only
        if self.answering is None:
            return
        if self._acceleration_time is not None and not self._acceleration_is_fresh(self.ros_time()):
            report.add(diagnostics.WARN, "desired accelerations are stale and taken as zero")


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(InverseDynamicsNode, args)


if __name__ == "__main__":
    sys.exit(main())
