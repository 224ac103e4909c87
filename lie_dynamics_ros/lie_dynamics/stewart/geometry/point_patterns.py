"""Joint centres in patterns that a few numbers describe."""

from __future__ import annotations

import numpy as np

from ..errors import StewartError
from .inverse_kinematics import Array


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


def _circle(radius: float, angles: list[float]) -> Array:
    """Points (n, 3) on a circle in the plane z = 0."""
    return np.array([[radius * np.cos(angle), radius * np.sin(angle), 0.0] for angle in angles])
