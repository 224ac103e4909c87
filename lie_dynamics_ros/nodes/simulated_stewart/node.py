"""Node that stands in for the driver of a Stewart platform: leg lengths with noise, of a smooth motion.

See doc/nodes/simulated_stewart.md for topics and parameters.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from sensor_msgs.msg import Imu, JointState

from ...core.errors import ConfigurationError, MessageError, RequestError
from ...core.joint_mapping import JointMapping
from ...core.parameters import parameter
from ...core.platform import LEGS
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.stewart import StewartError
from ...lie_dynamics.stewart.geometry.any_platform import Platform
from ...ros.inputs.platform_loading import PlatformParameters, frames_of, legs_of, load_any_platform
from ...ros.node.managed_node import BackgroundNodeParameters, ManagedNode, Ticker
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.output import Output
from ...ros.wire import qos
from ...ros.wire.messages import fill_pose_from_matrix, fill_twist, pose_to_matrix, read_field
from .core import LONGEST_STEP, ActuatorOptions, LegActuators, MotionOptions, PlatformMotion, specific_force

MOTION, ACTUATORS = "motion", "actuators"


@dataclass(frozen=True)
class SimulatedStewartParameters(ActuatorOptions, MotionOptions, PlatformParameters, BackgroundNodeParameters):
    """Parameters of the node."""

    mode: str = parameter(
        MOTION,
        "motion: moves on its own, or to a desired pose; actuators: its legs follow set points.",
        "while unconfigured",
        choices=(MOTION, ACTUATORS),
    )
    rate: float = parameter(500.0, "Joint states per second [Hz].", "while unconfigured", low=0.1, high=10_000.0)
    length_noise: float = parameter(1e-5, "Standard deviation of the leg lengths [m].", high=1.0)
    rate_noise: float = parameter(1e-4, "Standard deviation of the leg rates [m/s].", high=10.0)
    gyroscope_noise: float = parameter(
        2e-3, "Standard deviation of the angular velocity of the IMU [rad/s].", high=100.0
    )
    accelerometer_noise: float = parameter(
        3e-2, "Standard deviation of the acceleration of the IMU [m/s^2].", high=1000.0
    )
    seed: int = parameter(
        0, "Start of the random numbers of the noise. 0: another one each time.", "while unconfigured", high=2**31 - 1
    )


SETTINGS = SimulatedStewartParameters.settings()


class _Setup:
    """Parts of a configured node: the platform, names of legs, random numbers, messages."""

    def __init__(self, platform: Platform, settings: Mapping[str, Any]) -> None:
        self.platform, self.mapping = platform, JointMapping(legs_of(settings))
        self.noise = np.random.default_rng(settings["seed"] or None)
        zeros = [0.0] * LEGS
        self.state = JointState(name=legs_of(settings), position=zeros, velocity=zeros)
        self.lengths, self.rates = np.frombuffer(self.state.position), np.frombuffer(self.state.velocity)
        self.pose, self.twist, self.imu = PoseStamped(), TwistStamped(), Imu()
        base, moving = frames_of(settings)
        self.pose.header.frame_id = self.twist.header.frame_id = base
        self.imu.header.frame_id = moving
        self.imu.orientation_covariance[0] = -1.0  # not measured
        self._settings = settings

    @property
    def gravity(self) -> Array:
        """In the base frame, shape (3,) [m/s^2]."""
        return np.array(self._settings["gravity"])

    def imu_reading(self, rate: Array, force: Array, stamp: Any) -> Imu:
        """Return what an IMU at the platform frame measures of an angular velocity and a specific force, each (3,)."""
        settings, message, noise = self._settings, self.imu, self.noise.standard_normal(6)
        rate = rate + settings["gyroscope_noise"] * noise[:3]
        force = force + settings["accelerometer_noise"] * noise[3:]
        for vector, numbers in ((message.angular_velocity, rate), (message.linear_acceleration, force)):
            vector.x, vector.y, vector.z = numbers.tolist()
        message.header.stamp = stamp
        return message

    def desired_pose(self, message: PoseStamped) -> Array:
        """Return the pose (4, 4) in a message; raises MessageError where the platform cannot have it."""
        frame = message.header.frame_id
        expected = frames_of(self._settings)[0]
        if frame.removeprefix("/") not in ("", expected):
            raise MessageError("frame", f"its frame is {frame!r}; expected {expected!r}")
        pose = pose_to_matrix(message.pose)
        margins = self.platform.motor_margins(self.platform.motor_positions(pose))
        leg = int(margins.argmin())
        if margins[leg] < 0.0:
            unit = self.platform.motor_units[0]
            raise MessageError(
                "limits", f"{legs_of(self._settings)[leg]} would be {-margins[leg]:.4g} {unit} beyond its limits"
            )
        return pose


class SimulatedStewart(ManagedNode):
    """Publishes leg lengths of a platform that moves on its own, to a desired pose, or as its actuators are given."""

    def __init__(self, **kwargs: Any) -> None:
        self._motion: PlatformMotion | LegActuators | None = None
        self._setup: _Setup | None = None
        self._last = 0  # time of the last step [ns]
        self._published = self._reported = 0
        self._refused = ""
        super().__init__("simulated_stewart", SimulatedStewartParameters, **kwargs)
        self._ticker = Ticker(self)
        self._states = Output(self, JointState, "joint_states")
        self._poses = Output(self, PoseStamped, "~/true_pose")
        self._twists = Output(self, TwistStamped, "~/true_twist")
        self._imus = Output(self, Imu, "imu")
        self.listen(PoseStamped, "~/desired_pose", self._on_desired)
        self.listen(JointState, "~/leg_commands", self._on_commands, qos.STREAM_INPUT)
        self.serve_trigger("~/reset", self._reset)

    def settings_changed(self, names: set[str]) -> None:
        """Apply what may change while it moves."""
        if isinstance(self._motion, PlatformMotion):
            self._motion.options = MotionOptions.from_values(self.settings)
        elif self._motion is not None:
            self._motion.options = ActuatorOptions.from_values(self.settings)
        else:
            self.start()  # where autostart waits for something to be put right

    def configure(self) -> None:
        """Read the platform."""
        settings = self.settings
        platform = load_any_platform(settings["platform"], self.get_logger())
        home = platform.home_pose
        if home is None:
            raise ConfigurationError("the platform has no home_pose, about which it could move")
        self._motion = PlatformMotion(platform, home, MotionOptions.from_values(self.settings))
        self._motion.advance(0.0)
        if self._motion.held:
            self._motion = None
            raise ConfigurationError("the platform's home_pose is beyond the limits of its legs")
        if settings["mode"] == ACTUATORS:
            self._motion = LegActuators(platform, home, ActuatorOptions.from_values(self.settings))
        self._setup = _Setup(platform, settings)

    def activate(self) -> None:
        """Begin to move, or go on."""
        self._last = self.get_clock().now().nanoseconds
        self._ticker.start(1.0 / self.settings["rate"], self._step)
        self.get_logger().info(f"publishing leg lengths of {frames_of(self.settings)[1]}")

    def deactivate(self) -> None:
        """Stop."""
        self._ticker.stop()

    def cleanup(self) -> None:
        """Let go of the platform."""
        self._motion = None

    def _step(self) -> None:
        now = self.get_clock().now()
        if now.nanoseconds == self._last:
            return  # simulated time stands still
        motion, setup = self._motion, self._setup
        assert motion is not None and setup is not None
        step, before = (now.nanoseconds - self._last) * 1e-9, motion.twist
        motion.advance(step)
        self._last = now.nanoseconds
        noise = setup.noise.standard_normal(2 * LEGS)
        setup.lengths[:] = motion.lengths + self.settings["length_noise"] * noise[:LEGS]
        setup.rates[:] = motion.rates + self.settings["rate_noise"] * noise[LEGS:]
        stamp = now.to_msg()
        setup.state.header.stamp = setup.pose.header.stamp = setup.twist.header.stamp = stamp
        self._states.send(setup.state)
        if self._poses.heard:
            fill_pose_from_matrix(setup.pose.pose, motion.pose)
            self._poses.send(setup.pose)
        if self._twists.heard:
            fill_twist(setup.twist.twist, motion.twist, motion.pose[:3, :3])
            self._twists.send(setup.twist)
        if self._imus.heard and step > 0.0:
            force = specific_force(motion.pose, motion.twist, before, min(step, LONGEST_STEP), setup.gravity)
            self._imus.send(setup.imu_reading(motion.twist[:3], force, stamp))
        self._published += 1

    def _on_desired(self, message: PoseStamped) -> None:
        if self._motion is None:
            return
        try:
            if isinstance(self._motion, LegActuators):
                raise MessageError("mode", "mode is actuators, whose legs follow ~/leg_commands")
            self._motion.go_to(self._setup.desired_pose(message))
        except (MessageError, StewartError) as error:
            self._refused = f"desired pose refused: {error}"
        else:
            self._refused = ""

    def _on_commands(self, message: JointState) -> None:
        if not isinstance(self._motion, LegActuators) or self.state != "active":
            return
        try:
            match = self._setup.mapping.match(message.name)
            if not match.complete:
                raise MessageError("missing joints", match.problem)
            lengths = read_field(message.position, match, "position")
            rates = read_field(message.velocity, match, "velocity") if message.velocity else np.zeros(LEGS)
            if not (np.isfinite(lengths).all() and np.isfinite(rates).all()):
                raise MessageError("not finite", "numbers that are not finite")
        except MessageError as error:
            self._refused = f"leg commands refused: {error}"
        else:
            self._refused = ""
            self._motion.command(lengths, rates)

    def _reset(self) -> str:
        """Go home, or on as before a pose was desired."""
        if self._motion is None:
            raise RequestError("the node is not configured")
        self._refused = ""
        if isinstance(self._motion, LegActuators):
            platform = self._setup.platform
            self._motion = LegActuators(platform, platform.home_pose, ActuatorOptions.from_values(self.settings))
            return "the platform is in its home pose"
        self._motion.go_to(None)
        return "the platform moves on its own"

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        rate = (self._published - self._reported) / period
        self._reported = self._published
        report.values["states per second"] = f"{rate:.1f}"
        if self._motion is None:
            return
        report.hardware = frames_of(self.settings)[1]
        report.values["length noise [m]"] = f"{self.settings['length_noise']:g}"
        if self._refused:
            report.add(diagnostics.ERROR, self._refused)
        if self._motion.held:
            report.add(diagnostics.WARN, f"the platform waits: {self._motion.held}")
        wanted = self.settings["rate"]
        if self.state == "active" and self._published and rate < 0.9 * wanted and not self.simulated_time:
            report.add(diagnostics.WARN, f"slower than requested: {rate:.0f} of {wanted:.0f} states per second")


main = partial(run, SimulatedStewart)

if __name__ == "__main__":
    sys.exit(main())
