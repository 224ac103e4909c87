"""Exponential of SO(3) inside kernels, by the functions of the squared angle of `_coefficients`, and unit quaternions.

With exp(phi) = 1 + a [phi] + b [phi]^2 the right Jacobian is J = 1 - b [phi] + c [phi]^2; its derivative along phi'
needs db and dc, which are (1/angle) d/d angle of b and c. Quaternions are x, y, z, w, as of `quaternion`.
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


Quaternion = tuple[float, float, float, float]


@inline
def multiply(p: Quaternion, q: Quaternion) -> Quaternion:
    """Return the rotation p after q."""
    px, py, pz, pw = p
    qx, qy, qz, qw = q
    return (
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
        pw * qw - px * qx - py * qy - pz * qz,
    )


@inline
def conjugate(q: Quaternion) -> Quaternion:
    """Return the inverse rotation."""
    return -q[0], -q[1], -q[2], q[3]


@inline
def normalize(q: Quaternion) -> Quaternion:
    """Return q scaled to unit length."""
    f = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return f * q[0], f * q[1], f * q[2], f * q[3]


@inline
def exp(phi: Vec) -> Quaternion:
    """Return the rotation by a rotation vector."""
    quarter = 0.25 * (phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2])
    f = 0.5 * coefficients(quarter)[0]
    return f * phi[0], f * phi[1], f * phi[2], math.cos(math.sqrt(quarter))


@inline
def log(q: Quaternion) -> Vec:
    """Return the rotation vector, length at most pi."""
    x, y, z, w = q
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    sine = math.sqrt(x * x + y * y + z * z)
    f = 2.0 if sine == 0.0 else 2.0 * math.atan2(sine, w) / sine
    return f * x, f * y, f * z


@inline
def to_rows(q: Quaternion) -> Rows:
    """Return the rows of the rotation matrix."""
    x, y, z, w = q
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )
