"""Constraints of each cut joint, as scalars that the kernels know (see `kernels.loops`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from .kernels import loops as lk

#: Number of scalar constraints of each cut joint.
SIZES = {
    "welded": 6,
    "revolute": 5,
    "prismatic": 5,
    "universal": 4,
    "cylindrical": 4,
    "spherical": 3,
    "planar": 3,
    "welded_in_plane": 3,
    "point_on_line": 2,
    "point_in_plane": 1,
    "perpendicular": 1,
    "distance": 1,
}

#: Cut joints that have an axis in the first frame, and those with one in the second frame too.
WITH_AXIS = frozenset(SIZES) - {"welded", "spherical", "distance"}
WITH_SECOND_AXIS = frozenset({"revolute", "cylindrical", "planar", "universal", "perpendicular"})

_X, _Y, _Z = np.eye(3)


def _scalar(kind: float, a: Any = (0, 0, 0), b: Any = (0, 0, 0), offset: float = 0.0) -> Array:
    row = np.zeros(lk.SCALAR_SIZE)
    row[lk.TYPE], row[lk.OFFSET] = kind, offset
    row[lk.VECTOR_1 : lk.VECTOR_1 + 3], row[lk.VECTOR_2 : lk.VECTOR_2 + 3] = a, b
    return row


def perpendicular(axis: Array) -> tuple[Array, Array]:
    """Return two unit vectors that make a right-handed triad with the unit vector `axis`, (x, y) for z."""
    first = np.roll(np.eye(3), -1, axis=0)[np.argmax(np.abs(axis))]
    first = first - axis * (axis @ first)
    first = first / np.linalg.norm(first)
    return first, np.cross(axis, first)


def scalars(kind: str, axis: Array | None, second_axis: Array | None, length: float | None) -> Array:
    """Return the scalars of a cut joint (SIZES[kind], SCALAR_SIZE): translations first."""
    axis = _Z if axis is None else axis
    second_axis = axis if second_axis is None else second_axis
    e1, e2 = perpendicular(axis)
    point = [_scalar(lk.ALONG, e) for e in (_X, _Y, _Z)]
    line = [_scalar(lk.ALONG, e) for e in (e1, e2)]
    parallel = [_scalar(lk.ANGLE, e, second_axis) for e in (e1, e2)]
    turned = [_scalar(lk.ANGLE, a, b) for a, b in ((_Z, _Y), (_X, _Z), (_Y, _X))]
    made = {
        "welded": point + turned,
        "revolute": point + parallel,
        "prismatic": line + turned,
        "universal": [*point, _scalar(lk.ANGLE, axis, second_axis)],
        "cylindrical": line + parallel,
        "spherical": point,
        "planar": [_scalar(lk.ALONG, axis), *parallel],
        "welded_in_plane": [*line, _scalar(lk.ANGLE, e2, e1)],
        "point_on_line": line,
        "point_in_plane": [_scalar(lk.ALONG, axis)],
        "perpendicular": [_scalar(lk.ANGLE, axis, second_axis)],
        "distance": [_scalar(lk.DISTANCE, offset=length or 1.0)],
    }
    return np.array(made[kind])


def upright(kind: str, axis: Array | None, second_axis: Array | None) -> Array:
    """Return further scalars (k, SCALAR_SIZE) that are zero too, but not in a loop closed upside down.

    The scalars of a cut joint also vanish where an axis points the other way, or where a welded frame is turned by
    half a turn. With these, the sum of the squares has no minimum there.
    """
    if kind in ("welded", "prismatic"):
        return np.array([_scalar(lk.ANGLE, a, b, float(a @ b)) for a in (_X, _Y, _Z) for b in (_X, _Y, _Z)])
    axis = _Z if axis is None else axis
    if kind == "welded_in_plane":
        e1, _ = perpendicular(axis)
        return np.array([_scalar(lk.ANGLE, e1, e1, 1.0)])
    if kind in ("revolute", "cylindrical", "planar"):
        return np.array([_scalar(lk.ANGLE, axis, second_axis, 1.0)])
    return np.empty((0, lk.SCALAR_SIZE))


def facing(kind: str, axis: Array | None, second_axis: Array | None) -> Array:
    """Return the numbers for upright against upside down (10,): columns `FACING` and `FACING_LEAST` of loops."""
    axis = _Z if axis is None else axis
    if kind in ("welded", "prismatic"):
        return np.append(np.eye(3), lk.WHOLE)
    if kind == "welded_in_plane":
        e1, _ = perpendicular(axis)
        return np.append(np.outer(e1, e1), 0.0)
    if kind in ("revolute", "cylindrical", "planar"):
        return np.append(np.outer(axis, axis if second_axis is None else second_axis), 0.0)
    return np.append(np.zeros(9), lk.NOTHING)
