"""Damping, dry friction and springs of the joints, and rotors of free joints, for models that include them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from ..arrays import AnyArray, Array
from ..errors import InputError
from ..lie import so3
from ..model.configuration import shaped
from ..model.model import Model
from ..model.structure import free_sliding
from .body_springs import body_spring_energy, body_spring_forces, body_spring_rate, body_spring_slope, body_springs

#: Part of a velocity that a turn of it may leave along an axis which it has no part in.
_ROUND_OFF = 2e-15


def joint_losses(model: Model, q: npt.ArrayLike, qd: npt.ArrayLike) -> Array:
    """Return what damping, dry friction and springs take, d qd + f sign(qd) + k (q - q0), (..., nv).

    There is no friction at rest. Along the position of a free joint it is R^T f sign(R v), v the velocity in the body
    frame: friction along the axes in which the position is counted.
    """
    if model.actuation_terms is None:
        return np.zeros(np.shape(qd))
    damped = np.asarray(model.actuation_terms.damping * np.asarray(qd) + _dry(model, q, qd))
    if model.actuation_terms.body_springs:
        damped = damped + body_spring_forces(model, q, qd)
    return _add_springs(model, q, damped) if model.actuation_terms.springs else damped


def _dry(model: Model, q: npt.ArrayLike, qd: npt.ArrayLike) -> Array:
    terms, rate = model.actuation_terms, np.asarray(qd)
    assert terms is not None
    dry = terms.friction * np.sign(rate.real)
    if terms.sliding:
        configuration = shaped(q, model.nq, "q", model)
        kind = np.result_type(dry, configuration)
        batch = np.broadcast_shapes(rate.shape[:-1], configuration.shape[:-1])
        dry = np.array(np.broadcast_to(dry, (*batch, model.nv)), kind)
        for at, R in orientations(terms.sliding, configuration):
            sides = _sides(R, rate[..., at])
            dry[..., at] = (np.swapaxes(R, -1, -2) @ (terms.friction[at] * sides)[..., None])[..., 0]
    return np.asarray(dry)


def _add_springs(model: Model, q: npt.ArrayLike, forces: Array) -> Array:
    assert model.actuation_terms is not None
    place = shaped(q, model.nq, "q", model)
    batch = np.broadcast_shapes(place.shape[:-1], forces.shape[:-1])
    out = np.array(np.broadcast_to(forces, (*batch, model.nv)), np.result_type(forces, place))
    for at, v, k, rest in model.actuation_terms.springs:
        out[..., v] += k * (place[..., at] - rest)
    return out


def spring_energy(model: Model, q: npt.ArrayLike) -> Array:
    """Return the energy (...) of the springs that a model includes [J]."""
    place = shaped(q, model.nq, "q", model)
    springs = () if model.actuation_terms is None else model.actuation_terms.springs
    start = body_spring_energy(model, q) if body_springs(model) else np.zeros(place.shape[:-1])
    return sum((0.5 * k * (place[..., at] - rest) ** 2 for at, _, k, rest in springs), start)


def friction_columns(model: Model, q: npt.ArrayLike, signs: Array, qd: npt.ArrayLike) -> Array:
    """Return how joint forces grow with dry friction (..., nv, nv), a column for each coordinate's.

    Diagonal with `signs` (..., nv) of `qd`, but for the position of free joints: the axes of a model that does not
    hold their friction are turned, too.
    """
    columns = np.asarray(signs)[..., None] * np.eye(model.nv)
    sliding = free_sliding(model.joints, np.ones(model.nv))
    if not sliding:
        return np.asarray(columns)
    configuration, rate = shaped(q, model.nq, "q", model), np.asarray(qd)
    batch = np.broadcast_shapes(columns.shape[:-2], configuration.shape[:-1])
    columns = np.array(np.broadcast_to(columns, (*batch, model.nv, model.nv)), np.result_type(columns, configuration))
    for at, R in orientations(sliding, configuration):
        sides = _sides(R, rate[..., at])
        columns[..., at, at] = np.swapaxes(R, -1, -2) * sides[..., None, :]
    return columns


def _sides(R: AnyArray, v: AnyArray) -> Array:
    """Return the signs of R v (..., 3), zero for what is zero but for round-off."""
    turned = (R @ v[..., None])[..., 0].real
    return np.asarray(np.sign(turned) * (np.abs(turned) > _ROUND_OFF * np.abs(v.real).max(axis=-1, keepdims=True)))


def orientations(sliding: Iterable[tuple[int, int]], q: AnyArray) -> Iterator[tuple[slice, AnyArray]]:
    """Yield, for each free joint of `ActuationTerms.sliding`, its velocity along the position, and R (..., 3, 3)."""
    for first, at in sliding:
        yield slice(at + 3, at + 6), so3.from_quaternion(q[..., first : first + 4])


def has_rotors(model: Model) -> bool:
    """Return whether a model includes armature along the position of a free joint."""
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


def joint_terms(model: Model, q: npt.ArrayLike, qd: npt.ArrayLike) -> Array:
    """Return all that joints add to inverse dynamics along rates (..., nv): losses, and a w x v of free joints."""
    losses = joint_losses(model, q, qd)
    return losses + rotor_coriolis(model, qd, qd) if has_rotors(model) else losses


def joint_terms_rate(model: Model, q: npt.ArrayLike, qd: npt.ArrayLike) -> Array:
    """Return the derivative of `joint_terms` along qd (..., nv, nv); dry friction has no part in it."""
    rate, terms = np.asarray(qd), model.actuation_terms
    assert terms is not None, "a model without joint terms"
    damped = np.diag(terms.damping)
    if terms.body_springs:
        damped = damped + body_spring_rate(model, q)
    if not terms.free_rotors:
        return damped
    turned = np.swapaxes(rotor_coriolis(model, np.eye(model.nv), rate[..., None, :]), -1, -2)
    return np.asarray(damped + rotor_coriolis_matrix(model, rate) + turned)


def joint_terms_slope(model: Model, q: npt.ArrayLike, qd: npt.ArrayLike) -> Array | None:
    """Return the derivative of `joint_terms` along q (..., nv, nv), or None where they do not depend on it."""
    terms = model.actuation_terms
    if terms is None or not (terms.sliding or terms.springs or terms.body_springs):
        return None
    dry = _dry(model, q, qd)
    slope = np.zeros((*dry.shape, model.nv), dry.dtype)
    if terms.body_springs:
        slope = slope + body_spring_slope(model, q, qd)
    for _, v, k, _ in terms.springs:
        slope[..., v, v] = k
    for _, first in terms.sliding:
        slope[..., first + 3 : first + 6, first : first + 3] = so3.hat(dry[..., first + 3 : first + 6])
    return slope


def joint_terms_bend(model: Model, q: npt.ArrayLike, qd: npt.ArrayLike, vector: npt.ArrayLike) -> Array | None:
    """Return the second derivative of ``vector . joint_terms`` along q twice (..., nv, nv), or None for zero."""
    terms = model.actuation_terms
    if body_springs(model):
        raise InputError("model: second derivatives know no springs between bodies, a model without is expected")
    if terms is None or not terms.sliding:
        return None
    dry = _dry(model, q, qd)
    u = np.asarray(vector)
    bend = np.zeros((*np.broadcast_shapes(dry.shape, u.shape), model.nv))
    for _, first in terms.sliding:
        turn, slide = slice(first, first + 3), slice(first + 3, first + 6)
        product = u[..., slide, None] * dry[..., None, slide]
        along = (u[..., slide] * dry[..., slide]).sum(axis=-1)[..., None, None]
        bend[..., turn, turn] = 0.5 * (product + np.swapaxes(product, -1, -2)) - along * np.eye(3)
    return bend
