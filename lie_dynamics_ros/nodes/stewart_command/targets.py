"""Targets of the node stewart_command, and the motions to them. No messages in here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ...core.errors import MessageError
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.lie import se3, so3
from ...lie_dynamics.stewart import StewartError
from ...lie_dynamics.stewart.command import (
    CommandFrame,
    CommandFrames,
    CommandLimits,
    LegSetpoints,
    PathError,
    PathFault,
    PathReport,
    PlannedMotion,
    PlatformLoad,
    PosePath,
    check_path,
    leaving_path,
    leg_forces,
    line_path,
    path_fault,
    plan_motion,
    screw_path,
    smooth_path,
    time_path,
)

SHAPES: dict[str, Callable[..., PosePath]] = {"line": line_path, "screw": screw_path, "smooth": smooth_path}
REACHES = (0.25, 0.5, 1.0, 2.0)
"""Parameters of the goals of paths that leave a motion [s]."""
RAMPS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 0.1)
"""Times in which one twist passes over into another [s]; the last from rest, as limits stretch it then."""
WIDEST, KEPT = 1.5, 0.99
"""Largest angle of one path of a twist [rad], and part of limits that twists may take."""
LEAST = 1e-4
"""Shortest path that is followed [s]."""
SHORTER = 0.98
"""Part of a path to a limit that is followed."""
AT_GOAL = 1e-7
"""Distance and angle below which the platform is where it is to be [m, rad]."""


@dataclass(frozen=True, eq=False)
class Ways:
    """Planning of targets.

    Attributes
    ----------
    limits : CommandLimits
    load : PlatformLoad
    frames : CommandFrames
    shape : str
        Of `SHAPES`, for poses without times.
    steps : int
        Of the grid along a path.
    twist_timeout : float
        For which a twist is followed [s].
    """

    limits: CommandLimits
    load: PlatformLoad
    frames: CommandFrames
    shape: str
    steps: int
    twist_timeout: float

    def check(self, path: PosePath, start_rate: float = 0.0) -> PathReport:
        """Check a path against all limits."""
        return check_path(path, self.limits, self.load, start_rate, self.steps)

    def fault(self, path: PosePath) -> PathFault | None:
        """Return the first limit on a path that no slower motion keeps, or None."""
        return path_fault(path, self.limits, self.load, self.steps)

    def plan(self, path: PosePath, start_rate: float = 0.0) -> PlannedMotion:
        """Plan a motion; raises PathError where there is none."""
        return plan_motion(path, self.limits, self.load, start_rate, self.steps)

    def at_rest(self, pose: Array) -> LegSetpoints:
        """Return the set points of a pose (4, 4) at rest."""
        platform, zero = self.limits.platform, np.zeros(6)
        forces = leg_forces(platform, pose, zero, zero, self.load)
        return LegSetpoints(pose, zero, zero, platform.motor_positions(pose), zero, zero, forces)


@dataclass(frozen=True, eq=False)
class State:
    """Start of a motion: pose (4, 4) and body twist (6,)."""

    pose: Array
    twist: Array

    @property
    def resting(self) -> bool:
        """Whether it rests."""
        return not self.twist.any()

    def tool_twist(self, ways: Ways) -> Array:
        """Twist of the tool in axes of the base."""
        tool = ways.frames.tool
        body = se3.transform_twist(se3.inverse(tool), self.twist)
        R = (self.pose @ tool)[:3, :3]
        return np.concatenate([R @ body[:3], R @ body[3:]])


@dataclass(frozen=True, eq=False)
class PathTarget:
    """Poses of the tool in the base frame (k, 4, 4), with times [s] and twists (k, 6) in its axes or without.

    Poses of the tool frame are displacements of the tool where it stands; ``relative`` (k,) marks these.
    """

    poses: Array
    relative: tuple[bool, ...]
    times: Array | None = None
    twists: Array | None = None
    shape: str = ""
    word: str = "a path"

    def path(self, ways: Ways, state: State) -> PosePath | None:
        """Return the path from rest; None where the platform is there already."""
        here = state.pose @ ways.frames.tool
        points = [here @ pose if own else pose for pose, own in zip(self.poses, self.relative, strict=True)]
        whole = np.stack([here, *points])
        if max(apart(here, pose) for pose in points) < AT_GOAL:
            return None
        tool = ways.frames.tool
        if self.times is None:
            return SHAPES[self.shape or ways.shape](whole, tool)
        times, twists = self.times, self.twists
        if times[0] > 0.0:
            rest = np.zeros((1, 6))
            given = np.full((len(points), 6), np.nan) if twists is None else twists
            return smooth_path(whole, tool, np.concatenate([[0.0], times]), np.concatenate([rest, given]))
        if apart(here, points[0]) > 1e-4:
            raise MessageError("targets", f"the trajectory begins {apart(here, points[0]):.4g} m or rad off the tool")
        points[0] = here
        return smooth_path(np.stack(points), tool, times, twists)

    def motion(self, ways: Ways, state: State) -> PlannedMotion | None:
        """Return the motion from a state; None where it is to stop first, or has nowhere to go.

        Raises
        ------
        PathError, StewartError, MessageError
            There is no such motion.
        """
        if state.resting:
            path = self.path(ways, state)
            return None if path is None else ways.plan(path)
        if len(self.poses) > 1 or self.times is not None:
            return None
        here = state.pose @ ways.frames.tool
        found = []
        for path in leaving(ways, state, here @ self.poses[0] if self.relative[0] else self.poses[0]):
            with suppress(StewartError):
                found.append(ways.plan(path, 1.0))
        return min(found, key=lambda motion: motion.duration) if found else None


@dataclass(frozen=True, eq=False)
class TwistTarget:
    """A twist of the tool (6,): angular velocity, and velocity of its origin, in axes of a frame [rad/s, m/s]."""

    twist: Array
    frame: CommandFrame
    word: str = "a twist"

    def motion(self, ways: Ways, state: State) -> PlannedMotion | None:
        """Return the motion that takes on the twist, keeps it while it counts, or to where limits end it, and rests.

        Raises
        ------
        PathError, StewartError
            There is none.
        """
        here, before = state.pose @ ways.frames.tool, state.tool_twist(ways)
        wanted = self._possible(ways, state)
        if not wanted.any():
            return None
        failed = None
        for ramp in RAMPS[-1:] if state.resting else RAMPS[:-1]:
            times = np.array([0.0, ramp, ramp + ways.twist_timeout])
            poses = [here, _carried(here, 0.5 * (before + wanted), ramp)]
            poses.append(_carried(poses[-1], wanted, ways.twist_timeout))
            path = smooth_path(np.stack(poses), ways.frames.tool, times, np.stack([before, wanted, wanted]))
            motion, failed, ends = as_far(ways, path, state)
            if motion is not None:
                return motion
            if ends:
                break  # longer ones come nearer to it
        assert failed is not None
        raise PathError(failed)

    def _possible(self, ways: Ways, state: State) -> Array:
        """Return the twist in axes of the base, scaled down to what rates of legs and speeds allow here."""
        wanted = ways.frames.tool_twist(self.twist, self.frame, state.pose)
        arm = state.pose[:3, :3] @ ways.frames.tool[:3, 3]
        origin = np.concatenate([wanted[:3], wanted[3:] - np.cross(wanted[:3], arm)])
        limits = ways.limits
        speed, turn = float(np.linalg.norm(wanted[3:])), float(np.linalg.norm(wanted[:3]))
        rates = np.abs(limits.platform.motor_rates(state.pose, origin, "aligned")) / limits.rate
        part = max(rates.max(), speed / limits.speed, turn / limits.angular_speed, turn * ways.twist_timeout / WIDEST)
        return np.asarray(wanted / max(1.0, part / KEPT))


def leaving(ways: Ways, state: State, goal: Array) -> Iterator[PosePath]:
    """Yield paths that leave a motion for a goal of the tool, narrow curves first."""
    here, twist = state.pose @ ways.frames.tool, state.tool_twist(ways)
    for reach in REACHES:
        with suppress(StewartError):
            yield leaving_path(here, twist, goal, reach, ways.frames.tool)


def as_far(ways: Ways, path: PosePath, state: State) -> tuple[PlannedMotion | None, PathReport, bool]:
    """Return the motion along a path up to its first fault, if there is one, the report, and whether there is a fault.

    Raises
    ------
    PathError
        The path is at its fault already.
    """
    fault = ways.fault(path)
    left = fault
    if fault is not None:
        if fault.parameter > LEAST:  # looked at more closely
            closer = ways.fault(path.head(fault.parameter)) or fault
            fault = replace(closer, fraction=closer.parameter / path.length)
        end = SHORTER * fault.parameter
        if end < LEAST or not ways.limits.kept(path.at([end]).pose[0]):
            raise PathError(PathReport(fault, None, None))
        path = path.head(end)
        left = ways.fault(path)
    report = time_path(path, ways.limits, ways.load, 0.0 if state.resting else 1.0, ways.steps, left)
    return report.motion, report if fault is None else PathReport(fault, None, None), fault is not None


class Target(Protocol):
    """Commands to the node.

    Attributes
    ----------
    word : str
        For it, in reasons.
    """

    @property
    def word(self) -> str:
        """For it, in reasons."""

    def motion(self, ways: Ways, state: State) -> PlannedMotion | None:
        """Return the motion from a state; None where it is to stop first, or has nowhere to go."""


def _carried(pose: Array, twist: Array, time: float) -> Array:
    """Return a pose after a time at a constant twist in axes of the base."""
    return np.asarray(se3.from_parts(so3.exp(twist[:3] * time) @ pose[:3, :3], pose[:3, 3] + twist[3:] * time))


def apart(a: Array, b: Array) -> float:
    """Return the larger of distance [m] and angle [rad] between poses."""
    turn = float(np.linalg.norm(so3.log(a[:3, :3].T @ b[:3, :3])))
    return max(turn, float(np.linalg.norm(a[:3, 3] - b[:3, 3])))
