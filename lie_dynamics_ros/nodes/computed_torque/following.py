"""Commands of the node computed_torque: trajectories and goals, targets, pace, rest. No ROS in here."""

from __future__ import annotations

from ...core.arrays import Array
from ...core.commands import HOLDING, STOPPED, STOPPING, UNTIL_HOLD, YIELDING
from ...core.errors import COMMANDS, TRAJECTORIES, MessageError
from ...core.joint_points import JointPoints
from ...lie_dynamics import JointFriction
from ...lie_dynamics.control.robots import Robot
from .answering import LOST, Answering
from .gains import lowered
from .motor_states import MotorStates
from .tool.tool_options import TOOL_MODES
from .tool_control import TARGETS
from .trajectories.goals import SUCCESSFUL, Goal
from .trajectories.judging import Prepared
from .trajectories.trajectory_piece import Desired
from .trajectories.trajectory_player import TrajectoryPlayer

CONTACT = "contact"
"""Why the robot reacts."""
PACES = (1.0, 1.5, 2.25, 3.4, 5.0)
"""Factors by which the way back may take longer than the way there."""


class Following(Answering):
    """The part of `ComputedTorqueCore` that takes in what the robot is to follow."""

    def __init__(self, robot: Robot, friction: JointFriction | None, motors: MotorStates | None) -> None:
        super().__init__(robot, friction, motors)
        self._pace_factor = 1.0  # besides `speed_scaling`

    def hold(self) -> str:
        """Drop all trajectories and come to rest; after a stop, control the robot again where it is.

        Returns
        -------
        str
            What was done.

        Raises
        ------
        MessageError
            There was no state yet, a stop is still under way, or a closed robot cannot be followed.
        """
        if self.player is None or self._last is None:
            raise MessageError(TRAJECTORIES, "the node has received no joint state yet")
        if self.phase == STOPPING:
            raise MessageError(TRAJECTORIES, f"the robot is still being stopped: {self.reason}")
        if self.motors is not None and self.motors.lost:
            raise MessageError(TRAJECTORIES, f"{LOST}: {self.motors.lost}")
        self.note = ""
        if self.phase in (STOPPED, YIELDING):
            why = self.reason
            self._stop.replan()
            self._stop.reversal.acquit()
            self._slow_down()
            self._tool.forget()
            self._laws.pid.reset()
            if self.phase == STOPPED:
                self._watch.begin(stop=False)
                self._laws.set_gains(lowered(self._unlowered, self._watch.factor))
            self._efforts.blend.change(self.options.blend_time)
            self._enter(HOLDING, "~/hold after a stop")
            return f"control again after the stop: {why}"
        self._tool.rest()
        self.give_up("~/hold was called")
        return "all trajectories and targets are dropped"

    def touched(self, touching: bool) -> None:
        """Take in whether something touches the robot; where that is new, react as `contact_reaction` says."""
        new, self._touched = touching and not self._touched, touching
        reaction, mode = self.options.contact_reaction, self.options.mode
        if new and self._reacts and self.phase == STOPPING:
            self._stop.give_way()
        if not new or reaction == "none" or self._last is None or self.phase in UNTIL_HOLD:
            return
        if reaction == "retract" and self.player is not None and self.player.holds(self._way_back):
            return
        if reaction == "stop" or (reaction == "retract" and mode in TOOL_MODES):
            self._begin_stop(CONTACT, False)
        elif mode != "gravity_compensation":
            self.goals.abort_all(CONTACT)
            if reaction == "retract":
                self._retract(self._last)
            else:
                self._efforts.blend.at_once()
                self._enter(YIELDING, CONTACT)

    def _retract(self, now: int) -> None:
        """Go back along the path, in the shortest of some times that keep the limits; else stop."""
        assert self.player is not None
        for factor in PACES:
            points = self._past.back(factor * self.options.retract_time)
            if points is None:
                self.give_up(CONTACT)
                return
            try:
                self.player.add(now, now, points, judge=self.judge)
            except MessageError:
                continue
            self._way_back = points
            self._past.forget()
            self.note = "going back after a contact"
            return
        self._begin_stop(f"{CONTACT}, and no way back keeps the limits", False)

    def give_up(self, reason: str) -> None:
        """Drop all trajectories and goals, and come to rest."""
        if self.player is not None and self._last is not None:
            self.player.halt(self._last, self.judge.brake)
        self.goals.abort_all(reason)

    def scale_speed(self, factor: float) -> None:
        """Let desired motions run slower by a factor from 0 to 1 besides `speed_scaling`; raises MessageError."""
        if not 0.0 <= factor <= 1.0:
            raise MessageError(COMMANDS, f"a speed scaling of {factor:g}; expected 0 to 1")
        self._pace_factor, self._pace = factor, self.options.speed_scaling * factor

    def aim(self, frame: str, pose: Array, stamp: int = 0) -> None:
        """Take in a target pose (4, 4) of the tool, in a frame, of a time [ns], 0 for now; raises MessageError."""
        last = self._require_tool("a target pose")
        self._tool.aim(frame, pose, stamp or last)

    def drive(self, frame: str, twist: Array, stamp: int = 0) -> None:
        """Take in a target twist (6,) of the tool, in the axes of a frame, of a time [ns]; raises MessageError."""
        last = self._require_tool("a target twist")
        self._tool.drive(frame, twist, stamp or last, last)

    def _require_tool(self, what: str) -> int:
        mode = self.options.mode
        if mode not in TOOL_MODES:
            raise MessageError(TARGETS, f"{what} in mode {mode}, which follows none")
        if self.player is None or self._last is None:
            raise MessageError(TARGETS, f"{what} before the first joint state")
        if self.phase in UNTIL_HOLD:
            raise MessageError(TARGETS, f"{what} after a stop ({self.reason}); call ~/hold first")
        self._settle()
        self.note = ""
        return self._last

    def follow(self, points: JointPoints, start: int = 0) -> None:
        """Take in a trajectory that starts at a time [ns], 0 for now; raises MessageError where that cannot be."""
        self.take(self.prepare(points, start))

    def prepare(self, points: JointPoints, start: int = 0) -> Prepared:
        """Check a trajectory, and slow it down where that is wished; raises MessageError. Any thread may call it."""
        player = self.require_following()
        return self.judge.prepare(self.turns.near(points, player.desired.position), start, player.desired)

    def take(self, prepared: Prepared) -> None:
        """Take in a trajectory that was prepared; raises MessageError where that cannot be."""
        player, options = self.require_following(), self.options
        assert self._last is not None
        if prepared.judge.model.joint_names != self.model.joint_names:
            raise MessageError(TRAJECTORIES, "a trajectory that was read for another robot description")
        self._settle()
        player.jump, player.judged = options.start_tolerance, self.judge
        whole = prepared.judge is not self.judge
        lead = 0 if prepared.start else self.soonest
        player.add(
            prepared.start or self._last,
            self._last,
            prepared.points,
            options.queue_trajectories,
            self.judge,
            whole,
            lead,
        )
        self.note = prepared.note

    def desired_at(self, time: int) -> Desired:
        """Return the motion desired at a time [ns], 0 for that of the last state; raises MessageError for the past.

        By the trajectories now under way.
        """
        if self.player is None or self._last is None:
            raise MessageError(TRAJECTORIES, "the node has received no joint state yet")
        if time and time < self._last:
            raise MessageError(TRAJECTORIES, f"a time {(self._last - time) * 1e-9:.3f} s before the last state")
        return self.player.ahead(time or self._last)

    def require_following(self) -> TrajectoryPlayer:
        """Return what plays trajectories; raises MessageError where none are followed now."""
        if self.player is None or self._last is None:
            raise MessageError(TRAJECTORIES, "a trajectory before the first joint state: it has nowhere to start from")
        if self.phase in UNTIL_HOLD:
            raise MessageError(TRAJECTORIES, f"a trajectory after a stop ({self.reason}); call ~/hold first")
        mode = self.options.mode
        if mode in ("gravity_compensation", *TOOL_MODES):
            raise MessageError(TRAJECTORIES, f"a trajectory in mode {mode}, which follows none")
        return self.player

    def pursue(self, goal: Goal, prepared: Prepared) -> None:
        """Take in the trajectory of a goal; raises MessageError where that cannot be."""
        self.take(prepared)
        goal.points = prepared.points
        goal.note = "; ".join(x for x in (prepared.note, goal.note) if x)
        self.goals.active.append(goal)

    def cancel(self, goal: Goal) -> None:
        """Come to rest along the path of a goal, which is canceled then."""
        if goal not in self.goals.active or goal.canceling:
            return
        goal.canceling = True
        if self.player is None or self._last is None:
            self.goals.finish(goal, SUCCESSFUL, "canceled", True)
        else:
            self.player.halt(self._last, self.judge.brake, goal.points)
