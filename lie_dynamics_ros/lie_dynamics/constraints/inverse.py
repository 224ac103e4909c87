"""Constrained inverse dynamics."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.inverse_dynamics import inverse_dynamics
from ..dynamics.mass_matrix import mass_matrix
from ..engine.fastcall.status import raise_if_rejected
from ..errors import InputError
from ..lie._arrays import as_numbers, flatten_batch
from ..model.arguments import validate_model
from ..model.configuration import require_finite
from ..model.model import Model
from .constraint_set import ConstraintSet
from .forward import as_mask
from .idle import idle_motion, refuse_rank
from .inputs import ConstrainedDynamics, States, read_states
from .kernels.force_distribution import distribute_forces
from .quantities import tables_of
from .resolution import PLAIN_CUT, Objective, objective, resolve


@validate_model
def constrained_inverse_dynamics(
    model: Model,
    constraints: ConstraintSet,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    f_ext: npt.ArrayLike | None = None,
    *,
    actuated: npt.ArrayLike | None = None,
    resolution: str = "least_constraint_force",
    passive_torque: npt.ArrayLike | None = None,
    torque_weights: npt.ArrayLike | None = None,
    force_weights: npt.ArrayLike | None = None,
    torque_limits: npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
) -> ConstrainedDynamics:
    """Return the joint forces that a motion of a closed mechanism takes, and the constraint forces. Kim (56)-(66).

    Parameters
    ----------
    model : Model
        The tree that is left when the loops are cut.
    constraints : ConstraintSet
        What holds.
    q, qd, qdd : array-like, shape (..., nq), (..., nv), (..., nv)
        Motion, consistent with the constraints: see `assemble`, `consistent_velocity`, `consistent_acceleration`.
    f_ext : array-like, shape (..., n_bodies, 6), optional
        Wrench (moment, force) that the environment exerts on each body, in that body's frame [N m, N].
    actuated : array-like, optional
        Coordinates with actuators: truth values (nv,), or names of joints; all when left out.
    resolution : {"least_constraint_force", "least_torque", "weighted"}
        What is smallest where there are more actuators than needed: the sum of squares of the multipliers, Kim (59);
        of the joint forces, Kim (62)-(66); or of both with weights. Without redundancy all give the one solution,
        Kim (58).
    passive_torque : array-like, shape (..., nv), optional
        Joint forces at the other coordinates, such as springs; zero when left out. Entries of actuated ones are not
        read. Damping and friction that are part of the model count by themselves.
    torque_weights, force_weights : array-like, optional
        For "weighted": of the squares of the actuated joint forces (n_a,) and of the multipliers (m,), or one number.
    torque_limits : array-like, optional
        Largest joint forces (nv,), or a pair of smallest and largest. A quadratic program then finds the optimum
        within.

    Returns
    -------
    ConstrainedDynamics
        `rank` is that of A_p, and `residual` is how far the equations of motion are from solved, relative to their
        terms.

    Raises
    ------
    InputError
        If there are fewer constraints than passive coordinates (the message names the way out), or if no forces within
        the limits do it; for wrong shapes and NaN.
    SingularityError
        If the configuration is one where the constraints do not hold all passive coordinates.

    Notes
    -----
    Passive coordinates that no constraint holds do no harm where the motion takes no force along them, nor where they
    are spins of rods between ball joints: spins then accelerate freely, not by `qdd`, and the result's
    `qdd` has what they do.
    """
    states = read_states(model, constraints, {"q": q, "qd": qd, "qdd": qdd}, f_ext)
    mask = np.ones(model.nv, np.bool_) if actuated is None else as_mask(model, actuated, "actuated")
    goal = objective(resolution, int(np.count_nonzero(mask)), constraints.size, torque_weights, force_weights)
    passive, tables = passive_forces(model, states, passive_torque), tables_of(model, constraints, states)
    bounds = _bounds(model, torque_limits, mask)
    return distribute(model, constraints, states, tables, mask, passive, goal, bounds, True)


def passive_forces(model: Model, states: States, passive_torque: npt.ArrayLike | None) -> Array:
    """Return `passive_torque` for all states (B, nv)."""
    if passive_torque is None:
        return np.zeros(states.arrays["qd"].shape)
    given = as_numbers(passive_torque, "passive_torque").real
    try:
        passive = np.array(flatten_batch(np.broadcast_to(given, (*states.batch, model.nv))), order="C")
        require_finite(passive, "passive_torque", model)
    except ValueError:
        raise InputError(
            f"passive_torque: shape (..., {model.nv}) is expected, got {given.shape}", name="passive_torque"
        ) from None
    return passive


def distribute(
    model: Model,
    constraints: ConstraintSet,
    states: States,
    tables: tuple[Array, Array, Array],
    mask: npt.NDArray[np.bool_],
    passive: Array,
    goal: Objective,
    bounds: tuple[Array, Array] | None,
    strict: bool,
) -> ConstrainedDynamics:
    """Return joint forces and multipliers of a motion; `strict` refuses one that the constraints cannot hold.

    `tables` are those of `tables_of`.
    """
    matrix, _, unit = tables
    q, qd, qdd = (states.arrays[k] for k in ("q", "qd", "qdd"))
    count, n = len(q), model.nv
    if count == 1:
        load = inverse_dynamics(model, q[0], qd[0], qdd[0], states.f_ext.reshape(-1, 6) if states.f_ext.size else None)
        load = load[None]
    else:
        f_ext = states.f_ext.reshape(count, model.n_bodies, 6) if states.f_ext.size else None
        load = inverse_dynamics(model, q, qd, qdd, f_ext)
    size = constraints._result_size
    out = np.empty((count, size + n))
    out[:, size - 2] = -1.0
    quick = constraints._packed, matrix, unit, load, qdd, passive, mask, goal.roots, PLAIN_CUT, out
    if bounds is not None or raise_if_rejected(distribute_forces(*quick)) > 0:
        for s in np.flatnonzero(out[:, size - 2] < 0.0):
            A = matrix[s, 1:].T
            active, held = A[:, mask], A[:, ~mask]
            torque, force, rank = resolve(active, held, load[s, mask], load[s, ~mask] - passive[s, ~mask], goal, bounds)
            felt, motion = load[s], qdd[s]
            if strict and rank < held.shape[1]:
                given = passive[s] - felt
                freely = idle_motion(model, constraints, q[s], A, mask, given)
                if freely is None:
                    refuse_rank(model, constraints, q[s], A, mask, rank)
                elif freely.any():
                    felt, motion = felt + mass_matrix(model, q[s]) @ freely, motion + freely
                    torque, force, rank = resolve(
                        active, held, felt[mask], felt[~mask] - passive[s, ~mask], goal, bounds
                    )
            tau = np.where(mask, 0.0, passive[s])
            tau[mask] = torque
            rest = np.abs(felt - tau - A.T @ force)
            terms = np.abs(felt) + np.abs(tau) + np.abs(A.T) @ np.abs(force)
            parts = (constraints.slices[loop.name] for loop in constraints.loops)
            wrenches = [force[part] @ unit[s, part] for part in parts]
            residual = rest.max(initial=0.0) / max(terms.max(initial=0.0), 1e-300)
            out[s] = np.concatenate([motion, force, *wrenches, [rank, residual], tau])
    packed = np.ascontiguousarray(out[:, :size])
    return ConstrainedDynamics(
        packed.reshape(*states.batch, size), constraints, out[:, size:].reshape(*states.batch, n)
    )


def _bounds(
    model: Model,
    limits: npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike] | None,
    mask: npt.NDArray[np.bool_],
) -> tuple[Array, Array] | None:
    if limits is None:
        return None
    try:
        if isinstance(limits, tuple) and len(limits) == 2:
            lower, upper = (np.broadcast_to(np.asarray(x, dtype=float), (model.nv,)) for x in limits)
        else:
            upper = np.broadcast_to(np.asarray(limits, dtype=float), (model.nv,))
            lower = -upper
    except (TypeError, ValueError):
        lower = upper = np.full(model.nv, np.nan)
    if not (lower <= upper).all():
        raise InputError(
            f"torque_limits: {model.nv} numbers of at least zero, or a pair of smallest and largest, are expected, "
            f"got {limits!r}",
            name="torque_limits",
            value=limits,
        )
    return lower[mask], upper[mask]
