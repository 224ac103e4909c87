"""Parameters of the node contact, besides those of all robots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.errors import ParameterError
from ...core.robot_options import RobotOptions
from ...core.setting import Setting, per_joint

CONTACT_SETTINGS = (
    Setting("contact_frame", "", "Link or frame at which wrenches are published. Empty: the last link."),
    Setting("contact_moment", False, "Whether contacts exert moments at that frame; else forces alone."),
    Setting(
        "largest_deviation",
        20.0,
        "Directions whose wrench is known less well than this are published as not felt [N]; moments over 0.1 m.",
        low=1e-3,
        high=1e6,
    ),
    Setting("false_alarms", 0.01, "Largest rate of false alarms, for normal noise [1/h].", low=1e-9, high=1e6),
    Setting("averaging", 0.035, "Time that torques and wrenches are means of [s].", low=1e-3, high=10.0),
    Setting("release", 0.1, "How long nothing is felt before a contact has ended [s].", high=60.0),
    Setting(
        "noise_time",
        5.0,
        "How long the noise of a robot at rest is measured before anything is published [s].",
        low=0.2,
        high=600.0,
    ),
    Setting(
        "velocity_noise",
        0.0,
        "Standard deviation of measured velocities; 0 has the noise measured [rad/s, m/s].",
        high=10.0,
    ),
    Setting("effort_noise", 0.0, "The same of efforts; set with velocity_noise [N m, N].", high=1000.0),
    per_joint(
        "offset_error",
        0.0,
        "What is not known of constant torques, as a standard deviation [N m, N].",
        high=1e6,
    ),
    per_joint("friction_error", 0.0, "What is not known of dry friction, as a standard deviation [N m, N].", high=1e6),
    Setting("drift_time", 600.0, "Time in which these two change [s].", low=1.0, high=1e6),
    Setting("model_error", 0.0, "Part of the efforts that the model misses [1].", high=10.0),
    Setting("effort_delay", 0.0, "How much older efforts are than the states that hold them [s].", high=0.1),
    Setting(
        "efforts_are",
        "measured",
        "Efforts in joint states: measured at the state, or commands, held over the period before it.",
        choices=("measured", "held"),
    ),
    Setting("driver_compensates_gravity", False, "Efforts in joint states are without those against gravity."),
)


@dataclass(frozen=True)
class ContactOptions(RobotOptions):
    """Options that may change at run time; see `CONTACT_SETTINGS`.

    Attributes
    ----------
    frame : str
    moment, held, weightless : bool
    limit, noise_time, velocity_noise, effort_noise : float
    observer : tuple
        Settings of `ContactObserver` by name, as pairs.
    """

    frame: str
    moment: bool
    held: bool
    weightless: bool
    limit: float
    noise_time: float
    velocity_noise: float
    effort_noise: float
    observer: tuple[tuple[str, Any], ...]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes that parameter values stand for; raises ParameterError."""
        if (values["velocity_noise"] > 0.0) != (values["effort_noise"] > 0.0):
            raise ParameterError("velocity_noise and effort_noise: expected both, or both 0 to have noise measured")
        numbers = ("false_alarms", "averaging", "release", "drift_time", "model_error", "effort_delay")
        return {
            **super().read(values),
            "frame": values["contact_frame"].removeprefix("/"),
            "moment": values["contact_moment"],
            "held": values["efforts_are"] == "held",
            "weightless": values["driver_compensates_gravity"],
            "limit": values["largest_deviation"],
            "observer": tuple((name, values[name]) for name in numbers)
            + tuple((name, tuple(values[name])) for name in ("offset_error", "friction_error")),
        }
