"""Trajectories from their serialized form, as rclpy reads them; what is none is refused, and never ends a process."""

import itertools

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.ros.wire.serialized import FIELDS, decode_trajectory, fields_of, header_of
from lie_dynamics_ros.ros.workarounds import SWITCH

RNG = np.random.default_rng(0)


def message(count, lengths, names, frame="base"):
    """A trajectory whose points have arrays of these lengths, in the order of `FIELDS`."""
    made = JointTrajectory(joint_names=names)
    made.header.frame_id, made.header.stamp.sec, made.header.stamp.nanosec = frame, -3, 999_999_999
    for k in range(count):
        arrays = {name: RNG.normal(size=size).tolist() for name, size in zip(FIELDS, lengths, strict=True)}
        made.points.append(JointTrajectoryPoint(**arrays, time_from_start=Duration(sec=k - 1, nanosec=7 * k)))
    return made


def check(made):
    """Compare with what rclpy makes of the same bytes."""
    data = bytes(serialize_message(made))
    found, read = decode_trajectory(data), deserialize_message(data, JointTrajectory)
    assert found.names == list(read.joint_names)
    assert found.start == read.header.stamp.sec * 10**9 + read.header.stamp.nanosec
    assert header_of(data) == read.header
    stamps = [p.time_from_start.sec * 10**9 + p.time_from_start.nanosec for p in read.points]
    assert found.times.tolist() == stamps
    for name in FIELDS:
        expected = [list(getattr(point, name)) for point in read.points]
        if found.fields[name] is None:
            assert not any(expected)
        else:
            assert found.fields[name].tolist() == expected


@pytest.mark.parametrize("frame", ["", "a", "ab", "abc", "abcd", "ünïcode"])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_is_what_rclpy_reads(size, frame):
    """With names and frames of all lengths, so that points begin anywhere; with each field and without."""
    for carried in itertools.product((0, 1), repeat=4):
        for count in (0, 1, 2, 5):
            names = ["x" * (k + 1) for k in range(size)]
            check(message(count, [size * has for has in carried], names, frame))


def test_rclpy_reads_it_where_workarounds_are_switched_off(monkeypatch):
    monkeypatch.setenv(SWITCH, "0")
    check(message(5, [3, 3, 0, 0], ["a", "b", "c"]))


def test_points_that_differ_are_refused_by_name_and_length():
    for k, name in enumerate(FIELDS):
        made = message(50, [3, 3, 3, 3], ["a", "b", "c"])
        setattr(made.points[30], name, [1.0] * 2)
        for read in (
            lambda made=made: decode_trajectory(bytes(serialize_message(made))),
            lambda made=made: fields_of(made),
        ):
            with pytest.raises(MessageError, match=rf"{name} has \[2, 3\] entries for 3 joints"):
                read()
        lengths = [0] * 4
        lengths[k] = 2
        with pytest.raises(MessageError, match=rf"{name} has \[2\] entries for 3 joints"):
            decode_trajectory(bytes(serialize_message(message(4, lengths, ["a", "b", "c"]))))


def test_rubbish_is_refused_or_read_as_numbers():
    """Cut anywhere, and with bytes changed at random: an error of its own kind, or a trajectory."""
    data = bytes(serialize_message(message(6, [2, 2, 0, 2], ["left", "right"])))
    whole = decode_trajectory(data)
    for size in range(len(data)):
        header_of(data[:size])
        try:
            found = decode_trajectory(data[:size])
        except MessageError:
            assert size < len(data) - 1
        else:  # rclpy leaves bytes behind the end
            assert found.times.tolist() == whole.times.tolist()
    refused = 0
    for _ in range(3000):
        changed = bytearray(data)
        for place in RNG.integers(4, len(data), RNG.integers(1, 6)):
            changed[place] = RNG.choice([0, 1, 127, 255, RNG.integers(256)])
        header_of(bytes(changed))
        try:
            decode_trajectory(bytes(changed))
        except MessageError:
            refused += 1
    assert 300 < refused < 2999
