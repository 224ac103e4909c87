"""Core of the node stewart_command: set points of the legs, tick by tick. No ROS in here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.commands import FOLLOWING, HOLDING, OFF, STOPPED, STOPPING, UNTIL_HOLD
from ...core.errors import MessageError, ParameterError
from ...core.frames import numbers_to_matrix
from ...core.parameters import Parameters, parameter
from ...core.platform import POSITIONS, LoadParameters, numbers_of, said
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.constraints.tracking.offset_tracker import OffsetTracker
from ...lie_dynamics.stewart import OffsetPlatform, solve_from_home
from ...lie_dynamics.stewart.command import (
    ClassicalWashout,
    CommandFrames,
    CommandLimits,
    LegSetpoints,
    PlannedMotion,
    stopped,
)
from ...lie_dynamics.stewart.geometry.any_platform import Platform
from .targets import SHAPES, State, Target, Ways

STEPS = 150
"""Steps of the grid along a path."""


def _filter(default: float, description: str) -> Any:
    return parameter([default], f"{description} One for all axes, or x, y, z.", low=0.001, high=1000.0)


@dataclass(frozen=True)
class WashoutParameters(Parameters):
    """Parameters of the washout: names without ``washout_`` are those of `ClassicalWashout`."""

    washout_force_scale: tuple[float, ...] = parameter(
        [0.5],
        "Part of the vehicle's specific force, beyond that at rest, that is to be felt. One for all axes, or x, y, z.",
        low=-100.0,
        high=100.0,
    )
    washout_rate_scale: tuple[float, ...] = parameter(
        [0.5], "Part of its angular velocity. One for all axes, or x, y, z.", low=-100.0, high=100.0
    )
    washout_largest_force: float = parameter(10.0, "Largest scaled force, over mass [m/s^2].", low=0.001, high=1000.0)
    washout_largest_rate: float = parameter(2.0, "Largest scaled angular velocity [rad/s].", low=0.001, high=1000.0)
    washout_translation_cutoff: tuple[float, ...] = _filter(2.5, "Of the high-pass filter of accelerations [rad/s].")
    washout_translation_damping: tuple[float, ...] = _filter(1.0, "Its damping ratio.")
    washout_return_cutoff: tuple[float, ...] = _filter(
        0.3, "Of the high-pass filter that brings the platform back [rad/s]."
    )
    washout_rotation_cutoff: tuple[float, ...] = _filter(1.0, "Of the high-pass filter of angular velocities [rad/s].")
    washout_rotation_damping: tuple[float, ...] = _filter(1.0, "Its damping ratio.")
    washout_tilt_cutoff: tuple[float, ...] = _filter(
        3.0, "Of the low-pass filter whose output the platform tilts to [rad/s]."
    )
    washout_tilt_damping: tuple[float, ...] = _filter(1.0, "Its damping ratio.")
    washout_tilt_rate: float = parameter(
        0.05, "Largest angular speed of the tilt, below what riders perceive [rad/s].", low=0.0001, high=100.0
    )
    washout_tilt_angle: float = parameter(0.3, "Largest tilt [rad].", low=0.001, high=1.5)

    def check(self) -> None:
        """Raise ParameterError where no washout has these."""
        super().check()
        try:
            ClassicalWashout(1.0, **self.washout)
        except LieDynamicsError as error:
            raise ParameterError(f"washout_{error}") from error

    @property
    def washout(self) -> dict[str, Any]:
        """The arguments of `ClassicalWashout`."""
        return {one.name.removeprefix("washout_"): getattr(self, one.name) for one in WashoutParameters.settings()}


@dataclass(frozen=True)
class CommandParameters(WashoutParameters, LoadParameters):
    """Parameters of the core: limits, frames, times."""

    rate: float = parameter(500.0, "Set points per second [Hz].", "while unconfigured", low=1.0, high=10_000.0)
    max_rate: float = parameter(0.2, "Largest rate of a leg [m/s].", low=1e-6, high=100.0)
    max_acceleration: float = parameter(1.0, "Largest acceleration of a leg [m/s^2].", low=1e-6, high=10_000.0)
    max_force: float = parameter(0.0, "Largest force of a leg [N]; 0.0: no limit.", high=1e9)
    max_speed: float = parameter(0.0, "Largest speed of the tool's origin [m/s]; 0.0: no limit.", high=100.0)
    max_angular_speed: float = parameter(0.0, "Largest angular speed [rad/s]; 0.0: no limit.", high=1000.0)
    stroke_reserve: float = parameter(0.0, "Kept free at both ends of each leg's stroke [m].", high=10.0)
    max_base_angle: float = parameter(
        0.0,
        "Largest angle of a leg from where its joint on the base points to in the home pose [rad]; 0.0: no limit.",
        high=3.2,
    )
    max_platform_angle: float = parameter(
        0.0,
        "Largest angle of a leg from where its joint on the platform points to in the home pose [rad]; 0.0: no limit.",
        high=3.2,
    )
    max_condition: float = parameter(
        100.0, "Largest condition number of the leg Jacobian: the distance kept from singular poses.", low=1.0, high=1e6
    )
    work_pose: tuple[float, ...] = parameter(
        [0.0],
        "Its pose in the base frame: x, y, z [m], quaternion x, y, z, w; [0.0]: that of the base frame.",
        low=-1e6,
        high=1e6,
    )
    tool_pose: tuple[float, ...] = parameter(
        [0.0],
        "Its pose in the platform frame, as work_pose; its origin is the pivot. [0.0]: that of the platform frame.",
        low=-1e6,
        high=1e6,
    )
    shape: str = parameter("line", "How the tool moves between poses without times.", choices=tuple(SHAPES))
    twist_timeout: float = parameter(0.2, "For which a target twist is followed [s].", low=0.001, high=10.0)
    state_timeout: float = parameter(
        0.2, "Silence of leg lengths after which the platform is stopped [s]; 0.0: none.", high=3600.0
    )
    following_tolerance: float = parameter(
        0.05, "Distance of a leg from its set point at which the platform is stopped [m]; 0.0: none.", high=10.0
    )
    rest_speed: float = parameter(0.02, "Rate of a leg that counts as rest, which the node waits for [m/s].", high=10.0)
    vehicle_timeout: float = parameter(
        0.2,
        "Silence of the vehicle, or age of its messages, after which it counts as at rest [s].",
        low=0.001,
        high=60.0,
    )


@dataclass(frozen=True, eq=False)
class StewartCommandOptions:
    """A platform, and its limits and frames by parameters.

    Attributes
    ----------
    given : CommandParameters
    """

    platform: Platform
    limits: CommandLimits
    frames: CommandFrames
    given: CommandParameters

    @classmethod
    def from_values(cls, platform: Platform, values: Mapping[str, Any]) -> StewartCommandOptions:
        """Make options of parameter values; raises ParameterError where they make no sense together."""
        margin = values["stroke_reserve"]
        stroke = platform.motor_limits + np.array([margin, -margin])
        if not (stroke[:, 0] < stroke[:, 1]).all():
            unit = platform.motor_units[0]
            raise ParameterError(f"stroke_reserve is {margin:g} {unit}; it leaves nothing of the stroke of a leg")
        given = CommandParameters.from_values(values)
        try:
            limits = CommandLimits(
                platform,
                stroke=stroke,
                rate=given.max_rate,
                acceleration=given.max_acceleration,
                force=_limit(given.max_force),
                base_cone=_limit(given.max_base_angle),
                platform_cone=_limit(given.max_platform_angle),
                condition=given.max_condition,
                speed=_limit(given.max_speed),
                angular_speed=_limit(given.max_angular_speed),
            )
            frames = CommandFrames(_pose(given.work_pose, "work_pose"), _pose(given.tool_pose, "tool_pose"))
        except LieDynamicsError as error:
            raise ParameterError(str(error)) from error
        return cls(platform, limits, frames, given)

    def ways(self) -> Ways:
        """Return how targets become motions."""
        given = self.given
        return Ways(self.limits, given.load, self.frames, given.shape, STEPS, given.twist_timeout)


def _limit(value: float) -> float:
    return value if value > 0.0 else np.inf


def _pose(numbers: tuple[float, ...], name: str) -> Array | None:
    if numbers == (0.0,):
        return None
    try:
        return numbers_to_matrix(numbers_of(numbers, name, 7))
    except MessageError as error:
        raise ParameterError(f"{name}: {error}") from error


CHUNK = 50
"""Set points that are computed at once."""
STOP_AHEAD = 0.03
"""When a stop begins at the earliest [s]: it has to be planned before."""
LONGEST_TICK = 0.1
"""Longest time of one tick [s]: a node that was held up goes on where it was."""


@dataclass(eq=False)
class Plan:
    """A motion to be planned, away from the ticks, and what became of it.

    Attributes
    ----------
    target : Target
    begin : int
        Tick of the present motion at which it is left.
    state : State
        Of the platform then.
    serial, orders : int
        Of the core's motion, and of orders to hold or stop, when the plan was requested.
    """

    target: Target
    begin: int
    state: State
    ways: Ways
    serial: int
    orders: int
    motion: PlannedMotion | None = None
    failure: str = ""

    def make(self) -> Plan:
        """Plan it; never raises."""
        try:
            self.motion = self.target.motion(self.ways, self.state)
        except (LieDynamicsError, MessageError) as error:
            self.failure = str(error)
        except Exception as error:  # whatever is wrong with a target, what is under way goes on
            self.failure = f"{type(error).__name__}: {error}"
        return self


def _pose_from_home(platform: Platform, lengths: Array) -> tuple[Array | None, str]:
    """Return the pose to which lengths lead from home, None where none is proven, and how it was found."""
    if isinstance(platform, OffsetPlatform):
        tracked = OffsetTracker(platform, platform.home_pose).update(lengths)
        return tracked.pose if tracked.valid else None, tracked.message
    start = solve_from_home(platform, lengths)
    return start.pose if start.converged else None, start.message


class StewartCommandCore:
    """Set points of one platform's legs.

    Parameters
    ----------
    options : StewartCommandOptions
    legs : sequence of str
        Their names, for errors.

    Attributes
    ----------
    phase, reason : str
        One of off, holding, following, stopping, stopped, and why.
    refusal : str
        Why the last target is not followed; empty where it is.
    """

    def __init__(self, options: StewartCommandOptions, legs: Sequence[str]) -> None:
        self.options, self.legs = options, tuple(legs)
        self.phase, self.reason, self.refusal = OFF, "no leg lengths yet", ""
        self.pending: Target | None = None
        self._again: Target | None = None
        self._ends = False  # whether what comes next is a stop
        self._ways = options.ways()
        self._period = 1.0 / options.given.rate
        self._motion: PlannedMotion | None = None
        self._next: tuple[int, PlannedMotion] | None = None
        self._tick, self._serial, self._orders = 0, 0, 0
        self._owed = 0.0  # ticks of time that passed without a set point, negative where set points are ahead
        self._rest = np.eye(4)
        self._chunk: LegSetpoints | None = None
        self._last: LegSetpoints | None = None
        self._chunk_begin = 0
        platform, home = options.platform, options.platform.home_pose
        if home is not None:  # asked once now, so that nothing is compiled for the first lengths
            _pose_from_home(platform, platform.motor_positions(home))

    # Beginning and end.

    def begin(self, lengths: Array, rates: Array | None) -> bool:
        """Begin to hold the platform where its legs are; return whether it can be held there, or give the reason."""
        found = ""
        stroke, unit = self.options.limits.stroke, self.options.platform.motor_units[0]
        beyond = (lengths < stroke[:, 0]) | (lengths > stroke[:, 1])
        if not (np.isfinite(lengths).all() and (unit != "m" or (lengths > 0.0).all())):
            found = f"{POSITIONS[unit]} that are not{' positive' if unit == 'm' else ''} numbers"
        elif beyond.any():
            leg = int(np.argmax(beyond))
            low, high = stroke[leg]
            found = f"{self.legs[leg]} is {said(lengths[leg], unit)}, limits {low:.6g} to {high:.6g} {unit}"
        elif rates is not None and np.abs(rates).max() > self.options.given.rest_speed:
            leg = int(np.abs(rates).argmax())
            found = f"{self.legs[leg]} moves at {rates[leg]:.3g} {unit}/s; waiting for rest"
        else:
            try:
                pose, message = _pose_from_home(self.options.platform, lengths)
            except LieDynamicsError as error:
                found = str(error)
            else:
                if pose is not None:
                    self._rest, self._motion = pose, None
                    self._forget()
                    self._enter(HOLDING, "holding the platform where it was found")
                    return True
                found = f"no pose is known for the {POSITIONS[unit]}: {message}"
        self.reason = found
        return False

    def end(self) -> LegSetpoints | None:
        """Command nothing from now on; return the last set points, at rest, where there were any."""
        last = None if self.phase == OFF or self._last is None else self._ways.at_rest(self._last.pose)
        self._motion = None
        self._forget()
        self._enter(OFF, "no leg lengths yet")
        return last

    # Ticks.

    def step(self, elapsed: float) -> LegSetpoints:
        """Return the set points after so long [s], in whole ticks; arrays of one state each."""
        self._tick += self._count(elapsed)
        if self._next is not None and self._tick >= self._next[0]:
            begin, self._motion = self._next
            self._tick -= begin
            self._next, self._chunk, self._serial = None, None, self._serial + 1
        motion = self._motion
        if motion is not None and self._tick * self._period >= motion.duration:
            self._arrive(motion)
        if self._chunk is None or not 0 <= self._tick - self._chunk_begin < len(self._chunk.lengths):
            self._fill()
        assert self._chunk is not None
        at = self._tick - self._chunk_begin
        self._last = LegSetpoints(*(field[at] for field in self._chunk))
        return self._last

    def _count(self, elapsed: float) -> int:
        """Return how many ticks have passed: one, unless set points would be more than one off the time by that."""
        if not math.isfinite(elapsed):
            self._owed = 0.0
            return 1
        self._owed += min(max(elapsed, 0.0), max(LONGEST_TICK, 2.0 * self._period)) / self._period
        count = 1 if abs(self._owed - 1.0) <= 1.0 else max(0, round(self._owed))
        self._owed -= count
        return count

    def _arrive(self, motion: PlannedMotion) -> None:
        self._rest = motion.at(motion.duration).pose
        if self._next is not None:  # what comes next counts ticks from the beginning of this motion
            self._next = max(1, self._next[0] - self._tick), self._next[1]
        self._motion, self._chunk, self._tick, self._serial = None, None, 0, self._serial + 1
        if self.phase == STOPPING:
            self._enter(STOPPED, f"{self.reason}; call ~/hold to go on")
        elif self.phase == FOLLOWING and self._next is None:
            self._enter(HOLDING, "at rest")

    def _fill(self) -> None:
        """Compute set points for some ticks."""
        self._chunk_begin = self._tick
        times = (self._tick + np.arange(CHUNK)) * self._period
        if self._motion is not None:
            self._chunk = self._motion.at(times)
            return
        points = self._ways.at_rest(self._rest)
        self._chunk = LegSetpoints(*(np.repeat(field[None], CHUNK, axis=0) for field in points))

    def use(self, options: StewartCommandOptions) -> None:
        """Take on options for targets from now on; rate and platform stay."""
        self.options, self._ways, self._chunk = options, options.ways(), None

    @property
    def rests(self) -> bool:
        """Whether the platform is commanded to rest, and nothing is about to begin."""
        return self._motion is None and self._next is None

    @property
    def free(self) -> bool:
        """Whether nothing is about to take the place of the present motion."""
        return self._next is None

    @property
    def pose(self) -> Array:
        """Pose (4, 4) of the platform as commanded last."""
        last = self._last  # services read it beside the ticks
        return self._rest if last is None else last.pose

    @property
    def state(self) -> State:
        """Pose and rest of the platform as commanded last, for what is checked from there."""
        return State(self.pose, np.zeros(6))

    @property
    def ways(self) -> Ways:
        """Planning of targets."""
        return self._ways

    # Targets.

    def ask(self, target: Target, lead: float) -> Plan | None:
        """Return what is to be planned for a target, which may be taken on after a lead [s]; None where it is refused.

        A moving platform that is to stop first keeps the target until it rests; see `due`.
        """
        not_now = self.not_now()
        if not_now:
            self.refusal = not_now
            return None
        self.pending = self._again = None
        moving = self._motion
        if moving is None:
            return Plan(target, 0, State(self._rest, np.zeros(6)), self._ways, self._serial, self._orders)
        begin = self._tick + max(1, math.ceil(lead / self._period))
        at = moving.at(begin * self._period)
        return Plan(target, begin, State(at.pose, at.twist), self._ways, self._serial, self._orders)

    def not_now(self) -> str:
        """Say why no target is followed now; empty where one is."""
        if self.phase == OFF:
            return f"nothing is followed: {self.reason}"
        if self.phase in UNTIL_HOLD:
            return f"nothing is followed until ~/hold is called: {self.reason}"
        return ""

    def take(self, plan: Plan) -> None:
        """Go on with what has been planned, unless it came too late or something else came first."""
        if plan.orders != self._orders:
            return  # commanded to hold since
        self.refusal = ""
        if plan.failure:
            self.refusal = f"{plan.target.word} refused: {plan.failure}"
            return
        if plan.serial != self._serial or (self._motion is not None and self._tick >= plan.begin):
            self._again = plan.target  # too late: to be planned again
        elif plan.motion is None and not plan.state.resting:
            self.pending = plan.target
            self._slow_down()
        elif plan.motion is not None:
            self._next, self._ends = (plan.begin if self._motion is not None else self._tick + 1, plan.motion), False
            self._enter(FOLLOWING, plan.target.word)

    @property
    def waits(self) -> bool:
        """Whether a target waits to be planned."""
        return self.pending is not None or self._again is not None

    def due(self) -> Target | None:
        """Return a target that is to be planned again, or that waited until the platform rests, once it does."""
        if self._again is not None:
            target, self._again = self._again, None
            return target
        if self.pending is None or self._motion is not None or self._next is not None:
            return None
        target, self.pending = self.pending, None
        return target

    def hold(self, reason: str = "commanded to hold") -> None:
        """Slow down on the path and hold; after a stop, be ready for targets again."""
        if self.phase == OFF:
            return
        self.pending = self._again = None
        self.refusal, self._orders = "", self._orders + 1
        self._slow_down()
        self._enter(HOLDING, reason)

    def stop(self, reason: str) -> None:
        """Slow down on the path, and follow nothing until commanded to hold."""
        if self.phase in (OFF, *UNTIL_HOLD):
            return
        self.pending = self._again = None
        self._orders += 1
        self._slow_down()
        self._enter(STOPPING if self._motion is not None else STOPPED, reason)

    def _slow_down(self) -> None:
        """Leave the present motion for its stop, unless that is under way."""
        motion = self._motion
        if motion is None:
            self._next = None
        elif self._next is None or not self._ends:
            begin = self._tick + max(1, math.ceil(STOP_AHEAD / self._period))
            self._next, self._ends = (begin, stopped(motion, begin * self._period)), True
        self._serial += 1

    def _forget(self) -> None:
        self.pending = self._again = self._next = self._chunk = self._last = None
        self._tick = 0
        self.refusal, self._serial, self._orders = "", self._serial + 1, self._orders + 1

    def _enter(self, phase: str, reason: str) -> None:
        self.phase, self.reason = phase, reason

    # What is measured.

    def watch(self, lengths: Array) -> None:
        """Compare measured lengths with those commanded; too far off, the platform is stopped."""
        tolerance = self.options.given.following_tolerance
        if not tolerance or self._chunk is None or self.phase in (OFF, *UNTIL_HOLD):
            return
        at = min(max(self._tick - self._chunk_begin, 0), len(self._chunk.lengths) - 1)
        gap = np.abs(lengths - self._chunk.lengths[at])
        if not (gap <= tolerance).all():
            leg = int(np.argmax(np.nan_to_num(gap, nan=np.inf)))
            unit = self.options.platform.motor_units[0]
            self.stop(f"{self.legs[leg]} is {gap[leg]:.4g} {unit} off its set point, tolerance {tolerance:g} {unit}")
