"""Node that commands a Stewart platform: poses, twists, paths and trajectories in, set points of its legs out.

See doc/nodes/stewart_command.md for topics, services, parameters, units and frames.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseArray, PoseStamped, TwistStamped
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray, Header, String
from trajectory_msgs.msg import MultiDOFJointTrajectory

from ...core.commands import OFF, STOPPING, UNTIL_HOLD
from ...core.errors import ConfigurationError, MessageError
from ...core.joint_mapping import JointMapping
from ...core.parameters import parameter
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.stewart.command import LegSetpoints
from ...lie_dynamics.stewart.geometry.any_platform import Platform
from ...ros.inputs.platform_loading import PlatformParameters, frames_of, legs_of, load_any_platform
from ...ros.inputs.publishers import Publishers, subscribe
from ...ros.node.managed_node import ManagedNode, NodeParameters, Ticker
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.output import Output
from ...ros.wire import qos
from ...ros.wire.messages import fill_pose_from_matrix, read_field
from .core import CommandParameters, StewartCommandCore, StewartCommandOptions
from .motion_cueing import CueingInput
from .requests import Planner, TargetReader, check_time
from .services import CommandServices
from .targets import Target


@dataclass(frozen=True)
class StewartCommandParameters(CommandParameters, PlatformParameters, NodeParameters):
    """Parameters of the node."""

    work_frame: str = parameter(
        "work", "Frame in which targets may be given, besides base_frame.", "while unconfigured"
    )
    tool_frame: str = parameter("tool", "Frame on the platform that targets are for.", "while unconfigured")


SETTINGS = StewartCommandParameters.settings()


# Set points as messages.


class SetpointOutputs:
    """Lengths, rates and forces of legs, and the pose that they make; `count` of them published.

    Parameters
    ----------
    node : LifecycleNode
    topic : str
        Of lengths, rates and forces.
    """

    def __init__(self, node: Any, topic: str) -> None:
        self._node, self.count = node, 0
        self.commands = Output(node, JointState, topic)
        self._numbers = Output(node, Float64MultiArray, "~/commands")
        self._poses = Output(node, PoseStamped, "~/desired_pose")
        self._message, self._pose = JointState(), PoseStamped()

    def name(self, legs: Sequence[str], base: str) -> None:
        """Call the legs and the base frame so."""
        self._message, self._pose = JointState(name=list(legs)), PoseStamped(header=Header(frame_id=base))

    def send(self, points: LegSetpoints) -> None:
        """Publish set points, under the time of the node's clock."""
        message = self._message
        message.header.stamp = self._pose.header.stamp = self._node.get_clock().now().to_msg()
        message.position, message.velocity = points.lengths.tolist(), points.rates.tolist()
        message.effort = points.forces.tolist()
        self.commands.send(message)
        if self._numbers.heard:
            self._numbers.send(Float64MultiArray(data=message.position))
        if self._poses.heard:
            fill_pose_from_matrix(self._pose.pose, points.pose)
            self._poses.send(self._pose)
        self.count += 1


# Leg lengths as drivers publish them: read, and distinguished from those of another driver.


class LegStates:
    """The topic joint_states.

    Parameters
    ----------
    node : ManagedNode
    take : callable
        Given lengths (6,) [m] and rates (6,) [m/s], or None where not all are known, of each message that can be used.

    Attributes
    ----------
    bad : str
        Why the last message was not used; empty where it was.
    """

    def __init__(self, node: Any, take: Callable[[Array, Array | None], None]) -> None:
        self._node, self._take, self.bad = node, take, ""
        self._used = False  # whether any message was
        self._mapping = JointMapping(())
        self._topic = subscribe(node, JointState, "joint_states", self._on_bytes, qos.STREAM_INPUT)
        self._publishers = Publishers(node, (self._topic,))

    def name(self, legs: Sequence[str]) -> None:
        """Look for legs of these names."""
        self._mapping, self.bad = JointMapping(tuple(legs)), ""

    def _on_bytes(self, message: bytes, publisher: bytes) -> None:
        if self._node.state != "active":
            return
        try:
            state = deserialize_message(message, JointState)
        except Exception:  # whatever bytes make of it
            self.bad = f"{len(message)} bytes that are no joint state"
            return
        self._publishers.heard(publisher, state.name)
        self.on_state(state)

    def on_state(self, message: JointState) -> None:
        """Take in a message."""
        timeout = self._node.settings["state_timeout"]
        try:
            found = _read(message, self._mapping, self._node.ros_time(), timeout)
        except MessageError as error:
            self.bad = str(error)
            return
        self.bad, self._used = "", True
        self._take(*found)

    def describe(self, report: Report) -> None:
        """Tell of drivers that take turns."""
        several = self._publishers.take_several()
        if several and self._used and self._node.state == "active":
            who = f"{len(several)} publishers of {self._topic.topic_name} take turns with the same joints"
            report.add(diagnostics.ERROR, f"{who}, one is expected: {', '.join(several)}")


def _read(message: Any, mapping: JointMapping, now: int, timeout: float) -> tuple[Array, Array | None]:
    """Return lengths (6,) [m] and rates [m/s] of a JointState at a time [ns]; None where not all rates are known.

    Raises
    ------
    MessageError
        Its time is more than a timeout [s] from now, unless that is zero; legs are missing, lengths are not finite.
    """
    check_time(message, now, timeout, "leg lengths", "state_timeout")
    match = mapping.match(message.name)
    if not match.complete:
        raise MessageError("missing joints", match.problem)
    lengths = read_field(message.position, match, "position")
    rates = read_field(message.velocity, match, "velocity") if message.velocity else None
    if not np.isfinite(lengths).all():
        raise MessageError("not finite", "leg lengths that are not finite")
    return lengths, rates if rates is not None and np.isfinite(rates).all() else None


class StewartCommandNode(ManagedNode):
    """Targets and leg lengths in, set points of the legs out."""

    def __init__(self, **kwargs: Any) -> None:
        self.core: StewartCommandCore | None = None
        self.legs: tuple[str, ...] = ()
        self.reader: TargetReader | None = None
        self._platform: Platform | None = None
        self.heard = self._ticked = -np.inf
        self._told: tuple[str, str] = ("", "")
        self.refused = ""
        self._reported = 0
        super().__init__("stewart_command", StewartCommandParameters, **kwargs)
        self.planner, self.rider = self.own(Planner(self._now)), CueingInput(self.get_logger())
        self._ticker = Ticker(self)
        self._outputs = SetpointOutputs(self, "~/leg_commands")
        self._phases = self.create_publisher(String, "~/phase", qos.DESCRIPTION)
        self.states = LegStates(self, self._on_lengths)
        self.listen(PoseStamped, "~/target_pose", lambda m: self._take(lambda r, f: r.single(m, f)))
        self.listen(TwistStamped, "~/target_twist", self._on_twist)
        self.listen(PoseArray, "~/path", self._on_path)
        self.listen(MultiDOFJointTrajectory, "~/trajectory", lambda m: self._take(lambda r, f: r.trajectory(m, f)))
        self.orders = self.own(CommandServices(self))
        self.listen(Imu, "imu", self.orders.on_imu, qos.STREAM_INPUT)
        self.listen(Imu, "~/vehicle", self._on_vehicle, qos.STREAM_INPUT)

    # Configuration.

    def check_settings(self, values: Mapping[str, Any]) -> None:
        """Check parameters against each other; raises ParameterError."""
        super().check_settings(values)
        if self._platform is not None:
            StewartCommandOptions.from_values(self._platform, values)

    def settings_changed(self, names: set[str]) -> None:
        """Use parameters that may change at run time from the next target on."""
        if self.core is not None and self._platform is not None:
            self.core.use(StewartCommandOptions.from_values(self._platform, self.settings))
        else:
            self.start()  # where autostart waits for something to be put right

    def configure(self) -> None:
        """Read the platform."""
        settings = self.settings
        platform = load_any_platform(settings["platform"], self.get_logger())
        if platform.home_pose is None:
            raise ConfigurationError("the platform has no home_pose, from which its pose is found")
        options = StewartCommandOptions.from_values(platform, settings)
        self.legs = legs_of(settings)
        self.core = StewartCommandCore(options, self.legs)
        self._platform = platform
        base, prefix = frames_of(settings)[0], settings["frame_prefix"]
        names = {"base": base, "work": prefix + settings["work_frame"], "tool": prefix + settings["tool_frame"]}
        if len(set(names.values())) < len(names):
            raise ConfigurationError(f"base_frame, work_frame and tool_frame are {', '.join(names.values())}; expected"
                                     " three different names")  # fmt: skip
        self.reader = TargetReader(names)  # type: ignore[arg-type]
        self.states.name(self.legs)
        self._outputs.name(self.legs, base)
        self.core.ways.at_rest(platform.home_pose)

    def activate(self) -> None:
        """Wait for leg lengths, and begin."""
        self._ticked = self.heard = -np.inf
        self._begin_ticks()
        self._tell_phase()

    def _begin_ticks(self) -> None:
        self._ticker.start(1.0 / self.settings["rate"], self._tick, self.waiting_clock())

    def _now(self) -> float:
        return self.waiting_time()  # another function once `use_sim_time` changes

    def time_source_changed(self) -> None:
        """Tick by the other clock, and wait for leg lengths anew."""
        self._ticked, self.heard = -np.inf, self.waiting_time()
        if self._ticker.running:
            self._ticker.stop()
            self._begin_ticks()

    def deactivate(self) -> None:
        """Stop; drives keep the last set points, which are at rest."""
        self._ticker.stop()
        self.planner.clear()
        self.rider.end()
        if self.core is None:
            return
        last = self.core.end()
        if last is not None:
            self._outputs.send(last)
        self._tell_phase()

    def cleanup(self) -> None:
        """Let go of the platform."""
        self.core = self._platform = None

    # Leg lengths.

    def _on_lengths(self, lengths: Array, rates: Array | None) -> None:
        core = self.core
        if core is None or self.state != "active":
            return
        self.heard = self.waiting_time()
        if core.phase == OFF:
            core.begin(lengths, rates)
        else:
            core.watch(lengths)

    # Targets.

    def _on_twist(self, message: TwistStamped) -> None:
        now = self.ros_time()
        self._take(lambda reader, _: reader.twist(message, now, self.settings["twist_timeout"]))

    def _on_path(self, message: PoseArray) -> None:
        header = message.header
        poses = [PoseStamped(header=header, pose=pose) for pose in message.poses]
        self._take(lambda reader, frames: reader.path(poses, frames, [], ""))

    def _take(self, read: Callable[[TargetReader, Any], Target]) -> None:
        core = self.core
        if core is None or self.reader is None or self.state != "active":
            return
        try:
            target = read(self.reader, core.ways.frames)
        except MessageError as error:
            self.refused = f"a target is refused: {error}"
        else:
            self.refused = ""
            self.ask(core, target)

    def ask(self, core: StewartCommandCore, target: Target) -> None:
        """Have a target planned beside the ticks; it ends a ride."""
        self.rider.end()
        self.planner.ask(core, target)

    def _on_vehicle(self, message: Imu) -> None:
        if self.core is not None and self.state == "active":
            self.rider.hear(message, self.ros_time(), self.waiting_time())

    # Set points.

    def _tick(self) -> None:
        core = self.core
        if core is None or core.phase == OFF:
            return
        now = self.waiting_time()
        timeout = core.options.given.state_timeout
        # A tick that comes late itself says nothing: what has arrived meanwhile has yet to be taken in.
        on_time = now - self._ticked < 1.0 / core.options.given.rate + 0.5 * timeout
        silent = now - self.heard > timeout and on_time
        if timeout and silent and core.phase not in UNTIL_HOLD:
            core.stop(f"no leg lengths for {timeout:g} s")
        self.planner.go_on(core)
        self.rider.go_on(core, self.planner, now)
        points = core.step(now - self._ticked)
        self._ticked = now
        self._outputs.send(points)
        self._tell_phase()

    def _tell_phase(self) -> None:
        """Log and publish the phase, if it is another one."""
        core = self.core
        if core is None or (core.phase, core.reason) == self._told:
            return
        self._told = core.phase, core.reason
        text = f"{core.phase}: {core.reason}"
        if core.phase == STOPPING:  # a logger keeps the severity of each line that calls it
            self.get_logger().error(text)
        else:
            self.get_logger().info(text)
        self._phases.publish(String(data=text))

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        rate = (self._outputs.count - self._reported) / period
        self._reported = self._outputs.count
        report.values["set points per second"] = f"{rate:.1f}"
        self.orders.describe(report)
        core = self.core
        if core is None:
            return
        report.hardware = frames_of(self.settings)[1]
        report.values["phase"] = f"{core.phase}: {core.reason}"
        report.values["time for planning [s]"] = f"{self.planner.lead:.3g}"
        if core.phase in UNTIL_HOLD:
            report.add(diagnostics.ERROR, f"{core.phase}: {core.reason}")
        elif self.state == "active" and core.phase == OFF:
            report.add(diagnostics.WARN, f"waiting: {self.states.bad or core.reason}")
        elif self.states.bad:
            report.add(diagnostics.WARN, f"leg lengths are not used: {self.states.bad}")
        self.rider.describe(report, self.waiting_time())
        self.states.describe(report)
        for refused in (self.refused, core.refusal):
            if refused:
                report.add(diagnostics.ERROR, refused)
        wanted = self.settings["rate"]
        if core.phase != OFF and self.state == "active" and 0.0 < rate < 0.9 * wanted:
            report.add(diagnostics.WARN, f"slower than requested: {rate:.0f} of {wanted:.0f} set points per second")


main = partial(run, StewartCommandNode)

if __name__ == "__main__":
    sys.exit(main())
