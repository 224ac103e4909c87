"""Figures of the diagnostics, response times among them, and how a report is made."""

from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import numpy as np
from rclpy.clock import Clock, ClockType

from lie_dynamics_ros.ros.outputs import diagnostics
from lie_dynamics_ros.ros.outputs.diagnostics import (
    ERROR,
    OK,
    WARN,
    DiagnosticsPublisher,
    Report,
    ResponseTimes,
    StreamStatistics,
    Window,
)


def test_the_worst_level_wins_and_comes_first():
    report = Report()
    assert report.level == OK
    report.add(WARN, "a")
    report.add(ERROR, "b")
    report.add(WARN, "c")
    assert report.level == ERROR
    assert report.reasons == ["b", "a", "c"]


@pytest.mark.parametrize("count", [1, 5, 16, 17, 100])
def test_percentiles_of_the_most_recent(count):
    window = Window(16)
    values = np.random.default_rng(count).uniform(size=count)
    for value in values:
        window.add(float(value))
    np.testing.assert_allclose(window.percentiles(50, 99), np.percentile(values[-16:], (50, 99)))


def test_no_percentiles_of_nothing():
    window = Window(16)
    assert window.percentiles(50) == ()
    window.add(1.0)
    window.clear()
    assert window.percentiles(50) == ()


def test_counts_since_the_last_report():
    statistics = StreamStatistics()
    statistics.received, statistics.answered = 30, 20
    statistics.reject("stale", "3 s old")
    report = Report()
    assert statistics.describe(report, 2.0) == 1
    assert report.values["states per second"] == "15.0"
    assert report.values["answers per second"] == "10.0"
    assert report.values["dropped: stale"] == 1
    assert report.values["last problem"] == "3 s old"
    statistics.received = 40
    report = Report()
    assert statistics.describe(report, 1.0) == 0
    assert report.values["states per second"] == "10.0"
    assert report.values["dropped: stale"] == 1


def test_a_report_is_written_in_parts_with_room_for_states_between_them():
    """Each part waits for an answer of its own; what is left when states cease is written before the next report."""
    published, waiting, begun = [], [], []

    def begin_report(period):
        report = Report(values={"period": period, "number": len(begun)})
        begun.append(report)
        report.parts.append(lambda: report.values.update(first=1))
        report.parts.append(lambda: report.parts.append(lambda: report.values.update(last=1)))
        return report

    node = SimpleNamespace(
        begin_report=begin_report,
        run_when_idle=waiting.append,
        create_publisher=lambda *_: SimpleNamespace(publish=published.append),
        create_timer=lambda _, callback, clock: setattr(node, "tick", callback),
        get_fully_qualified_name=lambda: "/arm/node",
        get_clock=lambda: Clock(clock_type=ClockType.SYSTEM_TIME),
    )
    DiagnosticsPublisher(node)
    node.tick()
    for count in range(6):  # the beginning, three parts, the message, and its publication
        assert not published and len(waiting) == 1, count
        waiting.pop()()
    assert not waiting
    (status,) = published.pop().status
    assert status.name == "arm/node" and status.message == "ok"
    assert {pair.key for pair in status.values} == {"period", "number", "first", "last"}
    node.tick()
    waiting.pop()()
    assert len(begun) == 2 and begun[1].parts and not published
    node.run_when_idle = lambda do: do()  # no more states
    node.tick()
    assert [len(message.status[0].values) for message in published] == [4, 4]
    assert not any(report.parts for report in begun)


def described(times, timeout):
    report = Report()
    times.describe(report, timeout)
    return report


def test_times_are_counted_by_bins_and_late_ones_too():
    times = ResponseTimes()
    for duration in (10e-6, 50e-6, 60e-6, 0.9e-3, 1.1e-3, 0.2):
        times.add(duration)
    report = described(times, 0.5)
    expected = "<= 50 us: 2, <= 100 us: 1, <= 1000 us: 1, <= 2000 us: 1, longer: 1"
    assert report.values["response times"] == expected
    assert report.values["answers later than deadline"] == 2
    assert report.values["longest response [us]"] == "200000"
    assert report.level == diagnostics.OK


def test_an_answer_beyond_the_timeout_is_an_error_once_and_the_longest_stays():
    times = ResponseTimes()
    times.add(0.2)
    first, second = described(times, 0.1), described(times, 0.1)
    assert first.level == diagnostics.ERROR and "an answer took 0.200 s" in first.reasons[0]
    assert second.level == diagnostics.OK and second.values["longest response [us]"] == "200000"
    times.add(5.0)
    assert described(times, 0.0).level == diagnostics.OK  # without a timeout nothing is too old
    times.reset()
    assert described(times, 0.1).values["response times"] == "none"
