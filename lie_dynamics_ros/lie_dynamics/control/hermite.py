"""Hermite polynomials between two points of a vector space."""

from __future__ import annotations

import numpy as np

from ..arrays import Array


def hermite(
    duration: float | Array,
    end: Array,
    v0: Array | None = None,
    v1: Array | None = None,
    a0: Array | None = None,
    a1: Array | None = None,
) -> Array:
    """Return the coefficients (6, ..., n), of rising powers of time, of polynomials from zero to `end`.

    Linear without velocities, cubic with velocities `v0`, `v1` at the ends, quintic with accelerations `a0`, `a1` too.
    `duration` [s] is above zero, one for all or (..., 1); all others (..., n).
    """
    h, c = duration, np.zeros((6, *end.shape))
    if v0 is None or v1 is None:
        c[1] = end / h
        return c
    c[1] = v0
    if a0 is None or a1 is None:
        c[2] = (3.0 * end / h - 2.0 * v0 - v1) / h
        c[3] = (-2.0 * end / h + v0 + v1) / h**2
        return c
    c[2] = 0.5 * a0
    rest, slope, bend = end - h * (v0 + h * c[2]), v1 - v0 - h * a0, a1 - a0
    c[3] = (10.0 * rest / h - 4.0 * slope + 0.5 * h * bend) / h**2
    c[4] = (-15.0 * rest / h + 7.0 * slope - h * bend) / h**3
    c[5] = (6.0 * rest / h - 3.0 * slope + 0.5 * h * bend) / h**4
    return c


def powers(t: float) -> Array:
    """Return the matrix (3, 6) that takes coefficients to value, rate and acceleration at the time `t` [s]."""
    return np.array(
        [
            [1.0, t, t**2, t**3, t**4, t**5],
            [0.0, 1.0, 2.0 * t, 3.0 * t**2, 4.0 * t**3, 5.0 * t**4],
            [0.0, 0.0, 2.0, 6.0 * t, 12.0 * t**2, 20.0 * t**3],
        ]
    )
