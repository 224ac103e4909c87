"""Travel left of a platform or a body along and about each axis, whatever carries it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Array, ArrayLike
from .lie import se3, so3

#: Furthest that is looked at [m, rad]; places looked at on the way there, and within each step that ends it.
FURTHEST, PLACES, CLOSER = (1.0, np.pi), 50, 8
AXES = ("x", "y", "z", "about x", "about y", "about z")
REACH, SINGULARITY = "reach", "singularity"


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
