"""Joint trajectories from their serialized form: ten thousand points in milliseconds, and none of them on the way.

rclpy makes a trajectory in one call, which keeps the interpreter for itself: 0.2 to 0.3 s for 10,000 points, without an
answer to any state. Here the points are arrays at once, in calls that are short, on a thread beside the executor.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rclpy.serialization import deserialize_message
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from ...core.arrays import Array
from ...core.errors import TRAJECTORIES, MessageError
from .messages import nanoseconds
from .state_decoder import HEAD, PLAIN_CDR

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIELDS = ("positions", "velocities", "accelerations", "effort")
AT_ONCE = 100
"""Points that are let go in one call."""
SMALLEST_POINT = 24
"""Bytes of a point that holds nothing: the lengths of four arrays, and a time."""
SMALLEST = HEAD + 8 + 3 * 4


@dataclass(frozen=True, eq=False)
class TrajectoryFields:
    """Content of a trajectory message.

    Attributes
    ----------
    start : int
        Its time stamp [ns].
    names : list of str
    times : ndarray of int, shape (k,)
        Of the points, from the start [ns].
    fields : dict
        By `FIELDS`, each (k, size), or None where no point carries it.
    """

    start: int
    names: list[str]
    times: NDArray[np.int64]
    fields: dict[str, Array | None]


def fields_of(message: JointTrajectory) -> TrajectoryFields:
    """Return what a message holds; raises MessageError where its points differ in what they carry."""
    points, size = message.points, len(message.joint_names)
    fields: dict[str, Array | None] = {}
    for name in FIELDS:
        values = [getattr(point, name) for point in points]
        lengths = {len(v) for v in values}
        given = not lengths <= {0}
        if given:
            _check_lengths(name, lengths, size)
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
    """Return what a serialized trajectory holds.

    Raises
    ------
    MessageError
        It is none, or its points differ in what they carry.
    """
    if not data.startswith(PLAIN_CDR) or len(data) < SMALLEST:
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
    place = HEAD

    def whole() -> int:
        nonlocal place
        place += -(place - HEAD) % 4
        found: int = struct.unpack_from("<I", data, place)[0]
        place += 4
        return found

    def text() -> str:
        nonlocal place
        size = whole()
        if not 0 < size <= len(data) - place:
            raise ValueError(f"a text of {size} bytes")
        place += size
        return data[place - size : place - 1].decode()

    sec, nanosec = struct.unpack_from("<iI", data, place)
    place += 8
    text()
    names = [text() for _ in range(min(whole(), len(data)))]
    count = whole()
    if count * SMALLEST_POINT > len(data) - place:
        raise ValueError(f"{count} points in {len(data)} bytes")
    times, fields = _points(data, place - HEAD, count, len(names))
    return TrajectoryFields(sec * 10**9 + nanosec, names, times, fields)


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
            _check_lengths(name, {length}, size)
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
        _check_lengths(FIELDS[k], {lengths[k], int(words[places[k][odd[k]]])}, size)
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


def _check_lengths(name: str, lengths: set[int], size: int) -> None:
    if lengths != {size}:
        raise MessageError(TRAJECTORIES, f"{name} has {sorted(lengths)[:10]} entries for {size} joints")
