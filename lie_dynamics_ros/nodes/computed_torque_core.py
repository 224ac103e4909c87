"""What the node computed_torque does, without ROS: a state in, an answer out, and one state machine.

Nothing else is left behind by an answer than what the next one needs: integrals, what was learned, a stop under way.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np

from ..lie_dynamics import InputError, LieDynamicsError, Model, SpatialInertia, gravity_force, inverse_dynamics
from ..lie_dynamics.control import AdaptiveController, ComputedTorquePID, SampleTimes, SoftLimits, StopPlan
from ..lie_dynamics.control.signal_kernels import keeps_limits, within
from ..ros.errors import MessageError
from ..ros.messages import Array, all_finite
from ..ros.trajectories import KIND, JointPoints
from .computed_torque_answer import FOLLOWING, HOLDING, OFF, STOPPED, STOPPING, Answer
from .computed_torque_efforts import EffortStage, Limited
from .computed_torque_gains import STOP_SHARE, USUAL_PERIOD, Gains, LoopReport, examine, make_gains
from .computed_torque_laws import Laws, Wanted
from .computed_torque_learning import least_weight, make_learner
from .dynamics_answer import effort_of_wrenches
from .trajectory_checks import MotionLimits, check_dynamics, check_motion
from .trajectory_piece import Desired, Piece
from .trajectory_player import TrajectoryPlayer

if TYPE_CHECKING:
    from .computed_torque_options import Options

MODES = ("computed_torque", "gravity_compensation", "passivity_based", "adaptive")
POLICIES = ("scale", "clip")
AT_REST = 1e-3
"""Below this speed of its plan a stop has ended [rad/s, m/s]."""
RESTING = 0.05
"""And below this measured speed, over the velocity limit, or [rad/s, m/s] where there is none."""
OUTWARDS = 0.01
"""Speed away from its range with which a joint beyond it is stopped, as `RESTING`."""
USUAL_ERROR_LIMIT = 0.5
"""Error beyond which a stop holds the robot where it is, in place of `error_limit` where that is 0 [rad, m]."""


class ComputedTorqueCore:
    """A controller of one robot whose joints have one coordinate each.

    Parameters
    ----------
    model : Model
        As described; what the options include is added.
    options : Options
        Of `computed_torque_options`.

    Raises
    ------
    ParameterError
        The robot cannot have these options.

    Attributes
    ----------
    phase, reason : str
        One of `PHASES`, and why.
    note : str
        What the user should know besides, until something else is begun.
    player : TrajectoryPlayer or None
        The desired motion; None before the first state.
    """

    def __init__(self, model: Model, options: Options) -> None:
        self.model = model
        limits, n = model.limits, len(model.joint_names)
        self.fastest = np.where(limits.velocity > 0.0, limits.velocity, np.inf)  # exporters write 0 for "not given"
        limited = (limits.effort > 0.0) & np.isfinite(limits.effort)
        self.limit = np.where(limited, limits.effort, np.finfo(float).max)
        self._stop_extra = np.where(limited & np.isfinite(self.fastest), STOP_SHARE * limits.effort / self.fastest, 0.0)
        self._speed = np.where(np.isfinite(self.fastest), self.fastest, 1.0)
        self._resting, self._outwards = RESTING * self._speed, OUTWARDS * self._speed
        self._rest = np.full(n, AT_REST)
        self._soft = SoftLimits(limits.lower, limits.upper)
        self._zero = np.zeros(n)
        self._times = SampleTimes()
        self._efforts = EffortStage(self.limit)
        self.phase, self.reason, self.note = OFF, "not active", ""
        self.player: TrajectoryPlayer | None = None
        self._last: int | None = None  # stamp of the last state [ns]
        self._plan: StopPlan | None = None
        self._planned = 0  # when the plan began [ns]
        self._moved = False  # whether the mode changed and the robot is to stay where it is
        self._set_options(options, None)

    # Options.

    def with_options(self, options: Options) -> ComputedTorqueCore:
        """Return a core that goes on where this one is, with other options; efforts pass over to them smoothly.

        Raises ParameterError where the robot cannot have them. This one is as it was, and of no use once the other one
        has answered.
        """
        other = copy.copy(self)
        other._efforts = copy.copy(self._efforts)
        other._set_options(options, self)
        return other

    def _set_options(self, options: Options, before: ComputedTorqueCore | None) -> None:
        """Apply options, and run all that is needed once, so that nothing is compiled while states come in."""
        model = self.model
        dynamics = options.apply(model)
        numbers = {name: _spread(values, model.nv) for name, values in options.numbers.items()}
        same_mode = before is not None and before.options.mode == options.mode
        laws = Laws(
            dynamics,
            make_learner(dynamics, options, numbers, before.learner if before is not None and same_mode else None),
            ComputedTorquePID(dynamics, numbers["kp"], numbers["kd"], numbers["ki"], numbers["integral_limit"]),
            self._soft,
        )
        if before is not None and same_mode and before.options.numbers["ki"] == options.numbers["ki"]:
            laws.pid.integral = before._laws.pid.integral
        self.options, self.dynamics, self._laws, self._numbers = options, dynamics, laws, numbers
        self._far_stop = np.full(model.nv, options.error_limit or USUAL_ERROR_LIMIT)
        watched = options.mode != "gravity_compensation" and options.error_limit > 0.0
        self._far = np.full(model.nv, options.error_limit if watched else np.finfo(float).max)
        self._room = self._soft.usual + options.position_margin
        self._fast = np.minimum(self.fastest * (1.0 + options.velocity_margin), np.finfo(float).max)
        unlimited = np.where(numbers["acceleration_limit"] > 0.0, numbers["acceleration_limit"], np.inf)
        effort = self.limit if options.saturate else np.full(model.nv, np.inf)
        limits = model.limits
        self.motion_limits = MotionLimits(
            model.joint_names, limits.lower, limits.upper, self.fastest, unlimited, effort
        )
        self._efforts.set_options(options, numbers["effort_rate_limit"])
        self._learning_cap = np.inf  # least damping besides the mass matrix for which learning was found slow enough
        self._suit_gains()
        self._moved |= before is not None and not same_mode
        self._efforts.change(options.blend_time)
        self._warm_up()

    def _suit_gains(self) -> None:
        """Find the gains that the loop can carry at its present period and delay."""
        options = self.options
        period = self._times.period or (1.0 / options.rate if options.rate else USUAL_PERIOD)
        delay = self._times.delay(options.delay)
        gains = make_gains(self._numbers, self._stop_extra, period, delay)
        self._laws.set_gains(gains)
        if options.mode == "adaptive" and not gains.cap >= self._learning_cap:
            self._learning_cap = gains.cap
            self.learner.gamma = max(options.adaptation_weight, least_weight(self.learner, gains, self._speed))

    def _warm_up(self) -> None:
        """Run every law once, and leave no trace of it."""
        laws, zero = self._laws, self._zero
        q = self.model.neutral()
        integral = laws.pid.integral
        for mode in MODES:
            laws.wanted(mode, q, zero, Desired(q, zero, zero, zero), 0.0, False)
        laws.stopping(q, zero, (q, zero, zero))
        gravity_force(self.dynamics, q)
        effort_of_wrenches(self.dynamics, q, np.zeros((self.model.n_bodies, 6)))
        within(zero, self.limit)
        laws.pid.reset()
        laws.pid.integral = integral

    # The state machine.

    def _enter(self, phase: str, reason: str) -> None:
        if phase != self.phase:
            self.phase, self.reason = phase, reason

    def start(self) -> None:
        """Begin afresh: the robot stays where the next state finds it; nothing learned or integrated is kept."""
        self.forget()
        self._laws.pid.reset()
        self._laws.learner.reset()
        self._plan = None
        self.phase, self.reason, self.note = OFF, "no state yet", ""

    def end(self) -> None:
        """Take note that states are answered no more."""
        self.forget()
        self.phase, self.reason = OFF, "not active"

    def succeed(self, other: ComputedTorqueCore) -> None:
        """Go on in place of the controller of another description: its efforts pass over smoothly, its stop stays."""
        if other.model.joint_names == self.model.joint_names:
            self._efforts.succeed(other._efforts)
            self.phase, self.reason = other.phase, other.reason
            self._efforts.change(self.options.blend_time)

    def forget(self) -> None:
        """Forget trajectories and times, because time no longer says how old they are; a stop goes on."""
        self.player, self._last = None, None
        self._times.reset()
        self._efforts.forget()

    def stop(self, reason: str) -> None:
        """Bring the robot to rest, hold it there and follow nothing, until `hold` is called."""
        if self.phase not in (STOPPING, STOPPED):
            self._plan = None  # made at the next state, from where the robot is then
            self._enter(STOPPING, reason)

    def hold(self) -> str:
        """Drop all trajectories and come to rest; after a stop, control the robot again where it is.

        Returns
        -------
        str
            What was done.

        Raises
        ------
        MessageError
            There was no state yet, or a stop is still under way.
        """
        if self.player is None or self._last is None:
            raise MessageError(KIND, "the node has received no joint state yet")
        if self.phase == STOPPING:
            raise MessageError(KIND, f"the robot is still being stopped: {self.reason}")
        self.note = ""
        if self.phase == STOPPED:
            why, self._plan = self.reason, None
            self.player.stay(self._position)
            self._laws.pid.reset()
            self._efforts.change(self.options.blend_time)
            self._enter(HOLDING, "~/hold after a stop")
            return f"control again after the stop: {why}"
        limits = self.motion_limits
        self.player.stop(self._last, self.options.stop_time, limits.lower, limits.upper)
        return "all trajectories are dropped"

    def follow(self, points: JointPoints, start: int = 0) -> None:
        """Take in a trajectory that starts at a time [ns], 0 for now; raises MessageError where that cannot be."""
        player, options = self.player, self.options
        if player is None or self._last is None:
            raise MessageError(KIND, "a trajectory before the first joint state: it has nowhere to start from")
        if self.phase in (STOPPING, STOPPED):
            raise MessageError(KIND, f"a trajectory after a stop ({self.reason}); call ~/hold first")
        if options.mode == "gravity_compensation":
            raise MessageError(KIND, "a trajectory in mode gravity_compensation, which follows none")
        self._settle()
        player.jump = options.start_tolerance
        player.add(start or self._last, self._last, points, options.queue, self._judge)
        self.note = ""

    def _settle(self) -> None:
        """After a change of mode, stay where the robot was in the last state that was answered."""
        if self._moved and self.player is not None and self._last is not None:
            self.player.stay(self._position)
        self._moved = False

    def _judge(self, piece: Piece, desired: Desired) -> None:
        check_motion(piece, self.motion_limits)
        if self.options.check_dynamics and self.options.saturate:
            check_dynamics(piece, desired, self.motion_limits, self.dynamics)

    # Answers.

    def answer(
        self, stamp: int, position: Array, velocity: Array, wrenches: Array | None = None, age: float = 0.0
    ) -> Answer:
        """Return the answer to a state.

        Parameters
        ----------
        stamp : int
            Time of the state [ns]; must not fall, unless `forget` was called.
        position, velocity : ndarray, shape (n,)
            [rad or m, and per s]; not changed, and not kept beyond the next answer.
        wrenches : ndarray, shape (n_bodies, 6), optional
            Known wrenches on the bodies [N m, N], which are compensated.
        age : float
            How old the state is [s], where that is known.

        Raises
        ------
        MessageError
            Not even gravity compensation is finite for this state.
        """
        period = self._elapse(stamp, position, age)
        player, options = self.player, self.options
        assert player is not None
        self._settle()
        if options.mode == "gravity_compensation":
            player.stay(position)
        desired = player.at(stamp, self._judge)
        stopping = self.phase in (STOPPING, STOPPED)
        if not stopping:
            violation = self._violation(position, velocity, desired)
            if violation:
                self.stop(violation)
            else:
                self._enter(*((FOLLOWING, "a trajectory") if player.moving else (HOLDING, "no trajectory under way")))
        if self.phase not in (STOPPING, STOPPED):
            try:
                return self._control(stamp, position, velocity, desired, wrenches, period)
            except LieDynamicsError as error:  # what is finite may lead to efforts that are not
                self.stop(f"the control law has no finite effort: {error}")
        return self._stopping(stamp, position, velocity, wrenches, period)

    def _control(
        self, stamp: int, q: Array, qd: Array, desired: Desired, wrenches: Array | None, period: float
    ) -> Answer:
        """Answer by the law of the mode; raises LieDynamicsError where that has no finite effort."""
        wrench = self._zero if wrenches is None else effort_of_wrenches(self.dynamics, q, wrenches)
        law = self._laws.wanted(self.options.mode, q, qd, desired, period, self._efforts.free)
        wanted = law.effort + desired.effort
        if wrenches is not None:
            wanted = wanted - wrench
        if not all_finite(wanted):
            raise InputError(f"{wanted.tolist()}")
        limited = self._efforts.apply(stamp, wanted, lambda: self.gravity(q), period)
        return self._make(stamp, q, qd, desired, law, wrench, wanted, limited)

    def _elapse(self, stamp: int, position: Array, age: float) -> float:
        """Take note of a state; return the time since the one before [s], 0 where there was none."""
        period = 0.0 if self._last is None else max(0.0, (stamp - self._last) * 1e-9)
        gap = self.options.gap
        if self.player is None or (gap and period > gap):
            if self.player is not None:
                self.note = f"no state for {period:.3f} s: trajectories were dropped"
                self._plan = None
                self._efforts.forget()
            self.player = TrajectoryPlayer(position, self.options.start_tolerance)
            self._times.reset()
            period = 0.0
        elif period and self._times.add(period, age):
            self._watch_times()
        self._last, self._position = stamp, position
        return period

    def _watch_times(self) -> None:
        g, times = self._laws.gains, self._times
        delay = times.delay(self.options.delay)
        if not 0.95 * g.period < times.period < 1.05 * g.period or delay != g.delay:
            self._suit_gains()

    def _stopping(self, stamp: int, q: Array, qd: Array, wrenches: Array | None, period: float) -> Answer:
        """Answer in a stop: along its plan as far as limits and numbers let it, else by gravity compensation alone."""
        g, soft, plan = self._laws.gains, self._soft, self._plan
        if plan is None or not within(plan.at((stamp - self._planned) * 1e-9)[0] - q, self._far_stop):
            plan = StopPlan(q, qd, g.stop, g.stop_fastest, soft.lower, soft.upper)
            self._plan, self._planned = plan, stamp
        motion = plan.at((stamp - self._planned) * 1e-9)
        wrench = self._zero
        try:
            if wrenches is not None:
                wrench = effort_of_wrenches(self.dynamics, q, wrenches)
            law = self._laws.stopping(q, qd, motion)
            bias = inverse_dynamics(self.dynamics, q, qd, self._zero) - wrench
            limited = self._efforts.brake(law.effort - wrench, bias, self.gravity(q) - wrench, period)
        except LieDynamicsError:
            wrench, held = self._zero, self._held_up(q)
            law = Wanted(held, self._zero, self._zero, self._zero)
            limited = self._efforts.brake(held, held, held, period)
        if limited.scale < 1.0:
            self._plan = None  # the next state's plan begins where the robot is then
        if self.phase == STOPPING and within(motion[1], self._rest) and within(qd, self._resting):
            self._enter(STOPPED, self.reason)
        desired = Desired(*motion, self._zero)
        return self._make(stamp, q, qd, desired, law, wrench, law.effort - wrench, limited)

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
        law: Wanted,
        wrench: Array,
        wanted: Array,
        limited: Limited,
    ) -> Answer:
        options = self.options
        total = limited.total
        return Answer(
            stamp, options.mode, self.phase, self.reason, position, velocity, desired,
            desired.position - position, desired.velocity - velocity, law, wrench, wanted, limited.blend, total,
            total - self.gravity(position) if options.driver_compensates_gravity else total, limited.scale,
        )  # fmt: skip

    def _violation(self, position: Array, velocity: Array, desired: Desired) -> str:
        """Say which limit the state breaks, or which error is too large; empty where none."""
        margin, soft, aim = self.options.position_margin, self._soft, desired.position
        if keeps_limits(position, velocity, aim, soft.center, self._room, self._fast, self._far) == 1:
            return ""
        error = aim - position
        out = (velocity > self._outwards) & (position > soft.upper + margin)
        out |= (velocity < -self._outwards) & (position < soft.lower - margin)
        names = self.model.joint_names
        for bad, what in (
            (np.abs(velocity) > self._fast, "moves faster than its limit"),
            (np.abs(error) > self._far, "is farther from its desired position than error_limit"),
            (out, "moves on beyond its position limit"),
        ):
            if bad.any():
                return f"joint {', '.join(names[k] for k in np.flatnonzero(bad))} {what}"
        return ""

    def gravity(self, position: Array) -> Array:
        """Efforts that hold the robot at rest at a position (n,), in model order [N m, N]."""
        return gravity_force(self.dynamics, position)

    def last_command(self) -> Array | None:
        """Return what to command last: gravity compensation at the last state, zero where the driver adds it.

        None where there was no state, or it is not finite.
        """
        if self._last is None:
            return None
        if self.options.driver_compensates_gravity:
            return self._zero.copy()
        try:
            gravity = self.gravity(self._position)
        except LieDynamicsError:
            return None
        return np.clip(gravity, -self.limit, self.limit) if self.options.saturate else gravity

    # Diagnostics.

    def loop(self) -> LoopReport:
        """Examine the sampled loop at the present pose; costs about a millisecond."""
        position = self.model.neutral() if self._last is None else self._position
        return examine(self.dynamics, position, self.gains, self.options.mode, self.phase in (STOPPING, STOPPED))

    @property
    def gains(self) -> Gains:
        """Gains in force."""
        return self._laws.gains

    @property
    def learner(self) -> AdaptiveController:
        """The adaptive controller, whether in use or not."""
        return self._laws.learner

    def estimate(self) -> tuple[str, SpatialInertia]:
        """Return the first body whose parameters are learned, and its estimated inertia in its frame."""
        body = self.learner.bodies[0]
        return self.model.body_names[body], self.learner.inertia(body)

    def take_saturated(self) -> tuple[str, ...]:
        """Return the joints whose efforts were limited since the last call."""
        saturated = self._efforts.saturated
        names = tuple(name for name, over in zip(self.model.joint_names, saturated.tolist(), strict=True) if over)
        saturated[:] = False
        return names


def _spread(numbers: tuple[float, ...], size: int) -> Array:
    return np.array(np.broadcast_to(np.array(numbers, np.float64), (size,)))
