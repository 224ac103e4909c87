"""Listens to the nodes for a while and shows what happens."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TextIO

import numpy as np
import rclpy
from rclpy.executors import Executor
from rclpy.signals import SignalHandlerOptions

from ..ros.node.process import apply_real_time, usual_scheduling
from ..ros.node.spinning import make_executor
from . import interruption
from .errors import ShortfallError
from .processes import Children
from .reports import Reports
from .showcase import Moment, Showcase

# Where the demo shows what happens: in place on a terminal, as plain lines elsewhere.


@dataclass
class Screen:
    """Live view of all showcases.

    Parameters
    ----------
    out : TextIO
        Where to; whether it is a terminal decides how.
    """

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
"""How long a recording that takes longer than it should goes on without answers [s]; with them it takes its time."""
SETTLING = 1.0
"""Time between the first answers and the recording [s]: discovery goes on, and messages come in bursts."""
READING = 0.005
"""How long messages are taken, and then read at most [s of this process's own time]: where others have the machine most
of the time, messages are still taken in at least half of what is left, and none is lost."""
PRIORITY = 40
"""Of this process while it records, where the system allows real time."""
REFRESH = 0.1
"""Time between two updates of the view [s]."""
WINDOW = 1.0
"""Time over which the shown figures are taken [s]."""


def watch(showcases: Sequence[Showcase], children: Children, duration: float) -> Reports:
    """Record all showcases for ``duration`` seconds from the time when all of them have answers, with a live view.

    Ends all nodes, and takes what they have sent until then.

    Raises
    ------
    ShortfallError
        A node ended, or answers did not come.
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
        with interruption.deferred():
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
    interruption.check()
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
