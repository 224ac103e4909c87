"""Services of the node stewart_command: hold, level, ride, and dry runs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sensor_msgs.msg import Imu
from std_srvs.srv import SetBool

from ...core.commands import HOLDING, OFF
from ...core.errors import MessageError
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.lie import so3
from ...lie_dynamics.stewart.command import levelled
from ...ros.inputs.platform_loading import frames_of
from ...ros.node.services import Services, answer_request
from ...ros.node.worker import Worker
from ...ros.outputs.diagnostics import Report
from ...ros.outputs.tracked_outputs import Way, all_travel, describe_travel, ways_from
from ...ros.wire.messages import read_imu
from .core import StewartCommandCore
from .requests import check
from .targets import PathTarget

# Where a platform is level, by an accelerometer or an inclinometer on it.

IMU_AGE = 1.0
"""Age beyond which a message levels nothing [s]."""


def level_target(
    core: StewartCommandCore, message: Any, age: float, platform_frame: str, tool_frame: str
) -> PathTarget:
    """Return the target that levels a platform at rest by a sensor_msgs/Imu of an age [s], about the tool's origin.

    Raises
    ------
    MessageError
        The platform does not rest; the message is too old, of another frame, or gives no vertical.
    StewartError
        No least rotation levels the platform.
    """
    if core.phase != HOLDING or not core.rests:
        phase = "slowing down" if core.phase == HOLDING else core.phase
        raise MessageError("level", f"the platform is {phase}, expected holding, at rest")
    if message is None or age > IMU_AGE:
        raise MessageError("level", f"no message of the IMU within {IMU_AGE:g} s")
    frame, tool = message.header.frame_id.removeprefix("/"), core.ways.frames.tool
    if frame not in ("", platform_frame, tool_frame):
        raise MessageError("level", f"the IMU's frame is {frame!r}; expected {platform_frame!r} or the tool frame")
    up = _vertical(message)
    goal = levelled(core.pose, tool[:3, :3] @ up if frame == tool_frame else up, tool[:3, 3])
    return PathTarget((goal @ tool)[None], (False,), word="levelling")


def _vertical(message: Any) -> Array:
    """Return the vertical in axes of the sensor: its acceleration, or by its orientation where it has none."""
    quaternion, up = read_imu(message)
    if up is None and quaternion is not None:
        size = float(np.linalg.norm(quaternion))
        if abs(size - 1.0) < 1e-3:
            up = np.asarray(so3.from_quaternion(quaternion / size)[2])
    if up is None or not np.isfinite(up).all():
        raise MessageError("level", "the IMU's message has neither acceleration nor orientation")
    return up


class CommandServices:
    """Holds, levels, rides and checks paths when asked.

    Parameters
    ----------
    node : StewartCommandNode
        Which offers the services, and commands the platform.
    """

    def __init__(self, node: Any) -> None:
        self._node, self._worker = node, Worker("services")
        self._imu: tuple[Any, float] = None, 0.0
        node.serve_trigger("~/hold", self.hold)
        node.serve_trigger("~/level", self.level)
        node.serve_trigger("~/travel_left", lambda: all_travel(self._ways()))
        node.create_service(
            SetBool, "~/ride", lambda ask, response: answer_request(response, lambda: self.ride(ask.data))
        )
        self._offers = Services(node)
        self._offers.offer("CheckPosePath", "~/check_path", self._check, self._worker)

    def close(self) -> None:
        """End the thread."""
        self._worker.close()

    def on_imu(self, message: Imu) -> None:
        """Keep what levels the platform."""
        self._imu = message, self._node.waiting_time()

    def _core(self, what: str) -> StewartCommandCore:
        core = self._node.core
        if core is None or core.phase == OFF:
            raise MessageError("phase", f"nothing to {what}: no leg lengths were found yet")
        return core

    def hold(self) -> str:
        """Slow down and hold; return why, or raise why not."""
        core, node = self._core("hold"), self._node
        timeout = core.options.given.state_timeout
        if timeout and node.waiting_time() - node.heard > timeout:
            raise MessageError("stale", f"no leg lengths for {timeout:g} s")
        node.rider.end()
        node.planner.wait_no_more()
        core.hold()
        node.refused = ""
        return core.reason

    def level(self) -> str:
        """Go to the pose that levels the platform by the IMU, about the tool's origin."""
        core, settings, (message, heard) = self._core("level"), self._node.settings, self._imu
        tool = settings["frame_prefix"] + settings["tool_frame"]
        target = level_target(core, message, self._node.waiting_time() - heard, frames_of(settings)[1], tool)
        self._node.ask(core, target)
        return "the platform goes to where the IMU is level"

    def ride(self, begin: bool) -> str:
        """Follow the vehicle, or go to the home pose."""
        core, node = self._core("ride"), self._node
        if begin:
            node.rider.begin(core, node.waiting_time())
            return "following the vehicle"
        node.ask(core, node.rider.home(core))
        return "the platform goes to its home pose"

    def _check(self, request: Any, response: Any) -> None:
        check(self._node.reader, self._core("check"), request, response, self._node.legs)

    def _ways(self) -> Way:
        """Return what finds the travel left from the pose commanded last."""
        core = self._core("go from")
        options = core.options
        return ways_from(options.platform, core.pose, self._node.legs, limits=options.limits.stroke)

    def describe(self, report: Report) -> None:
        """Tell of the services in the diagnostics, and the travel left."""
        self._offers.describe(report)
        core = self._node.core
        if core is not None and core.phase != OFF:
            describe_travel(self._ways(), report)
