"""Recordings that every showcase makes, checks and draws."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message

from ..lie_dynamics.files import write_figure
from ..ros.wire.messages import nanoseconds

QUEUE = QoSProfile(depth=20_000)
"""With which a tape listens: so much may come while the machine is busy elsewhere, and nothing is lost."""


class Tape:
    """Keeps serialized messages of several topics, in the order in which they came, until they are played.

    They are read when there is time: so none is lost while the view is drawn or the machine is busy.

    Attributes
    ----------
    taken : int
        How many have come.
    """

    def __init__(self) -> None:
        self.taken = 0
        self._waiting: deque[tuple[Callable[[Any, float], None], type, bytes, float]] = deque()

    def subscribe(self, node: Node, kind: type, topic: str, handler: Callable[[Any, float], None]) -> None:
        """Subscribe; `play` calls ``handler(message, arrival)`` with the time of arrival [s], as by time.time."""

        def keep(data: bytes) -> None:
            self._waiting.append((handler, kind, data, time.time()))
            self.taken += 1

        node.create_subscription(kind, topic, keep, QUEUE, raw=True)

    def play(self, seconds: float = math.inf) -> None:
        """Read what has come, for so many seconds of this process's own time at most."""
        end = time.process_time() + seconds
        while self._waiting and time.process_time() < end:
            handler, kind, data, arrival = self._waiting.popleft()
            handler(deserialize_message(data, kind), arrival)


@dataclass
class Answer:
    """Answer of a node to a state, and its delay [s]."""

    values: np.ndarray
    latency: float


@dataclass
class Recorder(ABC):
    """All that came on the topics of a driver and a node, by time stamp [ns].

    Attributes
    ----------
    states : dict
        Messages of the driver.
    answers : dict
        `Answer` of the node to the state with the same time stamp.
    tape : Tape
    """

    states: dict[int, Any] = field(default_factory=dict)
    answers: dict[int, Any] = field(default_factory=dict)
    tape: Tape = field(default_factory=Tape)

    @abstractmethod
    def listen(self, node: Node) -> None:
        """Subscribe."""

    def keep(self, node: Node, kind: type, topic: str, kept: dict[int, Any], read: Callable[[Any], Any]) -> None:
        """Subscribe, and keep what ``read`` makes of each message by its time stamp."""
        self.tape.subscribe(node, kind, topic, lambda m, _: kept.__setitem__(nanoseconds(m.header.stamp), read(m)))

    def begin(self) -> None:
        """Forget all that came by time stamp so far; a fair recording begins here."""
        for kept in vars(self).values():
            if isinstance(kept, dict):
                kept.clear()

    def answered(self) -> list[int]:
        """Time stamps of the states that were answered, in order [ns]."""
        return sorted(self.states.keys() & self.answers.keys())

    def latest(self, *others: dict[int, Any]) -> int | None:
        """Time stamp of the latest answer whose state, and what the ``others`` hold of it, came too [ns]."""
        kept = (self.states, *others)
        return next((stamp for stamp in reversed(self.answers) if all(stamp in k for k in kept)), None)


@dataclass(kw_only=True)
class Verdict:
    """Results of a recording.

    Attributes
    ----------
    states, answered : int
        States sent while the node was answering, and those answered.
    latency : tuple of float
        Percentiles 50, 95, 99 of the time until the answer to a state arrived here [s].
    shortfalls : list of str
        What fell short; empty where all is well.
    remarks : list of str
        What was not checked.
    """

    states: int
    answered: int
    latency: tuple[float, ...]
    shortfalls: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def stream_of(recorder: Recorder) -> dict[str, Any]:
    """Return the fields of a `Verdict` on states, answers and latency; some state was answered."""
    stamps = recorder.answered()
    latencies = [recorder.answers[stamp].latency for stamp in stamps]
    return {
        # The last few answers may still have been on their way when the recording ended.
        "states": sum(stamps[0] <= stamp <= stamps[-1] for stamp in recorder.states),
        "answered": len(stamps),
        "latency": tuple(float(p) for p in np.percentile(latencies, (50, 95, 99))),
    }


@contextmanager
def picture(path: Path, title: str) -> Iterator[Any]:
    """Write the figure that is drawn within, by the pyplot that this gives."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    yield plt
    figure = plt.gcf()
    for axes in figure.axes:
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.3)
    figure.suptitle(title, fontsize=11)
    figure.tight_layout()
    write_figure(path, figure, 100)
    plt.close(figure)
