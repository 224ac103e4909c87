"""The histogram of response times, and what is told of late ones."""

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from lie_dynamics_ros.ros.outputs import diagnostics
from lie_dynamics_ros.ros.outputs.diagnostics import Report, ResponseTimes


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
