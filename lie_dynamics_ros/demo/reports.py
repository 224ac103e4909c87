"""Reports of the nodes on /diagnostics."""

from __future__ import annotations

from collections import Counter

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node

from ..ros.inputs.state_stream import EARLY, STALE
from ..ros.node.description_source import BEING_READ
from ..ros.outputs.diagnostics import DROPPED

LASTING = 3
"""An error in so many reports running, one a second, is a fault, unless it says only that messages come late: that is
the machine's doing, and is remarked on."""
UNTIMELY = {STALE: "too old", EARLY: "there before the clock that they live by"}
"""Why states are dropped on a busy machine; the demo has one clock, so none is wrong about the time."""


class Reports:
    """Keeps the last report of each node, and faults.

    Attributes
    ----------
    last : dict
        Last status of each node, by its name.
    lasting : set
        Messages of errors that lasted for `LASTING` reports of a node while it was active, but for lateness.
    """

    def __init__(self) -> None:
        self.last: dict[str, DiagnosticStatus] = {}
        self.lasting: set[str] = set()
        self._running: Counter[str] = Counter()

    def listen(self, node: Node) -> None:
        """Subscribe."""
        node.create_subscription(DiagnosticArray, "/diagnostics", self.on_message, 50)

    def figures(self) -> dict[str, dict[str, str]]:
        """Key figures of each node's last report."""
        return {name: {value.key: value.value for value in status.values} for name, status in self.last.items()}

    def on_message(self, message: DiagnosticArray) -> None:
        """Take in the reports of a message."""
        for status in message.status:
            before, self.last[status.name] = self.last.get(status.name), status
            active = any(value.key == "lifecycle state" and value.value == "active" for value in status.values)
            wrong = active and status.level == DiagnosticStatus.ERROR and not _says_late(status, before)
            self._running[status.name] = self._running[status.name] + 1 if wrong else 0
            if self._running[status.name] == LASTING:
                self.lasting.add(f"{status.name}: {status.message}")

    @property
    def reading(self) -> bool:
        """Whether a node reads its robot, and prepares for it."""
        return any(BEING_READ in status.message for status in self.last.values())

    def faults(self) -> list[str]:
        """Errors that lasted, and messages that were dropped for another reason than that they came late."""
        dropped = self._dropped()
        found = [
            f"{name}: {count} messages dropped: {kind}; the last problem: {self.figures()[name].get('last problem')}"
            for (name, kind), count in dropped.items()
            if kind not in UNTIMELY
        ]
        return sorted(self.lasting) + sorted(found)

    def remarks(self) -> list[str]:
        """Return how many states came late, or before their clock."""
        dropped = self._dropped().items()
        return [f"{name}: {count} states were {UNTIMELY[kind]}" for (name, kind), count in dropped if kind in UNTIMELY]

    def _dropped(self) -> dict[tuple[str, str], int]:
        return {(name, kind): count for name, status in self.last.items() for kind, count in _drops(status).items()}


def _drops(status: DiagnosticStatus) -> dict[str, int]:
    """Numbers of dropped messages by the kind of their fault."""
    return {v.key.removeprefix(DROPPED): int(v.value) for v in status.values if v.key.startswith(DROPPED)}


def _says_late(status: DiagnosticStatus, before: DiagnosticStatus | None) -> bool:
    """Return whether the first reason of an error is that states come late or not at all for a while."""
    reason = status.message.partition("; ")[0]
    if reason.startswith((f"{STALE}: ", "an answer took ")):
        return True
    now, then = _drops(status), {} if before is None else _drops(before)
    grown = {kind for kind, count in now.items() if count > then.get(kind, 0)}
    return "messages dropped" in reason and bool(grown) and grown <= UNTIMELY.keys()
