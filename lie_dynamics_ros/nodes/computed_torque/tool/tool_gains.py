"""Gains of the modes that control a tool's pose, as far as the sampled loop can carry them."""

from __future__ import annotations

from dataclasses import dataclass

from ....lie_dynamics.arrays import Array
from ....lie_dynamics.control import largest_period
from .tool_options import ToolOptions

USED_FREQUENCY = 0.9
"""Share of the frequencies that the loop can carry, as mode impedance uses it: soft limits take some, too."""


@dataclass(frozen=True)
class ToolGains:
    """Gains in force.

    Attributes
    ----------
    kp, kd : ndarray, shape (6,)
        Of mode operational_space [1/s^2, 1/s], turning first.
    factor : float
        By which its bandwidth is below what was requested; 1 where it is not.
    fastest : float
        Largest natural frequency of mode impedance [rad/s].
    posture_kp, posture_kd : float
        Of the null space [1/s^2, 1/s].
    """

    kp: Array
    kd: Array
    factor: float
    fastest: float
    posture_kp: float
    posture_kd: float


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
