"""Messages that are serialized once: afterwards only their time stamp and some numbers change."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message, serialize_message

WRITE_STAMP = struct.Struct("=iI")
MARK = Time(sec=0x5A17C3E1, nanosec=0x2B94D76F)


class SerializedForm:
    """The serialized form of one message.

    Serializing a message again for every answer costs far more than to copy the few bytes of it that change. Where they
    stand is not computed but found, so that it holds for every middleware.

    Parameters
    ----------
    make : callable
        Makes the message of runs of numbers that will change; it must hold those of each run in a row, as float64.
    *counts : int
        How many numbers are in each run.

    Attributes
    ----------
    numbers : tuple of memoryview
        The runs in the form, float64, to be filled.

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
