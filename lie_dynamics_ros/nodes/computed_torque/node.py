"""Node that makes a robot follow trajectories: joint states in, efforts out.

See doc/nodes/computed_torque.md for topics, services, parameters, units, frames, signs and safety stops.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped, PoseStamped, TwistStamped
from rclpy.clock import Clock, ClockType
from std_msgs.msg import Float64, Header, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from ...core.errors import TRAJECTORIES, MessageError
from ...core.joint_mapping import JointMapping
from ...core.setting import Setting
from ...lie_dynamics import JointFriction, Model
from ...ros.inputs.robot_inputs import RobotInputs
from ...ros.inputs.trajectories import read_joint_trajectory
from ...ros.node.background import Background, Job
from ...ros.node.robot_node import ROBOT_SETTINGS, RobotNode
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.joint_outputs import (
    EffortCommands,
    JointEfforts,
    JointErrors,
    JointOutput,
    PointSetpoints,
    StateSetpoints,
)
from ...ros.outputs.state_reports import StateReports
from ...ros.wire import qos
from ...ros.wire.interface_package import interfaces
from ...ros.wire.messages import nanoseconds, pose_to_matrix, twist_to_array
from .action import TrajectoryAction
from .answer import STOPPED, STOPPING, ControllerAnswer
from .check_service import CheckService
from .core import ComputedTorqueCore
from .options import CONTROL_SETTINGS, ComputedTorqueOptions
from .report import ControllerReport, make_report
from .setpoints import Setpoint, make_setpoint
from .tool_options import TOOL_MODES
from .tool_outputs import ToolOutputs, describe_tool
from .trajectories.judging import Prepared

SETPOINTS = {"efforts": None, "joint_state": StateSetpoints, "joint_trajectory_point": PointSetpoints}
SETTINGS = (
    *ROBOT_SETTINGS,
    *CONTROL_SETTINGS,
    Setting(
        "outputs",
        "efforts",
        "Efforts alone; or besides, on ~/setpoint, desired positions, velocities and the efforts that they take, for "
        "drivers with a loop of their own, in a message of this type.",
        "at start",
        choices=tuple(SETPOINTS),
    ),
)
ESTIMATE_PERIOD = 50_000_000
"""Between estimates of the inertia in mode adaptive [ns]."""


class ComputedTorqueNode(RobotNode[ComputedTorqueCore]):
    """Joint states and trajectories in, joint efforts out."""

    def __init__(self, **kwargs: Any) -> None:
        self._estimated = 0
        self._logged: tuple[str, str] = ("", "")  # phase and reason
        self._trajectories = Background("trajectories")
        self._jobs: deque[tuple[Job, Callable[[Job], None]]] = deque()  # trajectories that are being prepared
        self._answer: ControllerAnswer | None = None  # the last one
        super().__init__("computed_torque", SETTINGS, **kwargs)
        self._efforts = JointEfforts(self, "~/joint_efforts")
        self._commands = EffortCommands(self, "~/commands")
        self._errors = JointErrors(self, "~/tracking_error")
        kind = SETPOINTS[self.settings["outputs"]]
        self._setpoints = kind and kind(self, "~/setpoint")
        self._setpoint: Setpoint | None = None
        self._inertias = self.create_lifecycle_publisher(
            InertiaStamped, "~/estimated_inertia", qos.OUTPUT, qos_overriding_options=qos.overridable()
        )
        self._phases = self.create_publisher(String, "~/phase", qos.DESCRIPTION)
        self._reports = StateReports(self, "~/controller_state", "ControllerState", ControllerReport)
        status = getattr(interfaces("msg"), "TrajectoryStatus", None)
        self._status = status and self.create_publisher(status, "~/trajectory_status", qos.DESCRIPTION)
        self._tool = ToolOutputs(self)
        self.listen(JointTrajectory, "~/joint_trajectory", self._on_trajectory)
        self.listen(Float64, "~/speed_scaling", self._on_speed_scaling)
        self.listen(PoseStamped, "~/target_pose", self._on_target_pose)
        self.listen(TwistStamped, "~/target_twist", self._on_target_twist)
        self.create_service(Trigger, "~/hold", self._hold)
        self._check = CheckService(self)
        self._action = TrajectoryAction(self)
        self._watch()

    def destroy_node(self) -> None:
        """End the thread and the action with the node."""
        self._trajectories.close()
        self._action.close()
        super().destroy_node()

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

    def read_options(self, values: Mapping[str, Any]) -> ComputedTorqueOptions:
        """Make options of parameter values; raises ParameterError where they make no sense together."""
        return ComputedTorqueOptions(**ComputedTorqueOptions.read(values))

    def make_core(self, model: Model, options: Any, friction: JointFriction | None) -> ComputedTorqueCore:
        """Prepare everything for a robot; raises with the reason where that cannot be done."""
        return ComputedTorqueCore(model, options, friction)

    def outputs(self) -> tuple[JointOutput | None, ...]:
        """Return the outputs with a number for each joint."""
        return self._efforts, self._commands, self._errors, self._setpoints

    def use(self, robot: tuple[RobotInputs, ComputedTorqueCore]) -> None:
        """Control this robot from now on; while active, efforts pass over to the new ones smoothly."""
        before = self.answering
        super().use(robot)
        self._answer = None
        if before is not None:
            robot[1].succeed(before)
            self._action.tell_results(robot[1])

    def activate(self) -> None:
        """Begin to answer states; the robot stays where its first state finds it."""
        super().activate()
        self._tell_phase()

    def deactivate(self) -> None:
        """Stop; the last command, which effort controllers keep, holds the robot up. Without a fresh state, none."""
        core, fresh = self.answering, self.stream.is_fresh()
        super().deactivate()
        if core is None:
            return
        try:
            command = core.last_command() if fresh else None
            if command is not None:
                self._commands.publish(command)
                if self._setpoints is not None and self._setpoint is not None:
                    zero, stamp = core.zero, self.get_clock().now().to_msg()
                    self._setpoints.publish(self._setpoint.position, zero, zero, command, stamp)
        except Exception as error:
            self.get_logger().error(f"no last command: {error}")
        core.end()
        self._go_on(core)
        self._tell_phase()

    # Messages.

    def publish(self, core: ComputedTorqueCore, answer: ControllerAnswer, stamp: Time) -> None:
        """Publish the efforts; what is costly besides only where somebody listens."""
        self._commands.publish(answer.effort)
        if self._setpoints is not None:
            self._setpoint = make_setpoint(core, answer)
            self._setpoints.publish(*self._setpoint, stamp)
        if self._efforts.heard:
            self._efforts.publish(answer.effort, stamp)
        if self._errors.heard:
            self._errors.publish(answer.error, answer.error_rate, stamp)
        if self._reports.heard:
            self._reports.publish(core.model.joint_names, make_report(core, answer), stamp)
        if answer.mode in TOOL_MODES:
            self._tool.publish(core.tool, answer.position, stamp)
        if answer.reason is not self._logged[1]:
            self._tell_phase()
        self._answer = answer
        if self._jobs or core.goals.results or (core.player is not None and core.player.dropped):
            self._go_on(core)
        if answer.mode == "adaptive" and answer.stamp - self._estimated >= ESTIMATE_PERIOD:
            self._estimated = answer.stamp
            self._publish_estimate(core, stamp)

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

    def _publish_estimate(self, core: ComputedTorqueCore, stamp: Time) -> None:
        message = InertiaStamped()
        message.header.stamp = stamp
        link, found = core.estimate()
        message.header.frame_id = self.frame_of(link)
        inertia, moments = message.inertia, found.inertia.tolist()
        inertia.m = found.mass
        inertia.com.x, inertia.com.y, inertia.com.z = found.com.tolist()
        inertia.ixx, inertia.ixy, inertia.ixz = moments[0]
        _, inertia.iyy, inertia.iyz = moments[1]
        inertia.izz = moments[2][2]
        self._inertias.publish(message)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        core = self.answering
        if core is not None:
            joints = JointMapping(core.model.joint_names)
            self.prepare(
                lambda: core.prepare(*reversed(read_joint_trajectory(message, joints))),
                lambda job: self._follow(message.header, job),
            )

    def prepare(self, make: Callable[[], Prepared], then: Callable[[Job], None]) -> None:
        """Let a trajectory be prepared beside the executor; it is taken from there after an answer, in its turn."""
        job = Job(None, make)
        self._jobs.append((job, then))
        self._trajectories.start(job)

    def _follow(self, header: Header, job: Job) -> None:
        """Take in a trajectory that was prepared, and tell its sender."""
        core = self.answering
        if core is None:
            return

        def take() -> None:
            try:
                core.take(job.result())
            except MessageError as error:
                self._tell_refusal(header, str(error))
                raise
            self._tell_refusal(header, "")

        self.stream.accept(take)

    def _go_on(self, core: ComputedTorqueCore) -> None:
        """Take what has been prepared, and tell what has become of trajectories and goals."""
        while self._jobs and self._jobs[0][0].done:
            job, then = self._jobs.popleft()
            then(job)
        self._tell_dropped(core)
        self._action.tell_results(core)

    def _on_timer(self) -> None:
        core = self.core
        if core is None:
            return
        silence = core.goals.active and self.stream.silence()
        if silence:
            core.give_up(silence)
        self._go_on(core)
        if core.goals.active and self._answer is not None:
            self._action.feed_back(core, self._answer)

    def _on_speed_scaling(self, message: Float64) -> None:
        core = self.answering
        if core is not None:
            self.stream.accept(lambda: core.scale_speed(message.data))

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

    def _tell_dropped(self, core: ComputedTorqueCore) -> None:
        """Count and tell trajectories that waited and could not begin."""
        while core.player is not None and core.player.dropped:
            start, _, reason = core.player.dropped.pop(0)
            self.stream.statistics.reject(TRAJECTORIES, reason)
            header = Header()
            header.stamp.sec, header.stamp.nanosec = divmod(start, 10**9)
            self._tell_refusal(header, reason)

    def _tell_refusal(self, header: Header, reason: str) -> None:
        """Tell the sender of a trajectory what became of it; no reason stands for its being taken."""
        note = "" if self.core is None or reason else self.core.note
        if note:
            self.get_logger().warning(f"a trajectory is {note}", throttle_duration_sec=1.0)
        if reason:
            self.get_logger().warning(f"a trajectory is refused: {reason}", throttle_duration_sec=1.0)
        if self._status is not None:
            self._status.publish(self._status.msg_type(header=header, accepted=not reason, reason=reason or note))

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
        core, values = self.core, report.values
        if core is None:
            return
        values["mode"] = core.options.mode
        values["phase"] = f"{core.phase}: {core.reason}"
        values["gravity included"] = not core.options.driver_compensates_gravity
        values["speed scaling"] = f"{core.clock.rate:.3g}"
        values["goals"] = len(core.goals.active)
        values["trajectories"] = 0 if core.player is None else core.player.count
        if core.options.mode == "adaptive":
            body, inertia = core.estimate()
            values["estimated mass [kg]"] = f"{inertia.mass:.4g} of {body}"
        if self.answering is None:
            return
        self._describe_loop(core, report)
        if core.options.mode in TOOL_MODES:
            describe_tool(core, report)
        if core.phase in (STOPPING, STOPPED):
            report.add(diagnostics.ERROR, f"stopped: {core.reason}; ~/hold resumes control")
        if core.note:
            report.add(diagnostics.WARN, core.note)

    def _describe_loop(self, core: ComputedTorqueCore, report: Report) -> None:
        gains, loop, values = core.gains, core.loop(), report.values
        values["loop period [ms]"] = f"{gains.period * 1e3:.3f}"
        values["loop delay [periods]"] = f"{gains.delay:g}"
        values["loop: effort acts after [ms]"] = f"{core.lead * 1e-6:.3f}"
        values["loop: largest rate of damping [1/s]"] = f"{loop.rate:.0f}, allowed {loop.allowed:.0f}"
        values["loop: spectral radius"] = f"{loop.radius:.4f}"
        mode = core.options.mode
        factor = gains.factor if mode == "computed_torque" else gains.slide_factor
        if mode in TOOL_MODES:
            factor = gains.tool.factor if mode == "operational_space" else 1.0
        if factor < 1.0 and mode != "gravity_compensation":
            report.add(
                diagnostics.WARN,
                f"the bandwidth is brought down to {100.0 * factor:.0f} % of what the gains ask for: a period of "
                f"{gains.period * 1e3:.2f} ms and a delay of {gains.delay:g} periods carry no more"
                + ("" if gains.pole is None else ", with velocities found in positions"),
            )


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(ComputedTorqueNode, args)


if __name__ == "__main__":
    sys.exit(main())
