"""What a run found, from its records."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path

from .disturbances import LIMITS, Event
from .judgement import first_answer, slope
from .listener import COMMANDS, TOPICS
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
HEARD = 500
"""Commands in a second that has states too, or the listener did not hear them and cannot judge."""


@dataclass
class Findings:
    """All that a run found; times in ns since the epoch unless said otherwise."""

    events: list[Event]
    memory: dict[str, list[tuple[int, int, float]]]  # node: time, process id, resident memory [MB]
    ended: list[str]
    rates: list[tuple[int, dict[str, int]]] = field(default_factory=list)
    count: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOPICS, 0))
    wrong: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOPICS, 0))
    stale: list[tuple[str, int, int]] = field(default_factory=list)
    gaps: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: {name: [] for name in TOPICS})
    last: dict[str, int] = field(default_factory=dict)
    phases: list[str] = field(default_factory=list)
    states: int = 0
    deaf: int = 0
    end: int = 0

    def read(self, record: Path) -> None:
        """Read what the listener wrote."""
        for line in record.read_text().splitlines():
            entry = json.loads(line)
            self.end = entry["time"]
            self.states += entry["states"]
            self.deaf += entry["answers"][COMMANDS]["count"] > HEARD and not entry["states"]
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

    def silences(self) -> list[tuple[str, int, float]]:
        """Return the silences [s] of nodes that no event explains, with their beginnings."""
        found = []
        for node in NODES:
            for before, after in self.gaps[node]:
                calm = all(after < e.begin or before > max(e.due, e.end) + 10**9 for e in self.events)
                if calm and (after - before) * 1e-9 > SILENCE:
                    found.append((node, before, (after - before) * 1e-9))
        return found

    def slopes(self) -> dict[str, tuple[float, float]]:
        """Return the slope of each node's memory [MB/h] and over which time [s], of its last process."""
        found = {}
        for node, samples in self.memory.items():
            process = samples[-1][1]
            own = [((t - samples[0][0]) * 1e-9, m) for t, p, m in samples if p == process]
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
        none("nodes that ended", len(self.ended))
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
