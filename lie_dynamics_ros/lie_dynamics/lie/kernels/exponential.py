"""Exponential of SO(3) and its right Jacobian inside kernels, by the functions of the squared angle of `_coefficients`.

With exp(phi) = 1 + a [phi] + b [phi]^2 the right Jacobian is J = 1 - b [phi] + c [phi]^2; its derivative along phi'
needs db and dc, which are (1/angle) d/d angle of b and c.
"""

from __future__ import annotations

import math

from ...engine.compile import inline
from .series import SWITCH, factorial_series, slope

Vec = tuple[float, float, float]
Rows = tuple[Vec, Vec, Vec]

_TERMS = 14  # 4^14 / 29! is 3e-23
_A, _B, _C = (factorial_series(offset, _TERMS) for offset in (1, 2, 3))
_DB, _DC = (slope(factorial_series(offset, _TERMS + 1)) for offset in (2, 3))


@inline
def coefficients(t):
    """Return a, b, c, db, dc at a squared angle."""
    if t < SWITCH:
        a, b, c, db, dc = _A[-1], _B[-1], _C[-1], _DB[-1], _DC[-1]
        for k in range(_TERMS - 2, -1, -1):
            a, b, c = a * t + _A[k], b * t + _B[k], c * t + _C[k]
            db, dc = db * t + _DB[k], dc * t + _DC[k]
        return a, b, c, db, dc
    angle = math.sqrt(t)
    half = math.sin(0.5 * angle)
    a, b = math.sin(angle) / angle, 2.0 * half * half / t
    c = (1.0 - a) / t
    return a, b, c, (a - 2.0 * b) / t, (b - 3.0 * c) / t


@inline
def rotation_rows(a, b, phi: Vec) -> Rows:
    """Return the rows of 1 + a [phi] + b [phi]^2: with these coefficients exp(phi), with b and c its left Jacobian."""
    x, y, z = phi
    return (
        (1.0 - b * (y * y + z * z), b * x * y - a * z, b * x * z + a * y),
        (b * x * y + a * z, 1.0 - b * (x * x + z * z), b * y * z - a * x),
        (b * x * z - a * y, b * y * z + a * x, 1.0 - b * (x * x + y * y)),
    )
