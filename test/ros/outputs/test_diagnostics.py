"""Figures of the diagnostics."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from lie_dynamics_ros.ros.outputs.diagnostics import ERROR, OK, WARN, Report, StreamStatistics, Window


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
