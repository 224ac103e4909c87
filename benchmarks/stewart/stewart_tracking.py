"""Stewart tracking: time and error of a step at 1 kHz, against scipy.optimize.least_squares.

A motion of +-8 cm and +-17 degrees in all six freedoms at 1 Hz, of the reference platform. Times are processor times of
this thread; the two programs are measured in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from lie_dynamics_ros.lie_dynamics.stewart import StewartTracker, reference_platform

from ..results import Figure, at_least, at_most

STEPS = 20_000
MAX_SPEED = (1.0, 4.0)  # of the motion, m/s and rad/s
SCIPY_STEPS = 60
ROUNDS = 15
NOISE = 1e-5
SAMPLES = 200_000


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the medians of all rounds."""
    platform = reference_platform()
    poses = motion()
    lengths = platform.leg_lengths(poses)
    rates = np.gradient(lengths, 1e-3, axis=0)
    rows, rate_rows = list(lengths), list(rates)
    tracker = StewartTracker(platform, poses[0])
    update = tracker.update

    def plain() -> None:
        for row in rows:
            update(row)

    def with_pose() -> None:
        for row in rows:
            _ = update(row).pose

    def with_rates() -> None:
        for row, rate in zip(rows, rate_rows, strict=True):
            update(row, rate)

    programs: dict[str, tuple[Callable[[], object], int]] = {
        "a step from Python, update(lengths)": (plain, STEPS),
        "a step from Python, its pose read": (with_pose, STEPS),
        "a step from Python, with rates": (with_rates, STEPS),
        "a step in a batch, update_many(lengths)": (lambda: tracker.update_many(lengths), STEPS),
        "a step in a batch, with rates": (lambda: tracker.update_many(lengths, rates), STEPS),
        "scipy.optimize.least_squares, from the last pose": (lambda: by_scipy(platform, poses, lengths), SCIPY_STEPS),
    }
    times: dict[str, list[float]] = {name: [] for name in programs}
    for turn in range(ROUNDS + 1):
        for name, (program, count) in programs.items():
            tracker.reset(poses[0])
            begin = time.thread_time()
            program()
            if turn:  # the first round compiles
                times[name].append((time.thread_time() - begin) / count * 1e6)
    medians = {name: float(np.median(values)) for name, values in times.items()}
    limits = {"update(lengths)": 1.0, "update_many(lengths)": 0.6}
    figures = []
    for name, value in medians.items():
        limit = next((v for k, v in limits.items() if name.endswith(k)), None)
        figures.append(Figure(name, value, "us") if limit is None else at_most(name, value, "us", limit))
    names = list(medians)
    figures.append(at_least("scipy to a step from Python", medians[names[-1]] / medians[names[0]], "x", 100.0))

    tracker.reset(poses[0])
    path = tracker.update_many(lengths)
    bounded = StewartTracker(platform, poses[0], MAX_SPEED).update_many(lengths, dt=1e-3)
    figures += [
        at_least("certified, at 1 m/s and 4 rad/s", 100.0 * float(bounded.certified.mean()), "%", 99.9),
        at_least("continued", 100.0 * float(path.continued.mean()), "%", 100.0),
        at_most("corrections in a step, largest", float(path.iterations.max()), "", 3.0),
        at_most("error of a pose, largest entry (m, 1)", float(np.abs(path.poses - poses).max()), "", 1e-12),
        at_most("h of the steps, largest", float(path.largest_h.max()), "", 0.5),
        at_most("covariance, largest deviation from Monte Carlo", monte_carlo(platform), "%", 2.0),
    ]
    return figures, {"microseconds a step, by round": times}


def motion() -> np.ndarray:
    """Poses (n, 4, 4) at 1 ms."""
    phases = 2.0 * np.pi * 1e-3 * np.arange(STEPS)[:, None] + np.arange(6)
    q = np.sin(phases) * ([0.08] * 3 + [np.deg2rad(17.0)] * 3)
    poses = np.zeros((STEPS, 4, 4))
    poses[:, :3, :3] = Rotation.from_euler("xyz", q[:, 3:]).as_matrix()
    poses[:, :3, 3] = q[:, :3] + [0.0, 0.0, 0.5]
    poses[:, 3, 3] = 1.0
    return poses


def by_scipy(platform: Any, poses: np.ndarray, lengths: np.ndarray) -> None:
    """Solve step by step, from the pose before, by the usual call of scipy."""
    base, top = platform.base_points.copy(), platform.platform_points.copy()  # scipy wants them writeable
    x = np.r_[Rotation.from_matrix(poses[0, :3, :3]).as_rotvec(), poses[0, :3, 3]]

    def errors(x: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        return np.linalg.norm(Rotation.from_rotvec(x[:3]).apply(top) + x[3:] - base, axis=1) - wanted

    for wanted in lengths[1 : SCIPY_STEPS + 1]:
        x = least_squares(errors, x, args=(wanted,), xtol=1e-15, ftol=1e-15, gtol=1e-15).x


def monte_carlo(platform: Any) -> float:
    """Largest deviation [%] of standard deviations, at the paper's true pose, from those of sampled lengths."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_euler("ZYX", [-30.0, 0.0, 20.0], degrees=True).as_matrix()
    pose[2, 3] = 0.5
    exact = platform.leg_lengths(pose)
    tracker = StewartTracker(platform, pose, leg_noise=NOISE)
    path = tracker.update_many(exact + NOISE * np.random.default_rng(0).normal(size=(SAMPLES, 6)))
    turns = Rotation.from_matrix(path.poses[:, :3, :3] @ pose[:3, :3].T).as_rotvec()
    sampled = np.hstack([turns, path.poses[:, :3, 3] - pose[:3, 3]]).std(axis=0)
    predicted = np.sqrt(np.diag(tracker.update(exact).covariance))
    return float(100.0 * np.abs(predicted / sampled - 1.0).max())
