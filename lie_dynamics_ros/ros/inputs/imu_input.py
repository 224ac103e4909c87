"""Gravity from an inertial measurement unit, for robots whose base is tilted or moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sensor_msgs.msg import Imu

from ...core.base.gravity_sensor import IMU, GravitySensor
from ...core.errors import MessageError
from ...core.setting import Setting
from ..outputs import diagnostics
from ..outputs.diagnostics import Report
from ..wire import qos
from ..wire.messages import nanoseconds, read_imu
from .robot_inputs import InputNode

if TYPE_CHECKING:
    from ...core.robot_core import RobotCore

SOURCES = ("parameter", "imu")
IMU_SETTINGS = (
    Setting(
        "gravity_source",
        SOURCES[0],
        "Where the direction of gravity comes from: the parameter gravity, or an IMU on the base by the topic imu.",
        "at start",
        choices=SOURCES,
    ),
    Setting(
        "imu_timeout",
        0.5,
        "IMU messages older than this are not used, and silence longer than this is reported [s]. 0: no limit.",
        high=3600.0,
    ),
    Setting(
        "imu_filter_time",
        0.5,
        "Time constant of the low pass that accelerations go through where the IMU gives no orientation [s].",
        high=100.0,
    ),
)


class ImuInput:
    """The topic imu of a node, where the parameter gravity_source selects it.

    Parameters
    ----------
    node : InputNode
    """

    def __init__(self, node: InputNode) -> None:
        self._node = node
        self._used = node.settings["gravity_source"] == "imu"
        if self._used:
            node.listen(Imu, "imu", self._on_imu, qos.STREAM_INPUT)

    def _on_imu(self, message: Imu) -> None:
        node = self._node
        core, inputs = node.answering, node.inputs
        if core is not None and inputs is not None:
            node.stream.accept(lambda: self._turn(message, core, inputs.gravity))

    def _turn(self, message: Imu, core: RobotCore, sensor: GravitySensor) -> None:
        settings, now, stamp = self._node.settings, self._node.ros_time(), nanoseconds(message.header.stamp)
        timeout = settings["imu_timeout"]
        if stamp and timeout and now - stamp > timeout * 1e9:
            raise MessageError(IMU, f"a message {(now - stamp) * 1e-9:.3g} s old; imu_timeout is {timeout:g}")
        link = self._node.link_of(message.header.frame_id)
        strength = float(np.linalg.norm(settings["gravity"]))
        if not strength:
            raise MessageError(IMU, "the parameter gravity is zero, and an IMU gives its direction only")
        core.measure_gravity(sensor.measure(link, *read_imu(message), now, strength, settings["imu_filter_time"]))

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
