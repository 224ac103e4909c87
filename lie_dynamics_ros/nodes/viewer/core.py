"""The content of the page, from the last messages: every number is finite, and old ones are marked as stale."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...core.errors import MessageError
from ...core.parameters import Parameters, parameter
from ...core.turns import Turns
from ...lie_dynamics import forward_kinematics
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.stewart import RotaryPlatform, StewartPlatform
from .picture import BAD, GOOD, LARGEST, ContactView, Effort, Picture, PlatformView, ReportView, Robot

LARGEST_NUMBER = 1e6
"""Positions, efforts and forces beyond this are no robot's, and are refused."""
EFFORT_SOURCES = ("computed_torque", "closed_loop", "inverse_dynamics", "joint_states")
"""Where efforts come from; the first that is not stale is shown."""
MOST_TRACED = 12
"""Joints whose efforts are drawn over time."""
MOST_REPORTS = 40
"""Nodes whose diagnostics are kept."""


@dataclass(frozen=True)
class ViewOptions(Parameters):
    """Parameters of the page."""

    stale_after: float = parameter(1.0, "Age from which on what was heard is shown as stale [s].", low=0.05, high=60.0)
    trace_time: float = parameter(10.0, "How far back efforts are drawn [s].", low=1.0, high=60.0)
    covariance_scale: float = parameter(
        1000.0, "By how much the standard deviations of the platform's position are enlarged.", low=1.0, high=1e6
    )
    force_scale: float = parameter(0.01, "Length of the arrow of a contact force [m/N].", low=1e-6, high=1.0)


class _Numbers:
    """Numbers by joint, each with the time of its last message [s]."""

    def __init__(self, values: Array) -> None:
        self.values = values
        self.times = np.full(len(values), -np.inf)

    def fresh(self, oldest: float) -> Array:
        found: Array = self.times >= oldest
        return found


class _HeardRobot:
    """A robot, and the last values of its joints."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        joints = robot.model.joints
        self.index = {j.name: j.index for j in joints if j.q_slice.stop == j.q_slice.start + 1 and not j.coupled}
        endless = np.zeros(len(joints), dtype=bool)
        endless[list(self.index.values())] = Turns.of(robot.model, list(self.index)).endless
        self._turns = Turns(endless)
        self.heard = -np.inf
        self.positions = _Numbers(np.zeros(len(joints)))
        self.efforts = {source: _Numbers(np.zeros(len(joints))) for source in EFFORT_SOURCES}
        self.traces: deque[tuple[float, Array]] = deque()
        self._traced = ""  # where they come from
        self._drawn: Array | None = None

    def put(self, what: str, names: Sequence[str], values: Sequence[float], now: float) -> None:
        """Take the numbers of the joints that there are; NaN stands for one that is not known."""
        index = self.index
        found = {index[name]: value for name, value in zip(names, values, strict=True) if name in index}
        known = {joint: float(value) for joint, value in found.items() if value == value}
        if any(abs(value) > LARGEST_NUMBER for value in known.values()):
            raise MessageError("not finite", f"{what} beyond {LARGEST_NUMBER:g}")
        if not known:
            return
        kept = self.positions if what == "positions" else self.efforts[what]
        at, new = list(known), np.array(list(known.values()))
        if what == "positions":  # joints that mimic others go on where a driver wraps these
            self.heard = now
            before = np.where(kept.times[at] > -np.inf, kept.values[at], new)
            new = new + self._turns.between(new, before, np.array(at, dtype=np.intp))
        kept.values[at] = new
        kept.times[list(known)] = now

    def bodies(self) -> Array | None:
        """Return the bodies' poses; those before where they cannot be drawn."""
        model = self.robot.model
        q, seen = model.neutral(), self.positions.times > -np.inf
        if self.index and not seen.any():
            return self._drawn
        for joint in model.joints:
            if joint.name in self.index and seen[joint.index]:
                q[joint.q_slice] = self.positions.values[joint.index]
        for joint in model.joints:
            leader = self.index.get(joint.mimic[0]) if joint.mimic is not None else None
            if leader is not None and not joint.coupled and not seen[joint.index]:
                q[joint.q_slice] = joint.mimic[1] * self.positions.values[leader] + joint.mimic[2]
        poses = forward_kinematics(model, q)
        if np.isfinite(poses).all() and (not poses.size or np.abs(poses).max() <= LARGEST):
            self._drawn = poses
        return self._drawn

    def seen_efforts(self, oldest: float, begin: float, now: float) -> tuple[tuple[Effort, ...], str]:
        """Return efforts by joint, and keep them for the traces, which begin at a time, where they are new."""
        while self.traces and self.traces[0][0] < begin:
            self.traces.popleft()
        model = self.robot.model
        source = next((name for name, kept in self.efforts.items() if kept.fresh(oldest).any()), "")
        if not source:
            return (), ""
        kept = self.efforts[source]
        fresh, limits = kept.fresh(oldest), model.limits.effort
        efforts = tuple(
            Effort(
                name,
                float(kept.values[joint]) if fresh[joint] else None,
                float(limits[model.joints[joint].v_slice.start]),
                "N" if model.joints[joint].kind == "prismatic" else "N m",
            )
            for name, joint in self.index.items()
        )
        traced = list(self.index.values())[:MOST_TRACED]
        if source != self._traced:
            self._traced = source
            self.traces.clear()
        if fresh[traced].all() and (not self.traces or now > self.traces[-1][0]):
            self.traces.append((now, kept.values[traced]))
        return efforts, source


@dataclass(eq=False)
class _Heard:
    """Last messages besides a robot's joints, each with its time [s]."""

    pose: tuple[float, Array, Array] | None = None
    word: tuple[float, int, str] | None = None
    force: tuple[float, str, Array] | None = None
    touching: tuple[float, bool] | None = None
    reports: dict[str, tuple[float, int, str]] = field(default_factory=dict)


class ViewerCore:
    """Takes in messages, each with the time of its arrival [s]; `picture` is what there is to see.

    What cannot be used raises MessageError and changes nothing.
    """

    def __init__(self, options: ViewOptions, platform: StewartPlatform | RotaryPlatform) -> None:
        self.options, self._platform = options, platform
        self._robot: _HeardRobot | None = None
        self._heard = _Heard()

    def forget(self) -> None:
        """Forget all messages; the robot stays."""
        self._heard = _Heard()
        self.use(None if self._robot is None else self._robot.robot)

    def use(self, robot: Robot | None) -> None:
        """Show this robot from now on, of which nothing has been received yet."""
        self._robot = None if robot is None else _HeardRobot(robot)

    # Messages.

    def take_states(self, names: Sequence[str], position: Sequence[float], effort: Sequence[float], now: float) -> None:
        """Take positions, and efforts where there are any."""
        if len(position) != len(names) or len(effort) not in (0, len(names)):
            sizes = f"{len(position)} positions and {len(effort)} efforts for {len(names)} names"
            raise MessageError("malformed", sizes)
        if self._robot is not None:
            self._robot.put("positions", names, position, now)
        if len(effort):
            self.take_efforts(EFFORT_SOURCES[-1], names, effort, now)

    def take_efforts(self, source: str, names: Sequence[str], effort: Sequence[float], now: float) -> None:
        """Take efforts from one of `EFFORT_SOURCES`."""
        if len(effort) != len(names):
            raise MessageError("malformed", f"{len(effort)} efforts for {len(names)} names")
        if self._robot is not None:
            self._robot.put(source, names, effort, now)

    def take_pose(self, pose: Array, covariance: Array, now: float) -> None:
        """Take the platform's pose (4, 4) and the covariance (3, 3) of its position, in its base frame."""
        if not np.abs(pose).max() <= LARGEST:
            raise MessageError("not finite", f"a pose beyond {LARGEST:g} m")
        if not np.abs(covariance).max() <= LARGEST_NUMBER:
            raise MessageError("not finite", "a covariance that is not finite")
        self._heard.pose = now, pose, covariance

    def take_status(self, level: int, word: str, now: float) -> None:
        """Take the status of the platform's pose."""
        self._heard.word = now, min(max(level, GOOD), BAD), word

    def take_force(self, frame: str, force: Array, now: float) -> None:
        """Take a contact force (3,) [N] in the axes of a frame, at its origin."""
        if not np.abs(force).max() <= LARGEST_NUMBER:
            raise MessageError("not finite", f"a force beyond {LARGEST_NUMBER:g} N")
        self._heard.force = now, frame, force

    def take_touching(self, touching: bool, now: float) -> None:
        """Take whether something touches."""
        self._heard.touching = now, touching

    def take_report(self, name: str, level: int, message: str, now: float) -> None:
        """Take a diagnostic report; where there are too many nodes, the one received longest ago goes."""
        self._heard.reports[name] = now, min(max(level, GOOD), BAD), message
        if len(self._heard.reports) > MOST_REPORTS:
            del self._heard.reports[min(self._heard.reports, key=lambda name: self._heard.reports[name][0])]

    # What is seen.

    def picture(self, now: float) -> Picture:
        """Return what there is to see."""
        oldest = now - self.options.stale_after
        reports = tuple(
            ReportView(name, level, message, now - heard > max(3.0, self.options.stale_after))
            for name, (heard, level, message) in sorted(self._heard.reports.items())
        )
        platform = _see_platform(self._platform, self._heard, self.options.covariance_scale, oldest)
        shared = {"platform": platform, "reports": reports}
        robot = self._robot
        if robot is None:
            return Picture(contact=self._see_contact(None, oldest), **shared)
        poses = robot.bodies()
        efforts, source = robot.seen_efforts(oldest, now - self.options.trace_time, now)
        fresh = robot.positions.fresh(oldest)
        return Picture(
            robot=robot.robot,
            poses=poses,
            age=now - robot.heard if np.isfinite(robot.heard) else None,
            stale=robot.heard < oldest,
            unknown=tuple(name for name, joint in robot.index.items() if not fresh[joint]),
            efforts=efforts,
            source=source,
            times=np.array([time - now for time, _ in robot.traces]),
            traces=np.array([v for _, v in robot.traces]).reshape(-1, min(len(robot.index), MOST_TRACED) or 1),
            contact=self._see_contact(poses, oldest),
            **shared,
        )

    def _see_contact(self, poses: Array | None, oldest: float) -> ContactView | None:
        heard = self._heard
        force = heard.force if heard.force is not None and heard.force[0] >= oldest else None
        touching = heard.touching[1] if heard.touching is not None and heard.touching[0] >= oldest else None
        if force is None:
            return None if touching is None else ContactView("", 0.0, None, touching)
        _, frame, vector = force
        arrow = None
        found = self._robot.robot.model.frames.get(frame) if self._robot is not None else None
        if found is not None and (found.body < 0 or poses is not None):
            at = found.placement if found.body < 0 or poses is None else poses[found.body] @ found.placement
            end = at[:3, 3] + self.options.force_scale * at[:3, :3] @ vector
            if np.abs(end).max() <= LARGEST:
                arrow = np.stack((at[:3, 3], end))
        return ContactView(frame, float(np.linalg.norm(vector)), arrow, touching)


def _legs(platform: StewartPlatform | RotaryPlatform, pose: Array) -> Array:
    """Return the ends of six legs, (6, 2, 3), or of six rods and then of six horns, (12, 2, 3), in the base frame [m].

    Where a pose is out of reach of a horn, it points at its motor's zero.
    """
    base, ends = platform.base_points, platform.platform_points @ pose[:3, :3].T + pose[:3, 3]
    if isinstance(platform, StewartPlatform):
        return np.stack((base, ends), axis=1)
    tips = platform.tips(np.nan_to_num(platform.reached_angles(pose)))
    return np.concatenate([np.stack((tips, ends), axis=1), np.stack((base, tips), axis=1)])


def _see_platform(
    platform: StewartPlatform | RotaryPlatform, heard: _Heard, scale: float, oldest: float
) -> PlatformView | None:
    if heard.pose is None:
        return None
    time, pose, covariance = heard.pose
    squares, axes = np.linalg.eigh(0.5 * (covariance + covariance.T))
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    word = heard.word if heard.word is not None and heard.word[0] >= oldest else (0.0, GOOD, "")
    return PlatformView(
        pose=pose,
        points=_legs(platform, pose),
        deviations=np.sqrt(np.maximum(covariance.diagonal(), 0.0)),
        axes=axes,
        radii=np.clip(scale * np.sqrt(np.maximum(squares, 0.0)), 1e-6, LARGEST),
        level=word[1],
        word=word[2],
        stale=time < oldest,
    )
