"""The wrench at a frame from external joint torques, and its undetermined part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from ..arrays import Array
from ..dynamics.kinematics import jacobian
from ..errors import InputError
from ..lie._arrays import numbers
from ..model.arguments import require_model
from ..model.configuration import by_name
from ..model.model import Model
from ..shown import shown
from .kernels.wrenches import N_NUMBERS, NOT_NUMBERS, RANK, REST, felt_wrench

REACH = 0.1
"""Length by which moments and forces are compared [m]: a moment counts as a force with this lever."""
_UNITS = (REACH,) * 3 + (1.0,) * 3


@shown
@dataclass(frozen=True, eq=False)
class ContactWrench:
    """A wrench at a frame, moment first, in the axes of the frame.

    Attributes
    ----------
    wrench : ndarray, shape (6,)
        On the robot [N m, N]; zero along what is not felt.
    covariance : ndarray, shape (6, 6)
        Of its error along what is felt, zero along what is not.
    unfelt : ndarray, shape (k, 6)
        Wrenches that are not felt, orthonormal where moments count over `REACH`; k is zero where all are.
    misfit : float
        Probability that torques of a wrench at this frame, and of nothing else, differ from it by as much as these do;
        small where the contact is elsewhere. 1 where all torques have such a wrench.
    """

    wrench: Array
    covariance: Array
    unfelt: Array
    misfit: float


def contact_wrench(
    model: Model,
    q: npt.ArrayLike,
    frame: str | int,
    torque: npt.ArrayLike,
    covariance: npt.ArrayLike,
    moment: bool = True,
    limit: float = 20.0,
) -> ContactWrench:
    """Return the wrench at a frame with J^T F nearest to external joint torques, weighted by their covariance.

    With the whitened map A = C^-1/2 J^T, moments over `REACH`, the singular value of a direction is the inverse of the
    standard deviation of the estimate along it. Directions with more than `limit` are reported as not felt.

    Parameters
    ----------
    model : Model
    q : array-like, shape (nq,)
        Configuration.
    frame : str or int
        Frame by name, or body by number, on which the wrench acts.
    torque, covariance : array-like, shape (nv,), (nv, nv)
        External torques and the covariance of their errors, positive definite, as in `ContactState`.
    moment : bool
        Whether moments act; else a force alone at the frame's origin, of which less is not felt.
    limit : float
        Largest standard deviation of what counts as felt [N]; of moments times `REACH`.

    Raises
    ------
    InputError
        For arrays that do not fit, an unknown frame, a covariance that is not positive definite.
    """
    require_model(model)
    n, tau, cover = model.nv, numbers(by_name(torque, model.nv, "torque", model)), numbers(covariance)
    if tau.shape != (n,) or cover.shape != (n, n):
        raise _not_finite(n)
    if not isinstance(limit, (int, float)) or not limit > 0.0:
        raise InputError(f"limit: a positive force is expected, got {limit!r}", name="limit", value=limit)
    J = np.ascontiguousarray(jacobian(model, q, frame))
    k = 6 if moment else 3
    scale = np.array([*_UNITS[6 - k :], limit])
    found, work = np.empty(N_NUMBERS), (np.empty((n, k)), np.empty((k, k)))
    wrench, error, unfelt = np.empty(6), np.empty((6, 6)), np.empty((k, 6))
    status = felt_wrench(J, np.array(cover, order="C"), np.array(tau), scale, *work, found, wrench, error, unfelt)
    if status == NOT_NUMBERS:
        raise _not_finite(n)
    if status:
        raise InputError("covariance: a positive definite matrix is expected", name="covariance")
    rank, rest = int(found[RANK]), float(found[REST])
    misfit = float(special.chdtrc(n - rank, max(rest, 0.0))) if n > rank else 1.0
    return ContactWrench(wrench, error, unfelt[: k - rank], misfit)


def _not_finite(n: int) -> InputError:
    return InputError(f"torque, covariance: finite arrays ({n},) and ({n}, {n}) are expected", name="torque")
