"""Diagnostics of a node on /diagnostics, once a second: reports, counts, durations, response times."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType

from ...core.parameters import parameter
from ...core.robot_options import StateAge
from ..wire import qos

OK = DiagnosticStatus.OK
WARN = DiagnosticStatus.WARN
ERROR = DiagnosticStatus.ERROR
PERIOD = 1.0
SAY_AGAIN = 10.0
"""Period at which the log repeats lasting problems and waits [s]."""
DROPPED = "dropped: "
"""Begins the names of the counts of dropped messages; the kind of their fault follows."""


@dataclass(frozen=True)
class TimingParameters(StateAge):
    """Limits of the age of a state and of the time of its answer."""

    deadline: float = parameter(
        0.001, "Answers that take longer are counted as late, in the diagnostics alone [s].", low=1e-6, high=3600.0
    )

EDGES = (50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 50e-3, 100e-3)
"""Upper ends of the bins of the histogram [s]; one more holds what is longer."""


@dataclass
class Report:
    """One diagnostic status in the making: the worst level wins, all reasons are kept."""

    level: bytes = OK  # OK, WARN or ERROR
    reasons: list[str] = field(default_factory=list)  # why it is not OK, worst first
    values: dict[str, object] = field(default_factory=dict)  # key figures
    hardware: str = "none"  # what the node works for, as a robot
    parts: deque[Callable[[], None]] = field(default_factory=deque)  # still to be written, each of which takes long

    def add(self, level: bytes, reason: str) -> None:
        """Add a reason for a level."""
        if level > self.level:
            self.level = level
            self.reasons.insert(0, reason)
        else:
            self.reasons.append(reason)

    def complete(self) -> Report:
        """Write all parts that are left."""
        while self.parts:
            self.parts.popleft()()
        return self


class Window:
    """The most recent durations [s], for percentiles."""

    def __init__(self, size: int = 2048) -> None:
        self._values: deque[float] = deque(maxlen=size)
        self.add = self._values.append
        self.clear = self._values.clear

    def percentiles(self, *percents: float) -> tuple[float, ...]:
        """Percentiles [s] of what is kept; empty where nothing is. np.percentile takes five times as long."""
        count = len(self._values)
        if not count:
            return ()
        kept = np.sort(np.fromiter(self._values, float, count))
        places = [0.01 * percent * (count - 1) for percent in percents]
        return tuple(np.interp(places, np.arange(count), kept).tolist())


class StreamStatistics:
    """Counts and durations of a node that answers a stream of messages."""

    def __init__(self) -> None:
        self.received = 0
        self.answered = 0
        self.rejected: Counter[str] = Counter()
        self.problem = ""
        self.latency = Window()
        self.callback = Window()
        self._reported = (0, 0, 0)

    def reject(self, kind: str, detail: str) -> None:
        """Count a message that was not answered, and keep the reason."""
        self.rejected[kind] += 1
        self.problem = detail

    def since_last_report(self, period: float) -> tuple[float, float, int]:
        """Rates of received and answered messages [Hz] and the number rejected since the last call."""
        now = (self.received, self.answered, self.rejected.total())
        before, self._reported = self._reported, now
        return (now[0] - before[0]) / period, (now[1] - before[1]) / period, now[2] - before[2]

    def describe(self, report: Report, period: float) -> int:
        """Write the key figures into a report; returns the number of messages rejected since the last one."""
        received, answered, rejected = self.since_last_report(period)
        values = report.values
        values["states per second"] = f"{received:.1f}"
        values["answers per second"] = f"{answered:.1f}"
        values["states received"] = self.received
        values["states answered"] = self.answered
        for kind, count in sorted(self.rejected.items()):
            values[DROPPED + kind] = count
        if self.problem:
            values["last problem"] = self.problem
        report.parts.append(lambda: self._describe_durations("latency", self.latency, values))
        report.parts.append(lambda: self._describe_durations("callback", self.callback, values))
        return rejected

    def _describe_durations(self, name: str, window: Window, values: dict[str, object]) -> None:
        for percent, value in zip((50, 95, 99), window.percentiles(50, 95, 99), strict=False):
            values[f"{name} p{percent} [us]"] = f"{value * 1e6:.0f}"
        window.clear()


class ResponseTimes:
    """Response times of a node since it was activated [s], and how many took longer than a deadline."""

    def __init__(self) -> None:
        self.deadline = TimingParameters.deadline
        self._counts = [0] * (len(EDGES) + 1)
        self.late, self.longest, self._recent = 0, 0.0, 0.0

    def reset(self) -> None:
        """Begin anew."""
        self._counts = [0] * (len(EDGES) + 1)
        self.late, self.longest, self._recent = 0, 0.0, 0.0

    def add(self, duration: float) -> None:
        """Take in one response time [s]."""
        self._counts[bisect_left(EDGES, duration)] += 1
        if duration > self.deadline:
            self.late += 1
        if duration > self._recent:
            self._recent = duration

    def describe(self, report: Report, timeout: float) -> None:
        """Write all of it into a diagnostic report; one since the last report beyond ``timeout`` [s] is an error."""
        recent, self._recent = self._recent, 0.0
        self.longest = max(self.longest, recent)
        values = report.values
        names = [f"<= {1e6 * edge:g} us" for edge in EDGES] + ["longer"]
        filled = [f"{name}: {count}" for name, count in zip(names, self._counts, strict=True) if count]
        values["response times"] = ", ".join(filled) or "none"
        values["answers later than deadline"] = self.late
        values["longest response [us]"] = f"{1e6 * self.longest:.0f}"
        if timeout and recent > timeout:
            report.add(
                ERROR, f"an answer took {recent:.3f} s, more than state_timeout, which is {timeout:g} s"
            )


class DiagnosticsPublisher:
    """Asks a node for a report once a second and publishes it, whatever its lifecycle state.

    Runs on steady time, so that it goes on when simulated time stands still. A whole report takes longer than a period
    of 1 kHz: it is made part by part, each when there is time for it.
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._last = self._steady.now().nanoseconds
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", qos.DIAGNOSTICS)
        self._steps: Iterator[None] = iter(())
        self._timer = node.create_timer(PERIOD, lambda: node.run_when_idle(self._begin), clock=self._steady)

    def _begin(self) -> None:
        """Begin a report, after what is left of the last one, where no more states have come since."""
        for _ in self._steps:
            pass
        self._steps = self._make()
        self._go_on()

    def _go_on(self) -> None:
        for _ in self._steps:
            return self._node.run_when_idle(self._go_on)

    def _make(self) -> Iterator[None]:
        """Make and publish a report; states may be answered at each yield."""
        now = self._steady.now().nanoseconds
        period = max(1e-9, (now - self._last) * 1e-9)
        self._last = now
        report = self._node.begin_report(period)
        while report.parts:
            yield
            report.parts.popleft()()
        yield
        status = DiagnosticStatus(
            level=report.level,
            name=self._node.get_fully_qualified_name().lstrip("/"),
            hardware_id=report.hardware,
            message="; ".join(report.reasons) or "ok",
            values=[KeyValue(key=key, value=str(value)) for key, value in report.values.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        yield
        self._publisher.publish(message)
