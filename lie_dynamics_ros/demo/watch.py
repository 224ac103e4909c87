"""Listens to the nodes for a while and shows what happens."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import rclpy
from rclpy.executors import Executor
from rclpy.signals import SignalHandlerOptions

from ..ros.spinning import make_executor
from . import interruption
from .errors import ShortfallError
from .processes import Children
from .reports import Reports
from .screen import Screen
from .showcase import Moment, Showcase

START_LIMIT = 120.0
"""Longest time until the first answers [s]: the first start on a machine may have kernels to compile."""
OVERTIME = 60.0
"""How much longer than it should a recording may take [s], on a busy machine."""
SETTLING = 1.0
"""Time between the first answers and the recording [s]: discovery goes on, and messages come in bursts."""
READING = 0.005
"""How long messages are taken, and then read at most [s]: at least half of the time they are taken."""
REFRESH = 0.1
"""Time between two updates of the view [s]."""
WINDOW = 1.0
"""Time over which the shown figures are taken [s]."""


def watch(showcases: Sequence[Showcase], children: Children, duration: float) -> Reports:
    """Record all showcases for ``duration`` seconds from the time when all of them have answers, with a live view.

    Raises
    ------
    ShortfallError
        A node ended, or answers did not come.
    """
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("demo")
    executor = make_executor("events")
    executor.add_node(node)
    reports = Reports()
    try:
        reports.listen(node)
        for showcase in showcases:
            showcase.listen(node)
        with interruption.deferred():
            _await_answers(showcases, reports, executor, children)
            _settle(showcases, executor)
            _record(showcases, executor, children, duration)
        return reports
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown()


def _await_answers(showcases: Sequence[Showcase], reports: Reports, executor: Executor, children: Children) -> None:
    end = time.monotonic() + START_LIMIT
    while silent := [showcase.title for showcase in showcases if not showcase.counts()[1]]:
        _listen(showcases, executor)
        _check_alive(children)
        if reports.lasting or time.monotonic() > end:
            said = [f"{name}: {status.message}" for name, status in reports.last.items()]
            said_all = "; ".join(said) or "the nodes said nothing"
            raise ShortfallError(f"no answers came from: {', '.join(silent)}; {said_all}")


def _settle(showcases: Sequence[Showcase], executor: Executor) -> None:
    end = time.monotonic() + SETTLING
    while time.monotonic() < end:
        _listen(showcases, executor)
    for showcase in showcases:
        showcase.begin()


def _listen(showcases: Sequence[Showcase], executor: Executor) -> None:
    """Take messages for a while and read some of them."""
    end = time.monotonic() + READING
    while (left := end - time.monotonic()) > 0.0:
        executor.spin_once(timeout_sec=left)
    interruption.check()
    for showcase in showcases:
        showcase.tape.play(READING / len(showcases))


def _check_alive(children: Children) -> None:
    for name in children.ended():
        raise ShortfallError(f"{name} ended unexpectedly; it printed\n{children.output(name)}")


def _record(showcases: Sequence[Showcase], executor: Executor, children: Children, duration: float) -> None:
    screen = Screen()
    start = time.monotonic()
    history = [(0.0, [showcase.counts() for showcase in showcases])]
    shown = 0.0
    while (now := time.monotonic() - start) < duration or not all(showcase.done() for showcase in showcases):
        _listen(showcases, executor)
        for showcase in showcases:
            showcase.proceed()
        if now - shown < REFRESH:
            continue
        shown = now
        _check_alive(children)
        if now > duration + OVERTIME:
            return  # what is missing is judged
        history.append((now, [showcase.counts() for showcase in showcases]))
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
