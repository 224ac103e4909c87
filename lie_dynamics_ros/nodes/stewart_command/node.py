"""Node that commands a Stewart platform: poses, twists, paths and trajectories in, set points of its legs out.

See doc/nodes/stewart_command.md for topics, services, parameters, units and frames.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseArray, PoseStamped, TwistStamped
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import Imu
from std_msgs.msg import String
from trajectory_msgs.msg import MultiDOFJointTrajectory

from ...core.arrays import Array
from ...core.commanding.phases import OFF, STOPPING, UNTIL_HOLD
from ...core.errors import ConfigurationError, MessageError
from ...lie_dynamics.stewart import StewartPlatform
from ...ros.model.platform_loading import check_platform_settings, frames_of, legs_of, load_platform
from ...ros.node.managed_node import ManagedNode
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.wire import qos
from .core import StewartCommandCore
from .leg_states import LegStates
from .options import StewartCommandOptions
from .planner import Planner
from .requests import TargetReader
from .rider import Rider
from .services import CommandServices
from .setpoint_outputs import SetpointOutputs
from .settings import SETTINGS
from .targets import Target


class StewartCommandNode(ManagedNode):
    """Targets and leg lengths in, set points of the legs out."""

    def __init__(self, **kwargs: Any) -> None:
        self.core: StewartCommandCore | None = None
        self._platform: StewartPlatform | None = None
        self._timer = None
        self.heard = self._ticked = -np.inf
        self._told: tuple[str, str] = ("", "")
        self.refused = ""
        self._reported = 0
        super().__init__("stewart_command", SETTINGS, **kwargs)
        self.planner, self.rider = self.own(Planner()), Rider(self.get_logger())
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
        check_platform_settings(values)
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
        platform = load_platform(settings["platform"], self.get_logger())
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
        self._timer = self.create_timer(
            1.0 / self.settings["rate"], self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._tell_phase()

    def deactivate(self) -> None:
        """Stop; drives keep the last set points, which are at rest."""
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None
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
        self.heard = monotonic()
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
        if core is None or self.state != "active":
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
            self.rider.hear(message, self.ros_time(), monotonic())

    # Set points.

    def _tick(self) -> None:
        core = self.core
        if core is None or core.phase == OFF:
            return
        now = monotonic()
        timeout = core.options.state_timeout
        # A tick that comes late itself says nothing: what has arrived meanwhile has yet to be taken in.
        on_time = now - self._ticked < 1.0 / core.options.rate + 0.5 * timeout
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
        self.rider.describe(report, monotonic())
        self.states.describe(report)
        for refused in (self.refused, core.refusal):
            if refused:
                report.add(diagnostics.ERROR, refused)
        wanted = self.settings["rate"]
        if core.phase != OFF and self.state == "active" and 0.0 < rate < 0.9 * wanted:
            report.add(diagnostics.WARN, f"slower than asked for: {rate:.0f} of {wanted:.0f} set points per second")


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(StewartCommandNode, args)


if __name__ == "__main__":
    sys.exit(main())
