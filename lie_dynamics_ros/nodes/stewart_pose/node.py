"""Node that answers the leg lengths of a Stewart platform with its pose.

See doc/nodes/stewart_pose.md for topics, services, parameters, frames and signs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.time import Time
from std_srvs.srv import Trigger

from ...core.errors import MessageError
from ...core.setting import Setting
from ...core.tracking import PUBLISH, WITHHOLD
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.stewart import (
    StewartPlatform,
    TrackedPose,
    TrackingStatus,
    assembly_modes,
    solve_forward_kinematics,
    solve_from_home,
)
from ...ros.inputs.leg_inputs import LegInputs
from ...ros.model.platform_loading import (
    PLATFORM_SETTINGS,
    check_platform_settings,
    frames_of,
    legs_of,
    load_platform,
)
from ...ros.node.answering_node import ANSWER_SETTINGS, AnsweringNode
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.certainty import Certainty, word_for
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.pose_outputs import PoseOutputs
from ...ros.wire.messages import LINEAR_FIRST
from .core import PoseAnswer, StewartPoseCore, StewartPoseOptions
from .markers import StewartMarkers
from .services import Knowledge, all_assembly_modes, forward_kinematics, inverse_kinematics

SETTINGS = (
    *PLATFORM_SETTINGS,
    Setting(
        "length_offsets",
        [0.0],
        "Added to the positions in joint states to make them leg lengths; one for all legs or six [m].",
        "while unconfigured",
        low=-100.0,
        high=100.0,
    ),
    Setting(
        "start_pose",
        [0.0],
        "Pose in which the platform is when tracking starts: x, y, z [m], quaternion x, y, z, w. "
        "[0.0] stands for the home pose of the platform. Counts from the next start or reset on.",
        low=-1000.0,
        high=1000.0,
    ),
    Setting(
        "leg_noise",
        [1e-5],
        "Standard deviation of the leg lengths, for the covariance; one for all legs or six [m].",
        high=1.0,
    ),
    Setting(
        "max_speed",
        [0.0],
        "Largest linear [m/s] and angular speed [rad/s] that the platform can have; poses are certified only with it. "
        "[0.0]: not known.",
        "while unconfigured",
        high=1e6,
    ),
    Setting(
        "length_error",
        1e-4,
        "Largest error of a leg length that what is certified allows for [m].",
        "while unconfigured",
        high=1.0,
    ),
    Setting(
        "when_ambiguous",
        WITHHOLD,
        "What becomes of a pose whose status is AMBIGUOUS: nothing, or published as any other, flagged on ~/status.",
        choices=(WITHHOLD, PUBLISH),
    ),
    Setting(
        "max_steps",
        1000,
        "Proven steps into which one change of the leg lengths may be split, 0.3 us each.",
        low=1,
        high=100_000,
    ),
    *ANSWER_SETTINGS,
    Setting(
        "condition_warning",
        100.0,
        "Condition number of the Jacobian above which the diagnostics warn of a singular pose near.",
        low=1.0,
        high=1e9,
    ),
    Setting(
        "singularity_warning",
        0.5,
        "Time left before a singular pose, at the present speed, below which the log and the diagnostics warn [s]. "
        "0: never.",
        high=60.0,
    ),
    Setting("publish_tf", True, "Publish the platform frame on /tf, where tf2_msgs is installed.", "at start"),
    Setting(
        "marker_rate",
        10.0,
        "Markers for RViz per second, while somebody listens [Hz]. 0: none.",
        "while unconfigured",
        high=100.0,
    ),
)


HORIZON = 60.0
"""Furthest that the diagnostics look ahead for a singular pose [s]."""


class StewartPoseNode(AnsweringNode[StewartPoseCore]):
    """Leg lengths in, poses out."""

    STATES = "leg lengths"

    def __init__(self, **kwargs: Any) -> None:
        self._restarts = 0
        self._marked: TrackedPose | None = None
        self._marker_timer = None
        super().__init__("stewart_pose", SETTINGS, **kwargs)
        self._outputs = PoseOutputs(self, self.settings["publish_tf"])
        self._certainty = Certainty(self)
        self._markers = StewartMarkers(self)
        self.create_service(Trigger, "~/reset", self._reset)
        for type_name, name, answer in (
            ("StewartForwardKinematics", "~/forward_kinematics", forward_kinematics),
            ("StewartAssemblyModes", "~/assembly_modes", all_assembly_modes),
            ("StewartInverseKinematics", "~/inverse_kinematics", inverse_kinematics),
        ):
            self.offers.offer(
                type_name, name, lambda request, response, f=answer: f(self._known(), request, response), self.worker
            )

    # Configuration.

    def read_options(self, values: Mapping[str, Any]) -> StewartPoseOptions:
        """Make options of parameter values; raises ParameterError where they make no sense together."""
        check_platform_settings(values)
        return StewartPoseOptions.from_values(values)

    def settings_changed(self, names: set[str]) -> None:
        """Apply parameters that may change at run time."""
        super().settings_changed(names)
        if self.core is None:
            self.start()  # where autostart waits for something to be put right

    def configure(self) -> None:
        """Read the platform; raises with the reason where it cannot be used."""
        settings = self.settings
        platform = load_platform(settings["platform"], self.get_logger())
        legs = legs_of(settings)
        inputs = LegInputs(legs, settings["length_offsets"])
        core = StewartPoseCore(platform, legs, self.read_options(settings))
        if core.start_is_assumed:
            self.get_logger().warning(
                "the platform has no home_pose, and start_pose is not given: tracking starts from a level pose"
            )
        self._warm_up(platform)
        base, moving = frames_of(settings)
        self._outputs.set_frames(base, moving)
        self._markers.set_platform(platform, base)
        self.serve(inputs, core)

    def _warm_up(self, platform: StewartPlatform) -> None:
        """Load what the services need, so that the first call does not disturb the stream."""
        if not self.offers.available or platform.home_pose is None:
            return
        lengths = platform.leg_lengths(platform.home_pose)
        try:
            for compute in (assembly_modes, solve_from_home):
                compute(platform, lengths)
            solve_forward_kinematics(platform, lengths, platform.home_pose)
        except LieDynamicsError as error:
            self.get_logger().warning(f"the home pose makes trouble: {error}")

    def activate(self) -> None:
        """Begin to answer; the first lengths are followed from the start pose."""
        self._certainty.restart()
        super().activate()
        if self.settings["marker_rate"]:
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            self._marker_timer = self.create_timer(1.0 / self.settings["marker_rate"], self._mark, clock=steady)

    def deactivate(self) -> None:
        """Stop answering."""
        super().deactivate()
        if self._marker_timer is not None:
            self.destroy_timer(self._marker_timer)
            self._marker_timer = None

    def cleanup(self) -> None:
        """Let go of the platform."""
        super().cleanup()
        self._marked = None

    def restart(self) -> None:
        """Forget where the platform is: the next lengths are followed from the start pose."""
        super().restart()
        if self.core is not None:
            self._certainty.restart()
            self._restarts += 1

    # Messages.

    def publish(self, core: StewartPoseCore, answer: PoseAnswer, stamp: Any) -> None:
        """Publish the pose for one set of leg lengths, and what is known of it."""
        outputs, tracked = self._outputs, answer.tracked
        if not (stamp.sec or stamp.nanosec):
            stamp = Time(nanoseconds=answer.state.stamp).to_msg()
        self._certainty.report(tracked, stamp, self.settings["singularity_warning"], tracked.time_to_singularity)
        if answer.refusal is not None:
            raise answer.refusal
        if not tracked.write_covariance(outputs.covariance_matrix, LINEAR_FIRST):
            raise MessageError("singularity", "the leg lengths are those of a singular pose")
        outputs.publish_pose(*tracked.position_quaternion(), stamp)
        if answer.state.rates is not None and outputs.twist_wanted:
            outputs.publish_twist(tracked.twist, tracked.pose[:3, :3], stamp)

    def _mark(self) -> None:
        """Publish markers of a pose that is new since the last ones."""
        core = self.core
        if core is None or core.tracked is None or core.tracked is self._marked or not self._markers.wanted:
            return
        self._marked = core.tracked
        self._markers.publish(core.tracked.pose, self.get_clock().now().to_msg())

    # Services.

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        core = self.core
        if core is None:
            response.success, response.message = False, "the node is not configured"
            return response
        self.restart()
        response.success, response.message = True, f"the next leg lengths are followed from the {core.start_from}"
        return response

    def _known(self) -> Knowledge:
        """Return what services answer from."""
        core = self.require_core()
        return Knowledge(
            platform=core.platform,
            legs=core.legs,
            pose=None if core.tracked is None else core.tracked.pose,
            home=core.start_pose,
            max_batch=self.settings["max_batch"],
            max_steps=self.settings["max_steps"],
        )

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        super().describe(report, period)
        core = self.core
        if core is None or self.inputs is None:
            return
        report.hardware = frames_of(self.settings)[1]
        values = report.values
        values["legs"] = ", ".join(core.legs)
        values["starts from"] = core.start_from
        values["restarts"] = self._restarts
        values["TF"] = "published" if self._outputs.tf else "not published"
        self._describe_tracking(core, report)
        if not self.stream.open:
            return
        if core.last is not None and core.withheld(core.last):
            report.add(diagnostics.ERROR, f"not published: {core.describe(core.last)}")
        elif core.last is not None and core.last.status is TrackingStatus.AMBIGUOUS:
            report.add(diagnostics.ERROR, f"AMBIGUOUS: {core.describe(core.last)}")
        if core.start_is_assumed:
            report.add(diagnostics.WARN, "no home pose was given: tracking started from a level pose, assumed")
        if self.inputs.take_without_rates():
            report.add(diagnostics.WARN, "leg rates are absent or not finite: no twist")

    def _describe_tracking(self, core: StewartPoseCore, report: Report) -> None:
        last, tracked, values = core.last, core.tracked, report.values
        if last is None:
            values["tracking"] = "not started"
            return
        values["tracking"] = word_for(last)
        if tracked is None:
            return
        condition = tracked.condition_number
        values["iterations"] = tracked.iterations
        values["proven steps"] = tracked.steps
        values["step h"] = f"{tracked.largest_h:.3g}"
        values["residual [m]"] = f"{tracked.residual:.3g}"
        values["condition number"] = f"{condition:.4g}"
        margins = core.platform.leg_margins(tracked.lengths)
        leg = int(margins.argmin())
        if margins[leg] < float("inf"):
            values["nearest leg limit [m]"] = f"{margins[leg]:.4g} at {core.legs[leg]}"
        left = tracked.time_to_singularity(HORIZON)
        values["time to singularity [s]"] = f"{left:.3g}" if left < math.inf else "none ahead"
        if left < self.settings["singularity_warning"]:
            report.add(diagnostics.WARN, f"{left:.2g} s to a singular pose at the present speed")
        if condition > self.settings["condition_warning"]:
            report.add(diagnostics.WARN, f"close to a singular pose: condition number {condition:.3g}")


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(StewartPoseNode, args)


if __name__ == "__main__":
    sys.exit(main())
