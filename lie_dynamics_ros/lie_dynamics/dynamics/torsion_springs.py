"""Springs and dampers against the turn of two bodies: their forces along the coordinates, slopes and energy.

With phi the rotation vector from rest, in the axes of the second body, dphi/dt is the inverse right Jacobian times the
relative angular velocity w, and phi . dphi/dt = phi . w; so the energy k |phi|^2 / 2 has the torque k phi, and with
A = dw/dqd a spring takes A^T (k phi + c w) of the joint forces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..lie import so3
from ..model.configuration import shaped
from ..model.model import Model
from ..model.structure import TorsionSpring
from .kinematics import forward_kinematics, jacobian, jacobian_rate


class Twisted(NamedTuple):
    """A spring in configurations (...): all in the world's axes."""

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


def twisted(rigid: Model, q: npt.ArrayLike, springs: tuple[TorsionSpring, ...]) -> Iterator[Twisted]:
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


def torsion_slope(rigid: Model, q: npt.ArrayLike, found: Iterator[Twisted], qd: Array) -> Array | float:
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


def _angular(rigid: Model, q: npt.ArrayLike, body: int) -> Array:
    return np.zeros((3, rigid.nv)) if body < 0 else np.asarray(jacobian(rigid, q, body, "aligned")[..., :3, :])
