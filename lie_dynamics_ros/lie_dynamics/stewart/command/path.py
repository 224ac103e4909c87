"""Targets in base, work and tool frame, and paths of poses to them: straight lines, screws and smooth curves.

A path is made of segments. In each the tool's pose is E exp(c(u)), the exponential of SE(3) or, where the origin is to
move along a polynomial of its own, that of SO(3) beside a position; c is a cubic polynomial of the path's parameter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from ...arrays import Array, ArrayLike, Integers, Mask
from ...errors import StewartError
from ...lie import se3, so3
from ...lie._arrays import as_real, number_of
from ..geometry.inverse_kinematics import real_numbers
from ..kernels import leg_samples

CommandFrame = Literal["base", "work", "tool"]


@dataclass(frozen=True, eq=False, init=False)
class CommandFrames:
    """Frames of targets: a work frame on the base, a tool frame on the platform.

    Attributes
    ----------
    work : array-like, shape (4, 4), optional
        Pose of the work frame in the base frame.
    tool : array-like, shape (4, 4), optional
        Pose of the tool frame in the platform frame. Its origin is the pivot, about which the platform turns.

    Raises
    ------
    InputError, GroupError
        For what is no pose.
    """

    work: Array
    tool: Array

    def __init__(self, work: ArrayLike | None = None, tool: ArrayLike | None = None) -> None:
        for name, given in (("work", work), ("tool", tool)):
            pose = np.eye(4) if given is None else as_real(given, (4, 4), name).reshape(4, 4)
            object.__setattr__(self, name, se3.check(pose, name))

    def tool_pose(self, pose: ArrayLike, frame: CommandFrame = "base") -> Array:
        """Return the tool's pose (..., 4, 4) in the base or the work frame for a pose of the platform in the base."""
        _check_frame(frame, ("base", "work"))
        tool = se3.check(pose, "pose") @ self.tool
        return np.asarray(tool if frame == "base" else se3.inverse(self.work) @ tool)

    def platform_pose(self, target: ArrayLike, frame: CommandFrame = "work", current: ArrayLike | None = None) -> Array:
        """Return the pose (..., 4, 4) of the platform in the base frame that brings the tool to a target.

        Parameters
        ----------
        target : array-like, shape (..., 4, 4)
            Pose of the tool in the frame.
        frame : {"base", "work", "tool"}
            "tool" means the tool frame as it is now: the target is a displacement.
        current : array-like, shape (4, 4), optional
            Pose of the platform now; needed with "tool" only.
        """
        _check_frame(frame)
        target = se3.check(target, "target")
        if frame == "tool":
            target = self.tool_pose(_needed(current)) @ target
        elif frame == "work":
            target = self.work @ target
        return np.asarray(target @ se3.inverse(self.tool))

    def tool_twist(self, twist: ArrayLike, frame: CommandFrame, current: ArrayLike) -> Array:
        """Return a tool's twist in axes of the base frame.

        Parameters
        ----------
        twist : array-like, shape (..., 6)
            Angular velocity, and velocity of the tool's origin, in the axes of the frame [rad/s, m/s].
        frame : {"base", "work", "tool"}
        current : array-like, shape (4, 4)
            Pose of the platform.
        """
        _check_frame(frame)
        V = as_real(twist, (6,), "twist")
        turns = {"base": np.eye(3), "work": self.work[:3, :3], "tool": self.tool_pose(current)[:3, :3]}
        return np.concatenate([V[..., :3] @ turns[frame].T, V[..., 3:] @ turns[frame].T], axis=-1)


def turned_about(pose: ArrayLike, rotation: ArrayLike, pivot: ArrayLike) -> Array:
    """Return a pose (..., 4, 4) turned by a rotation vector (..., 3) [rad] about a point (..., 3) [m], in the base."""
    turn, point = so3.exp(as_real(rotation, (3,), "rotation")), as_real(pivot, (3,), "pivot")
    fixed = point - (turn @ point[..., None])[..., 0]
    return np.asarray(se3.from_parts(turn, fixed) @ se3.check(pose, "pose"))


def levelled(pose: ArrayLike, up: ArrayLike, pivot: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Return the pose that levels the platform: the z axis of its frame along the vertical, with the least rotation.

    Parameters
    ----------
    pose : array-like, shape (4, 4)
        Pose of the platform now.
    up : array-like, shape (3,)
        The vertical, upward, in the platform frame now, of any length: what an accelerometer at rest measures.
    pivot : array-like, shape (3,)
        Point that stays where it is, in the platform frame [m].

    Raises
    ------
    StewartError
        For a vertical of no length, or one that points against the z axis: no least rotation levels that.
    """
    T = se3.check(pose, "pose").reshape(4, 4)
    vertical = as_real(up, (3,), "up").reshape(3)
    size = float(np.linalg.norm(vertical))
    if not size > 0.0:
        raise StewartError("up is zero, expected the vertical in the platform frame")
    vertical = vertical / size
    axis = np.cross((0.0, 0.0, 1.0), vertical)
    sine = float(np.linalg.norm(axis))
    angle = float(np.arctan2(sine, vertical[2]))
    if sine < 1e-9 and vertical[2] < 0.0:
        raise StewartError("the platform is upside down: no least rotation levels it")
    # The platform turns in its own axes, so that its z axis comes to where the vertical is.
    turn = so3.exp(axis / sine * angle) if sine > 0.0 else np.eye(3)
    point = as_real(pivot, (3,), "pivot").reshape(3)
    return np.asarray(T @ se3.from_parts(turn, point - turn @ point))


def _needed(current: ArrayLike | None) -> ArrayLike:
    if current is None:
        raise StewartError("current is missing: a target in the tool frame is a displacement of the tool now")
    return current


def _check_frame(frame: str, known: tuple[str, ...] = get_args(CommandFrame)) -> None:
    if not isinstance(frame, str) or frame not in known:
        raise StewartError(f"frame is {frame!r}, expected one of {', '.join(map(repr, known))}")


SAME = 1e-9
"""Poses closer than this are one [m, rad]."""
MOST_SEGMENTS = 2000
FARTHEST = 1e6
"""Distance of a pose from the origin that no platform has [m]; also of twists [m/s, rad/s]."""
LEAST_SPAN, LATEST = 1e-6, 1e9
"""Shortest time from point to point, and the longest of a path [s]."""


class PathPoints(NamedTuple):
    """Poses of the platform (k, 4, 4) in the base, body twists (k, 6) for s' = 1 and their change along s."""

    pose: Array
    slope: Array
    bend: Array

    @classmethod
    def of(cls, table: Array) -> PathPoints:
        """Return what rows (k, 30 or more) of the kernels hold."""
        pose = table[:, leg_samples.POSE : leg_samples.TWIST].reshape(-1, 4, 4)
        ends = leg_samples.TWIST, leg_samples.CHANGE, leg_samples.SPEEDS
        return cls(pose, table[:, ends[0] : ends[1]], table[:, ends[1] : ends[2]])


@dataclass(frozen=True, eq=False)
class PosePath:
    """Poses of a platform along a parameter s; made by `line_path`, `screw_path` and `smooth_path`.

    Attributes
    ----------
    knots : ndarray, shape (m + 1,)
        Values of s at the points. Of a path with times these are the times [s].
    starts : ndarray, shape (m, 4, 4)
        Tool's poses in the base frame at the points where segments begin.
    coefficients : ndarray, shape (m, 4, 6)
        Of c, for rising powers of s from there: rotation, then translation.
    screw : bool
        Whether the exponential is that of SE(3).
    corners : ndarray of bool, shape (m + 1,)
        Points where the direction jumps, in which the motion comes to rest.
    tool : ndarray, shape (4, 4)
        Pose of the tool frame in the platform frame.
    timed : bool
        Whether s is a requested time.
    """

    knots: Array
    starts: Array
    coefficients: Array
    screw: bool
    corners: Mask
    tool: Array
    timed: bool = False

    def at(self, s: ArrayLike, segment: npt.NDArray[np.intp] | None = None) -> PathPoints:
        """Return the path at parameters (k,), at corners as of the next segment unless segments (k,) are named."""
        s, segment = self.places(s, segment)
        table = np.empty((len(s), leg_samples.N_POINT))
        leg_samples.points(self.segments, self.frame, s, segment, table)
        return PathPoints.of(table)

    def places(self, s: ArrayLike, segment: npt.NDArray[np.intp] | None = None) -> tuple[Array, Integers]:
        """Return parameters (k,) on the path and their segments (k,), as kernels take them."""
        s = np.clip(as_real(s, (), "s"), self.knots[0], self.knots[-1])
        if segment is None:
            segment = np.clip(np.searchsorted(self.knots, s, "right") - 1, 0, len(self.starts) - 1)
        return np.ascontiguousarray(s), np.ascontiguousarray(segment, dtype=np.int64)

    @cached_property
    def segments(self) -> Array:
        """Segments (m, 37), as kernels take them."""
        count = len(self.starts)
        turns, shifts = self.starts[:, :3, :3].reshape(count, 9), self.starts[:, :3, 3]
        begins = self.knots[:-1, None]
        return np.concatenate([begins, turns, shifts, self.coefficients.reshape(count, 24)], axis=1)

    @cached_property
    def frame(self) -> Array:
        """The tool and whether segments are screws (25,), as kernels take them."""
        poses = (self.tool, se3.inverse(self.tool))
        parts = [part for T in poses for part in (T[:3, :3].ravel(), T[:3, 3])]
        return np.concatenate([*parts, [float(self.screw)]])

    @property
    def length(self) -> float:
        """Range of the parameter: the duration of a path with times [s]."""
        return float(self.knots[-1] - self.knots[0])

    def head(self, s: float) -> PosePath:
        """Return the part up to a parameter."""
        count = int(np.clip(np.searchsorted(self.knots, s, "left"), 1, len(self.starts)))
        knots, corners = self.knots[: count + 1].copy(), self.corners[: count + 1].copy()
        knots[-1], corners[-1] = min(s, knots[-1]), False
        starts, coefficients = self.starts[:count], self.coefficients[:count]
        return replace(self, knots=knots, corners=corners, starts=starts, coefficients=coefficients)


def line_path(poses: ArrayLike, tool: ArrayLike | None = None) -> PosePath:
    """Return the path on which the tool's origin follows straight lines, and its axes turn about fixed ones meanwhile.

    Parameters
    ----------
    poses : array-like, shape (m + 1, 4, 4)
        Of the tool in the base frame. The motion rests at points in between; `smooth_path` has no corners.
    tool : array-like, shape (4, 4), optional
        Pose of the tool frame in the platform frame; the platform's own when left out.

    Raises
    ------
    StewartError
        For fewer than two different poses, more than 2001, and wrong shapes.
    InputError, GroupError
        For what is no pose.
    """
    points, tool = _points(poses, tool)
    turn, shift = _chords(points)
    return _straight(points, np.concatenate([turn, shift], axis=-1), tool, screw=False)


def screw_path(poses: ArrayLike, tool: ArrayLike | None = None) -> PosePath:
    """Return the path of screw motions T0 exp(s log(T0^-1 T1)) from pose to pose; arguments as in `line_path`.

    The screw between two poses of a body is one and the same for all frames on it.
    """
    points, tool = _points(poses, tool)
    return _straight(points, se3.log(se3.inverse(points[:-1]) @ points[1:]), tool, screw=True)


def smooth_path(
    poses: ArrayLike,
    tool: ArrayLike | None = None,
    times: ArrayLike | None = None,
    twists: ArrayLike | None = None,
) -> PosePath:
    """Return a path through poses without corners: cubic polynomials of position and of rotation vectors.

    Parameters
    ----------
    poses, tool
        As of `line_path`.
    times : array-like, shape (m + 1,), optional
        Rising times at which the poses are wanted [s]; s is the time then.
    twists : array-like, shape (m + 1, 6), optional
        Of the tool at the poses: angular velocity, and velocity of its origin, in axes of the base frame [rad/s, m/s],
        where there are times; a row with NaN is not given. Where none is given it follows from the points beside.

    Raises
    ------
    StewartError, InputError, GroupError
        As `line_path`, for times that do not rise, and for twists without times.
    """
    points, tool = _points(poses, tool, dwell=times is not None)
    count = len(points)
    turn, shift = _chords(points)
    spans = _spans(turn, shift) if times is None else _timed_spans(times, count)
    rates = np.concatenate([turn, shift], axis=-1) / spans[:, None]
    given = _given_twists(twists, times, count)
    known = np.asarray(np.isfinite(given).all(axis=1))
    # Rates of rotation vectors are angular velocities in the body's axes, the same at both ends of a turn.
    inner = np.zeros((count, 6))
    if count > 2:
        before, after = spans[:-1, None], spans[1:, None]
        inner[1:-1] = (before * rates[1:] + after * rates[:-1]) / (before + after)
        rests = (np.abs(rates).max(axis=1) * spans < SAME) if times is not None else np.zeros(count - 1, bool)
        inner[1:-1][rests[:-1] | rests[1:]] = 0.0
    if times is None:  # the ends of a curve; with times the motion begins and ends at rest
        inner[0], inner[-1] = (1.5 * rates[i] - 0.5 * inner[j] for i, j in ((0, 1), (-1, -2)))
        if count == 2:
            inner[:] = rates[0]
    body = np.concatenate([(given[:, None, :3] @ points[:, :3, :3])[:, 0], given[:, 3:]], axis=-1)
    velocity = np.where(known[:, None], np.nan_to_num(body), inner)
    return _cubic(points, np.concatenate([turn, shift], axis=-1), velocity, spans, tool, times)


def leaving_path(
    pose: ArrayLike, twist: ArrayLike, goal: ArrayLike, reach: float, tool: ArrayLike | None = None
) -> PosePath:
    """Return the smooth path from a pose that is left with a twist to a goal; at its start the motion has s' = 1.

    Parameters
    ----------
    pose, goal : array-like, shape (4, 4)
        Of the tool in the base frame.
    twist : array-like, shape (6,)
        Of the tool at the start, as in `smooth_path`.
    reach : float
        Parameter of the goal: the longer, the wider the curve that the twist makes [s].
    tool : as in `line_path`.

    Raises
    ------
    StewartError, InputError, GroupError
        As `smooth_path`.
    """
    reach = number_of("reach", reach, "a positive number", lambda x: 0.0 < x < np.inf)
    ends = [as_real(x, (4, 4), name).reshape(4, 4) for x, name in ((pose, "pose"), (goal, "goal"))]
    points, _ = _points(np.stack(ends), tool, dwell=True)
    chord = np.concatenate(_chords(points), axis=-1)[0] / reach
    end = np.concatenate([points[1, :3, :3] @ chord[:3], chord[3:]])
    path = smooth_path(points, tool, [0.0, reach], [as_real(twist, (6,), "twist").reshape(6), end])
    return replace(path, timed=False)


def _cubic(
    points: Array, chord: Array, velocity: Array, spans: Array, tool: Array, times: ArrayLike | None
) -> PosePath:
    """Return cubic polynomials of position and rotation vector with given velocities at their ends."""
    last = velocity[1:].copy()
    last[:, :3] = (so3.right_jacobian_inverse(chord[:, :3]) @ velocity[1:, :3, None])[..., 0]
    h, first = spans[:, None], velocity[:-1]
    bent = (3.0 * chord / h - 2.0 * first - last) / h
    twisted = (first + last - 2.0 * chord / h) / h**2
    c = np.stack([np.zeros_like(chord), first, bent, twisted], axis=1)
    knots = np.concatenate([[0.0], np.cumsum(spans)])
    corners = np.zeros(len(knots), bool)
    return PosePath(knots, points[:-1], c, False, corners, tool, times is not None)


def _straight(points: Array, chord: Array, tool: Array, screw: bool) -> PosePath:
    h = _spans(*_chords(points))
    c = np.zeros((len(chord), 4, 6))
    c[:, 1] = chord / h[:, None]
    corners = np.ones(len(points), bool)
    corners[[0, -1]] = False
    return PosePath(np.concatenate([[0.0], np.cumsum(h)]), points[:-1], c, screw, corners, tool)


def _points(poses: ArrayLike, tool: ArrayLike | None, dwell: bool = False) -> tuple[Array, Array]:
    """Return checked poses without repetitions, and the checked tool."""
    points = se3.check(as_real(poses, (4, 4), "poses"), "poses")
    if points.ndim != 3:
        raise StewartError(f"poses has shape {points.shape}, expected (m + 1, 4, 4): a list of poses")
    if not (np.abs(points[..., :3, 3]) < FARTHEST).all():
        raise StewartError(f"poses has positions beyond {FARTHEST:g} m, expected metres")
    tool = np.eye(4) if tool is None else se3.check(as_real(tool, (4, 4), "tool"), "tool").reshape(4, 4)
    moved = _moved(points)
    if not dwell and len(points) > 1:
        points = points[np.concatenate([[True], moved])]
    if len(points) < 2:
        raise StewartError("all poses of the path are the same, expected at least two different ones")
    if len(points) > MOST_SEGMENTS + 1:
        raise StewartError(f"the path has {len(points)} poses, expected at most {MOST_SEGMENTS + 1}")
    return points, tool


def _moved(points: Array) -> Mask:
    turn, shift = _chords(points)
    return np.asarray((np.linalg.norm(turn, axis=-1) > SAME) | (np.linalg.norm(shift, axis=-1) > SAME))


def _chords(points: Array) -> tuple[Array, Array]:
    """Rotation vectors and displacements (m, 3) from pose to pose."""
    R = points[:, :3, :3]
    return so3.log(np.swapaxes(R[:-1], -1, -2) @ R[1:]), np.diff(points[:, :3, 3], axis=0)


def _spans(turn: Array, shift: Array) -> Array:
    """Parameter of each segment: how far it turns and goes, over the largest turn and way, all of them one together."""
    far, wide = np.linalg.norm(shift, axis=-1), np.linalg.norm(turn, axis=-1)
    size = np.hypot(far / max(far.max(), SAME), wide / max(wide.max(), SAME))
    return np.asarray(size / size.sum())


def _timed_spans(times: ArrayLike, count: int) -> Array:
    t = as_real(times, (count,), "times")
    spans = np.diff(t)
    if t.ndim != 1 or not (spans > 0.0).all():
        late = int(np.argmin(spans)) + 1 if t.ndim == 1 else 0
        raise StewartError(f"times do not rise at point {late + 1}, expected rising times in seconds, got {t.tolist()}")
    if not (spans.min() >= LEAST_SPAN and np.abs(t).max() <= LATEST):
        raise StewartError(f"times are {spans.min():.3g} s apart and up to {np.abs(t).max():.3g} s, expected at least"
                           f" {LEAST_SPAN:g} s and at most {LATEST:g} s")  # fmt: skip
    return np.asarray(spans)


def _given_twists(twists: ArrayLike | None, times: ArrayLike | None, count: int) -> Array:
    if twists is None:
        return np.full((count, 6), np.nan)
    if times is None:
        raise StewartError("twists are given without times, expected both: velocities are per second")
    rows = real_numbers(twists, "twists")
    if rows.shape != (count, 6) or np.isinf(rows).any():
        raise StewartError(f"twists has shape {rows.shape}, expected ({count}, 6), finite or NaN")
    if (np.abs(rows) > FARTHEST).any():
        raise StewartError(f"twists has numbers beyond {FARTHEST:g}, expected m/s and rad/s")
    return rows
