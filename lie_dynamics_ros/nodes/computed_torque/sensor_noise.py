"""What sensors add and hide: noise of velocities, and how much damping bears it; steps of positions."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...core.robot_state import RobotState
from ...lie_dynamics.arrays import Array, Mask
from ...lie_dynamics.control.kernels import oscillation as k
from ...lie_dynamics.control.kernels import velocity_filter as v
from ...lie_dynamics.control.velocity_filter import PositionSteps, velocity_noise
from ...lie_dynamics.engine.compile import raise_if_rejected
from .oscillation_watch import FEW_TURNS, MEMORY, PHASE

NOISE_MEMORY = 0.2  # time over which noise is estimated [s]
PEAK_TO_PEAK = 6.0  # peak to peak of noise, over its standard deviation
#: Peak to peak of velocities from positions, over a step of these times the factor of `velocity_noise`.
STEP_TO_PEAK = 2.0
CALM_SPEED = 2e-3  # largest speed of joints at rest by noise of sensors [rad/s, m/s]
LIVELY = 0.2  # part of the speed of joints that noise may be: steps by which they are damped are not to turn them round
CALMS = 5.0  # rate at which it is forgotten how fast joints were, which bear more noise then [1/s]
MEAN_RATE = 10.0  # rate of the low-pass of velocities that shows whether joints get faster [1/s]
#: Turns of a position by more than a step, within the memory of the watch, that show that the joint swings.
SURE_TURNS = 0.5 * FEW_TURNS
SLOW_PHASE = 1.1  # as `PHASE`, below which a swing is slow for sure


class SensorNoise:
    """Effect of noise on velocities and positions; ``steps`` take in the positions of the same states.

    Measured velocities: by the second differences, which motions hardly have. An oscillation has, so the squares of
    these and their products with those of one and of two states before are taken for the sum of white noise, x (6, -4,
    1), and of a sine, p (1, c, 2 c^2 - 1); without p and c that is a quadratic equation for x (Pisarenko's harmonic
    decomposition). Velocities found in positions: by the steps of positions.
    """

    def __init__(self, steps: PositionSteps) -> None:
        self._steps, n = steps, len(steps.steps)
        self._table, self._numbers = np.zeros((v.MEND_ROWS, n)), np.zeros(3)
        self.reset(np.zeros(n))

    def reset(self, velocity: Array) -> None:
        """Begin without noise, at a mean velocity (n,)."""
        self._numbers[v.STATES] = self._lively = 0.0
        self._mean = velocity

    @property
    def calm_speed(self) -> float:
        """How fast joints may be by noise of sensors [rad/s, m/s]."""
        return max(CALM_SPEED, self._lively)

    def mend(self, state: RobotState, period: float) -> tuple[RobotState, Array | float, Array | float]:
        """Return a state with less noise, how far its velocities swing by noise, and the steps of its positions.

        It came ``period`` [s] after the one before. Measured velocities and positions mend each other, as the kernel
        says, and 0 stands for steps then.
        """
        if period <= 0.0:
            return state, 0.0, 0.0
        steps = self._steps.found
        if state.filter_time:
            return state, STEP_TO_PEAK * velocity_noise(state.filter_time, period) * steps, steps
        self._numbers[v.SINCE], self._numbers[v.PART] = period, min(1.0, period / NOISE_MEMORY)
        given = (np.ascontiguousarray(x, float) for x in (state.position, state.velocity, steps))
        raise_if_rejected(v.mend(self._table, self._numbers, *given))
        position, velocity = self._table[v.MENDED_POSITION : v.MENDED_VELOCITY + 1].copy()
        return replace(state, position=position, velocity=velocity), PEAK_TO_PEAK * self._table[v.NOISE], 0.0

    def bearable(self, velocity: Array, period: float, swing: Array | float, step: Array | float) -> float:
        """Return the rate of damping [1/s] by which such noise, as of `swing`, hardly moves joints at rest.

        A damper of the rate l takes l s of the velocity for each step s of a position that a joint passes, and by white
        noise velocities get a standard deviation of sqrt(l h / 2) of that of the noise. Faster joints bear more.
        """
        self._mean = self._mean - math.expm1(-MEAN_RATE * period) * (velocity - self._mean)
        noise = 0.0 if np.any(step) else swing
        sure = np.abs(self._mean) - 0.7 * MEAN_RATE * step - np.sqrt(0.5 * MEAN_RATE * period) * noise
        lively = LIVELY * float(sure.max())
        self._lively = max(lively, self._lively * math.exp(-CALMS * period))  # gains are not to swing along
        coarse, rough = float(np.max(step)), float(np.max(noise))
        rate = 2.0 * self.calm_speed / max(coarse, 1e-9) if coarse else np.inf
        if rough > 0.0 and period > 0.0:
            rate = min(rate, 3.0 / period * (2.0 * self.calm_speed / rough) ** 2)
        return rate


class CoarsePositions:
    """What steps of positions hide and show, where velocities are found in them; `pass_edges` says what `table` holds.

    A joint on an elastic gear that swings by less than a step is seen to jump between two neighbours, which velocities
    found in them exaggerate the more, the less it swings; a damper that acts too late for that keeps it up for ever.
    """

    def __init__(self, size: int) -> None:
        self.table, self._numbers = np.zeros((k.STEP_ROWS, size)), np.zeros(3)
        self.begun = False

    def reset(self) -> None:
        """Begin with the next position."""
        self.begun = False

    def update(self, position: Array, step: Array, period: float, late: float) -> tuple[Array, Array]:
        """Take in positions (n,); return them without what only shakes at an edge, and these without jumps.

        Springs that took jumps at once would hit gears. Steps are 0 where they are not known [rad, m]. What is slower
        than a damper damps whose efforts act `late` [s] counts as motion.
        """
        given = np.ascontiguousarray(position, float), np.ascontiguousarray(step, float)
        if not self.begun:
            self.table[:] = 0.0
            self.table[[k.SEEN, k.EDGE, k.EASED, k.PLAY]] = position
            self.table[[k.PASSED, k.PASSED_BEFORE]] = 1.0
            self.begun = True
        self._numbers[:] = period, 2.0 * math.pi / PHASE * late, math.exp(-period / MEMORY)
        raise_if_rejected(k.pass_edges(self.table, self._numbers, *given))
        return self.table[k.SETTLED].copy(), self.table[k.EASED].copy()

    @property
    def toggle(self) -> Mask:
        """Joints (n,) that swing by less than a step, faster than dampers damp."""
        return self.table[k.TOGGLING] > 0.0

    def creep(self, step: Array) -> tuple[Array, Array]:
        """Return velocities (n,) between edges, and for how long those were seen that ended just now [s].

        They have no noise, but are late: one that is not seen again is as much less as the next edge is late. The time
        is 0 where no edge was passed, and below that where a joint turned round.
        """
        table = self.table
        passed, crept = table[k.PASSED], table[k.CREEP]
        most = step / np.maximum(passed, 1e-9)
        lasted = np.where(passed == 0.0, np.where(crept != 0.0, table[k.PASSED_BEFORE], -1.0), 0.0)
        return np.clip(crept, -most, most), lasted

    def swings(self, late: float) -> Mask:
        """Return joints (n,) that surely swing to and fro, and so slowly that a damper of such a delay damps it."""
        return (self.table[k.REVERSALS] > SURE_TURNS) & (math.pi * late < SLOW_PHASE * self.table[k.SWINGING])
