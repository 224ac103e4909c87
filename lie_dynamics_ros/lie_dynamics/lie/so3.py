"""Rotations: SO(3) as 3x3 matrices, its algebra so(3) as rotation vectors.

Every function takes leading batch axes, which broadcast. exp, the Jacobians and hat also take complex input, so that
complex-step derivatives go through them. Angles in radians.
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import AnyArray, ArrayLike, Mask
from ..errors import GroupError, InputError, SingularityError
from . import _coefficients as coefficient
from . import quaternion
from ._arrays import as_array, as_real, matrix_of


def hat(w: ArrayLike) -> AnyArray:
    """Return [w] (..., 3, 3), the skew matrix with [w] x = w cross x, of vectors `w` (..., 3)."""
    w = as_array(w, (3,), "w")
    W = np.zeros((*w.shape, 3), dtype=w.dtype)
    W[..., 2, 1] = w[..., 0]
    W[..., 0, 2] = w[..., 1]
    W[..., 1, 0] = w[..., 2]
    return W - np.swapaxes(W, -1, -2)


def vee(W: ArrayLike) -> AnyArray:
    """Return the vectors (..., 3) of skew matrices `W` (..., 3, 3); the inverse of `hat`.

    Raises
    ------
    InputError
        If `W` is not skew to round-off (1e-9 of its largest entry).
    """
    W = as_array(W, (3, 3), "W")
    off = np.abs(W + np.swapaxes(W, -1, -2)).max(axis=(-2, -1), initial=0.0)
    if (off > 1e-9 * np.abs(W).max(axis=(-2, -1), initial=0.0)).any():
        raise InputError(
            f"W: skew matrix expected, but W + W^T has an entry of size {off.max():.3g}",
            name="W",
            value=W,
            expected="W = -W^T",
        )
    return np.stack([W[..., 2, 1], W[..., 0, 2], W[..., 1, 0]], axis=-1)


def polynomial(first: AnyArray | float, second: AnyArray, phi: AnyArray) -> AnyArray:
    """Return 1 + first [phi] + second [phi]^2, shape (..., 3, 3); coefficients (...), phi (..., 3)."""
    W = hat(phi)
    f, g = (np.asarray(scalar)[..., None, None] for scalar in (first, second))
    return np.asarray(np.eye(3) + f * W + g * (W @ W))


def polynomial_derivative(
    first: AnyArray | float,
    second: AnyArray,
    slope_first: AnyArray | float,
    slope_second: AnyArray,
    phi: AnyArray,
    dphi: AnyArray,
) -> AnyArray:
    """Return the derivative of `polynomial` along `dphi`, when the coefficients are functions of |phi|.

    A slope is (1/x) df/dx at x = |phi|, so that df = slope (phi . dphi).
    """
    W, U = hat(phi), hat(dphi)
    along = (phi * dphi).sum(axis=-1)
    scalars = (first, second, along * slope_first, along * slope_second)
    f, g, df, dg = (np.asarray(s)[..., None, None] for s in scalars)
    return np.asarray(f * U + g * (W @ U + U @ W) + df * W + dg * (W @ W))


# Left and right Jacobians of the exponential of SO(3), their inverses and derivatives.


def left_jacobian(phi: ArrayLike) -> AnyArray:
    """Return J_l (..., 3, 3) with exp(phi + e) = exp(J_l(phi) e) exp(phi) to first order in e."""
    phi = as_array(phi, (3,), "phi")
    t = (phi * phi).sum(axis=-1)
    return polynomial(coefficient.b(t), coefficient.c(t), phi)


def left_jacobian_inverse(phi: ArrayLike) -> AnyArray:
    """Return the inverse of `left_jacobian`, shape (..., 3, 3); it exists for angles below 2 pi.

    Raises
    ------
    SingularityError
        If the angle is within round-off of a whole number of turns other than none.
    """
    phi = as_array(phi, (3,), "phi")
    t = (phi * phi).sum(axis=-1)
    _refuse_whole_turns(t)
    return polynomial(-0.5, coefficient.d(t), phi)


def left_jacobian_derivative(phi: ArrayLike, dphi: ArrayLike) -> AnyArray:
    """Return the derivative (..., 3, 3) of `left_jacobian` at `phi` (..., 3) along `dphi` (..., 3).

    With the rate of phi for `dphi` this is the time derivative. It is also a block of the Jacobian of SE(3).
    """
    phi, dphi = as_array(phi, (3,), "phi"), as_array(dphi, (3,), "dphi")
    t = (phi * phi).sum(axis=-1)
    return polynomial_derivative(coefficient.b(t), coefficient.c(t), coefficient.db(t), coefficient.dc(t), phi, dphi)


def left_jacobian_inverse_derivative(phi: ArrayLike, dphi: ArrayLike) -> AnyArray:
    """Return the derivative (..., 3, 3) of `left_jacobian_inverse` at `phi` (..., 3) along `dphi` (..., 3)."""
    phi, dphi = as_array(phi, (3,), "phi"), as_array(dphi, (3,), "dphi")
    t = (phi * phi).sum(axis=-1)
    _refuse_whole_turns(t)
    return polynomial_derivative(-0.5, coefficient.d(t), 0.0, coefficient.dd(t), phi, dphi)


def right_jacobian(phi: ArrayLike) -> AnyArray:
    """Return J_r (..., 3, 3) with exp(phi + e) = exp(phi) exp(J_r(phi) e) to first order; J_r(phi) = J_l(-phi)."""
    return left_jacobian(-as_array(phi, (3,), "phi"))


def right_jacobian_inverse(phi: ArrayLike) -> AnyArray:
    """Return the inverse of `right_jacobian`, shape (..., 3, 3)."""
    return left_jacobian_inverse(-as_array(phi, (3,), "phi"))


def right_jacobian_derivative(phi: ArrayLike, dphi: ArrayLike) -> AnyArray:
    """Return the derivative (..., 3, 3) of `right_jacobian` at `phi` (..., 3) along `dphi` (..., 3)."""
    return left_jacobian_derivative(-as_array(phi, (3,), "phi"), -as_array(dphi, (3,), "dphi"))


def right_jacobian_inverse_derivative(phi: ArrayLike, dphi: ArrayLike) -> AnyArray:
    """Return the derivative (..., 3, 3) of `right_jacobian_inverse` at `phi` (..., 3) along `dphi` (..., 3)."""
    return left_jacobian_inverse_derivative(-as_array(phi, (3,), "phi"), -as_array(dphi, (3,), "dphi"))


def _refuse_whole_turns(t: AnyArray) -> None:
    """Raise where the angle sqrt(t) is 2 pi, 4 pi, ...: exp is not locally invertible there."""
    angle = np.sqrt(np.abs(t))
    turns = np.round(angle / (2.0 * np.pi))
    singular = (turns > 0) & (np.abs(angle - 2.0 * np.pi * turns) < 1e-14 * angle)
    if singular.any():
        raise SingularityError(
            f"phi: the Jacobian of exp has no inverse at the angle {np.max(angle[singular]):.17g} rad, a whole turn",
            name="phi",
            value=angle,
            expected="an angle other than 2 pi, 4 pi, ...",
        )


# Fixed-axis roll, pitch, yaw as URDF defines them: R = Rz(yaw) Ry(pitch) Rx(roll).


def from_rpy(rpy: ArrayLike) -> AnyArray:
    """Return the rotation matrices (..., 3, 3) of (roll, pitch, yaw), shape (..., 3) [rad]."""
    rpy = as_array(rpy, (3,), "rpy")
    if rpy.ndim == 1 and rpy.dtype == np.float64:  # one alone: plain numbers take a third of the time of arrays
        return np.array(rows_of_rpy(*rpy.tolist()))
    cr, cp, cy = (np.cos(rpy[..., i]) for i in range(3))
    sr, sp, sy = (np.sin(rpy[..., i]) for i in range(3))
    first = [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr]
    second = [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr]
    return matrix_of([*first, *second, -sp, cp * sr, cp * cr], 3)


def rows_of_rpy(roll: float, pitch: float, yaw: float) -> tuple[list[float], list[float], list[float]]:
    """Return the three rows of one matrix of `from_rpy`, in plain numbers."""
    cr, cp, cy = math.cos(roll), math.cos(pitch), math.cos(yaw)
    sr, sp, sy = math.sin(roll), math.sin(pitch), math.sin(yaw)
    return (
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    )


def to_rpy(R: ArrayLike) -> AnyArray:
    """Return (roll, pitch, yaw), shape (..., 3) [rad], of rotation matrices (..., 3, 3), pitch in [-pi/2, pi/2].

    At pitch = +-pi/2 only the sum or difference of roll and yaw is determined: yaw = 0 is chosen there. Roll is read
    after yaw has been taken off, so the three angles give R back to round-off at and near that singularity too.
    """
    R = as_real(R, (3, 3), "R")
    yaw = np.arctan2(R[..., 1, 0], R[..., 0, 0])
    pitch = np.arctan2(-R[..., 2, 0], np.hypot(R[..., 0, 0], R[..., 1, 0]))
    sy, cy = np.sin(yaw), np.cos(yaw)
    roll = np.arctan2(sy * R[..., 0, 2] - cy * R[..., 1, 2], cy * R[..., 1, 1] - sy * R[..., 0, 1])
    return np.stack([roll, pitch, yaw], axis=-1)


__all__ = [
    "check",
    "exp",
    "from_quaternion",
    "from_rpy",
    "hat",
    "interpolate",
    "is_rotation",
    "left_jacobian",
    "left_jacobian_derivative",
    "left_jacobian_inverse",
    "left_jacobian_inverse_derivative",
    "log",
    "nearest",
    "right_jacobian",
    "right_jacobian_derivative",
    "right_jacobian_inverse",
    "right_jacobian_inverse_derivative",
    "to_quaternion",
    "to_rpy",
    "vee",
]

#: How far R^T R of a matrix given by a user may be from the identity, entry by entry.
TOLERANCE = 1e-6


def is_rotation(R: ArrayLike, tolerance: float = TOLERANCE) -> Mask:
    """Tell, for each matrix of `R` (..., 3, 3), whether R^T R = 1 within `tolerance` and det R > 0."""
    R = as_real(R, (3, 3), "R")
    off = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(axis=(-2, -1))
    return np.asarray((off <= tolerance) & (np.linalg.det(R) > 0.0))


def check(R: ArrayLike, name: str = "R", tolerance: float = TOLERANCE) -> AnyArray:
    """Return `R` (..., 3, 3) as an array if every matrix is a rotation.

    Raises
    ------
    InputError
        On a wrong shape or a value that is not finite.
    GroupError
        If a matrix is not a rotation; carries it as `value`.
    """
    R = as_real(R, (3, 3), name)
    good = is_rotation(R, tolerance)
    if not good.all():
        where = tuple(int(i) for i in np.argwhere(~good)[0])
        bad = R[where]
        off = np.abs(bad.T @ bad - np.eye(3)).max()
        raise GroupError(
            f"{name}: rotation matrix expected, got one with |R^T R - 1| = {off:.3g} (at most {tolerance:.3g} allowed) "
            f"and determinant {np.linalg.det(bad):.6g}" + (f" at index {where}" if where else ""),
            name=name,
            value=bad,
            expected="R^T R = 1, det R = 1",
        )
    return R


def nearest(M: ArrayLike) -> AnyArray:
    """Return the rotations (..., 3, 3) nearest to matrices `M` in the Frobenius norm.

    Raises
    ------
    SingularityError
        If the nearest rotation is not unique: M has rank 1 or 0, or mirrors and has its two smallest singular values
        equal.
    """
    M = as_real(M, (3, 3), "M")
    u, s, vt = np.linalg.svd(M)
    sign = np.sign(np.linalg.det(u) * np.linalg.det(vt))
    if (s[..., 1] + sign * s[..., 2] <= 1e-12 * s[..., 0]).any():
        raise SingularityError(
            f"M: no unique nearest rotation, singular values {s.tolist()}", name="M", value=M, expected="rank 2 or 3"
        )
    s = np.ones_like(s)
    s[..., 2] = sign
    return np.asarray((u * s[..., None, :]) @ vt)


def exp(phi: ArrayLike) -> AnyArray:
    """Return the rotations exp([phi]) (..., 3, 3) of rotation vectors `phi` (..., 3) [rad]."""
    phi = as_array(phi, (3,), "phi")
    t = (phi * phi).sum(axis=-1)
    return polynomial(coefficient.a(t), coefficient.b(t), phi)


def log(R: ArrayLike) -> AnyArray:
    """Return the rotation vectors (..., 3) [rad], length at most pi, of rotations `R` (..., 3, 3).

    At angle pi, where the axis is known up to sign, the one with its largest component positive is returned.

    Raises
    ------
    GroupError
        If `R` is not a rotation within `TOLERANCE`.
    """
    return quaternion.log(quaternion.from_matrix(check(R)))


def from_quaternion(q: ArrayLike, tolerance: float = quaternion.TOLERANCE) -> AnyArray:
    """Return the rotations (..., 3, 3) of quaternions (x, y, z, w) (..., 4); refuses any that is not of unit length."""
    return quaternion.to_matrix(quaternion.check(q, tolerance=tolerance))


def to_quaternion(R: ArrayLike) -> AnyArray:
    """Return the unit quaternions (x, y, z, w), w >= 0, shape (..., 4), of rotations (..., 3, 3); R is checked."""
    return quaternion.from_matrix(check(R))


def interpolate(R0: ArrayLike, R1: ArrayLike, s: ArrayLike) -> AnyArray:
    """Return the rotations at `s` (...) of the geodesic from `R0` (s = 0) to `R1` (s = 1), the shorter way round."""
    R0, R1 = check(R0, "R0"), check(R1, "R1")
    step = quaternion.log(quaternion.from_matrix(np.swapaxes(R0, -1, -2) @ R1))
    return np.asarray(R0 @ exp(as_real(s, (), "s")[..., None] * step))
