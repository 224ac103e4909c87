"""Nodes: resident memory over 100,000 joint states."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..results import Figure, at_most
from .ros_bench import Client, ros
from .subjects import CONTACT, HYBRID_DYNAMICS, INVERSE_DYNAMICS, STEWART_POSE, TOOL_WRENCH, Subject, runs

WARM_UP = 10_000
STATES = 100_000
STEPS = 10


def measure(subject: Subject) -> tuple[list[Figure], Any]:
    """Measure one node; returns figures and the memory after each tenth of the states."""
    with ros() as children:
        children.start(subject.node, subject.parameters, {"__ns": f"/{subject.node}"})
        client = Client(subject.node, subject)
        client.await_answers()
        client.ask(WARM_UP)
        process = children.process_id(subject.node)
        memory = [_resident(process)]
        for _ in range(STEPS):
            client.ask(STATES // STEPS)
            memory.append(_resident(process))
        client.close()
    growth = memory[-1] - memory[0]
    figures = [
        at_most(f"growth over {STATES} states, after {WARM_UP} to warm up", growth / 2**20, "MiB", 0.5),
        Figure("resident memory at the end", memory[-1] / 2**20, "MiB"),
    ]
    return figures, {"resident [MiB]": [value / 2**20 for value in memory]}


def _resident(process: int) -> int:
    """Resident memory of a process [bytes]."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


MEASURED = runs(
    "node_memory",
    "resident memory over 100,000 states",
    measure,
    (INVERSE_DYNAMICS, HYBRID_DYNAMICS, STEWART_POSE, CONTACT, TOOL_WRENCH),
)
