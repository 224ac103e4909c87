"""Parameters of the modes that control the pose of a tool, and gains as far as the sampled loop can carry them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.errors import ParameterError
from ...core.parameters import Parameters, parameter
from ...lie_dynamics import Model
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control import is_robust, largest_period

#: Share of the frequencies that the loop can carry, as mode impedance uses it: soft limits take some, too.
USED_FREQUENCY = 0.9


@dataclass(frozen=True)
class ToolGains:
    """Gains in force."""

    kp: Array  # of mode operational_space (6,), turning first [1/s^2]
    kd: Array  # likewise [1/s]
    factor: float  # by which its bandwidth is below what was requested; 1 where it is not
    fastest: float  # largest natural frequency of mode impedance [rad/s]
    posture_kp: float  # of the null space [1/s^2]
    posture_kd: float  # likewise [1/s]


def make_tool_gains(options: ToolOptions, period: float, delay: float, pole: float | None) -> ToolGains:
    """Return the gains for a loop: its period [s], delay [periods] and the pole of the filter of velocities.

    At a pose the loop decouples into pairs (w^2, 2 zeta w), those of the null space into (p^2, 2 p).
    """
    _, ratio, rate = options.axis_numbers
    factor = min(_factor(w, z, period, delay, pole) for w, z in {*zip(rate.tolist(), ratio.tolist(), strict=True)})
    rate = factor * rate
    posture = _factor(options.posture_rate, 1.0, period, delay, pole) * options.posture_rate
    fastest = USED_FREQUENCY * min(largest_period(1.0, 2.0 * z, 0.0, delay, pole) for z in {*ratio.tolist()}) / period
    return ToolGains(rate**2, 2.0 * ratio * rate, factor, fastest, posture**2, 2.0 * posture)


def _factor(rate: float, ratio: float, period: float, delay: float, pole: float | None) -> float:
    return min(1.0, largest_period(rate * rate, 2.0 * ratio * rate, 0.0, delay, pole) / period)


TOOL_MODES = ("operational_space", "impedance")
AXES = ("base", "tool")
THREE = "One number for all axes, or three (x, y, z)."
POSE_RATE = f"How fast errors vanish in mode operational_space. {THREE} [1/s]."
POSE_RATIO = f"Damping in modes operational_space and impedance. {THREE} [1]."
POSE_SPEED = "Largest speed at which the desired pose moves to its target"


@dataclass(frozen=True)
class ToolOptions(Parameters):
    """Parameters of the modes that control the pose of a tool."""

    tool_frame: str = parameter("", "Link or frame whose pose is controlled; '' stands for the last link.")
    tool_axes: str = parameter(
        AXES[0], "Axes of stiffness, damping and rates: of the base or of the tool.", choices=AXES
    )
    rotational_stiffness: tuple[float, ...] = parameter(
        [30.0], f"Stiffness in mode impedance. {THREE} [N m/rad].", low=1e-3, high=1e6
    )
    translational_stiffness: tuple[float, ...] = parameter(
        [400.0], f"Stiffness in mode impedance. {THREE} [N/m].", low=1e-3, high=1e6
    )
    rotational_rate: tuple[float, ...] = parameter([10.0], POSE_RATE, low=1e-3, high=1e4)
    translational_rate: tuple[float, ...] = parameter([10.0], POSE_RATE, low=1e-3, high=1e4)
    rotational_damping_ratio: tuple[float, ...] = parameter([1.0], POSE_RATIO, low=0.1, high=10.0)
    translational_damping_ratio: tuple[float, ...] = parameter([1.0], POSE_RATIO, low=0.1, high=10.0)
    rotational_speed: float = parameter(1.0, f"{POSE_SPEED} [rad/s].", low=1e-4, high=1e3)
    translational_speed: float = parameter(0.25, f"{POSE_SPEED} [m/s].", low=1e-4, high=1e3)
    rotational_acceleration: float = parameter(8.0, "Its largest acceleration [rad/s^2].", low=1e-4, high=1e4)
    translational_acceleration: float = parameter(2.0, "Its largest acceleration [m/s^2].", low=1e-4, high=1e4)
    posture: tuple[float, ...] = parameter(
        [0.0],
        "What the null space holds, in model order [rad, m]; one number: where the mode began.",
        low=-1e6,
        high=1e6,
    )
    posture_rate: float = parameter(4.0, "How fast the null space goes there, critically damped [1/s].", high=1e4)
    singularity: float = parameter(
        0.05,
        "Directions that the tool moves in less easily than by this part of the easiest are given up [1].",
        low=1e-4,
        high=0.5,
    )
    target_timeout: float = parameter(0.1, "Older target twists count as zero [s]. 0: no limit.", high=3600.0)
    yield_to_wrenches: bool = parameter(True, "Whether the tool gives way to ~/external_wrench in mode impedance, too.")

    def check(self) -> None:
        """Check values; raises ParameterError."""
        super().check()
        _ = self.axis_numbers
        if not self.posture:
            raise ParameterError("posture is empty; expected one number, or one for each joint")

    def check_rates(self, rate: float, delay: float) -> None:
        """Raise ParameterError where a loop of a rate [Hz], a delay [periods] cannot carry mode operational_space."""
        _, ratios, rates = self.axis_numbers
        for w, ratio in {*zip(rates.tolist(), ratios.tolist(), strict=True), (self.posture_rate, 1.0)}:
            if not is_robust(1.0 / rate, delay, w * w, 2.0 * ratio * w):
                raise ParameterError(
                    f"rotational_rate, translational_rate, posture_rate: a loop of {rate:g} Hz with a delay of "
                    f"{delay:g} periods cannot carry {w:g} /s with a damping ratio of {ratio:g}"
                )

    def check_model(self, model: Model) -> None:
        """Raise ParameterError where a robot cannot have this."""
        link = self.tool_link
        if link and (link not in model.frames or model.frame(link).body < 0):
            raise ParameterError(f"tool_frame: the robot has no moving link or frame {link}")
        if len(self.posture) not in (1, model.nv):
            raise ParameterError(f"posture has {len(self.posture)} entries; expected 1 or {model.nv}, one a joint")

    @property
    def tool_link(self) -> str:
        """`tool_frame` without the slash that older nodes send."""
        return self.tool_frame.removeprefix("/")

    @property
    def axis_numbers(self) -> tuple[Array, Array, Array]:
        """Stiffness, damping ratio and rate (6,) along six axes, turning first."""
        stiffness, ratio, rate = (self._six(name) for name in ("stiffness", "damping_ratio", "rate"))
        return stiffness, ratio, rate

    @property
    def speed(self) -> tuple[float, float]:
        """Largest speeds of turning and of moving."""
        return self.rotational_speed, self.translational_speed

    @property
    def acceleration(self) -> tuple[float, float]:
        """Largest accelerations of turning and of moving."""
        return self.rotational_acceleration, self.translational_acceleration

    def _six(self, name: str) -> Array:
        numbers: list[float] = []
        for kind in ("rotational", "translational"):
            given = getattr(self, f"{kind}_{name}")
            if len(given) not in (1, 3):
                raise ParameterError(f"{kind}_{name} has {len(given)} entries; expected 1 or 3 (x, y, z)")
            numbers += given * (3 // len(given))
        return np.array(numbers)
