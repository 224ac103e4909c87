"""Motions of a Stewart platform, without ROS: periodic, to a desired pose, or by actuators of its legs."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from ...core.parameters import Parameters, parameter
from ...core.platform import LoadParameters, said
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.constraints.tracking.offset_tracker import OffsetTracker
from ...lie_dynamics.lie import so3
from ...lie_dynamics.stewart import OffsetPlatform, StewartError, StewartTracker
from ...lie_dynamics.stewart.command import leg_forces
from ...lie_dynamics.stewart.geometry.any_platform import Platform

LONGEST_STEP = 0.1
"""Longest step in time [s]: a simulation that was held up goes on where it was."""
EASING = 1.0
"""Rate at which the motion on its own gets smaller while the platform waits at a limit [1/s]."""
LEAST_DETERMINANT = 1e-2
"""Share of the determinant of the Jacobian in the home pose below which a pose counts as close to a singular one."""


@dataclass(frozen=True)
class MotionOptions(Parameters):
    """Motion of the platform on its own: six oscillations within half an octave, followed with a time constant."""

    translation_amplitude: float = parameter(
        0.05,
        "Largest distance from the home pose along each axis, when it moves on its own; less where limits need it [m].",
        high=10.0,
    )
    rotation_amplitude: float = parameter(
        0.2, "Largest angle from the home pose about each axis, when it moves on its own [rad].", high=1.5
    )
    frequency: float = parameter(0.2, "Frequency of the motion on its own [Hz].", low=0.001, high=10.0)
    response_time: float = parameter(
        0.2,
        "Time constant with which the platform follows a desired pose, or its own motion [s].",
        low=0.001,
        high=100.0,
    )


class PlatformMotion:
    """Pose and twist of a platform that follows its target as a critically damped mass on a spring would.

    Position and velocity are continuous whatever the target does. The platform stops, and waits, before legs that
    would leave their limits and before singular poses.

    Parameters
    ----------
    platform : StewartPlatform, OffsetPlatform or RotaryPlatform
    home : ndarray, shape (4, 4)
        Where it starts, at rest, and about which it moves on its own.
    options : MotionOptions

    Attributes
    ----------
    pose : ndarray, shape (4, 4)
        Of the platform frame in the base frame.
    twist : ndarray, shape (6,)
        Body twist (angular, linear) [rad/s, m/s].
    lengths, rates : ndarray, shape (6,)
        Of the legs [m, m/s], or of rotary ones' motors [rad, rad/s].
    held : str
        What the platform waits before; empty where it moves freely.
    """

    def __init__(self, platform: Platform, home: Array, options: MotionOptions) -> None:
        self._platform, self._home = platform, np.array(home)
        self.options = options
        self._time = 0.0
        self._goal: Array | None = None
        self._size = 1.0  # part of its own motion that is left
        # Rotation vector from the home orientation, in its axes, and displacement from the home position.
        self._x, self._v = np.zeros(6), np.zeros(6)
        self.held = ""
        spread = (np.arange(6) * (math.sqrt(5.0) - 1.0) / 2.0) % 1.0
        self._octaves, self._phases = 2.0 * math.pi * (1.0 + 0.5 * spread), 2.0 * math.pi * spread
        self.pose, self.twist, self.lengths, self.rates, self._determinant = self._placed()
        self._home_determinant = self._determinant

    def go_to(self, pose: Array | None) -> None:
        """Go to a pose, shape (4, 4), and stay there; None: move on its own again."""
        if pose is None:
            self._goal = None
            return
        self._goal = np.concatenate((so3.log(self._home[:3, :3].T @ pose[:3, :3]), pose[:3, 3] - self._home[:3, 3]))

    def advance(self, step: float) -> None:
        """Let some time pass [s]."""
        step = min(max(step, 0.0), LONGEST_STEP)
        self._time += step
        target = self._target() if self._goal is None else self._goal
        # The exact solution for a target that stands still during the step.
        rate = 1.0 / self.options.response_time
        gap = self._x - target
        push = (self._v + rate * gap) * step
        decay = math.exp(-rate * step)
        x, v = target + (gap + push) * decay, (self._v - rate * push) * decay
        before = self._x, self._v
        self._x, self._v = x, v
        try:
            self.pose, self.twist, self.lengths, self.rates, self._determinant = self._placed()
            self.held = self._obstacle()
        except StewartError as error:  # legs on offset joints have no length there
            self.held = str(error)
        if self.held:
            if self._goal is None:  # amplitudes that suit another platform
                self._size *= math.exp(-EASING * step)
                self.held += f"; it moves on its own by {self._size:.0%} of its amplitudes"
            self._x, self._v = before[0], np.zeros(6)
            self.pose, self.twist, self.lengths, self.rates, self._determinant = self._placed()

    def _target(self) -> Array:
        options = self.options
        swing = np.sin(self._octaves * options.frequency * self._time + self._phases)
        swing[:3] *= self._size * options.rotation_amplitude
        swing[3:] *= self._size * options.translation_amplitude
        return swing

    def _placed(self) -> tuple[Array, Array, Array, Array, float]:
        """Return pose, twist, lengths, rates, and the Jacobian's determinant where the platform is now."""
        turn, rate = self._x[:3], self._v[:3]
        pose = np.eye(4)
        pose[:3, :3] = self._home[:3, :3] @ so3.exp(turn)
        pose[:3, 3] = self._home[:3, 3] + self._x[3:]
        twist = np.concatenate((so3.right_jacobian(turn) @ rate, pose[:3, :3].T @ self._v[3:]))
        jacobian = self._platform.jacobian(pose)
        lengths = self._platform.motor_positions(pose)
        return pose, twist, lengths, jacobian @ twist, float(np.linalg.det(jacobian))

    def _obstacle(self) -> str:
        """Say what is wrong with the pose; empty where nothing is."""
        margins = self._platform.motor_margins(self.lengths)
        leg = int(margins.argmin())
        if margins[leg] < 0.0:
            (low, high), unit = self._platform.motor_limits[leg], self._platform.motor_units[0]
            return f"leg {leg + 1} would be {said(self.lengths[leg], unit)}, limits {low:.6g} to {high:.6g} {unit}"
        if not self._determinant / self._home_determinant > LEAST_DETERMINANT:
            return "a singular pose is near"
        return ""


def specific_force(pose: Array, twist: Array, before: Array, step: float, gravity: Array) -> Array:
    """Return what an accelerometer at the platform frame measures (3,), in its axes [m/s^2].

    Parameters
    ----------
    pose : ndarray, shape (4, 4)
    twist, before : ndarray, shape (6,)
        Body twists (angular, linear) now and a step [s] ago.
    gravity : ndarray, shape (3,)
        In the base frame.
    """
    return np.asarray((twist[3:] - before[3:]) / step + np.cross(twist[:3], twist[3:]) - pose[:3, :3].T @ gravity)


# Legs driven by actuators as they are: a platform that follows set points of its legs.

SUBSTEP, OFFSET_SUBSTEP = 1e-3, 0.01
"""Longest step in time within one [s]; of legs on offset joints, which take longer to follow."""
LARGEST_SETPOINT = 1e6
"""Bound of set points, beyond all strokes and rates, below which sums and forces stay finite [m, m/s]."""
MOST_WAITING = 10_000
"""Commands on their way, at most."""


@dataclass(frozen=True)
class ActuatorOptions(LoadParameters):
    """Actuators of the legs, sliding or rotary, and their load."""

    max_rate: float = parameter(0.0, "Of actuators: largest rate of a leg [m/s]; 0.0: no limit.", high=100.0)
    max_acceleration: float = parameter(
        0.0, "Of actuators: largest acceleration of a leg [m/s^2]; 0.0: no limit.", high=10_000.0
    )
    max_force: float = parameter(0.0, "Of actuators: largest force of a leg [N]; 0.0: no limit.", high=1e9)
    backlash: float = parameter(0.0, "Of actuators: way that a motor turns back before its leg follows [m].", high=0.1)
    delay: float = parameter(0.0, "Of actuators: from a set point to its effect [s].", high=1.0)
    servo_rate: float = parameter(
        50.0,
        "Of actuators: share of the distance to its set point that a motor makes good in a second [1/s].",
        low=0.1,
        high=500.0,
    )


class LegActuators:
    """Pose and twist of a platform whose legs follow set points, as far as their actuators can.

    Parameters
    ----------
    platform : StewartPlatform, OffsetPlatform or RotaryPlatform
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

    def __init__(self, platform: Platform, home: Array, options: ActuatorOptions) -> None:
        self._platform, self.options = platform, options
        offset = isinstance(platform, OffsetPlatform)
        self._longest = OFFSET_SUBSTEP if offset else SUBSTEP
        self._tracker = OffsetTracker(platform, home) if offset else StewartTracker(platform, home)
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
        count = math.ceil(step / self._longest - 1e-9)
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
        fastest, most = options.max_rate or math.inf, h * (options.max_acceleration or math.inf)
        wish = np.clip(wish, -fastest, fastest)
        change = np.clip(wish - self.rates, -most, most)
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
        if not options.max_force:
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
