"""Node that makes a robot follow trajectories: joint states in, efforts out.

See doc/nodes/computed_torque.md for topics, services, parameters, units, frames, signs and safety stops.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from geometry_msgs.msg import InertiaStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from ...core.arrays import Array
from ...core.errors import TRAJECTORIES, MessageError
from ...core.robot_options import RobotOptions
from ...lie_dynamics import Model
from ...ros.inputs.trajectories import read_joint_trajectory
from ...ros.node.robot_node import ROBOT_SETTINGS, RobotNode
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.joint_outputs import EffortCommands, JointEfforts, JointErrors
from ...ros.outputs.state_reports import StateReports
from ...ros.requests.services import interfaces
from ...ros.wire import qos
from ...ros.wire.messages import nanoseconds
from .answer import STOPPED, STOPPING
from .core import ComputedTorqueCore
from .options import CONTROL_SETTINGS, Options
from .report import make_report
from .task import ComputedTorqueTask

SETTINGS = (*ROBOT_SETTINGS, *CONTROL_SETTINGS)
ESTIMATE_PERIOD = 50_000_000
"""Between estimates of the inertia in mode adaptive [ns]."""


class ComputedTorqueNode(RobotNode[ComputedTorqueTask]):
    """Joint states and trajectories in, joint efforts out."""

    def __init__(self, **kwargs: Any) -> None:
        self._estimated = 0
        self._answered: tuple[int, float] | None = None  # stamp [ns] and steady time of arrival [s] of the last state
        self._logged: tuple[str, str] = ("", "")  # phase and reason
        super().__init__("computed_torque", SETTINGS, **kwargs)
        self._efforts = JointEfforts(self, "~/joint_efforts")
        self._commands = EffortCommands(self, "~/commands")
        self._errors = JointErrors(self, "~/tracking_error")
        self._inertias = self.create_lifecycle_publisher(
            InertiaStamped, "~/estimated_inertia", qos.OUTPUT, qos_overriding_options=qos.overridable()
        )
        self._phases = self.create_publisher(String, "~/phase", qos.DESCRIPTION)
        self._reports = StateReports(self, "~/controller_state", "ControllerState")
        status = getattr(interfaces("msg"), "TrajectoryStatus", None)
        self._status = status and self.create_publisher(status, "~/trajectory_status", qos.DESCRIPTION)
        self.listen(JointTrajectory, "~/joint_trajectory", self._on_trajectory)
        self.create_service(Trigger, "~/hold", self._hold)

    # Configuration.

    def read_options(self, values: Mapping[str, Any]) -> Options:
        """Make options of parameter values; raises ParameterError where they make no sense together."""
        return Options(**Options.read(values))

    def make_task(self, model: Model, joints: list[str], options: RobotOptions) -> ComputedTorqueTask:
        """Prepare everything for a robot; raises with the reason where that cannot be done."""
        return ComputedTorqueTask(model, joints, options)

    def set_joints(self, joints: tuple[str, ...]) -> None:
        """Make the outputs for these joints."""
        for output in (self._efforts, self._commands, self._errors):
            output.set_joints(joints)

    def use(self, robot: ComputedTorqueTask) -> None:
        """Control this robot from now on; while active, efforts pass over to the new ones smoothly."""
        before = self.answering
        super().use(robot)
        if before is not None and self.answering is not None:
            self.answering.core.succeed(before.core)

    def activate(self) -> None:
        """Begin to answer states; the robot stays where its first state finds it."""
        if self.task is not None:
            self.task.core.start()
        super().activate()
        self._tell_phase()

    def deactivate(self) -> None:
        """Stop; the last command, which effort controllers keep, holds the robot up. Without a fresh state, none."""
        task = self.answering
        super().deactivate()
        if task is None:
            return
        try:
            command = task.core.last_command() if self._fresh() else None
            if command is not None:
                self._commands.publish(task.select(command))
        except Exception as error:
            self.get_logger().error(f"no last command: {error}")
        task.core.end()
        self._tell_phase()

    def _fresh(self) -> bool:
        """Tell whether the last state that was answered is younger than `state_timeout`, by its stamp and arrival."""
        timeout = self.settings["state_timeout"]
        if self._answered is None or not timeout:
            return self._answered is not None
        stamp, arrival = self._answered
        return time.monotonic() - arrival <= timeout and (self.ros_time() - stamp) * 1e-9 <= timeout

    def forget_inputs(self) -> None:
        """Forget the trajectories."""
        self._answered = None
        if self.task is not None:
            self.task.core.forget()

    # Messages.

    def answer(self, task: ComputedTorqueTask, message: JointState, wrenches: Array | None, now: int) -> None:
        """Publish the efforts for the state in ``task``."""
        core = task.core
        stamp = nanoseconds(message.header.stamp)
        age = (now - stamp) * 1e-9 if stamp and self.settings["state_timeout"] else 0.0
        answer = core.answer(stamp or now, task.position, task.velocity, wrenches, age)
        self._answered = answer.stamp, time.monotonic()
        chosen = task.select(answer.effort)
        self._commands.publish(chosen)
        header = message.header.stamp  # what follows, costly as it is to publish, only where somebody listens
        if self._efforts.heard:
            self._efforts.publish(chosen, header)
        if self._errors.heard:
            self._errors.publish(task.select(answer.error), task.select(answer.error_rate), header)
        if self._reports.heard:
            self._reports.publish(core.model.joint_names, make_report(core, answer), header)
        if answer.reason is not self._logged[1]:
            self._tell_phase()
        self._tell_dropped(core)
        if answer.mode == "adaptive" and answer.stamp - self._estimated >= ESTIMATE_PERIOD:
            self._publish_estimate(core, message, answer.stamp)

    def _tell_phase(self) -> None:
        """Log and publish the phase, if it is another one."""
        task = self.task
        if task is None:
            return
        core = task.core
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

    def _publish_estimate(self, core: ComputedTorqueCore, state: JointState, stamp: int) -> None:
        self._estimated = stamp
        message = InertiaStamped()
        message.header.stamp = state.header.stamp
        message.header.frame_id, found = core.estimate()
        inertia, moments = message.inertia, found.inertia.tolist()
        inertia.m = found.mass
        inertia.com.x, inertia.com.y, inertia.com.z = found.com.tolist()
        inertia.ixx, inertia.ixy, inertia.ixz = moments[0]
        _, inertia.iyy, inertia.iyz = moments[1]
        inertia.izz = moments[2][2]
        self._inertias.publish(message)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        task = self.answering
        if task is not None:
            self.accept(lambda: self._follow(task, message))

    def _follow(self, task: ComputedTorqueTask, message: JointTrajectory) -> None:
        try:
            start, points = read_joint_trajectory(message, task.commands)
            task.core.follow(points, start)
        except MessageError as error:
            self._tell_refusal(message.header, str(error))
            raise
        self._tell_refusal(message.header, "")

    def _tell_dropped(self, core: ComputedTorqueCore) -> None:
        """Count and tell trajectories that waited and could not begin."""
        while core.player is not None and core.player.dropped:
            start, reason = core.player.dropped.pop(0)
            self.stream.statistics.reject(TRAJECTORIES, reason)
            header = Header()
            header.stamp.sec, header.stamp.nanosec = divmod(start, 10**9)
            self._tell_refusal(header, reason)

    def _tell_refusal(self, header: Header, reason: str) -> None:
        """Tell the sender of a trajectory what became of it; no reason stands for its being taken."""
        if reason:
            self.get_logger().warning(f"a trajectory is refused: {reason}", throttle_duration_sec=1.0)
        if self._status is not None:
            self._status.publish(self._status.msg_type(header=header, accepted=not reason, reason=reason))

    def _hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Drop all trajectories and come to rest; after a stop, control the robot again where it is."""
        if self.answering is None:
            response.message = "the node is not active"
            return response
        try:
            response.message = self.answering.core.hold()
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
        task = self.task
        if task is None:
            return
        core, values = task.core, report.values
        values["mode"] = core.options.mode
        values["phase"] = f"{core.phase}: {core.reason}"
        values["gravity included"] = not core.options.driver_compensates_gravity
        values["trajectories"] = 0 if core.player is None else core.player.count
        if core.options.mode == "adaptive":
            body, inertia = core.estimate()
            values["estimated mass [kg]"] = f"{inertia.mass:.4g} of {body}"
        if self.answering is None:
            return
        self._describe_loop(core, report)
        if core.phase in (STOPPING, STOPPED):
            report.add(diagnostics.ERROR, f"stopped: {core.reason}; ~/hold resumes control")
        if core.note:
            report.add(diagnostics.WARN, core.note)

    def _describe_loop(self, core: ComputedTorqueCore, report: Report) -> None:
        gains, loop, values = core.gains, core.loop(), report.values
        values["loop period [ms]"] = f"{gains.period * 1e3:.3f}"
        values["loop delay [periods]"] = f"{gains.delay:g}"
        values["loop: largest rate of damping [1/s]"] = f"{loop.rate:.0f}, allowed {loop.allowed:.0f}"
        values["loop: spectral radius"] = f"{loop.radius:.4f}"
        factor = gains.factor if core.options.mode == "computed_torque" else gains.slide_factor
        if factor < 1.0 and core.options.mode != "gravity_compensation":
            report.add(
                diagnostics.WARN,
                f"the bandwidth is brought down to {100.0 * factor:.0f} % of what the gains ask for: a period of "
                f"{gains.period * 1e3:.2f} ms and a delay of {gains.delay:g} periods carry no more",
            )


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(ComputedTorqueNode, args)


if __name__ == "__main__":
    sys.exit(main())
