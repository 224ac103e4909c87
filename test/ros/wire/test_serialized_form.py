"""Messages that are serialized once and filled again."""

import math
from array import array

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from lie_dynamics_ros.ros.wire import serialized as serialized_form
from lie_dynamics_ros.ros.wire.serialized import SerializedForm


def make(position, velocity):
    return JointState(name=["a", "bcdefg"], position=position, velocity=velocity, effort=[7.0])


def test_holds_numbers_and_stamp():
    form = SerializedForm(make, 2, 3)
    position, velocity = form.numbers
    for k in range(3):
        position[:] = array("d", [k, -0.0])
        velocity[:] = array("d", [math.inf, 1e-300, k])
        expected = make(list(position), list(velocity))
        expected.header.stamp = Time(sec=-k, nanosec=4_294_967_295)
        assert deserialize_message(form.stamped(expected.header.stamp), JointState) == expected


def test_what_was_returned_stays():
    form = SerializedForm(lambda numbers: make(numbers, []), 1)
    first = form.stamped(Time(sec=1))
    form.numbers[0][0] = 5.0
    form.stamped(Time(sec=2))
    message = deserialize_message(first, JointState)
    assert message.header.stamp.sec == 1
    assert message.position[0] != 5.0


@pytest.mark.parametrize("count", [0, 1, 200])
def test_message_without_a_stamp(count):
    form = SerializedForm(lambda numbers: Float64MultiArray(data=numbers), count)
    values = array("d", [0.5 * k for k in range(count)])
    form.numbers[0][:] = values
    assert deserialize_message(form.unstamped(), Float64MultiArray).data == values


def test_refuses_a_message_that_does_not_hold_the_numbers_once():
    with pytest.raises(RuntimeError, match="not found"):
        SerializedForm(lambda numbers: JointState(position=numbers[:1]), 2)
    with pytest.raises(RuntimeError, match="does not hold"):
        SerializedForm(lambda numbers: JointState(position=numbers, velocity=numbers), 2)


def test_remains_of_other_messages_behind_the_end_do_not_matter(monkeypatch):
    monkeypatch.setattr(serialized_form, "serialize_message", lambda message: 2 * serialize_message(message))
    form = SerializedForm(lambda numbers: JointState(name=["a"], effort=numbers), 1)
    form.numbers[0][0] = 5.0
    message = deserialize_message(form.stamped(Time(sec=3)), JointState)
    assert (message.effort[0], message.header.stamp.sec) == (5.0, 3)
