"""Core of the node computed_torque, without ROS: a state in, an answer out, and one state machine.

Nothing else is left behind by an answer than what the next one needs: integrals, what was learned, a stop under way.
`ControllerParts` holds that, `ControlLoop` answers states by it, `CommandInterface` takes in what is to be followed.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from ...core.commands import OFF, STOPPING, JointPoints
from ...core.frames import last_link
from ...core.mechanism import TrackedMechanism
from ...core.robot_core import RESTING_SPEED, RobotCore
from ...core.robot_state import RobotState
from ...lie_dynamics import JointFriction, LieDynamicsError, Model
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control import SampleTimes
from .command_interface import CommandInterface
from .control_loop import ControlLoop
from .laws import ControllerAnswer
from .motor_states import MotorStates
from .options import ComputedTorqueOptions
from .parts import RobotFacts, make_parts
from .review import ReviewState
from .trajectories.goals import INVALID_GOAL


def _view(path: str) -> Any:
    return property(attrgetter(path))


class ComputedTorqueCore(RobotCore):
    """A controller of one robot whose joints have one coordinate each.

    The model is as described: what the options include is added. Friction of the drives is compensated at desired
    velocities. With a mechanism, the motors of a closed robot are controlled, and `model` is what they move. Raises
    ParameterError where the robot cannot have these options.

    `control` answers states; its `parts` hold all that there is, their `state` what one answer leaves to the next.
    `commands` takes in what the robot is to follow.
    """

    options: ComputedTorqueOptions
    parts = _view("control.parts")
    phase, reason, note, mode = (_view(f"control.parts.{x}") for x in ("state.phase", "reason", "state.note", "mode"))
    player, goals, clock, judge = (_view(f"control.parts.{x}") for x in ("state.player", "goals", "clock", "judge"))
    tool, numbers, gravity = (_view(f"control.parts.{x}") for x in ("tool", "numbers", "gravity"))
    gains, learner, lead = (_view(f"control.parts.{x}") for x in ("laws.gains", "laws.learner", "timing.lead"))
    motors, turns = (_view(f"control.parts.robot.{x}") for x in ("motors", "turns"))
    loop, estimate, feedback_factor = (_view(f"control.parts.{x}") for x in ("loop", "estimate", "watch.factor"))
    hold, take, prepare, cancel = (_view(f"commands.{x}") for x in ("hold", "take", "prepare", "cancel"))
    aim, drive, scale_speed = (_view(f"commands.{x}") for x in ("aim", "drive", "scale_speed"))
    desired_at, give_up = (_view(f"commands.{x}") for x in ("desired_at", "give_up"))
    touched, conclude = _view("commands.contact.update"), _view("control.review.update")

    def __init__(
        self,
        model: Model,
        options: ComputedTorqueOptions,
        friction: JointFriction | None = None,
        mechanism: TrackedMechanism | None = None,
    ) -> None:
        motors = None if mechanism is None else MotorStates(model, mechanism)
        if motors is None:
            super().__init__(model, friction)
        else:
            super().__init__(motors.robot, motors.friction(friction))
        tool = model.body_names[last_link(model)]
        self.robot = RobotFacts(self.model, self.friction, motors, self.limit, tool)
        self.acceleration = self.robot.unknown
        self.options, self.dynamics = options, self.applied(options)
        parts = make_parts(self.robot, options, self.dynamics)
        self.saturated, self.control = parts.efforts.saturated, ControlLoop(parts)
        self.commands = CommandInterface(self.control)

    def with_options(self, options: ComputedTorqueOptions) -> ComputedTorqueCore:
        """Return a core that goes on where this one is, with other options; efforts pass over to them smoothly.

        Raises ParameterError where the robot cannot have them. This one is as it was, and of no use once the other one
        has answered.
        """
        other = copy.copy(self)
        other.options, other.dynamics = options, other.applied(options)
        parts = make_parts(self.robot, options, other.dynamics, self.control.parts)
        other.control = ControlLoop(parts, self.control)
        other.commands = CommandInterface(other.control)
        return other

    def turn_gravity(self, gravity: Array) -> None:
        """Go on under another gravity (3,), see `RobotCore` [m/s^2]; after a jump of it efforts pass over smoothly."""
        self.control.review.update()  # what the last answer shows, it shows under the gravity that it was made for
        step = gravity - self.dynamics.gravity
        super().turn_gravity(gravity)
        self.control.parts.turn_gravity(self.dynamics, gravity, step)

    def answer(self, state: RobotState) -> ControllerAnswer:
        """Return the answer to a state, whose stamp must not fall unless `forget` was called.

        Raises
        ------
        MessageError
            Not even gravity compensation is finite for this state; or it is not known yet how a closed robot stands.
        """
        control, robot = self.control, self.robot
        control.review.update()
        answer = control.update(state if robot.motors is None else robot.motors.at(state))
        self.acceleration = answer.desired.acceleration if robot.expects else robot.unknown
        return answer

    def follow(self, points: JointPoints, start: int = 0) -> None:
        """Take in a trajectory that starts at a time [ns], 0 for now; raises MessageError where that cannot be."""
        self.commands.take(self.commands.prepare(points, start))

    def stop(self, reason: str) -> None:
        """Bring the robot to rest, hold it there and follow nothing, until `hold` is called."""
        self.control.begin_stop(reason, True)

    brake = stop

    # From its start to its end.

    def start(self) -> None:
        """Begin afresh: the robot stays where the next state finds it; nothing learned or integrated is kept."""
        self.forget()
        p = self.control.parts
        p.laws.pid.reset()
        if p.laws.learner is not None:
            p.laws.learner.reset()
        p.stop.replan()
        p.stop.forget()
        p.watch.reset(p.options.learn_drives)
        p.drives.reset()
        p.stop.reversal.acquit()
        p.state = replace(p.state, phase=OFF, why="no state yet", note="", touched=False, pace=1.0)
        p.lower_gains()

    def end(self) -> None:
        """Take note that states are answered no more."""
        p = self.control.parts
        p.goals.abort_all("the node is not active any more", INVALID_GOAL)
        self.forget()
        p.state = replace(p.state, phase=OFF, why="not active")

    def take_over_from(self, other: ComputedTorqueCore) -> None:
        """Go on in place of the controller of another description: its efforts pass over smoothly, its stop stays."""
        p, before = self.control.parts, other.control.parts
        s = before.state
        p.goals, p.clock = before.goals, before.clock
        p.goals.abort_all("the robot description has changed; the robot stays where it is")
        p.state.pace = s.pace
        if other.model.joint_names != self.model.joint_names:
            return
        p.efforts.blend.state.last = before.efforts.blend.state.last
        p.timing.take_delay(before.timing)
        p.timing.find_lead(p.options, p.laws.gains)
        p.state = replace(p.state, phase=s.phase, why=s.why)
        if self.robot.motors is None and s.player is not None and s.last is not None:
            stood = before.standing(before.mode)
            p.state = replace(p.state, player=s.player, inherited=s.last, moved=before.mode, stood=stood)
        p.efforts.blend.change(p.options.blend_time)

    def forget(self) -> None:
        """Forget trajectories and times, because their age is no longer known; a stop goes on."""
        p, robot = self.control.parts, self.robot
        p.state, self.acceleration = p.state.forgotten(), robot.unknown
        if robot.motors is not None:
            robot.motors.forget()
        p.past.forget()
        p.goals.abort_all("the robot or its time have changed; trajectories were dropped")
        p.timing.times = SampleTimes()
        p.forget_times()
        self.control.review.state = ReviewState()

    @property
    def at_rest(self) -> bool:
        """Whether the robot may be left to a constant effort."""
        s = self.control.parts.state
        return s.phase != STOPPING and float(np.abs(s.velocity).max(initial=0.0)) < RESTING_SPEED

    def last_command(self) -> Array | None:
        """Return what to command last: gravity compensation at the last state, zero where the driver adds it.

        None where there was no state, or it is not finite.
        """
        p = self.control.parts
        if p.state.last is None:
            return None
        if p.options.driver_compensates_gravity:
            return self.zero.copy()
        try:
            gravity = p.gravity(p.state.position)
        except LieDynamicsError:
            return None
        return np.clip(gravity, -self.limit, self.limit) if p.options.saturate_efforts else gravity
