"""Node that answers joint states with all accelerations and efforts, where one of the two is the input of each joint.

See doc/nodes/hybrid_dynamics.md for topics, services, parameters, units, frames and signs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time

from ...core.errors import ParameterError
from ...core.robot_state import DynamicsAnswer
from ...ros.node.robot_node import DynamicsServices, RobotNode, TreeNodeParameters
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.output import (
    BaseAcceleration,
    EffortCommands,
    JointAccelerations,
    JointEfforts,
    JointOutput,
    StateReports,
    WrenchOutput,
)
from .core import HybridAnswer, HybridDynamicsCore, HybridDynamicsOptions


@dataclass(frozen=True)
class HybridDynamicsParameters(HybridDynamicsOptions, TreeNodeParameters):
    """Parameters of the node."""

    def check(self) -> None:
        """Check values against each other; raises ParameterError."""
        super().check()
        if self.free_base and self.base_motion != "odometry":
            raise ParameterError(f"free_base with base_motion {self.base_motion!r}; expected 'odometry'")


SETTINGS = HybridDynamicsParameters.settings()


class HybridDynamicsNode(RobotNode[HybridDynamicsCore]):
    """Joint states and a command in, joint accelerations and efforts out."""

    OPTIONS = HybridDynamicsOptions
    CORE = HybridDynamicsCore

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("hybrid_dynamics", HybridDynamicsParameters, **kwargs)
        self._accelerations = JointAccelerations(self, "~/joint_accelerations")
        self._efforts = JointEfforts(self, "~/joint_efforts")
        self._base_outputs: tuple[WrenchOutput, BaseAcceleration] | None = None
        if self.settings["base_motion"] == "odometry":
            self._base_outputs = WrenchOutput(self, "~/base_wrench"), BaseAcceleration(self)
        self._reports = StateReports(self, "~/dynamics_state", "DynamicsState", DynamicsAnswer)
        self.take_commands()
        DynamicsServices(self).offer("hybrid_dynamics", "forward_dynamics", "dynamics_derivatives")

    # Configuration.

    def outputs(self) -> tuple[JointOutput | None, ...]:
        """Return the outputs with a number for each joint."""
        return self._accelerations, self._efforts

    def effort_outputs(self) -> tuple[EffortCommands | JointEfforts | None, ...]:
        """Return the outputs on which the last command is published."""
        return (self._efforts,)

    def commands(self) -> bool:
        """Tell that nobody is commanded: some joints move as others make them."""
        return False

    # Messages.

    def publish(self, core: HybridDynamicsCore, answer: HybridAnswer, stamp: Time) -> None:
        """Publish accelerations and efforts."""
        self._accelerations.publish(answer.acceleration, stamp)
        if self._efforts.heard:
            self._efforts.publish(answer.effort, stamp)
        if self._base_outputs is not None and answer.base_acceleration is not None:
            self._publish_base(core, answer, stamp)
        if self._reports.heard:
            self._reports.publish(core.model.joint_names, core.explain(answer), stamp)

    def _publish_base(self, core: HybridDynamicsCore, answer: HybridAnswer, stamp: Time) -> None:
        assert self._base_outputs is not None and answer.base_acceleration is not None
        wrench_output, acceleration_output = self._base_outputs
        if acceleration_output.heard:
            acceleration_output.publish(self.frame_of(core.root_link), answer.base_acceleration, stamp)
        if wrench_output.heard:
            free = core.options.free_base
            wrench = np.zeros(6) if free else core.base_wrench(answer.state, answer.acceleration)
            if wrench is not None:
                wrench_output.publish(self.frame_of(core.root_link), wrench, stamp)

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        super().describe(report, period)
        core = self.core
        if core is None:
            return
        now, options = self.ros_time(), core.options
        command = core.command.at(now, options.command_timeout)
        named = () if command is None else command.named
        names = [name for name, is_named in zip(core.model.joint_names, named, strict=False) if is_named]
        report.values["commanded joints"] = ", ".join(names) or "none"
        if self.answering is not None and core.command.is_stale(now, options.command_timeout):
            report.add(diagnostics.WARN, f"the command is stale; joints are taken as unnamed: {options.unnamed_joints}")


main = partial(run, HybridDynamicsNode)

if __name__ == "__main__":
    sys.exit(main())
