"""Outputs of nodes that track: status of each sample, pose of a frame with its twist, travel left on each axis."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, TransformStamped, TwistStamped
from rclpy.node import Node

from ...core.errors import NodeError
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.constraints.travel import Ways
from ...lie_dynamics.lie import so3
from ...lie_dynamics.stewart import TravelLeft
from ...lie_dynamics.stewart.geometry.workspace import AXES, travel_left
from ...lie_dynamics.tracking import Tracked, TrackingStatus
from ..wire import qos
from ..wire.messages import fill_pose, fill_transform, fill_twist, nanoseconds
from ..wire.serialized import SerializedForm
from .diagnostics import Report
from .output import Output

if TYPE_CHECKING:
    from ...lie_dynamics.stewart.geometry.any_platform import Platform


# Status of each sample in nodes that track: certified, continued or AMBIGUOUS, and when it will be singular.

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

    It looks for that every so often [ns]; that may change.
    """

    def __init__(self, node: Node, what: str = "pose", look_every: int = LOOK_EVERY) -> None:
        self._what, self.look_every = what, look_every
        self._logger = node.get_logger()
        self._output = Output(node, DiagnosticArray, "~/status")
        self._name = node.get_name()
        self._looked, self._warned = 0, False

    def restart(self) -> None:
        """Forget what was ahead."""
        self._looked, self._warned = 0, False

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


# Messages of a moving frame, made once and filled again for every sample: pose, covariance, twist, TF.

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # not among the ROS 2 wheels
    TFMessage = None


class PoseOutputs:
    """Publishes the pose of one frame in another, its covariance, its twist, and TF, where its messages are installed.

    Only what somebody listens to is filled and published.

    Attributes
    ----------
    tf : bool
        Whether TF is published.
    covariance_matrix : ndarray, shape (1, 6, 6)
        To be filled before a pose is published: covariance of (displacement along, small rotation about the axes of
        the base frame), as ROS orders it [m^2, m rad, rad^2].
    """

    def __init__(self, node: Node, tf: bool) -> None:
        self._pose = Output(node, PoseWithCovarianceStamped, "~/pose")
        self._bare = Output(node, PoseStamped, "~/pose_stamped")
        self._twist = Output(node, TwistStamped, "~/twist")
        self.tf = tf and TFMessage is not None
        if self.tf:
            self._tf = Output(node, TFMessage, "/tf", qos.TF)
        covariance = np.zeros(36)
        self.covariance_matrix, self._covariance = covariance.reshape(1, 6, 6), memoryview(covariance)
        self._messages = _PoseMessages("", "", self.tf)
        self._quaternion = np.zeros(4)

    def set_frames(self, base: str, moving: str) -> None:
        """Make the messages for the pose of the frame ``moving`` in the frame ``base``."""
        self._messages = _PoseMessages(base, moving, self.tf)

    def publish_pose(self, position: Sequence[float], quaternion: Sequence[float], stamp: Time) -> None:
        """Publish a pose, with what is in `covariance_matrix`, and TF.

        It is the origin x, y, z of the moving frame in the base frame [m], and its orientation as x, y, z, w.
        """
        messages = self._messages
        place, covariance = messages.form.numbers
        place[:], covariance[:] = array("d", (*position, *quaternion)), self._covariance
        self._pose.send_serialized(messages.form.stamped(stamp))
        if self._bare.heard:
            messages.bare.header.stamp = stamp
            fill_pose(messages.bare.pose, position, quaternion)
            self._bare.send(messages.bare)
        if self.tf and self._tf.heard:
            messages.transform.header.stamp = stamp
            fill_transform(messages.transform.transform, position, quaternion)
            self._tf.send(messages.tf)

    def publish_matrix(self, pose: Array, stamp: Time) -> None:
        """Publish a pose (4, 4) as `publish_pose` does; the sign of its quaternion is that of the one before."""
        quaternion = so3.to_quaternion(pose[:3, :3])
        self._quaternion = -quaternion if quaternion @ self._quaternion < 0.0 else quaternion
        self.publish_pose(pose[:3, 3].tolist(), self._quaternion.tolist(), stamp)

    @property
    def twist_wanted(self) -> bool:
        """Whether somebody listens to the twist."""
        return self._twist.heard

    def publish_twist(self, body_twist: Array, rotation: Array, stamp: Time) -> None:
        """Publish a body twist (angular, linear), shape (6,) [rad/s, m/s], in the axes that ``rotation`` leads to."""
        message = self._messages.twist
        message.header.stamp = stamp
        fill_twist(message.twist, body_twist, rotation)
        self._twist.send(message)


class _PoseMessages:
    """Messages of the frame ``moving`` in the frame ``base``."""

    def __init__(self, base: str, moving: str, tf: bool) -> None:
        self.form = SerializedForm(lambda place, covariance: _pose_message(base, place, covariance), 7, 36)
        self.bare, self.twist = PoseStamped(), TwistStamped()
        self.transform = TransformStamped(child_frame_id=moving)
        for message in (self.bare, self.twist, self.transform):
            message.header.frame_id = base
        self.tf = TFMessage(transforms=[self.transform]) if tf else None


def _pose_message(base: str, place: Sequence[float], covariance: Sequence[float]) -> PoseWithCovarianceStamped:
    """Pose in the frame ``base``: ``place`` is x, y, z [m] and quaternion x, y, z, w."""
    message = PoseWithCovarianceStamped()
    message.header.frame_id = base
    fill_pose(message.pose.pose, place[:3], place[3:])
    message.pose.covariance[:] = covariance
    return message


# Travel left on each axis of a platform: in diagnostics, and as an answer of a service.

TRAVEL_ACCURACY = 1e-4
"""Accuracy of the ends of travel in mechanisms [m, rad]."""
CLOSER_LOOKS = 3
"""Closer looks: right to 0.04 mm and 0.1 mrad."""
Way = Callable[[Sequence[str]], TravelLeft]
"""Returns the travel left on axes."""


def ways_from(
    platform: Platform, pose: Array, names: Sequence[str], positions: Array | None = None, limits: Array | None = None
) -> Way:
    """Return what finds the travel left from a pose (4, 4); see `travel_left`."""
    return lambda axes: travel_left(
        platform, pose, positions, limits=limits, names=names, axes=axes, looks=CLOSER_LOOKS
    )


def describe_travel(ways: Way, report: Report) -> None:
    """Tell the travel left, each axis in a part of its own: one takes some milliseconds."""

    def tell(axis: str) -> None:
        try:
            _write(axis, str(ways([axis])).removeprefix(f"{axis} "), report)
        except LieDynamicsError as error:
            _write(axis, str(error), report)

    report.parts.extend(partial(tell, axis) for axis in AXES)


def _write(axis: str, text: str, report: Report) -> None:
    report.values[f"travel left {axis} [{'rad' if axis.startswith('about') else 'm'}]"] = text


class TravelInTurn:
    """Reports the travel left of a mechanism in its diagnostics, one axis in each report: it takes some 50 ms."""

    def __init__(self) -> None:
        self._next = 0

    def describe(self, ways: Callable[[], Ways], report: Report) -> None:
        """Tell the travel left along one axis, in parts of a millisecond; `ways` begins, by errors of the library."""

        def found() -> Generator[None, None, None]:
            try:
                begun = ways()
                axis = begun.axes[self._next % len(begun.axes)]
                self._next += 1
                yield
                left = yield from begun.both(axis, TRAVEL_ACCURACY)
                _write(axis, str(left).removeprefix(f"{axis} "), report)
            except (NodeError, LieDynamicsError) as error:
                report.values["travel left"] = str(error)

        steps = found()

        def go_on() -> None:
            for _ in steps:
                return report.parts.appendleft(go_on)

        report.parts.append(go_on)


def all_travel(ways: Way) -> str:
    """Return the travel left on all axes, as an answer of a service."""
    return str(ways(AXES))
