"""Parameters of the node closed_loop, besides those of all robots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.mechanism.settings import MECHANISM_SETTINGS
from ...core.robot_options import RobotOptions
from ...core.setting import Setting
from ...core.tracking import PUBLISH, WITHHOLD

RESOLUTIONS = ("least_torque", "least_constraint_force")
CLOSED_LOOP_SETTINGS = (
    *MECHANISM_SETTINGS,
    Setting(
        "when_ambiguous",
        PUBLISH,
        "What becomes of a state whose status is AMBIGUOUS: published as any other, flagged on ~/status, or nothing.",
        choices=(WITHHOLD, PUBLISH),
    ),
    Setting(
        "platform_frame",
        "",
        "Link or frame whose pose and twist in the root link are published. Empty: none.",
        "while unconfigured",
    ),
    Setting(
        "estimated_wrench",
        [""],
        "Components of a wrench at platform_frame, in its axes, estimated from measured efforts of motors, at most "
        "as many as freedoms: moment_x, moment_y, moment_z, force_x, force_y, force_z. ['']: none.",
        "while unconfigured",
    ),
    Setting(
        "publish_tf",
        False,
        "Publish the platform's frame on /tf, where tf2_msgs is installed and nobody else does.",
        "at start",
    ),
    Setting(
        "resolution",
        RESOLUTIONS[0],
        "What is smallest where there are more motors than freedoms: the squares of their efforts, or of what loops "
        "transmit.",
        choices=RESOLUTIONS,
    ),
    Setting(
        "saturate_efforts",
        True,
        "Limit efforts to the effort limits of the URDF; accelerations are those of the limited efforts.",
    ),
    Setting(
        "command_timeout",
        0.5,
        "Commands older than this count as none [s]. 0: no limit.",
        low=0.0,
        high=3600.0,
    ),
    Setting(
        "amplification_warning",
        100.0,
        "How many times as fast as the measured joints the others may move before the diagnostics warn.",
        low=1.0,
        high=1e9,
    ),
    Setting(
        "singularity_warning",
        0.5,
        "Time left before a singular configuration, at the present speed, below which the log and the diagnostics warn "
        "[s]. 0: never.",
        low=0.0,
        high=60.0,
    ),
)


@dataclass(frozen=True)
class ClosedLoopOptions(RobotOptions):
    """Options that may change at run time; see `CLOSED_LOOP_SETTINGS`."""

    publish_ambiguous: bool
    resolution: str
    saturate: bool
    command_timeout: int  # [ns]

    @staticmethod
    def read(values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes that parameter values stand for; raises ParameterError."""
        return {
            **RobotOptions.read(values),
            "publish_ambiguous": values["when_ambiguous"] == PUBLISH,
            "resolution": values["resolution"],
            "saturate": values["saturate_efforts"],
            "command_timeout": round(values["command_timeout"] * 1e9),
        }
