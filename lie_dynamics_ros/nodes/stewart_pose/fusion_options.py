"""Parameters of the fusion of sensors in the node stewart_pose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.errors import MessageError, ParameterError
from ...core.leg_state import LEGS
from ...core.poses import numbers_to_matrix
from ...lie_dynamics.stewart import InertialSensor


@dataclass(frozen=True)
class FusionOptions:
    """Options of the fusion; see the parameters of the node."""

    jerk: tuple[float, float]
    delays: tuple[float, ...]
    delay_deviations: tuple[float, ...]
    resolution: float | None
    inertial: InertialSensor | None

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> FusionOptions:
        """Make options of parameter values; raises ParameterError where they make no sense."""
        for name, sizes in (("jerk", (2,)), ("leg_delays", (1, LEGS)), ("leg_delay_deviations", (1, LEGS))):
            if len(values[name]) not in sizes:
                raise ParameterError(f"{name} has {len(values[name])} numbers; expected {' or '.join(map(str, sizes))}")
        inertial = None
        if values["use_imu"]:
            place = tuple(values["imu_pose"])
            if place != (0.0,) and len(place) != 7:
                raise ParameterError(
                    f"imu_pose has {len(place)} numbers; expected 7, or [0.0] for the platform's frame"
                )
            try:
                pose = np.eye(4) if len(place) != 7 else numbers_to_matrix(place)
            except MessageError as error:
                raise ParameterError(f"imu_pose: {error}") from error
            inertial = InertialSensor(
                gyroscope_noise=values["gyroscope_noise"],
                accelerometer_noise=values["accelerometer_noise"],
                pose=pose,
                delay=values["imu_delay"],
                delay_deviation=values["imu_delay_deviation"],
                gyroscope_bias=values["gyroscope_bias_deviation"],
                accelerometer_bias=values["accelerometer_bias_deviation"],
                gyroscope_scale=values["gyroscope_scale_deviation"],
                accelerometer_scale=values["accelerometer_scale_deviation"],
                alignment=values["imu_alignment_deviation"],
            )
        return cls(
            jerk=(values["jerk"][0], values["jerk"][1]),
            delays=tuple(values["leg_delays"]),
            delay_deviations=tuple(values["leg_delay_deviations"]),
            resolution=values["leg_resolution"] if values["leg_resolution"] >= 0.0 else None,
            inertial=inertial,
        )
