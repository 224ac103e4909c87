"""Node that answers the leg lengths of a Stewart platform with its pose.

See doc/nodes/stewart_pose.md for topics, services, parameters, frames and signs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.time import Time
from sensor_msgs.msg import Imu, Temperature
from std_srvs.srv import Trigger

from ...core.errors import ConfigurationError, MessageError, ParameterError
from ...core.leg_state import LEGS
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.lie import so3
from ...lie_dynamics.stewart import (
    LegReadings,
    PlatformSensors,
    StewartPlatform,
    TrackedPose,
    TrackingStatus,
    assembly_modes,
    solve_forward_kinematics,
    solve_from_home,
)
from ...lie_dynamics.stewart.fusion.leg_readings import READINGS
from ...ros.inputs.leg_inputs import LegInputs
from ...ros.inputs.leg_temperatures import OLD
from ...ros.inputs.leg_topics import LegTopics
from ...ros.inputs.partial_states import AGE_LIMIT
from ...ros.model.platform_loading import (
    check_platform_settings,
    frames_of,
    legs_of,
    load_platform,
    load_sensors,
)
from ...ros.node.answering_node import AnsweringNode
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.certainty import Certainty, word_for
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.pose_outputs import PoseOutputs
from ...ros.wire import qos
from ...ros.wire.messages import LINEAR_FIRST, nanoseconds
from .core import PoseAnswer, StewartPoseCore, StewartPoseOptions
from .fusing import FusedAnswer, FusingCore
from .fusion_options import FusionOptions
from .markers import StewartMarkers
from .services import Knowledge, all_assembly_modes, forward_kinematics, inverse_kinematics
from .settings import SETTINGS

HORIZON = 60.0
"""Furthest that the diagnostics look ahead for a singular pose [s]."""


class StewartPoseNode(AnsweringNode[StewartPoseCore]):
    """Leg lengths in, poses out."""

    STATES = "leg lengths"

    def __init__(self, **kwargs: Any) -> None:
        self._restarts = 0
        self._faults, self._quaternion = "", np.zeros(4)
        self._marked: TrackedPose | None = None
        self._marker_timer = None
        super().__init__("stewart_pose", SETTINGS, **kwargs)
        self._outputs = PoseOutputs(self, self.settings["publish_tf"])
        self._certainty = Certainty(self)
        if self.settings["use_imu"]:
            self.listen(Imu, "imu", self._on_imu, qos.EVENT_INPUT)
        if self.settings["use_leg_temperatures"]:
            self.listen(Temperature, "leg_temperature", self._on_temperature, qos.EVENT_INPUT)
        self._leg_topics = LegTopics(self)
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
        FusionOptions.from_values(values)
        LegReadings.from_values(values)
        topics = [topic for topic in values["leg_topics"] if topic]
        if (topics and len(values["leg_topics"]) < LEGS) or len(set(topics)) < len(topics):
            raise ParameterError(f"leg_topics is {list(values['leg_topics'])}; expected a different name for each leg")
        return StewartPoseOptions.from_values(values)

    def settings_changed(self, names: set[str]) -> None:
        """Apply parameters that may change at run time."""
        super().settings_changed(names)
        if self.inputs is not None:
            self.inputs.age_limit = round(self.settings[AGE_LIMIT.name] * 1e9)
        if self.core is None:
            self.start()  # where autostart waits for something to be put right

    def configure(self) -> None:
        """Read the platform; raises with the reason where it cannot be used."""
        settings = self.settings
        platform = load_platform(settings["platform"], self.get_logger())
        legs = legs_of(settings)
        sensors = load_sensors(settings["platform"], platform)
        self._tell_of(sensors)
        values = {**settings, **sensors.values({name: settings[name] for name in READINGS})}
        inputs = self._make_inputs(legs, LegReadings.from_values(values), sensors)
        core: StewartPoseCore
        if settings["fusion"]:
            fusion = FusionOptions.from_values(values)
            core = FusingCore(platform, legs, self.read_options(settings), fusion, sensors.sensors)
        else:
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

    def _make_inputs(self, legs: Sequence[str], readings: LegReadings, sensors: PlatformSensors) -> LegInputs:
        """Return what makes states of messages; raises ConfigurationError where the topics do not fit the sensors."""
        settings = self.settings
        names = [settings["joint_prefix"] + sensor.name for sensor in sensors.sensors]
        shared = set(names) & set(legs)
        if shared:
            raise ConfigurationError(f"a sensor of the platform's file is named as a leg: {', '.join(shared)}")
        count, topics = len(settings["leg_topics"]), any(settings["leg_topics"])
        if topics and count not in (LEGS, LEGS + len(names)):
            more = f", or also of {', '.join(names)}" if names else ""
            raise ConfigurationError(f"leg_topics has {count} names; expected one for each of {', '.join(legs)}{more}")
        further = list(zip(names, sensors.scales, sensors.offsets, strict=True)) if settings["fusion"] else []
        inputs = LegInputs(legs, readings, settings["fusion"], further)
        inputs.age_limit = round(settings[AGE_LIMIT.name] * 1e9)
        return inputs

    def _tell_of(self, sensors: PlatformSensors) -> None:
        """Tell what of the platform's file does not count."""
        log, fusion = self.get_logger(), self.settings["fusion"]
        for name in sensors.overruled(self.settings):
            log.warning(f"the parameter {name} counts, not what the platform's file says of it")
        if sensors.sensors and not fusion:
            names = ", ".join(sensor.name for sensor in sensors.sensors)
            log.warning(f"further sensors of the platform's file count with the parameter fusion only: {names}")
        delays = [name for name in ("leg_delays", "leg_delay_deviations") if np.any(sensors.readings.get(name, 0.0))]
        if delays and not fusion:
            log.warning(f"{' and '.join(delays)} of the platform's file count with the parameter fusion only")

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

    def publish(self, core: StewartPoseCore, answer: PoseAnswer | FusedAnswer, stamp: Any) -> None:
        """Publish the pose for one set of leg lengths, and what is known of it."""
        if isinstance(answer, FusedAnswer):
            self._publish_fused(core, answer, Time(nanoseconds=answer.time).to_msg())
            return
        if not (stamp.sec or stamp.nanosec):
            stamp = Time(nanoseconds=answer.state.stamp).to_msg()
        outputs, tracked = self._outputs, answer.tracked
        self._certainty.report(tracked, stamp, self.settings["singularity_warning"], tracked.time_to_singularity)
        if answer.refusal is not None:
            raise answer.refusal
        if not tracked.write_covariance(outputs.covariance_matrix, LINEAR_FIRST):
            raise MessageError("singularity", "the leg lengths are those of a singular pose")
        outputs.publish_pose(*tracked.position_quaternion(), stamp)
        if answer.state.rates is not None and outputs.twist_wanted:
            outputs.publish_twist(tracked.twist, tracked.pose[:3, :3], stamp)

    def _publish_fused(self, core: Any, answer: FusedAnswer, stamp: Any) -> None:
        """Publish an estimate, and which sensors have no part in it."""
        outputs, fused, faults = self._outputs, answer.fused, core.faults(answer.fused)
        if faults != self._faults:
            self.get_logger().warning(f"left out: {faults}" if faults else "all sensors are used again")
            self._faults = faults
        self._certainty.report_fused("" if answer.refusal is None else str(answer.refusal), faults, stamp)
        if answer.refusal is not None:
            raise answer.refusal
        outputs.covariance_matrix[0] = fused.covariance[np.ix_(LINEAR_FIRST, LINEAR_FIRST)]
        pose = fused.pose
        quaternion = so3.to_quaternion(pose[:3, :3])
        if quaternion @ self._quaternion < 0.0:
            quaternion = -quaternion
        self._quaternion = quaternion
        outputs.publish_pose(pose[:3, 3].tolist(), quaternion.tolist(), stamp)
        if outputs.twist_wanted:
            outputs.publish_twist(fused.twist, np.eye(3), stamp)

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
            self.stream.accept(lambda: inputs.temperatures.take(message.header.frame_id, message.temperature))

    def _describe_temperatures(self, inputs: Any, report: Report) -> None:
        """Tell the temperatures, and of which legs there is none yet."""
        known = inputs.temperatures.values
        if not self.settings["use_leg_temperatures"]:
            return
        report.values["leg temperatures [deg C]"] = ", ".join(f"{value:.1f}" for value in known)
        missing = [leg for leg, value in zip(self.core.legs, known, strict=True) if np.isnan(value)]
        if self.stream.open and missing:
            report.add(diagnostics.WARN, f"no temperature of {', '.join(missing)} yet: that of reference is taken")
        old = inputs.temperatures.old()
        if self.stream.open and old:
            report.add(diagnostics.WARN, f"temperatures of {', '.join(old)} were told over {OLD:g} s ago")

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
        if self._leg_topics.heard:
            values["lengths by leg_topics"] = "have no time stamp; theirs is that of arrival"
        values["restarts"] = self._restarts
        values["TF"] = "published" if self._outputs.tf else "not published"
        self._describe_temperatures(self.inputs, report)
        if isinstance(core, FusingCore):
            self._describe_fusion(core, report)
            return
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

    def _describe_fusion(self, core: FusingCore, report: Report) -> None:
        """Tell what is left out, how sure the estimate is, and the delays found."""
        fused, values = core.latest, report.values
        values["tracking"] = "not started" if fused is None else "lost" if core.lost else "fused"
        late, used, core.late, core.used = core.late, core.used, 0, 0
        if self.stream.open and core.fusion_options.inertial is not None and fused is not None and not used:
            report.add(diagnostics.WARN, "no readings of the IMU that fit the times of the lengths")
        if late:
            text = f"{late} readings of the IMU came after lengths of a later time, and were not used"
            report.add(diagnostics.WARN, text)
        if fused is None:
            if self.stream.open and core.awaited():
                report.add(diagnostics.WARN, f"not started: no length of {', '.join(core.awaited())} yet")
            return
        faults = core.faults(fused)
        values["left out"] = faults or "none"
        deviations = np.sqrt(np.diagonal(fused.covariance))
        values["deviation of rotation [rad]"] = f"{deviations[:3].max():.3g}"
        values["deviation of position [m]"] = f"{deviations[3:].max():.3g}"
        delays = [*zip(self.inputs.names, fused.delays, fused.delay_deviations, strict=True)]
        if core.fusion_options.inertial is not None:
            delays.append(("IMU", *fused.inertial_delay))
        values["delays [ms]"] = ", ".join(f"{name} {1e3 * delay:.2f} +- {1e3 * s:.2f}" for name, delay, s in delays)
        if self.stream.open and core.lost:
            report.add(diagnostics.ERROR, f"lost: {core.lost}")
        if self.stream.open and faults:
            report.add(diagnostics.WARN, f"left out: {faults}")

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
