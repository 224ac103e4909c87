"""Damping and dry friction of the joints, for models that include them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..model.model import Model


def joint_losses(model: Model, qd: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return what damping and dry friction take, d qd + f sign(qd), (..., nv); no friction at rest."""
    if model.actuation_terms is None:
        return np.zeros(np.shape(qd))
    damping, friction = model.actuation_terms
    rate = np.asarray(qd)
    return np.asarray(damping * rate + friction * np.sign(rate.real))
