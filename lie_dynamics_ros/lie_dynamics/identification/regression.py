"""Joint forces as linear functions of inertial parameters, losses, rotors and offsets, stacked over a recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.derivatives.inverse_derivatives import torque_regressor
from ..dynamics.derivatives.parameters import INERTIAL_PARAMETERS
from ..dynamics.losses import friction_columns, rotor_acceleration
from ..errors import InputError
from ..model.arguments import require_model
from ..model.configuration import checked
from ..model.model import Model

#: Terms of a joint, each with a coefficient for each coordinate: force d qd, f sign(qd), a qdd, and a constant.
TERMS = ("damping", "friction", "armature", "offset")
JointTerms = Sequence[str]

#: q, qd, qdd and what stands for sign(qd), of n states each.
Recorded = tuple[Array, Array, Array, Array]

_CHUNK = 512


def parameter_names(model: Model, terms: JointTerms = ()) -> tuple[str, ...]:
    """Return a name for each column of `regression`, such as "m(forearm)" or "damping(elbow)"."""
    require_model(model)
    _check_terms(terms)
    coordinates = [
        joint.name if joint.type.nv == 1 else f"{joint.name}[{k}]"
        for joint in model.joints
        if not joint.coupled
        for k in range(joint.type.nv)
    ]
    names = [f"{what}({body})" for body in model.body_names for what in INERTIAL_PARAMETERS]
    return (*names, *(f"{term}({name})" for term in terms for name in coordinates))


def regression(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    terms: JointTerms = (),
    slide: npt.ArrayLike | None = None,
) -> Array:
    """Return Y with tau = Y (pi, coefficients of terms), gravity included.

    Parameters
    ----------
    model : Model
        The robot; neither its inertias nor its losses and rotors are read.
    q, qd, qdd : array-like, shape (..., nq), (..., nv), (..., nv)
        Motion.
    terms : sequence of {"damping", "friction", "armature", "offset"}
        Further columns, nv for each: qd, sign(qd), qdd and 1 on the diagonal.
    slide : array-like, shape (..., nv), optional
        What to take for sign(qd), such as its low-pass filtered values where joint forces are filtered.

    Returns
    -------
    ndarray, shape (..., nv, 10 n_bodies + nv len(terms))
        Y; columns as `parameter_names` has them.

    Raises
    ------
    InputError
        For bad input, or a term that there is not.
    """
    require_model(model)
    _check_terms(terms)
    Y = torque_regressor(model, q, qd, qdd)
    rates, accelerations = checked(qd, model.nv, "qd", model), checked(qdd, model.nv, "qdd", model)
    signs = np.sign(rates) if slide is None else checked(slide, model.nv, "slide", model)
    rotors = rotor_acceleration(model, rates, accelerations)
    values = {"damping": rates, "armature": rotors, "offset": np.ones(model.nv)}
    blocks = {term: value[..., None] * np.eye(model.nv) for term, value in values.items()}
    blocks["friction"] = friction_columns(model, q, signs, rates)
    columns = [np.broadcast_to(blocks[term], (*Y.shape[:-1], model.nv)) for term in terms]
    return np.concatenate([Y, *columns], axis=-1)


def _check_terms(terms: JointTerms) -> None:
    try:
        good = not isinstance(terms, str) and set(terms) <= set(TERMS) and len(set(terms)) == len(terms)
    except TypeError:  # not to be counted, or not to be hashed
        good = False
    if not good:
        raise InputError(f"terms: some of {TERMS}, each once, are expected, got {terms!r}", name="terms", value=terms)


def recording(
    model: Model, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike, slide: npt.ArrayLike | None = None
) -> Recorded:
    """Return the arrays of a recording, n states each, or raise an InputError."""
    rates = checked(qd, model.nv, "qd", model)
    signs = np.sign(rates) if slide is None else checked(slide, model.nv, "slide", model)
    arrays = checked(q, model.nq, "q", model), rates, checked(qdd, model.nv, "qdd", model), signs
    if any(a.ndim != 2 for a in arrays) or len({len(a) for a in arrays}) != 1:
        shapes = [a.shape for a in arrays]
        raise InputError(f"recording: q, qd and qdd of n states each are expected, got shapes {shapes}")
    return arrays


def chunks(model: Model, motion: Recorded, terms: JointTerms) -> Iterator[tuple[slice, Array]]:
    """Yield parts of a recording and their Y, so that a long one needs little memory."""
    q, qd, qdd, slide = motion
    for start in range(0, len(q), _CHUNK):
        part = slice(start, start + _CHUNK)
        yield part, regression(model, q[part], qd[part], qdd[part], terms, slide[part])


def compressed(model: Model, motion: Recorded, terms: JointTerms, tau: Array, deviation: Array) -> Array:
    """Return the triangular factor R of [Y, tau] with rows divided by the deviation of their joint.

    It holds all there is to least squares, ``|Y x - tau|^2 = |R (x, -1)|^2``, without squaring the condition of Y.
    """
    columns = 10 * model.n_bodies + model.nv * len(terms) + 1
    R: Array = np.zeros((0, columns))
    for part, Y in chunks(model, motion, terms):
        rows = np.concatenate([Y, tau[part, :, None]], axis=-1) / deviation[:, None]
        R = np.asarray(np.linalg.qr(np.concatenate([R, rows.reshape(-1, columns)]), mode="r"))
    return R
