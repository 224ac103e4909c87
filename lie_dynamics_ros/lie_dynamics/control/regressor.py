"""The regressor of Slotine and Li's controller."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..dynamics.inputs import _check_quaternions
from ..errors import InputError
from ..model import layout
from ..model.configuration import checked
from ..model.model import Model
from ..model.user_joints import extend
from .kernels.regressor import slotine_li_regressor as _single

Array = npt.NDArray[np.float64]


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
    if model._plain:
        try:
            if qd.ndim == 1:  # type: ignore[union-attr]
                out = np.empty((model.nv, 10 * model.n_bodies))
                if _single(model._rows, q, qd, reference_velocity, reference_acceleration, out) == layout.OK:
                    return out
        except (AttributeError, TypeError):
            pass
    if model._coupling is not None:
        raise InputError(f"model {model.name!r}: independent joints are expected, mimic joints are coupled")
    names = ("q", "qd", "reference_velocity", "reference_acceleration")
    values = (q, qd, reference_velocity, reference_acceleration)
    arrays = [
        checked(x, model.nq if name == "q" else model.nv, name, model) for name, x in zip(names, values, strict=True)
    ]
    try:
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    except ValueError:
        listed = ", ".join(f"{name} {x.shape}" for name, x in zip(names, arrays, strict=True))
        raise InputError(f"batch dimensions do not fit each other: {listed}") from None
    _check_quaternions(model, arrays[0])
    flat = [np.array(np.broadcast_to(x, (*batch, x.shape[-1])), order="C").reshape(-1, x.shape[-1]) for x in arrays]
    if model._custom:
        flat[0] = extend(model, flat[0], flat[1])
    result = np.zeros((len(flat[0]), model.nv, 10 * model.n_bodies))
    for k, out in enumerate(result):
        if _single(model._rows, *(x[k] for x in flat), out) != layout.OK:
            raise InputError(f"model {model.name!r}: the result overflows; the inputs are finite but too large")
    return result.reshape(*batch, model.nv, 10 * model.n_bodies)
