"""Node for contacts of a robot: joint states with efforts in, external torques, wrench and contacts out.

See doc/nodes/contact.md for topics, services, parameters, units, frames and signs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from builtin_interfaces.msg import Time
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from ...lie_dynamics import JointFriction, Model
from ...ros.node.robot_node import ROBOT_SETTINGS
from ...ros.node.spinning import run
from ...ros.node.tree_node import TreeNode
from ...ros.outputs import diagnostics
from ...ros.outputs.base_outputs import WrenchOutput
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.joint_outputs import JointEfforts, JointOutput
from ...ros.outputs.state_reports import StateReports
from ...ros.wire import qos
from .core import ContactAnswer, ContactCore
from .options import CONTACT_SETTINGS, ContactOptions
from .payload_services import PayloadServices
from .report import ContactReport, make_report

SETTINGS = (*ROBOT_SETTINGS, *CONTACT_SETTINGS)


class ContactNode(TreeNode[ContactCore]):
    """Joint states with efforts in, contacts out."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("contact", SETTINGS, **kwargs)
        self._told: bool | None = None
        self._contacts = 0
        self._efforts = JointEfforts(self, "~/external_efforts")
        self._wrench = WrenchOutput(self, "~/contact_wrench")
        self._reports = StateReports(self, "~/contact_state", "ContactState", ContactReport)
        self._touching = self.create_lifecycle_publisher(
            Bool, "~/touching", qos.DESCRIPTION, qos_overriding_options=qos.overridable()
        )
        self.create_service(Trigger, "~/measure_noise", self._measure_noise)
        PayloadServices(self)

    # Configuration.

    def read_options(self, values: Mapping[str, Any]) -> ContactOptions:
        """Make options of parameter values; raises ParameterError where they make no sense together."""
        return ContactOptions.from_values(values)

    def make_core(self, model: Model, options: Any, friction: JointFriction | None) -> ContactCore:
        """Prepare everything for a robot; raises with the reason where that cannot be done."""
        return ContactCore(model, options, friction)

    def outputs(self) -> tuple[JointOutput | None, ...]:
        """Return the outputs with a number for each joint."""
        return (self._efforts,)

    def activate(self) -> None:
        """Begin to answer states; the first result is published whatever was given before."""
        super().activate()
        self._told = None

    # Messages.

    def publish(self, core: ContactCore, answer: ContactAnswer | None, stamp: Time) -> None:
        """Publish contacts first, as reactions wait for them; the rest with every state, wrenches while heard."""
        if answer is None:
            return
        found = answer.found
        if found.touching is not self._told:
            self._told = found.touching
            self._contacts += found.touching
            self._touching.publish(Bool(data=found.touching))
        self._efforts.publish(found.torque, stamp)
        if self._wrench.heard:
            self._wrench.publish(self.frame_of(answer.frame), answer.wrench.wrench, stamp)
        if self._reports.heard:
            self._reports.publish(core.model.joint_names, make_report(answer, self.frame_of(answer.frame)), stamp)

    def _measure_noise(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        core = self.answering
        if core is None:
            response.message = "the node is not active"
        elif core.options.velocity_noise:
            response.message = "velocity_noise and effort_noise are set; expected both 0 to have noise measured"
        else:
            core.measure_noise()
            self._told, response.success = None, True
            response.message = f"the robot is to rest for {core.options.noise_time:g} s; nothing is felt meanwhile"
        return response

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        super().describe(report, period)
        core, values = self.core, report.values
        if core is None:
            return
        values["contact frame"] = core.frame
        values["contacts"] = self._contacts
        if core.recorder.running:
            values["recording"] = f"the {core.recorder.running} robot"
        values["evidence"] = f"{core.take_evidence():.3g}"
        if core.observer is not None:
            values["touching"] = core.touching
            if core.observer.drift.any():
                drift = core.observer.drift.T.round(3).tolist()
                values["learned offsets and friction [N m, N]"] = f"{drift[0]}, {drift[1]}"
        elif self.answering is not None:
            text = f"noise is being measured, nothing is felt: the robot is to rest for {core.options.noise_time:g} s"
            report.add(diagnostics.WARN, f"{text}; {core.problem}" if core.problem else text)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(ContactNode, args)


if __name__ == "__main__":
    sys.exit(main())
