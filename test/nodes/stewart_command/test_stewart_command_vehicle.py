"""Rides of the node stewart_command tick by tick: what vehicles send, what they do not, and what ends a ride."""

import numpy as np
import pytest
from node_platforms import HOME
from sensor_msgs.msg import Imu

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.ros.outputs.diagnostics import Report


def vehicle(run, force=(0.0, 0.0, 9.81), rate=(0.0, 0.0, 0.0), age=0, **known):
    """A message of the vehicle."""
    message = Imu(**known)
    message.header.stamp = run.node.get_clock().now().to_msg()
    message.header.stamp.sec -= age
    for vector, numbers in ((message.linear_acceleration, force), (message.angular_velocity, rate)):
        vector.x, vector.y, vector.z = numbers
    run.node._on_vehicle(message)


def told(run):
    report = Report()
    run.node.describe(report, 1.0)
    return "; ".join(report.reasons)


@pytest.fixture
def riding(ticks, at_once):
    """A node on a ride, whose plans are made at once."""
    run = ticks(20.0)
    at_once(run)
    run.tick(3, heard=True)
    assert run.node.orders.ride(True)
    return run


def ride(run, count, **felt):
    for _ in range(count):
        vehicle(run, **felt)
        run.tick(heard=True)


def test_a_ride_follows_the_vehicle_and_comes_back_when_it_is_silent(riding):
    ride(riding, 30, force=(2.0, 0.0, 9.81))
    assert riding.core.phase == "following"
    assert np.abs(riding.sent[-1][1]).max() > 1e-3
    assert "vehicle" not in told(riding)
    far = np.abs(riding.core.pose - HOME).max()
    riding.tick(80, heard=True)
    assert "nothing of the vehicle for 0.2 s" in told(riding)
    assert np.abs(riding.core.pose - HOME).max() < 0.5 * far
    ride(riding, 5)
    assert "vehicle" not in told(riding)
    rates = np.diff([lengths for lengths, _ in riding.sent], axis=0) / riding.period
    assert np.abs(rates).max() <= 0.2 + 1e-9
    assert np.abs(np.diff(rates, axis=0)).max() / riding.period <= 1.0 + 1e-6


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"force": (np.nan, 0.0, 9.81)}, "not finite"),
        ({"rate": (0.0, -np.inf, 0.0)}, "not finite"),
        ({"age": 60}, "60 s old"),
        ({"age": -60}, "-60 s old"),
        ({"linear_acceleration_covariance": [-1.0] + [0.0] * 8}, "without acceleration"),
        ({"angular_velocity_covariance": [-1.0] + [0.0] * 8}, "without acceleration or angular velocity"),
    ],
)
def test_messages_of_the_vehicle_that_say_nothing_count_as_silence(riding, wrong, word):
    ride(riding, 2)
    ride(riding, 8, **wrong)
    assert word in told(riding) and "nothing of the vehicle" in told(riding)
    assert np.abs(riding.core.pose - HOME).max() < 1e-9


def test_targets_holds_and_stops_end_a_ride(riding):
    for end in (
        riding.node.orders.hold,
        lambda: riding.node.orders.ride(False),
        lambda: riding.core.stop("a leg is off"),
    ):
        riding.node.orders.ride(True)
        ride(riding, 12, force=(3.0, 0.0, 9.81))
        assert riding.core.phase == "following"
        end()
        ride(riding, 1)
        assert not riding.node.rider.riding
        ride(riding, 60, force=(3.0, 0.0, 9.81))
        assert not np.any(riding.sent[-1][1])
    with pytest.raises(MessageError, match="hold"):
        riding.node.orders.ride(True)
