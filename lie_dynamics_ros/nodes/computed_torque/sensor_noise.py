"""Noise of sensors in the velocities of joints, estimated from the velocities."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...core.robot_state import RobotState
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control.position_steps import PositionSteps
from ...lie_dynamics.control.velocity_filter import velocity_noise

NOISE_MEMORY = 0.2
"""Time over which noise is estimated [s]."""
LARGEST_NOISE = 0.03
"""Standard deviation of velocities beyond which they are taken to change so fast [rad/s, m/s]."""
PEAK_TO_PEAK = 6.0
"""Peak to peak of noise, over its standard deviation."""
STEP_TO_PEAK = 2.0
"""Peak to peak of velocities from positions, over a step of these times the factor of `velocity_noise`."""


@dataclass(slots=True)
class NoiseState:
    """The last velocities, their last second differences, newest first, and mean products (3, n) of these."""

    last: list[Array] = field(default_factory=list)
    second: list[Array] = field(default_factory=list)
    products: Array | None = None


class SensorNoise:
    """Effect of noise on velocities and positions.

    Measured velocities: by the second differences, which motions hardly have. An oscillation has, so the squares of
    these and their products with those of one and of two states before are taken for the sum of white noise, x (6, -4,
    1), and of a sine, p (1, c, 2 c^2 - 1); without p and c that is a quadratic equation for x (Pisarenko's harmonic
    decomposition). Velocities found in positions: by the steps of positions.

    Parameters
    ----------
    steps : PositionSteps
        That take in the positions of the same states.
    """

    def __init__(self, steps: PositionSteps) -> None:
        self._steps = steps
        self._state = NoiseState()

    def reset(self) -> None:
        """Begin without noise."""
        self._state = NoiseState()

    def swing(self, state: RobotState, period: float) -> tuple[Array | float, Array | float]:
        """Return how far velocities swing by noise, and steps of positions, ``period`` [s] after the state before."""
        if period <= 0.0:
            return 0.0, 0.0
        if state.filter_time:
            steps = self._steps.found
            return STEP_TO_PEAK * velocity_noise(state.filter_time, period) * steps, steps
        s = self._state
        s.last = [*s.last[-2:], state.velocity.copy()]  # drivers may use their arrays again
        if len(s.last) == 3:
            s.second = [s.last[0] - 2.0 * s.last[1] + s.last[2], *s.second[:2]]
        if len(s.second) < 3:
            return 0.0, 0.0
        products = s.second[0] * np.array(s.second)
        before = np.zeros_like(products) if s.products is None else s.products
        s.products = before + (products - before) * min(1.0, period / NOISE_MEMORY)
        noise = np.sqrt(white(s.products))
        return PEAK_TO_PEAK * np.where(noise < LARGEST_NOISE, noise, 0.0), 0.0


def white(products: Array) -> Array:
    """Return the variance (n,) of white noise beside one sine, by products (3, n) of second differences."""
    r0, r1, r2 = products
    b, c = 13.0 * r0 + 16.0 * r1 + 6.0 * r2, r0 * r0 + r0 * r2 - 2.0 * r1 * r1
    found: Array = np.minimum(np.maximum((b - np.sqrt(np.maximum(b * b - 40.0 * c, 0.0))) / 20.0, 0.0), r0 / 6.0)
    return found
