"""Inertia that joints have besides what is known, felt in a stop: by how far efforts accelerate them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ...lie_dynamics.arrays import Array, Mask

HEAVIEST_UNTOLD = 0.03
"""Largest additional inertia, over the effort limit [kg m^2 / (N m)]."""
FELT_RATE = 40.0
"""Rate of the low-pass of efforts and accelerations, whose reciprocal is the time for which their errors last [1/s]."""
STAYING_RATE = 5.0
"""Rate of the other one, by which loads and friction that stay are left out [1/s]."""
BEGIN_TIMES = 2.0
"""Time until what acted before a stop is forgotten, over those of the low-pass and the delay of efforts."""
FIRST_PART, INERTIA_GROWTH = 0.1, 50.0
"""What is used first, over the known inertia, and the rate at which it grows [1/s]."""
EASED_PART, EASED_RISE = 0.25, 1.0
"""Part that is left of what is used where it shakes a joint, and rate at which it may be more again [1/s]."""
FELT_SURE = 3.0
"""Standard deviations by which joints may be lighter than felt, and are taken to be."""
FELT_SPEED = 5e-3
"""Least speed at which anything is felt [rad/s, m/s]."""


@dataclass
class InertiaState:
    """State.

    Attributes
    ----------
    effort, acting : ndarray, shape (n,)
        Efforts that the last answer accelerates joints by, and those that act, which come later [N m, N].
    smooth : ndarray, shape (2, n)
        Efforts that act, and velocities, behind the low-pass [N m, N; rad/s, m/s].
    constant : ndarray, shape (2, n)
        What of the efforts, and of the accelerations, stays.
    products : ndarray, shape (4, n)
        Integrals of the squares of the efforts, of their products with the accelerations, of the squares of these, and
        of 1: where there was something to feel.
    felt, value : ndarray, shape (n,)
        The inertia that is there for sure, and what is used of it [kg m^2, kg].
    most : ndarray, shape (n,)
        What may be used at most, as more of it shook the joint.
    time : float
        Since the begin [s].
    """

    size: int
    effort: Array = field(init=False)
    acting: Array = field(init=False)
    smooth: Array = field(init=False)
    constant: Array = field(init=False)
    products: Array = field(init=False)
    felt: Array = field(init=False)
    value: Array = field(init=False)
    most: Array = field(init=False)
    time: float = 0.0

    def __post_init__(self) -> None:
        n = self.size
        self.effort, self.acting, self.felt, self.value = np.zeros((4, n))
        self.most = np.full(n, np.inf)
        self.smooth, self.constant, self.products = np.zeros((2, n)), np.zeros((2, n)), np.zeros((4, n))


class UntoldInertia:
    """Finds what each joint weighs besides its links by regression of accelerations on efforts.

    Where a light joint carries a heavy rotor that was not given, gains that suit the joint alone do not slow it down,
    and gains that suit the rotor would shake the joint if there was none. So gains begin with the joint alone, and rise
    with the inertia that it has for sure: efforts hardly have errors, so the reciprocal of the inertia is what
    accelerations have of them, and too small a correlation makes a joint seem lighter once its deviation is added.

    Parameters
    ----------
    size : int
        Number of joints n.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.reset()

    def reset(self) -> None:
        """Begin with what is known."""
        self.state = InertiaState(self._size)

    def ease(self, shaking: Mask) -> None:
        """Take joints (n,), True for which gains are too high, to be lighter from now on."""
        s = self.state
        s.most = np.where(shaking, EASED_PART * s.value, s.most)

    def note(self, effort: Array) -> None:
        """Take note of the efforts (n,) of an answer beyond those that leave velocities as they are [N m, N]."""
        self.state.effort = effort

    def update(
        self, velocity: Array, lags: Mask, mass: Array, most: Array, period: float, late: float, calm: Array | float
    ) -> Array:
        """Return the inertia (n,) [kg m^2, kg].

        Parameters
        ----------
        velocity : ndarray, shape (n,)
            [rad/s, m/s].
        lags : ndarray of bool, shape (n,)
            Where more of it is to be used, as a joint does not slow down as it is to.
        mass : ndarray, shape (n, n)
            Mass matrix that is known [kg m^2, kg].
        most : ndarray, shape (n,)
            The largest that may be returned.
        period : float
            Since the last call [s].
        late : float
            By which efforts act later than states [s].
        calm : ndarray, shape (n,)
            Largest velocities that noise of sensors adds [rad/s, m/s].
        """
        s = self.state
        if not s.time:
            s.smooth[1] = velocity
        s.time += period
        share = -math.expm1(-FELT_RATE * period)
        s.acting = s.acting - math.expm1(-period / late) * (s.effort - s.acting)
        s.smooth += share * (np.stack([s.acting, velocity]) - s.smooth)
        acceleration = FELT_RATE * (velocity - s.smooth[1])
        own = np.diagonal(mass)
        effort = s.smooth[0] - mass @ acceleration + own * acceleration
        now = np.stack([effort, acceleration])
        if s.time < BEGIN_TIMES * (late + 1.0 / FELT_RATE):
            s.constant = now
            return s.value
        s.constant += -math.expm1(-STAYING_RATE * period) * (now - s.constant)
        x, y = now - s.constant
        felt = (np.abs(s.smooth[1]) > FELT_SPEED + calm) * period
        s.products += felt * np.stack([x * x, x * y, y * y, np.ones(len(x))])
        xx, xy, yy, time = s.products
        known = time > 3.0 / FELT_RATE
        if known.any():
            xx = np.maximum(xx, 1e-300)
            inverse = xy / xx
            left = np.maximum(yy - xy * inverse, 0.0) / np.maximum(time - 2.0 / FELT_RATE, 1e-9)
            deviation = np.sqrt(left / FELT_RATE / xx)
            known &= inverse > -deviation  # else something else moves the joint
            heavy = 1.0 / np.maximum(np.maximum(inverse, 0.0) + FELT_SURE * deviation, 1e-300) - own
            counts = np.clip(heavy / own - 1.0, 0.0, 1.0)  # less of what bodies and their load may be
            s.felt = np.where(known, np.minimum(counts * heavy, most), 0.0)
            more = np.maximum(s.value, FIRST_PART * own) * math.exp(INERTIA_GROWTH * period)
            s.most = np.maximum(s.most, FIRST_PART * own) * math.exp(EASED_RISE * period)
            s.value = np.minimum(np.minimum(np.where(lags, more, s.value), s.felt), s.most)
        return s.value
