"""Parameters of the modes that control the pose of a tool, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.arrays import Array
from ....core.errors import ParameterError
from ....core.setting import Setting
from ....lie_dynamics import Model
from ....lie_dynamics.control import is_robust

TOOL_MODES = ("operational_space", "impedance")
AXES = ("base", "tool")
THREE = "One number for all axes, or three (x, y, z)."
PAIRS = ("stiffness", "damping_ratio", "rate", "speed", "acceleration")
"""Parameters that there are of turning and of moving: rotational_ and translational_."""


def _pair(name: str, turning: Any, moving: Any, text: str, units: tuple[str, str], low: float, high: float) -> Any:
    """Return the settings of turning and of moving."""
    kinds = (("rotational", turning, units[0]), ("translational", moving, units[1]))
    return tuple(
        Setting(f"{kind}_{name}", value, f"{text} [{unit}].", low=low, high=high) for kind, value, unit in kinds
    )


TOOL_SETTINGS = (
    Setting("tool_frame", "", "Link or frame whose pose is controlled; '' stands for the last link."),
    Setting("tool_axes", AXES[0], "Axes of stiffness, damping and rates: of the base or of the tool.", choices=AXES),
    *_pair(
        "stiffness", [30.0], [400.0], f"Stiffness in mode impedance. {THREE}", ("N m/rad", "N/m"), low=1e-3, high=1e6
    ),
    *_pair("rate", [10.0], [10.0], f"How fast errors vanish in mode operational_space. {THREE}", ("1/s", "1/s"),
           low=1e-3, high=1e4),
    *_pair("damping_ratio", [1.0], [1.0], f"Damping in modes operational_space and impedance. {THREE}", ("1", "1"),
           low=0.1, high=10.0),
    *_pair("speed", 1.0, 0.25, "Largest speed at which the desired pose moves to its target", ("rad/s", "m/s"),
           low=1e-4, high=1e3),
    *_pair("acceleration", 8.0, 2.0, "Its largest acceleration", ("rad/s^2", "m/s^2"), low=1e-4, high=1e4),
    Setting("posture", [0.0], "What the null space holds, in model order [rad, m]; one number: where the mode began.",
            low=-1e6, high=1e6),
    Setting("posture_rate", 4.0, "How fast the null space goes there, critically damped [1/s].", high=1e4),
    Setting(
        "singularity",
        0.05,
        "Directions that the tool moves in less easily than by this part of the easiest are given up [1].",
        low=1e-4,
        high=0.5,
    ),
    Setting("target_timeout", 0.1, "Older target twists count as zero [s]. 0: no limit.", high=3600.0),
    Setting("yield_to_wrenches", True, "Whether the tool gives way to ~/external_wrench in mode impedance, too."),
)  # fmt: skip


@dataclass(frozen=True)
class ToolOptions:
    """Options of the modes that control a tool's pose; numbers along six axes, turning first.

    Attributes
    ----------
    frame : str
        Empty for the last link.
    axes : str
        Of `AXES`.
    stiffness, damping_ratio, rate : tuple of float
        Six each.
    speed, acceleration : tuple of float
        Of turning and of moving.
    posture : tuple of float
        One number for the position in which the mode begins.
    """

    frame: str
    axes: str
    stiffness: tuple[float, ...]
    damping_ratio: tuple[float, ...]
    rate: tuple[float, ...]
    speed: tuple[float, ...]
    acceleration: tuple[float, ...]
    posture: tuple[float, ...]
    posture_rate: float
    singularity: float
    target_timeout: int
    yielding: bool

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> ToolOptions:
        """Make options of parameter values; raises ParameterError where they make no sense together."""
        six = {name: _six(values, name) for name in PAIRS[:3]}
        two = {name: (values[f"rotational_{name}"], values[f"translational_{name}"]) for name in PAIRS[3:]}
        if not values["posture"]:
            raise ParameterError("posture is empty; expected one number, or one for each joint")
        options = cls(
            values["tool_frame"].removeprefix("/"), values["tool_axes"], **six, **two,
            posture=tuple(values["posture"]), posture_rate=values["posture_rate"], singularity=values["singularity"],
            target_timeout=round(values["target_timeout"] * 1e9), yielding=values["yield_to_wrenches"],
        )  # fmt: skip
        if values["mode"] == TOOL_MODES[0] and values["rate"]:
            options._check_rates(values["rate"], values["delay"])
        return options

    def _check_rates(self, rate: float, delay: float) -> None:
        for w, ratio in {*zip(self.rate, self.damping_ratio, strict=True), (self.posture_rate, 1.0)}:
            if not is_robust(1.0 / rate, delay, w * w, 2.0 * ratio * w):
                raise ParameterError(
                    f"rotational_rate, translational_rate, posture_rate: a loop of {rate:g} Hz with a delay of "
                    f"{delay:g} periods cannot carry {w:g} /s with a damping ratio of {ratio:g}"
                )

    def check(self, model: Model) -> None:
        """Raise ParameterError where a robot cannot have this."""
        if self.frame and (self.frame not in model.frames or model.frame(self.frame).body < 0):
            raise ParameterError(f"tool_frame: the robot has no moving link or frame {self.frame}")
        if len(self.posture) not in (1, model.nv):
            raise ParameterError(f"posture has {len(self.posture)} entries; expected 1 or {model.nv}, one a joint")

    @property
    def numbers(self) -> tuple[Array, Array, Array]:
        """Stiffness, damping ratio and rate (6,)."""
        return np.array(self.stiffness), np.array(self.damping_ratio), np.array(self.rate)


def _six(values: Mapping[str, Any], name: str) -> tuple[float, ...]:
    numbers: list[float] = []
    for kind in ("rotational", "translational"):
        given = list(values[f"{kind}_{name}"])
        if len(given) not in (1, 3):
            raise ParameterError(f"{kind}_{name} has {len(given)} entries; expected 1 or 3 (x, y, z)")
        numbers += given * (3 // len(given))
    return tuple(numbers)
