"""Node that answers the leg lengths of a Stewart platform with its pose.

See doc/nodes/stewart_pose.md for topics, services, parameters, frames and signs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from rclpy.time import Time
from sensor_msgs.msg import Imu, Temperature

from ...core.errors import ConfigurationError, MessageError, RequestError
from ...core.parameters import parameter
from ...lie_dynamics.stewart import LegReadings, OffsetPlatform, TrackingStatus
from ...lie_dynamics.stewart.fusion.platform_sensors import READINGS
from ...ros.inputs.joint_states import PartialStateParameters
from ...ros.inputs.platform_loading import PlatformParameters, frames_of, legs_of, load_any_platform, load_sensors
from ...ros.inputs.state_stream import StreamParameters
from ...ros.node.answering_node import AnsweringNode, AnswerParameters
from ...ros.node.managed_node import NodeParameters, Ticker
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.tracked_outputs import (
    LOOK_EVERY,
    Certainty,
    PoseOutputs,
    Way,
    all_travel,
    describe_travel,
    ways_from,
)
from ...ros.wire import qos
from ...ros.wire.messages import LINEAR_FIRST, nanoseconds
from .core import FollowedPose, PoseAnswer, PoseCore, StewartPoseCore, StewartPoseOptions
from .fusing import FusedAnswer, FusingCore
from .fusion_options import FusionOptions, reading_parameter
from .inputs import LegTopics, make_inputs, tell_of
from .outputs import FusedOutputs, StewartMarkers, describe_fusion, describe_temperatures, describe_tracking
from .services import Knowledge, all_assembly_modes, forward_kinematics, inverse_kinematics, warm_up


@dataclass(frozen=True)
class StewartPoseParameters(
    StewartPoseOptions,
    FusionOptions,
    PlatformParameters,
    StreamParameters,
    PartialStateParameters,
    AnswerParameters,
    NodeParameters,
):
    """Parameters of the node."""

    length_scales: tuple[float, ...] = reading_parameter(
        "length_scales",
        "Lengths for each unit of the positions in joint states; one for all legs or six "
        "[m, or m/rad for encoders that turn with a spindle].",
    )
    length_offsets: tuple[float, ...] = reading_parameter(
        "length_offsets",
        "Added to the scaled positions to make them leg lengths; one for all legs or six [m].",
    )
    length_corrections: tuple[float, ...] = reading_parameter(
        "length_corrections",
        "Nonlinearity: rows of seven, a length and what is added there to each leg [m]; linear between. [0.0]: none.",
    )
    use_leg_temperatures: bool = parameter(False, "Listen to temperatures of the legs, on leg_temperature.", "at start")
    leg_expansions: tuple[float, ...] = reading_parameter(
        "leg_expansions",
        "How much longer legs are for each kelvin above reference_temperature; one for all legs or six [1/K].",
    )
    reference_temperature: float = reading_parameter(
        "reference_temperature",
        "Temperature at which the lengths are right, and that of legs whose own has not been heard [deg C].",
    )
    fusion: bool = parameter(
        False,
        "Publish one estimate of legs and IMU without faulty sensors, instead of what is proven of lengths.",
        "while unconfigured",
    )
    leg_topics: tuple[str, ...] = parameter(
        [""],
        "Topics of std_msgs/Float64, one for each leg, with fusion also one for each further sensor of the platform's "
        "file; an empty name for what comes by joint states.",
        "at start",
    )
    condition_warning: float = parameter(
        100.0,
        "Condition number of the Jacobian above which the diagnostics warn of a singular pose near.",
        low=1.0,
        high=1e9,
    )
    singularity_warning: float = parameter(
        0.5,
        "Time left before a singular pose, at the present speed, below which the log and the diagnostics warn [s]. 0: "
        "never.",
        high=60.0,
    )
    publish_tf: bool = parameter(True, "Publish the platform frame on /tf, where tf2_msgs is installed.", "at start")
    marker_rate: float = parameter(
        10.0, "Markers for RViz per second, while somebody listens [Hz]. 0: none.", "while unconfigured", high=100.0
    )

    def check(self) -> None:
        """Check values against each other; raises ParameterError, or StewartError for readings."""
        super().check()
        LegReadings.from_values(vars(self))


SETTINGS = StewartPoseParameters.settings()
OFFSET_LOOKS = 50_000_000
"""Time between looks for a singularity ahead on offset joints [ns]: one takes some 0.7 ms."""


class StewartPoseNode(AnsweringNode[PoseCore]):
    """Leg lengths in, poses out."""

    OPTIONS = StewartPoseOptions
    STATES = "leg lengths"
    QUALITY = qos.PARTS_INPUT

    def __init__(self, **kwargs: Any) -> None:
        self._restarts = 0
        self._marked: FollowedPose | None = None
        super().__init__("stewart_pose", StewartPoseParameters, **kwargs)
        self._outputs = PoseOutputs(self, self.settings["publish_tf"])
        self._certainty = Certainty(self)
        self._fused = FusedOutputs(self._outputs, self._certainty, self.get_logger())
        if self.settings["use_imu"]:
            self.listen(Imu, "imu", self._on_imu, qos.EVENT_INPUT)
        if self.settings["use_leg_temperatures"]:
            self.listen(Temperature, "leg_temperature", self._on_temperature, qos.EVENT_INPUT)
        self._leg_topics = LegTopics(self)
        self._markers, self._marking = StewartMarkers(self), Ticker(self)
        self.serve_reset(_next_start)
        self.serve_trigger("~/travel_left", lambda: all_travel(self._ways()))
        for type_name, name, answer in (
            ("StewartForwardKinematics", "~/forward_kinematics", forward_kinematics),
            ("StewartAssemblyModes", "~/assembly_modes", all_assembly_modes),
            ("StewartInverseKinematics", "~/inverse_kinematics", inverse_kinematics),
        ):
            self.offers.offer(
                type_name, name, lambda request, response, f=answer: f(self._known(), request, response), self.worker
            )

    # Configuration.

    def settings_changed(self, names: set[str]) -> None:
        """Apply parameters that may change at run time."""
        super().settings_changed(names)
        if self.inputs is not None:
            self.inputs.age_limit = round(self.settings["joint_age_limit"] * 1e9)
        if self.core is None:
            self.start()  # where autostart waits for something to be put right

    def configure(self) -> None:
        """Read the platform; raises with the reason where it cannot be used."""
        super().configure()
        settings = self.settings
        platform = load_any_platform(settings["platform"], self.get_logger())
        if settings["fusion"] and isinstance(platform, OffsetPlatform):
            raise ConfigurationError(
                "fusion: takes legs on point joints, and universal_joints are in the platform's file; expected false, "
                "which answers as long as all six lengths are right"
            )
        legs = legs_of(settings)
        sensors = load_sensors(settings["platform"], platform)
        tell_of(sensors, settings, self.get_logger())
        values = {**settings, **sensors.values({name: settings[name] for name in READINGS})}
        inputs = make_inputs(settings, legs, LegReadings.from_values(values), sensors)
        core: PoseCore
        if settings["fusion"]:
            fusion = FusionOptions.from_values(values)
            core = FusingCore(platform, legs, self.options_of(settings), fusion, sensors.sensors)
        else:
            core = StewartPoseCore(platform, legs, self.options_of(settings))
        if core.begins.assumed:
            self.get_logger().warning(
                "the platform has no home_pose, and start_pose is not given: tracking starts from a level pose"
            )
        if self.offers.available:
            warm_up(platform, self.get_logger())
        base, moving = frames_of(settings)
        self._outputs.set_frames(base, moving)
        self._markers.set_platform(platform, base)
        self._certainty.look_every = OFFSET_LOOKS if isinstance(platform, OffsetPlatform) else LOOK_EVERY
        self.serve(inputs, core)

    def activate(self) -> None:
        """Begin to answer; the first lengths are followed from the start pose."""
        self._certainty.restart()
        super().activate()
        if self.settings["marker_rate"]:
            self._marking.start(1.0 / self.settings["marker_rate"], self._mark)

    def deactivate(self) -> None:
        """Stop answering."""
        super().deactivate()
        self._marking.stop()

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

    def publish(self, core: PoseCore, answer: PoseAnswer | FusedAnswer, stamp: Any) -> None:
        """Publish the pose for one set of leg lengths, and what is known of it."""
        if isinstance(answer, FusedAnswer):
            assert isinstance(core, FusingCore)
            self._fused.publish(answer, core.faults(answer.fused), Time(nanoseconds=answer.time).to_msg())
            return
        if not (stamp.sec or stamp.nanosec):
            stamp = Time(nanoseconds=answer.state.stamp).to_msg()
        outputs, tracked = self._outputs, answer.tracked
        warning, ahead = self.settings["singularity_warning"], tracked.time_to_singularity
        self._certainty.report(tracked, stamp, warning, ahead, refuted=core.refuted)
        if answer.refusal is not None:
            raise answer.refusal
        if not tracked.write_covariance(outputs.covariance_matrix, LINEAR_FIRST):
            raise MessageError("singularity", "the leg lengths are those of a singular pose")
        outputs.publish_pose(*tracked.position_quaternion(), stamp)
        if answer.state.rates is not None and outputs.twist_wanted:
            outputs.publish_twist(tracked.twist, tracked.pose[:3, :3], stamp)

    def _on_imu(self, message: Imu) -> None:
        core = self.answering
        if isinstance(core, FusingCore):
            now, stamp = self.ros_time(), nanoseconds(message.header.stamp)
            w, a = message.angular_velocity, message.linear_acceleration
            readings = np.array([w.x, w.y, w.z]), np.array([a.x, a.y, a.z])
            core.take_inertial(stamp or now, *readings)

    def _on_temperature(self, message: Temperature) -> None:
        inputs = self.inputs
        if inputs is not None and self.stream.open:
            leg, now = message.header.frame_id, self.waiting_time()
            self.stream.accept(lambda: inputs.temperatures.take(leg, message.temperature, now))

    def _mark(self) -> None:
        """Publish markers of a pose that is new since the last ones."""
        core = self.core
        if core is None or core.tracked is None or core.tracked is self._marked or not self._markers.wanted:
            return
        self._marked = core.tracked
        self._markers.publish(core.tracked.pose, self.get_clock().now().to_msg())

    # Services.

    def _ways(self) -> Way:
        """Return what finds the travel left from the pose tracked last; raises MessageError where there is none."""
        core = self.require_core()
        if core.tracked is None:
            raise RequestError("nothing is tracked yet: no leg lengths have been followed since the last start")
        positions = None if isinstance(core, FusingCore) else core.tracked.lengths
        return ways_from(core.platform, core.tracked.pose, core.legs, positions)

    def _known(self) -> Knowledge:
        """Return what services answer from."""
        core = self.require_core()
        return Knowledge(
            platform=core.platform,
            legs=core.legs,
            pose=None if core.tracked is None else core.tracked.pose,
            home=core.begins.pose,
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
        values["starts from"] = core.begins.source
        if self._leg_topics.heard:
            values["lengths by leg_topics"] = "have no time stamp; theirs is that of arrival"
        values["restarts"] = self._restarts
        values["TF"] = "published" if self._outputs.tf else "not published"
        if self.settings["use_leg_temperatures"]:
            describe_temperatures(self.inputs, report, self.stream.open, self.waiting_time())
        if core.tracked is not None:
            describe_travel(self._ways(), report)
        if isinstance(core, FusingCore):
            describe_fusion(core, self.inputs.measured, report, self.stream.open)
            return
        report.parts.append(lambda: describe_tracking(core, self.settings, report))
        if not self.stream.open:
            return
        if core.last is not None and core.withheld(core.last):
            report.add(diagnostics.ERROR, f"not published: {core.describe(core.last)}")
        elif core.last is not None and core.last.status is TrackingStatus.AMBIGUOUS:
            report.add(diagnostics.ERROR, f"AMBIGUOUS: {core.describe(core.last)}")
        if core.refuted:
            text = "lengths were out of reach: nothing is certified until ~/reset, at the start pose"
            report.add(diagnostics.ERROR, text)
        if core.begins.assumed:
            report.add(diagnostics.WARN, "no home pose was given: tracking started from a level pose, assumed")
        if self.inputs.take_without_rates():
            report.add(diagnostics.WARN, "leg rates are absent or not finite: no twist")


def _next_start(core: PoseCore) -> str:
    return f"the next leg lengths are followed from the {core.begins.source}"


main = partial(run, StewartPoseNode)

if __name__ == "__main__":
    sys.exit(main())
