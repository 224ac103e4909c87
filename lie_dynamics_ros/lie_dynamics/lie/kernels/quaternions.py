"""Unit quaternions x, y, z, w inside kernels, as of `quaternion`."""

from __future__ import annotations

import math

from ...engine.compile import inline
from .exponential import Rows, Vec, coefficients

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
