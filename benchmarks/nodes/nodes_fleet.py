"""Ten robots on one machine: a controller for each in a process of its own, and all of them together in one.

One process plays all drivers; their states are spread evenly over the period.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lie_dynamics_ros.ros.node.spinning import make_executor

from ..results import Figure
from .ros_bench import Client, processor_time, ros, stream
from .subjects import COMPUTED_TORQUE

ROBOTS = [f"robot{k}" for k in range(1, 11)]
RATES = (100.0, 250.0, 500.0)
DURATION = 10.0
PERCENTILES = (1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 100.0)
FIRST = 20
"""States of each robot that are not counted."""


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and percentiles of round trips."""
    figures, raw = [], {}
    for way in ("a process each", "together"):
        more, raw[way] = _measure(way)
        figures += more
    return figures, raw


def main(arguments: Sequence[str]) -> int:
    """Run all controllers in one process, as ``together`` does."""
    from lie_dynamics_ros.nodes.together.node import main as together

    return together([*(f"{robot}/{COMPUTED_TORQUE.node}" for robot in ROBOTS), *arguments[1:]])


def _measure(way: str) -> tuple[list[Figure], Any]:
    node, parameters = COMPUTED_TORQUE.node, COMPUTED_TORQUE.parameters
    figures, raw = [], {}
    with ros() as children:
        if way == "together":
            children.start(way, parameters, {}, module=__name__)
            processes = [children.process_id(way)]
        else:
            for robot in ROBOTS:
                children.start(node, parameters, {"__ns": f"/{robot}"}, label=robot)
            processes = [children.process_id(robot) for robot in ROBOTS]
        executor = make_executor("events")
        clients = [Client(node, COMPUTED_TORQUE, f"/{robot}", executor) for robot in ROBOTS]
        for client in clients:
            client.await_answers()
        for rate in RATES:
            before = sum(map(processor_time, processes))
            sent = len(ROBOTS) * stream(clients, rate, DURATION, FIRST)
            used = sum(map(processor_time, processes)) - before
            trips = np.concatenate([client.collect() for client in clients]) * 1e6
            raw[f"{rate:g} Hz"] = {f"p{p:g} [us]": float(np.percentile(trips, p)) for p in PERCENTILES}
            what = f"{way}, {rate:g} Hz: "
            figures += [
                Figure(f"{what}states answered", 100.0 * len(trips) / sent, "%"),
                Figure(f"{what}cores that the controllers take", used / DURATION, ""),
                *(Figure(f"{what}round trip p{p:g}", float(np.percentile(trips, p)), "us") for p in (50.0, 99.0)),
            ]
        figures.append(Figure(f"{way}: memory", sum(map(_memory, processes)), "MB"))
        for client in clients:
            client.node.destroy_node()
        executor.shutdown()
    return figures, raw


def _memory(process: int) -> float:
    """Memory of a process, what it shares counted in parts [MB]."""
    with contextlib.suppress(StopIteration):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) * 1024 / 1e6
    return float("nan")
