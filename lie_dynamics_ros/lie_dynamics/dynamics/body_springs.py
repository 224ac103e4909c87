"""Springs and dampers between points of two bodies: their forces along the coordinates, slopes and energy.

With l the distance of the points and J = dl/dq, a spring takes J (k (l - l0) + c dl/dt) of the joint forces. How
Jacobians change along each coordinate is their rate while that alone moves, so slopes are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..model.configuration import shaped
from ..model.model import Model
from ..model.structure import BodySpring
from .kinematics import forward_kinematics, jacobian, jacobian_rate


class Stretch(NamedTuple):
    """Lengths of springs (..., s) [m], and their pull beyond l0, k (l - l0) [N]."""

    length: Array
    pull: Array
    way: Array  # (..., s, 3), unit, from the first point to the second
    arms: Array  # (..., s, 3, nv), velocities of the second point less the first


def body_springs(model: Model) -> tuple[BodySpring, ...]:
    """Return the springs between bodies that a model includes."""
    return () if model.actuation_terms is None else model.actuation_terms.body_springs


def body_spring_forces(model: Model, q: npt.ArrayLike, qd: npt.ArrayLike) -> Array:
    """Return what they take of the joint forces (..., nv)."""
    found, damping = _stretched(model, q), _damping(model)
    along = _along(found)
    speed = (along @ shaped(qd, model.nv, "qd", model)[..., None])[..., 0]
    return np.asarray(np.swapaxes(along, -1, -2) @ (found.pull + damping * speed)[..., None])[..., 0]


def body_spring_energy(model: Model, q: npt.ArrayLike) -> Array:
    """Return their energy (...) [J]."""
    length = _stretched(model, q, False).length
    total = np.zeros(length.shape[:-1])
    for k, spring in enumerate(body_springs(model)):
        total = total + 0.5 * spring.stiffness * (length[..., k] - np.clip(length[..., k], *spring.rest)) ** 2
    return total


def body_spring_rate(model: Model, q: npt.ArrayLike) -> Array:
    """Return the derivative of `body_spring_forces` along qd (..., nv, nv)."""
    along = _along(_stretched(model, q))
    return np.asarray(np.swapaxes(along, -1, -2) @ (_damping(model)[:, None] * along))


def body_spring_slope(model: Model, q: npt.ArrayLike, qd: npt.ArrayLike) -> Array:
    """Return their derivative along q (..., nv, nv)."""
    found, rate = _stretched(model, q), shaped(qd, model.nv, "qd", model)
    along, springs = _along(found), body_springs(model)
    bent = np.stack([_bends(model, q, spring) for spring in springs], axis=-4)  # (..., s, j, 3, i)
    # d along_i / dq_j: the way turns with the second coordinate, and the arm of the first changes with it.
    across = found.arms - found.way[..., None] * along[..., None, :]
    turned = np.swapaxes(across, -1, -2) @ across / np.maximum(found.length, 1e-300)[..., None, None]
    curved = (bent * found.way[..., None, :, None]).sum(axis=-2) + turned  # (..., s, j, i)
    curved = np.swapaxes(curved, -1, -2)
    speed = (along @ rate[..., None])[..., 0]
    force = found.pull + _damping(model) * speed
    change = (np.swapaxes(curved, -1, -2) @ rate[..., None, :, None])[..., 0]  # of the speed
    stiffness = np.array([spring.stiffness for spring in springs]) * (found.pull != 0.0)
    return np.asarray(
        (force[..., None, None] * curved).sum(axis=-3)
        + np.swapaxes(along, -1, -2) @ (stiffness[..., None] * along + _damping(model)[:, None] * change)
    )


def _damping(model: Model) -> Array:
    return np.array([spring.damping for spring in body_springs(model)])


def _along(found: Stretch) -> Array:
    """Return d length / dq (..., s, nv)."""
    return np.asarray((found.way[..., None, :] @ found.arms)[..., 0, :])


class _End(NamedTuple):
    """Body of an end, -1 for the world, its place (..., 3), and the way to it from the body's origin (..., 3)."""

    body: int
    place: Array
    offset: Array


def _ends(model: Model, poses: Array, spring: BodySpring) -> list[_End]:
    found = []
    for name, point in spring.ends:
        frame = model.frame(name)
        local = frame.placement[:3, :3] @ point + frame.placement[:3, 3]
        if frame.body < 0:
            found.append(_End(-1, local, local))
        else:
            T = poses[..., frame.body, :, :]
            offset = T[..., :3, :3] @ local
            found.append(_End(frame.body, offset + T[..., :3, 3], offset))
    return found


def _rigid(model: Model) -> Model:
    """Return the bodies alone, which kernels take at once."""
    return model._changed(model.table, None)


def _stretched(model: Model, q: npt.ArrayLike, arms: bool = True) -> Stretch:
    rigid = _rigid(model)
    poses = forward_kinematics(rigid, q)
    lengths, pulls, ways, moved = [], [], [], []
    for spring in body_springs(model):
        first, second = _ends(model, poses, spring)
        way = second.place - first.place
        length = np.linalg.norm(way, axis=-1)
        lengths.append(length)
        pulls.append(spring.stiffness * (length - np.clip(length, *spring.rest)))
        ways.append(way / np.maximum(length, 1e-300)[..., None])
        if arms:
            moved.append(_arm(rigid, q, second) - _arm(rigid, q, first))
    none = np.zeros(0)
    return Stretch(
        np.stack(lengths, axis=-1), np.stack(pulls, axis=-1), np.stack(ways, axis=-2),
        np.stack(moved, axis=-3) if arms else none,
    )  # fmt: skip


def _arm(rigid: Model, q: npt.ArrayLike, end: _End) -> Array:
    """Return the Jacobian of an end's velocity (..., 3, nv), in the world's axes."""
    if end.body < 0:
        return np.zeros((3, rigid.nv))
    J = jacobian(rigid, q, end.body, "aligned")
    return np.asarray(J[..., 3:, :] + _crossed(J[..., :3, :], end.offset))


def _bends(model: Model, q: npt.ArrayLike, spring: BodySpring) -> Array:
    """Return how the arms of a spring change along each coordinate (..., nv, 3, nv)."""
    n, rigid = model.nv, _rigid(model)
    place = shaped(q, model.nq, "q", model)
    each = np.broadcast_to(place[..., None, :], (*place.shape[:-1], n, model.nq))
    along = np.broadcast_to(np.eye(n), (*place.shape[:-1], n, n))
    found = np.zeros((*place.shape[:-1], n, 3, n))
    for sign, end in zip((-1.0, 1.0), _ends(model, forward_kinematics(rigid, place), spring), strict=True):
        if end.body < 0:
            continue
        rate = jacobian_rate(rigid, each, along, end.body, "aligned")
        turn = jacobian(rigid, place, end.body, "aligned")[..., :3, :]
        carried = np.swapaxes(_crossed(turn, end.offset), -1, -2)  # the offset, along each coordinate (..., n, 3)
        found += sign * (
            rate[..., 3:, :]
            + _crossed(rate[..., :3, :], end.offset[..., None, :])
            + _crossed(np.broadcast_to(turn[..., None, :, :], rate[..., :3, :].shape), carried)
        )
    return found


def _crossed(columns: Array, vector: Array) -> Array:
    """Return the cross products of columns (..., 3, n) with vectors (..., 3)."""
    return np.cross(columns, vector[..., :, None], axis=-2)
