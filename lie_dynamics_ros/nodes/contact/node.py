"""Node for contacts of a robot: joint states with efforts in, external torques, wrench and contacts out.

See doc/nodes/contact.md for topics, services, parameters, units, frames and signs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped
from rclpy.clock import Clock, ClockType
from std_msgs.msg import Bool
from std_srvs.srv import SetBool, Trigger

from ...core.errors import RequestError
from ...lie_dynamics.identification import PayloadEstimate
from ...ros.node.robot_node import RobotNode, TreeNodeParameters
from ...ros.node.services import answer_request
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.output import JointEfforts, JointOutput, StateReports, WrenchOutput
from ...ros.wire import qos
from .core import ContactAnswer, ContactCore, ContactOptions, ContactReport, find_payload, make_report

# Services that identify a payload.

LOOK_PERIOD = 0.1
"""Period at which the executor looks for a payload that was found [s]."""


class PayloadServices:
    """Recordings begin and end by services; one identifies what was carried, and has the node take it into account."""

    def __init__(self, node: RobotNode[ContactCore]) -> None:
        self._node = node
        self._waiting: PayloadEstimate | None = None  # found, and not carried yet
        node.create_timer(LOOK_PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        for which in ("unloaded", "loaded"):
            node.create_service(
                SetBool,
                f"~/record_{which}",
                lambda request, response, which=which: answer_request(
                    response, lambda: self._record(request.data, which)
                ),
            )
        service = node.create_service(Trigger, "~/identify_payload", lambda request, _: request)
        node.worker.serve(service, lambda _: answer_request(Trigger.Response(), self._identify))
        self._found = node.create_lifecycle_publisher(
            InertiaStamped, "~/payload", qos.DESCRIPTION, qos_overriding_options=qos.overridable()
        )

    def _record(self, begin: bool, which: str) -> str:
        recorder = self._node.require_active().recorder
        return recorder.begin(which) if begin else recorder.end(which)

    def _identify(self) -> str:
        """Find the payload from the recordings; beside the executor."""
        core = self._node.require_core()
        frame = core.options.payload_link or core.frame
        found = find_payload(core.model, core.options, core.recorder.motions(), frame)
        self._waiting = found
        return found.report()

    def _look(self) -> None:
        """Take up what was found, on the executor's thread."""
        found, self._waiting = self._waiting, None
        if found is not None:
            self._carry(found)

    def _carry(self, found: PayloadEstimate) -> None:
        """Take a payload into account from now on, and publish it."""
        node, body = self._node, found.inertia
        xx, xy, xz, _, yy, yz, _, _, zz = body.inertia.reshape(-1).tolist()
        values = {
            "payload_frame": found.frame,
            "payload_mass": float(body.mass),
            "payload_center_of_mass": body.com.tolist(),
            "payload_inertia": [xx, xy, xz, yy, yz, zz],
        }
        try:
            node.set_values(values)
        except RequestError as error:
            node.get_logger().error(f"the payload that was identified is not used: {error}")
            return
        message = InertiaStamped()
        message.header.stamp = node.get_clock().now().to_msg()
        message.header.frame_id = node.frame_of(found.frame)
        inertia = message.inertia
        inertia.m = values["payload_mass"]
        inertia.com.x, inertia.com.y, inertia.com.z = values["payload_center_of_mass"]
        inertia.ixx, inertia.ixy, inertia.ixz, inertia.iyy, inertia.iyz, inertia.izz = xx, xy, xz, yy, yz, zz
        self._found.publish(message)


@dataclass(frozen=True)
class ContactParameters(ContactOptions, TreeNodeParameters):
    """Parameters of the node."""


SETTINGS = ContactParameters.settings()


class ContactNode(RobotNode[ContactCore]):
    """Joint states with efforts in, contacts out."""

    OPTIONS = ContactOptions
    CORE = ContactCore

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("contact", ContactParameters, **kwargs)
        self._told: bool | None = None
        self._contacts = 0
        self._efforts = JointEfforts(self, "~/external_efforts")
        self._wrench = WrenchOutput(self, "~/contact_wrench")
        self._reports = StateReports(self, "~/contact_state", "ContactState", ContactReport)
        self._touching = self.create_lifecycle_publisher(
            Bool, "~/touching", qos.DESCRIPTION, qos_overriding_options=qos.overridable()
        )
        self.serve_trigger("~/measure_noise", self._measure_noise)
        PayloadServices(self)

    # Configuration.

    def outputs(self) -> tuple[JointOutput | None, ...]:
        """Return the outputs with a number for each joint."""
        return (self._efforts,)

    def activate(self) -> None:
        """Begin to answer states; the first result is published whatever was given before."""
        super().activate()
        self._told = None

    # Messages.

    def publish(self, core: ContactCore, answer: ContactAnswer | None, stamp: Time) -> None:
        """Publish contacts first, as reactions wait for them; the rest with every state, wrenches if subscribed to."""
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

    def _measure_noise(self) -> str:
        core = self.require_active()
        if core.options.velocity_noise:
            raise RequestError("velocity_noise and effort_noise are set; expected both 0 to have noise measured")
        core.measure_noise()
        self._told = None
        return f"the robot is to rest for {core.options.noise_time:g} s; nothing is felt meanwhile"

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


main = partial(run, ContactNode)

if __name__ == "__main__":
    sys.exit(main())
