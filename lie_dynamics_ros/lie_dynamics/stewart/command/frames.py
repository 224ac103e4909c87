"""Targets in base, work and tool frame, and turns about any point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...lie import se3, so3
from ...lie._arrays import as_real
from ..errors import StewartError

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

    def __init__(self, work: npt.ArrayLike | None = None, tool: npt.ArrayLike | None = None) -> None:
        for name, given in (("work", work), ("tool", tool)):
            pose = np.eye(4) if given is None else as_real(given, (4, 4), name).reshape(4, 4)
            object.__setattr__(self, name, se3.check(pose, name))

    def tool_pose(self, pose: npt.ArrayLike, frame: CommandFrame = "base") -> Array:
        """Return the tool's pose (..., 4, 4) in the base or the work frame for a pose of the platform in the base."""
        _check_frame(frame, ("base", "work"))
        tool = se3.check(pose, "pose") @ self.tool
        return np.asarray(tool if frame == "base" else se3.inverse(self.work) @ tool)

    def platform_pose(
        self, target: npt.ArrayLike, frame: CommandFrame = "work", current: npt.ArrayLike | None = None
    ) -> Array:
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

    def tool_twist(self, twist: npt.ArrayLike, frame: CommandFrame, current: npt.ArrayLike) -> Array:
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


def turned_about(pose: npt.ArrayLike, rotation: npt.ArrayLike, pivot: npt.ArrayLike) -> Array:
    """Return a pose (..., 4, 4) turned by a rotation vector (..., 3) [rad] about a point (..., 3) [m], in the base."""
    turn, point = so3.exp(as_real(rotation, (3,), "rotation")), as_real(pivot, (3,), "pivot")
    fixed = point - (turn @ point[..., None])[..., 0]
    return np.asarray(se3.from_parts(turn, fixed) @ se3.check(pose, "pose"))


def levelled(pose: npt.ArrayLike, up: npt.ArrayLike, pivot: npt.ArrayLike = (0.0, 0.0, 0.0)) -> Array:
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


def _needed(current: npt.ArrayLike | None) -> npt.ArrayLike:
    if current is None:
        raise StewartError("current is missing: a target in the tool frame is a displacement of the tool now")
    return current


def _check_frame(frame: str, known: tuple[str, ...] = get_args(CommandFrame)) -> None:
    if not isinstance(frame, str) or frame not in known:
        raise StewartError(f"frame is {frame!r}, expected one of {', '.join(map(repr, known))}")
