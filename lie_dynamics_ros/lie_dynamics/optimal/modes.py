"""Polynomials of time: a cubic between two states, modes that leave both of its ends as they are, and conditions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.legendre import legvander

from ..arrays import Array


def shapes_at(s: Array, count: int) -> Array:
    """Return the polynomials at places s (k,) between 0 and 1, with three derivatives: (4, k, 4 + count).

    The first four are Hermite's cubics for x(0), x'(0), x(1), x'(1). The others are double integrals of Legendre's
    polynomials of degree 2 and more. They and their slopes vanish at both ends; their second derivatives are
    orthonormal on (0, 1), so that the Hessian of the integral of |x''|^2 is the unit matrix.
    """
    one, zero = np.ones_like(s), np.zeros_like(s)
    powers = np.stack([one, s, s**2, s**3], axis=-1)
    slopes = np.stack([zero, one, 2.0 * s, 3.0 * s**2], axis=-1)
    bends = np.stack([zero, zero, 2.0 * one, 6.0 * s], axis=-1)
    jerks = np.stack([zero, zero, zero, 6.0 * one], axis=-1)
    hermite = np.array([[1, 0, -3, 2], [0, 1, -2, 1], [0, 0, 3, -2], [0, 0, -1, 1]], dtype=np.float64).T
    P = legvander(2.0 * s - 1.0, count + 3)
    rates = np.zeros_like(P)  # of P along its own argument: P'[n + 1] = P'[n - 1] + (2 n + 1) P[n]
    rates[:, 1] = 1.0
    for k in range(1, P.shape[1] - 1):
        rates[:, k + 1] = rates[:, k - 1] + (2 * k + 1) * P[:, k]
    n = np.arange(2, count + 2)
    size = np.sqrt(2.0 * n + 1.0)
    once = (P[:, n + 1] - P[:, n - 1]) / (2.0 * size)
    twice = ((P[:, n + 2] - P[:, n]) / (2 * n + 3) - (P[:, n] - P[:, n - 2]) / (2 * n - 1)) / (4.0 * size)
    modes = np.stack([twice, once, size * P[:, n], 2.0 * size * rates[:, n]])
    return np.concatenate([np.stack([powers, slopes, bends, jerks]) @ hermite, modes], axis=-1)


def quadrature(count: int) -> tuple[Array, Array]:
    """Return places in (0, 1) and weights of Gauss's quadrature with that many points."""
    x, w = np.polynomial.legendre.leggauss(count)
    return 0.5 * (x + 1.0), 0.5 * w


#: Sums of (order, place, factor).
Terms = tuple[tuple[tuple[int, float, float], ...], ...]


@dataclass(frozen=True, eq=False)
class Conditions:
    """Equalities of a path x(s): sum of factors x^(order)(place) = fixed + duration timed.

    Attributes
    ----------
    terms : tuple of tuples of (order, place, factor)
        The sum of each condition.
    fixed, timed : ndarray, shape (m, nv)
        Right-hand sides: rates along s are those along time, multiplied by the duration.
    """

    terms: Terms
    fixed: Array
    timed: Array

    def solved(self, count: int) -> tuple[Array, Array, Array]:
        """Return coefficients base and rate (4 + count, nv), and columns (4 + count, free) that change no condition.

        Every path that meets the conditions is that of base + duration rate + columns y.
        """
        rows = np.array(
            [sum(f * shapes_at(np.array([s]), count)[d, 0] for d, s, f in terms) for terms in self.terms]
        ).reshape(len(self.terms), 4 + count)
        if len(rows) == 4 and np.array_equal(rows[:, :4], np.eye(4)) and not rows[:, 4:].any():  # both ends given
            columns = np.eye(4 + count)[:, 4:]
        else:
            _, sizes, right = np.linalg.svd(rows)
            columns = right[int((sizes > 1e-12 * sizes.max(initial=0.0)).sum()) :].T
        solve = np.linalg.pinv(rows, rcond=1e-12)
        return solve @ self.fixed, solve @ self.timed, columns
