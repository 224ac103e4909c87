"""Unit quaternions, components in the order x, y, z, w everywhere; q and -q are the same rotation.

`from_matrix` and `canonical` return the one with w >= 0. Shapes are (..., 4); leading batch axes broadcast.
"""

from __future__ import annotations

import numpy as np

from ..arrays import AnyArray, ArrayLike
from ..errors import GroupError
from . import _coefficients as coefficient
from ._arrays import as_array, as_real, matrix_of

#: How far the length of a quaternion given by a user may be from 1.
TOLERANCE = 1e-6


def check(q: ArrayLike, name: str = "quaternion", tolerance: float = TOLERANCE) -> AnyArray:
    """Return `q` scaled to length 1 exactly.

    Parameters
    ----------
    q : array-like, shape (..., 4)
        Quaternions (x, y, z, w).
    name : str
        What the error message calls it.
    tolerance : float
        Largest accepted difference between the length and 1.

    Raises
    ------
    InputError
        On a wrong shape or a value that is not finite.
    GroupError
        If a quaternion is not of unit length; carries the quaternion as `value`.
    """
    q = as_real(q, (4,), name)
    length = np.sqrt((q * q).sum(axis=-1))
    bad = np.abs(length - 1.0) > tolerance
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        value = q[where]
        raise GroupError(
            f"{name}: unit quaternion (x, y, z, w) expected, got {value.tolist()} of length {length[where]:.9g}"
            + (f" at index {where}" if where else "")
            + "; normalise it if only its direction matters",
            name=name,
            value=value,
            expected="unit length",
        )
    return np.asarray(q / length[..., None])


def normalize(q: ArrayLike) -> AnyArray:
    """Return `q` (..., 4) scaled to unit length; zero quaternions are refused with a `GroupError`."""
    q = as_real(q, (4,), "quaternion")
    largest = np.abs(q).max(axis=-1, keepdims=True)  # scaled first, so that no square under- or overflows
    if (largest == 0.0).any():
        raise GroupError("quaternion: a zero quaternion has no direction", name="quaternion", value=q)
    scaled = q / largest
    return np.asarray(scaled / np.sqrt((scaled * scaled).sum(axis=-1, keepdims=True)))


def canonical(q: ArrayLike) -> AnyArray:
    """Return the one of q and -q that has w >= 0, shape (..., 4)."""
    q = as_real(q, (4,), "quaternion")
    return np.where(q[..., 3:] < 0.0, -q, q)


def conjugate(q: ArrayLike) -> AnyArray:
    """Return the inverse rotation (-x, -y, -z, w), shape (..., 4)."""
    return np.asarray(as_array(q, (4,), "quaternion") * np.array([-1.0, -1.0, -1.0, 1.0]))


def multiply(p: ArrayLike, q: ArrayLike) -> AnyArray:
    """Return the product p q, the rotation `p` after `q`: to_matrix(multiply(p, q)) = to_matrix(p) to_matrix(q)."""
    p, q = as_array(p, (4,), "p"), as_array(q, (4,), "q")
    px, py, pz, pw = (p[..., i] for i in range(4))
    qx, qy, qz, qw = (q[..., i] for i in range(4))
    return np.stack(
        [
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
            pw * qw - px * qx - py * qy - pz * qz,
        ],
        axis=-1,
    )


def to_matrix(q: ArrayLike) -> AnyArray:
    """Return the rotation matrices (..., 3, 3) of unit quaternions (..., 4).

    The length is not checked here (see `check`); a quaternion of another length gives a matrix that is no rotation.
    """
    q = as_array(q, (4,), "quaternion")
    x, y, z, w = (q[..., i] for i in range(4))
    first = [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)]
    second = [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)]
    third = [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)]
    return matrix_of(first + second + third, 3)


def from_matrix(R: ArrayLike) -> AnyArray:
    """Return the unit quaternions (..., 4), w >= 0, of rotation matrices (..., 3, 3); see `so3.check` for checks.

    4 q q^T is linear in R; its row with the largest diagonal entry is q times a factor that cannot vanish, so every
    component keeps its relative accuracy at every angle, pi included.
    """
    R = as_real(R, (3, 3), "R")
    r = [[R[..., i, j] for j in range(3)] for i in range(3)]
    xy, xz, yz = r[0][1] + r[1][0], r[0][2] + r[2][0], r[1][2] + r[2][1]
    xw, yw, zw = r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]
    xx, yy, zz = 1.0 + r[0][0], 1.0 + r[1][1], 1.0 + r[2][2]
    xx, yy, zz, ww = xx - r[1][1] - r[2][2], yy - r[0][0] - r[2][2], zz - r[0][0] - r[1][1], xx + r[1][1] + r[2][2]
    products = matrix_of([xx, xy, xz, xw, xy, yy, yz, yw, xz, yz, zz, zw, xw, yw, zw, ww], 4)
    largest = np.diagonal(products, axis1=-2, axis2=-1).argmax(axis=-1)
    row = np.take_along_axis(products, largest[..., None, None], axis=-2)[..., 0, :]
    return canonical(row / np.sqrt((row * row).sum(axis=-1, keepdims=True)))


def exp(phi: ArrayLike) -> AnyArray:
    """Return the unit quaternions (..., 4) of rotation vectors `phi` (..., 3) [rad]. Not reduced to w >= 0."""
    phi = as_array(phi, (3,), "phi")
    quarter = 0.25 * (phi * phi).sum(axis=-1)
    vector = 0.5 * coefficient.a(quarter)[..., None] * phi
    return np.concatenate([vector, np.cos(np.sqrt(quarter))[..., None]], axis=-1)


def log(q: ArrayLike) -> AnyArray:
    """Return the rotation vectors (..., 3) [rad], length at most pi, of unit quaternions `q` (..., 4)."""
    q = canonical(q)
    vector, w = q[..., :3], q[..., 3]
    sine = np.sqrt((vector * vector).sum(axis=-1))
    safe = np.where(sine == 0.0, 1.0, sine)
    return np.asarray((2.0 * np.where(sine == 0.0, 1.0, np.arctan2(sine, w) / safe))[..., None] * vector)


def slerp(q0: ArrayLike, q1: ArrayLike, s: ArrayLike) -> AnyArray:
    """Interpolate at constant angular velocity along the shorter arc from `q0` (s = 0) to `q1` (s = 1).

    Parameters
    ----------
    q0, q1 : array-like, shape (..., 4)
        Unit quaternions; checked.
    s : array-like, shape (...)
        Any real number; outside [0, 1] the motion is continued.
    """
    q0, q1 = check(q0, "q0"), check(q1, "q1")
    step = log(multiply(conjugate(q0), q1))
    return multiply(q0, exp(as_real(s, (), "s")[..., None] * step))
