"""Leg lengths of the Stewart paper and their Lie derivatives, one pose at a time: (16)-(17), (13), (22)-(24).

All in one unit of length, the paper's is cm; a_i and b_i are rows of (6, 3), homogeneous coordinates carry a tilde.
The residual is r_i(T) = |T b~_i - a~_i|^2 - L_i^2.
"""

from __future__ import annotations

import numpy as np

from ..arrays import AnyArray
from ..lie import se3

#: Basis E_1 ... E_6 of se(3), (6, 4, 4). (A1)
E = se3.hat(np.eye(6))


def residual(a: AnyArray, b: AnyArray, L: AnyArray, T: AnyArray) -> AnyArray:
    """Return r (6,). (16), (17)."""
    l = b @ T[:3, :3].T + T[:3, 3] - a  # noqa: E741
    return np.asarray((l * l).sum(axis=1) - L**2)


def body_jacobian(a: AnyArray, b: AnyArray, T: AnyArray) -> AnyArray:
    """Return J_b (6, 6) with r(T exp(s)) = r(T) + J_b s + ... (22), (24), (25)."""
    R, p = T[:3, :3], T[:3, 3]
    J = np.zeros((6, 6), T.dtype)
    for i in range(6):
        J[i, :3] = np.cross(R.T @ a[i] - R.T @ p, b[i])
        J[i, 3:] = b[i] - R.T @ a[i] + R.T @ p
    return 2.0 * J


def spatial_jacobian(a: AnyArray, b: AnyArray, T: AnyArray) -> AnyArray:
    """Return J_r (6, 6) with r(exp(s) T) = r(T) + J_r s + ...: (23), which is printed for exp(-s) T."""
    R, p = T[:3, :3], T[:3, 3]
    J = np.zeros((6, 6), T.dtype)
    for i in range(6):
        J[i, :3] = np.cross(a[i], R @ b[i] + p)
        J[i, 3:] = R @ b[i] + p - a[i]
    return 2.0 * J


def second_derivatives(a: AnyArray, b: AnyArray, T: AnyArray) -> AnyArray:
    """Return (E_j^r E_k^r r_i)(T) as [i, j, k], (6, 6, 6): the second-order term of (13).

    d2/ds dt of |T exp(s E_j) exp(t E_k) b~ - a~|^2. Not symmetric in j and k: what is antisymmetric is the derivative
    along the bracket, and drops out of (13).
    """
    tilde_a, tilde_b = (np.concatenate([x, np.ones((6, 1))], axis=1) for x in (a, b))
    H = np.zeros((6, 6, 6), T.dtype)
    for i in range(6):
        l = T @ tilde_b[i] - tilde_a[i]  # noqa: E741
        for j in range(6):
            for k in range(6):
                H[i, j, k] = 2.0 * (T @ E[j] @ E[k] @ tilde_b[i]) @ l
                H[i, j, k] += 2.0 * (T @ E[j] @ tilde_b[i]) @ (T @ E[k] @ tilde_b[i])
    return H
