"""Leg lengths as drivers publish them: read, and told from those of another driver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from ...core.arrays import Array
from ...core.errors import MessageError
from ...core.joint_mapping import JointMapping
from ...ros.inputs.publishers import Publishers, subscribe
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from ...ros.wire import qos
from ...ros.wire.messages import read_field
from .requests import check_time


class LegStates:
    """The topic joint_states.

    Parameters
    ----------
    node : ManagedNode
    take : callable
        Given lengths (6,) [m] and rates (6,) [m/s], or None where not all are known, of each message that can be used.

    Attributes
    ----------
    bad : str
        Why the last message was not used; empty where it was.
    """

    def __init__(self, node: Any, take: Callable[[Array, Array | None], None]) -> None:
        self._node, self._take, self.bad = node, take, ""
        self._used = False  # whether any message was
        self._mapping = JointMapping(())
        self._topic = subscribe(node, JointState, "joint_states", self._on_bytes, qos.STREAM_INPUT)
        self._publishers = Publishers(node, (self._topic,))

    def name(self, legs: Sequence[str]) -> None:
        """Look for legs of these names."""
        self._mapping, self.bad = JointMapping(tuple(legs)), ""

    def _on_bytes(self, message: bytes, publisher: bytes) -> None:
        if self._node.state != "active":
            return
        try:
            state = deserialize_message(message, JointState)
        except Exception:  # whatever bytes make of it
            self.bad = f"{len(message)} bytes that are no joint state"
            return
        self._publishers.heard(publisher, state.name)
        self.on_state(state)

    def on_state(self, message: JointState) -> None:
        """Take in a message."""
        timeout = self._node.settings["state_timeout"]
        try:
            found = _read(message, self._mapping, self._node.ros_time(), timeout)
        except MessageError as error:
            self.bad = str(error)
            return
        self.bad, self._used = "", True
        self._take(*found)

    def describe(self, report: Report) -> None:
        """Tell of drivers that take turns."""
        several = self._publishers.take_several()
        if several and self._used and self._node.state == "active":
            who = f"{len(several)} publishers of {self._topic.topic_name} take turns with the same joints"
            report.add(diagnostics.ERROR, f"{who}, one is expected: {', '.join(several)}")


def _read(message: Any, mapping: JointMapping, now: int, timeout: float) -> tuple[Array, Array | None]:
    """Return lengths (6,) [m] and rates [m/s] of a JointState at a time [ns]; None where not all rates are known.

    Raises
    ------
    MessageError
        Its time is more than a timeout [s] from now, unless that is zero; legs are missing, lengths are not finite.
    """
    check_time(message, now, timeout, "leg lengths", "state_timeout")
    match = mapping.match(message.name)
    if not match.complete:
        raise MessageError("missing joints", match.problem)
    lengths = read_field(message.position, match, "position")
    rates = read_field(message.velocity, match, "velocity") if message.velocity else None
    if not np.isfinite(lengths).all():
        raise MessageError("not finite", "leg lengths that are not finite")
    return lengths, rates if rates is not None and np.isfinite(rates).all() else None
