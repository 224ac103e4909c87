"""The memory on which the tracking kernels work: set up from a platform, set to a pose, read back."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, ArrayLike
from ...errors import StewartError
from ...lie import se3, so3
from ..geometry.any_platform import PointJointed
from ..geometry.checks import N_LEGS
from ..geometry.platform import StewartPlatform, check_place, longest_legs
from ..kernels import newton as nk
from ..kernels import turning
from ..kernels.newton import BALL_SHARE, settle

#: Largest share of the platform's radius by which numbers may blur the pose before it counts as singular.
_SINGULAR_BOUND = 1e6


def new_memory(
    platform: PointJointed,
    pose: ArrayLike,
    max_steps: int,
    max_speed: tuple[float, float] | None = None,
    length_error: float = 0.0,
) -> Array:
    """Return the memory of a tracker at a pose (4, 4) of the platform, with a bound of its speed or without.

    The error of a length is that of an angle [rad] for rotary legs.

    Raises
    ------
    StewartError : ``max_steps`` below 1; a pose that is singular, where branches cannot be distinguished.
    GroupError, InputError : a matrix that is no pose.
    """
    memory = blank_memory(platform)
    memory[nk.MAX_STEPS] = as_max_steps(max_steps)
    if max_speed is not None:
        memory[nk.BOUNDED] = 1.0
        memory[nk.MAX_SPEED : nk.MAX_SPEED + 2] = max_speed
    lever = 1.0 if isinstance(platform, StewartPlatform) else float(platform.horns.max())
    rounding = nk.LENGTH_ROUNDING * float(np.abs(platform.base_points).max())
    memory[nk.LENGTH_ERROR] = lever * length_error + rounding
    put_at(memory, platform, pose)
    return memory


def put_at(memory: Array, platform: PointJointed, pose: ArrayLike) -> None:
    """Put the memory at a pose that the platform is in, rotary legs bent as at home; errors as `new_memory`."""
    if isinstance(platform, StewartPlatform):
        check_place(platform, pose)
    else:
        matrix = se3.check(np.asarray(pose, dtype=np.float64), "pose")
        turning.set_angles(memory, np.ascontiguousarray(platform.motor_positions(matrix)))
    set_pose(memory, pose)


AT_STOP = 1e-5
"""By what part of the range a sensor may exceed the limits of a leg that stands at its end stop."""


def readable(limits: Array) -> Array:
    """Return limits (6, 2) of what sensors may read: by `AT_STOP` wider where both are finite."""
    room = AT_STOP * np.where(np.isfinite(limits).all(axis=1), limits[:, 1] - limits[:, 0], 0.0)
    return limits + np.outer(room, [-1.0, 1.0])


def as_max_steps(max_steps: int) -> int:
    """Return a number of steps; StewartError when it is below 1."""
    if max_steps < 1:
        raise StewartError(f"max_steps is {max_steps}, expected at least 1", name="max_steps", value=max_steps)
    return max_steps


def blank_memory(platform: PointJointed) -> Array:
    """Return a memory with the geometry of a platform and no pose."""
    memory = np.zeros(turning.SIZE)
    centroid = platform.platform_points.mean(axis=0)
    arms = platform.platform_points - centroid
    reaches = np.linalg.norm(arms, axis=1)
    radius = float(np.sqrt(np.mean(reaches**2)))
    memory[nk.BASE : nk.BASE + 18] = platform.base_points.ravel()
    memory[nk.PLATFORM : nk.PLATFORM + 18] = arms.ravel()
    limits = platform.motor_limits
    if isinstance(platform, StewartPlatform):
        # Legs without limits are limited by what can be metres, so that kernels have nothing more to compare.
        limits = np.column_stack([limits[:, 0], np.minimum(limits[:, 1], longest_legs(platform))])
    else:
        turned = platform.horns[:, None, None] * platform.frames
        for start, rows in (
            (turning.CENTRES, platform.base_points), (turning.HORNS, turned[..., 0]), (turning.ACROSS, turned[..., 1]),
            (turning.LONG, platform.horns), (turning.RODS, platform.rods),
        ):  # fmt: skip
            memory[start : start + rows.size] = rows.ravel()
        memory[turning.ROTARY] = 1.0
        memory[turning.ANGLES : turning.ANGLES + N_LEGS] = platform.home_angles
    memory[nk.LIMITS : nk.LIMITS + 12] = readable(limits).ravel()
    memory[nk.SHIFT : nk.SHIFT + 3] = centroid
    memory[nk.SHIFT_SIZE] = np.linalg.norm(centroid)
    memory[nk.DT] = np.nan
    memory[nk.RADIUS] = radius
    memory[nk.REACH] = reaches.max()
    memory[nk.BALL] = BALL_SHARE * radius
    return memory


def set_pose(memory: Array, pose: ArrayLike) -> None:
    """Put the memory at a pose (4, 4), its lengths taken as exact; raise StewartError when the pose is singular."""
    matrix = se3.check(np.asarray(pose, dtype=np.float64), "pose")
    if matrix.shape != (4, 4):
        raise StewartError(f"pose has shape {matrix.shape}, expected (4, 4): one homogeneous matrix", name="pose")
    rotation = matrix[:3, :3]
    memory[nk.QUATERNION : nk.QUATERNION + 4] = so3.to_quaternion(rotation)
    memory[nk.POSITION : nk.POSITION + 3] = matrix[:3, 3] + rotation @ memory[nk.SHIFT : nk.SHIFT + 3]
    with np.errstate(all="ignore"):
        settle(memory)
    if not memory[nk.LIPSCHITZ] * memory[nk.RADIUS] < _SINGULAR_BOUND:
        raise StewartError(
            f"the platform is singular, or as good as singular, at the pose {matrix.tolist()}: its legs do not hold it "
            "there, and no branch of the forward kinematics can be followed from it",
            name="pose",
        )
    memory[nk.ANCHORED] = memory[nk.BOUNDED]
    memory[nk.AGE] = memory[nk.BLUR] = 0.0
    memory[nk.ANCHOR : nk.ANCHOR + 3] = matrix[:3, 3]
    memory[nk.ANCHOR + 3 : nk.ANCHOR + 7] = memory[nk.QUATERNION : nk.QUATERNION + 4]


def read_pose(memory: Array) -> Array:
    """Return the memory's pose (4, 4) of {B} in {N}."""
    pose = np.eye(4)
    pose[:3, :3] = so3.from_quaternion(memory[nk.QUATERNION : nk.QUATERNION + 4])
    pose[:3, 3] = memory[nk.POSITION : nk.POSITION + 3] - pose[:3, :3] @ memory[nk.SHIFT : nk.SHIFT + 3]
    return pose
