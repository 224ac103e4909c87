"""Showcases of the demo: each starts nodes, listens to them, shows figures while they run, and checks them.

To add one, write a subclass of `Showcase` and name it in ``__main__``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType

import numpy as np
from rclpy.node import Node

from .processes import Children
from .recording import QUEUE, Recorder, Verdict

BAR = 20
"""Half the width of a bar, in characters."""


@dataclass
class Moment:
    """The stream of a showcase at one moment.

    Attributes
    ----------
    rate : float
        States per second.
    answered : float
        Share of them that was answered.
    latency : tuple of float
        Percentiles 50 and 99 of the time from a state's stamp until its answer came [s].
    """

    rate: float
    answered: float
    latency: tuple[float, ...]

    def __str__(self) -> str:
        p50, p99 = (f"{1e6 * value:.0f} us" for value in self.latency) if self.latency else ("-", "-")
        return f"{self.rate:5.0f} states/s   {100.0 * self.answered:5.1f} % answered   latency p50 {p50}, p99 {p99}"


@dataclass
class Conclusion:
    """Result: lines to print, and what fell short; empty where all is well."""

    lines: list[str]
    shortfalls: list[str]


class Showcase(ABC):
    """Base of all showcases.

    Attributes
    ----------
    title : str
        A word or two.
    nodes : tuple of str
        Full names of the nodes it starts, as they stand in the diagnostics.
    processes : tuple of str
        What it calls them when it starts them.
    recorder : Recorder
        What they published.
    viewed : mapping
        Topics of the node viewer that it publishes under other names.
    """

    title: str
    nodes: tuple[str, ...]
    processes: tuple[str, ...]
    recorder: Recorder
    viewed: Mapping[str, str] = MappingProxyType({})

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
        """Do what is to be done at this time of the recording; called many times a second.

        Raises
        ------
        ShortfallError
            It cannot be done.
        """
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
        """Check the recording and draw it.

        Parameters
        ----------
        folder : Path
            Where pictures go.
        reported : mapping
            Key figures of each node's last diagnostics.

        Raises
        ------
        ShortfallError
            There is next to nothing to check.
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
    """Return what came out: what all streams have in common, and ``lines`` of a showcase's own.

    Parameters
    ----------
    title : str
    verdict : Verdict
    node : mapping
        Key figures of the last diagnostics of the node that answers.
    lines : sequence of str
    picture : Path
        Where it was drawn.
    """
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
