"""Motion of the base of a robot, from odometry and the joints that carry it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geometry_msgs.msg import AccelStamped
from trajectory_msgs.msg import JointTrajectory

from ...core.base.odometry import ODOMETRY, Odometry
from ...core.errors import ConfigurationError, MessageError, ParameterError
from ...core.setting import Setting
from ..outputs import diagnostics
from ..outputs.diagnostics import Report
from ..wire import qos
from ..wire.messages import nanoseconds, pose_to_matrix, twist_to_array
from .robot_inputs import InputNode

try:
    from nav_msgs.msg import Odometry as OdometryMessage
except ImportError:  # needed only by those who ask for it
    OdometryMessage = None

CARRYING = ("locked", "states")
BASE_SETTINGS = (
    Setting(
        "base_motion",
        "fixed",
        "Motion of the root link: none, or that of the topic odometry.",
        "at start",
        choices=("fixed", "odometry"),
    ),
    Setting(
        "base_timeout",
        0.1,
        "How far the times of a state and of the odometry for it may be apart; accelerations that are told of the base "
        "or of joints that carry it count as zero once they are older [s]. 0: no limit.",
        high=3600.0,
    ),
    Setting("odometry_frame", "", "Frame that poses in odometry must be given in. Empty: any."),
    Setting(
        "carrying_joints",
        CARRYING[0],
        "Joints between the root link and base_link: locked as all others, or moving, with joint states.",
        "at start",
        choices=CARRYING,
    ),
)


def check_base(values: Mapping[str, Any]) -> bool:
    """Return whether the base moves, by parameter values; raises where they make no sense together."""
    carried, floating = values["carrying_joints"] == "states", values["base_motion"] == "odometry"
    if carried and not values["base_link"]:
        raise ParameterError("carrying_joints is 'states' without base_link; expected the link that they carry")
    if floating and OdometryMessage is None:
        raise ConfigurationError("base_motion is 'odometry', for which the package nav_msgs is to be installed")
    return carried or floating


class BaseInput:
    """Topics with the motion of the base of a node's robot, where its parameters select them.

    Parameters
    ----------
    node : InputNode
    """

    def __init__(self, node: InputNode) -> None:
        self._node = node
        self._subscription = None
        if node.settings.get("base_motion") == "odometry" and OdometryMessage is not None:
            self._subscription = node.listen(OdometryMessage, "odometry", self._on_odometry, qos.STREAM_INPUT)
            node.listen(AccelStamped, "~/desired_base_acceleration", self._on_acceleration)
        if node.settings.get("carrying_joints") == "states":
            node.listen(JointTrajectory, "~/carrying_accelerations", self._on_carrying)

    @property
    def _odometry(self) -> Odometry | None:
        inputs = self._node.inputs
        return None if inputs is None or self._node.answering is None else inputs.odometry

    def _on_odometry(self, message: Any) -> None:
        odometry = self._odometry
        if odometry is not None:
            self._node.stream.accept(lambda: self._take(message, odometry))

    def _take(self, message: Any, odometry: Odometry) -> None:
        header, pose, twist = message.header, message.pose.pose, message.twist.twist
        stamp = nanoseconds(header.stamp) or self._node.ros_time()
        try:
            child = self._node.link_of(message.child_frame_id)
            odometry.take(header.frame_id, child, pose_to_matrix(pose), twist_to_array(twist), stamp)
        except MessageError as error:
            ours = error if error.kind == ODOMETRY else MessageError(ODOMETRY, f"odometry: {error}")
            odometry.problem = str(ours)
            raise ours from None

    def _on_acceleration(self, message: AccelStamped) -> None:
        odometry, rate = self._odometry, twist_to_array(message.accel)
        if odometry is not None:
            now = self._node.ros_time()
            frame = message.header.frame_id
            self._node.stream.accept(lambda: odometry.accelerate(self._node.link_of(frame), rate, now))

    def _on_carrying(self, message: JointTrajectory) -> None:
        inputs = self._node.inputs
        if inputs is not None and self._node.answering is not None:
            self._node.stream.accept(lambda: inputs.carry(message, self._node.ros_time()))

    def describe(self, report: Report) -> None:
        """Fill in the motion of the base, and its source where there are several."""
        core = self._node.core
        report.values["base"] = self._node.settings.get("base_motion", "fixed")
        if core is not None and core.base is not None and core.base.joints:
            report.values["carried by"] = ", ".join(core.base.joints)
        if self._subscription is None or self._node.answering is None:
            return
        topic = self._subscription.topic_name
        ends = self._node.get_publishers_info_by_topic(topic)
        if len(ends) > 1:
            names = ", ".join(sorted(f"{end.node_namespace.rstrip('/')}/{end.node_name}" for end in ends))
            report.add(diagnostics.ERROR, f"{len(ends)} publishers of {topic}, one is expected: {names}")
