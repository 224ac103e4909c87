"""Forces of damping and stops, and their slopes, as the steps of `linearize` want them.

A stop is a spring and a damper that act on one side of a limit: the step has kinks, between which it is smooth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..dynamics.derivatives.forward_derivatives import ForwardDynamicsDerivatives, forward_dynamics_derivatives
from ..dynamics.forward_dynamics import forward_dynamics
from ..model import layout
from ..model.model import Model
from ..model.pack import copied
from .joint_physics import JointPhysics, joint_forces

Array = npt.NDArray[np.float64]

#: Trials in which the simulator's step lets go of all stops at once that would pull; then of one at a time.
_AT_ONCE = 8


def depth(physics: JointPhysics, model: Model, q: Array) -> Array:
    """Return how far each coordinate (..., nv) is beyond a stop: signed, zero within the limits."""
    beyond = np.zeros((*q.shape[:-1], model.nv))
    at, x = model._vector_v, q[..., model._vector_q]
    beyond[..., at] = np.maximum(x - physics.upper[at], 0.0) + np.minimum(x - physics.lower[at], 0.0)
    return beyond


def explicit(physics: JointPhysics, model: Model, q: Array, qd: Array) -> tuple[Array, Array, Array, Array]:
    """Return `joint_forces`, their slopes along q and qd, and on which side stops push, each (..., nv)."""
    x, s = depth(physics, model, q), physics.friction_speed
    dry = physics.friction * s**2 / (qd * qd + s * s) ** 1.5
    along_qd = -physics.damping - dry - np.where(x * qd > 0.0, physics.stop_damping, 0.0)
    return joint_forces(physics, model, q, qd), np.where(x != 0.0, -physics.stop_stiffness, 0.0), along_qd, np.sign(x)


@dataclass(frozen=True, eq=False)
class ImplicitStops:
    """A semi-implicit step with stops: derivatives of its forward dynamics, and slopes of the forces given to it.

    Attributes
    ----------
    at : ForwardDynamicsDerivatives
        With what damping and stops add to the diagonal of the mass matrix.
    along_q, along_qd, side : ndarray, shape (..., nv)
        Slopes of the joint forces, and on which side a stop pushes: -1, 0 or 1.
    """

    at: ForwardDynamicsDerivatives
    along_q: Array
    along_qd: Array
    side: Array


def implicit(
    physics: JointPhysics, model: Model, q: Array, qd: Array, tau: Array, h: float, f_ext: Array | None
) -> ImplicitStops:
    """Return what `kernels.steps.semi_implicit` does about stops, without dry friction that sticks.

    A force -k (x + h qd + h^2 qdd) - c (qd + h qdd) is one more h^2 k + h c on the diagonal of the mass matrix. A stop
    whose joint would be beyond it after the step pushes; one that would have to pull is left out.
    """
    batch, n = q.shape[:-1], model.nv
    count = int(np.prod(batch))
    q, qd, tau = (a.reshape(count, a.shape[-1]) for a in (q, qd, tau))
    wrench = None
    if f_ext is not None:
        wrench = np.broadcast_to(f_ext, (*batch, *f_ext.shape[-2:])).reshape(count, *f_ext.shape[-2:])
    ahead = q.copy()
    ahead[:, model._vector_q] += h * qd[:, model._vector_v]
    x = depth(physics, model, ahead)
    pushes = x != 0.0
    trial = 0
    while True:
        k = np.where(pushes, physics.stop_stiffness, 0.0)
        c = physics.damping + np.where(pushes & (x * qd > 0.0), physics.stop_damping, 0.0)
        force, weight = tau - c * qd - k * x, h * (c + h * k)
        qdd = np.zeros_like(qd)
        for with_stops, some in _grouped(model, weight):
            qdd[some] = forward_dynamics(with_stops, q[some], qd[some], force[some], _part(wrench, some))
        push = k * (x + h * h * qdd) + (c - physics.damping) * (qd + h * qdd)
        pulls = pushes & (x * push < 0.0)
        if not pulls.any():
            break
        if trial >= _AT_ONCE:
            pulls &= np.cumsum(pulls, axis=-1) == 1
        pushes &= ~pulls
        trial += 1
    found = np.empty((3, len(q), n, n))
    for with_stops, some in _grouped(model, weight):
        part = forward_dynamics_derivatives(with_stops, q[some], qd[some], force[some], _part(wrench, some))
        for target, value in zip(found, (part.dq, part.dqd, part.dtau), strict=True):
            target[some] = value
    dq, dqd, dtau = found.reshape(3, *batch, n, n)
    derivatives = ForwardDynamicsDerivatives(dq, dqd, dtau, qdd.reshape(*batch, n))
    side = np.where(pushes, np.sign(x), 0.0)
    return ImplicitStops(derivatives, *(a.reshape(*batch, n) for a in (-k, -c - h * k, side)))


def _part(wrench: Array | None, some: npt.NDArray[np.bool_]) -> Array | None:
    return None if wrench is None else wrench[some]


def _grouped(model: Model, weight: Array) -> list[tuple[Model, npt.NDArray[np.bool_]]]:
    """Return models with each of the different rows of `weight` on the diagonal, and which states have it."""
    if not weight.shape[1]:
        return [(model, np.ones(len(weight), np.bool_))]
    rows, which = np.unique(weight, axis=0, return_inverse=True)
    found = []
    for k, row in enumerate(rows):
        table = copied(model._table)
        table[1 : model._rows.shape[0], layout.ARMATURE] += row
        found.append((model._changed(table, None), which.reshape(-1) == k))
    return found
