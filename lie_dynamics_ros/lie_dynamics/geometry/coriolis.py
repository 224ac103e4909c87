"""A Coriolis matrix times a reference velocity, without the matrix."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.inputs import evaluate
from ..dynamics.losses import has_rotors, rotor_coriolis
from ..dynamics.mass_matrix import _METHODS
from ..errors import InputError
from ..model.arguments import require_model
from ..model.configuration import shaped
from ..model.model import Model
from .kernels.coriolis_product import any_coriolis_product as _any
from .kernels.coriolis_product import coriolis_product as _single
from .kernels.coriolis_product import coriolis_product_batch as _batch

_empty = np.empty


def coriolis_product(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    reference: npt.ArrayLike,
    method: Literal["christoffel", "ploen"] = "christoffel",
    *,
    threads: int = 1,
) -> Array:
    """Return C(q, qd) q_r in O(n): what Slotine and Li's controller adds to M qdd_r + g.

    Parameters
    ----------
    model : Model
        The robot; joints of any kind.
    q : array-like, shape (..., nq)
        Configuration [rad, m].
    qd, reference : array-like, shape (..., nv)
        Rates of the coordinates, and the reference q_r in their place [rad/s, m/s].
    method : {"christoffel", "ploen"}
        Which C, as in `coriolis_matrix`: both make dM/dt - 2 C skew.
    threads : int
        Threads that share a batch.

    Returns
    -------
    ndarray, shape (..., nv)
        ``coriolis_matrix(model, q, qd, method) @ reference`` [N m, N].

    Raises
    ------
    InputError, GroupError
        As `coriolis_matrix`.
    """
    try:
        ploen = _METHODS[method]
    except (KeyError, TypeError):
        raise InputError(f"method: one of {list(_METHODS)} is expected, got {method!r}", name="method") from None
    try:
        if model.plain and qd.ndim == 1:  # type: ignore[union-attr]
            out = _empty(model.nv)
            if _single(model.table, q, qd, reference, ploen, out) == 0:
                return out
    except (AttributeError, TypeError):
        pass
    require_model(model)
    inputs: dict[str, Any] = {"q": q, "qd": qd, "reference": reference}
    (force,) = evaluate(model, _batch, inputs, ["force"], given=ploen, threads=threads, single=_any)
    if not has_rotors(model):
        return force
    rates = (shaped(value, model.nv, name, model) for name, value in (("qd", qd), ("reference", reference)))
    return np.asarray(force + rotor_coriolis(model, *rates))
