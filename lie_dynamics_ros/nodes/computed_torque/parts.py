"""The parts of a controller of one robot, and the state that it keeps from one answer to the next."""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.commands import OFF, STOPPED, STOPPING, YIELDING, JointPoints
from ...core.errors import MessageError, ParameterError
from ...core.robot_state import RobotState, effort_of_wrenches
from ...core.turns import Turns
from ...lie_dynamics import JointFriction, LieDynamicsError, Model, SpatialInertia
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control import ComputedTorquePID, SoftLimits
from ...lie_dynamics.control.feasibility import MotionLimits
from ...lie_dynamics.control.kernels.signals import LARGEST, keeps_limits, within
from ...lie_dynamics.control.robots import Robot, gravity_force
from .drive_estimate import DriveEstimate
from .efforts import EffortLimiter
from .gains import FLOOR, LoopReport, examine, lowered
from .laws import ControllerAnswer, Laws
from .learning import UNLIMITED, least_weight, make_learner
from .loop_timing import LoopTiming
from .motor_states import MotorStates
from .options import CONTROL_MODES, MOTOR_MODES, ComputedTorqueOptions
from .oscillation_watch import OscillationWatch
from .stopping import RESTING, Stop, StopMotion
from .tool_control import ToolControl
from .tool_options import TOOL_MODES
from .trajectories.goals import Goals
from .trajectories.judging import TrajectoryValidator
from .trajectories.trajectory_piece import Desired
from .trajectories.trajectory_player import PastPath, PathClock, TrajectoryPlayer

JUMP = 0.02  # by what part gravity may change from one measurement to the next before efforts are blended
#: Error beyond which a stop holds the robot where it is, in place of `error_limit` where that is 0 [rad, m].
USUAL_ERROR_LIMIT = 0.5
#: Beyond this speed, over the velocity limit, a blow has thrown the robot: how efforts swing then is not checked.
THROWN = 5.0
#: Modes that follow motions of joints; by the first one a robot comes to rest where none is in force.
PATH_MODES = ("computed_torque", "passivity_based", "adaptive")
#: Speed away from its range with which a joint beyond it is stopped, over the velocity limit, or [rad/s, m/s].
OUTWARDS = 0.01


class RobotFacts:
    """A robot as its controller sees it, whatever the options; arrays (n,), a joint with one coordinate each.

    `friction` of the drives is compensated at the desired velocity; `motors` are those of a closed robot, else None;
    the effort `limit` is the largest float for none; `tool` is the link whose pose is controlled where options name
    none.
    """

    def __init__(
        self, model: Robot, friction: JointFriction | None, motors: MotorStates | None, limit: Array, tool: str
    ) -> None:
        limits, n, self.tool = model.limits, model.nv, tool
        self.model, self.friction, self.motors, self.limit, self.zero = model, friction, motors, limit, np.zeros(n)
        self.fastest = np.where(limits.velocity > 0.0, limits.velocity, np.inf)  # exporters write 0 for "not given"
        self.speed = np.where(np.isfinite(self.fastest), self.fastest, 1.0)
        self.scale = np.where(limit < np.finfo(float).max, limit, UNLIMITED)
        self.resting, self.thrown, self.largest = RESTING * self.speed, THROWN * self.speed, np.full(n, LARGEST)
        self.soft, self.turns = SoftLimits(limits.lower, limits.upper), Turns.of(model, model.joint_names)
        self.unknown = self.zero if motors is None else np.zeros(len(motors.follower.places))
        self.expects = motors is None or motors.same


class Guard:
    """Limits of states that options set for a robot; `fastest` is infinite and `speed` 1 where there is none (n,)."""

    def __init__(
        self, names: tuple[str, ...], soft: SoftLimits, fastest: Array, speed: Array, options: ComputedTorqueOptions
    ) -> None:
        self._names, self._soft, self._tolerance = names, soft, options.position_tolerance
        self._outwards = OUTWARDS * speed
        self._room = soft.usual + options.position_tolerance
        watched = options.mode != "gravity_compensation" and options.error_limit > 0.0
        self._far = np.full(len(names), options.error_limit if watched else np.finfo(float).max)
        self._fast = np.minimum(fastest * (1.0 + options.velocity_tolerance), np.finfo(float).max)

    def violation(self, position: Array, velocity: Array, desired: Desired) -> str:
        """Say which limit a state (n,), (n,) breaks, or which error is too large; empty where none."""
        tolerance, soft, aim = self._tolerance, self._soft, desired.position
        if keeps_limits(position, velocity, aim, soft.center, self._room, self._fast, self._far) == 1:
            return ""
        error = aim - position
        out = (velocity > self._outwards) & (position > soft.upper + tolerance)
        out |= (velocity < -self._outwards) & (position < soft.lower - tolerance)
        names = self._names
        for bad, what in (
            (np.abs(velocity) > self._fast, "moves faster than its limit"),
            (np.abs(error) > self._far, "is farther from its desired position than error_limit"),
            (out, "moves on beyond its position limit"),
        ):
            if bad.any():
                return f"joint {', '.join(names[k] for k in np.flatnonzero(bad))} {what}"
        return ""


@dataclass(slots=True)
class ControllerState:
    """What a controller keeps from one answer to the next, besides the states of its parts; arrays (n,)."""

    position: Array  # of the last state [rad, m]
    velocity: Array  # of the last state [rad/s, m/s]
    stood: Array  # what the mode before exerted at rest [N m, N]
    phase: str = OFF  # one of `PHASES`
    why: str = "not active"  # the reason for it
    note: str = ""  # what the user should know besides, until something else is begun
    player: TrajectoryPlayer | None = None  # the desired motion; None before the first state
    last: int | None = None  # time of the last state [ns]
    inherited: int | None = None  # that of the controller before, whose motion goes on [ns]
    answer: ControllerAnswer | None = None  # the last one, until it is learned from
    moved: str | None = None  # the mode before, until the robot is commanded to rest after a change
    bridge: str = ""  # mode by which a motion comes to rest before another mode begins
    touched: bool = False  # whether something touches the robot
    way_back: JointPoints | None = None  # by which the robot retracts
    pace: float = 1.0  # rate of desired motions, besides `speed_scaling`

    def enter(self, phase: str, why: str) -> None:
        """Go on in a phase, for a reason, unless that is the present one."""
        if phase != self.phase:
            self.phase, self.why = phase, why

    def forgotten(self) -> ControllerState:
        """Return what stays where times and trajectories are forgotten: phase and contact, and a change of mode."""
        return replace(self, player=None, last=None, answer=None, inherited=None, bridge="")


@dataclass
class ControllerParts:
    """All parts of a controller; those with a state of their own go on where options change."""

    robot: RobotFacts
    options: ComputedTorqueOptions
    dynamics: Robot  # the model with all that the options include
    numbers: dict[str, Array]  # parameters that have a number for each joint (n,)
    laws: Laws
    tool: ToolControl  # control of the tool's pose, whether in use or not
    guard: Guard
    judge: TrajectoryValidator
    far_stop: Array  # errors (n,) beyond which a stop holds the robot where it is
    efforts: EffortLimiter
    timing: LoopTiming  # what the loop knows of time
    stop: Stop
    watch: OscillationWatch
    drives: DriveEstimate
    goals: Goals
    clock: PathClock
    past: PastPath  # the path that led to what is followed
    state: ControllerState
    floored: NDArray[np.bool_] = field(init=False)  # joints whose gains have a floor, as their model was found wrong
    learning_cap: float = np.inf  # least damping besides the mass matrix for which learning was found slow enough

    @property
    def mode(self) -> str:
        """Control mode in force."""
        s = self.state
        return "gravity_compensation" if s.phase == YIELDING else s.bridge or self.options.mode

    @property
    def reason(self) -> str:
        """Why the robot is in its phase; and by how much gains are lowered while they fed an oscillation."""
        factor, why = self.watch.factor, self.state.why
        return why if factor == 1.0 else f"{why}; oscillation: gains at {min(90, 10 * round(10.0 * factor))} %"

    @property
    def reacts(self) -> bool:
        """Whether something touches, and the robot is to do something about it."""
        return self.state.touched and self.options.contact_reaction != "none"

    def gravity(self, position: Array) -> Array:
        """Efforts that hold the robot at rest at a position (n,), in model order [N m, N]."""
        return gravity_force(self.dynamics, position)

    def standing(self, mode: str) -> Array:
        """Efforts of a mode (n,) that would stand where the robot is [N m, N]."""
        return self.laws.standing(mode, self.state.position)

    def suit_gains(self) -> None:
        """Find the gains that the loop can carry at its present periods and delay."""
        laws, robot, options = self.laws, self.robot, self.options
        told = self.dynamics.limits.armature  # 0 for "not given"
        drives = laws.drives
        self.floored = np.zeros(robot.model.nv, dtype=bool) if drives is None else drives.state.found.copy()
        floor = FLOOR * np.where(self.floored, robot.scale, 0.0)
        gains = self.timing.suit(options, self.numbers, told, robot.scale, floor)
        self.lower_gains()
        self.timing.find_lead(options, laws.gains)
        if options.mode == "adaptive" and not gains.cap >= self.learning_cap:
            self.learning_cap, learner = gains.cap, laws.learner
            learner.gamma = max(options.adaptation_weight, least_weight(learner, gains, robot.speed))

    def lower_gains(self) -> None:
        """Put gains in force that suit the loop, lower where they fed an oscillation."""
        gains, watch = self.timing.gains, self.watch.state
        if self.state.phase in (STOPPING, STOPPED):
            self.laws.set_gains(replace(gains, stop=gains.stop.lowered(watch.quick, watch.slow)))
        else:
            self.laws.set_gains(lowered(gains, watch.quick * watch.first, watch.quick))

    def forget_times(self) -> None:
        """Forget what efforts did: the time until the next state is not known, nor what happens until then."""
        self.efforts.forget()
        self.stop.reversal.forget()
        self.timing.forget_delay(self.options, self.laws.gains)

    def slow_down(self) -> None:
        """Stay where the robot is, as it was measured last; come to rest first where it moves."""
        s, zero = self.state, self.robot.zero
        assert s.player is not None and s.last is not None
        s.player.hold_at(s.position)
        if within(s.velocity, self.robot.resting) != 1:
            now = Desired(s.position, s.velocity, zero, zero)
            s.player.slow_down(s.last, now, self.judge.way_to_rest(now))

    def turn_gravity(self, dynamics: Robot, gravity: Array, step: Array) -> None:
        """Go on with the dynamics under another gravity (3,), which made a step (3,) [m/s^2]."""
        s, time = self.state, self.options.blend_time
        self.dynamics = self.tool.model = self.judge.model = dynamics  # type: ignore[assignment]
        self.laws.turn_gravity(dynamics)
        self.timing.late_errors.pause()  # efforts change by what nobody commands ahead
        if s.last is not None and np.linalg.norm(step) > JUMP * np.linalg.norm(gravity):

            def held(other: Array) -> Array:
                return gravity_force(dynamics.with_gravity(other), s.position)

            self.efforts.blend.turn(s.last, gravity, step, time, held)

    # Diagnostics.

    def loop(self) -> LoopReport:
        """Examine the sampled loop at the present pose; costs about a millisecond."""
        s, mode, gains, model = self.state, self.options.mode, self.laws.gains, self.robot.model
        position = model.neutral() if s.last is None else s.position
        tool = self.tool.loop(mode, position, gains) if mode in TOOL_MODES else None
        return examine(self.dynamics, position, gains, mode, s.phase in (STOPPING, STOPPED), tool)

    def estimate(self) -> tuple[str, SpatialInertia]:
        """Return the first body whose parameters are learned, and its estimated inertia in its frame."""
        learner = self.laws.learner
        assert learner is not None
        body = learner.bodies[0]
        return self.robot.model.body_names[body], learner.inertia(body)


def make_parts(
    robot: RobotFacts, options: ComputedTorqueOptions, dynamics: Robot, before: ControllerParts | None = None
) -> ControllerParts:
    """Return the parts under some options, which go on where those before are; these stay as they were.

    Runs all that is needed once, so that nothing is compiled while states come in. Raises ParameterError where the
    robot cannot have these options.
    """
    if robot.motors is not None and options.mode not in MOTOR_MODES:
        raise ParameterError(f"mode {options.mode} of a robot with loops; expected {' or '.join(MOTOR_MODES)}")
    n, given = robot.model.nv, options.numbers.items()
    numbers = {name: np.array(np.broadcast_to(np.array(values, np.float64), (n,))) for name, values in given}
    same_mode = before is not None and before.options.mode == options.mode
    learner = None
    if isinstance(dynamics, Model):
        learned = before.laws.learner if before is not None and same_mode else None
        learner = make_learner(dynamics, options, numbers, learned)
    pid = ComputedTorquePID(dynamics, numbers["kp"], numbers["kd"], numbers["ki"], numbers["integral_limit"])
    bare = None
    if isinstance(dynamics, Model) and options.payload_mass > 0.0:
        bare = replace(options, payload_mass=0.0).apply(robot.model)
    laws = Laws(dynamics, learner, pid, robot.soft, robot.friction, robot.fastest, bare)
    made: dict[str, Any] = {
        "robot": robot, "options": options, "dynamics": dynamics, "numbers": numbers, "laws": laws,
        "far_stop": np.full(n, options.error_limit or USUAL_ERROR_LIMIT),
        "guard": Guard(robot.model.joint_names, robot.soft, robot.fastest, robot.speed, options),
        "judge": TrajectoryValidator(
            dynamics, robot.friction, _motion_limits(robot, options, numbers),
            options.check_dynamics and options.saturate_efforts, options.on_infeasible, options.stop_time,
            options.allow_nonzero_velocity_at_trajectory_end,
        ),
        "tool": _tool_control(robot, options, dynamics),
    }  # fmt: skip
    if before is None:
        parts = ControllerParts(**made, **_first_parts(robot))
        parts.watch.reset(options.learn_drives)
    else:
        timing = copy.copy(before.timing)
        state, drives = replace(before.state), _drives_beside(before, options, dynamics)
        parts = replace(before, **made, timing=timing, state=state, drives=drives, learning_cap=np.inf)
        keeps = same_mode or options.mode not in PATH_MODES  # as the old law may go on
        if keeps and before.options.numbers["ki"] == options.numbers["ki"]:
            pid.integral = before.laws.pid.integral
    laws.drives = parts.drives if robot.motors is None else None
    rates = numbers["effort_rate_limit"]
    parts.efforts = parts.efforts.with_options(options.saturate_efforts, options.effort_policy, rates)
    parts.suit_gains()
    if before is not None:
        tools, s = options.mode in TOOL_MODES and before.options.mode in TOOL_MODES, parts.state
        goes_on = same_mode if not tools else parts.tool.adopt(before.tool, same_mode) and same_mode
        if not goes_on and s.moved is None and s.last is not None:
            s.moved, s.stood = before.mode, before.standing(before.mode)
    parts.efforts.blend.change(options.blend_time)
    _warm_up(parts)
    if before is None:
        _warm_up_motion(parts)
    return parts


def _first_parts(robot: RobotFacts) -> dict[str, Any]:
    """Return the parts that go on where options change."""
    zero, limit, scale = robot.zero, robot.limit, robot.scale
    fastest = np.minimum(robot.fastest, np.finfo(float).max)
    return {
        "efforts": EffortLimiter(limit), "timing": LoopTiming(robot.speed), "watch": OscillationWatch(scale),
        "stop": Stop(robot.soft, limit, scale, fastest, robot.speed, robot.motors is None),
        "drives": DriveEstimate(scale, robot.friction is not None), "goals": Goals(), "clock": PathClock(),
        "past": PastPath(), "state": ControllerState(zero, zero, zero),
    }  # fmt: skip


def _drives_beside(before: ControllerParts, options: ComputedTorqueOptions, dynamics: Robot) -> DriveEstimate:
    """Return what was found of the drives beside the model under other options."""
    drives, robot, s = before.drives, before.robot, before.state
    if s.last is not None and dynamics is not before.dynamics:
        drives = drives.beside(gravity_force(dynamics, s.position) - before.gravity(s.position))
    modes = before.options.mode, options.mode
    if modes[0] != modes[1] and options.mode in PATH_MODES and "adaptive" in modes:
        return DriveEstimate(drives.scale, robot.friction is not None)  # it was found beside another model
    return drives


def _motion_limits(robot: RobotFacts, options: ComputedTorqueOptions, numbers: dict[str, Array]) -> MotionLimits:
    limits, asked = MotionLimits.of(robot.model), numbers["acceleration_limit"]
    most = np.where(asked > 0.0, asked, np.inf)
    return replace(
        limits,
        acceleration=np.minimum(limits.acceleration, most),
        deceleration=np.minimum(limits.deceleration, most),
        effort=limits.effort if options.saturate_efforts else np.full(len(most), np.inf),
    )


def _tool_control(robot: RobotFacts, options: ComputedTorqueOptions, dynamics: Robot) -> ToolControl:
    limit = options.error_limit
    return ToolControl(dynamics, options, limit, robot.fastest, robot.soft, robot.tool, robot.friction)


def _warm_up(parts: ControllerParts) -> None:
    """Run every law once, and leave no trace of it."""
    laws, robot, dynamics = parts.laws, parts.robot, parts.dynamics
    q, zero, integral = robot.model.neutral(), robot.zero, laws.pid.integral
    desired = Desired(q, zero, zero, zero)
    for mode in CONTROL_MODES if robot.motors is None else MOTOR_MODES:
        if mode not in TOOL_MODES:
            laws.wanted(mode, q, zero, desired, 0.0, False)
            continue
        tool = _tool_control(robot, parts.options, dynamics)
        tool.follow(0, 0.0, q)
        tool.wanted(mode, q, zero, laws.gains, 0.0)
    parts.guard.violation(q, zero, desired)
    other = _first_parts(robot)
    stop: Stop = other["stop"]
    stop.move(q, zero, q, zero, 1e-3)
    stop.note(zero, zero, zero, 1e-3)
    stop.feeling.update(zero, zero > 0.0, np.diag(robot.scale), robot.scale, 1e-3, 1e-2, (zero, zero))
    stop.coarse.update(q, zero, 1e-3, 1e-2)
    stop.noise.mend(RobotState(0, q, zero), 1e-3)
    other["watch"].update(zero, 1e-3)
    for _ in range(2):
        other["timing"].late_errors.note(np.diag(robot.scale), zero, (zero, zero), zero, (0.0, 1e-3), 1e-3, True)
    if laws.drives is not None:
        other["drives"].update(dynamics, q, zero, zero, zero, 1e-3)
        other["drives"].loosen(zero, zero, 1e-3, np.diag(robot.scale), robot.scale, zero)
    rest = StopMotion((q, zero, zero), zero, zero, q, zero, zero, False, None, [], laws.gains.stop)
    laws.stopping(q, zero, rest)
    gravity_force(dynamics, q)
    effort_of_wrenches(dynamics, q, np.zeros((robot.model.n_bodies, 6)))
    within(zero, robot.limit)
    laws.pid.reset()
    laws.pid.integral = integral


def _warm_up_motion(parts: ControllerParts) -> None:
    """Check a trajectory that stays where it is, play it, and find how fast may be learned, as motions and modes do."""
    robot, judge, zero = parts.robot, parts.judge, parts.robot.zero
    q = np.clip(robot.model.neutral(), robot.soft.lower, robot.soft.upper)
    points = JointPoints(np.arange(len(q)), np.ones(1), q[None], zero[None], zero[None])
    player = TrajectoryPlayer(q, np.inf, PathClock(), robot.turns, robot.model.joint_names)
    with suppress(LieDynamicsError, MessageError):  # a pose that nothing holds
        player.add(0, 0, judge.prepare(points, 0, player.desired).points)
        player.at(1)
    if parts.laws.learner is not None:
        least_weight(parts.laws.learner, parts.timing.gains, robot.speed)
