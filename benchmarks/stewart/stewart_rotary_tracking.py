"""Tracking of a servo hexapod: time and error of a step at 1 kHz, in turns with that of sliding legs.

A motion about the home pose of the servo hexapod of the package, 5 mm and 0.12 rad in all six freedoms at 1 Hz, and
that of the benchmark `stewart_tracking`. Times are processor times of this thread.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics.lie import se3
from lie_dynamics_ros.lie_dynamics.stewart import RotaryPlatform, StewartTracker, reference_platform

from ..results import Figure, at_least, at_most
from .stewart_tracking import motion

STEPS, ROUNDS = 5000, 15
SIZE = np.repeat((0.12, 0.005), 3)
FILE = Path(lie_dynamics_ros.__file__).parent / "platforms" / "servo_hexapod.yaml"


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the times of all rounds."""
    hexapod, sliding = RotaryPlatform.from_yaml(FILE), reference_platform()
    phases = 2.0 * np.pi * 1e-3 * np.arange(STEPS)[:, None] + np.arange(6)
    poses = hexapod.home_pose @ np.asarray(se3.exp(SIZE * np.sin(phases)))
    angles, legs = hexapod.motor_positions(poses), motion()[:STEPS]
    lengths = sliding.leg_lengths(legs)
    trackers = StewartTracker(hexapod, poses[0]), StewartTracker(sliding, legs[0])
    rates = list(np.gradient(angles, 1e-3, axis=0))
    rows, others = list(angles), list(lengths)

    def each(tracker: StewartTracker, given: list[np.ndarray]) -> None:
        for row in given:
            tracker.update(row)

    def with_rates() -> None:
        for row, rate in zip(rows, rates, strict=True):
            trackers[0].update(row, rate)

    programs = {
        "a step from Python, update(angles)": lambda: each(trackers[0], rows),
        "a step from Python, with rates": with_rates,
        "a step in a batch, update_many(angles)": lambda: trackers[0].update_many(angles),
        "a step of sliding legs, update(lengths)": lambda: each(trackers[1], others),
    }
    times: dict[str, list[float]] = {name: [] for name in programs}
    for turn in range(ROUNDS + 1):
        for name, program in programs.items():
            trackers[0].reset(poses[0])
            trackers[1].reset(legs[0])
            begin = time.thread_time()
            program()
            if turn:  # the first round compiles
                times[name].append((time.thread_time() - begin) / STEPS * 1e6)
    names = list(programs)
    ratio = float(np.median(np.array(times[names[0]]) / times[names[-1]]))
    medians = {name: float(np.median(values)) for name, values in times.items()}
    trackers[0].reset(poses[0])
    path = trackers[0].update_many(angles)
    figures = [at_most(name, medians[name], "us", 5.0) for name in names[:3]]
    figures += [
        Figure(names[-1], medians[names[-1]], "us"),
        Figure("a step of the hexapod to one of sliding legs, in turns", ratio, "x"),
        at_least("continued", 100.0 * float(path.continued.mean()), "%", 100.0),
        at_most("error of a pose, largest entry (m, 1)", float(np.abs(path.poses - poses).max()), "", 1e-12),
    ]
    return figures, {"microseconds a step, by round": times}
