"""Checks of platform geometry, in the words of the people who build motion platforms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Array, ArrayLike, Mask
from ...errors import StewartError
from ...lie import quaternion, so3
from ...lie._arrays import numbers
from ...texts import LARGEST

#: Two joint centres closer than this share of the platform's size count as one point.
COINCIDENCE_TOLERANCE = 1e-9
#: Longest legs that are metres: over the limits, or without limits, over the size of the platform.
OF_LIMITS, OF_SIZE = 10.0, 200.0
#: By what part of its length a leg may be beyond its limits in the home pose of a file.
HOME_SLACK = 0.01
N_LEGS = 6


def as_joint_centres(points: ArrayLike, side: str) -> Array:
    """Return joint centres as a read-only float64 array (6, 3) [m]; StewartError names what is wrong with them.

    ``side`` is "base_points" or "platform_points", for the message.
    """
    try:
        array = np.array(points, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise StewartError(f"{side} is not a table of numbers, expected six rows of x, y, z in metres") from error
    if array.ndim != 2 or array.shape[1] != 3:
        raise StewartError(f"{side} has shape {array.shape}, expected (6, 3): six joint centres x, y, z in metres")
    if array.shape[0] < N_LEGS:
        raise StewartError(
            f"{side} has {array.shape[0]} points, expected 6: with fewer than six legs nothing holds the platform in "
            "all six directions; a pentapod is a tree with loops (doc/mechanisms/index.md)"
        )
    if array.shape[0] > N_LEGS:
        raise StewartError(
            f"{side} has {array.shape[0]} points, expected 6: redundant legs are not supported; describe them as "
            "further sensors of kind 'length' (doc/stewart_fusion.md)"
        )
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if bad.size:
        leg = int(bad[0])
        raise StewartError(f"{side} of leg {leg + 1} is {array[leg].tolist()}, expected finite coordinates in metres")
    array.flags.writeable = False
    return array


def as_leg_limits(limits: ArrayLike | None) -> Array:
    """Return leg limits as a read-only array (6, 2), min and max length [m]; ``None`` means 0 to infinity."""
    array = np.array((0.0, np.inf) if limits is None else limits, dtype=np.float64)
    if array.shape == (2,):
        array = np.tile(array, (N_LEGS, 1))
    if array.shape != (N_LEGS, 2):
        raise StewartError(
            f"leg_limits has shape {array.shape}, expected (2,) for one pair (min, max) or (6, 2) for a pair a leg, "
            "in metres"
        )
    for leg, (low, high) in enumerate(array, start=1):
        if not 0.0 <= low < high:
            raise StewartError(f"leg_limits of leg {leg} are ({low}, {high}), expected 0 <= min < max in metres")
    array.flags.writeable = False
    return array


def as_directions(value: ArrayLike, name: str) -> Array:
    """Return directions, one for all legs or one a leg, as read-only unit vectors (6, 3); StewartError for none."""
    array = numbers(value)
    if array.shape not in ((3,), (N_LEGS, 3)) or not (np.abs(array) <= LARGEST).all():
        raise StewartError(f"{name}: finite directions, six of x, y, z or one, are expected, got {value!r}", name=name)
    array = np.broadcast_to(array, (N_LEGS, 3))
    largest = np.abs(array).max(axis=1, keepdims=True)
    if not (largest > 0.0).all():
        raise StewartError(f"{name} of leg {int(np.argmin(largest)) + 1} has no direction", name=name, value=value)
    array = array / largest
    axes = np.asarray(array / np.linalg.norm(array, axis=1, keepdims=True))
    axes.flags.writeable = False
    return axes


def as_six(value: ArrayLike, name: str, expected: str, good: Callable[[Array], Mask]) -> Array:
    """Return numbers of the legs, one for all or one a leg, read-only (6,); StewartError where they are not `good`."""
    array = numbers(value)
    wrong = isinstance(value, (bool, str, bytes)) or array.shape not in ((), (N_LEGS,))
    if wrong or not (good(array) & ~np.isnan(array)).all():
        raise StewartError(f"{name}: one or six {expected} are expected, got {value!r}", name=name, value=value)
    array = np.array(np.broadcast_to(array, (N_LEGS,)))
    array.flags.writeable = False
    return array


def check_distinct_legs(base_points: Array, platform_points: Array) -> None:
    """Raise StewartError when two legs join the same two points: they are one leg for the kinematics.

    Sharing a point on one side only is a legitimate design (6-3, 3-3 octahedral and so on) and passes.
    """
    tolerance = COINCIDENCE_TOLERANCE * max(extent(base_points), extent(platform_points))
    for first in range(N_LEGS):
        for second in range(first + 1, N_LEGS):
            gaps = [np.linalg.norm(points[first] - points[second]) for points in (base_points, platform_points)]
            if max(gaps) <= tolerance:
                raise StewartError(
                    f"legs {first + 1} and {second + 1} coincide: both join base point {base_points[first].tolist()} "
                    f"to platform point {platform_points[first].tolist()}, expected six different legs"
                )


def longest_of(base_points: Array, platform_points: Array, limits: Array) -> Array:
    """Return lengths (6,) [m] beyond which numbers are no leg lengths of a platform with limits (6, 2)."""
    size = max(extent(base_points), extent(platform_points))
    return np.where(np.isfinite(limits[:, 1]), OF_LIMITS * limits[:, 1], OF_SIZE * size)


def check_turns(angles: Array, limits: Array) -> None:
    """Raise StewartError for angles (..., 6) [rad] that are more than a turn beyond limits (6, 2); NaN is none.

    Nearer than that they may be an encoder's whole turns: a few degrees look the same, and no angle can tell.
    """
    beyond = np.maximum(angles - limits[:, 1], limits[:, 0] - angles)
    bad = np.argwhere((beyond > 2.0 * np.pi) & (beyond < np.inf))
    if bad.size:
        leg = int(bad[0][-1])
        low, high = limits[leg]
        raise StewartError(
            f"leg {leg + 1} has the angle {angles[tuple(bad[0])]:.6g} rad, expected about {low:.6g} to {high:.6g}: "
            "degrees?", name=f"leg {leg + 1}",
        )  # fmt: skip


def check_home_lengths(lengths: Array, limits: Array, size: float) -> None:
    """Raise StewartError unless leg lengths (6,) of a home pose are within limits (6, 2) and suit the platform's size.

    Home may be at a limit: they are let be off by a little, as those of a calibrated platform are.
    """
    slack = HOME_SLACK * lengths
    low, high = limits[:, 0] - slack, limits[:, 1] + slack
    high = np.where(np.isfinite(high), high, OF_SIZE * size)
    bad = np.flatnonzero(~((lengths >= low) & (lengths <= high)))
    if bad.size:
        leg = int(bad[0])
        least, most = limits[leg, 0], min(limits[leg, 1], OF_SIZE * size)
        off = max(lengths[leg] / most, least / max(lengths[leg], 1e-300))
        unlimited = lengths[leg] > most and not np.isfinite(limits[leg, 1])
        unit = unlimited or off > OF_LIMITS
        why = "millimetres, or another unit?" if unit else "limits and home pose contradict each other"
        raise StewartError(
            f"home_pose: leg {leg + 1} has length {lengths[leg]:.6g} m there, expected {least:.6g} to {most:.6g} m by "
            f"leg_limits or the size of the platform: {why}", name="home_pose",
        )  # fmt: skip


def check_home_upright(base_points: Array, platform_points: Array, home: Array) -> None:
    """Raise StewartError for a home pose (4, 4) that turns the platform over where w first in its quaternion does not.

    The triangles that joint centres of any three legs span are seen from the same side on the base and on the
    platform, also where that hangs below; turned over, legs cross.
    """
    turn = so3.to_quaternion(home[:3, :3])
    other = np.asarray(quaternion.to_matrix(np.roll(turn, -1)))
    if _facing(base_points, platform_points, home[:3, :3]) < 0.0 < _facing(base_points, platform_points, other):
        numbers = [round(float(x), 6) for x in turn]
        raise StewartError(
            f"home_pose: the quaternion {numbers} (x, y, z, w) turns the platform over, so that its legs cross: "
            "x, y, z, w expected, is w first?", name="home_pose",
        )  # fmt: skip


def _facing(base_points: Array, platform_points: Array, rotation: Array) -> float:
    """Return how far areas between joint centres face the same way on base and platform; negative where opposite."""
    a, b = base_points - base_points.mean(axis=0), (platform_points - platform_points.mean(axis=0)) @ rotation.T
    i, j = np.triu_indices(N_LEGS, 1)
    return float((np.cross(a[i], a[j]) * np.cross(b[i], b[j])).sum())


def extent(points: Array) -> float:
    """Largest distance of a point from the centroid [m]."""
    return float(np.max(np.linalg.norm(points - points.mean(axis=0), axis=1)))


def rms_radius(points: Array) -> float:
    """Root mean square distance of the points from their centroid [m]."""
    return float(np.sqrt(np.mean(np.sum((points - points.mean(axis=0)) ** 2, axis=1))))
