"""Inertia that a stop takes joints to have besides what is known.

It is felt by what efforts accelerate; after the way to rest it grows where joints do not slow down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...lie_dynamics.arrays import Array, Mask
from ...lie_dynamics.control.kernels import felt_inertia as k
from ...lie_dynamics.control.kernels.felt_inertia import FIRST_PART
from ...lie_dynamics.engine.compile import raise_if_rejected

HEAVIEST_UNTOLD = 0.03  # largest additional inertia, over the effort limit [kg m^2 / (N m)]
INERTIA_GROWTH = 30.0  # rate at which it grows [1/s]
NO_ERROR = 3e-3  # error of a velocity that is ignored [rad/s, m/s]
FADED_PART = 0.7  # part of what an error is to have faded to, from which on it stays: noise moves it
#: Least time for which an error keeps its sign, over the delay of efforts: gains that are too high feed faster ones.
TURNS_WITHIN = 6.0
#: Inertia that viscous friction of 1 % of the effort limit at 1 rad/s may seem to be, as efforts act some other time
#: than they are taken to, over the effort limit [kg m^2 / (N m)]; 0.03 % in the worst of arms in MuJoCo, and a margin.
FRICTION_FELT = 7e-4
EASED_PART = 0.25  # factor that lowers it where a joint oscillates


@dataclass
class InertiaState:
    """State, all (n,)."""

    value: Array  # the inertia [kg m^2, kg]
    expected: Array  # size of errors of velocities, as it fades where gains suffice [rad/s, m/s]
    sign: Array  # direction of the error
    held: Array  # for how long it has been that [s]


class UntoldInertia:
    """Finds what joints may be taken to weigh by whether their errors fade.

    Where a light joint carries a heavy rotor that was not given, gains that suit the joint alone do not slow it down,
    and gains that suit the rotor would shake the joint if there was none. So gains begin with the joint alone.
    """

    def __init__(self, size: int) -> None:
        self._zero = np.zeros(size)
        self.reset()

    def reset(self) -> None:
        """Begin with what is known."""
        zero = self._zero
        self.state = InertiaState(zero, zero, zero, zero)

    def update(
        self,
        error: Array,
        growth: Array,
        known: Array,
        most: Array,
        period: float,
        late: Array | float,
        calm: Array | float,
        fading: float,
    ) -> Array:
        """Return the inertia (n,) [kg m^2, kg], ``period`` [s] after the last call.

        Errors of velocities (n,) are behind a low-pass [rad/s, m/s]; by noise they have `calm`, and where gains suffice
        they fade at a rate [1/s]. The inertia grows by factors whose logarithms are the `growth` (n,), beyond what is
        `known` (n,) up to the `most`; 0 where that makes no sense, as where a joint comes back to where it is pulled,
        or while efforts are limited. Efforts act `late` [s].
        """
        s, size, turned = self.state, np.abs(error), np.sign(error) != self.state.sign
        slow = TURNS_WITHIN * late
        if not s.sign.any():  # a stop begins: nothing swings yet
            s.sign, s.held, turned = np.sign(error), np.full(len(error), 0.5 * slow), np.zeros(len(error), bool)
        s.held = np.where(turned, 0.0, s.held + period)
        s.sign = np.sign(error)
        expected = s.expected * math.exp(-fading * period)
        stays = (growth > 0.0) & (size > FADED_PART * expected) & (s.held > slow) & (size > NO_ERROR + calm)
        s.expected = np.maximum(size, expected)
        grown = np.maximum(s.value, FIRST_PART * known) * np.exp(growth)
        s.value = np.where(stays, np.minimum(grown, most), s.value * np.exp(np.minimum(growth, 0.0)))
        return s.value


class FeltInertia:
    """Finds what each joint weighs besides its links by regression of accelerations on efforts and velocities.

    Gains rise with the inertia that is there for sure: efforts hardly have errors, so the reciprocal of the inertia is
    what accelerations have of them, and too small a correlation makes a joint seem lighter once its deviation is added.
    Efforts that friction explains, as they are in proportion to velocities, tell nothing of it, and some of what is
    felt may be friction. What was felt stays where efforts do not explain the motion: something else moves the joint.
    `feel` says what `table` holds; joints have a `scale` (n,), such as their effort limits.
    """

    def __init__(self, scale: Array) -> None:
        self.table, self._numbers = np.zeros((k.ROWS, len(scale))), np.zeros(k.NUMBERS)
        self._doubt = FRICTION_FELT * scale
        self.reset()

    def reset(self) -> None:
        """Begin with what is known."""
        self.table[:], self._numbers[k.SINCE] = 0.0, 0.0
        self.table[k.MOST], self.table[k.DOUBT] = np.inf, self._doubt

    def ease(self, shaking: Mask) -> None:
        """Take joints (n,), True for which gains are too high, to be lighter from now on."""
        self.table[k.MOST, shaking] = EASED_PART * self.table[k.USED, shaking]

    def note(self, effort: Array) -> None:
        """Take note of the efforts (n,) of an answer beyond those that leave velocities as they are [N m, N]."""
        self.table[k.TOLD] = effort

    def update(
        self, velocity: Array, lags: Mask, mass: Array, most: Array, period: float, late: float,
        noise: tuple[Array | float, Array | float], moving: bool = True,
    ) -> Array:  # fmt: skip
        """Return the inertia (n,), at most `most` [kg m^2, kg], ``period`` [s] after the last call.

        Efforts act `late` [s]. More of it is used where a joint `lags`, as it does not slow down as it is to. The mass
        matrix (n, n) is known. Noise of sensors adds to velocities at most, and with a deviation of, `noise` [rad/s,
        m/s]. Nothing is felt while the stop is not `moving` joints: what does so then is something else.
        """
        numbers, none = self._numbers, np.zeros(self.table.shape[1])
        numbers[k.PERIOD], numbers[k.LATE], numbers[k.MOVING] = period, late, moving
        calm, deviation = noise[0] + none, k.FELT_RATE * noise[1] + none
        given = (np.ascontiguousarray(x, float) for x in (mass, most))
        raise_if_rejected(
            k.feel(self.table, numbers, np.ascontiguousarray(velocity, float), lags, *given, calm, deviation)
        )
        return self.table[k.USED].copy()
