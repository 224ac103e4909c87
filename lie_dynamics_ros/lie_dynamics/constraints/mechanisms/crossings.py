"""Intersections of circles, and the real roots of trigonometric polynomials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays import Array, Complex


def circles(first: Any, first_radius: Any, second: Any, second_radius: Any, side: Any) -> Complex:
    """Return where two circles in the plane cross; points are complex numbers, NaN where they do not.

    `side` is 1 for the point to the left of the way from the first centre to the second, -1 for that to the right.
    """
    gap = np.asarray(second - first, dtype=complex)
    distance = np.abs(gap)
    with np.errstate(all="ignore"):
        along = (distance**2 + np.square(first_radius) - np.square(second_radius)) / (2.0 * distance)
        height = np.sqrt(np.square(first_radius) - along**2)
        return np.asarray(first + gap / distance * (along + 1j * side * height))


def side_of(first: complex, second: complex, point: complex) -> float:
    """Return the `side` of `circles` on which a point is."""
    return 1.0 if ((point - first) * np.conj(second - first)).imag >= 0.0 else -1.0


def cosine_angle(a: Any, b: Any, value: Any, side: Any) -> Array:
    """Return the angle x with a cos x + b sin x = value on one side of the maximum; NaN where there is none."""
    with np.errstate(all="ignore"):
        return np.asarray(np.arctan2(b, a) + side * np.arccos(value / np.hypot(a, b)))


def real_roots(function: Callable[[Array], Array], degree: int) -> Array | None:
    """Return the angles at which a trigonometric polynomial of a degree, real at real angles, is zero.

    It has 2 `degree` complex roots z = exp(i x), of which those on the unit circle are real angles. Roots within 1e-3
    of it are returned: whether they are real is to be verified. None where values are not finite.
    """
    count = 2 * degree + 1
    values = function(2.0 * np.pi * np.arange(count) / count)
    if not np.isfinite(values).all():
        return None
    roots = np.roots(np.fft.fftshift(np.fft.fft(values))[::-1])
    return np.asarray(np.angle(roots[np.abs(np.abs(roots) - 1.0) < 1e-3]))
