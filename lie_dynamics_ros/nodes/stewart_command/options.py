"""What the node stewart_command is told by its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.commanding.platform_load import LOAD_SETTINGS, numbers_of, read_load
from ...core.errors import MessageError, ParameterError
from ...core.poses import numbers_to_matrix
from ...core.setting import Setting
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.stewart import StewartPlatform
from ...lie_dynamics.stewart.command import CommandFrames, CommandLimits, PlatformLoad
from .targets import SHAPES, Ways

STEPS = 150
"""Of the grid along a path."""

COMMAND_SETTINGS = (
    Setting("rate", 500.0, "Set points per second [Hz].", "while unconfigured", low=1.0, high=10_000.0),
    Setting("max_rate", 0.2, "Largest rate of a leg [m/s].", low=1e-6, high=100.0),
    Setting("max_acceleration", 1.0, "Largest acceleration of a leg [m/s^2].", low=1e-6, high=10_000.0),
    Setting("max_force", 0.0, "Largest force of a leg [N]; 0.0: no limit.", low=0.0, high=1e9),
    Setting("max_speed", 0.0, "Largest speed of the tool's origin [m/s]; 0.0: no limit.", low=0.0, high=100.0),
    Setting("max_angular_speed", 0.0, "Largest angular speed [rad/s]; 0.0: no limit.", low=0.0, high=1000.0),
    Setting("stroke_reserve", 0.0, "Kept free at both ends of each leg's stroke [m].", low=0.0, high=10.0),
    Setting("max_base_angle", 0.0, "Largest angle of a leg from where its joint on the base points to in the home pose"
            " [rad]; 0.0: no limit.", low=0.0, high=3.2),
    Setting("max_platform_angle", 0.0, "Largest angle of a leg from where its joint on the platform points to in the"
            " home pose [rad]; 0.0: no limit.", low=0.0, high=3.2),
    Setting("max_condition", 100.0, "Largest condition number of the leg Jacobian: the distance kept from singular"
            " poses.", low=1.0, high=1e6),
    *LOAD_SETTINGS,
    Setting("work_frame", "work", "Frame in which targets may be given, besides base_frame.", "while unconfigured"),
    Setting("work_pose", [0.0], "Its pose in the base frame: x, y, z [m], quaternion x, y, z, w; [0.0]: that of the"
            " base frame.", low=-1e6, high=1e6),
    Setting("tool_frame", "tool", "Frame on the platform that targets are for.", "while unconfigured"),
    Setting("tool_pose", [0.0], "Its pose in the platform frame, as work_pose; its origin is the pivot. [0.0]: that"
            " of the platform frame.", low=-1e6, high=1e6),
    Setting("shape", "line", "How the tool moves between poses without times.", choices=tuple(SHAPES)),
    Setting("twist_timeout", 0.2, "For which a target twist is followed [s].", low=0.001, high=10.0),
    Setting("state_timeout", 0.2, "Silence of leg lengths after which the platform is stopped [s]; 0.0: none.",
            low=0.0, high=3600.0),
    Setting("following_tolerance", 0.05, "Distance of a leg from its set point at which the platform is stopped [m];"
            " 0.0: none.", low=0.0, high=10.0),
    Setting("rest_speed", 0.02, "Rate of a leg that counts as rest, which the node waits for [m/s].",
            low=0.0, high=10.0),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class StewartCommandOptions:
    """Platform, limits and frames; see the parameters of the node."""

    platform: StewartPlatform
    limits: CommandLimits
    load: PlatformLoad
    frames: CommandFrames
    rate: float
    shape: str
    twist_timeout: float
    state_timeout: float
    following_tolerance: float
    rest_speed: float

    @classmethod
    def from_values(cls, platform: StewartPlatform, values: Mapping[str, Any]) -> StewartCommandOptions:
        """Make options of parameter values; raises ParameterError where they make no sense together."""
        margin = values["stroke_reserve"]
        stroke = platform.leg_limits + np.array([margin, -margin])
        if not (stroke[:, 0] < stroke[:, 1]).all():
            raise ParameterError(f"stroke_reserve is {margin:g} m; it leaves nothing of the stroke of a leg")
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
        own = ("rate", "shape", "twist_timeout", "state_timeout", "following_tolerance", "rest_speed")
        return cls(platform, limits, load, frames, **{name: values[name] for name in own})

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
