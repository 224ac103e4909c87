"""Workspace slices: which poses the leg limits allow, and how well conditioned they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...lie import se3, so3
from ...shown import shown
from ..errors import StewartError
from .any_platform import PointJointed, require_legs
from .inverse_kinematics import as_pose
from .rotary_platform import RotaryPlatform
from .travel import motors_and_volumes

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
    limiting_leg: npt.NDArray[np.int64]
    within_limits: npt.NDArray[np.bool_]
    same_side: npt.NDArray[np.bool_]
    condition_number: Array
    characteristic_length: float

    @property
    def reachable(self) -> npt.NDArray[np.bool_]:
        """Poses (m, n) within the limits and on the centre's side of the singularities."""
        return np.asarray(self.within_limits & self.same_side)


def workspace_slice(
    platform: PointJointed,
    x: tuple[Coordinate, npt.ArrayLike],
    y: tuple[Coordinate, npt.ArrayLike],
    centre: npt.ArrayLike | None = None,
) -> WorkspaceSlice:
    """Examine the poses over a grid of two coordinates.

    Parameters
    ----------
    platform : StewartPlatform or RotaryPlatform; give it limits, otherwise every pose that legs reach counts as within.
    x, y : name ("x", "y", "z" [m], "roll", "pitch", "yaw" [rad]) and values (m,), (n,) of the two coordinates.
        ``R = Rz(yaw) Ry(pitch) Rx(roll)``.
    centre : (4, 4), pose that gives the other four coordinates; default: the platform's home pose.

    Raises
    ------
    StewartError : unknown or equal coordinates, values that are no finite list, no centre and no home pose.
    """
    require_legs(platform)
    names = [_coordinate(name, axis) for name, axis in ((x[0], "x"), (y[0], "y"))]
    if names[0] == names[1]:
        raise StewartError(f"both axes of the slice are {names[0]!r}, expected two different coordinates")
    values = [_values(points, name) for (_, points), name in zip((x, y), names, strict=True)]
    middle = platform.home_pose if centre is None else se3.check(as_pose(centre, "centre"), "centre")
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


def _values(points: npt.ArrayLike, name: str) -> Array:
    values = np.asarray(points, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise StewartError(f"values of {name} have shape {values.shape}, expected a list of finite numbers")
    return values


def _label(name: str) -> str:
    return f"{name} [{'m' if _COORDINATES.index(name) < _N_POSITIONS else 'rad'}]"
