"""Serialized messages: those that are made once and filled again, states and trajectories that are read."""

import itertools
import math
import struct
from array import array

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import numpy as np
from builtin_interfaces.msg import Duration, Time
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.ros.wire import serialized as serialized_form
from lie_dynamics_ros.ros.wire import serialized as state_decoder
from lie_dynamics_ros.ros.wire.messages import nanoseconds
from lie_dynamics_ros.ros.wire.serialized import (
    FIELDS,
    LAYOUTS,
    SMALLEST_STATE,
    NameLists,
    SerializedForm,
    StateDecoder,
    decode_trajectory,
    fields_of,
    header_of,
)
from lie_dynamics_ros.ros.workarounds import SWITCH


def two_joints(position, velocity):
    return JointState(name=["a", "bcdefg"], position=position, velocity=velocity, effort=[7.0])


def test_holds_numbers_and_stamp():
    form = SerializedForm(two_joints, 2, 3)
    position, velocity = form.numbers
    for k in range(3):
        position[:] = array("d", [k, -0.0])
        velocity[:] = array("d", [math.inf, 1e-300, k])
        expected = two_joints(list(position), list(velocity))
        expected.header.stamp = Time(sec=-k, nanosec=4_294_967_295)
        assert deserialize_message(form.stamped(expected.header.stamp), JointState) == expected


def test_what_was_returned_stays():
    form = SerializedForm(lambda numbers: two_joints(numbers, []), 1)
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


def make(names=("a", "bcd", "efghijkl"), frame="", seed=1, velocity=True, effort=True, **fields):
    numbers = np.random.default_rng(seed).normal(size=(3, len(names)))
    message = JointState(name=list(names), position=numbers[0].tolist())
    message.velocity = numbers[1].tolist() if velocity else []
    message.effort = numbers[2].tolist() if effort else []
    message.header.frame_id = frame
    message.header.stamp = Time(sec=seed - 5, nanosec=4_000_000_000 + seed)
    for name, value in fields.items():
        setattr(message, name, value)
    return message


CASES = {
    "all fields": {},
    "no velocities": {"velocity": False},
    "positions only": {"velocity": False, "effort": False},
    "a frame": {"frame": "base_link"},
    "names beyond ASCII": {"names": ("Gelenk_ä", "関節", "")},
    "one joint": {"names": ("x",)},
    "nothing": {"names": ()},
    "numbers that are none": {"effort": [math.nan, -math.inf, -0.0]},
    "fields of other lengths": {"position": [1.0], "velocity": [1.0, 2.0, 3.0, 4.0, 5.0]},
}


def plain(message):
    """What a message holds, so that NaN is equal to itself."""
    header, numbers = message.header, (message.position, message.velocity, message.effort)
    return header.stamp.sec, header.stamp.nanosec, header.frame_id, message.name, [n.tobytes() for n in numbers]


@pytest.fixture
def slow(monkeypatch):
    """How many messages were left to rclpy."""
    calls = []

    def counted(data, type_):
        calls.append(data)
        return deserialize_message(data, type_)

    monkeypatch.setattr(state_decoder, "deserialize_message", counted)
    return calls


@pytest.mark.parametrize("case", CASES)
def test_reads_what_rclpy_reads_and_leaves_only_the_first_to_it(case, slow):
    decoder = StateDecoder()
    for seed in range(1, 20):
        data = serialize_message(make(seed=seed, **CASES[case]))
        message, stamp, time = decoder.decode(data)
        assert plain(message) == plain(deserialize_message(data, JointState))
        assert stamp is message.header.stamp and time == nanoseconds(stamp)
    assert len(slow) == 1


def test_leaves_all_of_them_to_rclpy_where_workarounds_are_switched_off(monkeypatch, slow):
    monkeypatch.setenv(SWITCH, "0")
    decoder = StateDecoder()
    for seed in range(1, 5):
        data = serialize_message(make(seed=seed))
        assert plain(decoder.decode(data)[0]) == plain(deserialize_message(data, JointState))
    assert len(slow) == 4


def test_tells_states_of_several_publishers_apart(slow):
    decoder = StateDecoder()
    # Of the same length, so that only names, frame or lengths of fields tell them apart.
    kinds = [
        {"names": ("a1", "a2")},
        {"names": ("a2", "a1")},
        {"names": ("a1", "a2"), "velocity": False},
        {"names": ("a1", "a2"), "effort": False},
        {"names": ("a1", "a2"), "frame": "abc"},
        {"names": ("a1", "a2"), "frame": "abd"},
    ]
    for seed in range(1, 50):
        message = make(seed=seed, **kinds[seed * 5 % 6])
        assert decoder.decode(serialize_message(message))[0] == message
    assert len(slow) == len(kinds)


def test_goes_on_with_more_layouts_than_are_kept():
    decoder = StateDecoder()
    for seed in range(3 * LAYOUTS):
        message = make(names=(f"joint_{seed}", "x"), seed=seed)
        assert decoder.decode(serialize_message(message))[0] == message


def by_rclpy(data):
    try:
        return plain(deserialize_message(data, JointState))
    except Exception:
        return None


def by_decoder(decoder, data):
    try:
        return plain(decoder.decode(data)[0])
    except MessageError:
        return None


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_reads_what_rclpy_reads_whatever_byte_is_changed(flip, slow):
    data = serialize_message(make(frame="f"))
    gaps = 0
    for place in range(len(data)):
        decoder = StateDecoder()
        decoder.decode(data)[0]
        changed = bytes(b ^ flip if i == place else b for i, b in enumerate(data))
        expected, before = by_rclpy(changed), len(slow)
        assert by_decoder(decoder, changed) == expected, place
        gaps += expected == by_rclpy(data) and len(slow) == before
    assert gaps > 5  # what stands between the fields means nothing, and costs nothing


def test_reads_the_other_byte_order(slow):
    decoder = StateDecoder()
    data = b"\x00\x00\x00\x00" + struct.pack(">iII4sII4sIdII", 7, 8, 1, b"", 1, 2, b"j", 1, 0.5, 0, 0)
    expected = deserialize_message(data, JointState)
    if expected != JointState(header=expected.header, name=["j"], position=[0.5]):
        pytest.skip("this middleware does not read big-endian messages")
    for _ in range(3):
        assert decoder.decode(data)[0] == expected
    assert len(slow) == 4 - 1


def test_refuses_what_is_no_joint_state():
    decoder = StateDecoder()
    good = make()
    data = serialize_message(good)
    for _ in range(2):  # before and after a layout is known
        for bad in (b"", b"\x00\x01", data[:40], data[:-8], data[:30] + b"\xff" * 4 + data[34:], b"\xff" * len(data)):
            with pytest.raises(MessageError, match="JointState"):
                decoder.decode(bad)
        assert decoder.decode(data)[0] == good


def test_refuses_what_is_too_short_to_be_a_state_without_asking_the_deserializer(slow):
    """That of Fast DDS can crash on a head alone, if its options tell of padding."""
    decoder = StateDecoder()
    for size in range(SMALLEST_STATE):
        for options in range(4):
            with pytest.raises(MessageError, match=f"{size} bytes only"):
                decoder.decode((b"\x00\x01\x00" + bytes([options]) + bytes(SMALLEST_STATE))[:size])
    assert not slow
    assert len(serialize_message(JointState())) >= SMALLEST_STATE
    assert decoder.decode(serialize_message(JointState()))[0] == JointState()


@pytest.mark.parametrize("case", CASES)
def test_names_are_read_alone(case):
    message, read = make(**CASES[case]), NameLists()
    for _ in range(2):
        assert read(serialize_message(message)) == tuple(message.name)


def test_names_of_rubbish_are_none(rng):
    read, data = NameLists(), serialize_message(make())
    for size in range(len(data)):
        assert read(data[:size]) in ((), tuple(make().name))
    for _ in range(300):
        assert isinstance(read(data[:4] + rng.bytes(int(rng.integers(200)))), tuple)

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
