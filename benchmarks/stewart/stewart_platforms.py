"""Random members of the classes of Stewart platforms, each with a random pose: the material of benchmarks and tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Sides = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Family:
    """A class of platforms: its number of finite complex poses and a function that draws base and platform."""

    count: int
    draw: Callable[[np.random.Generator], Sides]


def _points(rng: np.random.Generator, labels: tuple[int, ...], flat: bool) -> np.ndarray:
    points = rng.normal(size=(max(labels) + 1, 3))
    if flat:
        points[:, 2] = 0.0
    return points[list(labels)]


def _sharing(
    base: tuple[int, ...], platform: tuple[int, ...], flat: str = ""
) -> Callable[[np.random.Generator], Sides]:
    return lambda rng: (_points(rng, base, "b" in flat), _points(rng, platform, "p" in flat))


def _mirror(rng: np.random.Generator) -> Sides:
    half = rng.normal(size=(2, 3, 3)) * [1.0, 1.0, 0.0]
    base, platform = np.concatenate([half, half[:, ::-1] * [1.0, -1.0, 1.0]], axis=1)
    return base, platform


def _semi_regular(rng: np.random.Generator) -> Sides:
    sides = []
    for offset in (0.0, np.pi / 3.0):
        radius, half_angle = rng.uniform(0.3, 2.0), rng.uniform(0.02, np.pi / 3.0 - 0.02)
        middles = offset + 2.0 * np.pi / 3.0 * np.repeat(np.arange(3), 2)
        sign = np.tile([1.0, -1.0] if offset == 0.0 else [-1.0, 1.0], 3)
        angles = middles + sign * half_angle
        if offset == 0.0:
            angles = np.roll(angles.reshape(3, 2), -1)  # the legs of a platform pair come from two base pairs
            angles = angles.reshape(6)
        sides.append(radius * np.stack([np.cos(angles), np.sin(angles), np.zeros(6)], axis=1))
    return sides[0], sides[1]


def _similar(rng: np.random.Generator) -> Sides:
    base = _points(rng, _SIX, True)
    return base, rng.uniform(0.3, 3.0) * base


_SIX = (0, 1, 2, 3, 4, 5)
FAMILIES = {
    "general": Family(40, _sharing(_SIX, _SIX)),
    "base flat": Family(40, _sharing(_SIX, _SIX, "b")),
    "platform flat": Family(40, _sharing(_SIX, _SIX, "p")),
    "both flat": Family(40, _sharing(_SIX, _SIX, "bp")),
    "6-5": Family(40, _sharing(_SIX, (0, 0, 1, 2, 3, 4))),
    "6-5 flat": Family(40, _sharing(_SIX, (0, 0, 1, 2, 3, 4), "bp")),
    "5-5": Family(24, _sharing((0, 0, 1, 2, 3, 4), (0, 1, 2, 2, 3, 4))),
    "6-4, two double points": Family(32, _sharing(_SIX, (0, 0, 1, 1, 2, 3))),
    "4-6, two double points, flat": Family(32, _sharing((0, 0, 1, 1, 2, 3), _SIX, "bp")),
    "6-4, a triple point": Family(16, _sharing(_SIX, (0, 0, 0, 1, 2, 3))),
    "6-3": Family(16, _sharing(_SIX, (0, 0, 1, 1, 2, 2))),
    "6-3 flat": Family(16, _sharing(_SIX, (0, 0, 1, 1, 2, 2), "bp")),
    "3-3 octahedral": Family(16, _sharing((0, 1, 1, 2, 2, 0), (0, 0, 1, 1, 2, 2))),
    "mirror-symmetric, flat": Family(36, _mirror),
    "similar hexagons": Family(16, _similar),
    "semi-regular": Family(28, _semi_regular),
}


@dataclass(frozen=True)
class Case:
    """A platform with a pose that it takes and the lengths of its legs."""

    base: np.ndarray
    platform: np.ndarray
    pose: np.ndarray
    lengths: np.ndarray


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    """Return a rotation, uniformly distributed."""
    w, x, y, z = (q := rng.normal(size=4)) / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def random_case(name: str, rng: np.random.Generator) -> Case:
    """Return a random member of a family in a random pose, legs in random order, frames placed at random."""
    base, platform = FAMILIES[name].draw(rng)
    order = rng.permutation(6)
    base, platform = base[order], platform[order]
    # Turned and shifted frames, so that a solver cannot lean on planes z = 0 or shared axes.
    base = base @ random_rotation(rng).T + rng.normal(size=3)
    platform = platform @ random_rotation(rng).T + rng.normal(size=3)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = random_rotation(rng), rng.normal(size=3)
    legs = platform @ pose[:3, :3].T + pose[:3, 3] - base
    return Case(base, platform, pose, np.linalg.norm(legs, axis=1))
