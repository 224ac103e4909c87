"""Scalar functions of the squared angle that appear in exp, log and their derivatives.

With t = |phi|^2 and angle = sqrt(t):

    a = sin(angle) / angle                       da = 1/angle d a/d angle
    b = (1 - cos(angle)) / angle^2               db
    c = (angle - sin(angle)) / angle^3           dc
    d = (1 - angle/2 cot(angle/2)) / angle^2     dd

All are entire in t except d and dd, which have their first pole at angle = 2 pi. Their closed forms lose digits
at small angles, so for |t| < 4 the power series in t is used: at t = 4 neither form has lost more than a few units of
round-off, and the series is cut where its terms fall below 1e-18 of the first. Complex t is allowed, for
complex-step derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi

import numpy as np

from ..arrays import AnyArray, Array
from .kernels.series import SWITCH, factorial_series, slope

_TERMS = 20


def _cotangent_series() -> Array:
    """Coefficients |B_2n| / (2n)! = 2 zeta(2n) / (2 pi)^2n of t^(n-1), n = 1, 2, ...

    zeta at even integers by the recurrence (n + 1/2) zeta(2n) = sum_k zeta(2k) zeta(2n - 2k); all terms are positive.
    """
    zeta = [0.0, pi**2 / 6.0]
    for n in range(2, _TERMS + 2):
        zeta.append(sum(zeta[k] * zeta[n - k] for k in range(1, n)) / (n + 0.5))
    return np.array([2.0 * zeta[n] / (2.0 * pi) ** (2 * n) for n in range(1, _TERMS + 2)])


def _slope(series: Array) -> Array:
    return np.array(slope(tuple(series.tolist())))


def _sin(t: AnyArray) -> AnyArray:
    angle = np.sqrt(t)
    return np.asarray(np.sin(angle) / angle)


def _cos(t: AnyArray) -> AnyArray:
    # 2 sin^2(angle/2) = 1 - cos(angle) without the cancellation near whole turns
    return np.asarray(2.0 * np.sin(0.5 * np.sqrt(t)) ** 2 / t)


def _half_cot(t: AnyArray) -> AnyArray:
    half = 0.5 * np.sqrt(t)
    return np.asarray(half * np.cos(half) / np.sin(half))


def _function(series: Array, closed: Callable[[AnyArray], AnyArray], doc: str) -> Callable[[AnyArray], AnyArray]:
    terms = np.abs(series) * SWITCH ** np.arange(len(series))
    series = series[: np.count_nonzero(terms > 1e-18 * terms[0])]

    def function(t: AnyArray) -> AnyArray:
        small = np.asarray(np.abs(t) < SWITCH)
        if small.all():
            return _polynomial(series, t)
        if not small.any():
            return closed(t)
        return np.where(small, _polynomial(series, np.where(small, t, 0.0)), closed(np.where(small, SWITCH, t)))

    function.__doc__ = doc
    return function


def _polynomial(series: Array, t: AnyArray) -> AnyArray:
    first, *rest = series[::-1].tolist()
    value = np.full_like(t, first)
    for coefficient in rest:
        value = value * t + coefficient
    return value


_A, _B, _C = (np.array(factorial_series(offset, _TERMS + 1)) for offset in (1, 2, 3))
_D = _cotangent_series()

a = _function(_A, _sin, "sin(x)/x at t = x^2.")
b = _function(_B, _cos, "(1 - cos x)/x^2.")
c = _function(_C, lambda t: (1.0 - _sin(t)) / t, "(x - sin x)/x^3.")
d = _function(_D, lambda t: (1.0 - _half_cot(t)) / t, "(1 - x/2 cot(x/2))/x^2.")
da = _function(_slope(_A), lambda t: (np.cos(np.sqrt(t)) - _sin(t)) / t, "(1/x) da/dx.")
db = _function(_slope(_B), lambda t: (_sin(t) - 2.0 * _cos(t)) / t, "(1/x) db/dx.")
dc = _function(_slope(_C), lambda t: (_cos(t) - 3.0 * (1.0 - _sin(t)) / t) / t, "(1/x) dc/dx.")
dd = _function(_slope(_D), lambda t: (_half_cot(t) + 0.5 / _cos(t) - 2.0) / (t * t), "(1/x) dd/dx.")
