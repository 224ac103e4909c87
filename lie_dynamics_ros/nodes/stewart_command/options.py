"""Options of the node stewart_command, from its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.commanding.platform_load import numbers_of, read_load
from ...core.errors import MessageError, ParameterError
from ...core.poses import numbers_to_matrix
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.stewart.command import ClassicalWashout, CommandFrames, CommandLimits, PlatformLoad
from ...lie_dynamics.stewart.geometry.any_platform import PointJointed
from .targets import Ways

STEPS = 150
"""Of the grid along a path."""
WASHOUT = "washout_"
"""Begins the names of parameters of the washout; the rest is what `ClassicalWashout` calls them."""


@dataclass(frozen=True, eq=False)
class StewartCommandOptions:
    """Platform, limits and frames; see the parameters of the node."""

    platform: PointJointed
    limits: CommandLimits
    load: PlatformLoad
    frames: CommandFrames
    rate: float
    shape: str
    twist_timeout: float
    state_timeout: float
    following_tolerance: float
    rest_speed: float
    vehicle_timeout: float
    washout: Mapping[str, Any]

    @classmethod
    def from_values(cls, platform: PointJointed, values: Mapping[str, Any]) -> StewartCommandOptions:
        """Make options of parameter values; raises ParameterError where they make no sense together."""
        margin = values["stroke_reserve"]
        stroke = platform.motor_limits + np.array([margin, -margin])
        if not (stroke[:, 0] < stroke[:, 1]).all():
            unit = platform.motor_units[0]
            raise ParameterError(f"stroke_reserve is {margin:g} {unit}; it leaves nothing of the stroke of a leg")
        try:
            limits = CommandLimits(
                platform,
                stroke=stroke,
                rate=values["max_rate"],
                acceleration=values["max_acceleration"],
                force=_limit(values["max_force"]),
                base_cone=_limit(values["max_base_angle"]),
                platform_cone=_limit(values["max_platform_angle"]),
                condition=values["max_condition"],
                speed=_limit(values["max_speed"]),
                angular_speed=_limit(values["max_angular_speed"]),
            )
            load = read_load(values)
            frames = CommandFrames(_pose(values, "work_pose"), _pose(values, "tool_pose"))
        except LieDynamicsError as error:
            raise ParameterError(str(error)) from error
        washout = {name.removeprefix(WASHOUT): x for name, x in values.items() if name.startswith(WASHOUT)}
        try:
            ClassicalWashout(1.0, **washout)
        except LieDynamicsError as error:
            raise ParameterError(f"{WASHOUT}{error}") from error
        own = ("rate", "shape", "twist_timeout", "state_timeout", "following_tolerance", "rest_speed",
               "vehicle_timeout")  # fmt: skip
        return cls(platform, limits, load, frames, **{name: values[name] for name in own}, washout=washout)

    def ways(self) -> Ways:
        """Return how targets become motions."""
        return Ways(self.limits, self.load, self.frames, self.shape, STEPS, self.twist_timeout)


def _limit(value: float) -> float:
    return value if value > 0.0 else np.inf


def _pose(values: Mapping[str, Any], name: str) -> Array | None:
    if list(values[name]) == [0.0]:
        return None
    try:
        return numbers_to_matrix(numbers_of(values, name, 7))
    except MessageError as error:
        raise ParameterError(f"{name}: {error}") from error
