"""Core of the node computed_torque, without ROS: a state in, an answer out, and one state machine.

Nothing else is left behind by an answer than what the next one needs: integrals, what was learned, a stop under way.
"""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import replace

import numpy as np

from ...core.arrays import Array
from ...core.commands import OFF, STOPPED, STOPPING
from ...core.errors import ParameterError
from ...core.frames import last_link
from ...core.mechanism import TrackedMechanism
from ...core.robot_state import effort_of_wrenches
from ...lie_dynamics import JointFriction, LieDynamicsError, Model, SpatialInertia
from ...lie_dynamics.control import ComputedTorquePID, SampleTimes
from ...lie_dynamics.control.feasibility import MotionLimits
from ...lie_dynamics.control.kernels.signals import within
from ...lie_dynamics.control.robots import forward_dynamics, gravity_force
from .answering import PATH_MODES
from .drive_estimate import DriveEstimate
from .following import Following
from .gains import LoopReport, examine
from .guard import Guard
from .laws import Laws
from .learning import make_learner
from .motor_states import MotorStates
from .options import CONTROL_MODES, MOTOR_MODES, ComputedTorqueOptions
from .stopping import StopMotion
from .tool.tool_options import TOOL_MODES
from .tool_control import ToolControl
from .trajectories.goals import INVALID_GOAL
from .trajectories.judging import TrajectoryJudge
from .trajectories.trajectory_piece import Desired

JUMP = 0.02
"""By what part gravity may change from one measurement to the next before efforts are blended."""
USUAL_ERROR_LIMIT = 0.5
"""Error beyond which a stop holds the robot where it is, in place of `error_limit` where that is 0 [rad, m]."""


class ComputedTorqueCore(Following):
    """A controller of one robot whose joints have one coordinate each.

    Parameters
    ----------
    model : Model
        As described; what the options include is added.
    options : ComputedTorqueOptions
        Of `computed_torque_options`.
    friction : JointFriction, optional
        Of the drives; compensated at desired velocities.
    mechanism : TrackedMechanism, optional
        What closes the loops of the robot: its motors are controlled then, and `model` is what they move.

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

    def __init__(
        self,
        model: Model,
        options: ComputedTorqueOptions,
        friction: JointFriction | None = None,
        mechanism: TrackedMechanism | None = None,
    ) -> None:
        if mechanism is None:
            super().__init__(model, friction, None)
        else:
            motors = MotorStates(model, mechanism)
            super().__init__(motors.robot, motors.friction(friction), motors)
        self._usual_tool = model.body_names[last_link(model)]  # whatever the payload weighs
        self._set_options(options, None)

    # Options.

    def with_options(self, options: ComputedTorqueOptions) -> ComputedTorqueCore:
        """Return a core that goes on where this one is, with other options; efforts pass over to them smoothly.

        Raises ParameterError where the robot cannot have them. This one is as it was, and of no use once the other one
        has answered.
        """
        other = copy.copy(self)
        other._set_options(options, self)
        return other

    def _set_options(self, options: ComputedTorqueOptions, before: ComputedTorqueCore | None) -> None:
        """Apply options, and run all that is needed once, so that nothing is compiled while states come in."""
        model = self.model
        if self.motors is not None and options.mode not in MOTOR_MODES:
            raise ParameterError(f"mode {options.mode} of a robot with loops; expected {' or '.join(MOTOR_MODES)}")
        dynamics = self.applied(options)
        numbers = {name: _spread(values, model.nv) for name, values in options.numbers.items()}
        same_mode = before is not None and before.options.mode == options.mode
        keeps = before is not None and (same_mode or options.mode not in PATH_MODES)  # as the old law may go on
        laws = Laws(
            dynamics,
            make_learner(dynamics, options, numbers, before.learner if before is not None and same_mode else None)
            if isinstance(dynamics, Model)
            else None,
            ComputedTorquePID(dynamics, numbers["kp"], numbers["kd"], numbers["ki"], numbers["integral_limit"]),
            self._soft,
            self.friction,
            self.fastest,
        )
        if before is not None and before._last is not None and dynamics is not before.dynamics:
            step = gravity_force(dynamics, self._position) - before.gravity(self._position)
            self._drives = self._drives.beside(step)
        begins = before is not None and not same_mode and options.mode in PATH_MODES
        if before is not None and begins and "adaptive" in (before.options.mode, options.mode):
            self._drives = DriveEstimate(self._drives.scale, self.friction is not None)  # found beside another model
        laws.drives, laws.finds = (self._drives if self.motors is None else None), options.learn_drives
        if before is not None and keeps and before.options.numbers["ki"] == options.numbers["ki"]:
            laws.pid.integral = before._laws.pid.integral
        self.options, self.dynamics, self._laws, self._numbers = options, dynamics, laws, numbers
        self._far_stop = np.full(model.nv, options.error_limit or USUAL_ERROR_LIMIT)
        self._guard = Guard(model.joint_names, self._soft, self.fastest, self._speed, options)
        self.judge = TrajectoryJudge(
            dynamics, self.friction, self._motion_limits(), options.check_dynamics and options.saturate_efforts,
            options.on_infeasible, options.stop_time, options.allow_nonzero_velocity_at_trajectory_end,
        )  # fmt: skip
        self._pace = options.speed_scaling * self._pace_factor
        rates = numbers["effort_rate_limit"]
        self._efforts = self._efforts.with_options(options.saturate_efforts, options.effort_policy, rates)
        self._learning_cap = np.inf
        self._tool = self._make_tool()
        self._suit_gains()
        if before is not None:
            tools = options.mode in TOOL_MODES and before.options.mode in TOOL_MODES
            goes_on = same_mode if not tools else self._tool.adopt(before._tool, same_mode) and same_mode
            if not goes_on and self._moved is None and before._last is not None:
                self._moved, self._stood = before.mode, before._standing(before.mode)
        self._efforts.blend.change(options.blend_time)
        self._warm_up()

    def turn_gravity(self, gravity: Array) -> None:
        """Go on under another gravity (3,), see `RobotCore` [m/s^2]; after a jump of it efforts pass over smoothly."""
        self.conclude()  # what the last answer shows, it shows under the gravity that it was made for
        step = gravity - self.dynamics.gravity
        super().turn_gravity(gravity)
        self._laws.turn_gravity(self.dynamics)
        self._tool.model = self.dynamics
        if self._last is not None and np.linalg.norm(step) > JUMP * np.linalg.norm(gravity):
            self._efforts.blend.turn(self._last, gravity, step, self.options.blend_time, self._held)
        self.judge.model = self.dynamics

    def _held(self, gravity: Array) -> Array:
        return gravity_force(self.dynamics.with_gravity(gravity), self._position)

    def _motion_limits(self) -> MotionLimits:
        options, limits = self.options, MotionLimits.of(self.model)
        asked = self._numbers["acceleration_limit"]
        most = np.where(asked > 0.0, asked, np.inf)
        return replace(
            limits,
            acceleration=np.minimum(limits.acceleration, most),
            deceleration=np.minimum(limits.deceleration, most),
            effort=limits.effort if options.saturate_efforts else np.full(self.model.nv, np.inf),
        )

    def _make_tool(self) -> ToolControl:
        options = self.options
        return ToolControl(
            self.dynamics, options, options.error_limit, self.fastest, self._soft, self._usual_tool, self.friction
        )

    def _warm_up(self) -> None:
        """Run every law once, and leave no trace of it."""
        laws, zero = self._laws, self.zero
        q = self.model.neutral()
        integral = laws.pid.integral
        desired = Desired(q, zero, zero, zero)
        for mode in CONTROL_MODES if self.motors is None else MOTOR_MODES:
            if mode not in TOOL_MODES:
                laws.wanted(mode, q, zero, desired, 0.0, False)
                continue
            tool = self._make_tool()
            tool.follow(0, 0.0, q)
            tool.wanted(mode, q, zero, laws.gains, 0.0)
        self._guard.violation(q, zero, desired)
        rest = StopMotion((q, zero, zero), zero, zero, q, zero, zero, zero, zero, False, None, [], laws.gains.stop)
        laws.stopping(q, zero, rest)
        gravity_force(self.dynamics, q)
        with suppress(LieDynamicsError):  # massless links where axes line up
            forward_dynamics(self.dynamics, q, zero, zero)  # by which the delay of efforts is found
        effort_of_wrenches(self.dynamics, q, np.zeros((self.model.n_bodies, 6)))
        within(zero, self.limit)
        laws.pid.reset()
        laws.pid.integral = integral

    @property
    def numbers(self) -> dict[str, Array]:
        """Parameters that have a number for each joint (n,)."""
        return self._numbers

    # From its start to its end.

    def start(self) -> None:
        """Begin afresh: the robot stays where the next state finds it; nothing learned or integrated is kept."""
        self.forget()
        self._laws.pid.reset()
        if self.learner is not None:
            self.learner.reset()
        self._touched = False
        self._stop.replan()
        self._stop.forget()
        self._watch.reset()
        self._drives.reset()
        self._laws.set_gains(self._unlowered)
        self._stop.reversal.acquit()
        self.scale_speed(1.0)
        self.phase, self._reason, self.note = OFF, "no state yet", ""

    def end(self) -> None:
        """Take note that states are answered no more."""
        self.goals.abort_all("the node is not active any more", INVALID_GOAL)
        self.forget()
        self.phase, self._reason = OFF, "not active"

    def take_over_from(self, other: ComputedTorqueCore) -> None:
        """Go on in place of the controller of another description: its efforts pass over smoothly, its stop stays."""
        self.goals, self.clock = other.goals, other.clock
        self.goals.abort_all("the robot description has changed; the robot stays where it is")
        self.scale_speed(other._pace_factor)
        if other.model.joint_names == self.model.joint_names:
            self._efforts.blend.state.last = other._efforts.blend.state.last
            self._effort_delay = other._effort_delay
            self._find_lead()
            self.phase, self._reason = other.phase, other._reason
            if self.motors is None and other.player is not None and other._last is not None:
                self.player, self._inherited, self._moved = other.player, other._last, other.mode
                self._stood = other._standing(other.mode)
            self._efforts.blend.change(self.options.blend_time)

    def forget(self) -> None:
        """Forget trajectories and times, because their age is no longer known; a stop goes on."""
        self.player, self._last, self._latest, self.acceleration = None, None, None, self._unknown
        self._inherited, self._bridge = None, ""
        if self.motors is not None:
            self.motors.forget()
        self._past.forget()
        self.goals.abort_all("the robot or its time have changed; trajectories were dropped")
        self._times = SampleTimes()
        self._efforts.forget()
        self._observer.forget()
        self._stop.reversal.forget()
        self._watched = None
        self._forget_delay()

    def brake(self, reason: str) -> None:
        """Bring the robot to rest."""
        self.stop(reason)

    @property
    def at_rest(self) -> bool:
        """Whether the robot may be left to a constant effort."""
        return self.phase != STOPPING and super().at_rest

    def last_command(self) -> Array | None:
        """Return what to command last: gravity compensation at the last state, zero where the driver adds it.

        None where there was no state, or it is not finite.
        """
        if self._last is None:
            return None
        if self.options.driver_compensates_gravity:
            return self.zero.copy()
        try:
            gravity = self.gravity(self._position)
        except LieDynamicsError:
            return None
        return np.clip(gravity, -self.limit, self.limit) if self.options.saturate_efforts else gravity

    # Diagnostics.

    def loop(self) -> LoopReport:
        """Examine the sampled loop at the present pose; costs about a millisecond."""
        position = self.model.neutral() if self._last is None else self._position
        mode = self.options.mode
        tool = self._tool.loop(mode, position, self.gains) if mode in TOOL_MODES else None
        return examine(self.dynamics, position, self.gains, mode, self.phase in (STOPPING, STOPPED), tool)

    def estimate(self) -> tuple[str, SpatialInertia]:
        """Return the first body whose parameters are learned, and its estimated inertia in its frame."""
        assert self.learner is not None
        body = self.learner.bodies[0]
        return self.model.body_names[body], self.learner.inertia(body)

    @property
    def feedback_factor(self) -> float:
        """Factor of the rates of feedback, below 1 where it fed an oscillation."""
        return self._watch.factor

    @property
    def tool(self) -> ToolControl:
        """The control of the tool's pose, whether in use or not."""
        return self._tool

    def take_saturated(self) -> tuple[str, ...]:
        """Return the joints whose efforts were limited since the last call."""
        saturated = self._efforts.saturated
        names = tuple(name for name, over in zip(self.model.joint_names, saturated.tolist(), strict=True) if over)
        saturated[:] = False
        return names


def _spread(numbers: tuple[float, ...], size: int) -> Array:
    return np.array(np.broadcast_to(np.array(numbers, np.float64), (size,)))
