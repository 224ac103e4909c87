"""Joint centres, and directions of horns, in patterns that a few numbers or words describe."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..errors import StewartError


def semi_regular_points(
    base_radius: float, platform_radius: float, base_half_angle: float, platform_half_angle: float
) -> tuple[Array, Array]:
    """Return base and platform points (6, 3) [m] of `designs.semi_regular_platform`, unchecked for singularity."""
    for name, value in (("base_radius", base_radius), ("platform_radius", platform_radius)):
        if not 0.0 < value < np.inf:
            raise StewartError(f"{name} is {value}, expected a positive radius in metres")
    for name, value in (("base_half_angle", base_half_angle), ("platform_half_angle", platform_half_angle)):
        if not 0.0 <= value <= np.pi / 3.0:
            raise StewartError(f"{name} is {value} rad, expected 0 to pi/3")
    thirds = 2.0 * np.pi / 3.0
    base_angles, platform_angles = [], []
    for sector in range(3):
        base_angles += [sector * thirds + base_half_angle, (sector + 1) * thirds - base_half_angle]
        middle = (sector + 0.5) * thirds
        platform_angles += [middle - platform_half_angle, middle + platform_half_angle]
    return _circle(base_radius, base_angles), _circle(platform_radius, platform_angles)


#: How horns stand: along a pair's line, along the circle of the motors, along its radius; and which way they may face.
HORN_PATTERNS = {
    "coplanar": ("apart", "together"),
    "tangential": ("apart", "together"),
    "radial": ("outward", "inward"),
}


def horn_directions(base_points: Array, pattern: str, facing: str | None = None) -> tuple[Array, Array]:
    """Return where upright horns point at angle 0, and axes about which positive angles raise them, (6, 3) each.

    Parameters
    ----------
    base_points : ndarray, shape (6, 3)
        Motors, about the z axis through their centroid; the nearest two are pairs.
    pattern : str
        "coplanar": both horns of a pair turn in one plane, through both motors; "tangential": each in that across the
        radius of its motor; "radial": each in that of the radius.
    facing : str, optional
        "apart" or "together" in pairs; "outward" or "inward" for radial ones. The first of the two when left out.

    Raises
    ------
    StewartError
        For other words, and where two motors are at one place, or one is at the centre.
    """
    if pattern not in HORN_PATTERNS:
        raise StewartError(f"pattern is {pattern!r}, expected one of {', '.join(HORN_PATTERNS)}", name="pattern")
    words = HORN_PATTERNS[pattern]
    facing = words[0] if facing is None else facing
    if facing not in words:
        raise StewartError(f"facing is {facing!r}, expected {' or '.join(words)} for {pattern} horns", name="facing")
    points = np.asarray(base_points, dtype=np.float64)
    if points.shape != (6, 3) or not np.isfinite(points).all():
        raise StewartError(f"base_points has shape {points.shape}, expected six finite rows of x, y, z")
    flat = (points - points.mean(axis=0)) * (1.0, 1.0, 0.0)
    away = flat - flat[_partners(flat)]
    if pattern == "coplanar":
        x = away
    elif pattern == "radial":
        x = flat
    else:
        x = np.cross((0.0, 0.0, 1.0), flat)
        x *= np.where((x * away).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
    size = np.linalg.norm(x, axis=1, keepdims=True)
    if not (size > 1e-9 * np.abs(flat).max()).all():
        raise StewartError(f"base_points of leg {int(np.argmin(size)) + 1}: no {pattern} direction follows from there")
    x = (x if facing == words[0] else -x) / size
    return x, np.cross(x, (0.0, 0.0, 1.0))


def _partners(points: Array) -> list[int]:
    """Return the partner of each of six points, all pairs together as near as they can be."""
    gaps = np.linalg.norm(points[:, None] - points, axis=-1)
    best, least = list(range(6)), np.inf
    for pairs in _pairings(tuple(range(6))):
        total = sum(gaps[i, j] ** 2 for i, j in pairs)
        if total < least * (1.0 - 1e-9):
            least, best = total, [dict([*pairs, *(pair[::-1] for pair in pairs)])[k] for k in range(6)]
    return best


def _pairings(left: tuple[int, ...]) -> list[list[tuple[int, int]]]:
    """Return all ways to make pairs."""
    if not left:
        return [[]]
    first, rest = left[0], left[1:]
    return [[(first, k), *more] for k in rest for more in _pairings(tuple(x for x in rest if x != k))]


def _circle(radius: float, angles: list[float]) -> Array:
    """Points (n, 3) on a circle in the plane z = 0."""
    return np.array([[radius * np.cos(angle), radius * np.sin(angle), 0.0] for angle in angles])
