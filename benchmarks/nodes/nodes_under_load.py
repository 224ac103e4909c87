"""Nodes at 1 kHz on a busy machine, with and without real-time scheduling, against a relay that is treated alike.

Beside four busy processes (two cores) and beside none, each node and the relay take turns of a second, and who goes
first alternates. The client has the same scheduling as they do. What comes first in a turn is not counted: it finds
whoever answers after a second without states, which is not 1 kHz. Percentiles are those of all turns together; the
interval of a ratio is that in which 95 % of the ratios lie that the same pairs of turns give when they are drawn again
and again, each as often as it comes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from lie_dynamics_ros.ros.node.process import apply_real_time, usual_scheduling

from ..results import Figure, at_least, at_most
from .node_round_trip import RATE, TURN
from .ros_bench import Client, ros
from .subjects import SUBJECTS, Subject

BUSY = 4
PAIRS = 6
JUDGED_PAIRS = 40
"""Where limits are judged: of so many thousand round trips, so many lie beyond p99.9."""
FIRST = 100
"""States of each turn that are not counted."""
PRIORITY = 50
DRAWS = 1000
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9}


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the raw percentiles."""
    figures: list[Figure] = []
    raw: dict[str, Any] = {}
    for subject in SUBJECTS.values():
        for real_time in (False, True):
            for busy in (0, BUSY):
                key = f"{subject.node}, {'SCHED_FIFO 50' if real_time else 'usual scheduling'}, {busy} busy processes"
                raw[key] = found = _measure(subject, real_time, busy)
                figures += _figures(key, found, real_time and busy > 0)
    return figures, raw


def _measure(subject: Subject, real_time: bool, busy: int) -> dict[str, Any]:
    name = subject.node
    priority = {"thread_priority": PRIORITY if real_time else 0}
    turns: dict[str, list[list[float]]] = {"relay": [], name: []}
    sent = dict.fromkeys(turns, 0)
    with ros() as children:
        children.start("relay", {"subject": name, **priority}, {"__ns": "/relay"}, module="benchmarks.nodes.relay")
        children.start(name, {**subject.parameters, **priority}, {"__ns": f"/{name}"})
        clients = {who: Client(who, subject) for who in turns}
        for client in clients.values():
            client.await_answers()
        with _busy_processes(busy), _real_time() if real_time else nullcontext():
            for pair in range(JUDGED_PAIRS if real_time and busy else PAIRS):
                for who in sorted(turns, reverse=bool(pair % 2)):
                    sent[who] += clients[who].stream(RATE, TURN, FIRST)
                    turns[who].append(clients[who].collect())
        for client in clients.values():
            client.close()
    return {
        "relay": _summary(turns["relay"], sent["relay"]),
        "node": _summary(turns[name], sent[name]),
        "intervals": _intervals(turns[name], turns["relay"]),
    }


def _summary(turns: list[list[float]], sent: int) -> dict[str, float]:
    trips = np.concatenate(turns)
    found = {name: float(np.percentile(trips, p)) * 1e6 for name, p in PERCENTILES.items()}
    return {"answered": 100.0 * len(trips) / sent, **found, "longest": float(trips.max()) * 1e6}


def _intervals(node: list[list[float]], relay: list[list[float]]) -> dict[str, tuple[float, float]]:
    """Return in which interval each ratio lies, by drawing pairs of turns with replacement."""
    rng, percentiles = np.random.default_rng(0), list(PERCENTILES.values())
    ratios = []
    for _ in range(DRAWS):
        drawn = rng.integers(len(node), size=len(node))
        above, below = (
            np.percentile(np.concatenate([turns[k] for k in drawn]), percentiles) for turns in (node, relay)
        )
        ratios.append(above / below)
    low, high = np.percentile(ratios, (2.5, 97.5), axis=0)
    return {name: (float(low[k]), float(high[k])) for k, name in enumerate(PERCENTILES)}


def _figures(key: str, found: dict[str, Any], judged: bool) -> list[Figure]:
    node, relay, intervals = found["node"], found["relay"], found["intervals"]
    figures = [
        at_least(f"{key}: answered", node["answered"], "%", 99.7)
        if judged
        else Figure(f"{key}: answered", node["answered"], "%"),
        Figure(f"{key}: answered by the relay", relay["answered"], "%"),
    ]
    for percentile, limit in (("p50", None), ("p99", 750.0), ("p99.9", 1300.0), ("longest", None)):
        what = f"{key}: round trip {percentile}"
        value = node[percentile]
        figures.append(at_most(what, value, "us", limit) if judged and limit else Figure(what, value, "us"))
        name, ratio, interval = f"{what}, ratio to the relay", value / relay[percentile], intervals.get(percentile)
        if judged and interval is not None:
            figures.append(at_most(name, ratio, "", 1.15, interval))
        else:
            figures.append(Figure(name, ratio, "", interval=interval))
    return figures


@contextmanager
def _busy_processes(count: int) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def _real_time() -> Iterator[None]:
    refused = apply_real_time({"thread_priority": PRIORITY, "cpu_affinity": [-1], "lock_memory": False}).refused
    if refused:
        raise PermissionError(f"this benchmark needs the right to set priorities: {'; '.join(refused)}")
    try:
        yield
    finally:
        usual_scheduling()
