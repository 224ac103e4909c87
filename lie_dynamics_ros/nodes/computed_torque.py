"""Node that makes a robot follow trajectories: joint states in, efforts out.

See doc/nodes/computed_torque.md for topics, services, parameters, units, frames, signs and safety stops.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from ..lie_dynamics import Model
from ..ros import diagnostics, qos
from ..ros.diagnostics import Report
from ..ros.errors import MessageError
from ..ros.joint_outputs import EffortCommands, JointEfforts, JointErrors
from ..ros.messages import Array, nanoseconds
from ..ros.parameters import Setting
from ..ros.robot_node import ROBOT_SETTINGS, RobotNode
from ..ros.robot_options import RobotOptions
from ..ros.spinning import run
from ..ros.trajectories import KIND, read_joint_trajectory
from .computed_torque_task import MODES, POLICIES, ComputedTorqueTask, Options
from .trajectory_player import TrajectoryPlayer

PER_JOINT = "One number for all joints, or one for each in model order."
SETTINGS = (
    *ROBOT_SETTINGS,
    Setting("mode", MODES[0], "Controller.", choices=MODES),
    Setting("kp", [100.0], f"Stiffness of the error in mode computed_torque [1/s^2]. {PER_JOINT}", low=0.0, high=1e6),
    Setting("kd", [20.0], f"Damping of the error in mode computed_torque [1/s]. {PER_JOINT}", low=0.0, high=1e4),
    Setting(
        "ki",
        [0.0],
        f"Gain of the integral of the error in mode computed_torque [1/s^3]. {PER_JOINT}",
        low=0.0,
        high=1e8,
    ),
    Setting(
        "integral_limit",
        [50.0],
        f"Largest acceleration by the integral [rad/s^2, m/s^2]. {PER_JOINT}",
        low=0.0,
        high=1e6,
    ),
    Setting(
        "convergence_rate",
        [10.0],
        f"Lambda of modes passivity_based and adaptive [1/s]. {PER_JOINT}",
        low=0.0,
        high=1e4,
    ),
    Setting(
        "sliding_rate",
        [20.0],
        f"Damping of modes passivity_based and adaptive over the inertia that each joint feels [1/s]. {PER_JOINT}",
        low=0.0,
        high=1e4,
    ),
    Setting(
        "sliding_damping",
        [0.5],
        f"Damping of modes passivity_based and adaptive besides that [N m s/rad, N s/m]. {PER_JOINT}",
        low=0.0,
        high=1e6,
    ),
    Setting(
        "guiding_damping",
        [0.5],
        f"Damping of mode gravity_compensation [N m s/rad, N s/m]. {PER_JOINT}",
        low=0.0,
        high=1e6,
    ),
    Setting(
        "adaptation_weight",
        0.3,
        "The smaller, the faster mode adaptive learns [J].",
        low=1e-6,
        high=1e6,
    ),
    Setting("adapted_bodies", [""], "Links whose inertia mode adaptive learns; [''] stands for all that move."),
    Setting(
        "driver_compensates_gravity",
        False,
        "Leave gravity out of ~/joint_efforts and ~/commands, for drivers that add it themselves.",
    ),
    Setting("saturate_efforts", True, "Limit the outputs to the effort limits of the URDF; limiting is reported."),
    Setting(
        "effort_policy",
        POLICIES[0],
        "How efforts are limited: what exceeds gravity compensation by one factor, or each joint by itself.",
        choices=POLICIES,
    ),
    Setting("queue_trajectories", False, "Begin a trajectory when those before it have ended, not in their place."),
    Setting(
        "start_tolerance",
        0.1,
        "Largest distance from the desired position to a first point at time 0 [rad, m].",
        low=0.0,
        high=100.0,
    ),
    Setting(
        "error_limit",
        0.5,
        "Stop when a joint is farther from its desired position [rad, m]. 0: no limit.",
        low=0.0,
        high=100.0,
    ),
    Setting(
        "velocity_margin",
        0.2,
        "Stop when a joint moves faster than its limit in the URDF by more than this part of it.",
        low=0.0,
        high=100.0,
    ),
    Setting("stop_time", 0.3, "Time in which ~/hold brings the robot to rest [s].", low=0.001, high=10.0),
)

ESTIMATE_PERIOD = 50_000_000
"""Between estimates of the inertia in mode adaptive [ns]."""


class ComputedTorqueNode(RobotNode[ComputedTorqueTask]):
    """Joint states and trajectories in, joint efforts out."""

    def __init__(self, **kwargs: Any) -> None:
        self._player: TrajectoryPlayer | None = None
        self._stopped = ""  # why the robot is braked and held up, and follows nothing
        self._last: int | None = None  # time of the last state that was answered [ns]
        self._estimated = 0
        self._held = ""
        super().__init__("computed_torque", SETTINGS, **kwargs)
        self._efforts = JointEfforts(self, "~/joint_efforts")
        self._commands = EffortCommands(self, "~/commands")
        self._errors = JointErrors(self, "~/tracking_error")
        self._inertias = self.create_lifecycle_publisher(
            InertiaStamped, "~/estimated_inertia", qos.OUTPUT, qos_overriding_options=qos.overridable()
        )
        self.listen(JointTrajectory, "~/joint_trajectory", self._on_trajectory, qos.TRAJECTORY_INPUT)
        self.create_service(Trigger, "~/hold", self._hold)

    # Configuration.

    def read_options(self, values: Mapping[str, Any]) -> Options:
        """Make options of parameter values; raises ParameterError where they make no sense together."""
        return Options.from_values(values)

    def make_task(self, model: Model, joints: list[str], options: RobotOptions) -> ComputedTorqueTask:
        """Prepare everything for a robot; raises with the reason where that cannot be done."""
        assert isinstance(options, Options)
        task = ComputedTorqueTask(model, joints, options)
        for output in (self._efforts, self._commands, self._errors):
            output.set_joints(task.joints)
        return task

    def settings_changed(self, names: set[str]) -> None:
        """Apply parameters; where the controller changes, the robot stays where it is."""
        super().settings_changed(names)
        if "mode" in names and self._player is not None and self.task is not None:
            self.task.start()
            self._player.stay(self.task.position)
        if self._player is not None:
            self._player.jump = self.settings["start_tolerance"]

    def activate(self) -> None:
        """Begin to answer states; the robot stays where its first state finds it."""
        if self.task is not None:
            self.task.start()
        self._stopped = self._held = ""
        super().activate()

    def deactivate(self) -> None:
        """Stop; the last command, which effort controllers keep, holds the robot up."""
        task = self.answering
        if task is not None and self._last is not None:
            self._publish(task, task.stopping_efforts(task.zero), None)
        super().deactivate()

    def forget_inputs(self) -> None:
        """Forget the trajectories."""
        self._player = None
        self._last = None

    # Messages.

    def answer(self, task: ComputedTorqueTask, message: JointState, wrenches: Array | None, now: int) -> None:
        """Publish the efforts for the state in ``task``."""
        time = nanoseconds(message.header.stamp) or now
        period = 0.0 if self._last is None else max(0.0, (time - self._last) * 1e-9)
        timeout = self.settings["state_timeout"]
        if self._player is None or (timeout and period > timeout):
            if self._player is not None:
                self._held = f"no state for {period:.3f} s: trajectories were dropped"
            self._player = TrajectoryPlayer(task.position, self.settings["start_tolerance"])
            period = 0.0
        self._last = time
        desired = self._player.at(time)
        if task.options.mode == "gravity_compensation":
            self._player.stay(task.position)
            desired = self._player.at(time)
        task.track(desired)
        if not self._stopped:
            self._stopped = task.violation()
            if self._stopped:
                self.get_logger().error(f"stopped: {self._stopped}")
        if self._stopped:
            self._player.stay(task.position)
            efforts = task.stopping_efforts(task.braking())
        else:
            efforts = task.efforts(desired, period, wrenches)
        self._publish(task, efforts, message)
        if task.options.mode == "adaptive" and time - self._estimated >= ESTIMATE_PERIOD:
            self._publish_estimate(task, message, time)

    def _publish(self, task: ComputedTorqueTask, efforts: Array, state: JointState | None) -> None:
        chosen = task.select(efforts)
        self._commands.publish(chosen)
        if state is None:
            return
        stamp = state.header.stamp  # what follows, costly as it is to publish, only where somebody listens
        if self._efforts.heard:
            self._efforts.publish(chosen, stamp)
        if self._errors.heard:
            self._errors.publish(task.select(task.error), task.select(task.error_rate), stamp)

    def _publish_estimate(self, task: ComputedTorqueTask, state: JointState, time: int) -> None:
        self._estimated = time
        message = InertiaStamped()
        message.header.stamp = state.header.stamp
        message.header.frame_id, found = task.estimate()
        inertia, moments = message.inertia, found.inertia.tolist()
        inertia.m = found.mass
        inertia.com.x, inertia.com.y, inertia.com.z = found.com.tolist()
        inertia.ixx, inertia.ixy, inertia.ixz = moments[0]
        _, inertia.iyy, inertia.iyz = moments[1]
        inertia.izz = moments[2][2]
        self._inertias.publish(message)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        task, player = self.answering, self._player
        if task is None:
            return
        self.accept(lambda: self._take(task, player, message))

    def _take(self, task: ComputedTorqueTask, player: TrajectoryPlayer | None, message: JointTrajectory) -> None:
        start, points = read_joint_trajectory(message, task.commands, task.lower, task.upper)
        if player is None or self._last is None:
            raise MessageError(KIND, "a trajectory before the first joint state: it has nowhere to start from")
        if task.options.mode == "gravity_compensation":
            raise MessageError(KIND, "a trajectory in mode gravity_compensation, which follows none")
        if self._stopped:
            raise MessageError(KIND, f"a trajectory after a stop ({self._stopped}); call ~/hold first")
        now = self._last
        player.add(start or now, now, points, self.settings["queue_trajectories"])
        self._held = ""

    def _hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Drop all trajectories and come to rest; after a stop, control the robot again where it is."""
        player = self._player
        if self.answering is None or player is None or self._last is None:
            response.message = "the node is not active, or has received no joint state yet"
            return response
        if self._stopped:
            player.stay(self.answering.position)
            self.answering.start()
            response.message = f"control again after the stop: {self._stopped}"
            self._stopped = ""
        else:
            player.stop(self._last, self.settings["stop_time"])
            response.message = "all trajectories are dropped"
        self._held = ""
        response.success = True
        return response

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        super().describe(report, period)
        task = self.task
        if task is None:
            return
        values = report.values
        values["mode"] = task.options.mode
        values["gravity included"] = not task.options.driver_compensates_gravity
        values["trajectories"] = 0 if self._player is None else self._player.count
        values["largest position error [rad or m]"] = f"{np.abs(task.error).max():.3g}"
        if task.options.mode == "adaptive":
            body, inertia = task.estimate()
            values["estimated mass [kg]"] = f"{inertia.mass:.4g} of {body}"
        if self.answering is None:
            return
        if task.scale < 1.0:
            values["effort scale"] = f"{task.scale:.3f}"
        if self._stopped:
            report.add(diagnostics.ERROR, f"stopped: {self._stopped}; ~/hold resumes control")
        if self._held:
            report.add(diagnostics.WARN, self._held)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(ComputedTorqueNode, args)


if __name__ == "__main__":
    sys.exit(main())
