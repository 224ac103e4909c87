"""Serialized messages, read and written without making Python objects of them.

What rclpy does to make a message of Python objects costs a node at 1 kHz more than everything else it does. So answers
are serialized once, and states and trajectories are read from their bytes; plain messages do where these are others.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from ...core.errors import TRAJECTORIES, MessageError
from ...lie_dynamics.arrays import Array
from ..workarounds import enabled
from .messages import nanoseconds

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Messages that are serialized once: afterwards only their time stamp and some numbers change.

WRITE_STAMP = struct.Struct("=iI")
MARK = Time(sec=0x5A17C3E1, nanosec=0x2B94D76F)


class SerializedForm:
    """The serialized form of one message, with views, ``numbers``, of the runs of float64 in it, to be filled.

    Serializing a message again for every answer costs far more than to copy the few bytes of it that change. Where they
    stand is not computed but found, so that it holds for every middleware.

    Parameters
    ----------
    make : callable
        Makes the message of runs of numbers that will change; it must hold those of each run in a row, as float64.
    *counts : int
        How many numbers are in each run.

    Raises
    ------
    RuntimeError
        The message does not hold the numbers so.
    """

    def __init__(self, make: Callable[..., Any], *counts: int) -> None:
        marks = [[1.0 / (3.0 + k * len(counts) + run) for k in range(count)] for run, count in enumerate(counts)]
        message = make(*marks)
        stamped = hasattr(message, "header")
        if stamped:
            message.header.stamp = MARK
        self._data = bytearray(serialize_message(message))
        self.numbers = tuple(self._view(struct.pack(f"={len(run)}d", *run)) for run in marks)
        self._stamp = self._find(WRITE_STAMP.pack(MARK.sec, MARK.nanosec)) if stamped else 0
        for run in self.numbers:
            run[:] = array("d", [-number for number in run])
        expected = make(*(list(run) for run in self.numbers))
        data = self.stamped(expected.header.stamp) if stamped else self.unstamped()
        if deserialize_message(data, type(message)) != expected:
            raise RuntimeError("a message does not hold the numbers that it was made of one after the other")

    def _view(self, mark: bytes) -> memoryview:
        place = self._find(mark)
        return memoryview(self._data)[place : place + len(mark)].cast("d")

    def _find(self, mark: bytes) -> int:
        # The first is the right one: behind the end of the message may stand what was in that memory before.
        place = self._data.find(mark)
        if place < 0:
            raise RuntimeError("numbers of a message are not found in its serialized form")
        return place

    def stamped(self, stamp: Time) -> bytes:
        """Return the message as it is now, under a time stamp."""
        WRITE_STAMP.pack_into(self._data, self._stamp, stamp.sec, stamp.nanosec)
        return bytes(self._data)

    def unstamped(self) -> bytes:
        """Return the message as it is now; for messages without a time stamp."""
        return bytes(self._data)


# Joint states: names and arrays are made anew by rclpy for every state, though drivers send the same names in the same
# order again and again. A state that differs from one before in its numbers alone is copied into the message of that.

PLAIN_CDR = b"\x00\x01"
"""Begins a message in plain CDR, little endian, which all ROS 2 middlewares send on usual machines."""
HEAD = 4
"""Bytes before the first field: the above, and options that say how much is left over at the end."""
READ_STAMP = struct.Struct("<iI")
SMALLEST_STATE = HEAD + READ_STAMP.size + 5 * 4
"""Bytes of a state that holds nothing: the time stamp, and how long frame, names and three arrays are."""
LAYOUTS = 8
"""Layouts that are kept: as many publishers may share the topic."""


class StateLayout:
    """The serialized form of the joint states that differ from one of them only in time stamp and numbers.

    Its message, and the ``stamp`` of that, get the numbers of those that are read; ``head`` is what the form begins
    with.
    """

    def __init__(self, message: JointState, head: bytes) -> None:
        self.message = message
        self.stamp = message.header.stamp
        self._known, self._counts = bytearray(head), bytearray(b"\xff" * HEAD)
        self._fields: list[tuple[memoryview, slice]] = []
        self._put(bytes(READ_STAMP.size), 4, fixed=False)
        self._put_text(message.header.frame_id)
        self._put_length(message.name)
        for name in message.name:
            self._put_text(name)
        for numbers in (message.position, message.velocity, message.effort):
            self._put_length(numbers)
            if numbers:
                place = self._put(bytes(8 * len(numbers)), 8, fixed=False)
                self._fields.append((memoryview(numbers).cast("B"), place))
        self._size = len(self._known)
        # As whole numbers, so that one operation compares all bytes that count. Gaps do not: they may hold anything.
        self._expected, self._mask = int.from_bytes(self._known, "little"), int.from_bytes(self._counts, "little")

    def _put(self, data: bytes, alignment: int, fixed: bool = True) -> slice:
        """Append bytes that are the same in every message, or not; returns their place."""
        gap = bytes((HEAD - len(self._known)) % alignment)  # alignment counts from behind the head
        self._known += gap + data
        self._counts += gap + (b"\xff" if fixed else b"\x00") * len(data)
        return slice(len(self._known) - len(data), len(self._known))

    def _put_length(self, items: list[str] | array[float] | bytes) -> None:
        self._put(struct.pack("<I", len(items)), 4)

    def _put_text(self, text: str) -> None:
        data = text.encode() + b"\x00"
        self._put_length(data)
        self._put(data, 1)

    def holds(self, data: bytes) -> bool:
        """Return whether a message has, where this form has them, the numbers and the stamp that `message` has."""
        same = READ_STAMP.unpack_from(data, HEAD) == (self.stamp.sec, self.stamp.nanosec)
        return same and all(field == data[place] for field, place in self._fields)

    def read(self, data: bytes) -> int | None:
        """Copy time stamp and numbers of a message into `message`, and return the former [ns]; None in another form.

        Behind its end may be anything, as middlewares leave it there.
        """
        if len(data) < self._size or int.from_bytes(data, "little") & self._mask != self._expected:
            return None
        stamp = self.stamp
        stamp.sec, stamp.nanosec = sec, nanosec = READ_STAMP.unpack_from(data, HEAD)
        for field, place in self._fields:
            field[:] = data[place]
        return sec * 10**9 + nanosec


class StateDecoder:
    """Makes joint states of their serialized forms."""

    def __init__(self) -> None:
        self._layouts: list[StateLayout] = []
        self._most = LAYOUTS if enabled() else 0

    def decode(self, data: bytes) -> tuple[JointState, Time, int]:
        """Return the state, its time stamp, and that as a number [ns]; all may be filled again by the next call.

        Raises MessageError where this is no joint state.
        """
        for layout in self._layouts:
            time = layout.read(data)
            if time is not None:
                return layout.message, layout.stamp, time
        if len(data) < SMALLEST_STATE:  # a head alone can crash the deserializer of Fast DDS, and with it the process
            raise MessageError("malformed", f"this is no serialized JointState, it has {len(data)} bytes only")
        try:
            message = deserialize_message(data, JointState)
        except Exception as error:
            raise MessageError("malformed", f"this is no serialized JointState: {error}") from error
        layout = StateLayout(message, data[:HEAD])
        # Whatever is laid out otherwise, as by a machine with another byte order, is always left to rclpy.
        if self._most and data.startswith(PLAIN_CDR) and layout.holds(data) and layout.read(data) is not None:
            if len(self._layouts) == self._most:
                self._layouts.clear()
            self._layouts.append(layout)
        return message, layout.stamp, nanoseconds(layout.stamp)


# Joint trajectories: rclpy makes one in one call, which keeps the interpreter 0.2 to 0.3 s for 10,000 points, without
# an answer to any state. Here the points are arrays at once, in calls that are short, on a thread beside the executor.

FIELDS = ("positions", "velocities", "accelerations", "effort")
AT_ONCE = 100
"""Points that are let go in one call."""
SMALLEST_POINT = 24
"""Bytes of a point that holds nothing: the lengths of four arrays, and a time."""
SMALLEST = HEAD + 8 + 3 * 4


@dataclass(frozen=True, eq=False)
class TrajectoryFields:
    """Content of a trajectory message."""

    start: int  # its time stamp [ns]
    names: list[str]
    times: NDArray[np.int64]  # of the points, from the start, shape (k,) [ns]
    fields: dict[str, Array | None]  # by `FIELDS`, each (k, size), or None where no point carries it


def fields_of(message: JointTrajectory) -> TrajectoryFields:
    """Return what a message holds; raises MessageError where its points differ in what they carry."""
    points, size = message.points, len(message.joint_names)
    fields: dict[str, Array | None] = {}
    for name in FIELDS:
        values = [getattr(point, name) for point in points]
        lengths = {len(v) for v in values}
        given = not lengths <= {0}
        if given:
            check_lengths(name, lengths, size)
        # Bytes are joined in a hundredth of the time that numpy takes for many arrays, in one call.
        fields[name] = np.frombuffer(b"".join(values), dtype=np.float64).reshape(-1, size) if given else None
    times = np.array([nanoseconds(point.time_from_start) for point in points], dtype=np.int64)
    return TrajectoryFields(nanoseconds(message.header.stamp), list(message.joint_names), times, fields)


def let_go(message: JointTrajectory) -> None:
    """Take the points off a message that has been read; all at once, that would hold the interpreter for long."""
    points = message.points
    while points:
        del points[-AT_ONCE:]


def decode_trajectory(data: bytes) -> TrajectoryFields:
    """Return what a serialized trajectory holds; raises MessageError for none, or points that carry other things."""
    if not (enabled() and data.startswith(PLAIN_CDR)) or len(data) < SMALLEST:
        if len(data) < SMALLEST:  # a head alone can crash the deserializer of Fast DDS, and with it the process
            raise MessageError("malformed", f"this is no serialized JointTrajectory, it has {len(data)} bytes only")
        try:
            return fields_of(deserialize_message(data, JointTrajectory))
        except MessageError:
            raise
        except Exception as error:
            raise MessageError("malformed", f"this is no serialized JointTrajectory: {error}") from error
    try:
        return _decode(data)
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        if isinstance(error, MessageError):
            raise
        raise MessageError("malformed", f"this is no serialized JointTrajectory: {error}") from error


def header_of(data: bytes) -> Header:
    """Return the header of a serialized message that begins with one; an empty one where that cannot be read."""
    header = Header()
    with suppress(struct.error, ValueError):
        if data.startswith(PLAIN_CDR):
            sec, nanosec, size = struct.unpack_from("<iII", data, HEAD)
            header.frame_id = data[HEAD + 12 : HEAD + 12 + max(size, 1) - 1].decode()
            header.stamp.sec, header.stamp.nanosec = sec, nanosec
    return header


def _decode(data: bytes) -> TrajectoryFields:
    sec, nanosec = READ_STAMP.unpack_from(data, HEAD)
    names, place = _names(data)
    count, place = _whole(data, place)
    if count * SMALLEST_POINT > len(data) - place:
        raise ValueError(f"{count} points in {len(data)} bytes")
    times, fields = _points(data, place - HEAD, count, len(names))
    return TrajectoryFields(sec * 10**9 + nanosec, names, times, fields)


def _whole(data: bytes, place: int) -> tuple[int, int]:
    """Return the whole number at a place or behind a gap there, and the place behind it."""
    place += -(place - HEAD) % 4
    return struct.unpack_from("<I", data, place)[0], place + 4


def _names(data: bytes) -> tuple[list[str], int]:
    """Return the names that follow the header of joint states and trajectories, and the place behind them."""

    def text(place: int) -> tuple[str, int]:
        size, place = _whole(data, place)
        if not 0 < size <= len(data) - place:
            raise ValueError(f"a text of {size} bytes")
        return data[place : place + size - 1].decode(), place + size

    _, place = text(HEAD + READ_STAMP.size)
    count, place = _whole(data, place)
    names = []
    for _ in range(min(count, len(data))):
        name, place = text(place)
        names.append(name)
    return names, place


class NameLists:
    """Reads what a serialized joint state names; of lists that were read before, by comparing bytes."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[str, ...]] = {}

    def __call__(self, data: bytes) -> tuple[str, ...]:
        """Return the names; none where the message cannot be read so."""
        if not data.startswith(PLAIN_CDR):
            return ()
        for beginning, names in self._known.items():
            if data.startswith(beginning, HEAD + READ_STAMP.size):
                return names
        try:
            found, place = _names(data)
        except (struct.error, ValueError):
            return ()
        if len(self._known) >= LAYOUTS:
            self._known.clear()
        return self._known.setdefault(data[HEAD + READ_STAMP.size : place], tuple(found))


def _points(data: bytes, place: int, count: int, size: int) -> tuple[NDArray[np.int64], dict[str, Array | None]]:
    """Return times and fields of points that begin at a place, counted from behind the head."""
    if not count:
        return np.zeros(0, np.int64), dict.fromkeys(FIELDS)
    words = np.frombuffer(data, "<u4", (len(data) - HEAD) // 4, HEAD)
    numbers = np.frombuffer(data, "<f8", (len(data) - HEAD) // 8, HEAD)
    lengths: list[int] = []
    at = place // 4
    for _ in FIELDS:
        lengths.append(int(words[at]))
        at += 1 + (0 if not lengths[-1] else (at + 1) % 2 + 2 * lengths[-1])
    for name, length in zip(FIELDS, lengths, strict=True):
        if length:
            check_lengths(name, {length}, size)
    # Numbers begin at whole multiples of their size, so how much a point takes depends on where in these it begins.
    begins = np.empty(count, np.int64)
    begins[0] = place // 4
    begins[1:] = begins[0] + _step(lengths, int(begins[0]) % 2)
    steps = [_step(lengths, int(begin) % 2) for begin in (begins[-1], begins[-1] + _step(lengths, int(begins[-1]) % 2))]
    later = np.arange(max(count - 1, 0))
    begins[1:] += later * steps[0] if steps[0] % 2 == 0 else later // 2 * sum(steps) + later % 2 * steps[0]
    places, at_all, odd = [], begins, np.full(len(FIELDS), count)
    for k, length in enumerate(lengths):
        other = words[at_all] != length
        odd[k] = np.argmax(other) if other.any() else count
        places.append(at_all)
        at_all = at_all + 1
        if length:
            at_all = at_all + at_all % 2 + 2 * length
    k = int(np.argmin(odd))
    if odd[k] < count:  # behind the first point that differs, all is read from the wrong place
        check_lengths(FIELDS[k], {lengths[k], int(words[places[k][odd[k]]])}, size)
    fields: dict[str, Array | None] = dict.fromkeys(FIELDS)
    for name, length, at_field in zip(FIELDS, lengths, places, strict=True):
        if length:
            fields[name] = numbers[((at_field + 2) // 2)[:, None] + np.arange(length)].astype(np.float64)
    times = words[at_all].astype("<i4").astype(np.int64) * 10**9 + words[at_all + 1]
    return times, fields


def _step(lengths: list[int], odd: int) -> int:
    """Return how many words a point takes that begins at an odd word, or an even one."""
    at = odd
    for length in lengths:
        at += 1
        if length:
            at += at % 2 + 2 * length
    return at + 2 - odd


def check_lengths(name: str, lengths: set[int], size: int) -> None:
    """Raise MessageError unless a field has as many entries in all points as there are joints."""
    if lengths != {size}:
        raise MessageError(TRAJECTORIES, f"{name} has {sorted(lengths)[:10]} entries for {size} joints")
