"""Feedback that is sampled, delayed and held: exact matrices of the closed loop, and the gains it can carry.

The robot at a pose is M p'' = tau, with gravity and Coriolis forces cancelled; tau = -(Kp p + Kd v + Ki z) of the state
at each sample acts `delay` periods later, and is held for a period. doc/control.md derives what is here.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import InputError
from .kernels.laws import DONE, parallel_damping
from .kernels.sampled_axis import ROOM, axis_is_stable

#: By what factor the gains of a loop may be wrong, up or down, before it is unstable: room for errors of the model.
MARGIN = 2.0
LONGEST = 1e6  # longest period considered [s]
_HALVINGS = 24


def sampled_loop(
    period: float,
    delay: float,
    stiffness: npt.ArrayLike,
    damping: npt.ArrayLike,
    integral: npt.ArrayLike = 0.0,
    mass: npt.ArrayLike = 1.0,
    pole: float | None = None,
    lagging: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
) -> Array:
    """Return the matrix of the exact transition of the sampled loop from one sample to the next.

    Parameters
    ----------
    period : float
        Between samples [s].
    delay : float
        From a sample until its effort acts, in periods; any number >= 0.
    stiffness, damping, integral, mass : array-like, shape () or (n, n)
        Kp, Kd, Ki and M. The integral is that of trapezoids, as in `ComputedTorquePID`.
    pole : float, optional
        `velocity_pole` of the filter that finds velocities in positions; none where they are measured.
    lagging : tuple of array-like, shape (n, n) and (n,), optional
        Damping besides, of velocities behind two equal low-passes in a row: its matrix, and what share of a change
        each lets pass in a period.

    Returns
    -------
    ndarray, shape (k, k)
        On the state (p, v, w, u_1, u_2, ...): w is the integral before half a step of p, u_j the acceleration that was
        commanded j samples ago, as many as the delay takes. Without integral there is no w. With a pole, the filter's
        position and velocity of the sample before come last.

    Raises
    ------
    InputError
        For a period that is not positive or a delay that is negative.
    """
    if not (period > 0.0 and math.isfinite(period) and 0.0 <= delay < math.inf):
        raise InputError(f"period, delay: a positive and a number >= 0 are expected, got {period} and {delay}")
    M, Kp, Kd, Ki = (np.atleast_2d(np.asarray(x, np.float64)) for x in (mass, stiffness, damping, integral))
    n, h = len(M), period
    one, integrates = np.eye(n), bool(Ki.any())
    whole = math.floor(delay)
    part = delay - whole
    past = whole + (part > 0.0)
    size = 2 + integrates + past + 2 * (pole is not None) + 2 * (lagging is not None)
    loop = np.zeros((size, n, size, n))
    p, v, w, u = 0, 1, 2, 2 + integrates
    command = np.zeros((n, size, n))  # u_0, the acceleration commanded now
    command[:, p] = -np.linalg.solve(M, Kp + 0.5 * h * Ki)
    damp = -np.linalg.solve(M, Kd)
    if pole is None:
        command[:, v] = damp
    else:
        found = u + past
        gain, move = np.array([1.0 - pole * pole, (1.0 - pole) ** 2 / h]), np.array([[1.0, h], [0.0, 1.0]])
        keep = move - np.outer(gain, move[0])
        for row in (0, 1):
            loop[found + row, :, p] = gain[row] * one
            loop[found + row, :, found], loop[found + row, :, found + 1] = keep[row, 0] * one, keep[row, 1] * one
        command += np.einsum("ij,jkl->ikl", damp, loop[found + 1])
    if lagging is not None:
        last, share = size - 1, np.diag(np.asarray(lagging[1], np.float64))
        seen = loop[u + past + 1] if pole is not None else np.eye(size * n)[v * n : (v + 1) * n].reshape(n, size, n)
        for stage in (last - 1, last):
            loop[stage] = np.einsum("ij,jkl->ikl", share, seen)
            loop[stage, :, stage] += one - share
            seen = loop[stage]
        command -= np.einsum("ij,jkl->ikl", np.linalg.solve(M, np.asarray(lagging[0], np.float64)), loop[last])
    if integrates:
        command[:, w] = -np.linalg.solve(M, Ki)
        loop[w, :, w], loop[w, :, p] = one, h * one
    loop[p, :, p], loop[p, :, v], loop[v, :, v] = one, h * one, one
    # What acts for the first `part` of the period was commanded one sample before what acts for the rest.
    for age, begin, end in ((whole + 1, 0.0, part * h), (whole, part * h, h)):
        if end > begin:
            acting = command if age == 0 else np.zeros((n, size, n))
            if age:
                acting[:, u + age - 1] = one
            loop[v] += (end - begin) * acting
            loop[p] += (end - begin) * (h - 0.5 * (begin + end)) * acting
    for age in range(past):
        if age == 0:
            loop[u] = command
        else:
            loop[u + age, :, u + age - 1] = one
    return loop.reshape(size * n, size * n)


def spectral_radius(matrix: npt.ArrayLike) -> float:
    """Return the largest absolute eigenvalue; a sampled loop is stable where it is below one."""
    return float(np.abs(np.linalg.eigvals(np.asarray(matrix, np.float64))).max())


@lru_cache(maxsize=256)
def damper_limit(delay: float) -> float:
    """Return the largest stable product of period and rate of a pure damper: 2 without delay, 1 with one of a period.

    The loop is z^m (z^2 - z) + x ((1 - f) z + f) = 0 with delay m + f. It leaves the unit circle at z = exp(i t) with
    the smallest t at which the angles fit, and x is given there by the absolute values.
    """
    whole = math.floor(delay)
    part = delay - whole

    def angle(t: float) -> float:
        lag = math.atan2((1.0 - part) * math.sin(t), (1.0 - part) * math.cos(t) + part)
        return (whole + 1.5) * t - 0.5 * math.pi - lag

    low, high = 0.0, math.pi
    if angle(high) < 0.0:
        return 2.0  # at z = -1, where (1 - f) z + f may still pull the other way
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if angle(middle) < 0.0 else (low, middle)
    turned = complex((1.0 - part) * math.cos(high) + part, (1.0 - part) * math.sin(high))
    return 2.0 * math.sin(0.5 * high) / abs(turned)


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


def limited_damping(mass: Array, damping: Array, rate: Array | float, velocity: Array) -> Array:
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
    rate : float or ndarray, shape (n,)
        c [1/s]; where it is not positive, nothing is left. For each joint: c M is S M S with the squares S of them.
    velocity : ndarray, shape (n,)

    Returns
    -------
    ndarray, shape (n,)
        [N m, N].
    """
    if isinstance(rate, np.ndarray):
        root = np.sqrt(np.maximum(rate, 0.0))
        mass, rate = mass * root * root[:, None], float(root.any())
    if rate <= 0.0:
        return np.zeros_like(velocity)
    force = np.empty(len(damping))
    matrix = np.multiply(mass, rate, order="C")
    if parallel_damping(matrix, np.ascontiguousarray(damping), np.ascontiguousarray(velocity), force) != DONE:
        return np.zeros_like(velocity)  # M is singular to round-off: nothing is light there, and nothing is known
    return force


def limited_damping_matrix(mass: Array, damping: Array, rate: Array | float) -> Array:
    """Return D_c (n, n) of `limited_damping`."""
    return np.array([limited_damping(mass, damping, rate, column) for column in np.eye(len(mass))]).T
