"""Damping and dry friction of the joints, and rotors of free joints, for models that include them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..model.model import Model


def joint_losses(model: Model, qd: npt.ArrayLike) -> Array:
    """Return what damping and dry friction take, d qd + f sign(qd), (..., nv); no friction at rest."""
    if model.actuation_terms is None:
        return np.zeros(np.shape(qd))
    damping, friction, _ = model.actuation_terms
    rate = np.asarray(qd)
    return np.asarray(damping * rate + friction * np.sign(rate.real))


def has_rotors(model: Model) -> bool:
    """Tell whether a model includes armature along the position of a free joint."""
    return model.actuation_terms is not None and bool(model.actuation_terms.free_rotors)


def rotor_coriolis(model: Model, qd: npt.ArrayLike, velocity: npt.ArrayLike) -> Array:
    """Return C(qd) v (..., nv) of the rotors of free joints, a w x v along the position, w of `qd`; C is skew.

    Such a rotor is a mass a on the world's axes, whose force along those of the body is a (dv/dt + w x v).
    """
    rate, v = np.asarray(qd), np.asarray(velocity)
    out = np.zeros(np.broadcast_shapes(rate.shape, v.shape), np.result_type(rate, v, float))
    for first, a in () if model.actuation_terms is None else model.actuation_terms.free_rotors:
        turn, slide = slice(first, first + 3), slice(first + 3, first + 6)
        out[..., slide] = a * np.cross(rate[..., turn], v[..., slide])
    return out


def rotor_coriolis_matrix(model: Model, qd: npt.ArrayLike) -> Array:
    """Return C (..., nv, nv) of `rotor_coriolis`."""
    return np.swapaxes(rotor_coriolis(model, np.asarray(qd)[..., None, :], np.eye(model.nv)), -1, -2)


def rotor_acceleration(model: Model, qd: npt.ArrayLike, qdd: npt.ArrayLike) -> Array:
    """Return what armature is multiplied with (..., nv): qdd, and dv/dt + w x v along the position of free joints."""
    out = np.array(qdd)
    for joint in model.joints:
        if joint.kind == "free":
            first = joint.v_slice.start
            turn, slide = slice(first, first + 3), slice(first + 3, first + 6)
            out[..., slide] = out[..., slide] + np.cross(np.asarray(qd)[..., turn], np.asarray(qd)[..., slide])
    return out


def joint_terms(model: Model, qd: npt.ArrayLike) -> Array:
    """Return all that joints add to inverse dynamics along rates (..., nv): losses, and a w x v of free joints."""
    losses = joint_losses(model, qd)
    return losses + rotor_coriolis(model, qd, qd) if has_rotors(model) else losses


def joint_terms_rate(model: Model, qd: npt.ArrayLike) -> Array:
    """Return the derivative of `joint_terms` along qd (..., nv, nv); dry friction has no part in it."""
    rate, terms = np.asarray(qd), model.actuation_terms
    assert terms is not None, "a model without joint terms"
    if not terms.free_rotors:
        return np.diag(terms.damping)
    turned = np.swapaxes(rotor_coriolis(model, np.eye(model.nv), rate[..., None, :]), -1, -2)
    return np.asarray(np.diag(terms.damping) + rotor_coriolis_matrix(model, rate) + turned)
