"""Servo hexapods: over random rigs of all drawings, are all poses for given angles found.

The judge is a Levenberg-Marquardt search of its own from many starts; what it finds has to be among the modes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.stewart.study.progress import Progress
from lie_dynamics_ros.lie_dynamics.stewart import RotaryPlatform, StewartError, assembly_modes, horn_directions

from ..results import Figure, at_most

RIGS, STARTS, ITERATIONS = 1000, 150, 60
#: Residuals of solutions, and gaps of poses that are one, as shares of the platform's size.
CLOSED, SAME = 1e-11, 1e-5


def random_rig(rng: np.random.Generator) -> RotaryPlatform:
    """Return a rig of the three patterns, or with legs that all differ and axes that are not level."""
    while True:
        skew = rng.integers(4) == 3
        base, plate = rng.uniform(0.04, 0.2), rng.uniform(0.03, 0.15)
        horns, rods = base * rng.uniform(0.15, 0.6), base * rng.uniform(1.2, 3.0)
        around = np.radians([0, 120, 120, 240, 240, 360]) + np.array([1, -1] * 3) * rng.uniform(0.1, 0.5)
        above = np.radians([60, 60, 180, 180, 300, 300]) + np.array([-1, 1] * 3) * rng.uniform(0.05, 0.5)
        points, balls = (
            radius * np.stack([np.cos(x), np.sin(x), 0.0 * x], axis=-1)
            for radius, x in ((base, around), (plate, above))
        )
        points = points + skew * rng.normal(scale=0.05 * base, size=(6, 3))
        balls = balls + skew * rng.normal(scale=0.05 * plate, size=(6, 3))
        zero, axes = horn_directions(points, ["coplanar", "tangential", "radial"][rng.integers(3)])
        zero, axes = (x + skew * rng.normal(scale=0.2, size=(6, 3)) for x in (zero, axes))
        lengths = horns * rng.uniform(0.8, 1.2, 6) ** skew, rods * rng.uniform(0.9, 1.1, 6) ** skew
        try:
            return RotaryPlatform(points, balls, axes, *lengths, zero, rng.uniform(-0.3, 0.3, 6))
        except StewartError:
            continue


def rotations(vectors: np.ndarray) -> np.ndarray:
    """Return rotations by Rodrigues' formula, (n, 3) -> (n, 3, 3)."""
    angle = np.linalg.norm(vectors, axis=1)[:, None, None]
    x, y, z = (vectors / np.maximum(angle[:, 0], 1e-300)).T
    K = np.stack([0 * x, -z, y, z, 0 * x, -x, -y, x, 0 * x], axis=-1).reshape(-1, 3, 3)
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K))


def searched(
    tips: np.ndarray, balls: np.ndarray, rods: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return rotations (k, 3, 3) and positions (k, 3) in units of the platform's size at which all rods fit."""
    unit = np.sqrt((balls**2).sum(axis=1).mean())
    a, b, lengths = tips / unit, balls / unit, rods / unit
    R = rotations(2.0 * rng.normal(size=(STARTS, 3)))
    p = a.mean(axis=0) + 1.2 * lengths.max() * rng.uniform(-1, 1, (STARTS, 3))
    damping = np.full(STARTS, 1e-2)

    def gaps(R: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        d = b @ np.swapaxes(R, 1, 2) + p[:, None] - a
        size = np.linalg.norm(d, axis=-1)
        return size - lengths, d / size[..., None]

    e, u = gaps(R, p)
    for _ in range(ITERATIONS):
        J = np.concatenate([np.cross(b @ np.swapaxes(R, 1, 2), u), u], axis=-1)
        normal = np.swapaxes(J, 1, 2) @ J + damping[:, None, None] * np.eye(6)
        step = -np.linalg.solve(normal, np.swapaxes(J, 1, 2) @ e[..., None])[..., 0]
        R_new, p_new = rotations(step[:, :3]) @ R, p + step[:, 3:]
        e_new, u_new = gaps(R_new, p_new)
        good = (e_new**2).sum(axis=1) < (e**2).sum(axis=1)
        R, p = np.where(good[:, None, None], R_new, R), np.where(good[:, None], p_new, p)
        e, u = np.where(good[:, None], e_new, e), np.where(good[:, None, None], u_new, u)
        damping = np.clip(np.where(good, 0.2 * damping, 5.0 * damping), 1e-15, 1e6)
    closed = np.abs(e).max(axis=1) < CLOSED
    return R[closed], p[closed] * unit


def run(rigs: int = RIGS) -> tuple[list[Figure], Any]:
    """Return figures and, a rig each, the number of modes."""
    rng, counts = np.random.default_rng(1), []
    missing = uncertain = found = 0
    worst = 0.0
    with Progress(rigs) as bar:
        for _ in range(rigs):
            platform = random_rig(rng)
            angles = platform.home_angles + rng.uniform(-0.6, 0.6, 6)
            modes = assembly_modes(platform, angles)
            turns, places = searched(platform.tips(angles), platform.platform_points, platform.rods, rng)
            size = platform.characteristic_length
            for turn, place in zip(turns, places, strict=True):
                gap = np.abs(modes.poses[:, :3, :3] - turn).max(axis=(1, 2), initial=0.0)
                gap = np.maximum(gap, np.abs(modes.poses[:, :3, 3] - place).max(axis=1, initial=0.0) / size)
                missing += not (gap < SAME).any()
            found += len(turns)
            uncertain += not modes.certain
            worst = max(worst, float(modes.residuals.max(initial=0.0)))
            counts.append(len(modes))
            bar.step(f"{missing} missing")
    figures = [
        at_most("poses found by the search that are missing", missing, "", 0),
        at_most("rigs whose modes are not certain", uncertain, "", 0),
        Figure("poses found by the search", found, ""),
        at_most("largest error of a rod", worst, "m", 1e-12),
    ]
    return figures, {"modes": counts}
