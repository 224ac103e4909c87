"""Workspace slices: which poses the leg limits allow, and how well conditioned they are; and the travel left.

`travel_left` is along and about each axis, before a leg's limit, its reach or a singularity;
`TravelLeft` is that of whatever carries a platform or a body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ...arrays import Array, ArrayLike, Integers, Mask
from ...errors import InputError, StewartError
from ...lie import se3, so3
from ...shown import shown
from . import inverse_kinematics as ik
from .any_platform import Platform, points_of, require_any
from .checks import N_LEGS
from .offset_platform import OffsetPlatform
from .rotary_platform import RotaryPlatform

#: Furthest that is looked at [m, rad]; places looked at on the way there, and within each step that ends it.
FURTHEST, PLACES, CLOSER = (1.0, np.pi), 50, 8
AXES = ("x", "y", "z", "about x", "about y", "about z")
REACH, SINGULARITY = "reach", "singularity"
#: How often the step that ends the way is looked at more closely.
_CLOSER_LOOKS = 10


@dataclass(frozen=True, eq=False)
class TravelLeft:
    """Travel left at one configuration.

    Attributes
    ----------
    axes : tuple of str
        "x", "y", "z", and "about x", ... where the output is a pose; all through the platform's origin, parallel to
        the base's.
    backwards, forwards : ndarray, shape (n,)
        How far the platform can go along or about each alone [m, rad], at least zero.
    reasons : tuple of (str, str)
        What ends either way: a motor's name, "reach", "singularity", or "" where nothing does as far as was looked.
    """

    axes: tuple[str, ...]
    backwards: Array
    forwards: Array
    reasons: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        ends = zip(self.axes, self.backwards, self.forwards, self.reasons, strict=True)
        return "; ".join(
            f"{axis} -{low:.3g} ({before or 'free'}) to +{high:.3g} ({after or 'free'})"
            for axis, low, high, (before, after) in ends
        )


def displaced(pose: Array, axis: int, distance: ArrayLike) -> Array:
    """Return a pose (4, 4) moved along, or turned about, one of `AXES` by distances (...,) [m, rad], (..., 4, 4)."""
    step = np.asarray(distance, dtype=np.float64)[..., None] * np.eye(3)[axis % 3]
    if axis < len(AXES) // 2:
        return np.asarray(se3.from_parts(pose[:3, :3], pose[:3, 3] + step))
    return np.asarray(se3.from_parts(so3.exp(step) @ pose[:3, :3], pose[:3, 3]))


def travel_left(
    platform: Platform,
    pose: ArrayLike,
    positions: ArrayLike | None = None,
    *,
    limits: ArrayLike | None = None,
    names: Sequence[str] = ("leg 1", "leg 2", "leg 3", "leg 4", "leg 5", "leg 6"),
    axes: Sequence[str] = AXES,
    looks: int = _CLOSER_LOOKS,
) -> TravelLeft:
    """Return how far a platform can go along and about each axis from a pose, the others as they are.

    Looked for at 50 places, up to 1 m and half a turn; the step to the first that is forbidden is looked at again
    `looks` times, each time in eight parts. A singularity is where the determinant of the Jacobian has the other sign.
    What begins and ends between two places is not seen.

    Parameters
    ----------
    platform : StewartPlatform, OffsetPlatform or RotaryPlatform
    pose : array-like, shape (4, 4)
    positions : array-like, shape (6,), optional
        Angles of rotary legs at the pose [rad], which select how each is bent; by default as at home.
    limits : array-like, shape (6, 2), optional
        Limits of the motors [m] or [rad]; the platform's when left out.
    names : sequence of str
        Of the motors, for reasons.
    axes : sequence of str
        Those that are wanted, of `AXES`.
    looks : int
        How often the step that ends a way is looked at more closely.

    Raises
    ------
    InputError
        For no pose, or an invalid axis.
    """
    T = np.asarray(se3.check(points_of(platform).checked_pose(pose), "pose").real)
    bends = None
    if isinstance(platform, RotaryPlatform):
        bends = platform.bends
        if positions is not None:
            bends = _bends(platform, T, ik.as_vector(positions, N_LEGS, "positions"))
    unknown = [axis for axis in axes if axis not in AXES]
    if unknown:
        raise InputError(f"axes: each of {', '.join(AXES)} is expected, got {unknown[0]!r}", name="axes")
    low, high = np.transpose(platform.motor_limits if limits is None else np.asarray(limits, dtype=np.float64))
    sign = np.sign(motors_and_volumes(platform, T, bends)[1])
    lanes = np.array([AXES.index(axis) for axis in axes]).repeat(2)  # each axis backwards, then forwards
    good, bad = np.zeros(len(lanes)), np.array(FURTHEST)[lanes // 3] * np.tile((-1.0, 1.0), len(axes))
    reasons = [""] * len(lanes)
    for look in range(looks + 1):
        count = CLOSER if look else PLACES
        places = good[:, None] + (bad - good)[:, None] * np.arange(count + 1) / count
        poses = np.array([displaced(T, axis, way) for axis, way in zip(lanes, places, strict=True)])
        motors, volumes = motors_and_volumes(platform, poses, bends)
        margins = np.minimum(motors - low, high - motors)
        least, worst = margins.min(axis=-1), margins.argmin(axis=-1)
        out, crossed = np.asarray(np.isnan(least + volumes)), ~(volumes * sign > 0.0)
        forbidden = np.asarray(out | (least < 0.0) | crossed)
        for lane in np.flatnonzero(forbidden.any(axis=1)):
            k = int(forbidden[lane].argmax())
            limit = least[lane, k] < 0.0
            reasons[lane] = REACH if out[lane, k] else names[worst[lane, k]] if limit else SINGULARITY
            good[lane], bad[lane] = places[lane, max(k - 1, 0)], places[lane, k]
        if not look:  # nothing ends these ways
            free = ~forbidden.any(axis=1)
            good[free] = bad[free]
    ways = np.abs(good).reshape(-1, 2)
    return TravelLeft(tuple(axes), ways[:, 0], ways[:, 1], tuple(zip(reasons[::2], reasons[1::2], strict=True)))


def motors_and_volumes(platform: Platform, poses: Array, bends: Integers | None) -> tuple[Array, Array]:
    """Return positions of the motors (..., 6), NaN out of reach, and determinants (...,) of the legs' Jacobian."""
    if isinstance(platform, RotaryPlatform):
        both = platform.leg_angles(poses)
        there = np.where(bends == 1, both[..., 1, :], both[..., 0, :])
        matrix = ik.jacobian(platform.tips(np.nan_to_num(there)), platform.platform_points, poses)
        return there, np.linalg.det(matrix)
    if isinstance(platform, OffsetPlatform):
        legs, matrix, good = platform.told(poses)
        whole = np.asarray(good.all(axis=-1))
        return np.where(good, legs, np.nan), np.linalg.det(np.where(whole[..., None, None], matrix, np.eye(N_LEGS)))
    return platform.leg_lengths(poses), np.linalg.det(platform.jacobian(poses))


def _bends(platform: RotaryPlatform, pose: Array, angles: Array) -> Integers:
    """Return which of `leg_angles` each leg has at angles (6,) in a pose."""
    gaps = np.abs(np.angle(np.exp(1j * (platform.leg_angles(pose) - angles))))
    return np.asarray(np.nan_to_num(gaps, nan=np.inf).argmin(axis=0))


Coordinate = Literal["x", "y", "z", "roll", "pitch", "yaw"]
_COORDINATES = get_args(Coordinate)
_N_POSITIONS = 3


@shown
@dataclass(frozen=True)
class WorkspaceSlice:
    """Poses over a grid of two coordinates, the other four fixed.

    Attributes
    ----------
    x_values (m,), y_values (n,) : grid [m or rad]. x_label, y_label : their names with units.
    poses : (m, n, 4, 4). lengths : (m, n, 6) [m]; of rotary legs angles [rad], NaN out of reach.
    margins : (m, n), distance of the worst leg to its limits, negative beyond them [m, rad], -inf out of reach.
    limiting_leg : (m, n), number 1 to 6 of that leg.
    within_limits : (m, n).
    same_side : (m, n), the Jacobian's determinant has the sign that it has at the centre pose. Where it has not, every
        path from the centre passes a singularity.
    condition_number : (m, n), see `StewartPlatform.condition_number`, with ``characteristic_length`` [m].
    """

    x_values: Array
    y_values: Array
    x_label: str
    y_label: str
    poses: Array
    lengths: Array
    margins: Array
    limiting_leg: Integers
    within_limits: Mask
    same_side: Mask
    condition_number: Array
    characteristic_length: float

    @property
    def reachable(self) -> Mask:
        """Poses (m, n) within the limits and on the centre's side of the singularities."""
        return np.asarray(self.within_limits & self.same_side)


def workspace_slice(
    platform: Platform,
    x: tuple[Coordinate, ArrayLike],
    y: tuple[Coordinate, ArrayLike],
    centre: ArrayLike | None = None,
) -> WorkspaceSlice:
    """Examine the poses over a grid of two coordinates.

    Parameters
    ----------
    platform : on legs of any kind; give it limits, otherwise every pose that legs reach counts as within.
    x, y : name ("x", "y", "z" [m], "roll", "pitch", "yaw" [rad]) and values (m,), (n,) of the two coordinates.
        ``R = Rz(yaw) Ry(pitch) Rx(roll)``.
    centre : (4, 4), pose that gives the other four coordinates; default: the platform's home pose.

    Raises
    ------
    StewartError : unknown or equal coordinates, values that are no finite list, no centre and no home pose.
    """
    require_any(platform)
    names = [_coordinate(name, axis) for name, axis in ((x[0], "x"), (y[0], "y"))]
    if names[0] == names[1]:
        raise StewartError(f"both axes of the slice are {names[0]!r}, expected two different coordinates")
    values = [_values(points, name) for (_, points), name in zip((x, y), names, strict=True)]
    middle = platform.home_pose
    if centre is not None:
        middle = se3.check(points_of(platform).checked_pose(centre, "centre"), "centre")
    if middle is None:
        raise StewartError("the platform has no home_pose, expected a centre pose for the slice")
    coordinates = np.concatenate([middle[:3, 3], so3.to_rpy(middle[:3, :3])])
    grid = np.tile(coordinates, (len(values[0]), len(values[1]), 1))
    grid[..., _COORDINATES.index(names[0])] = values[0][:, None]
    grid[..., _COORDINATES.index(names[1])] = values[1][None, :]
    poses = se3.from_parts(so3.from_rpy(grid[..., 3:]), grid[..., :3])

    bends = platform.bends if isinstance(platform, RotaryPlatform) else None
    lengths, determinants = motors_and_volumes(platform, poses, bends)
    side = np.sign(motors_and_volumes(platform, middle, bends)[1])
    low, high = platform.motor_limits.T
    margins = np.nan_to_num(np.minimum(lengths - low, high - lengths), nan=-np.inf, posinf=np.inf)
    if isinstance(platform, RotaryPlatform):
        condition = platform.condition_number(poses, angles=np.nan_to_num(lengths))
        condition[np.isnan(lengths).any(axis=-1)] = np.inf
    elif isinstance(platform, OffsetPlatform):
        there = ~np.isnan(lengths).any(axis=-1)
        condition = np.full(there.shape, np.inf)
        condition[there] = platform.condition_number(poses[there])
    else:
        condition = platform.condition_number(poses)
    return WorkspaceSlice(
        values[0],
        values[1],
        _label(names[0]),
        _label(names[1]),
        poses,
        lengths,
        margins.min(axis=-1),
        margins.argmin(axis=-1) + 1,
        np.asarray(margins.min(axis=-1) >= 0.0),
        np.asarray(np.sign(determinants) == side),
        condition,
        platform.characteristic_length,
    )


def _coordinate(name: str, axis: str) -> str:
    if name not in _COORDINATES:
        raise StewartError(f"{axis} axis of the slice is {name!r}, expected one of {', '.join(_COORDINATES)}")
    return name


def _values(points: ArrayLike, name: str) -> Array:
    values = np.asarray(points, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise StewartError(f"values of {name} have shape {values.shape}, expected a list of finite numbers")
    return values


def _label(name: str) -> str:
    return f"{name} [{'m' if _COORDINATES.index(name) < _N_POSITIONS else 'rad'}]"
