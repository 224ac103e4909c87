"""Node that answers joint states with the joint efforts that produce the desired accelerations.

See doc/nodes/inverse_dynamics.md for topics, parameters, units, frames and signs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ..ros import diagnostics, qos
from ..ros.described_node import DescribedNode
from ..ros.diagnostics import Report, StreamStatistics
from ..ros.errors import MessageError
from ..ros.joint_mapping import JointMatch
from ..ros.joint_outputs import EffortCommands, JointEfforts
from ..ros.messages import Array, nanoseconds, read_accelerations, read_joint_state, wrench_to_array
from ..ros.model_loading import INERTIA_CHECK, load_model
from ..ros.parameters import Setting
from ..ros.spinning import run
from ..ros.state_times import StateTimes
from .inverse_dynamics_task import InverseDynamicsTask, Options

SETTINGS = (
    Setting(
        "joints",
        [""],
        "Joints of the outputs, and of ~/joint_trajectory_point, in this order. [''] stands for all, in model order.",
        "while unconfigured",
    ),
    Setting(
        "gravity",
        [0.0, 0.0, -9.81],
        "Acceleration of free fall in the frame of the robot's root link [m/s^2].",
    ),
    Setting("gravity_only", False, "Answer with the efforts that hold the robot against gravity, and nothing else."),
    Setting(
        "driver_compensates_gravity",
        False,
        "Leave gravity out of ~/joint_efforts and ~/commands, for drivers that add it themselves.",
    ),
    Setting("include_damping", False, "Include the viscous damping that the URDF gives."),
    Setting("include_friction", False, "Include the dry friction that the URDF gives; zero for a joint at rest."),
    Setting("saturate_efforts", True, "Limit the outputs to the effort limits of the URDF; limiting is reported."),
    Setting(
        "state_timeout",
        0.1,
        "States older than this, by their time stamp, are not answered [s]. 0: no limit.",
        low=0.0,
        high=3600.0,
    ),
    Setting(
        "acceleration_timeout",
        0.5,
        "Desired accelerations older than this count as zero [s]. 0: no limit.",
        low=0.0,
        high=3600.0,
    ),
    Setting(
        "wrench_timeout",
        0.1,
        "External wrenches older than this count as zero [s]. 0: no limit.",
        low=0.0,
        high=3600.0,
    ),
    INERTIA_CHECK,
    Setting("publish_commands", False, "Publish ~/commands as well.", "at start"),
    Setting("publish_gravity_efforts", False, "Publish ~/gravity_efforts as well.", "at start"),
)


class InverseDynamicsNode(DescribedNode):
    """Joint states in, joint efforts out."""

    def __init__(self, **kwargs: Any) -> None:
        self._task: InverseDynamicsTask | None = None
        self._answering: InverseDynamicsTask | None = None  # the same, while active
        self._times = StateTimes()
        self._statistics = StreamStatistics()
        self._last_state: float | None = None  # steady time [s]
        self._activated = 0.0  # steady time [s]
        self._acceleration_time: int | None = None  # ROS time [ns]
        self._velocity_assumed = False
        super().__init__("inverse_dynamics", SETTINGS, **kwargs)
        self._set_timeouts()
        self._efforts = JointEfforts(self, "~/joint_efforts")
        self._commands = EffortCommands(self, "~/commands") if self.settings["publish_commands"] else None
        self._gravity_efforts: JointEfforts | None = None
        if self.settings["publish_gravity_efforts"]:
            self._gravity_efforts = JointEfforts(self, "~/gravity_efforts")
        self._states = self._listen(JointState, "joint_states", self._on_state)
        self._listen(JointTrajectoryPoint, "~/joint_trajectory_point", self._on_point)
        self._listen(JointTrajectory, "~/joint_trajectory", self._on_trajectory)
        self._listen(WrenchStamped, "~/external_wrench", self._on_wrench, qos.EVENT_INPUT)

    def _listen(
        self, type_: type, topic: str, callback: Callable[[Any], None], profile: QoSProfile = qos.STREAM_INPUT
    ) -> Subscription:
        return self.create_subscription(type_, topic, callback, profile, qos_overriding_options=qos.overridable())

    # Configuration.

    def check_settings(self, values: Mapping[str, Any]) -> None:
        """Check parameter values against each other; raises ParameterError."""
        Options.from_values(values)

    def settings_changed(self, names: set[str]) -> None:
        """Apply parameters that may change at run time."""
        self._set_timeouts()
        if self._task is not None:
            self._task.set_options(Options.from_values(self.settings))
        super().settings_changed(names)

    def _set_timeouts(self) -> None:
        self._times.timeout = round(self.settings["state_timeout"] * 1e9)
        self._acceleration_timeout = round(self.settings["acceleration_timeout"] * 1e9)
        self._wrench_timeout = round(self.settings["wrench_timeout"] * 1e9)

    def configure_model(self, description: str) -> None:
        """Prepare the dynamics of this robot; raises with the reason where that cannot be done."""
        joints = [joint for joint in self.settings["joints"] if joint]
        model = load_model(description, self.settings["inertia_check"], self.get_logger())
        task = InverseDynamicsTask(model, joints, Options.from_values(self.settings))
        self._task = task
        if self._answering is not None:
            self._answering = task
        self._acceleration_time = None
        for output in (self._efforts, self._commands, self._gravity_efforts):
            if output is not None:
                output.set_joints(task.joints)
        self.get_logger().info(f"{len(task.joints)} joints: {', '.join(task.joints)}")

    def activate(self) -> None:
        """Begin to answer states."""
        self._times.reset()
        self._last_state = None
        self._activated = time.monotonic()
        self._acceleration_time = None
        self._answering = self._task

    def deactivate(self) -> None:
        """Stop answering."""
        self._answering = None

    def cleanup(self) -> None:
        """Let go of the robot."""
        self._answering = self._task = None

    # Messages. Nothing that arrives may end the node, hence the broad except.

    def _on_state(self, message: JointState) -> None:
        task = self._answering
        if task is None:
            return
        begin = time.perf_counter()
        statistics = self._statistics
        statistics.received += 1
        try:
            age = self._answer(task, message)
        except MessageError as error:
            statistics.reject(error.kind, str(error))
            return
        except Exception as error:
            self._unexpected(error)
            return
        statistics.answered += 1
        duration = time.perf_counter() - begin
        statistics.callback.add(duration)
        if age:
            statistics.latency.add(age * 1e-9 + duration)

    def _answer(self, task: InverseDynamicsTask, message: JointState) -> int:
        """Publish the efforts for one state; returns its age [ns] on arrival."""
        self._last_state = time.monotonic()
        stamp = message.header.stamp
        now = self.ros_time()
        age = self._times.check(nanoseconds(stamp), now)
        task.position, task.velocity, assumed = read_joint_state(message, task.states.match(message.name))
        self._velocity_assumed |= assumed
        wrenches = task.wrenches.on_bodies(now, self._wrench_timeout)
        efforts, gravity = task.efforts(self._acceleration_is_fresh(now), wrenches)
        self._publish(task, efforts, gravity, stamp)
        return age

    def _publish(self, task: InverseDynamicsTask, efforts: Array, gravity: Array | None, stamp: Time) -> None:
        chosen = task.select(efforts)
        self._efforts.publish(chosen, stamp)
        if self._commands is not None:
            self._commands.publish(chosen)
        if self._gravity_efforts is not None:
            self._gravity_efforts.publish(task.select(task.gravity_efforts() if gravity is None else gravity), stamp)

    def _acceleration_is_fresh(self, now: int) -> bool:
        if self._acceleration_time is None:
            return False
        return not self._acceleration_timeout or 0 <= now - self._acceleration_time <= self._acceleration_timeout

    def _on_point(self, message: JointTrajectoryPoint) -> None:
        if self._answering is not None:
            self._accept_acceleration(message, self._answering.points)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        if self._answering is None:
            return
        if not message.points:
            self._statistics.reject("desired accelerations", "a trajectory without points")
            return
        self._accept_acceleration(message.points[0], self._answering.named_points.match(message.joint_names))

    def _accept_acceleration(self, point: JointTrajectoryPoint, match: JointMatch) -> None:
        task = self._answering
        try:
            task.acceleration = read_accelerations(point.accelerations, match, len(task.acceleration))
        except MessageError as error:
            self._statistics.reject(error.kind, str(error))
        except Exception as error:
            self._unexpected(error)
        else:
            self._acceleration_time = self.ros_time()

    def _on_wrench(self, message: WrenchStamped) -> None:
        task = self._answering
        if task is None:
            return
        try:
            task.wrenches.put(message.header.frame_id, wrench_to_array(message.wrench), self.ros_time())
        except MessageError as error:
            self._statistics.reject(error.kind, str(error))
        except Exception as error:
            self._unexpected(error)

    def _unexpected(self, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}"
        self._statistics.reject("unexpected error", text)
        self.get_logger().error(f"a message could not be answered: {text}", throttle_duration_sec=5.0)

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        super().describe(report, period)
        rejected = self._statistics.describe(report, period)
        task = self._task
        if task is None:
            return
        report.values["joints"] = ", ".join(task.joints)
        report.values["gravity [m/s^2]"] = ", ".join(f"{g:g}" for g in task.options.gravity)
        report.values["gravity included"] = not task.options.driver_compensates_gravity
        report.values["gravity only"] = task.options.gravity_only
        report.values["external wrenches at"] = ", ".join(task.wrenches.frames) or "none"
        if self._answering is None:
            return
        if rejected:
            report.add(diagnostics.ERROR, f"{rejected} messages dropped: {self._statistics.problem}")
        self._describe_silence(report)
        if self._velocity_assumed:
            report.add(diagnostics.WARN, "velocities are absent or NaN and taken as zero")
            self._velocity_assumed = False
        if self._acceleration_time is not None and not self._acceleration_is_fresh(self.ros_time()):
            report.add(diagnostics.WARN, "desired accelerations are stale and taken as zero")
        saturated = task.take_saturated()
        if saturated:
            report.add(diagnostics.WARN, f"efforts limited: {', '.join(saturated)}")

    def _describe_silence(self, report: Report) -> None:
        topic = self._states.topic_name
        silence = time.monotonic() - (self._activated if self._last_state is None else self._last_state)
        if self._last_state is None:
            report.add(diagnostics.WARN, f"no state received on {topic} yet")
        elif silence > max(self.settings["state_timeout"], diagnostics.PERIOD):
            report.add(diagnostics.ERROR, f"stale: no state received on {topic} for {silence:.1f} s")


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(InverseDynamicsNode, args)


if __name__ == "__main__":
    sys.exit(main())
