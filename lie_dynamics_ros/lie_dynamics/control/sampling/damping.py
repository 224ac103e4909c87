"""Damping that a sampled loop can carry at every pose."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..kernels.laws import DONE, parallel_damping


def limited_damping(mass: Array, damping: Array, rate: float, velocity: Array) -> Array:
    """Return D_c v, where D_c = (D^-1 + (c M)^-1)^-1 is D where joints are heavy, and never faster than the rate c.

    Where D is far below c M it is D; in directions in which M is so light that D would be faster than c it is c M, and
    between them it is smooth: along an eigenvector of M^-1 D with the eigenvalue l, M^-1 D_c has l c / (l + c) < c.
    D_c is symmetric and never negative, so it dissipates as D does.

    Parameters
    ----------
    mass : ndarray, shape (n, n)
        M, positive definite.
    damping : ndarray, shape (n,)
        Diagonal of D, none negative [N m s/rad, N s/m].
    rate : float
        c [1/s]; where it is not positive, nothing is left.
    velocity : ndarray, shape (n,)

    Returns
    -------
    ndarray, shape (n,)
        [N m, N].
    """
    if rate <= 0.0:
        return np.zeros_like(velocity)
    force = np.empty(len(damping))
    matrix = np.multiply(mass, rate, order="C")
    if parallel_damping(matrix, np.ascontiguousarray(damping), np.ascontiguousarray(velocity), force) != DONE:
        return np.zeros_like(velocity)  # M is singular to round-off: nothing is light there, and nothing is known
    return force


def limited_damping_matrix(mass: Array, damping: Array, rate: float) -> Array:
    """Return D_c (n, n) of `limited_damping`."""
    return np.array([limited_damping(mass, damping, rate, column) for column in np.eye(len(mass))]).T
