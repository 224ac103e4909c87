"""Messages and requests to the node stewart_command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...core.errors import MessageError, RequestError
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.stewart.command import CommandFrame, CommandFrames
from ...ros.node.worker import Job, Worker
from ...ros.wire.messages import nanoseconds, pose_to_matrix, read_imu, twist_to_array
from .core import Plan, StewartCommandCore
from .targets import SHAPES, PathTarget, Target, TwistTarget

# Targets become motions beside the ticks.

LEAST_LEAD, MOST_LEAD = 0.02, 1.0
"""Times that planning is given before a motion is left [s]; twice what it took last, between these."""


class Planner:
    """Has one target planned at a time; the last one counts.

    Parameters
    ----------
    now : callable
        Returns the time in which motions go on [s].

    Attributes
    ----------
    lead : float
        Time that planning is given [s].
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.lead = LEAST_LEAD
        self._background = Worker("plans")
        self._plan: tuple[Job, float] | None = None
        self._waiting: Target | None = None

    def close(self) -> None:
        """End the thread."""
        self._background.close()

    def clear(self) -> None:
        """Forget what is being planned, and what waits."""
        self._plan = self._waiting = None

    def wait_no_more(self) -> None:
        """Forget what waits."""
        self._waiting = None

    @property
    def idle(self) -> bool:
        """Whether nothing is being planned."""
        return self._plan is None

    def ask(self, core: StewartCommandCore, target: Target) -> None:
        """Have a target planned, now or after the one that is."""
        self._waiting = None
        if self._plan is not None and not self._plan[0].done:
            self._waiting = target
            return
        plan = core.ask(target, self.lead)
        if plan is not None:
            job = Job(None, plan.make)
            self._plan = job, self._now()
            self._background.start(job)

    def go_on(self, core: StewartCommandCore) -> None:
        """Take what has been planned, and have planned what waits."""
        if self._plan is not None and self._plan[0].done:
            (job, asked), self._plan = self._plan, None
            self.lead = min(max(LEAST_LEAD, 2.0 * (self._now() - asked)), MOST_LEAD)
            plan: Plan = job.result()
            core.take(plan)
        if self._plan is None:
            target = self._waiting or core.due()
            if target is not None:
                self.ask(core, target)


MOST_POSES = 1000
"""In one message."""
KIND = "targets"


class TargetReader:
    """Reads targets, which messages give in base, work or tool frame.

    Parameters
    ----------
    names : mapping
        Name of each frame in messages: "base", "work", "tool".
    """

    def __init__(self, names: dict[CommandFrame, str]) -> None:
        self._names = names

    def frame(self, name: str) -> CommandFrame:
        """Return which frame a name is that of; an empty one is that of the base."""
        name = name.removeprefix("/")
        for frame, known in self._names.items():
            if name == known or (not name and frame == "base"):
                return frame
        expected = ", ".join(repr(known) for known in self._names.values())
        raise MessageError(KIND, f"its frame is {name!r}; expected one of {expected}")

    def pose(self, stamped: Any, frames: CommandFrames, default: str = "") -> tuple[Array, bool]:
        """Return the pose of the tool in the base, or its displacement, and whether it is one."""
        frame = self.frame(stamped.header.frame_id or default)
        pose = pose_to_matrix(stamped.pose)
        return (frames.work @ pose if frame == "work" else pose), frame == "tool"

    def single(self, message: Any, frames: CommandFrames) -> PathTarget:
        """Return the target of a PoseStamped."""
        pose, own = self.pose(message, frames)
        return PathTarget(pose[None], (own,), word="a pose")

    def twist(self, message: Any, now: int, oldest: float) -> TwistTarget:
        """Return the target of a TwistStamped at a time [ns], unless it is older than that [s]."""
        stamp = nanoseconds(message.header.stamp)
        age = (now - stamp) * 1e-9 if stamp else 0.0
        if age > oldest:
            raise MessageError(KIND, f"a twist {age:.3g} s old; twist_timeout is {oldest:g}")
        twist = twist_to_array(message.twist)
        if not np.isfinite(twist).all() or np.abs(twist).max() > 1e6:
            raise MessageError(KIND, "a twist with numbers that are not finite")
        return TwistTarget(twist, self.frame(message.header.frame_id))

    def path(
        self, poses: Sequence[Any], frames: CommandFrames, times: Sequence[float], shape: str, default: str = ""
    ) -> PathTarget:
        """Return the target of several PoseStamped; raises MessageError where they make none."""
        if not 1 <= len(poses) <= MOST_POSES:
            raise MessageError(KIND, f"{len(poses)} poses; expected 1 to {MOST_POSES}")
        if shape not in ("", *SHAPES):
            raise MessageError(KIND, f"shape is {shape!r}; expected one of {', '.join(SHAPES)}, or none")
        found = [self.pose(pose, frames, default) for pose in poses]
        wanted = None
        if len(times):
            wanted = np.array(times, dtype=float)
            if len(wanted) != len(poses):
                raise MessageError(KIND, f"{len(wanted)} times for {len(poses)} poses")
            if not (np.isfinite(wanted).all() and wanted[0] >= 0.0 and (np.diff(wanted) > 0.0).all()):
                raise MessageError(KIND, "times that do not rise from zero on")
        return PathTarget(np.stack([pose for pose, _ in found]), tuple(own for _, own in found), wanted, None, shape)

    def trajectory(self, message: Any, frames: CommandFrames) -> PathTarget:
        """Return the target of a MultiDOFJointTrajectory: one transform at each point, velocities where given."""
        points = message.points
        if not 1 <= len(points) <= MOST_POSES:
            raise MessageError(KIND, f"a trajectory of {len(points)} points; expected 1 to {MOST_POSES}")
        frame = self.frame(message.header.frame_id)
        if frame == "tool":
            raise MessageError(KIND, "a trajectory in the tool frame; expected base or work frame")
        work = frames.work if frame == "work" else np.eye(4)
        poses, times, twists = [], [], np.full((len(points), 6), np.nan)
        for k, point in enumerate(points):
            if len(point.transforms) != 1 or len(point.velocities) > 1:
                raise MessageError(KIND, f"point {k} has {len(point.transforms)} transforms; expected one, of the tool")
            poses.append(work @ pose_to_matrix(_as_pose(point.transforms[0])))
            times.append(point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec)
            if point.velocities:
                twist = twist_to_array(point.velocities[0])
                if not np.isfinite(twist).all():
                    raise MessageError(KIND, f"point {k} has velocities that are not finite")
                twists[k] = np.concatenate([work[:3, :3] @ twist[:3], work[:3, :3] @ twist[3:]])
        wanted = np.array(times)
        if wanted[0] < 0.0 or not (np.diff(wanted) > 0.0).all():
            raise MessageError(KIND, "times_from_start that do not rise from zero on")
        return PathTarget(np.stack(poses), (False,) * len(poses), wanted, twists, word="a trajectory")


def read_vehicle(message: Any, now: int, timeout: float) -> tuple[Array, Array]:
    """Return specific force [m/s^2] and angular velocity [rad/s] (3,) of the Imu of a vehicle at a time [ns].

    Raises
    ------
    MessageError
        Its time is more than a timeout [s] from now; a value is marked as not measured, or not finite.
    """
    check_time(message, now, timeout, "a message of the vehicle", "vehicle_timeout")
    _, force = read_imu(message)
    w = message.angular_velocity
    rate = np.array([w.x, w.y, w.z])
    if force is None or message.angular_velocity_covariance[0] == -1.0:
        raise MessageError("vehicle", "a message of the vehicle without acceleration or angular velocity")
    if not (np.isfinite(force).all() and np.isfinite(rate).all()):
        raise MessageError("vehicle", "a message of the vehicle with numbers that are not finite")
    return force, rate


def check_time(message: Any, now: int, timeout: float, what: str, name: str) -> None:
    """Raise MessageError where a message's stamp is more than a timeout [s] from now [ns], and not zero."""
    stamp = nanoseconds(message.header.stamp)
    if stamp and timeout and abs(now - stamp) > timeout * 1e9:
        raise MessageError("stale", f"{what} {(now - stamp) * 1e-9:.3g} s old; {name} is {timeout:g}")


def _as_pose(transform: Any) -> Any:
    """Return something with the fields of a pose and the numbers of a transform."""
    return SimpleNamespace(position=transform.translation, orientation=transform.rotation)


def check(reader: TargetReader, core: Any, request: Any, response: Any, legs: Sequence[str]) -> None:
    """Fill in the response of CheckPosePath for the platform where it stands."""
    ways = core.ways
    try:
        target = reader.path(request.poses, ways.frames, list(request.times), request.shape)
    except MessageError as error:
        raise RequestError(str(error)) from error
    try:
        path = target.path(ways, core.state)
    except MessageError as error:
        raise RequestError(str(error)) from error
    if path is None:
        response.feasible = True
        return
    report = ways.check(path)
    response.feasible = report.feasible
    response.time = -1.0 if report.time is None else report.time
    if report.motion is not None:
        response.duration, response.stretch = report.motion.duration, report.stretch
    fault = report.fault
    if fault is not None:
        response.reason, response.kind = str(report), fault.kind
        response.leg = legs[fault.leg - 1] if fault.leg else ""
        response.value, response.limit = float(np.nan_to_num(fault.value)), float(np.nan_to_num(fault.limit))
        response.fraction = fault.fraction
