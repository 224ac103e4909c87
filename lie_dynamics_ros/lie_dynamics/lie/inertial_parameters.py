"""The ten inertial parameters of a rigid body in their three forms, with batch axes.

Parameters, shape (..., 10), in this order: m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz, where h = m c is the first
moment of mass [kg m] and I the rotational inertia about the origin of the body frame, in its axes [kg m^2].
The dynamics are linear in them. The other forms are the generalised inertia (..., 6, 6) and the pseudo-inertia
(..., 4, 4).
"""

from __future__ import annotations

import numpy as np

from ..arrays import AnyArray, ArrayLike
from ._arrays import as_array, assemble
from .so3 import hat


def rotational_inertia(parameters: ArrayLike) -> AnyArray:
    """Return the rotational inertia about the body frame's origin (..., 3, 3) [kg m^2]."""
    pi = as_array(parameters, (10,), "parameters")
    return pi[..., [[4, 5, 6], [5, 7, 8], [6, 8, 9]]]


def generalized_inertia(parameters: ArrayLike) -> AnyArray:
    """Return the generalised inertia [[I, [h]], [[h]^T, m 1]] (..., 6, 6). Kim (20), (22)."""
    pi = as_array(parameters, (10,), "parameters")
    H = hat(pi[..., 1:4])
    return assemble([[rotational_inertia(pi), H], [-H, pi[..., 0, None, None] * np.eye(3)]])


def from_generalized_inertia(matrix: ArrayLike) -> AnyArray:
    """Return the parameters (..., 10) of generalised inertias (..., 6, 6); blocks are read, not checked."""
    G = as_array(matrix, (6, 6), "matrix")
    return np.stack(
        [
            G[..., 3, 3],
            G[..., 2, 4],
            G[..., 0, 5],
            G[..., 1, 3],
            G[..., 0, 0],
            G[..., 0, 1],
            G[..., 0, 2],
            G[..., 1, 1],
            G[..., 1, 2],
            G[..., 2, 2],
        ],
        axis=-1,
    )


def pseudo_inertia(parameters: ArrayLike) -> AnyArray:
    """Return the pseudo-inertia [[S, h], [h^T, m]] (..., 4, 4) with S = tr(I)/2 1 - I, the second moment of mass.

    A distribution of non-negative mass with these parameters exists if and only if it is positive semidefinite.
    """
    pi = as_array(parameters, (10,), "parameters")
    inertia = rotational_inertia(pi)
    half_trace = 0.5 * np.trace(inertia, axis1=-2, axis2=-1)[..., None, None]
    h = pi[..., 1:4, None]
    return assemble([[half_trace * np.eye(3) - inertia, h], [np.swapaxes(h, -1, -2), pi[..., 0, None, None]]])


def from_pseudo_inertia(pseudo: ArrayLike) -> AnyArray:
    """Return the parameters (..., 10) of symmetric pseudo-inertias (..., 4, 4); I = tr(S) 1 - S."""
    J = as_array(pseudo, (4, 4), "pseudo")
    xx, yy, zz = J[..., 0, 0], J[..., 1, 1], J[..., 2, 2]
    return np.stack(
        [
            J[..., 3, 3],
            J[..., 0, 3],
            J[..., 1, 3],
            J[..., 2, 3],
            yy + zz,
            -J[..., 0, 1],
            -J[..., 0, 2],
            xx + zz,
            -J[..., 1, 2],
            xx + yy,
        ],
        axis=-1,
    )
