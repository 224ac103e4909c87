"""All nodes that answer: time from the start of the process to the first answer, kernels compiled already."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..results import Figure, at_most
from .ros_bench import Client, ros
from .subjects import SUBJECTS, Subject

STARTS = 5


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the time of every start."""
    times = {name: [_start(subject) for _ in range(STARTS + 1)][1:] for name, subject in SUBJECTS.items()}
    figures = [at_most(f"{name} (median of {STARTS})", float(np.median(t)), "s", 1.0) for name, t in times.items()]
    return figures, times


def _start(subject: Subject) -> float:
    """Start a node while its driver runs; returns the time until the first answer [s]."""
    with ros() as children:
        client = Client(subject.node, subject)
        begin = time.perf_counter()
        children.start(subject.node, subject.parameters, {"__ns": f"/{subject.node}"})
        client.await_answers(1, 0.001)
        taken = time.perf_counter() - begin
        client.close()
    return taken
