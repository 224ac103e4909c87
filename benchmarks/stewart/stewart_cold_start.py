"""Stewart cold start: how often the path from home finds the right pose of random targets."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.stewart.study.progress import Progress
from lie_dynamics_ros.lie_dynamics.lie import so3
from lie_dynamics_ros.lie_dynamics.stewart import StewartPlatform, reference_platform, solve_from_home

from ..results import Figure, at_least, at_most

TARGETS = 10_000
#: Poses agree when no entry differs by more than this.
SAME = 1e-9


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the targets that were missed."""
    given = reference_platform()
    without = StewartPlatform(given.base_points, given.platform_points)
    rng = np.random.default_rng(0)
    poses = np.tile(np.eye(4), (TARGETS, 1, 1))
    angles = np.deg2rad(30.0) * rng.uniform(-1.0, 1.0, (TARGETS, 3))
    poses[:, :3, :3] = so3.from_rpy(angles)
    poses[:, :3, 3] = given.home_pose[:3, 3] + rng.uniform(-0.15, 0.15, (TARGETS, 3))
    lengths = given.leg_lengths(poses)
    figures: list[Figure] = []
    missed = {}
    solve_from_home(given, lengths[0])  # compiles
    with Progress(2 * TARGETS) as bar:
        for name, platform in (("home pose given", given), ("home pose guessed from the lengths", without)):
            times, steps, errors = [], [], []
            for row, pose in zip(lengths, poses, strict=True):
                begin = time.thread_time()
                found = solve_from_home(platform, row)
                times.append(time.thread_time() - begin)
                steps.append(found.steps)
                errors.append(np.abs(found.pose - pose).max() if found.converged else np.inf)
                bar.step(name)
            right = np.array(errors) < SAME
            missed[name] = np.flatnonzero(~right).tolist()
            figures += [
                at_least(f"right pose, {name}", 100.0 * float(right.mean()), "%", 100.0),
                at_most(f"largest error of a pose, {name}", float(np.max(errors)), "", 1e-12),
                Figure(f"median time, {name}", 1e6 * float(np.median(times)), "us"),
                Figure(f"proven steps, median, {name}", float(np.median(steps)), ""),
                Figure(f"proven steps, most, {name}", float(np.max(steps)), ""),
            ]
    return figures, {"targets": TARGETS, "missed": missed}
