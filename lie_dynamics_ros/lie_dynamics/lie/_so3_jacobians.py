"""Left and right Jacobians of the exponential of SO(3), their inverses and derivatives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import SingularityError
from . import _coefficients as coefficient
from ._arrays import Array, as_array
from ._skew import polynomial, polynomial_derivative


def left_jacobian(phi: npt.ArrayLike) -> Array:
    """Return J_l (..., 3, 3) with exp(phi + e) = exp(J_l(phi) e) exp(phi) to first order in e."""
    phi = as_array(phi, (3,), "phi")
    t = (phi * phi).sum(axis=-1)
    return polynomial(coefficient.b(t), coefficient.c(t), phi)


def left_jacobian_inverse(phi: npt.ArrayLike) -> Array:
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


def left_jacobian_derivative(phi: npt.ArrayLike, dphi: npt.ArrayLike) -> Array:
    """Return the derivative (..., 3, 3) of `left_jacobian` at `phi` (..., 3) along `dphi` (..., 3).

    With the rate of phi for `dphi` this is the time derivative. It is also a block of the Jacobian of SE(3).
    """
    phi, dphi = as_array(phi, (3,), "phi"), as_array(dphi, (3,), "dphi")
    t = (phi * phi).sum(axis=-1)
    return polynomial_derivative(coefficient.b(t), coefficient.c(t), coefficient.db(t), coefficient.dc(t), phi, dphi)


def left_jacobian_inverse_derivative(phi: npt.ArrayLike, dphi: npt.ArrayLike) -> Array:
    """Return the derivative (..., 3, 3) of `left_jacobian_inverse` at `phi` (..., 3) along `dphi` (..., 3)."""
    phi, dphi = as_array(phi, (3,), "phi"), as_array(dphi, (3,), "dphi")
    t = (phi * phi).sum(axis=-1)
    _refuse_whole_turns(t)
    return polynomial_derivative(-0.5, coefficient.d(t), 0.0, coefficient.dd(t), phi, dphi)


def right_jacobian(phi: npt.ArrayLike) -> Array:
    """Return J_r (..., 3, 3) with exp(phi + e) = exp(phi) exp(J_r(phi) e) to first order; J_r(phi) = J_l(-phi)."""
    return left_jacobian(-as_array(phi, (3,), "phi"))


def right_jacobian_inverse(phi: npt.ArrayLike) -> Array:
    """Return the inverse of `right_jacobian`, shape (..., 3, 3)."""
    return left_jacobian_inverse(-as_array(phi, (3,), "phi"))


def right_jacobian_derivative(phi: npt.ArrayLike, dphi: npt.ArrayLike) -> Array:
    """Return the derivative (..., 3, 3) of `right_jacobian` at `phi` (..., 3) along `dphi` (..., 3)."""
    return left_jacobian_derivative(-as_array(phi, (3,), "phi"), -as_array(dphi, (3,), "dphi"))


def right_jacobian_inverse_derivative(phi: npt.ArrayLike, dphi: npt.ArrayLike) -> Array:
    """Return the derivative (..., 3, 3) of `right_jacobian_inverse` at `phi` (..., 3) along `dphi` (..., 3)."""
    return left_jacobian_inverse_derivative(-as_array(phi, (3,), "phi"), -as_array(dphi, (3,), "dphi"))


def _refuse_whole_turns(t: Array) -> None:
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
