"""Node that answers the measured joints of a closed mechanism with all others, its platform, and efforts of its motors.

See doc/nodes/closed_loop.md for topics, services, parameters, units, frames and signs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.time import Time as RclpyTime

from ...core.errors import ConfigurationError
from ...core.mechanism import MechanismParameters
from ...core.parameters import parameter
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.constraints.travel import joined
from ...lie_dynamics.tracking import TrackingStatus
from ...ros.inputs.model_loading import load_mechanism
from ...ros.inputs.robot_inputs import RobotInputs
from ...ros.node.robot_node import RobotNode, RobotNodeParameters
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.output import EffortCommands, JointAccelerations, JointEfforts, JointMotions, WrenchOutput
from ...ros.outputs.tracked_outputs import (
    TRAVEL_ACCURACY,
    Certainty,
    PoseOutputs,
    TravelInTurn,
    Way,
    all_travel,
    word_for,
)
from ...ros.wire.messages import LINEAR_FIRST
from .core import ClosedLoopCore, ClosedLoopOptions, LoopAnswer


@dataclass(frozen=True)
class ClosedLoopParameters(ClosedLoopOptions, MechanismParameters, RobotNodeParameters):
    """Parameters of the node."""

    platform_frame: str = parameter(
        "", "Link or frame whose pose and twist in the root link are published. Empty: none.", "while unconfigured"
    )
    estimated_wrench: tuple[str, ...] = parameter(
        [""],
        "Components of a wrench at platform_frame, in its axes, estimated from measured efforts of motors, at most as "
        "many as freedoms: moment_x, moment_y, moment_z, force_x, force_y, force_z. ['']: none.",
        "while unconfigured",
    )
    publish_tf: bool = parameter(
        False, "Publish the platform's frame on /tf, where tf2_msgs is installed and nobody else does.", "at start"
    )
    amplification_warning: float = parameter(
        100.0,
        "How many times as fast as the measured joints the others may move before the diagnostics warn.",
        low=1.0,
        high=1e9,
    )
    singularity_warning: float = parameter(
        0.5,
        "Time left before a singular configuration, at the present speed, below which the log and the diagnostics "
        "warn [s]. 0: never.",
        high=60.0,
    )


SETTINGS = ClosedLoopParameters.settings()
WHAT = "configuration"
LOOKS = 50_000_000
"""Time between looks for a singularity ahead [ns]: one takes some 0.2 ms."""
AHEAD = 2.0
"""Furthest that the diagnostics look ahead [s]."""


class ClosedLoopNode(RobotNode[ClosedLoopCore]):
    """Measured joints in; all joints, the platform's pose and the motors' efforts out."""

    OPTIONS = ClosedLoopOptions

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("closed_loop", ClosedLoopParameters, **kwargs)
        self._states = JointMotions(self, "~/joint_states")
        self._accelerations = JointAccelerations(self, "~/joint_accelerations")
        self._efforts = JointEfforts(self, "~/joint_efforts")
        self._commands = EffortCommands(self, "~/commands")
        self._wrench = WrenchOutput(self, "~/external_wrench_estimate")
        self._poses = PoseOutputs(self, self.settings["publish_tf"])
        self._certainty = Certainty(self, WHAT, LOOKS)
        self._travel = TravelInTurn()
        self.take_commands()
        self.serve_reset(_next_start)
        self.serve_trigger("~/travel_left", lambda: all_travel(self._ways()))

    # Configuration.

    def build(self, description: str, values: Mapping[str, Any]) -> tuple[RobotInputs, ClosedLoopCore]:
        """Prepare the mechanism of a description; raises with the reason where that cannot be done."""
        options = self.options_of(values)
        model, friction, mechanism = load_mechanism(description, values, self.get_logger())
        frame = values["platform_frame"]
        if frame and frame not in model.frames:
            raise ConfigurationError(f"platform_frame: the robot has no link or frame {frame!r}")
        try:
            components = tuple(name for name in values["estimated_wrench"] if name)
            core = ClosedLoopCore(model, options, friction, mechanism, frame, components)
        except LieDynamicsError as error:
            raise ConfigurationError(f"the mechanism cannot be tracked: {error}") from error
        return RobotInputs(model, (), None, mechanism.motors, mechanism.measured), core

    def effort_outputs(self) -> tuple[EffortCommands | JointEfforts | None, ...]:
        """Return the outputs on which the last command is published."""
        return self._commands, self._efforts

    def commands(self) -> bool:
        """Return whether somebody obeys ~/commands."""
        return self._commands.heard

    def use(self, robot: tuple[RobotInputs, ClosedLoopCore]) -> None:
        """Answer for this robot from now on."""
        core = robot[1]
        mechanism, frames = core.mechanism, core.model.frames
        for output, joints in (
            (self._states, core.joints),
            (self._accelerations, core.joints),
            (self._efforts, mechanism.motors),
            (self._commands, mechanism.motors),
        ):
            output.set_joints(joints)
        level = [name for name, f in frames.items() if f.body < 0 and np.array_equal(f.placement, np.eye(4))]
        self._poses.set_frames(self.frame_of(level[:2][-1]), self.frame_of(self.settings["platform_frame"]))
        self._certainty.restart()
        super().use(robot)
        if not mechanism.start_known:
            self.get_logger().warning("start_positions is not given: tracking starts where the loops close first")

    def activate(self) -> None:
        """Begin to answer; the first state is followed from the start."""
        self._certainty.restart()
        super().activate()

    def restart(self) -> None:
        """Forget where the mechanism is: the next state is followed from the start."""
        self._certainty.restart()
        super().restart()

    # Messages.

    def publish(self, core: ClosedLoopCore, answer: LoopAnswer, stamp: Time) -> None:
        """Publish what is known of a state."""
        tracked = answer.tracked
        if not (stamp.sec or stamp.nanosec):
            stamp = RclpyTime(nanoseconds=answer.state.stamp).to_msg()
        self._certainty.report(
            tracked,
            stamp,
            self.settings["singularity_warning"],
            core.follower.time_to_singularity,
            lambda: residuals(core, answer),
            core.follower.refuted,
        )
        if answer.refusal is not None:
            raise answer.refusal
        self._states.publish(tracked.q[core.positions], answer.rates[core.places], stamp)
        if answer.acceleration is not None and answer.effort is not None:
            self._efforts.publish(answer.effort, stamp)
            self._commands.publish(answer.effort)
            if self._accelerations.heard:
                self._accelerations.publish(answer.acceleration[core.places], stamp)
        if answer.wrench is not None:
            self._wrench.publish(self.frame_of(self.settings["platform_frame"]), answer.wrench, stamp)
        if self.settings["platform_frame"]:
            self._publish_platform(answer, stamp)
        if answer.problem is not None:
            raise answer.problem

    def _publish_platform(self, answer: LoopAnswer, stamp: Time) -> None:
        frame, tracked, poses = self.settings["platform_frame"], answer.tracked, self._poses
        pose = tracked.pose(frame)
        poses.covariance_matrix[0] = tracked.pose_covariance(frame)[np.ix_(LINEAR_FIRST, LINEAR_FIRST)]
        poses.publish_matrix(pose, stamp)
        if poses.twist_wanted:
            poses.publish_twist(tracked.twist(frame, answer.state.velocity), pose[:3, :3], stamp)

    # Services.

    def _ways(self) -> Way:
        """Return what finds the travel left from the last configuration; raises RequestError where there is none."""
        ways = self.require_core().travel(self.settings["platform_frame"])
        return lambda _: joined([ways.both(axis, TRAVEL_ACCURACY) for axis in ways.axes])

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        super().describe(report, period)
        core, values = self.core, report.values
        if core is None:
            return
        mechanism = core.mechanism
        values["measured joints"] = ", ".join(mechanism.measured)
        values["motors"] = ", ".join(mechanism.motors)
        values["starts from"] = core.mechanism.start_from
        if core.follower.idle:
            values["idle"] = "; ".join(str(one) for one in core.follower.idle)
        values["TF"] = "published" if self._poses.tf and self.settings["platform_frame"] else "not published"
        if self.answering is None:
            return
        if core.command.is_stale(self.ros_time(), core.options.command_timeout):
            report.add(diagnostics.WARN, "the command is stale; accelerations of motors are taken as zero")
        if not mechanism.start_known and mechanism.constraints.size:
            report.add(diagnostics.WARN, "start_positions is not given: tracking started where the loops close first")
        last = core.follower.last
        if last is None:
            values["tracking"] = "not started"
            return
        values["tracking"] = word_for(last, WHAT)
        if core.follower.refuted:
            text = "joints were out of reach: nothing is certified until ~/reset, at the start positions"
            report.add(diagnostics.ERROR, text)
        if core.options.withhold(last):
            report.add(diagnostics.ERROR, f"not published: {last.message}")
            return
        if last.status is TrackingStatus.AMBIGUOUS:
            report.add(diagnostics.WARN, f"AMBIGUOUS: {last.message}")
        frame = self.settings["platform_frame"]
        if frame:
            self._travel.describe(lambda: core.travel(frame), report)
        amplification, left = last.amplification, core.follower.time_to_singularity(AHEAD)
        values["proven steps"] = last.steps
        values["amplification"] = f"{amplification:.4g}"
        values["no singularity within [s]"] = f"{last.regular_for:.3g}"
        values["time to singularity [s]"] = f"{left:.3g}" if left < math.inf else f"above {AHEAD:g}"
        if left < self.settings["singularity_warning"]:
            report.add(diagnostics.WARN, f"{left:.2g} s to a singular {WHAT} at the present speed")
        if amplification > self.settings["amplification_warning"]:
            report.add(diagnostics.WARN, f"close to a singular {WHAT}: amplification {amplification:.3g}")


def _next_start(core: ClosedLoopCore) -> str:
    return f"the next state is followed from the start: {core.mechanism.start_from}"


def residuals(core: ClosedLoopCore, answer: LoopAnswer) -> dict[str, str]:
    """Return what is left of each loop, and of each sensor where they are redundant, for ``~/status``."""
    tracked, constraints = answer.tracked, core.mechanism.constraints
    found = {
        f"residual of {name} [m, rad]": f"{np.abs(tracked.residuals[part]).max():.3g}"
        for name, part in constraints.slices.items()
    }
    if tracked.valid:
        for name, left in zip(core.mechanism.measured, tracked.sensor_residuals.tolist(), strict=True):
            found[f"residual of {name} [m, rad]"] = f"{left:.3g}"
    return found


main = partial(run, ClosedLoopNode)

if __name__ == "__main__":
    sys.exit(main())
