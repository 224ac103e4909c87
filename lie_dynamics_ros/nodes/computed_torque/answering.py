"""Answers of the node computed_torque to states, without ROS."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.commands import FOLLOWING, HOLDING, OFF, STOPPED, STOPPING, UNTIL_HOLD, YIELDING
from ...core.errors import MessageError
from ...core.joint_points import JointPoints
from ...core.robot_state import RobotState, pushes
from ...core.turns import Turns
from ...lie_dynamics import InputError, JointFriction, LieDynamicsError
from ...lie_dynamics.control import EffortHistory, SampleTimes, SoftLimits
from ...lie_dynamics.control.kernels.signals import LARGEST, within
from ...lie_dynamics.control.position_steps import PositionSteps
from ...lie_dynamics.control.robots import Robot, gravity_force, inverse_dynamics
from ...lie_dynamics.control.velocity_filter import velocity_noise
from .answer import ControllerAnswer
from .drive_estimate import DriveEstimate
from .efforts import EffortLimiter, ExertedEffort
from .gains import lowered
from .guard import Guard
from .laws import LEARNING_MODES, LawEffort
from .learning import UNLIMITED
from .motor_states import MotorStates
from .observing import Observer
from .oscillation_watch import LEAST_FACTOR
from .stopping import AT_REST, RESTING, Stop
from .timed_loop import TimedLoop
from .tool.tool_options import TOOL_MODES
from .tool_control import ToolControl
from .trajectories.goals import Goals
from .trajectories.judging import TrajectoryJudge
from .trajectories.past_path import PastPath
from .trajectories.path_clock import PathClock
from .trajectories.trajectory_piece import Desired
from .trajectories.trajectory_player import TrajectoryPlayer

PATH_MODES = ("computed_torque", "passivity_based", "adaptive")
"""Modes that follow motions of joints; by the first one a robot comes to rest where none is in force."""
BRIDGES = {"passivity_based": "passivity_based", "adaptive": "passivity_based"}
"""By which law motions of these come to rest before a mode begins that follows no path; others by the first."""
NOISE_SWING = 2.0
"""Swing of efforts by steps of positions, over a step times the gain from it to efforts."""
THROWN = 5.0
"""Beyond this speed, over the velocity limit, a blow has thrown the robot: how efforts swing then is not checked."""
LOST = "the loops are lost"
"""Why a closed robot stops that cannot be followed."""


class Answering(TimedLoop):
    """The part of `ComputedTorqueCore` that answers states, and what it keeps from one to the next."""

    judge: TrajectoryJudge
    _guard: Guard
    _tool: ToolControl
    _far_stop: Array  # errors beyond which a stop holds the robot where it is

    def __init__(self, robot: Robot, friction: JointFriction | None, motors: MotorStates | None) -> None:
        super().__init__(robot, friction)
        self.motors = motors
        self._expects = motors is None or motors.same  # whether joints are measured that are desired to move
        self._unknown = self.zero if motors is None else np.zeros(len(motors.follower.places))
        self.turns = Turns.of(robot, robot.joint_names)
        limits, n = robot.limits, len(robot.joint_names)
        self._resting = RESTING * self._speed
        self._thrown = THROWN * self._speed
        self._largest = np.full(n, LARGEST)
        self._soft = SoftLimits(limits.lower, limits.upper)
        self._efforts = EffortLimiter(self.limit)
        self._observer = Observer(self._soft)
        fastest = np.minimum(self.fastest, np.finfo(float).max)
        self._stop = Stop(self._soft, self.limit, self._scale, fastest, self._speed, motors is None)
        self.phase, self._reason, self.note = OFF, "not active", ""
        self.player: TrajectoryPlayer | None = None
        self.clock = PathClock()
        self.goals = Goals()
        self._touched = False
        self._past = PastPath()
        self._way_back: JointPoints | None = None
        self._pace = 1.0  # rate that the clock is to have
        self._last: int | None = None  # stamp of the last state [ns]
        self._inherited: int | None = None  # that of the controller before, whose motion goes on
        self._latest: ControllerAnswer | None = None  # the last answer, until it is learned from
        self._steps = PositionSteps(n)
        self._drive_history = EffortHistory()
        self._drives = DriveEstimate(
            np.where(self.limit < np.finfo(float).max, self.limit, UNLIMITED), friction is not None
        )
        self._watched: int | None = None  # stamp of the last answer that was looked at for oscillation [ns]
        self._moved: str | None = None  # the mode before, until the robot is told to come to rest after a change
        self._stop_noise = self.zero  # how far noise of sensors makes efforts of a stop swing
        self._stood = self.zero  # what that one exerted at rest
        self._bridge = ""  # mode by which a motion comes to rest before another mode begins

    def gravity(self, position: Array) -> Array:
        """Efforts that hold the robot at rest at a position (n,), in model order [N m, N]."""
        return gravity_force(self.dynamics, position)

    @property
    def mode(self) -> str:
        """Control mode in force."""
        return "gravity_compensation" if self.phase == YIELDING else self._bridge or self.options.mode

    @property
    def reason(self) -> str:
        """Why the robot is in its phase; and by how much gains are lowered while they fed an oscillation."""
        factor = self._watch.factor
        if factor == 1.0:
            return self._reason
        return f"{self._reason}; oscillation: gains at {min(90, 10 * round(10.0 * factor))} %"

    @property
    def _reacts(self) -> bool:
        """Whether something touches, and the robot is to do something about it."""
        return self._touched and self.options.contact_reaction != "none"

    def answer(self, state: RobotState) -> ControllerAnswer:
        """Return the answer to a state, whose stamp must not fall unless `forget` was called.

        Raises
        ------
        MessageError
            Not even gravity compensation is finite for this state; or it is not known yet how a closed robot stands.
        """
        self.conclude()
        if self.motors is not None:
            state = self.motors.at(state)
        stamp, position, velocity = state.stamp, state.position, state.velocity
        period = self._elapse(state)
        player, options = self.player, self.options
        assert player is not None
        self._settle()
        if self._bridge and not player.moving:
            before, self._bridge = self._bridge, ""
            self._efforts.blend.ease(stamp, self._standing(before) - self._standing(options.mode), options.blend_time)
        mode = self.mode
        by_tool = mode in TOOL_MODES
        free = by_tool or mode == "gravity_compensation"
        if free:
            player.stay(position)
        player.judged = self.judge
        if self.clock.wanted != self._pace and not (self._pace and player.halting):
            self.clock.follow(self._pace, options.speed_scaling_time)
        desired = player.at(stamp, self.judge)
        if not player.moving:
            self._shift.rest()
        elif self._shift.due and self.phase == FOLLOWING:
            self._shift_clock(self.clock, desired, position, velocity)
            desired = player.at(stamp, self.judge)
        if options.contact_reaction != "retract" or free or self.phase in UNTIL_HOLD or player.holds(self._way_back):
            self._past.forget()  # the robot leaves the path; and no way back leads to what it came from
        else:
            self._past.add(period, desired.position, desired.velocity, options.retract_time)
        stopping = self.phase in (STOPPING, STOPPED)
        if not stopping:
            violation = self._guard.violation(position, velocity, desired)
            if self.motors is not None and self.motors.lost:
                violation = f"{LOST}: {self.motors.lost}"
                self._stop.forget()  # what stands still from here on is where they were seen last
            if by_tool and not violation:
                self._tool.scaling = self.clock.rate
                violation = self._tool.follow(stamp, period, position)
            if violation:
                self._begin_stop(violation, False)
            elif self.phase == YIELDING:
                pass
            elif by_tool:
                self._enter(*((FOLLOWING, "a target") if self._tool.moving else (HOLDING, "no target under way")))
            else:
                if self.goals.active:
                    self._watch_goals(stamp, desired, position, velocity)
                self._enter(*((FOLLOWING, "a trajectory") if player.moving else (HOLDING, "no trajectory under way")))
        player.begun.clear()
        if self.phase not in (STOPPING, STOPPED):
            try:
                return self._control(state, player, desired, period)
            except LieDynamicsError as error:  # what is finite may lead to efforts that are not
                self._begin_stop(f"the control law has no finite effort: {error}", False)
        return self._stopping(state, period)

    def _control(
        self, state: RobotState, player: TrajectoryPlayer, desired: Desired, period: float
    ) -> ControllerAnswer:
        """Answer by the law of the mode; raises LieDynamicsError where that has no finite effort."""
        mode, stamp, q, qd, wrenches = self.mode, state.stamp, state.position, state.velocity, state.wrenches
        if mode == "impedance" and self.options.yield_to_wrenches:
            wrenches = None
        wrench = self._pushes(state, wrenches)
        ahead, x, v = desired, q, qd
        if player.moving:  # the state as the desired motion changes it until the effort acts
            begin, held = stamp + self.lead, round(5e8 * self._laws.gains.usual)
            ahead = player.during(begin - held, begin + held)
            x, v = q + (ahead.position - desired.position), qd + (ahead.velocity - desired.velocity)
        if mode in TOOL_MODES:
            law = self._tool.wanted(mode, q, qd, self._laws.gains, self.lead * 1e-9)
        else:
            seen = q
            if self._filter_time and mode == "computed_torque" and self.motors is None:
                self._steps.note(q)
                q = self._steps.inside(q)
            law = self._laws.wanted(mode, x, v, ahead, period, self._efforts.free, q - seen)
        wanted = law.effort + ahead.effort
        if wrench is not self.zero:
            wanted = wanted - wrench
        if within(wanted, self._largest) != 1:
            raise InputError(f"{wanted.tolist()}")
        limited = self._efforts.update(stamp, wanted, lambda: self.gravity(q), period)
        return self._make(stamp, q, qd, desired, ahead, law, wrench, wanted, limited)

    def _elapse(self, state: RobotState) -> float:
        """Take note of a state; return the time since the one before [s], 0 where there was none."""
        stamp, position = state.stamp, state.position
        last = self._inherited if self._last is None else self._last
        period = 0.0 if last is None else max(0.0, (stamp - last) * 1e-9)
        gap = self.options.state_timeout
        if self.player is None or (gap and period > gap):
            if self._last is not None:
                self._stop.replan()
                self._efforts.forget()
                self._observer.forget()
                self._stop.reversal.forget()
                self._forget_delay()
            self._past.forget()
            if not (self._last is not None and self._pauses(state, period)):
                self.clock.restart()
                self.player = TrajectoryPlayer(
                    position, self.options.start_tolerance, self.clock, self.turns, self.model.joint_names
                )
            self._tool.forget()
            self._times = SampleTimes()
            period = 0.0
        elif period and self._times.add(period, state.age):
            self._watch_times()
        if state.filter_time != self._filter_time:
            self._filter_time = state.filter_time
            self._suit_gains()
        self._last, self._position, self._velocity, self._inherited = stamp, position, state.velocity, None
        self._state = state
        return period

    def _pauses(self, state: RobotState, silence: float) -> bool:
        """After some silence of states [s], go on with motions where they were, if that is possible; else end goals."""
        player, options, told = self.player, self.options, f"no state for {silence:.3f} s"
        why = f"silence_timeout is {options.silence_timeout:g} s" if silence > options.silence_timeout else ""
        if player is not None and not why:
            off = np.abs(player.desired.position - state.position)
            k = int(np.argmax(off))
            if off[k] > options.start_tolerance:
                why = f"joint {self.model.joint_names[k]} has moved {off[k]:.3g} rad or m off, beyond start_tolerance"
        if player is None or why or self.phase in UNTIL_HOLD or not (player.count or self.goals.active):
            self.note = f"{told}: trajectories were dropped" + (f", as {why}" if why else "")
            self.goals.abort_all(self.note)
            return False
        self.note = f"{told}: motions paused"
        moves = player.desired.velocity
        share = float(moves @ state.velocity) / max(float(moves @ moves), AT_REST**2)  # of its pace the robot kept
        self.clock.pause(state.stamp, min(max(share, 0.0), 1.0), options.speed_scaling_time)
        self.goals.wait(round(silence * 1e9))
        return True

    def _watch_goals(self, stamp: int, desired: Desired, position: Array, velocity: Array) -> None:
        """Let goals go on; what is given up comes to rest."""
        assert self.player is not None
        error, rate = desired.position - position, desired.velocity - velocity
        for goal in self.goals.update(stamp, self.player, error, rate):
            self.player.halt(stamp, self.judge.brake, goal.points)

    def _pushes(self, state: RobotState, wrenches: Array | None) -> Array:
        return self.zero if wrenches is None and state.push is None else pushes(self.dynamics, state, wrenches)

    def _stopping(self, state: RobotState, period: float) -> ControllerAnswer:
        """Answer in a stop: along its plan as far as limits and numbers let it, else by gravity compensation alone."""
        stamp, q, qd = state.stamp, state.position, state.velocity
        laws = self._laws
        gains, free = laws.gains.stop, self._efforts.free
        stop = self._stop.update(state, period, gains, self.dynamics, self._far_stop, laws.rotors, free)
        if stop.reversed:
            names = ", ".join(self.model.joint_names[k] for k in stop.reversed)
            self._reason += (
                f"; joint {names} moves against its efforts and is let go: has the driver its sign reversed?"
            )
        motion, let_go, self._stop_noise = stop.motion, stop.let_go, stop.noise
        wrench = self.zero
        try:
            wrench = self._pushes(state, state.wrenches)
            law = self._laws.stopping(q, qd, stop)
            bias = inverse_dynamics(self.dynamics, stop.position, stop.velocity, self.zero) - wrench
            weight = self.gravity(stop.position) - wrench
            limited = self._efforts.brake(stamp, law.effort - wrench, bias, weight, period)
        except LieDynamicsError:
            wrench, held = self.zero, self._held_up(q)
            law = LawEffort(held, self.zero, self.zero, self.zero)
            limited = self._efforts.brake(stamp, held, held, held, period)
        if let_go is not None:
            limited = limited._replace(total=np.where(let_go, 0.0, limited.total))
        if limited.scale < 1.0:
            self._stop.replan(late=True)
        if self.phase == STOPPED and self._stop.moves(qd):
            self._enter(STOPPING, self._reason)
        if self.phase == STOPPING and self._stop.rests(stop, qd):
            self._enter(STOPPED, self._reason)
        desired = Desired(*motion, self.zero)
        return self._make(stamp, q, qd, desired, desired, law, wrench, law.effort - wrench, limited)

    def _held_up(self, q: Array) -> Array:
        try:
            return self.gravity(q)
        except LieDynamicsError as error:
            raise MessageError("not finite", f"the state leads to efforts that are not finite: {error}") from error

    def _make(
        self,
        stamp: int,
        position: Array,
        velocity: Array,
        desired: Desired,
        ahead: Desired,
        law: LawEffort,
        wrench: Array,
        wanted: Array,
        limited: ExertedEffort,
    ) -> ControllerAnswer:
        options, mode = self.options, self.mode
        total = limited.total
        self.acceleration = desired.acceleration if self._expects else self._unknown
        self._latest = answer = ControllerAnswer(
            stamp, mode, self.phase, self.reason, position, velocity, desired, ahead,
            desired.position - position, desired.velocity - velocity, law, wrench, wanted, limited.blend, total,
            total - self.gravity(position) if options.driver_compensates_gravity else total, limited.scale,
        )  # fmt: skip
        return answer

    def conclude(self) -> None:
        """Learn from the last answer, once it is out; at the latest before the next one."""
        answer, self._latest = self._latest, None
        if answer is None:
            return
        stamp, q, qd = answer.stamp, answer.position, answer.velocity
        total, friction = answer.total, answer.law.friction
        self._stop.reversal.note(stamp, q, qd, total)
        self._watch_feedback(answer)
        self._observer.note(stamp, total if friction is None else total - friction, answer.wrench)
        if not self._filter_time:  # positions do not show so fast how momentum changes
            if answer.mode == "adaptive":
                self._observer.teach(self.learner, stamp, q, qd, self._laws.gains)
            if self._effort_delay.note(self.dynamics, stamp, q, qd, total, answer.ahead.acceleration):
                self._find_lead()

    def _watch_feedback(self, answer: ControllerAnswer) -> None:
        """Lower gains where feedback feeds an oscillation, and report it; raise them again after a calm time."""
        before, self._watched = self._watched, answer.stamp
        if before is None:
            self._drive_history.forget()
            self._drives.forget()
            return
        period = (answer.stamp - before) * 1e-9
        learns = answer.mode in LEARNING_MODES and answer.phase not in UNTIL_HOLD
        if self._laws.drives is not None and not learns:
            self._drive_history.forget()
            self._drives.forget()
        elif self._laws.drives is not None:
            acted = self._drive_history.mean(before, answer.stamp, self.lead - 5e8 * self._laws.gains.usual)
            acting, friction = answer.total + answer.wrench, answer.law.friction
            self._drive_history.add(answer.stamp, acting if friction is None else acting - friction)
            known, q, qd = self._laws.known(answer.mode), answer.position, answer.velocity
            self._drives.update(known, q, qd, answer.desired.velocity, acted, period)
            if (self._drives.state.found != self._floored).any():
                self._suit_gains()
        if within(answer.velocity, self._thrown) != 1 and not self._stop.swings(answer.velocity, self._thrown):
            return  # efforts from limit to limit bring it back
        moving = inverse_dynamics(self.dynamics, answer.position, answer.velocity, answer.ahead.acceleration)
        feedback = answer.total + answer.wrench - moving
        if self.phase not in UNTIL_HOLD:
            friction, stays = answer.law.friction, feedback
            if self._laws.drives is not None and not self._drives.idle:  # what the motion takes ends with it
                stays = stays - self._drives.moving(answer.ahead.velocity, answer.ahead.acceleration)
            self._stop.move(*answer.desired[:2], answer.position, answer.velocity, period)
            self._stop.note(stays if friction is None else stays - friction, period)
        rises = self.phase not in (STOPPING, STOPPED)
        noise = None if rises else self._stop_noise
        if rises and self._filter_time and answer.mode == "computed_torque" and period > 0.0:
            rough = self._steps.steps * velocity_noise(self._filter_time, self._laws.gains.usual)
            noise = NOISE_SWING * rough * self._laws.damping(answer.position)
        before = self._watch.factor
        if self._watch.update(feedback - answer.blend, period, rises, noise):
            if before < LEAST_FACTOR <= self._watch.factor:
                self._stop.replan(late=True)  # it takes hold again
            self._laws.set_gains(lowered(self._unlowered, self._watch.factor))

    def _settle(self) -> None:
        """After a change of mode, come to rest; a mode that does not do so itself begins when the robot rests.

        A motion of joints comes to rest along its path, by the law of the mode that follows paths, the new one or else
        one as the old one, which learns nothing then. Another motion is one of the robot, as it is measured, and comes
        to rest on a straight line.
        """
        before, self._moved = self._moved, None
        if before is None or self.player is None or self._last is None:
            return
        self.goals.abort_all("the mode has changed; the robot comes to rest")
        player, mode, self._bridge = self.player, self.options.mode, ""
        moving = player.moving or within(self._velocity, self._resting) != 1
        if self.phase in UNTIL_HOLD:
            player.stay(self._position)
            self._tool.forget()
            return
        if before in TOOL_MODES and mode in TOOL_MODES and self._tool.reference is not None:
            moving |= self._tool.moving
            self._tool.rest()
        else:
            if before in PATH_MODES:
                player.halt(self._last, self.judge.brake)
            else:
                self._slow_down()
            if mode not in PATH_MODES and player.moving:
                self._bridge = BRIDGES.get(before, PATH_MODES[0])
            self._tool.forget()
        if moving and not {before, mode} <= set(PATH_MODES):  # errors begin anew, what they add would go on
            self._efforts.blend.ease(self._last, self._stood - self._standing(self.mode), self.options.blend_time)

    def _standing(self, mode: str) -> Array:
        return self._laws.standing(mode, self._position)

    def _slow_down(self) -> None:
        """Stay where the robot is, as it was measured last; come to rest first where it moves."""
        assert self.player is not None and self._last is not None
        self.player.stay(self._position)
        if within(self._velocity, self._resting) != 1:
            now = Desired(self._position, self._velocity, self.zero, self.zero)
            self.player.slow_down(self._last, now, self.judge.way_to_rest(now))

    def _enter(self, phase: str, reason: str) -> None:
        if phase != self.phase:
            self.phase, self._reason = phase, reason

    def stop(self, reason: str) -> None:
        """Bring the robot to rest, hold it there and follow nothing, until `hold` is called."""
        self._begin_stop(reason, True)

    def _begin_stop(self, reason: str, goes_on: bool) -> None:
        """Stop; where it ``goes_on``, what feedback bore is borne on, else nobody knows what it was for."""
        if self.phase not in (STOPPING, STOPPED):
            self._stop.begin(self._reacts, goes_on)
            self._watch.begin(stop=True)
            self._laws.set_gains(self._unlowered)
            self._efforts.blend.at_once()
            self._enter(STOPPING, reason)
            self.goals.abort_all(f"stopped: {reason}")
