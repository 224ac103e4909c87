"""Showcases of the demo: each starts nodes, listens to them, shows figures while they run, and checks them.

To add one, write a subclass of `Showcase` and name it in ``__main__``.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message

from ..lie_dynamics.files import write_figure
from ..ros.wire.messages import nanoseconds
from .processes import Children

QUEUE = QoSProfile(depth=20_000)
"""With which a tape listens: so much may come while the machine is busy elsewhere, and nothing is lost."""


class Tape:
    """Keeps serialized messages of several topics, in the order in which they came, until they are played.

    They are read when there is time: so none is lost while the view is drawn or the machine is busy.
    """

    def __init__(self) -> None:
        self.taken = 0  # how many have come
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
    """All that came on the topics of a driver and a node, by time stamp [ns]."""

    states: dict[int, Any] = field(default_factory=dict)  # messages of the driver
    answers: dict[int, Any] = field(default_factory=dict)  # `Answer` to the state of that time
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
    """Results of a recording."""

    states: int  # sent while the node was answering
    answered: int
    latency: tuple[float, ...]  # percentiles 50, 95, 99 until the answer was here [s]
    shortfalls: list[str] = field(default_factory=list)  # none where all is well
    remarks: list[str] = field(default_factory=list)  # what was not checked


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


BAR = 20
"""Half the width of a bar, in characters."""


@dataclass
class Moment:
    """The stream of a showcase at one moment."""

    rate: float  # states per second
    answered: float  # share of them
    latency: tuple[float, ...]  # percentiles 50 and 99 from a state's stamp until its answer came [s]

    def __str__(self) -> str:
        p50, p99 = (f"{1e6 * value:.0f} us" for value in self.latency) if self.latency else ("-", "-")
        return f"{self.rate:5.0f} states/s   {100.0 * self.answered:5.1f} % answered   latency p50 {p50}, p99 {p99}"


@dataclass
class Conclusion:
    """Result: lines to print, and what fell short; empty where all is well."""

    lines: list[str]
    shortfalls: list[str]


class Showcase(ABC):
    """Base of all showcases."""

    title: str  # a word or two
    nodes: tuple[str, ...]  # full names, as they stand in the diagnostics
    processes: tuple[str, ...]  # what it calls them when it starts them
    recorder: Recorder
    viewed: Mapping[str, str] = MappingProxyType({})  # topics of the node viewer under other names

    @abstractmethod
    def start(self, children: Children) -> None:
        """Start the nodes."""

    def direct(self, node: Node) -> None:
        """Make what `proceed` needs to take part in what happens: never kept waiting by what is recorded."""
        return

    @abstractmethod
    def ready(self) -> bool:
        """Return whether each topic has been received that is there from the beginning: then nothing more is missed."""

    def counts(self) -> tuple[int, int]:
        """Return how many states and how many answers have come since the recording began."""
        return len(self.recorder.states), len(self.recorder.answers)

    def proceed(self) -> None:
        """Do what is to be done at this time, many times a second; raises ShortfallError where that cannot be."""
        return

    def done(self) -> bool:
        """Return whether the recording may end."""
        return True

    def latencies(self) -> Sequence[float]:
        """Return the latest times from a state's stamp until its answer came [s]."""
        return [answer.latency for answer in islice(reversed(self.recorder.answers.values()), 500)]

    @abstractmethod
    def line(self) -> str:
        """Return the state of things in a few words."""

    @abstractmethod
    def table(self, rows: int) -> list[str]:
        """Return the state of things in at most so many lines."""

    @abstractmethod
    def conclude(self, folder: Path, reported: Mapping[str, Mapping[str, str]]) -> Conclusion:
        """Check the recording and draw it into a folder, beside the key figures that each node reported last.

        Raises ShortfallError where there is next to nothing to check.
        """


def kept(*topics: str) -> dict[str, int]:
    """Parameters that let publishers keep messages until the demo has them; the nodes do not need that."""
    return {f"qos_overrides.{topic}.publisher.depth": QUEUE.depth for topic in topics}


def bar(share: float) -> str:
    """Bar from the middle to the left or right, for a share from -1 to 1."""
    length = round(min(1.0, abs(share)) * BAR) if np.isfinite(share) else 0
    drawn = "#" * length
    return f"{drawn if share < 0 else '':>{BAR}}|{drawn if share >= 0 else '':<{BAR}}"


def conclusion(
    title: str, verdict: Verdict, node: Mapping[str, str], lines: Sequence[str], picture: Path
) -> Conclusion:
    """Return what all streams have in common, and ``lines`` of a showcase's own; ``node`` is what the node reported."""
    p50, p95, p99 = (1e6 * value for value in verdict.latency)
    inside, callback = (node.get(f"{name} p50 [us]", "-") for name in ("latency", "callback"))
    whole = f"p50 {inside} us, of which " if inside != "-" else ""  # unknown in simulated time
    answered, states = verdict.answered, verdict.states
    return Conclusion(
        [
            title,
            f"  states answered     {answered} of {states} ({answered / states:.2%})",
            f"  state to answer     {whole}p50 {callback} us in the callback (as the node reports)",
            f"  until it is here    p50 {p50:.0f} us, p95 {p95:.0f} us, p99 {p99:.0f} us (in this process)",
            *lines,
            f"  picture             {picture}",
            *(f"  not checked         {remark}" for remark in verdict.remarks),
        ],
        verdict.shortfalls,
    )
