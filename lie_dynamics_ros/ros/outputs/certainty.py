"""Status of each sample in nodes that track: certified, continued or AMBIGUOUS, and when it will be singular."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from ...core.tracking import Tracked
from ...lie_dynamics.stewart import TrackingStatus
from ..wire.messages import nanoseconds
from .output import Output

LOOK_EVERY = 20_000_000
"""Time between looks for a singularity ahead [ns], where one takes some 50 us."""


def word_for(tracked: Tracked, what: str = "pose") -> str:
    """Return what is known of a pose, or whatever is tracked, in the words of the library."""
    if tracked.status is TrackingStatus.AMBIGUOUS:
        return f"AMBIGUOUS, {'continued' if tracked.continued else f'kept at the last good {what}'}"
    if not tracked.valid:
        return f"kept at the last good {what}: {tracked.status.name}"
    if tracked.certified:
        return "certified"
    return "continued"


class Certainty:
    """Publishes ``~/status`` beside what is tracked, and warns in the log while a singular one is ahead.

    Parameters
    ----------
    node : LifecycleNode
        Publishes only while it is active.
    what : str
        What is tracked.
    look_every : int
        Time between looks for a singularity ahead [ns]; may change.
    """

    def __init__(self, node: Node, what: str = "pose", look_every: int = LOOK_EVERY) -> None:
        self._what, self.look_every = what, look_every
        self._logger = node.get_logger()
        self._output = Output(node, DiagnosticArray, "~/status")
        self._name = node.get_name()
        self.restart()

    def restart(self) -> None:
        """Forget what was ahead."""
        self._looked = 0
        self._warned = False

    def report(
        self,
        tracked: Tracked,
        stamp: Time,
        warning: float,
        time_to_singularity: Callable[[float], float],
        more: Callable[[], Mapping[str, str]] = dict,
        refuted: bool = False,
    ) -> None:
        """Say what became of the sample of a time, with more values, and warn of a singularity ahead.

        A start that samples have ``refuted`` makes all wrong that is followed from it: that is said with each.

        That is one less than ``warning`` seconds ahead; ``time_to_singularity(horizon)`` is the time until then [s].
        """
        if self._output.heard:
            self._say(tracked, stamp, more(), refuted)
        now = nanoseconds(stamp)
        if not tracked.valid or abs(now - self._looked) < self.look_every or warning <= 0.0:
            return
        self._looked = now
        left = time_to_singularity(2.0 * warning)
        if left < warning and not self._warned:
            self._warned = True
            self._logger.warning(f"{left:.2g} s to a singular {self._what} at the present speed")
        elif not left < 2.0 * warning:
            self._warned = False

    def report_fused(self, lost: str, faults: str, stamp: Time) -> None:
        """Say what an estimate is: fused, of all sensors or without those with `faults`; or why it is lost."""
        if not self._output.heard:
            return
        level = DiagnosticStatus.ERROR if lost else DiagnosticStatus.WARN if faults else DiagnosticStatus.OK
        message = lost or (f"left out: {faults}" if faults else "all sensors are used")
        word = "lost" if lost else "fused"
        values = {"status": word.upper(), "certified": "false", "continued": "false", "message": message}
        self._send(level, f"{word}, {message}" if lost or faults else word, values | {"left_out": faults}, stamp)

    def _say(self, tracked: Tracked, stamp: Time, more: Mapping[str, str], refuted: bool) -> None:
        word = word_for(tracked, self._what) + (", refuted" if refuted else "")
        level = DiagnosticStatus.WARN
        if tracked.certified:
            level = DiagnosticStatus.OK
        elif refuted or not tracked.valid or tracked.status is TrackingStatus.AMBIGUOUS:
            level = DiagnosticStatus.ERROR
        values = {
            "status": tracked.status.name,
            "certified": str(tracked.certified).lower(),
            "continued": str(tracked.continued).lower(),
            "refuted": str(refuted).lower(),
            "message": tracked.message,
            **more,
        }
        self._send(level, word, values, stamp)

    def _send(self, level: bytes, word: str, values: Mapping[str, str], stamp: Time) -> None:
        status = DiagnosticStatus(level=level, name=self._name, message=word)
        status.values = [KeyValue(key=key, value=value) for key, value in values.items()]
        message = DiagnosticArray(status=[status])
        message.header.stamp = stamp
        self._output.send(message)
