"""Skew matrices and their quadratic polynomials."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..arrays import AnyArray
from ..errors import InputError
from ._arrays import as_array


def hat(w: npt.ArrayLike) -> AnyArray:
    """Return [w] (..., 3, 3), the skew matrix with [w] x = w cross x, of vectors `w` (..., 3)."""
    w = as_array(w, (3,), "w")
    W = np.zeros((*w.shape, 3), dtype=w.dtype)
    W[..., 2, 1] = w[..., 0]
    W[..., 0, 2] = w[..., 1]
    W[..., 1, 0] = w[..., 2]
    return W - np.swapaxes(W, -1, -2)


def vee(W: npt.ArrayLike) -> AnyArray:
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
