"""Rigid motions: SE(3) as 4x4 homogeneous matrices, se(3) as 6-vectors with the angular part first.

T_ab maps coordinates of {b} into {a}. Twists are V = (w, v) [rad/s, m/s], wrenches F = (m, f) [N m, N]. Every function
takes leading batch axes, which broadcast; those without a check on group membership also take complex input.
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import AnyArray, ArrayLike
from ..errors import GroupError, InputError
from . import quaternion, so3
from ._arrays import as_array, as_real, assemble

_BOTTOM = np.array([0.0, 0.0, 0.0, 1.0])


def from_parts(R: ArrayLike, p: ArrayLike) -> AnyArray:
    """Return T = [[R, p], [0, 1]] (..., 4, 4) of rotations `R` (..., 3, 3) and positions `p` (..., 3) [m]. Kim (3).

    R is taken as it is; see `check`.
    """
    R, p = as_array(R, (3, 3), "R"), as_array(p, (3,), "p")
    batch = np.broadcast_shapes(R.shape[:-2], p.shape[:-1])
    T = np.zeros((*batch, 4, 4), dtype=np.result_type(R, p))
    T[..., :3, :3] = R
    T[..., :3, 3] = p
    T[..., 3, 3] = 1.0
    return T


def to_parts(T: ArrayLike) -> tuple[AnyArray, AnyArray]:
    """Return the rotations (..., 3, 3) and positions (..., 3) [m] of `T` (..., 4, 4)."""
    T = as_array(T, (4, 4), "T")
    return T[..., :3, :3], T[..., :3, 3]


def from_position_quaternion(p: ArrayLike, q: ArrayLike) -> AnyArray:
    """Return T (..., 4, 4) of positions `p` (..., 3) [m] and unit quaternions `q` (x, y, z, w) (..., 4), checked."""
    return from_parts(so3.from_quaternion(q), p)


def to_position_quaternion(T: ArrayLike) -> tuple[AnyArray, AnyArray]:
    """Return positions (..., 3) [m] and unit quaternions (x, y, z, w), w >= 0, (..., 4) of `T` (..., 4, 4), checked."""
    R, p = to_parts(check(T))
    return p, quaternion.from_matrix(R)


def check(T: ArrayLike, name: str = "T", tolerance: float = so3.TOLERANCE) -> AnyArray:
    """Return `T` (..., 4, 4) as an array if every matrix is a rigid motion.

    Raises
    ------
    InputError
        On a wrong shape or a value that is not finite.
    GroupError
        If the upper left block is no rotation (within `tolerance`) or the last row is not 0 0 0 1.
    """
    if type(T) is np.ndarray and T.shape == (4, 4) and T.dtype == np.float64 and _is_rigid(T.tolist(), tolerance):
        return T
    T = as_real(T, (4, 4), name)
    if np.abs(T[..., 3, :] - _BOTTOM).max(initial=0.0) > 0.0:
        raise GroupError(f"{name}: the last row of a rigid motion is 0 0 0 1", name=name, value=T, expected="0 0 0 1")
    so3.check(T[..., :3, :3], name, tolerance)
    return T


def _is_rigid(T: list[list[float]], tolerance: float) -> bool:
    """Tell what `check` asks of one matrix, in plain numbers, which takes a tenth of the time of arrays."""
    (a, b, c, x), (d, e, f, y), (g, h, i, z), bottom = T
    return (
        bottom == [0.0, 0.0, 0.0, 1.0]
        and math.isfinite(x + y + z)
        and abs(a * a + d * d + g * g - 1.0) <= tolerance
        and abs(b * b + e * e + h * h - 1.0) <= tolerance
        and abs(c * c + f * f + i * i - 1.0) <= tolerance
        and abs(a * b + d * e + g * h) <= tolerance
        and abs(a * c + d * f + g * i) <= tolerance
        and abs(b * c + e * f + h * i) <= tolerance
        and a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) > 0.0
    )


def hat(V: ArrayLike) -> AnyArray:
    """Return [[ [w], v ], [0, 0]] (..., 4, 4) of twists `V` = (w, v) (..., 6). Kim (5)."""
    V = as_array(V, (6,), "V")
    X = np.zeros((*V.shape[:-1], 4, 4), dtype=V.dtype)
    X[..., :3, :3] = so3.hat(V[..., :3])
    X[..., :3, 3] = V[..., 3:]
    return X


def vee(X: ArrayLike) -> AnyArray:
    """Return the twists (..., 6) of elements `X` (..., 4, 4) of se(3); the inverse of `hat`."""
    X = as_array(X, (4, 4), "X")
    if np.abs(X[..., 3, :]).max(initial=0.0) > 0.0:
        raise InputError("X: the last row of an element of se(3) is 0 0 0 0", name="X", value=X, expected="0 0 0 0")
    return np.concatenate([so3.vee(X[..., :3, :3]), X[..., :3, 3]], axis=-1)


def exp(V: ArrayLike) -> AnyArray:
    """Return exp([V]) (..., 4, 4): R = exp([w]), p = J_l(w) v."""
    V = as_array(V, (6,), "V")
    w, v = V[..., :3], V[..., 3:]
    return from_parts(so3.exp(w), _apply(so3.left_jacobian(w), v))


def log(T: ArrayLike) -> AnyArray:
    """Return the twists (..., 6), rotation at most pi, whose exponential is `T` (..., 4, 4).

    Raises
    ------
    GroupError
        If `T` is not a rigid motion.
    """
    return _log(check(T))


def inverse(T: ArrayLike) -> AnyArray:
    """Return T^-1 = [[R^T, -R^T p], [0, 1]] (..., 4, 4). Kim (4)."""
    R, p = to_parts(T)
    Rt = np.swapaxes(R, -1, -2)
    return from_parts(Rt, -_apply(Rt, p))


def compose(*T: ArrayLike) -> AnyArray:
    """Return the product of one or more rigid motions: compose(T_ab, T_bc) = T_ac, shape (..., 4, 4)."""
    product: AnyArray = np.eye(4)
    for factor in T:
        product = product @ as_array(factor, (4, 4), "T")
    return product


def Ad(T: ArrayLike) -> AnyArray:
    """Return Ad_T = [[R, 0], [[p] R, R]] (..., 6, 6): twists of {b} to {a} for T = T_ab. Kim (7)."""
    R, p = to_parts(T)
    return assemble([[R, np.zeros((3, 3))], [so3.hat(p) @ R, R]])


def Ad_dual(T: ArrayLike) -> AnyArray:
    """Return Ad*_T = Ad_T^T (..., 6, 6): wrenches of {a} to {b} for T = T_ab. Kim (8), (13)."""
    return np.swapaxes(Ad(T), -1, -2)


def ad(V: ArrayLike) -> AnyArray:
    """Return ad_V = [[[w], 0], [[v], [w]]] (..., 6, 6), the Lie bracket with `V` = (w, v) (..., 6). Kim (27)."""
    V = as_array(V, (6,), "V")
    out = np.zeros((*V.shape[:-1], 6, 6), V.dtype)
    out[..., :3, :3] = out[..., 3:, 3:] = so3.hat(V[..., :3])
    out[..., 3:, :3] = so3.hat(V[..., 3:])
    return out


def ad_dual(V: ArrayLike) -> AnyArray:
    """Return ad*_V = ad_V^T (..., 6, 6). Kim (29)."""
    return np.swapaxes(ad(V), -1, -2)


def left_jacobian(V: ArrayLike) -> AnyArray:
    """Return J_l (..., 6, 6) with exp(V + e) = exp(J_l(V) e) exp(V) to first order in e.

    J_l = sum ad_V^k / (k+1)!. ad_V is block triangular with [v] below the diagonal, which makes the lower left block
    the derivative of the Jacobian of SO(3) at w along v.
    """
    V = as_array(V, (6,), "V")
    w, v = V[..., :3], V[..., 3:]
    J = so3.left_jacobian(w)
    return assemble([[J, np.zeros((3, 3))], [so3.left_jacobian_derivative(w, v), J]])


def left_jacobian_inverse(V: ArrayLike) -> AnyArray:
    """Return the inverse of `left_jacobian`, shape (..., 6, 6); it exists for rotations below 2 pi."""
    V = as_array(V, (6,), "V")
    w, v = V[..., :3], V[..., 3:]
    J = so3.left_jacobian_inverse(w)
    return assemble([[J, np.zeros((3, 3))], [so3.left_jacobian_inverse_derivative(w, v), J]])


def right_jacobian(V: ArrayLike) -> AnyArray:
    """Return J_r (..., 6, 6) with exp(V + e) = exp(V) exp(J_r(V) e) to first order; J_r(V) = J_l(-V)."""
    return left_jacobian(-as_array(V, (6,), "V"))


def right_jacobian_inverse(V: ArrayLike) -> AnyArray:
    """Return the inverse of `right_jacobian`, shape (..., 6, 6)."""
    return left_jacobian_inverse(-as_array(V, (6,), "V"))


def transform_points(T: ArrayLike, points: ArrayLike) -> AnyArray:
    """Return R x + p (..., 3) [m] for `T` (..., 4, 4) and points (..., 3); for one T and n points pass (n, 3)."""
    R, p = to_parts(T)
    return np.asarray(_apply(R, as_array(points, (3,), "points")) + p)


def transform_twist(T: ArrayLike, V: ArrayLike) -> AnyArray:
    """Return Ad_T V (..., 6): a twist given in {b} as seen from {a}, for T = T_ab. Kim (11)."""
    R, p = to_parts(T)
    V = as_array(V, (6,), "V")
    w, v = _apply(R, V[..., :3]), _apply(R, V[..., 3:])
    return np.concatenate([w, v + np.cross(np.broadcast_to(p, w.shape), w)], axis=-1)


def transform_wrench(T: ArrayLike, F: ArrayLike) -> AnyArray:
    """Return Ad*_{T^-1} F (..., 6): a wrench given in {b} as seen from {a}, for T = T_ab. Kim (13)."""
    R, p = to_parts(T)
    F = as_array(F, (6,), "F")
    m, f = _apply(R, F[..., :3]), _apply(R, F[..., 3:])
    return np.concatenate([m + np.cross(np.broadcast_to(p, f.shape), f), f], axis=-1)


def interpolate(T0: ArrayLike, T1: ArrayLike, s: ArrayLike) -> AnyArray:
    """Return T0 exp(s log(T0^-1 T1)) (..., 4, 4): the screw motion from `T0` (s = 0) to `T1` (s = 1), `s` (...)."""
    T0, T1 = check(T0, "T0"), check(T1, "T1")
    return np.asarray(T0 @ exp(as_real(s, (), "s")[..., None] * _log(inverse(T0) @ T1)))


def _log(T: AnyArray) -> AnyArray:
    R, p = to_parts(T)
    w = quaternion.log(quaternion.from_matrix(R))
    return np.concatenate([w, _apply(so3.left_jacobian_inverse(w), p)], axis=-1)


def _apply(M: AnyArray, x: AnyArray) -> AnyArray:
    return np.asarray((M @ x[..., None])[..., 0])
