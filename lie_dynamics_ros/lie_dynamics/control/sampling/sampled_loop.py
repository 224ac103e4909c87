"""Feedback that is sampled, delayed and held: exact matrices of the closed loop, and the gains it can carry.

The robot at a pose is M p'' = tau, with gravity and Coriolis forces cancelled; tau = -(Kp p + Kd v + Ki z) of the state
at each sample acts `delay` periods later, and is held for a period. doc/control.md derives what is here.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...errors import InputError


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
