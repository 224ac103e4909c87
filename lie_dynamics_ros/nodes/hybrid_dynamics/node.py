"""Node that answers joint states with all accelerations and efforts, where one of the two is given for each joint.

See doc/nodes/hybrid_dynamics.md for topics, services, parameters, units, frames and signs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ...core.arrays import Array
from ...core.joint_mapping import JointMapping
from ...core.robot_options import RobotOptions
from ...core.setting import Setting
from ...lie_dynamics import Model
from ...ros.inputs.joint_commands import Command, read_hybrid_command, read_trajectory_command
from ...ros.node.robot_node import ROBOT_SETTINGS, RobotNode
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.joint_outputs import JointAccelerations, JointEfforts
from ...ros.outputs.state_reports import StateReports
from ...ros.requests.dynamics_services import DynamicsServices
from ...ros.requests.services import interfaces
from ...ros.wire.messages import read_efforts
from .core import UNNAMED, HybridDynamicsTask, Options

SETTINGS = (
    *ROBOT_SETTINGS,
    Setting(
        "unnamed_joints",
        UNNAMED[0],
        "What is given about joints that the command does not name, and about all without a command: "
        "no effort, the effort in the joint states, or no acceleration.",
        choices=UNNAMED,
    ),
    Setting(
        "saturate_efforts",
        True,
        "Limit efforts to the effort limits of the URDF; accelerations are those of the limited efforts.",
    ),
    Setting(
        "command_timeout",
        0.5,
        "Commands older than this count as none [s]. 0: no limit.",
        low=0.0,
        high=3600.0,
    ),
)


class HybridDynamicsNode(RobotNode[HybridDynamicsTask]):
    """Joint states and a command in, joint accelerations and efforts out."""

    def __init__(self, **kwargs: Any) -> None:
        self._command_time: int | None = None  # ROS time [ns]
        self._effort_assumed = False
        super().__init__("hybrid_dynamics", SETTINGS, **kwargs)
        self._accelerations = JointAccelerations(self, "~/joint_accelerations")
        self._efforts = JointEfforts(self, "~/joint_efforts")
        self._reports = StateReports(self, "~/dynamics_state", "DynamicsState")
        messages = interfaces("msg")
        if messages is not None:
            self.listen(messages.HybridCommand, "~/command", lambda m: self._on_command(read_hybrid_command, m))
        self.listen(JointTrajectory, "~/joint_trajectory", lambda m: self._on_command(read_trajectory_command, m))
        DynamicsServices(self).offer("hybrid_dynamics", "forward_dynamics", "dynamics_derivatives")

    # Configuration.

    def read_options(self, values: Mapping[str, Any]) -> Options:
        """Make options of parameter values; raises ParameterError where they make no sense together."""
        return Options.from_values(values)

    def make_task(self, model: Model, joints: list[str], options: RobotOptions) -> HybridDynamicsTask:
        """Prepare everything for a robot; raises with the reason where that cannot be done."""
        assert isinstance(options, Options)
        return HybridDynamicsTask(model, joints, options)

    def set_joints(self, joints: tuple[str, ...]) -> None:
        """Make the outputs for these joints."""
        self._accelerations.set_joints(joints)
        self._efforts.set_joints(joints)

    def set_timeouts(self) -> None:
        """Take over the timeouts."""
        super().set_timeouts()
        self._command_timeout = round(self.settings["command_timeout"] * 1e9)

    def forget_inputs(self) -> None:
        """Forget the command."""
        self._command_time = None

    # Messages.

    def answer(self, task: HybridDynamicsTask, message: JointState, wrenches: Array | None, now: int) -> None:
        """Publish accelerations and efforts for the state in ``task``."""
        if task.options.unnamed == "measured_effort":
            task.effort, assumed = read_efforts(message, task.states.match(message.name))
            self._effort_assumed |= assumed
        commanded = self._command_is_fresh(now)
        accelerations, efforts = task.solve(commanded, wrenches)
        stamp = message.header.stamp
        self._accelerations.publish(task.select(accelerations), stamp)
        if self._efforts.heard:
            self._efforts.publish(task.select(efforts), stamp)
        if self._reports.heard:
            answer = task.explain(accelerations, efforts, commanded, wrenches)
            self._reports.publish(task.model.joint_names, answer, stamp)

    def _command_is_fresh(self, now: int) -> bool:
        if self._command_time is None:
            return False
        return not self._command_timeout or 0 <= now - self._command_time <= self._command_timeout

    def _on_command(self, read: Callable[[Any, JointMapping], Command], message: Any) -> None:
        task = self.answering
        if task is not None:
            self.accept(lambda: self._take(task, read(message, task.commands)))

    def _take(self, task: HybridDynamicsTask, command: Command) -> None:
        task.named, task.prescribed, task.values = command
        self._command_time = self.ros_time()

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        super().describe(report, period)
        task = self.task
        if task is None:
            return
        fresh = self._command_is_fresh(self.ros_time())
        names = [name for name, named in zip(task.model.joint_names, task.named, strict=True) if named and fresh]
        report.values["commanded joints"] = ", ".join(names) or "none"
        if self.answering is None:
            return
        if self._command_time is not None and not fresh:
            report.add(diagnostics.WARN, f"the command is stale; joints are taken as unnamed: {task.options.unnamed}")
        if self._effort_assumed:
            report.add(diagnostics.WARN, "measured efforts are absent or NaN and taken as zero")
            self._effort_assumed = False


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(HybridDynamicsNode, args)


if __name__ == "__main__":
    sys.exit(main())
