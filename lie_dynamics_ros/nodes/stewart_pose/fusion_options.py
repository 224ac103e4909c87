"""Parameters of the node stewart_pose with `fusion`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...core.errors import MessageError, ParameterError
from ...core.frames import numbers_to_matrix
from ...core.parameters import Parameters, parameter
from ...core.platform import LEGS
from ...lie_dynamics.stewart import InertialSensor
from ...lie_dynamics.stewart.fusion.platform_sensors import READINGS


def reading_parameter(name: str, text: str) -> Any:
    """Return the parameter of a value that may also be in the platform's file."""
    default, low, high = READINGS[name]
    return parameter(default, text, "while unconfigured", low=low, high=high)


@dataclass(frozen=True)
class FusionOptions(Parameters):
    """Parameters of the fusion."""

    use_imu: bool = parameter(False, "With fusion: an IMU on the platform, by the topic imu.", "at start")
    imu_pose: tuple[float, ...] = parameter(
        [0.0],
        "Pose of the IMU in the platform frame: x, y, z [m], quaternion x, y, z, w. [0.0] stands for that frame.",
        "while unconfigured", low=-1000.0, high=1000.0,
    )
    gyroscope_noise: float = parameter(
        2e-3, "Standard deviation of angular velocities of the IMU [rad/s].", "while unconfigured", low=1e-9, high=100.0
    )
    accelerometer_noise: float = parameter(
        3e-2, "Standard deviation of accelerations of the IMU [m/s^2].", "while unconfigured", low=1e-9, high=1000.0
    )
    imu_delay: float = parameter(
        0.0, "How much older than its time stamp a reading of the IMU is [s].", "while unconfigured", high=0.1
    )
    imu_delay_deviation: float = parameter(
        0.0,
        "Standard deviation of imu_delay, which is estimated where it is not 0 [s].",
        "while unconfigured", high=0.1,
    )
    imu_delay_error: float = parameter(
        3e-3,
        "What nobody knows of imu_delay where it is not estimated, as a standard deviation [s]: readings of the IMU "
        "count less in motion.",
        "while unconfigured", high=0.1,
    )
    gyroscope_bias_deviation: float = parameter(
        2e-2,
        "Standard deviation of the gyroscope's bias at the start [rad/s], estimated with the pose.",
        "while unconfigured", high=10.0,
    )
    accelerometer_bias_deviation: float = parameter(
        2e-1,
        "Standard deviation of the accelerometer's bias at the start [m/s^2], estimated with the pose.",
        "while unconfigured", high=100.0,
    )
    gyroscope_scale_deviation: float = parameter(
        2e-2,
        "Standard deviation of the gyroscope's errors of scale [1], estimated with the pose.",
        "while unconfigured", high=0.5,
    )
    accelerometer_scale_deviation: float = parameter(
        2e-2,
        "Standard deviation of the accelerometer's errors of scale [1], estimated with the pose.",
        "while unconfigured", high=0.5,
    )
    imu_alignment_deviation: float = parameter(
        2e-2,
        "Standard deviation of the turn of the IMU against imu_pose, about each axis [rad], estimated with the pose.",
        "while unconfigured", high=0.5,
    )
    jerk: tuple[float, float] = parameter(
        [10.0, 50.0],
        "With fusion: root of the density of the platform's linear [m/s^2.5] and angular jerk [rad/s^2.5]; j / sqrt(2 "
        "pi f) of a motion to and fro at f Hz with a jerk of j.",
        "while unconfigured", low=1e-6, high=1e9,
    )
    leg_delays: tuple[float, ...] = reading_parameter(
        "leg_delays",
        "With fusion: how much older than their time stamp lengths are; one for all legs or six [s].",
    )
    leg_delay_deviations: tuple[float, ...] = reading_parameter(
        "leg_delay_deviations",
        "With fusion: standard deviation of leg_delays, which are estimated where it is not 0; one or six [s].",
    )
    leg_resolution: float = parameter(
        -1.0,
        "With fusion: step between neighbouring lengths, so that a stuck sensor is known at rest [m]. -1.0: not "
        "known.",
        "while unconfigured", low=-1.0, high=1.0,
    )

    def check(self) -> None:
        """Check values; raises ParameterError."""
        super().check()
        for name, sizes in (("jerk", (2,)), ("leg_delays", (1, LEGS)), ("leg_delay_deviations", (1, LEGS))):
            if (count := len(getattr(self, name))) not in sizes:
                raise ParameterError(f"{name} has {count} numbers; expected {' or '.join(map(str, sizes))}")
        _ = self.inertial

    @cached_property
    def inertial(self) -> InertialSensor | None:
        """The IMU, where there is one."""
        if not self.use_imu:
            return None
        place = self.imu_pose
        if place != (0.0,) and len(place) != 7:
            raise ParameterError(f"imu_pose has {len(place)} numbers; expected 7, or [0.0] for the platform's frame")
        try:
            pose = np.eye(4) if len(place) != 7 else numbers_to_matrix(place)
        except MessageError as error:
            raise ParameterError(f"imu_pose: {error}") from error
        return InertialSensor(
            gyroscope_noise=self.gyroscope_noise,
            accelerometer_noise=self.accelerometer_noise,
            pose=pose,
            delay=self.imu_delay,
            delay_deviation=self.imu_delay_deviation,
            delay_error=self.imu_delay_error,
            gyroscope_bias=self.gyroscope_bias_deviation,
            accelerometer_bias=self.accelerometer_bias_deviation,
            gyroscope_scale=self.gyroscope_scale_deviation,
            accelerometer_scale=self.accelerometer_scale_deviation,
            alignment=self.imu_alignment_deviation,
        )
