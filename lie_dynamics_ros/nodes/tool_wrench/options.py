"""Parameters of the node tool_wrench, besides those of all robots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.errors import ParameterError
from ...core.robot_options import RobotOptions
from ...core.setting import Setting

TOOL_WRENCH_SETTINGS = (
    Setting("sensor_frame", "", "Link or frame of the sensor. Empty: that of its messages."),
    Setting(
        "sensor_bias",
        [0.0],
        "What the sensor reads of nothing, times reading_sign: force, torque [N, N m]. [0.0]: not calibrated.",
        low=-1e6,
        high=1e6,
    ),
    Setting(
        "reading_sign",
        1,
        "1 where the sensor reads the wrench on the robot, -1 where it reads that on the tool.",
        low=-1,
        high=1,
    ),
    Setting("tool_mass", 0.0, "Of all that hangs on the sensor [kg].", high=1e6),
    Setting("tool_center_of_mass", [0.0, 0.0, 0.0], "In the sensor's axes [m].", low=-1000.0, high=1000.0),
    Setting(
        "tool_inertia",
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        "About the centre of mass, in the sensor's axes: xx, xy, xz, yy, yz, zz [kg m^2].",
        low=-1e9,
        high=1e9,
    ),
    Setting("compensate_motion", True, "Take off what the motion of the tool exerts, too, not its weight alone."),
    Setting(
        "acceleration_filter_time",
        0.005,
        "Time constant of accelerations, which are found in velocities [s].",
        low=1e-4,
        high=1.0,
    ),
    Setting("pose_time", 1.0, "Of readings whose mean a pose of the calibration is [s].", low=0.02, high=60.0),
)


@dataclass(frozen=True)
class ToolWrenchOptions(RobotOptions):
    """Options that may change at run time; see `TOOL_WRENCH_SETTINGS`.

    Attributes
    ----------
    frame : str
    bias : tuple of float
        Torque, then force; empty where the sensor is not calibrated.
    sign : int
    mass : float
    com, inertia : tuple of float
    motion : bool
    filter_time, pose_time : float
    """

    frame: str
    bias: tuple[float, ...]
    sign: int
    mass: float
    com: tuple[float, ...]
    inertia: tuple[float, ...]
    motion: bool
    filter_time: float
    pose_time: float

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes that parameter values stand for; raises ParameterError."""
        for name, sizes in (("sensor_bias", (1, 6)), ("tool_center_of_mass", (3,)), ("tool_inertia", (6,))):
            if len(values[name]) not in sizes:
                raise ParameterError(f"{name} has {len(values[name])} entries; expected {sizes[-1]}")
        if len(values["sensor_bias"]) == 1 and values["sensor_bias"][0] != 0.0:
            raise ParameterError("sensor_bias has one number that is not 0; expected six, or [0.0] for no calibration")
        if values["reading_sign"] == 0:
            raise ParameterError("reading_sign is 0; expected 1 or -1")
        bias = tuple(values["sensor_bias"])
        return {
            **super().read(values),
            "frame": values["sensor_frame"].removeprefix("/"),
            "bias": (*bias[3:], *bias[:3]) if len(bias) == 6 else (),
            "sign": values["reading_sign"],
            "mass": values["tool_mass"],
            "com": tuple(values["tool_center_of_mass"]),
            "inertia": tuple(values["tool_inertia"]),
            "motion": values["compensate_motion"],
            "filter_time": values["acceleration_filter_time"],
        }
