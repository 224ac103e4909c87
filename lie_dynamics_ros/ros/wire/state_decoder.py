"""Joint states from their serialized form, as they come from a raw subscription.

What rclpy does to make a message of Python objects costs a node at 1 kHz more than everything else it does: names and
arrays are made anew for every state, though drivers send the same names in the same order again and again. Here a
state that differs from one before only in its numbers is copied into the message that was made of that one.
"""

from __future__ import annotations

import struct
from array import array

from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from ...core.errors import MessageError
from .messages import nanoseconds

PLAIN_CDR = b"\x00\x01"
"""Begins a message in plain CDR, little endian, which all ROS 2 middlewares send on usual machines."""
HEAD = 4
"""Bytes before the first field: the above, and options that say how much is left over at the end."""
READ_STAMP = struct.Struct("<iI")
SMALLEST_STATE = HEAD + READ_STAMP.size + 5 * 4
"""Bytes of a state that holds nothing: the time stamp, and how long frame, names and three arrays are."""
LAYOUTS = 8
"""How many layouts are kept: as many publishers may share the topic."""


class StateLayout:
    """The serialized form of the joint states that differ from one of them only in time stamp and numbers.

    Parameters
    ----------
    message : JointState
        One of them; gets the numbers of those that are read.
    head : bytes
        What its serialized form begins with.

    Attributes
    ----------
    message : JointState
    stamp : Time
        Of the message.
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

    def decode(self, data: bytes) -> tuple[JointState, Time, int]:
        """Return the state, its time stamp, and that as a number [ns]; all may be filled again by the next call.

        Raises
        ------
        MessageError
            This is no joint state.
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
        if data.startswith(PLAIN_CDR) and layout.holds(data) and layout.read(data) is not None:
            if len(self._layouts) == LAYOUTS:
                self._layouts.clear()
            self._layouts.append(layout)
        return message, layout.stamp, nanoseconds(layout.stamp)
