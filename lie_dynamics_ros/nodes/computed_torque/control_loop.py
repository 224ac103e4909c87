"""The control loop of the node computed_torque, without ROS: a state in, an answer out."""

from __future__ import annotations

import numpy as np

from ...core.commands import FOLLOWING, HOLDING, STOPPED, STOPPING, UNTIL_HOLD, YIELDING
from ...core.errors import MessageError
from ...core.robot_state import RobotState, pushes
from ...lie_dynamics import InputError, LieDynamicsError
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control import SampleTimes
from ...lie_dynamics.control.kernels.signals import within
from ...lie_dynamics.control.robots import inverse_dynamics
from .efforts import ExertedEffort
from .laws import ControllerAnswer, LawEffort
from .loop_timing import LONGEST_ELAPSED
from .parts import PATH_MODES, ControllerParts
from .review import AnswerReview
from .stopping import AT_REST
from .tool_options import TOOL_MODES
from .trajectories.trajectory_piece import Desired, Halt
from .trajectories.trajectory_player import TrajectoryPlayer

#: By which law motions of these come to rest before a mode begins that follows no path; others by the first.
BRIDGES = {"passivity_based": "passivity_based", "adaptive": "passivity_based"}
LOST = "the loops are lost"  # why a closed robot stops that cannot be followed


class ControlLoop:
    """Answers the states of a robot by the parts of its controller: time, what is followed, phase, law, limits.

    It goes on where the loop ``before``, that under other options, is; `review` learns from answers.
    """

    def __init__(self, parts: ControllerParts, before: ControlLoop | None = None) -> None:
        self.parts = parts
        self.review = AnswerReview(parts, before and before.review)

    def update(self, state: RobotState) -> ControllerAnswer:
        """Return the answer to a state of the joints that are controlled; errors as `ComputedTorqueCore.answer`."""
        p, s, stamp = self.parts, self.parts.state, state.stamp
        period = self._elapse(state)
        player, options = s.player, p.options
        assert player is not None
        self.settle()
        if s.bridge and not player.moving:
            before, s.bridge = s.bridge, ""
            p.efforts.blend.ease(stamp, p.standing(before) - p.standing(options.mode), options.blend_time)
        desired = self._follow(state, player, period)
        if s.phase not in (STOPPING, STOPPED):
            self._choose_phase(state, player, desired, period)
        player.begun.clear()
        if s.phase not in (STOPPING, STOPPED):
            try:
                return self._control(state, player, desired, period)
            except LieDynamicsError as error:  # what is finite may lead to efforts that are not
                self.begin_stop(f"the control law has no finite effort: {error}", False)
        return self._stop(state, period)

    # Time.

    def _elapse(self, state: RobotState) -> float:
        """Take note of a state; return the time since the one before [s], 0 where there was none."""
        p, s, stamp, position = self.parts, self.parts.state, state.stamp, state.position
        last, options, timing = s.inherited if s.last is None else s.last, p.options, p.timing
        period = 0.0 if last is None else max(0.0, (stamp - last) * 1e-9)
        if s.player is None or (options.state_timeout and period > options.state_timeout):
            if s.last is not None:
                p.stop.replan()
                p.forget_times()
                self.review.forget()
            p.past.forget()
            if not (s.last is not None and self._pauses(state, period)):
                p.clock.restart()
                names = p.robot.model.joint_names
                s.player = TrajectoryPlayer(position, options.start_tolerance, p.clock, p.robot.turns, names)
            p.tool.forget()
            timing.times = SampleTimes()
            period = 0.0
        elif period and timing.update(period, state.age, p.laws.gains, options.delay):
            p.suit_gains()
        if state.filter_time != timing.filter_time:
            timing.filter_time = state.filter_time
            p.suit_gains()
        s.last, s.position, s.velocity, s.inherited = stamp, position, state.velocity, None
        return min(period, LONGEST_ELAPSED)

    def _pauses(self, state: RobotState, silence: float) -> bool:
        """After some silence of states [s], go on with motions where they were, if that is possible; else end goals."""
        p, s = self.parts, self.parts.state
        player, options, told = s.player, p.options, f"no state for {silence:.3f} s"
        why = f"silence_timeout is {options.silence_timeout:g} s" if silence > options.silence_timeout else ""
        if player is not None and not why:
            off = np.abs(player.desired.position - state.position)
            k = int(np.argmax(off))
            if off[k] > options.start_tolerance:
                name = p.robot.model.joint_names[k]
                why = f"joint {name} has moved {off[k]:.3g} rad or m off, beyond start_tolerance"
        if player is None or why or s.phase in UNTIL_HOLD or not (player.count or p.goals.active):
            s.note = f"{told}: trajectories were dropped" + (f", as {why}" if why else "")
            p.goals.abort_all(s.note)
            return False
        s.note = f"{told}: motions paused"
        moves = player.desired.velocity
        share = float(moves @ state.velocity) / max(float(moves @ moves), AT_REST**2)  # of its pace the robot kept
        p.clock.pause(state.stamp, min(max(share, 0.0), 1.0), options.speed_scaling_time)
        p.goals.wait(round(silence * 1e9))
        return True

    # What is followed.

    def _follow(self, state: RobotState, player: TrajectoryPlayer, period: float) -> Desired:
        """Return the motion desired at a state."""
        p, s, stamp, mode = self.parts, self.parts.state, state.stamp, self.parts.mode
        options, clock = p.options, p.clock
        free = mode == "gravity_compensation" or mode in TOOL_MODES
        if free:
            player.hold_at(state.position)
        player.validated_by = p.judge
        pace = options.speed_scaling * s.pace
        if clock.wanted != pace and not (pace and any(isinstance(piece, Halt) for piece in player.pieces)):
            clock.follow(pace, options.speed_scaling_time)
        desired = player.at(stamp, p.judge)
        if options.contact_reaction != "retract" or free or s.phase in UNTIL_HOLD or player.holds(s.way_back):
            p.past.forget()  # the robot leaves the path; and no way back leads to what it came from
        else:
            p.past.add(period, desired.position, desired.velocity, options.retract_time)
        return desired

    def settle(self) -> None:
        """After a change of mode, come to rest; a mode that does not do so itself begins when the robot rests.

        A motion of joints comes to rest along its path, by the law of the mode that follows paths, the new one or else
        one as the old one, which learns nothing then. Another motion is one of the robot, as it is measured, and comes
        to rest on a straight line.
        """
        p, s = self.parts, self.parts.state
        before, s.moved = s.moved, None
        if before is None or s.player is None or s.last is None:
            return
        p.goals.abort_all("the mode has changed; the robot comes to rest")
        player, mode, s.bridge = s.player, p.options.mode, ""
        moving = player.moving or within(s.velocity, p.robot.resting) != 1
        if s.phase in UNTIL_HOLD:
            player.hold_at(s.position)
            p.tool.forget()
            return
        if before in TOOL_MODES and mode in TOOL_MODES and p.tool.reference is not None:
            moving |= p.tool.moving
            p.tool.rest()
        else:
            if before in PATH_MODES:
                player.halt(s.last, p.judge.brake)
            else:
                p.slow_down()
            if mode not in PATH_MODES and player.moving:
                s.bridge = BRIDGES.get(before, PATH_MODES[0])
            p.tool.forget()
        if moving and not {before, mode} <= set(PATH_MODES):  # errors begin anew, what they add would go on
            p.efforts.blend.ease(s.last, s.stood - p.standing(p.mode), p.options.blend_time)

    # The phase.

    def _choose_phase(self, state: RobotState, player: TrajectoryPlayer, desired: Desired, period: float) -> None:
        """Stop where a limit is broken, else hold or follow what there is."""
        p, s, q, qd = self.parts, self.parts.state, state.position, state.velocity
        by_tool, motors = p.mode in TOOL_MODES, p.robot.motors
        violation = p.guard.violation(q, qd, desired)
        if motors is not None and motors.lost:
            violation = f"{LOST}: {motors.lost}"
            p.stop.forget()  # what stands still from here on is where they were seen last
        if by_tool and not violation:
            p.tool.scaling = p.clock.rate
            violation = p.tool.follow(state.stamp, period, q)
        if violation:
            self.begin_stop(violation, False)
        elif s.phase == YIELDING:
            pass
        elif by_tool:
            s.enter(*((FOLLOWING, "a target") if p.tool.moving else (HOLDING, "no target under way")))
        else:
            if p.goals.active:
                for goal in p.goals.update(state.stamp, player, desired.position - q, desired.velocity - qd):
                    player.halt(state.stamp, p.judge.brake, goal.points)  # what is given up comes to rest
            s.enter(*((FOLLOWING, "a trajectory") if player.moving else (HOLDING, "no trajectory under way")))

    def begin_stop(self, reason: str, goes_on: bool) -> None:
        """Stop; where it ``goes_on``, what feedback bore is borne on, else nobody knows what it was for."""
        p, s = self.parts, self.parts.state
        if s.phase not in (STOPPING, STOPPED):
            p.stop.begin(p.reacts, goes_on)
            p.watch.begin(True)
            p.laws.set_gains(p.timing.gains)
            p.efforts.blend.at_once()
            s.enter(STOPPING, reason)
            if p.watch.factor < 1.0:
                p.lower_gains()
            p.goals.abort_all(f"stopped: {reason}")

    # The law, and the limits.

    def _pushes(self, state: RobotState, wrenches: Array | None) -> Array:
        p = self.parts
        return p.robot.zero if wrenches is None and state.push is None else pushes(p.dynamics, state, wrenches)

    def _control(
        self, state: RobotState, player: TrajectoryPlayer, desired: Desired, period: float
    ) -> ControllerAnswer:
        """Answer by the law of the mode; raises LieDynamicsError where that has no finite effort."""
        p, mode, q, qd, wrenches = self.parts, self.parts.mode, state.position, state.velocity, state.wrenches
        laws, timing, stamp = p.laws, p.timing, state.stamp
        if mode == "impedance" and p.options.yield_to_wrenches:
            wrenches = None
        wrench = self._pushes(state, wrenches)
        ahead, x, v = desired, q, qd
        if player.moving:  # the state as the desired motion changes it until the effort acts
            begin, held = stamp + timing.lead, round(5e8 * laws.gains.usual)
            ahead = player.during(begin - held, begin + held)
            x, v = q + (ahead.position - desired.position), qd + (ahead.velocity - desired.velocity)
        if mode in TOOL_MODES:
            law = p.tool.wanted(mode, q, qd, laws.gains, timing.lead * 1e-9)
        else:
            laws.steps = 0.0
            if timing.filter_time:
                p.stop.steps.note(q)
                laws.steps = p.stop.steps.steps
            laws.finds = p.options.learn_drives
            laws.unsettled -= min(laws.unsettled, period)
            law = laws.wanted(mode, x, v, ahead, period, p.efforts.free)
        wanted = law.effort + ahead.effort
        if wrench is not p.robot.zero:
            wanted = wanted - wrench
        if within(wanted, p.robot.largest) != 1:
            raise InputError(f"{wanted.tolist()}")
        limited = p.efforts.update(stamp, wanted, lambda: p.gravity(q), lambda: laws.inertia(q), period)
        return self._answer(state, q, (desired, ahead), law, wrench, wanted, limited)

    def _stop(self, state: RobotState, period: float) -> ControllerAnswer:
        """Answer in a stop: along its plan as far as limits and numbers let it, else by gravity compensation alone."""
        p, s, stamp, q, qd = self.parts, self.parts.state, state.stamp, state.position, state.velocity
        laws, efforts, zero = p.laws, p.efforts, p.robot.zero
        stop = p.stop.update(
            state, period, laws.gains.stop, p.dynamics, laws.sure_inertia, p.far_stop, laws.rotors, efforts.free
        )
        if stop.reversed:
            names = ", ".join(p.robot.model.joint_names[k] for k in stop.reversed)
            s.why += f"; joint {names} moves against its efforts and is let go: has the driver its sign reversed?"
        let_go = stop.let_go
        wrench = zero
        try:
            wrench = self._pushes(state, state.wrenches)
            law = laws.stopping(q, qd, stop)
            bias = inverse_dynamics(p.dynamics, stop.position, stop.motion[1], zero) - wrench
            weight = p.gravity(stop.position) - wrench
            limited = efforts.brake(stamp, law.effort - wrench, bias, weight, period)
        except LieDynamicsError:
            wrench = zero
            try:
                held = p.gravity(q)
            except LieDynamicsError as error:
                raise MessageError("not finite", f"the state leads to efforts that are not finite: {error}") from error
            law = LawEffort(held, zero, zero, zero)
            limited = efforts.brake(stamp, held, held, held, period)
        else:
            p.stop.feeling.note(limited.total - bias)
        if let_go is not None:
            limited = limited._replace(total=np.where(let_go, 0.0, limited.total))
        if limited.scale < 1.0:
            p.stop.replan(late=True)
        if s.phase == STOPPED and p.stop.moves(qd):
            s.enter(STOPPING, s.why)
        if s.phase == STOPPING and p.stop.rests(stop, qd):
            s.enter(STOPPED, s.why)
        desired = Desired(*stop.motion, zero)
        return self._answer(state, q, (desired, desired), law, wrench, law.effort - wrench, limited)

    def _answer(
        self,
        state: RobotState,
        position: Array,
        motion: tuple[Desired, Desired],
        law: LawEffort,
        wrench: Array,
        wanted: Array,
        limited: ExertedEffort,
    ) -> ControllerAnswer:
        p, (desired, ahead), velocity, total = self.parts, motion, state.velocity, limited.total
        p.state.answer = answer = ControllerAnswer(
            state.stamp, p.mode, p.state.phase, p.reason, position, velocity, desired, ahead,
            desired.position - position, desired.velocity - velocity, law, wrench, wanted, limited.blend, total,
            total - p.gravity(position) if p.options.driver_compensates_gravity else total, limited.scale,
        )  # fmt: skip
        return answer
