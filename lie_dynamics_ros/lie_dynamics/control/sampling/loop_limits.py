"""Gains and damping that a sampled loop can carry."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ...arrays import Array
from ...errors import InputError
from ..kernels.laws import DONE, parallel_damping
from ..kernels.sampled_axis import ROOM, axis_is_stable
from .sampled_loop import damper_limit

MARGIN = 2.0
"""By what factor the gains of a loop may be wrong, up or down, before it is unstable: room for errors of the model."""
LONGEST = 1e6
"""Longest period considered [s]."""
_HALVINGS = 24


def is_robust(period: float, delay: float, kp: float, kd: float, ki: float = 0.0, pole: float | None = None) -> bool:
    """Return whether one axis with these gains is stable at a delay and without, also with gains off by `MARGIN`.

    Parameters
    ----------
    period : float
        Between samples [s].
    delay : float
        In periods. Nothing is known of a real one but that it is not longer, so the loop without delay is checked too.
    kp, kd, ki : float
        Gains of position, velocity and integral [1/s^2, 1/s, 1/s^3]. An axis without kp and ki needs a velocity that
        is stable; without any gain it is left alone.
    pole : float, optional
        Of the filter that velocities come from, see `sampled_loop`.
    """
    if not (period > 0.0 and math.isfinite(period) and 0.0 <= delay < math.inf):
        raise InputError(f"period, delay: a positive and a number >= 0 are expected, got {period} and {delay}")
    delays = {0.0, delay}
    if kp == ki == 0.0 and (pole is None or kd == 0.0):
        return all(MARGIN * kd * period <= damper_limit(d) for d in delays)
    factors = (MARGIN,) if ki == 0.0 else (1.0 / MARGIN, 1.0, MARGIN)
    work = np.empty((2, ROOM + math.floor(delay)))
    gains = (kp * period**2, kd * period, ki * period**3)
    return all(
        axis_is_stable(np.array([*(factor * gain for gain in gains), d, math.nan if pole is None else pole]), work) == 1
        for d in delays
        for factor in factors
    )


@lru_cache(maxsize=4096)
def largest_period(kp: float, kd: float, ki: float, delay: float, pole: float | None = None) -> float:
    """Return the longest period [s] at which `is_robust` holds for these gains; 0 for none, inf for next to no gains.

    Gains (s^2 kp, s kd, s^3 ki) do at the period h what (kp, kd, ki) do at s h: so it is also the factor s by which the
    bandwidth must come down where a period is longer, with the same pole.
    """
    if kp == kd == ki == 0.0:
        return math.inf
    high = 2.0 / max(kd, math.sqrt(kp), math.pow(ki, 1.0 / 3.0))
    if high > LONGEST:
        return math.inf
    low = 1e-3 * high  # closer to a continuous loop round-off decides
    if not is_robust(low, delay, kp, kd, ki, pole):
        return 0.0
    while is_robust(high, delay, kp, kd, ki, pole):
        if high > LONGEST:
            return math.inf
        high *= 2.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_robust(middle, delay, kp, kd, ki, pole) else (low, middle)
    return low


def largest_damping(rate: float, period: float, delay: float, pole: float | None = None) -> float:
    """Return the largest a [1/s] for which gains kp = a Lambda, kd = a + Lambda are robust, Lambda being `rate` [1/s].

    That is the loop of `passivity_based` along a direction in which M^-1 Kd has the eigenvalue a. Zero where Lambda by
    itself is too much.
    """
    return _largest_damping(_rounded(rate * period), delay, pole) / period


def _rounded(x: float) -> float:
    """Round up to one of few numbers, so that what was found for them can be kept."""
    return x if x == 0.0 else 1.02 ** math.ceil(math.log(x) / math.log(1.02))


@lru_cache(maxsize=4096)
def _largest_damping(rate: float, delay: float, pole: float | None) -> float:
    if rate == 0.0 and pole is None:
        return min(damper_limit(delay), damper_limit(0.0)) / MARGIN
    low, high = 0.0, 2.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        good = is_robust(1.0, delay, middle * rate, middle + rate, 0.0, pole)
        low, high = (middle, high) if good else (low, middle)
    return low


def limited_damping(mass: Array, damping: Array, rate: float, velocity: Array) -> Array:
    """Return D_c v, where D_c = (D^-1 + (c M)^-1)^-1 is D where joints are heavy, and never faster than the rate c.

    Where D is far below c M it is D; in directions in which M is so light that D would be faster than c it is c M, and
    between them it is smooth: along an eigenvector of M^-1 D with the eigenvalue l, M^-1 D_c has l c / (l + c) < c.
    D_c is symmetric and never negative, so it dissipates as D does.

    Parameters
    ----------
    mass : ndarray, shape (n, n)
        M, positive definite.
    damping : ndarray, shape (n,)
        Diagonal of D, none negative [N m s/rad, N s/m].
    rate : float
        c [1/s]; where it is not positive, nothing is left.
    velocity : ndarray, shape (n,)

    Returns
    -------
    ndarray, shape (n,)
        [N m, N].
    """
    if rate <= 0.0:
        return np.zeros_like(velocity)
    force = np.empty(len(damping))
    matrix = np.multiply(mass, rate, order="C")
    if parallel_damping(matrix, np.ascontiguousarray(damping), np.ascontiguousarray(velocity), force) != DONE:
        return np.zeros_like(velocity)  # M is singular to round-off: nothing is light there, and nothing is known
    return force


def limited_damping_matrix(mass: Array, damping: Array, rate: float) -> Array:
    """Return D_c (n, n) of `limited_damping`."""
    return np.array([limited_damping(mass, damping, rate, column) for column in np.eye(len(mass))]).T
