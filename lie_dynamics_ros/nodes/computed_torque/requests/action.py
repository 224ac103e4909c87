"""The action follow_joint_trajectory of the node computed_torque, where control_msgs is installed."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle

from ....core.errors import MessageError, reason_of
from ....core.joint_mapping import JointMapping
from ....lie_dynamics.arrays import Array
from ....lie_dynamics.texts import listed
from ....ros.inputs.commands import read_joint_trajectory
from ....ros.node.answering_node import AnsweringNode
from ....ros.node.worker import Job, SideNode
from ....ros.wire import qos
from ....ros.wire.compatibility import begin_goal, finish_goal
from ....ros.wire.goal_requests import GoalServer, forget_points
from ....ros.wire.messages import nanoseconds
from ..core import ComputedTorqueCore
from ..laws import ControllerAnswer
from ..trajectories.goals import (
    INVALID_GOAL,
    INVALID_JOINTS,
    OLD_HEADER_TIMESTAMP,
    SUCCESSFUL,
    TAKEN_OVER,
    Bounds,
    Goal,
    GoalError,
    Result,
    Tolerance,
    read_bounds,
)
from ..trajectories.judging import Prepared
from ..trajectories.trajectory_player import PastError
from .standard_interfaces import make_point

NAME = "~/follow_joint_trajectory"
FEW = 100  # points up to which a goal is read at once: that takes less than a millisecond


class TrajectoryAction:
    """Takes goals and reports their outcomes, which the core's `goals` decides.

    A goal is rejected where it shows at once that it cannot be followed; the reason is logged, as a rejection carries
    none. All others are accepted and read beside the executor; those that cannot be followed are aborted, with code and
    text.

    The server and its callbacks, `_ask`, `_accepted`, `_cancel` and `_tell`, live on the thread of the side node, where
    a long goal may take its time; they read of the core what may be read at any time. All else is the executor's.
    """

    def __init__(
        self,
        node: AnsweringNode[ComputedTorqueCore],
        prepare: Callable[[Callable[[], Prepared], Callable[[Job], None]], None],
        side: SideNode,
    ) -> None:
        self._node, self._prepare, self._side = node, prepare, side
        self._goals: dict[bytes, Goal] = {}
        self._to_cancel: deque[Goal] = deque()
        self._server: Any = None
        try:
            from control_msgs.action import FollowJointTrajectory
        except ImportError:
            node.get_logger().info(f"without the action {NAME}: the package control_msgs is not installed")
            return
        self._type = FollowJointTrajectory
        self._server = GoalServer(
            side,
            FollowJointTrajectory,
            side.name_of(NAME),
            execute_callback=lambda handle: None,  # nothing runs here: goals go on with the answers to states
            goal_callback=self._ask,
            handle_accepted_callback=self._accepted,
            cancel_callback=self._cancel,
            goal_service_qos_profile=qos.REQUESTS,
            result_service_qos_profile=qos.REQUESTS,
            cancel_service_qos_profile=qos.REQUESTS,
        )

    def close(self) -> None:
        """Let go of the server, before its node goes."""
        if self._server is not None:
            self._server.destroy()
            self._server = None

    # Goals.

    def _ask(self, request: Any) -> GoalResponse:
        """Accept a goal, or reject it for a reason that takes no time to find."""
        try:
            core = self._node.answering
            if core is None:
                raise GoalError(INVALID_GOAL, f"the node is not active but {self._node.state}")
            check_goal(core, request)
        except MessageError as error:
            self._node.get_logger().warning(f"a goal is rejected: {error}", throttle_duration_sec=1.0)
        except Exception as error:  # whatever it is, nobody follows it
            self._node.get_logger().error(f"a goal could not be read: {reason_of(error)}")
        else:
            return GoalResponse.ACCEPT
        with suppress(AttributeError):
            forget_points(request.trajectory)
        return GoalResponse.REJECT

    def _accepted(self, handle: ServerGoalHandle) -> None:
        begin_goal(handle)
        goal = Goal(handle)
        self._goals[bytes(handle.goal_id.uuid)] = goal
        core = self._node.answering
        if core is None:
            self._tell(Result(goal, INVALID_GOAL, f"the node is not active but {self._node.state}"))
            return
        self._prepare(lambda: prepare_goal(core, goal, handle.request), lambda job: self._begin(goal, job.result))

    def _begin(self, goal: Goal, prepared: Any) -> None:
        """Take in what was prepared, or abort the goal with the reason."""
        core = self._node.answering
        self._cancel_asked(core)
        try:
            if goal.canceling:
                self._post(Result(goal, SUCCESSFUL, "canceled before it began", True))
            elif core is None:
                self._post(Result(goal, INVALID_GOAL, "the node is not active any more"))
            else:
                core.take(prepared(), goal)
                if goal.note:
                    self._node.get_logger().warning(f"of a goal: {goal.note}", throttle_duration_sec=1.0)
        except Exception as error:
            code = OLD_HEADER_TIMESTAMP if isinstance(error, PastError) else getattr(error, "code", INVALID_GOAL)
            if not isinstance(error, MessageError):
                self._node.get_logger().error(f"a goal could not be read: {reason_of(error)}")
            self._post(Result(goal, code, reason_of(error)))

    def _cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        goal = self._goals.get(bytes(handle.goal_id.uuid))
        if goal is None:
            return CancelResponse.REJECT
        self._to_cancel.append(goal)
        return CancelResponse.ACCEPT

    # What is reported.

    @property
    def due(self) -> bool:
        """Whether there is something for `go_on` to do."""
        return bool(self._to_cancel)

    def go_on(self, core: ComputedTorqueCore) -> None:
        """Cancel goals, and report their outcomes."""
        self._cancel_asked(core)
        results = core.goals.results
        while results:
            self._post(results.pop(0))

    def _cancel_asked(self, core: ComputedTorqueCore | None) -> None:
        while self._to_cancel:
            goal = self._to_cancel.popleft()
            if core is not None and goal in core.goals.active:
                core.cancel(goal)
            else:
                goal.canceling = True

    def _post(self, result: Result) -> None:
        self._side.post(self._tell, result)

    def _tell(self, result: Result) -> None:
        handle = result.goal.sender
        if self._goals.pop(bytes(handle.goal_id.uuid), None) is None:
            return
        if result.canceled and handle.is_cancel_requested:
            handle.canceled()
        elif result.code == SUCCESSFUL:
            handle.succeed()
        else:
            handle.abort()
            log = self._node.get_logger()
            if result.text.startswith(TAKEN_OVER):  # nothing is wrong where a client streams goals
                log.info(f"a goal is replaced: {TAKEN_OVER}", throttle_duration_sec=10.0)
            else:
                log.warning(f"a goal is aborted: {result.text}")
        message = self._type.Result(error_code=result.code, error_string=result.text)
        finish_goal(self._server, handle, message)

    def feed_back(self, core: ComputedTorqueCore, answer: ControllerAnswer, as_told: Callable[[Array], Array]) -> None:
        """Publish how the last state stood to the motion desired, to those who sent goals under way."""
        wanted, seen = as_told(answer.desired.position), as_told(answer.position)
        stamp = Time()
        stamp.sec, stamp.nanosec = divmod(answer.stamp, 10**9)
        for goal in core.goals.active:
            if goal.piece is None or core.player is None:
                continue
            at, desired = goal.joints, answer.desired
            passed = max(0.0, (core.player.clock.shown(answer.stamp) - goal.piece.start) * 1e-9)
            message = self._type.Feedback()
            message.header.stamp, message.joint_names = stamp, list(goal.names)
            message.desired = make_point(wanted[at], desired.velocity[at], desired.acceleration[at], after=passed)
            message.actual = make_point(seen[at], answer.velocity[at], after=passed)
            message.error = make_point(answer.error[at], answer.error_rate[at], after=passed)
            if hasattr(message, "index"):
                message.index = max(int(np.searchsorted(goal.piece.points.times, passed, "right")) - 1, 0)
            goal.sender.publish_feedback(message)


def check_goal(core: ComputedTorqueCore, request: Any) -> None:
    """Refuse a goal whose joints, points or phase are wrong, all points of it where they are few; raises MessageError.

    What takes longer, and what depends on limits, is left to `prepare_goal`.
    """
    known, named = core.model.joint_names, request.trajectory.joint_names
    counts = Counter(named)
    strangers = [name for name in counts if name not in known]
    twice = sorted(name for name, count in counts.items() if count > 1)
    if strangers or twice:
        problem = f"the robot has no joint {listed(strangers)}" if strangers else f"named twice: {listed(twice)}"
        raise GoalError(INVALID_JOINTS, f"{problem}; its joints are {', '.join(known)}")
    if not core.options.allow_partial_joints_goal and len(named) < len(known):
        lack = listed([name for name in known if name not in counts])
        raise GoalError(INVALID_JOINTS, f"joint {lack} is missing; expected all, or allow_partial_joints_goal")
    if request.multi_dof_trajectory.points or request.component_path_tolerance or request.component_goal_tolerance:
        raise GoalError(INVALID_GOAL, "the goal is for joints of several coordinates, of which the robot has none")
    core.commands.require_following()
    points = request.trajectory.points
    if len(points) <= FEW:
        core.judge.require_end(read_joint_trajectory(request.trajectory, JointMapping(known))[1])


def prepare_goal(core: ComputedTorqueCore, goal: Goal, request: Any) -> Prepared:
    """Read and check a goal; fills in all but its points. Raises MessageError, beside the executor."""
    known = core.model.joint_names
    try:
        start, points = read_joint_trajectory(request.trajectory, JointMapping(known))
    finally:
        forget_points(request.trajectory)
    names = [known[k] for k in points.joints]
    numbers, options = core.numbers, core.options

    def bounds(what: str, given: Sequence[Any]) -> Bounds:
        tolerances = [Tolerance(x.name, x.position, x.velocity) for x in given]
        strangers = [x.name for x in given if x.name not in known]
        if strangers:
            goal.note = f"{what} of joint {listed(strangers)} is not looked at: the robot has no such joint"
        return read_bounds(what, tolerances, names, numbers[what][points.joints])

    goal.names = names
    goal.path = bounds("path_tolerance", request.path_tolerance)
    goal.end = bounds("goal_tolerance", request.goal_tolerance)
    patience = nanoseconds(request.goal_time_tolerance) * 1e-9
    goal.patience = max(patience, 0.0) if patience else options.goal_time_tolerance
    return core.prepare(points, start)
