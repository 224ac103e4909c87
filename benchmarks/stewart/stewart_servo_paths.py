"""Limits on random paths of random servo hexapods: how much of each is used at most, by the judge of the tests.

The judge knows angles by circles and spheres, rates and accelerations by differences, torques by virtual work, at 400
times of each motion. As many paths as fit into an hour of one process.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..results import Figure, at_most

TESTS = Path(__file__).parents[2] / "test"
CHUNK, WANTED, SECONDS = 100, 10_000, 3600.0
LIMITS = "accelerations and torques", "rates and speeds", "angles"


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the largest parts of limits of each hundred paths."""
    sys.path[:0] = [str(TESTS / name) for name in ("stewart/command", "stewart", "")]
    from test_stewart_command_shortest import compare_servos  # type: ignore[import-not-found]

    used, begin = [], time.thread_time()
    while CHUNK * len(used) < WANTED and time.thread_time() - begin < SECONDS:
        used.append(compare_servos(np.random.default_rng([44, len(used)]), CHUNK, 0)[1].max(axis=0).tolist())
    return figures(used), {"largest part used, by hundred paths": used}


def figures(used: list[list[float]]) -> list[Figure]:
    """Return what to show of the largest parts of limits (k, 3), each of a hundred paths."""
    most = np.array(used).max(axis=0)
    parts = [at_most(f"largest part used of {what}", float(x), "", 1.0) for what, x in zip(LIMITS, most, strict=True)]
    return [Figure("paths", float(CHUNK * len(used)), ""), *parts]
