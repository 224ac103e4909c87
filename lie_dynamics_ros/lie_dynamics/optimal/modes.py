"""Polynomials of time: a cubic between two states, and modes that leave both of its ends as they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.polynomial.legendre import legvander

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Modes:
    """Values of the polynomials at places s between 0 and 1.

    Attributes
    ----------
    cubic : ndarray, shape (3, k, 4)
        Hermite's cubics for x(0), x'(0), x(1), x'(1), and their first and second derivatives.
    modes : ndarray, shape (3, k, count)
        Double integrals of Legendre's polynomials of degree 2 and more, with their derivatives. They and their slopes
        vanish at both ends; their second derivatives are orthonormal on (0, 1), so that the Hessian of the integral of
        |x''|^2 is the unit matrix.
    """

    cubic: Array
    modes: Array

    def path(self, ends: Array, coefficients: Array) -> Array:
        """Return x, x', x'' (3, k, n) for ends (4, n) and coefficients (count, n)."""
        return np.asarray(self.cubic @ ends + self.modes @ coefficients)


def modes_at(s: Array, count: int) -> Modes:
    """Return cubics and modes at places s (k,)."""
    one, zero = np.ones_like(s), np.zeros_like(s)
    powers = np.stack([one, s, s**2, s**3], axis=-1)
    slopes = np.stack([zero, one, 2.0 * s, 3.0 * s**2], axis=-1)
    bends = np.stack([zero, zero, 2.0 * one, 6.0 * s], axis=-1)
    hermite = np.array([[1, 0, -3, 2], [0, 1, -2, 1], [0, 0, 3, -2], [0, 0, -1, 1]], dtype=np.float64).T
    P = legvander(2.0 * s - 1.0, count + 3)
    n = np.arange(2, count + 2)
    size = np.sqrt(2.0 * n + 1.0)
    once = (P[:, n + 1] - P[:, n - 1]) / (2.0 * size)
    twice = ((P[:, n + 2] - P[:, n]) / (2 * n + 3) - (P[:, n] - P[:, n - 2]) / (2 * n - 1)) / (4.0 * size)
    return Modes(np.stack([powers, slopes, bends]) @ hermite, np.stack([twice, once, size * P[:, n]]))


def quadrature(count: int) -> tuple[Array, Array]:
    """Return places in (0, 1) and weights of Gauss's quadrature with that many points."""
    x, w = np.polynomial.legendre.leggauss(count)
    return 0.5 * (x + 1.0), 0.5 * w
