"""Damping, dry friction and springs of the joints, springs between bodies, and rotors, for models that include them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ..arrays import AnyArray, Array, ArrayLike
from ..errors import InputError
from ..lie import so3
from ..model.configuration import shaped
from ..model.model import Model
from ..model.structure import AnySpring, BodySpring, TorsionSpring, free_sliding
from .kinematics import forward_kinematics, jacobian, jacobian_rate


class Twisted(NamedTuple):
    """A spring against the turn of two bodies, in configurations (...): all in the world's axes.

    With phi the rotation vector from rest, in the axes of the second body, dphi/dt is the inverse right Jacobian times
    the relative angular velocity w, and phi . dphi/dt = phi . w: the energy k |phi|^2 / 2 has the torque k phi, and
    with A = dw/dqd a spring takes A^T (k phi + c w) of the joint forces.
    """

    spring: TorsionSpring
    R: Array  # (..., 3, 3), of the second body's frame
    phi: Array  # (..., 3), rotation vector from rest, in that frame
    gain: Array  # A (..., 3, nv)
    second: Array  # angular rows of the second body's Jacobian (..., 3, nv)
    bodies: tuple[int, int]

    @property
    def turn(self) -> Array:
        """Rotation vector (..., 3) in the world's axes."""
        return np.asarray((self.R @ self.phi[..., None])[..., 0])


def twisted(rigid: Model, q: ArrayLike, springs: tuple[TorsionSpring, ...]) -> Iterator[Twisted]:
    """Yield springs of a model's bodies alone in configurations (..., nq)."""
    poses = forward_kinematics(rigid, q)
    for spring in springs:
        turns, rows, bodies = [], [], []
        for name in (spring.first, spring.second):
            frame = rigid.frame(name)
            own = frame.placement[:3, :3]
            bodies.append(frame.body)
            turns.append(own if frame.body < 0 else poses[..., frame.body, :3, :3] @ own)
            rows.append(_angular(rigid, q, frame.body))
        away = spring.rest.T @ np.swapaxes(turns[0], -1, -2) @ turns[1]
        gain = np.asarray(rows[1] - rows[0])
        yield Twisted(spring, np.asarray(turns[1]), np.asarray(so3.log(away)), gain, rows[1], (bodies[0], bodies[1]))


def torsion_forces(found: Iterator[Twisted], qd: Array) -> Array | float:
    """Return what they take of the joint forces (..., nv); zero without any."""
    total: Array | float = 0.0
    for one in found:
        rate = (one.gain @ qd[..., None])[..., 0]
        torque = one.spring.stiffness * one.turn + one.spring.damping * rate
        total = total + (np.swapaxes(one.gain, -1, -2) @ torque[..., None])[..., 0]
    return total


def torsion_energy(found: Iterator[Twisted]) -> Array | float:
    """Return their energy (...) [J]."""
    return sum((0.5 * one.spring.stiffness * (one.phi**2).sum(axis=-1) for one in found), 0.0)


def torsion_rate(found: Iterator[Twisted]) -> Array | float:
    """Return the derivative of `torsion_forces` along qd (..., nv, nv)."""
    return sum((one.spring.damping * np.swapaxes(one.gain, -1, -2) @ one.gain for one in found), 0.0)


def torsion_slope(rigid: Model, q: ArrayLike, found: Iterator[Twisted], qd: Array) -> Array | float:
    """Return their derivative along q (..., nv, nv)."""
    total: Array | float = 0.0
    n, place = rigid.nv, shaped(q, rigid.nq, "q", rigid)
    each = np.broadcast_to(place[..., None, :], (*place.shape[:-1], n, rigid.nq))
    along = np.broadcast_to(np.eye(n), (*place.shape[:-1], n, n))
    for one in found:
        bent = np.zeros((*place.shape[:-1], n, 3, n))  # how A changes along each coordinate
        for sign, body in zip((-1.0, 1.0), one.bodies, strict=True):
            if body >= 0:
                bent += sign * jacobian_rate(rigid, each, along, body, "aligned")[..., :3, :]
        k, c = one.spring.stiffness, one.spring.damping
        torque = k * one.turn + c * (one.gain @ qd[..., None])[..., 0]
        swung = np.cross(one.second, one.turn[..., :, None], axis=-2)
        inverse = so3.right_jacobian_inverse(one.phi)
        turned = swung + one.R @ (inverse @ (np.swapaxes(one.R, -1, -2) @ one.gain))
        change = k * turned + c * np.swapaxes((bent @ qd[..., None, :, None])[..., 0], -1, -2)
        moved = (np.swapaxes(bent, -1, -2) @ torque[..., None, :, None])[..., 0]  # (..., j, i)
        total = total + np.swapaxes(one.gain, -1, -2) @ change + np.swapaxes(moved, -1, -2)
    return total


def _angular(rigid: Model, q: ArrayLike, body: int) -> Array:
    return np.zeros((3, rigid.nv)) if body < 0 else np.asarray(jacobian(rigid, q, body, "aligned")[..., :3, :])


# Springs and dampers between points of two bodies: their forces along the coordinates, slopes and energy.
#
# With l the distance of the points and J = dl/dq, a spring takes J (k (l - l0) + c dl/dt) of the joint forces. How
# Jacobians change along each coordinate is their rate while that alone moves, so slopes are exact.


class Stretch(NamedTuple):
    """Lengths of springs (..., s) [m], and their pull beyond l0, k (l - l0) [N]."""

    length: Array
    pull: Array
    way: Array  # (..., s, 3), unit, from the first point to the second
    arms: Array  # (..., s, 3, nv), velocities of the second point less the first


def body_springs(model: Model) -> tuple[AnySpring, ...]:
    """Return the springs between bodies that a model includes."""
    return () if model.actuation_terms is None else model.actuation_terms.body_springs


def _lines(model: Model) -> list[BodySpring]:
    return [one for one in body_springs(model) if isinstance(one, BodySpring)]


def _turns(model: Model, q: ArrayLike) -> Iterator[Twisted]:
    springs = tuple(one for one in body_springs(model) if isinstance(one, TorsionSpring))
    return twisted(_rigid(model), q, springs) if springs else iter(())


def body_spring_forces(model: Model, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return what they take of the joint forces (..., nv)."""
    rate = shaped(qd, model.nv, "qd", model)
    turning = torsion_forces(_turns(model, q), rate)
    if not _lines(model):
        return np.asarray(turning)
    found, damping = _stretched(model, q), _damping(model)
    along = _along(found)
    speed = (along @ rate[..., None])[..., 0]
    return np.asarray(np.swapaxes(along, -1, -2) @ (found.pull + damping * speed)[..., None])[..., 0] + turning


def body_spring_energy(model: Model, q: ArrayLike) -> Array:
    """Return their energy (...) [J]."""
    total = torsion_energy(_turns(model, q)) + np.zeros(np.shape(q)[:-1])
    length = _stretched(model, q, False).length if _lines(model) else np.zeros(0)
    for k, spring in enumerate(_lines(model)):
        total = total + 0.5 * spring.stiffness * (length[..., k] - np.clip(length[..., k], *spring.rest)) ** 2
    return np.asarray(total)


def body_spring_rate(model: Model, q: ArrayLike) -> Array:
    """Return the derivative of `body_spring_forces` along qd (..., nv, nv)."""
    turning = torsion_rate(_turns(model, q))
    if not _lines(model):
        return np.asarray(turning)
    along = _along(_stretched(model, q))
    return np.asarray(np.swapaxes(along, -1, -2) @ (_damping(model)[:, None] * along)) + turning


def body_spring_slope(model: Model, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return their derivative along q (..., nv, nv)."""
    rate = shaped(qd, model.nv, "qd", model)
    turning = torsion_slope(_rigid(model), q, _turns(model, q), rate)
    if not _lines(model):
        return np.asarray(turning)
    found = _stretched(model, q)
    along, springs = _along(found), _lines(model)
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
        + turning
    )


def _damping(model: Model) -> Array:
    return np.array([spring.damping for spring in _lines(model)])


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


def _stretched(model: Model, q: ArrayLike, arms: bool = True) -> Stretch:
    rigid = _rigid(model)
    poses = forward_kinematics(rigid, q)
    lengths, pulls, ways, moved = [], [], [], []
    for spring in _lines(model):
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


def _arm(rigid: Model, q: ArrayLike, end: _End) -> Array:
    """Return the Jacobian of an end's velocity (..., 3, nv), in the world's axes."""
    if end.body < 0:
        return np.zeros((3, rigid.nv))
    J = jacobian(rigid, q, end.body, "aligned")
    return np.asarray(J[..., 3:, :] + _crossed(J[..., :3, :], end.offset))


def _bends(model: Model, q: ArrayLike, spring: BodySpring) -> Array:
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


#: Part of a velocity that a turn of it may leave along an axis which it has no part in.
_ROUND_OFF = 2e-15


def joint_losses(model: Model, q: ArrayLike, qd: ArrayLike) -> Array:
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


def _dry(model: Model, q: ArrayLike, qd: ArrayLike) -> Array:
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


def _add_springs(model: Model, q: ArrayLike, forces: Array) -> Array:
    assert model.actuation_terms is not None
    place = shaped(q, model.nq, "q", model)
    batch = np.broadcast_shapes(place.shape[:-1], forces.shape[:-1])
    out = np.array(np.broadcast_to(forces, (*batch, model.nv)), np.result_type(forces, place))
    for at, v, k, rest in model.actuation_terms.springs:
        out[..., v] += k * (place[..., at] - rest)
    return out


def spring_energy(model: Model, q: ArrayLike) -> Array:
    """Return the energy (...) of the springs that a model includes [J]."""
    place = shaped(q, model.nq, "q", model)
    springs = () if model.actuation_terms is None else model.actuation_terms.springs
    start = body_spring_energy(model, q) if body_springs(model) else np.zeros(place.shape[:-1])
    return sum((0.5 * k * (place[..., at] - rest) ** 2 for at, _, k, rest in springs), start)


def friction_columns(model: Model, q: ArrayLike, signs: Array, qd: ArrayLike) -> Array:
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


def rotor_coriolis(model: Model, qd: ArrayLike, velocity: ArrayLike) -> Array:
    """Return C(qd) v (..., nv) of the rotors of free joints, a w x v along the position, w of `qd`; C is skew.

    Such a rotor is a mass a on the world's axes, whose force along those of the body is a (dv/dt + w x v).
    """
    rate, v = np.asarray(qd), np.asarray(velocity)
    out = np.zeros(np.broadcast_shapes(rate.shape, v.shape), np.result_type(rate, v, float))
    for first, a in () if model.actuation_terms is None else model.actuation_terms.free_rotors:
        turn, slide = slice(first, first + 3), slice(first + 3, first + 6)
        out[..., slide] = a * np.cross(rate[..., turn], v[..., slide])
    return out


def rotor_coriolis_matrix(model: Model, qd: ArrayLike) -> Array:
    """Return C (..., nv, nv) of `rotor_coriolis`."""
    return np.swapaxes(rotor_coriolis(model, np.asarray(qd)[..., None, :], np.eye(model.nv)), -1, -2)


def rotor_acceleration(model: Model, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Return what armature is multiplied with (..., nv): qdd, and dv/dt + w x v along the position of free joints."""
    out = np.array(qdd)
    for joint in model.joints:
        if joint.kind == "free":
            first = joint.v_slice.start
            turn, slide = slice(first, first + 3), slice(first + 3, first + 6)
            out[..., slide] = out[..., slide] + np.cross(np.asarray(qd)[..., turn], np.asarray(qd)[..., slide])
    return out


def joint_terms(model: Model, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return all that joints add to inverse dynamics along rates (..., nv): losses, and a w x v of free joints."""
    losses = joint_losses(model, q, qd)
    return losses + rotor_coriolis(model, qd, qd) if has_rotors(model) else losses


def joint_terms_rate(model: Model, q: ArrayLike, qd: ArrayLike) -> Array:
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


def joint_terms_slope(model: Model, q: ArrayLike, qd: ArrayLike) -> Array | None:
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


def joint_terms_bend(model: Model, q: ArrayLike, qd: ArrayLike, vector: ArrayLike) -> Array | None:
    """Return the second derivative of ``vector . joint_terms`` along q twice (..., nv, nv), or None for zero."""
    terms = model.actuation_terms
    if body_springs(model):
        raise InputError(
            "model: second derivatives know no springs between bodies; with_body_springs([]) leaves them out, "
            "differences of first derivatives hold them"
        )
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
