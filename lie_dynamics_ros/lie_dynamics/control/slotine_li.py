"""The regressor of Slotine and Li's controller."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.inputs import Algorithm
from ..errors import InputError
from ..model import layout
from ..model.arguments import require_model
from ..model.model import Model
from .kernels.slotine_li import slotine_li_regressor as _single


def slotine_li_regressor(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    reference_velocity: npt.ArrayLike,
    reference_acceleration: npt.ArrayLike,
) -> Array:
    """Return Y with M a_r + C(q, qd) v_r + g = Y pi, for the C of Christoffel's symbols (dM/dt - 2 C is skew).

    Parameters
    ----------
    model : Model
        The robot; its inertias do not matter, its armature and losses are no part of pi.
    q : array-like, shape (..., nq)
        Configuration [rad, m].
    qd, reference_velocity, reference_acceleration : array-like, shape (..., nv)
        Rates of the coordinates, and the reference motion [rad/s, m/s and rad/s^2, m/s^2].

    Returns
    -------
    ndarray, shape (..., nv, 10 n_bodies)
        Y; columns in the order of `SpatialInertia.parameters` of each body, body after body. With the actual motion as
        reference it is `torque_regressor`.

    Raises
    ------
    InputError, GroupError
        For bad input; names the joint. InputError for coupled mimic joints, which have no bodies of their own.
    """
    require_model(model)
    if model.plain:
        out = np.empty((model.nv, 10 * model.n_bodies))
        if _single(model.table, q, qd, reference_velocity, reference_acceleration, out) == layout.OK:
            return out
    if model.coupling is not None:
        raise InputError(f"model {model.name!r}: independent joints are expected, mimic joints are coupled")
    references = {"reference_velocity": reference_velocity, "reference_acceleration": reference_acceleration}
    return _REGRESSOR.evaluate(model, {"q": q, "qd": qd, **references})[0]


def _batch(rows: Array, q: Array, qd: Array, v: Array, _f_ext: Array, a: Array, _given: Any, y: Array, _z: Any) -> int:
    """Write Y of each state and return the worst status."""
    shape = (qd.shape[1], y.shape[1] // max(qd.shape[1], 1))
    aligned = (np.require(x, requirements=("C", "A")) for x in (q, qd, v, a))  # the kernel takes no others
    states = zip(*aligned, y, strict=True)
    return max((_single(rows, *state, out.reshape(shape)) for *state, out in states), default=layout.OK)


_REGRESSOR = Algorithm(_batch, "n 10b")
