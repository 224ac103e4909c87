"""Motion of the base of a robot, from odometry and the joints that carry it; gravity from an IMU on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from geometry_msgs.msg import AccelStamped
from sensor_msgs.msg import Imu
from trajectory_msgs.msg import JointTrajectory

from ...core.errors import ConfigurationError, MessageError, ParameterError
from ...core.moving_base import IMU, ODOMETRY
from ...core.parameters import Parameters, parameter
from ..outputs import diagnostics
from ..outputs.diagnostics import Report
from ..wire import qos
from ..wire.messages import nanoseconds, pose_to_matrix, read_imu, twist_to_array
from .robot_inputs import RobotInputs

if TYPE_CHECKING:
    from ...core.robot_core import RobotCore


# Gravity from an inertial measurement unit, for robots whose base is tilted or moves.

SOURCES = ("parameter", "imu")


@dataclass(frozen=True)
class ImuParameters(Parameters):
    """Source of the direction of gravity."""

    gravity_source: str = parameter(
        SOURCES[0],
        "Where the direction of gravity comes from: the parameter gravity, or an IMU on the base by the topic imu.",
        "at start",
        choices=SOURCES,
    )
    imu_timeout: float = parameter(
        0.5,
        "IMU messages older than this are not used, and silence longer than this is reported [s]. 0: no limit.",
        high=3600.0,
    )
    imu_filter_time: float = parameter(
        0.5,
        "Time constant of the low pass that accelerations go through where the IMU gives no orientation [s].",
        high=100.0,
    )


class ImuInput:
    """The topic imu of a node, where the parameter gravity_source selects it."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._used = node.settings["gravity_source"] == "imu"
        if self._used:
            node.take_in(Imu, "imu", self._turn, qos.STREAM_INPUT)

    def _turn(self, core: RobotCore, inputs: RobotInputs, message: Imu) -> None:
        settings, now, stamp = self._node.settings, self._node.ros_time(), nanoseconds(message.header.stamp)
        timeout = settings["imu_timeout"]
        if stamp and timeout and now - stamp > timeout * 1e9:
            raise MessageError(IMU, f"a message {(now - stamp) * 1e-9:.3g} s old; imu_timeout is {timeout:g}")
        link = self._node.link_of(message.header.frame_id)
        strength = float(np.linalg.norm(settings["gravity"]))
        if not strength:
            raise MessageError(IMU, "the parameter gravity is zero, and an IMU gives its direction only")
        measure, filter_time = inputs.gravity.measure, settings["imu_filter_time"]
        core.measure_gravity(measure(link, *read_imu(message), now, strength, filter_time))

    def describe(self, report: Report) -> None:
        """Fill in where gravity comes from, and for how long it has not been measured."""
        node = self._node
        core, inputs, timeout = node.core, node.inputs, node.settings["imu_timeout"]
        if core is None or inputs is None:
            return
        report.values["gravity [m/s^2]"] = ", ".join(f"{g:g}" for g in core.dynamics.gravity)
        report.values["gravity source"] = node.settings["gravity_source"]
        if not self._used or node.answering is None:
            return
        received = inputs.gravity.received
        silence = None if received is None else (node.ros_time() - received) * 1e-9
        if silence is None:
            which = "that of the parameter" if core.measured_gravity is None else "as it was measured last"
            report.add(diagnostics.WARN, f"no IMU message could be used yet: gravity is {which}")
        elif timeout and silence > timeout:
            text = f"no IMU message could be used for {silence:.1f} s: gravity keeps its last direction"
            report.add(diagnostics.WARN, text)


try:
    from nav_msgs.msg import Odometry as OdometryMessage
except ImportError:  # needed only by those who ask for it
    OdometryMessage = None

CARRYING = ("locked", "states")


@dataclass(frozen=True)
class BaseParameters(Parameters):
    """Motion of a robot's base."""

    base_motion: str = parameter(
        "fixed",
        "Motion of the root link: none, or that of the topic odometry.",
        "at start",
        choices=("fixed", "odometry"),
    )
    base_timeout: float = parameter(
        0.1,
        "How far the times of a state and of the odometry for it may be apart; accelerations that are given for the "
        "base or of joints that carry it count as zero once they are older [s]. 0: no limit.",
        high=3600.0,
    )
    odometry_frame: str = parameter("", "Frame that poses in odometry must be given in. Empty: any.")
    carrying_joints: str = parameter(
        CARRYING[0],
        "Joints between the root link and base_link: locked as all others, or moving, with joint states.",
        "at start",
        choices=CARRYING,
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
    """Topics with the motion of the base of a node's robot, where its parameters select them."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._subscription = None
        if node.settings.get("base_motion") == "odometry" and OdometryMessage is not None:
            self._subscription = node.take_in(OdometryMessage, "odometry", self._take_odometry, qos.STREAM_INPUT)
            node.take_in(AccelStamped, "~/desired_base_acceleration", self._accelerate)
        if node.settings.get("carrying_joints") == "states":
            node.take_in(JointTrajectory, "~/carrying_accelerations", self._carry)

    def _take_odometry(self, _: RobotCore, inputs: RobotInputs, message: Any) -> None:
        odometry = inputs.odometry
        assert odometry is not None
        header, pose, twist = message.header, message.pose.pose, message.twist.twist
        stamp = nanoseconds(header.stamp) or self._node.ros_time()
        try:
            child = self._node.link_of(message.child_frame_id)
            odometry.take(header.frame_id, child, pose_to_matrix(pose), twist_to_array(twist), stamp)
        except MessageError as error:
            ours = error if error.kind == ODOMETRY else MessageError(ODOMETRY, f"odometry: {error}")
            odometry.problem = str(ours)
            raise ours from None

    def _accelerate(self, _: RobotCore, inputs: RobotInputs, message: AccelStamped) -> None:
        assert inputs.odometry is not None
        link = self._node.link_of(message.header.frame_id)
        inputs.odometry.accelerate(link, twist_to_array(message.accel), self._node.ros_time())

    def _carry(self, _: RobotCore, inputs: RobotInputs, message: JointTrajectory) -> None:
        inputs.carry(message, self._node.ros_time())

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
