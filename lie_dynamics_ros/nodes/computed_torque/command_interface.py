"""Commands of the node computed_torque: trajectories and goals, targets, pace, rest, contacts. No ROS in here."""

from __future__ import annotations

from ...core.commands import HOLDING, STOPPED, STOPPING, UNTIL_HOLD, YIELDING, JointPoints
from ...core.errors import COMMANDS, TRAJECTORIES, MessageError
from ...lie_dynamics.arrays import Array
from .control_loop import LOST, ControlLoop
from .tool_control import TARGETS
from .tool_options import TOOL_MODES
from .trajectories.goals import SUCCESSFUL, Goal
from .trajectories.judging import Prepared
from .trajectories.trajectory_piece import Desired
from .trajectories.trajectory_player import TrajectoryPlayer

CONTACT = "contact"  # why the robot reacts
PACES = (1.0, 1.5, 2.25, 3.4, 5.0)  # factors by which the way back may take longer than the way there


class ContactReaction:
    """Reacts as `contact_reaction` says where something begins to touch the robot."""

    def __init__(self, loop: ControlLoop) -> None:
        self._loop = loop

    def update(self, touching: bool) -> None:
        """Take in whether something touches the robot."""
        p, s = self._loop.parts, self._loop.parts.state
        new, s.touched = touching and not s.touched, touching
        reaction, mode = p.options.contact_reaction, p.options.mode
        if new and p.reacts and s.phase == STOPPING:
            p.stop.give_way()
        if not new or reaction == "none" or s.last is None or s.phase in UNTIL_HOLD:
            return
        if reaction == "retract" and s.player is not None and s.player.holds(s.way_back):
            return
        if reaction == "stop" or (reaction == "retract" and mode in TOOL_MODES):
            self._loop.begin_stop(CONTACT, False)
        elif mode != "gravity_compensation":
            p.goals.abort_all(CONTACT)
            if reaction == "retract":
                self._retract(s.last)
            else:
                p.efforts.blend.at_once()
                s.enter(YIELDING, CONTACT)

    def _retract(self, now: int) -> None:
        """Go back along the path, in the shortest of some times that keep the limits; else stop."""
        p, s = self._loop.parts, self._loop.parts.state
        assert s.player is not None
        for factor in PACES:
            points = p.past.back(factor * p.options.retract_time)
            if points is None:
                s.player.halt(now, p.judge.brake)
                p.goals.abort_all(CONTACT)
                return
            try:
                s.player.add(now, now, points, judge=p.judge)
            except MessageError:
                continue
            s.way_back = points
            p.past.forget()
            s.note = "going back after a contact"
            return
        self._loop.begin_stop(f"{CONTACT}, and no way back keeps the limits", False)


class CommandInterface:
    """Takes in what the robot is to follow."""

    def __init__(self, loop: ControlLoop) -> None:
        self._loop, self._parts, self.contact = loop, loop.parts, ContactReaction(loop)

    def hold(self) -> str:
        """Drop all trajectories and come to rest; after a stop, control the robot again where it is; say what was done.

        Raises MessageError where there was no state yet, a stop is still under way, or a closed robot cannot be
        followed.
        """
        p, s, motors = self._parts, self._parts.state, self._parts.robot.motors
        if s.player is None or s.last is None:
            raise MessageError(TRAJECTORIES, "the node has received no joint state yet")
        if s.phase == STOPPING:
            raise MessageError(TRAJECTORIES, f"the robot is still being stopped: {p.reason}")
        if motors is not None and motors.lost:
            raise MessageError(TRAJECTORIES, f"{LOST}: {motors.lost}")
        s.note = ""
        if s.phase in (STOPPED, YIELDING):
            why = p.reason
            p.stop.replan()
            p.stop.reversal.acquit()
            p.slow_down()
            p.tool.forget()
            p.laws.pid.reset()
            if s.phase == STOPPED:
                p.watch.begin(stop=False)
                p.lower_gains()
            p.efforts.blend.change(p.options.blend_time)
            s.enter(HOLDING, "~/hold after a stop")
            return f"control again after the stop: {why}"
        p.tool.rest()
        self.give_up("~/hold was called")
        return "all trajectories and targets are dropped"

    def give_up(self, reason: str) -> None:
        """Drop all trajectories and goals, and come to rest."""
        p, s = self._parts, self._parts.state
        if s.player is not None and s.last is not None:
            s.player.halt(s.last, p.judge.brake)
        p.goals.abort_all(reason)

    def scale_speed(self, factor: float) -> None:
        """Let desired motions run slower by a factor from 0 to 1 besides `speed_scaling`; raises MessageError."""
        if not 0.0 <= factor <= 1.0:
            raise MessageError(COMMANDS, f"a speed scaling of {factor:g}; expected 0 to 1")
        self._parts.state.pace = factor

    def aim(self, frame: str, pose: Array, stamp: int = 0) -> None:
        """Take in a target pose (4, 4) of the tool, in a frame, of a time [ns], 0 for now; raises MessageError."""
        last = self._require_tool("a target pose")
        self._parts.tool.targets.aim(frame, pose, stamp or last)

    def drive(self, frame: str, twist: Array, stamp: int = 0) -> None:
        """Take in a target twist (6,) of the tool, in the axes of a frame, of a time [ns]; raises MessageError."""
        last = self._require_tool("a target twist")
        self._parts.tool.targets.drive(frame, twist, stamp or last, last)

    def _require_tool(self, what: str) -> int:
        p, s, mode = self._parts, self._parts.state, self._parts.options.mode
        if mode not in TOOL_MODES:
            raise MessageError(TARGETS, f"{what} in mode {mode}, which follows none")
        if s.player is None or s.last is None:
            raise MessageError(TARGETS, f"{what} before the first joint state")
        if s.phase in UNTIL_HOLD:
            raise MessageError(TARGETS, f"{what} after a stop ({p.reason}); call ~/hold first")
        self._loop.settle()
        s.note = ""
        return s.last

    def prepare(self, points: JointPoints, start: int = 0) -> Prepared:
        """Check a trajectory, and slow it down where that is wished; raises MessageError. Any thread may call it."""
        desired, p = self.require_following().desired, self._parts
        return p.judge.prepare(p.robot.turns.near(points, desired.position), start, desired)

    def take(self, prepared: Prepared, goal: Goal | None = None) -> None:
        """Take in a trajectory that was prepared, for a goal or none; raises MessageError where that cannot be."""
        player, p, s = self.require_following(), self._parts, self._parts.state
        assert s.last is not None
        if prepared.judge.model.joint_names != p.robot.model.joint_names:
            raise MessageError(TRAJECTORIES, "a trajectory that was read for another robot description")
        self._loop.settle()
        player.start_tolerance, player.validated_by = p.options.start_tolerance, p.judge
        whole = prepared.judge is not p.judge
        lead = 0 if prepared.start else p.timing.soonest(p.laws.gains)
        start, queue = prepared.start or s.last, p.options.queue_trajectories
        player.add(start, s.last, prepared.points, queue, p.judge, whole, lead)
        s.note = prepared.note
        if goal is not None:
            goal.points = prepared.points
            goal.note = "; ".join(x for x in (prepared.note, goal.note) if x)
            p.goals.active.append(goal)

    def desired_at(self, time: int) -> Desired:
        """Return the motion desired at a time [ns], 0 for that of the last state; raises MessageError for the past.

        By the trajectories now under way.
        """
        s = self._parts.state
        if s.player is None or s.last is None:
            raise MessageError(TRAJECTORIES, "the node has received no joint state yet")
        if time and time < s.last:
            raise MessageError(TRAJECTORIES, f"a time {(s.last - time) * 1e-9:.3f} s before the last state")
        return s.player.ahead(time or s.last)

    def require_following(self) -> TrajectoryPlayer:
        """Return what plays trajectories; raises MessageError where none are followed now."""
        p, s, mode = self._parts, self._parts.state, self._parts.options.mode
        if s.player is None or s.last is None:
            raise MessageError(TRAJECTORIES, "a trajectory before the first joint state: it has nowhere to start from")
        if s.phase in UNTIL_HOLD:
            raise MessageError(TRAJECTORIES, f"a trajectory after a stop ({p.reason}); call ~/hold first")
        if mode in ("gravity_compensation", *TOOL_MODES):
            raise MessageError(TRAJECTORIES, f"a trajectory in mode {mode}, which follows none")
        return s.player

    def cancel(self, goal: Goal) -> None:
        """End a goal as canceled, and come to rest along its path.

        The result does not wait for rest: MoveIt takes one that comes later for that of its next goal, which it cannot
        stop any more.
        """
        p, s = self._parts, self._parts.state
        if goal in p.goals.active:
            p.goals.finish(goal, SUCCESSFUL, "canceled; comes to rest along the path", True)
            if s.player is not None and s.last is not None:
                s.player.halt(s.last, p.judge.brake, goal.points)
