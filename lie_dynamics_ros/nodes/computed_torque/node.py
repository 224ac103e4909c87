"""Node that makes a robot follow trajectories: joint states in, efforts out.

See doc/nodes/computed_torque.md for topics, services, parameters, units, frames, signs and safety stops.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.clock import Clock, ClockType
from std_msgs.msg import Bool, Float64, String
from std_srvs.srv import Trigger

from ...core.commands import STOPPING
from ...core.errors import ConfigurationError, MessageError
from ...core.parameters import parameter
from ...ros.inputs.base_input import check_base
from ...ros.inputs.robot_inputs import RobotInputs
from ...ros.node.robot_node import RobotNode, TreeNodeParameters
from ...ros.node.spinning import run
from ...ros.node.worker import SideNode
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.output import (
    EffortCommands,
    JointEfforts,
    JointMotions,
    JointOutput,
    PointSetpoints,
    StateReports,
    StateSetpoints,
)
from ...ros.wire import qos
from ...ros.wire.messages import nanoseconds, pose_to_matrix, twist_to_array
from .controller import ControllerParameters, build_closed, has_loops
from .core import ComputedTorqueCore
from .laws import ControllerAnswer
from .options import ComputedTorqueOptions
from .outputs import InertiaOutput, ToolOutputs, describe_control, describe_loop, rotors_not_given
from .report import ControllerReport, Setpoint, make_report, make_setpoint
from .requests.action import NAME, TrajectoryAction
from .requests.services import CHECK, PLAN, CheckService, PlanService
from .requests.standard_interfaces import StandardInterfaces
from .requests.trajectory_input import TrajectoryInput
from .tool_options import TOOL_MODES

SETPOINTS = {"efforts": None, "joint_state": StateSetpoints, "joint_trajectory_point": PointSetpoints}


@dataclass(frozen=True)
class ComputedTorqueParameters(ControllerParameters, TreeNodeParameters):
    """Parameters of the node."""

    feedback_rate: float = parameter(20.0, "Feedback of goals per second [Hz].", low=0.1, high=200.0)
    outputs: str = parameter(
        "efforts",
        "Efforts alone; or besides, on ~/setpoint, desired positions, velocities and the efforts that they take, for "
        "drivers with a loop of their own, in a message of this type.",
        "at start",
        choices=tuple(SETPOINTS),
    )


SETTINGS = ComputedTorqueParameters.settings()


class ComputedTorqueNode(RobotNode[ComputedTorqueCore]):
    """Joint states and trajectories in, joint efforts out."""

    OPTIONS = ComputedTorqueOptions
    CORE = ComputedTorqueCore

    def __init__(self, **kwargs: Any) -> None:
        self._logged: tuple[str, str] = ("", "")  # phase and reason
        self._answer: ControllerAnswer | None = None  # the last one
        super().__init__("computed_torque", ComputedTorqueParameters, **kwargs)
        self._efforts = JointEfforts(self, "~/joint_efforts")
        self._commands = EffortCommands(self, "~/commands")
        self._errors = JointMotions(self, "~/tracking_error")
        kind = SETPOINTS[self.settings["outputs"]]
        self._setpoints = kind and kind(self, "~/setpoint")
        self._setpoint: Setpoint | None = None
        self._inertia = InertiaOutput(self)
        self._phases = self.create_publisher(String, "~/phase", qos.DESCRIPTION)
        self._reports = StateReports(self, "~/control_state", "ControllerState", ControllerReport)
        self._tool = ToolOutputs(self)
        self._trajectories = self.own(TrajectoryInput(self))
        self.listen(Float64, "~/speed_scaling", lambda m: self.scale_speed(m.data))
        self.listen(Bool, "~/contact", self._on_contact)
        self.listen(PoseStamped, "~/target_pose", self._on_target_pose)
        self.listen(TwistStamped, "~/target_twist", self._on_target_twist)
        self.create_service(Trigger, "~/hold", self._hold)
        side = self._side = self.own(SideNode(self, actions=(NAME,), services=(CHECK, PLAN)))
        self._check, self._plan = CheckService(self, side), self.own(PlanService(self, side))
        self._standard = StandardInterfaces(self, self.scale_speed)
        self._action = self.own(TrajectoryAction(self, self._trajectories.prepare, side))
        side.begin()
        self._watch()

    def _watch(self) -> None:
        """Look after goals `feedback_rate` times a second, whether states come or not."""
        self._timer = self.create_timer(
            1.0 / self.settings["feedback_rate"], self._on_timer, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def settings_changed(self, names: set[str]) -> None:
        """Apply parameters that may change at run time."""
        super().settings_changed(names)
        if "feedback_rate" in names:
            self.destroy_timer(self._timer)
            self._watch()

    # Configuration.

    def build(self, description: str, values: Mapping[str, Any]) -> tuple[RobotInputs, ComputedTorqueCore]:
        """Prepare the controller of this robot, of its motors where it has loops; raises where that cannot be done."""
        if not has_loops(description, values):
            return super().build(description, values)
        if check_base(values):
            raise ConfigurationError("a robot with loops on a base that moves; expected one whose base is fixed")
        options = self.options_of(values)
        return build_closed(description, values, options, self.get_logger())

    def outputs(self) -> tuple[JointOutput | None, ...]:
        """Return the outputs with a number for each joint."""
        return self._efforts, self._commands, self._errors, self._setpoints

    def use(self, robot: tuple[RobotInputs, ComputedTorqueCore]) -> None:
        """Control this robot from now on; while active, efforts pass over to the new ones smoothly."""
        before = self.answering
        super().use(robot)
        if text := rotors_not_given(robot[1]):
            self.get_logger().info(f"{text}; tracking may be poor, see doc/drivers.md")
        self._answer = None
        if before is not None:
            robot[1].take_over_from(before)
            self._action.go_on(robot[1])

    def activate(self) -> None:
        """Begin to answer states; the robot stays where its first state finds it."""
        super().activate()
        self._tell_phase()

    def effort_outputs(self) -> tuple[EffortCommands | JointEfforts | None, ...]:
        """Return the outputs on which the last command is published."""
        return self._commands, self._efforts

    def commands(self) -> bool:
        """Return whether somebody obeys the efforts or the set points."""
        return super().commands() or (self._setpoints is not None and self._setpoints.heard)

    def publish_last(self, core: ComputedTorqueCore, stamp: Time) -> None:
        """Publish the last command, and to stay where the last set point was."""
        super().publish_last(core, stamp)
        command, zero = core.last_command(), core.zero
        if self._setpoints is not None and self._setpoint is not None and command is not None:
            self._setpoints.publish(self._setpoint.position, zero, zero, command, stamp)

    def deactivate(self) -> None:
        """Stop, and publish the last command."""
        core = self.answering
        super().deactivate()
        if core is None:
            return
        core.end()
        self._go_on(core)
        self._tell_phase()

    # Messages.

    def publish(self, core: ComputedTorqueCore, answer: ControllerAnswer, stamp: Time) -> None:
        """Publish the efforts; what is costly besides only where somebody listens."""
        self._commands.publish(answer.effort)
        if self._setpoints is not None:
            setpoint = make_setpoint(core, answer)
            self._setpoint = setpoint._replace(position=self.inputs.as_told(setpoint.position))
            self._setpoints.publish(*self._setpoint, stamp)
        if self._efforts.heard:
            self._efforts.publish(answer.effort, stamp)
        if self._errors.heard:
            self._errors.publish(answer.error, answer.error_rate, stamp)
        if self._reports.heard:
            self._reports.publish(core.model.joint_names, make_report(core, answer, self.inputs.as_told), stamp)
        if self._standard.heard:
            self._standard.publish(core, answer, stamp)
        if answer.mode in TOOL_MODES:
            self._tool.publish(core.tool, answer.position, stamp)
        if answer.phase != self._logged[0] or answer.reason is not self._logged[1]:
            self._tell_phase()
        self._answer = answer
        if core.goals.results or self._action.due or self._trajectories.due(core):
            self._go_on(core)
        core.conclude()
        if answer.mode == "adaptive":
            self._inertia.publish(core, answer.stamp, stamp)

    def _tell_phase(self) -> None:
        """Log and publish the phase, if it is another one."""
        core = self.core
        if core is None:
            return
        state = core.phase, core.reason
        if state == self._logged:
            return
        self._logged = state
        text = f"{core.phase}: {core.reason}"
        if core.phase == STOPPING:  # a logger keeps the severity of each line that calls it
            self.get_logger().error(text)
        else:
            self.get_logger().info(text)
        self._phases.publish(String(data=text))

    def _go_on(self, core: ComputedTorqueCore) -> None:
        """Take what has been prepared, and report the outcomes of trajectories and goals."""
        self._trajectories.go_on(core)
        self._action.go_on(core)

    def _on_timer(self) -> None:
        core = self.core
        if core is None:
            return
        silence = core.goals.active and self.stream.silence(core.options.silence_timeout)
        if silence:
            core.give_up(silence)
        self._go_on(core)
        if core.goals.active and self._answer is not None:
            self._action.feed_back(core, self._answer, self.inputs.as_told)

    def scale_speed(self, factor: float) -> None:
        """Let desired motions run slower by a factor that was received."""
        core = self.answering
        if core is not None:
            self.stream.accept(lambda: core.scale_speed(factor))

    def _on_contact(self, message: Bool) -> None:
        core = self.answering
        if core is not None:
            core.touched(message.data)
            self._go_on(core)
            self._tell_phase()

    def _on_target_pose(self, message: PoseStamped) -> None:
        core, header = self.answering, message.header
        if core is not None:
            self.stream.accept(
                lambda: core.aim(self.link_of(header.frame_id), pose_to_matrix(message.pose), nanoseconds(header.stamp))
            )

    def _on_target_twist(self, message: TwistStamped) -> None:
        core, header = self.answering, message.header
        if core is not None:
            twist, stamp = twist_to_array(message.twist), nanoseconds(header.stamp)
            self.stream.accept(lambda: core.drive(self.link_of(header.frame_id), twist, stamp))

    def _hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Drop all trajectories and come to rest; after a stop, control the robot again where it is."""
        if self.answering is None:
            response.message = "the node is not active"
            return response
        try:
            response.message = self.answering.hold()
        except MessageError as error:
            response.message = str(error)
            return response
        self._tell_phase()
        response.success = True
        return response

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        super().describe(report, period)
        if self.core is not None:
            describe_control(self.core, report)
        if self.answering is not None:
            describe_loop(self.answering, report)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(ComputedTorqueNode, args)


if __name__ == "__main__":
    sys.exit(main())
