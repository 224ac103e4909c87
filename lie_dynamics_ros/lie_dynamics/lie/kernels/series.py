"""Power series in squared angles, of which the functions of rotations are made."""

from __future__ import annotations

import math

#: Squared angles below which the series are summed: closed forms lose digits there.
SWITCH = 4.0


def factorial_series(offset: int, terms: int) -> tuple[float, ...]:
    """Coefficients of sum (-1)^k t^k / (2k + offset)!, as many as that."""
    return tuple((-1) ** k / math.factorial(2 * k + offset) for k in range(terms))


def slope(series: tuple[float, ...]) -> tuple[float, ...]:
    """Coefficients of (1/angle) d/d angle = 2 d/dt of a power series in t = angle^2."""
    return tuple(2.0 * k * series[k] for k in range(1, len(series)))
