"""Damping, dry friction and stops of joints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, ArrayLike
from ..dynamics.inverse_dynamics import mass_matrix
from ..dynamics.joint_friction import JointFriction, apply
from ..dynamics.kernels import friction
from ..dynamics.losses import orientations
from ..errors import InputError
from ..model.arguments import require_model
from ..model.configuration import by_name, rates
from ..model.model import Model
from ..model.structure import _freeze_arrays, free_sliding
from ..shown import shown
from .kernels import simulation as columns

#: How far a joint pressed with its full effort goes into a stop [rad or m], for the default stiffness.
STOP_DEPTH = 0.01

#: Least natural frequency of a joint in a stop [rad/s], for the default stiffness.
STOP_FREQUENCY = 100.0


@shown
@dataclass(frozen=True, eq=False)
class JointPhysics:
    """Damping, dry friction and stops of the joints, each an array (nv,).

    Attributes
    ----------
    damping : ndarray
        Viscous damping d [N m s/rad or N s/m]: a force -d qd.
    friction : ndarray
        Dry friction f [N m or N]: at most f against the motion. How it acts at rest depends on the integrator. That
        along the position of a free joint acts along the axes in which it is counted, and is regularised.
    lower, upper : ndarray
        Stops [rad or m], infinite where there are none (always so for ball and free joints).
    stop_stiffness, stop_damping : ndarray
        A stop pushes back with k x + c dx/dt at depth x, with c only while the joint goes in, and never pulls
        [N m/rad, N m s/rad, ...].
    friction_speed : float
        Speed s [rad/s or m/s] of regularised friction, f qd / sqrt(qd^2 + s^2), for integrators that need it.
    law : JointFriction, optional
        Friction besides that: two sides, Stribeck's curve, load; its `smoothing_speed` counts for compensation alone.
    """

    damping: Array
    friction: Array
    lower: Array
    upper: Array
    stop_stiffness: Array
    stop_damping: Array
    friction_speed: float = 1e-3
    law: JointFriction | None = None

    def __post_init__(self) -> None:
        for name in ("damping", "friction", "lower", "upper", "stop_stiffness", "stop_damping"):
            value = np.asarray(getattr(self, name), np.float64)
            bad = np.isnan(value) if name in ("lower", "upper") else ~(np.isfinite(value) & (value >= 0.0))
            if value.ndim != 1 or value.shape != np.shape(self.damping) or bad.any():
                raise InputError(
                    f"{name}: one number for each velocity coordinate is expected, none negative, got {value.tolist()}",
                    name=name,
                    value=value,
                )
            object.__setattr__(self, name, value)
        if not (np.isfinite(self.friction_speed) and self.friction_speed > 0.0):
            raise InputError(f"friction_speed: a positive speed is expected, got {self.friction_speed}")
        if self.law is not None and self.law.damping.shape != self.damping.shape:
            raise InputError(f"law: {self.damping.size} coordinates are expected, got {self.law.damping.size}")
        _freeze_arrays(self)

    @classmethod
    def none(cls, model: Model) -> JointPhysics:
        """Return joints that do nothing: the rigid bodies alone."""
        zero, infinite = np.zeros(model.nv), np.full(model.nv, np.inf)
        return cls(zero, zero, -infinite, infinite, zero, zero)

    @classmethod
    def from_model(
        cls, model: Model, *, damping: bool = True, friction: bool = True, stops: bool = True
    ) -> JointPhysics:
        """Return the losses and position limits of the joints in the model's description.

        Stops get the stiffness that lets the full effort push a joint 0.01 rad or m in, but at least that of 100 rad/s
        with the joint's inertia at the neutral configuration, and critical damping.
        """
        limits, found = model.limits, cls.none(model)
        if damping:
            found = replace(found, damping=limits.damping)
        if friction:
            found = replace(found, friction=limits.friction)
        if not stops:
            return found
        inertia = np.diagonal(mass_matrix(model, model.neutral()))
        effort = np.where(np.isfinite(limits.effort), limits.effort, 0.0)
        stiffness = np.maximum(effort / STOP_DEPTH, STOP_FREQUENCY**2 * inertia)
        lower, upper = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
        lower[model.vector_v] = limits.lower[model.vector_q]
        upper[model.vector_v] = limits.upper[model.vector_q]
        return replace(
            found, lower=lower, upper=upper, stop_stiffness=stiffness, stop_damping=2.0 * np.sqrt(stiffness * inertia)
        )

    def changed(self, **values: Any) -> JointPhysics:
        """Return a copy with other values, e.g. ``changed(friction=0.5 * physics.friction)``."""
        return replace(self, **values)

    @cached_property
    def table(self) -> Array:
        """Input of kernels, shape (rows, nv); see `kernels.simulation`."""
        table = np.zeros((columns.SIZE, self.damping.size))
        if self.law is not None:
            table[: friction.SIZE] = self.law._table
        table[friction.DAMPING] += self.damping
        table[friction.FORWARD : friction.STATIC_BACKWARD + 1] += self.friction
        table[friction.SMOOTHING_SPEED] = self.friction_speed
        table[columns.LOWER], table[columns.UPPER] = self.lower, self.upper
        table[columns.STOP_STIFFNESS], table[columns.STOP_DAMPING] = self.stop_stiffness, self.stop_damping
        return table

    def sliding(self, model: Model) -> tuple[tuple[int, int], ...]:
        """Return the free joints with dry friction along their position, see `ActuationTerms.sliding`."""
        rows = [friction.STATIC_FORWARD, friction.STATIC_BACKWARD, friction.LOAD]
        return free_sliding(model.joints, self.table[rows].sum(axis=0))

    def depth(self, model: Model, q: Array) -> Array:
        """Return how far each coordinate (..., nv) is beyond a stop: signed, zero within the limits."""
        beyond = np.zeros((*q.shape[:-1], model.nv))
        at, x = model.vector_v, q[..., model.vector_q]
        beyond[..., at] = np.maximum(x - self.upper[at], 0.0) + np.minimum(x - self.lower[at], 0.0)
        return beyond

    def stop_forces(self, model: Model, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array]:
        """Return the forces of stops on the joints, and rates, each (..., nv)."""
        q, qd = np.asarray(by_name(q, model.nq, "q", model), np.float64), rates(qd, "qd", model)
        depth = self.depth(model, q)
        return -self.stop_stiffness * depth - np.where(depth * qd > 0.0, self.stop_damping * qd, 0.0), qd


def joint_forces(physics: JointPhysics, model: Model, q: ArrayLike, qd: ArrayLike, tau: ArrayLike = 0.0) -> Array:
    """Return the forces (..., nv) of damping, smooth friction and stops on the joints [N m, N].

    For accelerations given as a function: add them to the torques `tau`, which friction by load depends on.
    Semi-implicit Euler as `simulate` runs it does not use them: it treats damping and stops implicitly, and its
    friction sticks.
    """
    require_model(model)
    stops, speed = physics.stop_forces(model, q, qd)
    force = rates(tau, "tau", model)
    return _law(friction.transmitted_force, physics, model, q, speed, force + stops, -1.0) - force


def drive_forces(physics: JointPhysics, model: Model, q: ArrayLike, qd: ArrayLike, transmitted: Array) -> Array:
    """Return the forces (..., nv) of drives whose joints get `transmitted`, losses and stops included [N m, N]."""
    stops, speed = physics.stop_forces(model, q, qd)
    return transmitted - stops + _law(friction.friction_force, physics, model, q, speed, transmitted, 1.0)


def _law(
    kernel: Any, physics: JointPhysics, model: Model, q: ArrayLike, speed: Array, force: Array, side: float
) -> Array:
    """Return what a kernel of friction finds, along the axes of the positions of free joints where it is dry there.

    Damping there acts along the axes of the body, on the side of the force that comes out (1) or goes in (-1).
    """
    sliding = physics.sliding(model)
    if not sliding:
        return apply(kernel, physics.table, speed, force)
    there = np.asarray(by_name(q, model.nq, "q", model), np.float64)
    shape = np.broadcast_shapes(there.shape[:-1], speed.shape[:-1], force.shape[:-1])
    speed, force = (np.array(np.broadcast_to(a, (*shape, model.nv))) for a in (speed, force))
    table, damped = physics.table.copy(), np.zeros_like(speed)
    turns = list(orientations(sliding, there))
    for at, R in turns:
        damped[..., at], table[friction.DAMPING, at] = table[friction.DAMPING, at] * speed[..., at], 0.0
        into = force[..., at] - damped[..., at] if side < 0.0 else force[..., at]
        speed[..., at], force[..., at] = ((R @ a[..., None])[..., 0] for a in (speed[..., at], into))
    out = apply(kernel, table, speed, force)
    for at, R in turns:
        out[..., at] = (np.swapaxes(R, -1, -2) @ out[..., at, None])[..., 0]
    return out + damped if side > 0.0 else out
