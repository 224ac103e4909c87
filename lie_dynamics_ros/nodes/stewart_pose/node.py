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
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from ...core.arrays import all_finite
from ...core.errors import MessageError, RequestError
from ...core.setting import Setting
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.stewart import (
    StewartPlatform,
    TrackedPose,
    TrackingStatus,
    assembly_modes,
    solve_forward_kinematics,
    solve_from_home,
)
from ...ros.inputs.state_stream import STATE_TIMEOUT, StateStream
from ...ros.model.platform_loading import PLATFORM_SETTINGS, check_platform_settings, frames_of, load_platform
from ...ros.node.managed_node import ManagedNode
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.pose_outputs import PoseOutputs
from ...ros.outputs.response_times import DEADLINE
from ...ros.requests.services import Services
from ...ros.requests.worker import Worker
from ...ros.wire.messages import LINEAR_FIRST, nanoseconds
from .certainty import Certainty, word_for
from .core import PUBLISH, WITHHOLD, Options, StewartTask
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
        low=0.0,
        high=1.0,
    ),
    Setting(
        "max_speed",
        [0.0],
        "Largest linear [m/s] and angular speed [rad/s] that the platform can have; poses are certified only with it. "
        "[0.0]: not known.",
        "while unconfigured",
        low=0.0,
        high=1e6,
    ),
    Setting(
        "length_error",
        1e-4,
        "Largest error of a leg length that what is certified allows for [m].",
        "while unconfigured",
        low=0.0,
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
    STATE_TIMEOUT,
    DEADLINE,
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
        low=0.0,
        high=60.0,
    ),
    Setting("publish_tf", True, "Publish the platform frame on /tf, where tf2_msgs is installed.", "at start"),
    Setting(
        "marker_rate",
        10.0,
        "Markers for RViz per second, while somebody listens [Hz]. 0: none.",
        "while unconfigured",
        low=0.0,
        high=100.0,
    ),
    Setting("max_batch", 1000, "Largest number of states in one service request.", low=1, high=1_000_000),
)


class StewartPoseNode(ManagedNode):
    """Leg lengths in, poses out."""

    def __init__(self, **kwargs: Any) -> None:
        self._worker = Worker()
        self._task: StewartTask | None = None
        self._prepared: StewartTask | None = None
        self._rates_missing = False
        self._restarts = 0
        self._marked: TrackedPose | None = None
        self._marker_timer = None
        super().__init__("stewart_pose", SETTINGS, **kwargs)
        self._outputs = PoseOutputs(self, self.settings["publish_tf"])
        self._certainty = Certainty(self)
        self._markers = StewartMarkers(self)
        self.stream = StateStream(self, self._answer, self._restart, "leg lengths")
        self.create_service(Trigger, "~/reset", self._reset)
        self._offers = Services(self)
        for type_name, name, answer in (
            ("StewartForwardKinematics", "~/forward_kinematics", forward_kinematics),
            ("StewartAssemblyModes", "~/assembly_modes", all_assembly_modes),
            ("StewartInverseKinematics", "~/inverse_kinematics", inverse_kinematics),
        ):
            self._offers.offer(
                type_name, name, lambda request, response, f=answer: f(self._known(), request, response), self._worker
            )

    def destroy_node(self) -> None:
        """End the thread of the services with the node."""
        self._worker.close()
        super().destroy_node()

    # Configuration.

    def check_settings(self, values: Mapping[str, Any]) -> None:
        """Check parameter values against each other, and build what they lead to; raises whatever stands against it."""
        check_platform_settings(values)
        options = Options.from_values(values)
        self._prepared = None
        if self._task is not None and options != self._task.options:
            self._prepared = self._task.with_options(options)

    def settings_changed(self, names: set[str]) -> None:
        """Apply parameters that may change at run time."""
        self.stream.set_timeout()
        if self._prepared is not None:
            self._task, self._prepared = self._prepared, None
        elif self._task is None:
            self.start()  # where autostart waits for something to be put right

    def configure(self) -> None:
        """Read the platform; raises with the reason where it cannot be used."""
        settings = self.settings
        platform = load_platform(settings["platform"], self.get_logger())
        task = StewartTask(platform, settings["legs"], settings["length_offsets"], Options.from_values(settings))
        if task.start_is_assumed:
            self.get_logger().warning(
                "the platform has no home_pose, and start_pose is not given: tracking starts from a level pose"
            )
        self._warm_up(platform)
        base, moving = frames_of(settings)
        self._outputs.set_frames(base, moving)
        self._markers.set_platform(platform, base)
        self._task = task

    def _warm_up(self, platform: StewartPlatform) -> None:
        """Load what the services need, so that the first call does not disturb the stream."""
        if not self._offers.available or platform.home_pose is None:
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
        assert self._task is not None
        self._task.restart()
        self._certainty.restart()
        self.stream.start()
        if self.settings["marker_rate"]:
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            self._marker_timer = self.create_timer(1.0 / self.settings["marker_rate"], self._mark, clock=steady)

    def deactivate(self) -> None:
        """Stop answering."""
        self.stream.stop()
        if self._marker_timer is not None:
            self.destroy_timer(self._marker_timer)
            self._marker_timer = None

    def cleanup(self) -> None:
        """Let go of the platform."""
        self._task = self._prepared = self._marked = None

    # Messages.

    def _answer(self, message: JointState, now: int) -> None:
        """Publish the pose for one set of leg lengths."""
        task, outputs = self._task, self._outputs
        assert task is not None
        stamp = message.header.stamp
        if not (stamp.sec or stamp.nanosec):
            stamp = Time(nanoseconds=now).to_msg()
        before = task.last
        try:
            tracked, moving = task.track(message, nanoseconds(stamp))
        finally:
            if task.last is not None and task.last is not before:
                self._certainty.report(task.last, stamp, self.settings["singularity_warning"])
        if not tracked.write_covariance(outputs.covariance_matrix, LINEAR_FIRST):
            raise MessageError("singularity", "the leg lengths are those of a singular pose")
        outputs.publish_pose(*tracked.position_quaternion(), stamp)
        if not moving:
            self._rates_missing = True
        elif outputs.twist_wanted:
            twist = tracked.twist
            if all_finite(twist):
                outputs.publish_twist(twist, tracked.pose[:3, :3], stamp)
            else:
                self._rates_missing = True

    def _restart(self) -> None:
        """Forget where the platform is: the next lengths are followed from the start pose."""
        if self._task is not None:
            self._task.restart()
            self._certainty.restart()
            self._restarts += 1

    def _mark(self) -> None:
        """Publish markers of a pose that is new since the last ones."""
        task = self._task
        if task is None or task.tracked is None or task.tracked is self._marked or not self._markers.wanted:
            return
        self._marked = task.tracked
        self._markers.publish(task.tracked.pose, self.get_clock().now().to_msg())

    # Services.

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        task = self._task
        if task is None:
            response.success, response.message = False, "the node is not configured"
            return response
        self._restart()
        response.success, response.message = True, f"the next leg lengths are followed from the {task.start}"
        return response

    def _known(self) -> Knowledge:
        """Return what services answer from."""
        task = self._task
        if task is None:
            raise RequestError("the node is not configured")
        return Knowledge(
            platform=task.platform,
            legs=task.legs.joints,
            pose=None if task.tracked is None else task.tracked.pose,
            home=task.start_pose,
            max_batch=self.settings["max_batch"],
            max_steps=self.settings["max_steps"],
        )

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        self.stream.describe(report, period)
        self._offers.describe(report)
        task = self._task
        if task is None:
            return
        report.hardware = frames_of(self.settings)[1]
        values = report.values
        values["legs"] = ", ".join(task.legs.joints)
        values["starts from"] = task.start
        values["restarts"] = self._restarts
        values["TF"] = "published" if self._outputs.tf else "not published"
        self._describe_tracking(task, report)
        if not self.stream.open:
            return
        if task.last is not None and task.withheld(task.last):
            report.add(diagnostics.ERROR, f"not published: {task.describe(task.last)}")
        elif task.last is not None and task.last.status is TrackingStatus.AMBIGUOUS:
            report.add(diagnostics.ERROR, f"AMBIGUOUS: {task.describe(task.last)}")
        if task.start_is_assumed:
            report.add(diagnostics.WARN, "nobody gave a home pose: tracking started from a level pose, assumed")
        if self._rates_missing:
            report.add(diagnostics.WARN, "leg rates are absent or not finite: no twist")
            self._rates_missing = False

    def _describe_tracking(self, task: StewartTask, report: Report) -> None:
        last, tracked, values = task.last, task.tracked, report.values
        if last is None:
            values["tracking"] = "not started"
            return
        values["tracking"] = word_for(last)
        if tracked is None:
            return
        condition = tracked.condition_number
        values["iterations"] = tracked.iterations
        values["proven steps"] = tracked.steps
        values["step h"] = f"{tracked.margin:.3g}"
        values["residual [m]"] = f"{tracked.residual:.3g}"
        values["condition number"] = f"{condition:.4g}"
        margins = task.platform.leg_margins(tracked.lengths)
        leg = int(margins.argmin())
        if margins[leg] < float("inf"):
            values["nearest leg limit [m]"] = f"{margins[leg]:.4g} at {task.legs.joints[leg]}"
        left = self._certainty.time_left(tracked)
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
