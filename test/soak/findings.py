"""What a run found, from its records."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .causes import cause, overlap
from .disturbances import LIMITS, Event
from .judgement import first_answer, slope
from .listener import COMMANDS, TOPICS
from .samples import Sample
from .schedule import NODES

LONGEST_SLOPE = 1.0
"""Of memory [MB/h]."""
JUDGED_FROM = 1800.0
"""Slopes are judged where a process lived so long after `WARM_UP` [s]."""
WARM_UP = 60.0
SILENCE = 1.0
"""Longer silences are named, where nothing was disturbed [s]."""
CONTROL = "listener"
"""Its memory is measured, too, and not judged: what it grows by, DDS and rclpy grow by."""
DRIVER = "driver"
"""Its processor time is measured, too."""
HEARD = 0.5
"""Part of the rate of commands in a second that has states too, or the listener did not hear them and cannot judge."""


@dataclass
class Findings:
    """All that a run found; times in ns since the epoch unless said otherwise."""

    events: list[Event]
    samples: dict[str, list[Sample]]
    ended: list[str]
    rate: float = 1000.0
    rates: list[tuple[int, dict[str, int]]] = field(default_factory=list)
    count: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOPICS, 0))
    wrong: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOPICS, 0))
    stale: list[tuple[str, int, int]] = field(default_factory=list)
    gaps: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: {name: [] for name in TOPICS})
    last: dict[str, int] = field(default_factory=dict)
    phases: list[str] = field(default_factory=list)
    driver: list[tuple[int, int]] = field(default_factory=list)  # when none of its states came
    link: list[tuple[int, int]] = field(default_factory=list)  # when nothing passed it
    stalls: list[tuple[int, int, int]] = field(default_factory=list)  # processor, begin, end
    dropped: dict[str, int] = field(default_factory=dict)  # datagrams, by the side of the link
    states: int = 0
    deaf: int = 0
    end: int = 0

    def read(self, logs: Path) -> None:
        """Read what the listener wrote, and who watched processors and link.

        After a cut, answers are due from when the link carries again, which is a little after it was told to.
        """
        self.stalls = [(processor, a, b) for processor, a, b in _lines(logs / "stalls.jsonl")]
        self.link = [(a, b) for a, b in _lines(logs / "pulse.jsonl")]
        for event in self.events:
            if event.what.kind == "link cut":
                event.due = max([event.due, *(b for a, b in self.link if a <= event.due < b)])
        for entry in _lines(logs / "record.jsonl"):
            self.end = entry["time"]
            self.states += entry["states"]["count"]
            self.driver += [(a, b) for a, b in entry["states"]["gaps"]]
            self.deaf += entry["answers"][COMMANDS]["count"] > HEARD * self.rate and not entry["states"]["count"]
            self.phases += entry["phases"]
            self.stale += [(COMMANDS, t, age) for t, age in entry["unfounded"]]
            self.rates.append((self.end, {name: found["count"] for name, found in entry["answers"].items()}))
            for name, found in entry["answers"].items():
                self.count[name] += found["count"]
                self.wrong[name] += found["wrong"]
                self.stale += [(name, t, age) for t, age in found["stale"]]
                self.gaps[name] += [(a, b) for a, b in found["gaps"]]
                self.last[name] = found["last"]

    def event_at(self, time: int) -> str:
        """Tell what was under way at a time."""
        for event in self.events:
            if event.begin <= time <= event.due + 10**9:
                return event.what.kind
        return "nothing"

    def first_answers(self) -> list[tuple[Event, str, float]]:
        """Return how long each node took to answer again after each event [s]."""
        return [
            (e, node, first_answer(e.due, self.gaps[node], self.last[node])) for e in self.events for node in e.nodes
        ]

    def silences(self) -> list[tuple[str, int, int]]:
        """Return the silences of nodes, from when to when, that neither an event explains nor the driver's silence."""
        found = []
        for node in NODES:
            for before, after in self.gaps[node]:
                calm = all(after < e.begin or before > max(e.due, e.end) + 10**9 for e in self.events)
                if calm and (after - before) * 1e-9 - overlap(self.driver, before, after) > SILENCE:
                    found.append((node, before, after))
        return found

    def cause(self, begin: int, end: int) -> str:
        """Tell what stood still between two times, and what was under way."""
        return f"{cause(begin, end, self.stalls, self.link, self.driver)}; under way: {self.event_at(begin)}"

    def shares(self) -> dict[str, float]:
        """Return which share of one processor each process took."""
        found = {}
        for name, samples in self.samples.items():
            pairs = [(a, b) for a, b in itertools.pairwise(samples) if a[1] == b[1]]
            if pairs:
                found[name] = sum(b[3] - a[3] for a, b in pairs) / sum((b[0] - a[0]) * 1e-9 for a, b in pairs)
        return found

    def slopes(self) -> dict[str, tuple[float, float]]:
        """Return the slope of each node's memory [MB/h] and over which time [s], of its last process."""
        found = {}
        for node in (*NODES, CONTROL):
            samples = self.samples.get(node)
            if not samples:
                continue
            process = samples[-1][1]
            own = [((t - samples[0][0]) * 1e-9, m) for t, p, m, *_ in samples if p == process]
            begin = own[0][0] + min(WARM_UP, 0.5 * (own[-1][0] - own[0][0]))
            own = [sample for sample in own if sample[0] >= begin]
            times, resident = zip(*own, strict=True)
            found[node] = slope(times, resident), times[-1] - times[0]
        return found

    def verdicts(self) -> list[tuple[str, str, str, bool | None]]:
        """Return each thing that is judged: what, value, limit, whether it holds (None: not judged)."""
        rows: list[tuple[str, str, str, bool | None]] = []

        def none(what: str, number: int) -> None:
            rows.append((what, str(number), "0", number == 0))

        none("commands and answers to stale states, or to none", len(self.stale))
        none("seconds with commands whose states the listener did not hear", self.deaf)
        none("answers with NaN or infinity", sum(self.wrong.values()))
        none("nodes that ended, or were deactivated by a fault", len(self.ended))
        none(f"silences above {SILENCE:g} s while nothing was disturbed", len(self.silences()))
        none("nodes silent at the end", sum(self.end - self.last.get(node, 0) > 5e9 for node in NODES))
        answers = self.first_answers()
        for kind, limit in LIMITS.items():
            times = [t for e, _, t in answers if e.what.kind == kind]
            if times:
                rows.append(
                    (
                        f"{kind}: longest time to the first answer",
                        f"{max(times):.3f} s",
                        f"{limit:g} s",
                        max(times) <= limit,
                    )
                )
        for node, (value, over) in self.slopes().items():
            long = over >= JUDGED_FROM and math.isfinite(value)
            judged = value < LONGEST_SLOPE if long and node != CONTROL else None
            rows.append(
                (f"{node}: memory over {over / 60:.0f} min", f"{value:.2f} MB/h", f"{LONGEST_SLOPE:g} MB/h", judged)
            )
        return rows


def _lines(file: Path) -> list[Any]:
    """Return what stands in the lines of a file; nothing where nobody had anything to write."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
