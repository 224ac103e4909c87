"""What the node stewart_pose says of each pose: certified, continued or AMBIGUOUS, and when it will be singular."""

from __future__ import annotations

import math

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from ...lie_dynamics.stewart import TrackedPose, TrackingStatus
from ...ros.outputs.output import Output
from ...ros.wire.messages import nanoseconds

LOOK_EVERY = 20_000_000
"""Time between looks for a singularity ahead [ns]: one takes some 50 us."""
HORIZON = 60.0
"""Furthest that one looks ahead [s]."""


def word_for(tracked: TrackedPose) -> str:
    """Return what is known of a pose, in the words of the library."""
    if tracked.status is TrackingStatus.AMBIGUOUS:
        return f"AMBIGUOUS, {'continued' if tracked.continued else 'kept at the last good pose'}"
    if not tracked.valid:
        return f"kept at the last good pose: {tracked.status.name}"
    if tracked.certified:
        return "certified"
    return "continued"


class Certainty:
    """Publishes ``~/status`` beside the poses, and warns in the log while a singular pose is ahead.

    Parameters
    ----------
    node : LifecycleNode
        Publishes only while it is active.
    """

    def __init__(self, node: Node) -> None:
        self._logger = node.get_logger()
        self._output = Output(node, DiagnosticArray, "~/status")
        self._name = node.get_name()
        self.restart()

    def restart(self) -> None:
        """Forget what was ahead."""
        self._looked = 0
        self._warned = False

    def report(self, tracked: TrackedPose, stamp: Time, warning: float) -> None:
        """Say what became of the lengths measured at a time, and warn of a singular pose ``warning`` seconds ahead."""
        if self._output.heard:
            self._output.send(self._message(tracked, stamp))
        now = nanoseconds(stamp)
        if not tracked.valid or abs(now - self._looked) < LOOK_EVERY or warning <= 0.0:
            return
        self._looked = now
        left = tracked.time_to_singularity(2.0 * warning)
        if left < warning and not self._warned:
            self._warned = True
            self._logger.warning(f"{left:.2g} s to a singular pose at the present speed")
        elif not left < 2.0 * warning:
            self._warned = False

    def time_left(self, tracked: TrackedPose) -> float:
        """Return the time left before a singular pose at the present speed [s]; infinite where none is ahead."""
        left = tracked.time_to_singularity(HORIZON)
        return math.inf if math.isnan(left) else left

    def _message(self, tracked: TrackedPose, stamp: Time) -> DiagnosticArray:
        word = word_for(tracked)
        level = DiagnosticStatus.WARN
        if tracked.certified:
            level = DiagnosticStatus.OK
        elif not tracked.valid or tracked.status is TrackingStatus.AMBIGUOUS:
            level = DiagnosticStatus.ERROR
        values = {
            "status": tracked.status.name,
            "certified": str(tracked.certified).lower(),
            "continued": str(tracked.continued).lower(),
            "message": tracked.message,
        }
        status = DiagnosticStatus(level=level, name=self._name, message=word)
        status.values = [KeyValue(key=key, value=value) for key, value in values.items()]
        message = DiagnosticArray(status=[status])
        message.header.stamp = stamp
        return message
