"""Legs driven by actuators as they are: a platform that follows set points of its legs. No ROS in here."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...lie_dynamics.stewart import StewartTracker
from ...lie_dynamics.stewart.command import PlatformLoad, leg_forces
from ...lie_dynamics.stewart.geometry.any_platform import PointJointed
from .core import LONGEST_STEP

SUBSTEP = 1e-3
"""Longest step in time within one [s]."""
LARGEST_SETPOINT = 1e6
"""Bound of set points, beyond all strokes and rates, below which sums and forces stay finite [m, m/s]."""
MOST_WAITING = 10_000
"""Commands on their way, at most."""


@dataclass(frozen=True, eq=False)
class ActuatorOptions:
    """Actuators of the legs.

    Attributes
    ----------
    max_rate, max_acceleration, max_force : float
        Of each leg [m/s, m/s^2, N], or motor [rad/s, rad/s^2, N m]; infinite where there is none.
    backlash : float
        Way that a motor turns back before its leg follows [m].
    delay : float
        From a command to its effect [s].
    servo_rate : float
        Share of the distance to its set point that a motor makes good in a second [1/s].
    load : PlatformLoad
        Which the forces move.
    """

    max_rate: float
    max_acceleration: float
    max_force: float
    backlash: float
    delay: float
    servo_rate: float
    load: PlatformLoad


class LegActuators:
    """Pose and twist of a platform whose legs follow set points, as far as their actuators can.

    Parameters
    ----------
    platform : StewartPlatform or RotaryPlatform
    home : ndarray, shape (4, 4)
        Where it starts, at rest.
    options : ActuatorOptions

    Attributes
    ----------
    pose, twist : ndarray, shape (4, 4), (6,)
        Of the platform, and its body twist.
    lengths, rates : ndarray, shape (6,)
        As the motors' encoders measure them, before the backlash [m, m/s].
    held : str
        What the actuators could not do in the last step; empty where they could all.
    """

    def __init__(self, platform: PointJointed, home: Array, options: ActuatorOptions) -> None:
        self._platform, self.options = platform, options
        self._tracker = StewartTracker(platform, home)
        self.pose, self.twist = np.array(home), np.zeros(6)
        self.lengths, self.rates = platform.motor_positions(home), np.zeros(6)
        self._legs = self.lengths.copy()  # behind the backlash
        self._wanted, self._wanted_rates = self.lengths.copy(), np.zeros(6)
        self._waiting: deque[tuple[float, Array, Array]] = deque(maxlen=MOST_WAITING)
        self._time = 0.0
        self.held = ""

    def command(self, lengths: Array, rates: Array) -> None:
        """Take set points (6,), (6,) [m, m/s]; they have effect after the delay."""
        lengths, rates = (np.clip(x, -LARGEST_SETPOINT, LARGEST_SETPOINT) for x in (lengths, rates))
        self._waiting.append((self._time + self.options.delay, lengths, rates))

    def advance(self, step: float) -> None:
        """Let some time pass [s]."""
        step = min(max(step, 0.0), LONGEST_STEP)
        count = math.ceil(step / SUBSTEP - 1e-9)
        self.held = ""
        for _ in range(count):
            self._substep(step / count)

    def _substep(self, h: float) -> None:
        options = self.options
        while self._waiting and self._waiting[0][0] <= self._time + 1e-9:
            _, self._wanted, self._wanted_rates = self._waiting.popleft()
        self._time += h
        # The mean rate of an exponential approach, which is exact for a set point that stands still.
        wish = self._wanted_rates - math.expm1(-options.servo_rate * h) / h * (self._wanted - self.lengths)
        wish = np.clip(wish, -options.max_rate, options.max_rate)
        change = np.clip(wish - self.rates, -options.max_acceleration * h, options.max_acceleration * h)
        rates = self.rates + change
        self._stall(rates, change / h)
        lengths = self.lengths + h * rates
        low, high = self._platform.motor_limits.T
        beyond = (lengths < low) | (lengths > high)
        if beyond.any():
            self.held = f"leg {int(np.argmax(beyond)) + 1} is at the end of its stroke"
            lengths, rates = np.clip(lengths, low, high), np.where(beyond, 0.0, rates)
        half = 0.5 * options.backlash
        legs = np.clip(self._legs, lengths - half, lengths + half)
        tracked = self._tracker.update(legs, (legs - self._legs) / h)
        if not tracked.continued:
            so = "so long" if self._platform.motor_units[0] == "m" else "at these angles"
            self.held = f"the legs cannot be {so}: {tracked.status.name.lower().replace('_', ' ')}"
            self.rates, self.twist = np.zeros(6), np.zeros(6)
            return
        self.lengths, self.rates, self._legs = lengths, rates, legs
        self.pose, self.twist = np.array(tracked.pose), np.array(tracked.twist)

    def _stall(self, rates: Array, accelerations: Array) -> None:
        """Stop legs that need more force than they have; their brakes hold them."""
        options = self.options
        if not math.isfinite(options.max_force):
            return
        jacobian = self._platform.jacobian(self.pose)
        drift = self._platform.motor_accelerations(self.pose, self.twist, np.zeros(6))
        acceleration = np.linalg.solve(jacobian, accelerations - drift)
        needed = leg_forces(self._platform, self.pose, self.twist, acceleration, options.load)
        weak = np.abs(needed) > options.max_force
        if weak.any():
            leg = int(np.argmax(np.abs(needed)))
            rates[weak] = 0.0
            unit = self._platform.motor_units[1]
            self.held = f"leg {leg + 1} needs {needed[leg]:.4g} {unit}, and has {options.max_force:g} {unit}: it stalls"
