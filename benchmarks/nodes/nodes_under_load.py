"""Nodes at 1 kHz on a busy machine, with and without real-time scheduling, against a relay that is treated alike.

Beside four busy processes (two cores) and beside none, each node and the relay take turns. The client has the same
scheduling as they do.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from lie_dynamics_ros.ros.node.real_time import apply_real_time, usual_scheduling

from ..results import Figure, at_least, at_most
from .node_round_trip import RATE, TURN
from .ros_bench import Client, ros
from .subjects import SUBJECTS, Subject

BUSY = 4
PAIRS = 12
JUDGED_PAIRS = 40
"""Where limits are judged: of so many thousand round trips, so many lie beyond p99.9."""
PRIORITY = 50


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


def _measure(subject: Subject, real_time: bool, busy: int) -> dict[str, dict[str, float]]:
    name = subject.node
    priority = {"thread_priority": PRIORITY if real_time else 0}
    trips: dict[str, list[float]] = {"relay": [], name: []}
    sent = dict.fromkeys(trips, 0)
    with ros() as children:
        children.start("relay", {"subject": name, **priority}, {"__ns": "/relay"}, module="benchmarks.nodes.relay")
        children.start(name, {**subject.parameters, **priority}, {"__ns": f"/{name}"})
        clients = {who: Client(who, subject) for who in trips}
        for client in clients.values():
            client.await_answers()
        with _busy_processes(busy), _real_time() if real_time else nullcontext():
            for pair in range(JUDGED_PAIRS if real_time and busy else PAIRS):
                for who in sorted(trips, reverse=bool(pair % 2)):
                    sent[who] += clients[who].stream(RATE, TURN)
                    trips[who] += clients[who].collect()
        for client in clients.values():
            client.close()
    return {"relay": _summary(trips["relay"], sent["relay"]), "node": _summary(trips[name], sent[name])}


def _summary(trips: list[float], sent: int) -> dict[str, float]:
    p50, p99, p999 = (float(p) * 1e6 for p in np.percentile(trips, (50, 99, 99.9)))
    return {"answered": 100.0 * len(trips) / sent, "p50": p50, "p99": p99, "p99.9": p999, "longest": max(trips) * 1e6}


def _figures(key: str, found: dict[str, dict[str, float]], judged: bool) -> list[Figure]:
    node, relay = found["node"], found["relay"]
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
        ratio = value / relay[percentile]
        if judged and percentile != "longest":
            figures.append(at_most(f"{what}, ratio to the relay", ratio, "", 1.15))
        else:
            figures.append(Figure(f"{what}, ratio to the relay", ratio, ""))
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
