"""Commands of Stewart platforms: how long planning takes, and how near motions are to the shortest.

Times are those of the thread that plans for `stewart_command`, which lets set points go on meanwhile. The shortest
times are by the oracle of the tests, on random platforms, paths and limits. That no limit is exceeded is tested on ten
thousand random paths and a thousand random rides (``pytest -m slow``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..results import Figure, at_least, at_most

TESTS = Path(__file__).parents[2] / "test"
REPEATS = 30


def run(paths: int = 1000) -> tuple[list[Figure], Any]:
    """Measure in a process of its own: on small matrices threads of BLAS wait for each other."""
    folders = [str(TESTS / name) for name in ("stewart/command", "stewart", "nodes/stewart_command", "nodes", "")]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([*folders, *sys.path])}
    code = "import sys; from benchmarks.stewart.stewart_command import judge; judge(int(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(paths)]
    found = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    ratios = np.array(found["ratios"])
    figures = [at_most(f"plan: {name}", 1e3 * seconds, "ms", 5.0) for name, seconds in found["usual"].items()]
    figures += [Figure(f"plan: {name}", 1e3 * seconds, "ms") for name, seconds in found["others"].items()]
    return [
        *figures,
        at_least(f"time over the shortest, {paths} random paths, least", float(ratios.min()), "", 0.98),
        Figure("time over the shortest, median", float(np.median(ratios)), ""),
        Figure("time over the shortest, 99 of 100 below", float(np.quantile(ratios, 0.99)), ""),
        at_most("time over the shortest, largest", float(ratios.max()), "", 1.1),
    ], found


def judge(paths: int) -> None:
    """Print times of plans [s], and ratios of times to the shortest, as JSON."""
    from stewart_command_runs import HOME, core_of, pose, to  # type: ignore[import-not-found]
    from test_stewart_command_rides import Rides, sway  # type: ignore[import-not-found]
    from test_stewart_command_shortest import compare  # type: ignore[import-not-found]

    from lie_dynamics_ros.nodes.stewart_command.motion_cueing import RideTarget
    from lie_dynamics_ros.nodes.stewart_command.targets import State

    ways = core_of(max_base_angle=0.6, max_platform_angle=0.6, mass=30.0, max_force=3000.0).ways
    rest, moving = State(HOME, np.zeros(6)), State(HOME, np.array([0.02, 0.01, 0.0, 0.02, 0.01, 0.03]))
    there = to(pose((0.02, 0.01, 0.02), (0.1, 0.0, 0.0)))
    ten = to(*(pose((0.02 * np.sin(k), 0.002 * k, 0.02)) for k in range(10)))
    rides = []

    class Timed(RideTarget):
        def motion(self, ways: Any, state: Any) -> Any:
            begin = time.thread_time()
            made = super().motion(ways, state)
            rides.append(time.thread_time() - begin)
            return made

    from lie_dynamics_ros.nodes.stewart_command import motion_cueing

    motion_cueing.RideTarget = Timed  # type: ignore[misc]
    run = Rides(max_rate=2.0, max_acceleration=20.0)
    run.go(3.0, sway)
    usual = {
        "a ride": float(np.median(rides)),
        "a pose, from rest": _median(lambda: there.motion(ways, rest)),
        "a path of 10 poses": _median(lambda: ten.motion(ways, rest)),
    }
    others = {
        "a ride, longest": float(max(rides[5:])),
        "a pose, under way, four ways to it": _median(lambda: there.motion(ways, moving)),
    }
    ratios = compare(np.random.default_rng(0), paths)
    print(json.dumps({"usual": usual, "others": others, "ratios": np.round(ratios, 5).tolist()}))


def _median(program: Any) -> float:
    """Return the median processor time of a call [s]."""
    times = []
    for _ in range(REPEATS):
        begin = time.thread_time()
        program()
        times.append(time.thread_time() - begin)
    return float(np.median(times))
