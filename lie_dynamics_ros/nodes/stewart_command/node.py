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
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray, Header, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory

from ...core.commanding.phases import HOLDING, OFF, STOPPING, UNTIL_HOLD
from ...core.errors import ConfigurationError, MessageError, NodeError
from ...core.joint_mapping import JointMapping
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.stewart import StewartPlatform
from ...lie_dynamics.stewart.command import LegSetpoints, levelled
from ...ros.model.platform_loading import (
    PLATFORM_SETTINGS,
    check_platform_settings,
    frames_of,
    legs_of,
    load_platform,
)
from ...ros.node.background import Background, Job
from ...ros.node.managed_node import ManagedNode
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.output import Output
from ...ros.requests.services import Services
from ...ros.requests.worker import Worker
from ...ros.wire import qos
from ...ros.wire.messages import fill_pose_from_matrix, nanoseconds, read_field, read_imu
from .core import Plan, StewartCommandCore
from .options import COMMAND_SETTINGS, StewartCommandOptions
from .requests import TargetReader, check
from .targets import PathTarget, Target

SETTINGS = (*PLATFORM_SETTINGS, *COMMAND_SETTINGS)
LEAST_LEAD, MOST_LEAD = 0.02, 1.0
"""Times that planning is given before a motion is left [s]; twice what it took last, between these."""
IMU_AGE = 1.0
"""Age beyond which an IMU's message levels nothing [s]."""


class StewartCommandNode(ManagedNode):
    """Targets and leg lengths in, set points of the legs out."""

    def __init__(self, **kwargs: Any) -> None:
        self._core: StewartCommandCore | None = None
        self._platform: StewartPlatform | None = None
        self._timer = None
        self._plan: tuple[Job, float] | None = None
        self._heard = self._ticked = -np.inf
        self._told: tuple[str, str] = ("", "")
        self._refused, self._bad = "", ""
        self._published = self._reported = 0
        self._imu: tuple[Any, float] | None = None
        super().__init__("stewart_command", SETTINGS, **kwargs)
        self._background = Background("plans")
        self._worker = Worker()
        self._commands = Output(self, JointState, "~/leg_commands")
        self._numbers = Output(self, Float64MultiArray, "~/commands")
        self._poses = Output(self, PoseStamped, "~/desired_pose")
        self._phases = self.create_publisher(String, "~/phase", qos.DESCRIPTION)
        self.listen(JointState, "joint_states", self._on_states, qos.STREAM_INPUT)
        self.listen(PoseStamped, "~/target_pose", lambda m: self._take(lambda r, f: r.single(m, f)))
        self.listen(TwistStamped, "~/target_twist", self._on_twist)
        self.listen(PoseArray, "~/path", self._on_path)
        self.listen(MultiDOFJointTrajectory, "~/trajectory", lambda m: self._take(lambda r, f: r.trajectory(m, f)))
        self.listen(Imu, "imu", self._on_imu, qos.STREAM_INPUT)
        self.create_service(Trigger, "~/hold", self._hold)
        self.create_service(Trigger, "~/level", self._level)
        self._offers = Services(self)
        self._offers.offer("CheckPosePath", "~/check_path", self._check, self._worker)

    def destroy_node(self) -> None:
        """End the threads with the node."""
        self._background.close()
        self._worker.close()
        super().destroy_node()

    # Configuration.

    def check_settings(self, values: Mapping[str, Any]) -> None:
        """Check parameters against each other; raises ParameterError."""
        check_platform_settings(values)
        if self._platform is not None:
            StewartCommandOptions.from_values(self._platform, values)

    def settings_changed(self, names: set[str]) -> None:
        """Use parameters that may change at run time from the next target on."""
        if self._core is not None and self._platform is not None:
            self._core.use(StewartCommandOptions.from_values(self._platform, self.settings))
        else:
            self.start()  # where autostart waits for something to be put right

    def configure(self) -> None:
        """Read the platform."""
        settings = self.settings
        platform = load_platform(settings["platform"], self.get_logger())
        if platform.home_pose is None:
            raise ConfigurationError("the platform has no home_pose, from which its pose is found")
        options = StewartCommandOptions.from_values(platform, settings)
        self._legs = legs_of(settings)
        self._core = StewartCommandCore(options, self._legs)
        self._platform = platform
        base, _ = frames_of(settings)
        prefix = settings["frame_prefix"]
        names = {"base": base, "work": prefix + settings["work_frame"], "tool": prefix + settings["tool_frame"]}
        if len(set(names.values())) < len(names):
            raise ConfigurationError(f"base_frame, work_frame and tool_frame are {', '.join(names.values())}; expected"
                                     " three different names")  # fmt: skip
        self._reader = TargetReader(names)  # type: ignore[arg-type]
        self._mapping = JointMapping(self._legs)
        self._message = JointState(name=self._legs)
        self._pose = PoseStamped(header=Header(frame_id=base))
        self._core.ways.at_rest(platform.home_pose)

    def activate(self) -> None:
        """Wait for leg lengths, and begin."""
        self._ticked = self._heard = -np.inf
        self._timer = self.create_timer(
            1.0 / self.settings["rate"], self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._tell_phase()

    def deactivate(self) -> None:
        """Stop; drives keep the last set points, which are at rest."""
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None
        self._plan = None
        if self._core is None:
            return
        last = self._core.end()
        if last is not None:
            self._publish(last)
        self._tell_phase()

    def cleanup(self) -> None:
        """Let go of the platform."""
        self._core = self._platform = None

    # Leg lengths.

    def _on_states(self, message: JointState) -> None:
        core = self._core
        if core is None or self.state != "active":
            return
        now, stamp = self.ros_time(), nanoseconds(message.header.stamp)
        timeout = core.options.state_timeout
        try:
            if stamp and timeout and abs(now - stamp) > timeout * 1e9:
                raise MessageError(
                    "stale", f"leg lengths {(now - stamp) * 1e-9:.3g} s old; state_timeout is {timeout:g}"
                )
            match = self._mapping.match(message.name)
            if not match.complete:
                raise MessageError("missing joints", match.problem)
            lengths = read_field(message.position, match, "position")
            rates = read_field(message.velocity, match, "velocity") if message.velocity else None
            if not np.isfinite(lengths).all():
                raise MessageError("not finite", "leg lengths that are not finite")
        except MessageError as error:
            self._bad = str(error)
            return
        self._bad, self._heard = "", monotonic()
        if core.phase == OFF:
            core.begin(lengths, rates if rates is not None and np.isfinite(rates).all() else None)
        else:
            core.watch(lengths)

    def _on_imu(self, message: Imu) -> None:
        self._imu = message, monotonic()

    # Targets.

    def _on_twist(self, message: TwistStamped) -> None:
        stamp = nanoseconds(message.header.stamp)
        age = (self.ros_time() - stamp) * 1e-9 if stamp else 0.0
        self._take(lambda reader, _: reader.twist(message, age, self.settings["twist_timeout"]))

    def _on_path(self, message: PoseArray) -> None:
        header = message.header
        poses = [PoseStamped(header=header, pose=pose) for pose in message.poses]
        self._take(lambda reader, frames: reader.path(poses, frames, [], ""))

    def _take(self, read: Callable[[TargetReader, Any], Target]) -> None:
        core = self._core
        if core is None or self.state != "active":
            return
        try:
            target = read(self._reader, core.ways.frames)
        except MessageError as error:
            self._refused = f"a target is refused: {error}"
        else:
            self._refused = ""
            self._ask(core, target)

    def _ask(self, core: StewartCommandCore, target: Target) -> None:
        """Have a target planned beside the ticks; the last one counts."""
        self._waiting = None
        if self._plan is not None and not self._plan[0].done:
            self._waiting = target
            return
        plan = core.ask(target, self._lead)
        if plan is not None:
            job = Job(None, plan.make)
            self._plan = job, monotonic()
            self._background.start(job)

    _lead = LEAST_LEAD
    _waiting: Target | None = None

    def _go_on(self, core: StewartCommandCore) -> None:
        """Take what has been planned, and have planned what waits."""
        if self._plan is not None and self._plan[0].done:
            (job, asked), self._plan = self._plan, None
            self._lead = min(max(LEAST_LEAD, 2.0 * (monotonic() - asked)), MOST_LEAD)
            plan: Plan = job.result()
            core.take(plan)
        if self._plan is None:
            target = self._waiting or core.due()
            if target is not None:
                self._ask(core, target)

    # Set points.

    def _tick(self) -> None:
        core = self._core
        if core is None or core.phase == OFF:
            return
        now = monotonic()
        timeout = core.options.state_timeout
        # A tick that comes late itself says nothing: what has arrived meanwhile has yet to be taken in.
        on_time = now - self._ticked < 1.0 / core.options.rate + 0.5 * timeout
        silent = now - self._heard > timeout and on_time
        if timeout and silent and core.phase not in UNTIL_HOLD:
            core.stop(f"no leg lengths for {timeout:g} s")
        self._go_on(core)
        points = core.step(now - self._ticked)
        self._ticked = now
        self._publish(points)
        self._tell_phase()

    def _publish(self, points: LegSetpoints) -> None:
        message = self._message
        message.header.stamp = self._pose.header.stamp = self.get_clock().now().to_msg()
        message.position, message.velocity = points.lengths.tolist(), points.rates.tolist()
        message.effort = points.forces.tolist()
        self._commands.send(message)
        if self._numbers.heard:
            self._numbers.send(Float64MultiArray(data=message.position))
        if self._poses.heard:
            fill_pose_from_matrix(self._pose.pose, points.pose)
            self._poses.send(self._pose)
        self._published += 1

    def _tell_phase(self) -> None:
        """Log and publish the phase, if it is another one."""
        core = self._core
        if core is None or (core.phase, core.reason) == self._told:
            return
        self._told = core.phase, core.reason
        text = f"{core.phase}: {core.reason}"
        if core.phase == STOPPING:  # a logger keeps the severity of each line that calls it
            self.get_logger().error(text)
        else:
            self.get_logger().info(text)
        self._phases.publish(String(data=text))

    # Services.

    def _hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        core = self._core
        if core is None or core.phase == OFF:
            response.success, response.message = False, "nothing to hold: no leg lengths were found yet"
            return response
        if core.options.state_timeout and monotonic() - self._heard > core.options.state_timeout:
            response.success, response.message = False, f"no leg lengths for {core.options.state_timeout:g} s"
            return response
        self._waiting = None
        core.hold()
        self._refused = ""
        response.success, response.message = True, core.reason
        return response

    def _level(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            self._ask_level()
        except (NodeError, LieDynamicsError) as error:
            response.success, response.message = False, str(error)
        else:
            response.success, response.message = True, "the platform goes to where the IMU is level"
        return response

    def _ask_level(self) -> None:
        """Go to the pose that levels the platform by the IMU, about the tool's origin."""
        core = self._core
        if core is None or core.phase != HOLDING or not core.rests:
            phase = OFF if core is None else "slowing down" if core.phase == HOLDING else core.phase
            raise MessageError("level", f"the platform is {phase}, expected holding, at rest")
        if self._imu is None or monotonic() - self._imu[1] > IMU_AGE:
            raise MessageError("level", f"no message of the IMU within {IMU_AGE:g} s")
        _, up = read_imu(self._imu[0])
        if up is None or not np.isfinite(up).all():
            raise MessageError("level", "the IMU's message has no acceleration")
        tool = core.ways.frames.tool
        goal = levelled(core.pose, tool[:3, :3] @ up if self._in_tool() else up, tool[:3, 3])
        self._ask(core, PathTarget((goal @ tool)[None], (False,), word="levelling"))

    def _in_tool(self) -> bool:
        """Tell whether the IMU's frame is the tool frame; else it is that of the platform."""
        assert self._imu is not None
        frame = self._imu[0].header.frame_id.removeprefix("/")
        _, platform = frames_of(self.settings)
        if frame in ("", platform):
            return False
        if frame == self.settings["frame_prefix"] + self.settings["tool_frame"]:
            return True
        raise MessageError("level", f"the IMU's frame is {frame!r}; expected {platform!r} or the tool frame")

    def _check(self, request: Any, response: Any) -> None:
        core = self._core
        if core is None or core.phase == OFF:
            raise MessageError("check", "no pose is known yet: no leg lengths were found")
        check(self._reader, core, request, response, self._legs)

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        rate = (self._published - self._reported) / period
        self._reported = self._published
        report.values["set points per second"] = f"{rate:.1f}"
        self._offers.describe(report)
        core = self._core
        if core is None:
            return
        report.hardware = frames_of(self.settings)[1]
        report.values["phase"] = f"{core.phase}: {core.reason}"
        report.values["time for planning [s]"] = f"{self._lead:.3g}"
        if core.phase in UNTIL_HOLD:
            report.add(diagnostics.ERROR, f"{core.phase}: {core.reason}")
        elif self.state == "active" and core.phase == OFF:
            report.add(diagnostics.WARN, f"waiting: {self._bad or core.reason}")
        elif self._bad:
            report.add(diagnostics.WARN, f"leg lengths are not used: {self._bad}")
        for refused in (self._refused, core.refusal):
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
