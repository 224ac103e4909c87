"""Exact places where polynomials exceed a bound, not only at samples."""

from __future__ import annotations

from itertools import pairwise
from math import comb

import numpy as np

from ...arrays import Array
from ..kernels.hulls import mark_hulls

_BERNSTEIN = {
    degree: np.array(
        [[comb(j, i) / comb(degree, i) if i <= j else 0.0 for i in range(degree + 1)] for j in range(degree + 1)]
    )
    for degree in range(2, 6)
}


def first_beyond(c: Array, spans: Array, bound: Array) -> tuple[float, int, int] | None:
    """Return the first value above a bound: itself, its segment and its column; None where there is none.

    Their Bernstein coefficients bound polynomials; where these are beyond the bound, the extrema are looked for.

    Parameters
    ----------
    c : ndarray, shape (k, degree + 1, m)
        Coefficients of rising powers of time, degree 2 to 5.
    spans : ndarray, shape (k,)
        How long each lasts [s].
    bound : ndarray, shape (m,) or (k, m)
    """
    c, bound = np.require(c, float, ["C", "W"]), np.array(np.broadcast_to(bound, (len(c), c.shape[2])), order="C")
    over = np.empty_like(bound)
    if not mark_hulls(c, np.require(spans, float, ["C", "W"]), bound, _BERNSTEIN[c.shape[1] - 1], over):
        return None
    for k, column in np.argwhere(over):
        with np.errstate(over="ignore", invalid="ignore"):
            found = largest(c[k, :, column] * spans[k] ** np.arange(c.shape[1]))  # of t / span
        if not found <= bound[k, column]:
            return found, int(k), int(column)
    return None


def largest(c: Array) -> float:
    """Return the largest value between 0 and 1 of a polynomial with coefficients c (degree + 1,)."""
    return float(np.max(_at_extremes(c), initial=-np.inf)) if np.isfinite(c).all() else np.inf


def largest_against(c: Array, rate: Array) -> float:
    """Return the largest value between 0 and 1 of a polynomial where another one, ``rate``, is negative; or -inf."""
    if not (np.isfinite(c).all() and np.isfinite(rate).all()):
        return np.inf
    cuts = np.concatenate([[0.0], np.sort(_roots(rate)), [1.0]])
    found = -np.inf
    for a, b in pairwise(cuts):
        if np.polynomial.polynomial.polyval(0.5 * (a + b), rate) < 0.0:
            inside = np.concatenate([[a, b], [x for x in _roots(_derivative(c)) if a < x < b]])
            found = max(found, float(np.polynomial.polynomial.polyval(inside, c).max()))
    return found


def _at_extremes(c: Array) -> Array:
    size = float(np.abs(c).max()) or 1.0
    unit = c / size
    unit = np.where(np.abs(unit) < 1e-17, 0.0, unit)  # below round-off; leading ones would overflow in the roots
    at = np.concatenate([[0.0, 1.0], _roots(_derivative(unit))])
    return np.asarray(size * np.polynomial.polynomial.polyval(at, unit))


def _derivative(c: Array) -> Array:
    return np.asarray(np.polynomial.polynomial.polyder(c), np.float64)


def _roots(c: Array) -> Array:
    """Return the real roots between 0 and 1."""
    size = float(np.abs(c).max()) or 1.0
    unit = np.where(np.abs(c) < 1e-17 * size, 0.0, c) / size
    roots = np.polynomial.Polynomial(unit).trim().roots()
    return np.asarray(roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > 0.0) & (roots.real < 1.0)])
