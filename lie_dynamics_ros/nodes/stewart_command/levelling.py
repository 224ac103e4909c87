"""Where a platform is level, by an accelerometer or an inclinometer on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.commanding.phases import HOLDING
from ...core.errors import MessageError
from ...lie_dynamics.lie import so3
from ...lie_dynamics.stewart.command import levelled
from ...ros.wire.messages import read_imu
from .core import StewartCommandCore
from .targets import PathTarget

IMU_AGE = 1.0
"""Age beyond which a message levels nothing [s]."""


def level_target(
    core: StewartCommandCore, message: Any, age: float, platform_frame: str, tool_frame: str
) -> PathTarget:
    """Return the target that levels a platform at rest by a sensor_msgs/Imu of an age [s], about the tool's origin.

    Raises
    ------
    MessageError
        The platform does not rest; the message is too old, of another frame, or tells no vertical.
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
