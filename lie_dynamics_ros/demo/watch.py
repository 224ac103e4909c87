"""Listens to the nodes for a while and shows what happens: on the terminal, and on a page by the node viewer."""

from __future__ import annotations

import importlib.util
import re
import select
import shutil
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TextIO

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from ..nodes.viewer.page import MISSING
from ..ros.inputs.state_stream import EARLY, STALE
from ..ros.node.description_source import BEING_READ
from ..ros.node.process import apply_real_time, usual_scheduling
from ..ros.node.spinning import make_executor
from ..ros.outputs.diagnostics import DROPPED
from . import processes
from .processes import Children, ShortfallError
from .showcase import Moment, Showcase

OPENED = re.compile(r"the page is at (\S+)")
"""Log line of the node once the page is open."""
PATIENCE = 600.0
"""Longest wait for the page [s], while the node runs: others may use the machine."""
SAID = 10.0
"""Period of the reminder that the page is waited for [s]."""
OPENING = 60.0
"""Longest wait for somebody to open the page [s]."""


def check_view() -> None:
    """Raise ShortfallError where there can be no page."""
    if importlib.util.find_spec("viser") is None:
        raise ShortfallError(MISSING)


def start_view(showcases: Sequence[Showcase], children: Children) -> str:
    """Start the node viewer for the first robot and platform among the showcases; return the page's address.

    Raises ShortfallError where the page cannot be opened.
    """
    topics: dict[str, str] = {}
    for showcase in reversed(showcases):
        topics.update(showcase.viewed)
    children.start("viewer", {}, topics)
    start = time.monotonic()
    end, say = start + PATIENCE, start + SAID
    while (said := OPENED.search(children.output("viewer"))) is None:
        processes.check_signals()
        if children.ended() or time.monotonic() > end:
            raise ShortfallError(f"no page was opened; the node viewer printed\n{children.output('viewer')}")
        if time.monotonic() > say:
            say += SAID
            print(f"waiting for the page, {time.monotonic() - start:.0f} s so far ...", flush=True)
        time.sleep(0.05)
    return said[1]


def await_browser() -> None:
    """Wait for Enter at a terminal, a minute at most, so that the page is open; elsewhere go on at once."""
    if not sys.stdin.isatty():
        return
    print(f"open it, then press Enter; the show begins after {OPENING:.0f} s in any case", flush=True)
    end = time.monotonic() + OPENING
    while time.monotonic() < end:
        processes.check_signals()
        if select.select([sys.stdin], [], [], 0.2)[0]:
            sys.stdin.readline()
            return


LASTING = 3
"""An error in so many reports running, one a second, is a fault, unless it says only that messages come late: that is
the machine's doing, and is remarked on."""
UNTIMELY = {STALE: "too old", EARLY: "there before the clock that they live by"}
"""Why states are dropped on a busy machine; the demo has one clock, so none is wrong about the time."""


class Reports:
    """Keeps the last report of each node, and faults."""

    def __init__(self) -> None:
        self.last: dict[str, DiagnosticStatus] = {}  # of each node, by its name
        self.lasting: set[str] = set()  # errors of active nodes in `LASTING` reports running, but for lateness
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


@dataclass
class Screen:
    """Live view of all showcases: in place on a terminal, as plain lines elsewhere."""

    out: TextIO = field(default_factory=lambda: sys.stdout)
    _drawn: int = 0
    _next_line: float = 0.0

    def show(self, time: float, duration: float, moments: Sequence[tuple[Showcase, Moment]]) -> None:
        """Show the showcases at a time [s] of the run."""
        if self.out.isatty():
            self._draw(self._table(time, duration, moments))
        elif time >= self._next_line:
            self._next_line = time + 2.0
            for showcase, moment in moments:
                line = f"{time:4.1f} of {duration:.0f} s   {showcase.title:8} {moment}   {showcase.line()}"
                print(line, file=self.out, flush=True)

    def _table(self, time: float, duration: float, moments: Sequence[tuple[Showcase, Moment]]) -> list[str]:
        size = shutil.get_terminal_size()
        # A line for the time, one for the cursor; three of each showcase are its own title and space.
        left = size.lines - 2 - 3 * len(moments)
        lines = [f"{time:4.1f} of {duration:.0f} s"]
        for index, (showcase, moment) in enumerate(moments):
            table = showcase.table(max(1, left // (len(moments) - index)))
            left -= len(table)
            lines += ["", f"{showcase.title}: {moment}", "", *table]
        return [line[: size.columns - 1] for line in lines[: max(1, size.lines - 1)]]

    def _draw(self, lines: list[str]) -> None:
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        self.out.write(up + "".join(f"\r{line}\x1b[K\n" for line in lines) + "\x1b[J")
        self.out.flush()
        self._drawn = len(lines)


START_LIMIT = 120.0
"""Longest time until the first answers [s], from when no node reports any more that it reads its robot."""
READING_LIMIT = 1800.0
"""Longest time for that, too [s]: the first start compiles kernels, and others may use the machine."""
STANDSTILL = 60.0
"""Longest time without answers in a recording that takes longer than it should [s]."""
SETTLING = 1.0
"""Time between the first answers and the recording [s]: discovery goes on, and messages come in bursts."""
READING = 0.005
"""How long messages are taken, and then read at most [s of this process's own time]: where others have the machine most
of the time, messages are still taken in at least half of what is left, and none is lost."""
PRIORITY = 40
"""Priority of this process while it records, where the system allows real time."""
REFRESH = 0.1
"""Time between two updates of the view [s]."""
WINDOW = 1.0
"""Time over which the shown figures are taken [s]."""


def watch(showcases: Sequence[Showcase], children: Children, duration: float) -> Reports:
    """Record all showcases for ``duration`` seconds from the time when all of them have answers, with a live view.

    Ends all nodes, and takes what they have sent until then. Raises ShortfallError where one ended, or does not answer.
    """
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    # What is recorded may queue up; what is to be acted upon must not wait behind it.
    listener, actor = rclpy.create_node("demo"), rclpy.create_node("demo_director")
    executors = make_executor("events"), make_executor("events")
    for executor, node in zip(executors, (listener, actor), strict=True):
        executor.add_node(node)
    # Below the nodes, which ask for more; where the system does not grant it, this goes on as it is.
    apply_real_time({"thread_priority": PRIORITY, "cpu_affinity": [-1], "lock_memory": False})
    reports = Reports()
    try:
        reports.listen(actor)
        for showcase in showcases:
            showcase.recorder.listen(listener)
            showcase.direct(actor)
        with processes.signals_deferred():
            _await_answers(showcases, reports, executors, children)
            _settle(showcases, executors)
            _record(showcases, executors, children, duration)
            children.stop()
            _drain(showcases, executors[0])
        return reports
    finally:
        usual_scheduling()
        for executor, node in zip(executors, (listener, actor), strict=True):
            executor.shutdown()
            node.destroy_node()
        rclpy.shutdown()


def _await_answers(
    showcases: Sequence[Showcase], reports: Reports, executors: Sequence[Executor], children: Children
) -> None:
    start = time.monotonic()
    end = start + START_LIMIT
    while silent := [showcase.title for showcase in showcases if not showcase.ready()]:
        _listen(showcases, executors)
        _check_alive(children)
        if reports.reading:
            end = min(time.monotonic() + START_LIMIT, start + READING_LIMIT)
        if reports.lasting or time.monotonic() > end:
            said = [f"{name}: {status.message}" for name, status in reports.last.items()]
            said_all = "; ".join(said) or "the nodes said nothing"
            raise ShortfallError(f"no answers came from: {', '.join(silent)}; {said_all}")


def _settle(showcases: Sequence[Showcase], executors: Sequence[Executor]) -> None:
    end = time.monotonic() + SETTLING
    while time.monotonic() < end:
        _listen(showcases, executors)
    for showcase in showcases:
        showcase.recorder.begin()


def _listen(showcases: Sequence[Showcase], executors: Sequence[Executor]) -> None:
    """Take messages, as long as there are any but for a while, and read some of them."""
    end, waits = time.process_time() + READING, time.monotonic() + READING
    while (left := waits - time.monotonic()) > 0.0 or time.process_time() < end:
        before = [showcase.recorder.tape.taken for showcase in showcases]
        listener, actor = executors
        actor.spin_once(timeout_sec=0.0)
        listener.spin_once(timeout_sec=max(0.0, left))
        if left <= 0.0 and before == [showcase.recorder.tape.taken for showcase in showcases]:
            break  # there are no more
    processes.check_signals()
    for showcase in showcases:
        showcase.recorder.tape.play(READING / len(showcases))


def _drain(showcases: Sequence[Showcase], executor: Executor) -> None:
    """Take all that is here: topics are checked against each other."""
    taken = -1
    while taken != (taken := sum(showcase.recorder.tape.taken for showcase in showcases)):
        executor.spin_once(timeout_sec=READING)


def _check_alive(children: Children) -> None:
    for name in children.ended():
        raise ShortfallError(f"{name} ended unexpectedly; it printed\n{children.output(name)}")


def _record(showcases: Sequence[Showcase], executors: Sequence[Executor], children: Children, duration: float) -> None:
    screen = Screen()
    start = time.monotonic()
    history = [(0.0, [showcase.counts() for showcase in showcases])]
    shown = moved = 0.0
    while (now := time.monotonic() - start) < duration or not all(showcase.done() for showcase in showcases):
        _listen(showcases, executors)
        for showcase in showcases:
            showcase.proceed()
        if now - shown < REFRESH:
            continue
        shown = now
        _check_alive(children)
        counts = [showcase.counts() for showcase in showcases]
        if any(
            new[1] > old[1] and not showcase.done()
            for showcase, new, old in zip(showcases, counts, history[-1][1], strict=True)
        ):
            moved = now
        if now > max(duration, moved) + STANDSTILL:
            return  # what is missing is checked
        if now > duration:  # who is done leaves the machine to the others
            children.stop([process for showcase in showcases if showcase.done() for process in showcase.processes])
        history.append((now, counts))
        while history[-1][0] - history[1][0] > WINDOW:
            del history[0]
        moments = [_moment(showcase, history, index) for index, showcase in enumerate(showcases)]
        screen.show(now, duration, list(zip(showcases, moments, strict=True)))


def _moment(showcase: Showcase, history: list[tuple[float, list[tuple[int, int]]]], index: int) -> Moment:
    (before, counts_before), (now, counts) = history[0], history[-1]
    states, answers = (new - old for new, old in zip(counts[index], counts_before[index], strict=True))
    latencies = showcase.latencies()
    return Moment(
        rate=states / max(now - before, 1e-9),
        answered=min(1.0, answers / max(1, states)),
        latency=tuple(float(p) for p in np.percentile(latencies, (50, 99))) if len(latencies) else (),
    )
