"""Node that stands in for a robot's driver: joint states of a smooth motion, or of a robot that obeys commands.

See doc/nodes/simulated_robot.md for topics, services and parameters.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ...core.commands import JointCommand
from ...core.errors import ConfigurationError, MessageError, RequestError
from ...core.joint_mapping import JointMapping
from ...core.parameters import parameter, per_joint
from ...lie_dynamics import LieDynamicsError
from ...ros.inputs.commands import read_effort_array, read_named_efforts, read_point
from ...ros.inputs.model_loading import ModelSourceParameters, load_friction, load_model, read_description
from ...ros.node.managed_node import BackgroundNodeParameters, ManagedNode, Ticker
from ...ros.node.spinning import run
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.output import Output
from ...ros.wire import qos
from ...ros.wire.messages import nanoseconds
from .core import NAMES, RobotSimulation, SimulationOptions, SineMotion, steps_of_delay, warm_up

SIMULATION_MODES = ("motion", "dynamics")
STARTS = ("middle", "initial_position")


@dataclass(frozen=True)
class SimulatedRobotParameters(SimulationOptions, ModelSourceParameters, BackgroundNodeParameters):
    """Parameters of the node."""

    robot_description: str = parameter(
        "package://lie_dynamics_ros/urdf/panda_arm.urdf",
        "The robot: URDF text, a file path, file:///path or package://name/path.",
        "while unconfigured",
    )
    mode: str = parameter(
        SIMULATION_MODES[0],
        "A motion that depends on time alone, or the dynamics of a robot that obeys commands.",
        "while unconfigured",
        choices=SIMULATION_MODES,
    )
    rate: float = parameter(500.0, "Joint states per second [Hz].", "while unconfigured", low=0.1, high=10_000.0)
    frequency: float = parameter(0.2, "Frequency of the motion [Hz].", "while unconfigured", low=0.001, high=10.0)
    substeps: int = parameter(
        2, "Steps of the simulation for each joint state.", "while unconfigured", low=1, high=1000
    )
    start: str = parameter(
        STARTS[0],
        "Where the simulated robot starts: in the middle of its ranges, or at initial_position.",
        "while unconfigured",
        choices=STARTS,
    )
    initial_position: tuple[float, ...] = per_joint(0.0, "[rad, m].", "while unconfigured", low=-1e6, high=1e6)
    seed: int = parameter(0, "Of the noise.", "while unconfigured", high=2**31 - 1)
    publish_clock: bool = parameter(False, "Publish simulated time on /clock, and stamp states with it.", "at start")
    real_time_factor: float = parameter(
        1.0,
        "Simulated seconds per second; other than 1 only with publish_clock.",
        "while unconfigured",
        low=0.01,
        high=100.0,
    )
    lock_step: bool = parameter(
        False,
        "Wait after each state for the command that answers it, once there was one; only with publish_clock. Exact "
        "with ~/joint_efforts, whose time stamp is that of the state they answer.",
        "while unconfigured",
    )
    command_delay: float = parameter(
        0.0,
        "From a command until it takes effect, whole and half periods of the joint states.",
        "while unconfigured",
        high=10.0,
    )
    command_timeout: float = parameter(
        0.1,
        "Commands older than this, in simulated time, count as none, and brakes hold the robot [s]. 0: no limit.",
        high=3600.0,
    )


SETTINGS = SimulatedRobotParameters.settings()


# Whether a simulation may go on: in lock step each state waits for the command that answers it.

SETTLE = 0.1
"""Wait after the first command, for answers to earlier states that are under way [s]."""

PATIENCE = 1.0
"""Longest wait for a command [s]; it may never come."""


class LockStep:
    """Keeps what was published and what was answered; all times ``now`` are of one steady clock [s]."""

    def __init__(self) -> None:
        self._answered = False
        self._stamp = 0  # of the last state [ns]
        self._published = self._settled = 0.0  # steady time [s]

    def engage(self, now: float) -> None:
        """Take note of the first command after a time without."""
        self._settled = now + SETTLE

    def published(self, stamp: int, now: float) -> None:
        """Take note of a state with a time stamp [ns]."""
        self._answered, self._stamp, self._published = False, stamp, now

    def commanded(self, stamp: int) -> None:
        """Take note of a command with a time stamp [ns], 0 for none.

        One that is stamped before the last state answers an earlier one. Controllers stamp with the time of the state
        or with their own, which is not before it; whatever has no stamp counts as the answer.
        """
        if not stamp or stamp >= self._stamp:
            self._answered = True

    def waits(self, now: float) -> bool:
        """Return whether the command that answers the last state is still to come."""
        if now < self._settled:  # until only the answer to the last state is left
            return True
        return not self._answered and now - self._published < PATIENCE


MOST_AT_ONCE = 10
"""Most states that a late simulation catches up; the rest is lost time."""


class CommandLog:
    """Commands to a simulated robot, as they come."""

    def __init__(self) -> None:
        self.last: float | None = None
        self.stale = False
        self.refused, self.problem = 0, ""
        self.taken = self._reported = 0

    def restart(self) -> None:
        """Forget when the last one came."""
        self.last, self.stale = None, False

    def take(self, now: float) -> None:
        """Take note of a command at a simulated time [s]."""
        self.taken += 1
        self.last, self.stale = now, False

    def refuse(self, problem: str) -> None:
        """Take note of one that cannot be used."""
        self.refused += 1
        self.problem = problem

    def run_out(self, now: float, timeout: float) -> bool:
        """Return whether commands have ceased for longer than a timeout [s] by now; 0: they never do."""
        if not timeout or self.last is None or now - self.last <= timeout:
            return False
        self.last, self.stale = None, True
        return True

    def rate(self, period: float) -> float:
        """Return how many were taken per second in the last ``period`` [s]."""
        count, self._reported = self.taken - self._reported, self.taken
        return count / period


class _StateMessages:
    """Messages of a robot's state; their numbers are written through arrays."""

    def __init__(self, names: Sequence[str], with_effort: bool) -> None:
        zeros = [0.0] * len(names)
        self.state = JointState(name=list(names), position=zeros, velocity=zeros)
        self.position, self.velocity = np.frombuffer(self.state.position), np.frombuffer(self.state.velocity)
        if with_effort:
            self.state.effort = zeros
            self.effort = np.frombuffer(self.state.effort)
        self.point = JointTrajectoryPoint(accelerations=zeros)
        self.acceleration = np.frombuffer(self.point.accelerations)


@dataclass
class Beginning:
    """Start of the motion, by the node's clock [ns] and by the time in which the robot moves [s]."""

    stamp: int
    steady: float

    def put_off(self, lost: float) -> None:
        """Let the motion be late by some more time [s] for good."""
        self.steady += lost
        self.stamp += round(lost * 1e9)

    def follow(self, steady: float, clock: int, again: float, tolerance: float) -> None:
        """Go on by a clock that was set by more than a tolerance [s]; it was read between two readings of the time.

        Not where these are far apart, for then it is not known when it was read.
        """
        shift = clock - self.stamp - round((steady - self.steady) * 1e9)
        if again - steady < 0.5 * tolerance and abs(shift) > tolerance * 1e9:
            self.stamp += shift


class SimulatedRobot(ManagedNode):
    """Publishes joint states of a sine motion within the robot's limits, or of its simulated dynamics."""

    def __init__(self, **kwargs: Any) -> None:
        self._motion: SineMotion | None = None
        self._robot = "none"
        self._simulation: RobotSimulation | None = None
        self._published = self._reported = 0
        self._hold_reason = ""
        self._commands = CommandLog()
        self._lock = LockStep()
        self._simulated = 0.0  # simulated time of the last report [s]
        self._stamped = -1  # time of the last state of a motion [ns]
        self._messages: _StateMessages | None = None
        self._joints = JointMapping(())
        self._begun = Beginning(0, 0.0)
        super().__init__("simulated_robot", SimulatedRobotParameters, **kwargs)
        self._states = Output(self, JointState, "joint_states")
        self._points = Output(self, JointTrajectoryPoint, "~/joint_trajectory_point")
        self._description = self.create_publisher(
            String, "robot_description", qos.DESCRIPTION, qos_overriding_options=qos.overridable()
        )
        self._clock_publisher = None
        if self.settings["publish_clock"]:
            self._clock_publisher = self.create_lifecycle_publisher(ClockMessage, "/clock", qos.OUTPUT)
        for type_, topic, read in (
            (Float64MultiArray, "~/commands", read_effort_array),
            (JointState, "~/joint_efforts", read_named_efforts),
            (JointTrajectory, "~/joint_trajectory", read_point),
        ):
            self.listen(type_, topic, self._receiver(read), qos.STREAM_INPUT)
        self.serve_trigger("~/reset", self._reset)
        self._ticker = Ticker(self)

    # Configuration.

    def check_settings(self, values: Mapping[str, Any]) -> None:
        """Check parameter values against each other and against the robot; raises ParameterError."""
        super().check_settings(values)
        options = SimulationOptions.from_values(values)
        if self._simulation is not None:
            options.physics(options.apply(self._simulation.model), None)

    def settings_changed(self, names: set[str]) -> None:
        """Apply parameters that may change at run time."""
        if self._simulation is not None:
            self._simulation.set_options(SimulationOptions.from_values(self.settings))

    def configure(self) -> None:
        """Read the robot and publish its description."""
        settings = self.settings
        description = read_description(settings["robot_description"])
        model = load_model(description, settings, self.get_logger())
        friction = load_friction(description, settings, model)
        model = model.with_joint_prefix(settings["joint_prefix"])
        names = model.joint_names
        if not names:
            raise ConfigurationError("the robot has no joint that moves")
        if model.nq != len(names):
            raise ConfigurationError("the robot has joints with several coordinates, which a JointState cannot hold")
        for name, usual in (("real_time_factor", 1.0), ("lock_step", False)):
            if settings[name] != usual and self._clock_publisher is None:
                raise ConfigurationError(f"{name} is {settings[name]} without publish_clock")
        if settings["mode"] == "dynamics":
            step = 1.0 / (settings["rate"] * settings["substeps"])
            start = tuple(settings["initial_position"]) if settings["start"] == "initial_position" else ()
            delay = steps_of_delay(settings["command_delay"], settings["substeps"])
            simulation = RobotSimulation(
                model, SimulationOptions.from_values(settings), step, start, settings["seed"], delay, friction
            )
            problem = warm_up(simulation)
            if problem:
                self.get_logger().warning(f"under efforts alone the robot cannot be simulated: {problem}")
            self._joints = JointMapping(names)
            self._simulation = simulation
        else:
            self._motion = SineMotion(model, settings["frequency"])
        self._robot = model.name
        self._messages = _StateMessages(names, self._simulation is not None)
        self._description.publish(String(data=description))

    def activate(self) -> None:
        """Begin to move."""
        self._restart()
        step = self._simulate if self._simulation is not None else self._step
        self._ticker.start(1.0 / self.settings["rate"], step)
        self.get_logger().info(f"publishing joint states of {self._robot}")

    def _restart(self) -> None:
        if self._simulation is not None:
            self._simulation.reset()
        self._begun = Beginning(self.get_clock().now().nanoseconds, self._steady())
        self._commands.restart()
        self._hold_reason, self._simulated = "", 0.0

    def _steady(self) -> float:
        """Time in which the robot moves [s]: steady, or the simulated time of somebody else."""
        return time.perf_counter() if self._clock_publisher is not None else self.waiting_time()

    def time_source_changed(self) -> None:
        """Go on by the other clock."""
        if self._ticker.running and self._clock_publisher is None:
            passed = 0.0 if self._simulation is None else self._simulation.time
            self._begun = Beginning(
                self.get_clock().now().nanoseconds - round(passed * 1e9),
                self._steady() - passed / self.settings["real_time_factor"],
            )

    def deactivate(self) -> None:
        """Stop moving."""
        self._ticker.stop()

    def cleanup(self) -> None:
        """Let go of the robot."""
        self._motion = self._simulation = None

    # A motion that depends on time alone.

    def _step(self) -> None:
        assert self._motion is not None
        if self._clock_publisher is None:
            begin, stamp = self._begun.stamp, int(self.get_clock().now().nanoseconds)
            if stamp == self._stamped:
                return  # simulated time stands still
            self._stamped = stamp
        else:
            begin = 0
            stamp = round((self._steady() - self._begun.steady) * self.settings["real_time_factor"] * 1e9)
            self._tell_time(stamp)
        out = self._messages
        assert out is not None
        out.position[:], out.velocity[:], out.acceleration[:] = self._motion.at((stamp - begin) * 1e-9)
        self._points.send(out.point)
        self._publish(stamp)

    def _publish(self, stamp: int) -> None:
        assert self._messages is not None
        header = self._messages.state.header.stamp
        header.sec, header.nanosec = divmod(stamp, 1_000_000_000)
        self._lock.published(stamp, time.perf_counter())
        self._states.send(self._messages.state)
        self._published += 1

    def _tell_time(self, stamp: int) -> None:
        assert self._clock_publisher is not None
        message = ClockMessage()
        message.clock.sec, message.clock.nanosec = divmod(stamp, 1_000_000_000)
        self._clock_publisher.publish(message)

    # Dynamics.

    def _simulate(self) -> None:
        simulation, settings = self._simulation, self.settings
        assert simulation is not None
        factor = settings["real_time_factor"]
        steady, clock = self._steady(), self.ros_time()
        if self._clock_publisher is None:
            self._begun.follow(steady, clock, self._steady(), MOST_AT_ONCE / settings["rate"])
        elapsed = (steady - self._begun.steady) * factor
        # Half a period early is in time: the timer of steady time ticks a little before and after it.
        due = int((elapsed - simulation.time) * settings["rate"] + 0.5)
        if due < 1:
            return
        if settings["lock_step"] and self._commands.last is not None and self._lock.waits(time.perf_counter()):
            return
        most = 1 if settings["lock_step"] else MOST_AT_ONCE
        if due > most:
            self._begun.put_off((due - most) / (settings["rate"] * factor))
            due = most
        if self._commands.run_out(simulation.time, settings["command_timeout"]):
            simulation.hold()
        try:
            simulation.advance(due * settings["substeps"])
        except LieDynamicsError as error:
            if not self._hold_reason:
                self.get_logger().error(f"the robot is held: {error}")
            self._hold_reason = str(error)
            simulation.hold()
            self._begun.put_off(due / (settings["rate"] * factor))
            return
        out = self._messages
        assert out is not None
        out.position[:], out.velocity[:] = simulation.measure()
        out.effort[:] = simulation.effort
        stamp = round(simulation.time * 1e9)
        if self._clock_publisher is None:
            # The time that the state belongs to: the time of publication would add the timer's jitter to its motion.
            self._publish(self._begun.stamp + stamp)
            return
        self._tell_time(stamp)
        self._publish(stamp)

    def _receiver(self, read: Callable[[Any, JointMapping], JointCommand]) -> Callable[[Any], None]:
        def receive(message: Any) -> None:
            simulation = self._simulation
            if simulation is None or not self._ticker.running:
                return
            try:
                simulation.tell(*read(message, self._joints))
            except MessageError as error:
                self._commands.refuse(str(error))
                return
            self._lock.commanded(nanoseconds(message.header.stamp) if isinstance(message, JointState) else 0)
            if self._commands.last is None:
                self._lock.engage(time.perf_counter())
            self._commands.take(simulation.time)
            self._hold_reason = ""
            if self.settings["lock_step"]:
                self._simulate()  # where the next state is due, it waited for this

        return receive

    def _reset(self) -> str:
        """Begin again at the start."""
        if not self._ticker.running:
            raise RequestError("the node is not active")
        self._restart()
        return "at the start again"

    # Diagnostics.

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        values = report.values
        rate = (self._published - self._reported) / period
        self._reported = self._published
        values["states per second"] = f"{rate:.1f}"
        report.hardware = self._robot
        wanted = self.settings["rate"]
        simulation = self._simulation
        if simulation is not None:
            wanted *= self.settings["real_time_factor"]
            self._describe_dynamics(report, simulation, period)
        if self.state == "active" and self._published and rate < 0.9 * wanted and not self.simulated_time:
            report.add(diagnostics.WARN, f"slower than requested: {rate:.0f} of {wanted:.0f} states per second")

    def _describe_dynamics(self, report: Report, simulation: RobotSimulation, period: float) -> None:
        values = report.values
        values["simulated time [s]"] = f"{simulation.time:.3f}"
        values["real-time factor"] = f"{max(0.0, simulation.time - self._simulated) / period:.3f}"
        self._simulated = simulation.time
        values["commands per second"] = f"{self._commands.rate(period):.1f}"
        values["commands dropped"] = self._commands.refused
        for k, name in enumerate(NAMES):
            joints = [j for j, told in zip(simulation.model.joint_names, simulation.told, strict=True) if told == k]
            values[f"joints under {name}"] = ", ".join(joints) or "none"
        if self._commands.problem:
            values["last dropped command"] = self._commands.problem
        if self.state != "active":
            return
        if self._hold_reason:
            report.add(diagnostics.ERROR, f"the robot is held: {self._hold_reason}")
        if self._commands.stale:
            report.add(diagnostics.WARN, "commands are stale: brakes hold the robot")
        saturated = simulation.take_saturated()
        if saturated:
            report.add(diagnostics.WARN, f"efforts limited: {', '.join(saturated)}")


main = partial(run, SimulatedRobot)

if __name__ == "__main__":
    sys.exit(main())
