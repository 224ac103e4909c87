"""The regressor of inverse dynamics: joint forces, linear in the inertial parameters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...model.arguments import require_model
from ...model.model import Model
from ..inputs import evaluate
from ..kernels.derivatives.regressor import regressor as _single
from ..kernels.derivatives.regressor import regressor_batch as _batch

_empty = np.empty


def torque_regressor(
    model: Model, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike, *, threads: int = 1
) -> Array:
    """Return Y with tau = Y pi: the joint forces of a motion, linear in the bodies' inertial parameters.

    Parameters
    ----------
    model : Model
        The robot. Its own inertias are not read.
    q : array-like, shape (..., nq)
        Configuration [rad, m].
    qd, qdd : array-like, shape (..., nv)
        Rates and accelerations of the coordinates [rad/s, m/s and rad/s^2, m/s^2].
    threads : int
        Threads that share a batch; results do not depend on it.

    Returns
    -------
    ndarray, shape (..., nv, 10 n_bodies)
        Y. Columns 10 b to 10 b + 9 belong to body b and its parameters (m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz),
        h = m c and I about the origin of the body's frame and in its axes: ``model.inertia(b).parameters()``. Gravity
        is included; armature, damping, dry friction and external wrenches are not: `inverse_dynamics` adds them.

    Raises
    ------
    InputError, GroupError
        As `inverse_dynamics`.
    """
    try:
        if model.plain and qd.ndim == 1:  # type: ignore[union-attr]
            out = _empty((model.nv, 10 * model.n_bodies))
            if _single(model.table, q, qd, qdd, out) == 0:
                return out
    except (AttributeError, TypeError, ValueError):
        pass
    require_model(model)
    full, width = int(model.rows.shape[0]) - 1, 10 * model.n_bodies
    (matrix,) = evaluate(model, _batch, {"q": q, "qd": qd, "qdd": qdd}, [(full, width)], threads=threads)
    return matrix if model.coupling is None else np.asarray(model.coupling.rates.T @ matrix)
