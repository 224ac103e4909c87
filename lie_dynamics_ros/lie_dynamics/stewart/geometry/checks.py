"""Checks of platform geometry, in the words of the people who build motion platforms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import StewartError
from .inverse_kinematics import Array

#: Two joint centres closer than this share of the platform's size count as one point.
COINCIDENCE_TOLERANCE = 1e-9
N_LEGS = 6


def as_joint_centres(points: npt.ArrayLike, side: str) -> Array:
    """Return joint centres as a read-only float64 array (6, 3) [m]; StewartError says what is wrong with them.

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
            "all six directions"
        )
    if array.shape[0] > N_LEGS:
        raise StewartError(f"{side} has {array.shape[0]} points, expected 6: redundant legs are not supported")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if bad.size:
        leg = int(bad[0])
        raise StewartError(f"{side} of leg {leg + 1} is {array[leg].tolist()}, expected finite coordinates in metres")
    array.flags.writeable = False
    return array


def as_leg_limits(limits: npt.ArrayLike | None) -> Array:
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


def extent(points: Array) -> float:
    """Largest distance of a point from the centroid [m]."""
    return float(np.max(np.linalg.norm(points - points.mean(axis=0), axis=1)))


def rms_radius(points: Array) -> float:
    """Root mean square distance of the points from their centroid [m]."""
    return float(np.sqrt(np.mean(np.sum((points - points.mean(axis=0)) ** 2, axis=1))))
