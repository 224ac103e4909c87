"""Library: blocks of states on a Dask cluster of two workers against the same blocks without Dask.

Two worker processes of one thread each, and two threads of this process, take turns with blocks in their memory. Both
use two cores, so the ratio of their times is that of throughputs per core. Each turn evaluates all blocks.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics import Model, inverse_dynamics, inverse_dynamics_derivatives

from ..results import Figure, at_least

WORKERS = 2
BLOCKS = 8
ROUNDS = 15
ALL = 10**8
"""States of the whole run, which are made by the workers, block by block."""
#: Workers keep freed memory for the next block, as this process does: see doc/scaling.md.
MALLOC, KEPT = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"), 10**9
MODEL = Model.from_urdf(Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf")


def largest_force(q: Any, qd: Any, qdd: Any) -> Any:
    """Return the largest force of each joint over a block."""
    return np.abs(inverse_dynamics(MODEL, q, qd, qdd)).max(axis=0)


def largest_slope(q: Any, qd: Any, qdd: Any) -> Any:
    """Return the largest derivative along q over a block."""
    return np.abs(inverse_dynamics_derivatives(MODEL, q, qd, qdd).dq).max(axis=0)


#: What a block is asked for, and how many states it has.
QUESTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "inverse dynamics": (largest_force, 500_000),
    "derivatives of inverse dynamics": (largest_slope, 100_000),
}


def run() -> tuple[list[Figure], Any]:
    import dask
    from distributed import Client, LocalCluster

    dask.config.set({f"distributed.nanny.pre-spawn-environ.{name}": KEPT for name in MALLOC})
    figures: list[Figure] = []
    raw: dict[str, Any] = {}
    options = {"n_workers": WORKERS, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with LocalCluster(**options) as cluster, Client(cluster) as client, ThreadPoolExecutor(WORKERS) as pool:
        for name, (ask, states) in QUESTIONS.items():
            bare, spread = compare(client, pool, ask, states)
            per_core = BLOCKS * states / WORKERS
            ratio = statistics.median(one / two for one, two in zip(bare, spread, strict=True))
            figures += [
                at_least(f"{name}: throughput per core, ratio to that without Dask", ratio, "", 0.9),
                Figure(f"{name}: states for each core and second", per_core / statistics.median(spread), "1/s"),
                Figure(f"{name}: 10^8 states", 1e8 / per_core * statistics.median(spread) / 3600.0, "core hours"),
            ]
            took = whole(client, ask, states)
            figures.append(Figure(f"{name}: 10^8 states in one run, making them included", took, "s"))
            raw[name] = {"seconds without Dask": bare, "seconds on the cluster": spread, "seconds of all": took}
        figures.append(Figure("largest memory of a worker", max(client.run(most_memory).values()), "MB"))
    return figures, raw


def compare(client: Any, pool: ThreadPoolExecutor, ask: Any, states: int) -> tuple[list[float], list[float]]:
    """Times [s] of all blocks without Dask and on the cluster, in turns."""
    here = [block(k, states) for k in range(BLOCKS)]
    names = list(client.scheduler_info()["workers"])
    there = [client.submit(block, k, states, workers=names[k % WORKERS], pure=False) for k in range(BLOCKS)]

    def bare() -> Sequence[Any]:
        return list(pool.map(lambda one: ask(*one), here))

    def spread() -> Sequence[Any]:
        return client.gather([client.submit(of_block, ask, one, pure=False) for one in there])

    np.testing.assert_array_equal(bare(), spread())  # both are warm now, and agree
    times: dict[Any, list[float]] = {bare: [], spread: []}
    for turn in range(ROUNDS):
        for call in (bare, spread) if turn % 2 else (spread, bare):
            start = time.perf_counter()
            call()
            times[call].append(time.perf_counter() - start)
    return times[bare], times[spread]


def whole(client: Any, ask: Any, states: int) -> float:
    """Time [s] of all of 10^8 states, of which the largest is kept."""
    start = time.perf_counter()
    found = client.gather(client.map(lambda k: of_block(ask, block(k, states)), range(ALL // states), pure=False))
    largest = np.max(found, axis=0)
    took = time.perf_counter() - start
    assert len(found) * states == ALL and np.isfinite(largest).all()
    return took


def most_memory() -> float:
    """Most memory that this process has held [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def of_block(ask: Callable[..., Any], states: Sequence[Any]) -> Any:
    return ask(*states)


def block(seed: int, states: int) -> list[Any]:
    """Random states: q, qd and qdd."""
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1.0, 1.0, (states, MODEL.nv)) for _ in range(3)]
