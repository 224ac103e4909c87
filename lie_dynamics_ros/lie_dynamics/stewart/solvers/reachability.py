"""Leg lengths that cannot be: not a number, not positive, or such that no pose has them."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ...arrays import Array, ArrayLike
from ...errors import StewartError
from ..geometry import inverse_kinematics as ik
from ..geometry.checks import N_LEGS, longest_of
from ..geometry.platform import StewartPlatform

_ROUNDING = 1e-9


def longest_legs(platform: StewartPlatform) -> Array:
    """Return the lengths (6,) [m] beyond which numbers are no leg lengths of a platform, but in other units."""
    return longest_of(platform.base_points, platform.platform_points, platform.leg_limits)


def check_lengths(lengths: ArrayLike, platform: StewartPlatform | None = None) -> Array:
    """Return leg lengths (..., 6) [m] as an array; StewartError names a leg without finite positive length.

    With a platform, lengths that are far beyond its size are refused, too: they are in other units.
    """
    array = ik.as_vector(lengths, N_LEGS, "lengths")
    bad = np.argwhere(~(np.isfinite(array) & (array > 0.0)))
    if bad.size:
        leg = int(bad[0][-1]) + 1
        text = f"leg {leg} has length {array[tuple(bad[0])]} m, expected a finite positive length"
        raise StewartError(text, name=f"leg {leg}")
    if platform is not None:
        check_units(platform, array)
    return array


def check_units(platform: StewartPlatform, lengths: Array) -> None:
    """Raise StewartError for leg lengths (..., 6) that are in other units than metres; NaN is none."""
    longest = longest_legs(platform)
    bad = np.argwhere((lengths > longest) & (lengths < np.inf))
    if bad.size:
        leg = int(bad[0][-1])
        raise StewartError(
            f"leg {leg + 1} has length {lengths[tuple(bad[0])]:.6g} m, expected at most {longest[leg]:.6g} "
            "by the leg limits or the size of this platform: millimetres?",
            name=f"leg {leg + 1}",
        )


def check_place(platform: StewartPlatform, pose: ArrayLike, name: str = "pose") -> None:
    """Raise StewartError for poses (..., 4, 4) so far away that positions are in other units than metres."""
    poses = np.asarray(pose, np.float64)
    if poses.shape[-2:] == (4, 4) and np.isfinite(poses).all():
        legs = ik.leg_vectors(platform.base_points, platform.platform_points, poses)
        lengths, longest = ik.norms(legs), longest_legs(platform)
        bad = np.argwhere(lengths > longest)
        if bad.size:
            leg = int(bad[0][-1])
            raise StewartError(
                f"{name}: leg {leg + 1} has length {lengths[tuple(bad[0])]:.6g} m there, expected at most "
                f"{longest[leg]:.6g} by the leg limits or the size of this platform: millimetres?", name=name,
            )  # fmt: skip


def why_unreachable(platform: StewartPlatform, lengths: ArrayLike) -> str:
    """Return why no pose has the leg lengths (6,) [m], or "" when this test cannot decide.

    Two legs with the base line and the platform line between them form a quadrilateral in space, closed or not; it can
    be closed only if no side is longer than the other three together. The test is necessary, not sufficient.
    """
    array = check_lengths(lengths)
    rounding = _ROUNDING * float(array.max())
    for i, j in combinations(range(N_LEGS), 2):
        base = float(np.linalg.norm(platform.base_points[i] - platform.base_points[j]))
        moving = float(np.linalg.norm(platform.platform_points[i] - platform.platform_points[j]))
        sides = np.array([base, moving, array[i], array[j]])
        if 2.0 * sides.max() > sides.sum() + rounding:
            return (
                f"no pose has these lengths: legs {i + 1} and {j + 1} of {array[i]:.6g} m and {array[j]:.6g} m do not "
                f"close with the joints {base:.6g} m apart on the base and {moving:.6g} m on the platform"
            )
    return ""
