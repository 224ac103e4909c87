"""Derivatives of constrained dynamics along arbitrary parameters, Kim's p.

The equations of constrained dynamics are differentiated and solved again, as in `derivatives`; what the tree has in
them comes from `tree.sensitivity`, what the loops have from the derivatives of the constraints.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..lie._arrays import listed
from ..model.arguments import of_model
from ..model.configuration import require_result
from ..model.model import Model
from ..tree.mass_matrix import mass_matrix
from ..tree.sensitivity import Hold, Parameters, _inverse, _listed
from .constraint_set import ConstraintSet
from .derivative_equations import Terms, complete, share
from .forward import Baumgarte, as_mask, constrained_forward_dynamics
from .hybrid import constrained_hybrid_dynamics
from .inputs import ConstrainedDynamics, read_states
from .inverse import constrained_inverse_dynamics
from .loop_derivatives import constraint_derivatives
from .loop_geometry import geometry_derivatives
from .quantities import quantities_of
from .resolution import Objective, objective

Array = npt.NDArray[np.float64]


class ConstrainedSensitivity(NamedTuple):
    """Derivatives of constrained dynamics along one parameter, or along each of k with one more axis (k, ...).

    Attributes
    ----------
    qdd, tau : ndarray, shape (..., nv)
        Of accelerations and joint forces: changes of what is given, as the parameter says, and of what follows.
    multipliers : ndarray, shape (..., m)
        Of constraint forces; where constraints depend on each other they are not unique, and mean little.
    """

    qdd: Array
    tau: Array
    multipliers: Array


@of_model
def constrained_forward_sensitivity(
    model: Model,
    constraints: ConstraintSet,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    tau: npt.ArrayLike,
    parameter: Parameters,
    f_ext: npt.ArrayLike | None = None,
    *,
    f_ext_held: Hold = "body",
    stabilization: Baumgarte | None = None,
) -> ConstrainedSensitivity:
    """Return how the result of `constrained_forward_dynamics` changes with parameters; its arguments and errors.

    Parameters
    ----------
    parameter : Parameter, or sequence of k of them
        What to differentiate along; q is held when it is not q itself, so a displaced joint opens its loop. Changes of
        "qdd" have no effect. Along placements, axes and pitches on the branches of loops, the constraints' own
        derivatives are by central differences of order six, whose error is some 1e-10.
    f_ext_held
        As `inverse_dynamics_sensitivity`.

    Returns
    -------
    ConstrainedSensitivity

    Raises
    ------
    InputError
        Also for changes of T, S or dS/dt of a joint of a loop by themselves (`Parameter.custom`), and for what
        `forward_dynamics_sensitivity` refuses.
    """
    found = constrained_forward_dynamics(model, constraints, q, qd, tau, f_ext, stabilization=stabilization)
    mask = np.zeros(model.nv, np.bool_)
    return _sensitivity(model, constraints, q, qd, found, mask, None, parameter, f_ext, f_ext_held, stabilization)


@of_model
def constrained_hybrid_sensitivity(
    model: Model,
    constraints: ConstraintSet,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    tau: npt.ArrayLike,
    prescribed: npt.ArrayLike,
    parameter: Parameters,
    f_ext: npt.ArrayLike | None = None,
    *,
    f_ext_held: Hold = "body",
    resolution: str = "least_constraint_force",
    torque_weights: npt.ArrayLike | None = None,
    force_weights: npt.ArrayLike | None = None,
    stabilization: Baumgarte | None = None,
) -> ConstrainedSensitivity:
    """Return how the result of `constrained_hybrid_dynamics` changes with parameters; its arguments and errors.

    `parameter`, `f_ext_held` and more errors are those of `constrained_forward_sensitivity`. Changes of what is not
    read, "tau" where `prescribed` is True and "qdd" where it is False, have no effect.
    """
    mask = as_mask(model, prescribed, "prescribed")
    found = constrained_hybrid_dynamics(
        model,
        constraints,
        q,
        qd,
        qdd,
        tau,
        mask,
        f_ext,
        resolution=resolution,
        torque_weights=torque_weights,
        force_weights=force_weights,
        stabilization=stabilization,
    )
    goal = objective(resolution, int(mask.sum()), constraints.size, torque_weights, force_weights)
    return _sensitivity(model, constraints, q, qd, found, mask, goal, parameter, f_ext, f_ext_held, stabilization)


@of_model
def constrained_inverse_sensitivity(
    model: Model,
    constraints: ConstraintSet,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    parameter: Parameters,
    f_ext: npt.ArrayLike | None = None,
    *,
    f_ext_held: Hold = "body",
    actuated: npt.ArrayLike | None = None,
    resolution: str = "least_constraint_force",
    passive_torque: npt.ArrayLike | None = None,
    torque_weights: npt.ArrayLike | None = None,
    force_weights: npt.ArrayLike | None = None,
) -> ConstrainedSensitivity:
    """Return how the result of `constrained_inverse_dynamics` changes with parameters; no torque limits.

    Arguments and errors are those of that function; `parameter`, `f_ext_held` and more errors those of
    `constrained_forward_sensitivity`. q, qd and qdd are varied by themselves: nobody asks whether they fit the
    constraints. Changes of "tau" have no effect.
    """
    found = constrained_inverse_dynamics(
        model,
        constraints,
        q,
        qd,
        qdd,
        f_ext,
        actuated=actuated,
        resolution=resolution,
        passive_torque=passive_torque,
        torque_weights=torque_weights,
        force_weights=force_weights,
    )
    mask = np.ones(model.nv, np.bool_) if actuated is None else as_mask(model, actuated, "actuated")
    goal = objective(resolution, int(mask.sum()), constraints.size, torque_weights, force_weights)
    return _sensitivity(model, constraints, q, qd, found, mask, goal, parameter, f_ext, f_ext_held, None, inverse=True)


def _sensitivity(
    model: Model,
    constraints: ConstraintSet,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    found: ConstrainedDynamics,
    mask: npt.NDArray[np.bool_],
    goal: Objective | None,
    parameter: Parameters,
    f_ext: npt.ArrayLike | None,
    held: Hold,
    stabilization: Baumgarte | None,
    inverse: bool = False,
) -> ConstrainedSensitivity:
    single, parameters = _listed(parameter)
    change, seeding = _inverse(model, q, qd, found.qdd, parameters, f_ext, held, 1, None if inverse else mask)
    batch, n, m = change.shape[1:-1], model.nv, constraints.size
    total, count = len(parameters), int(np.prod(batch))

    def spread(a: npt.ArrayLike) -> Array:
        array = np.asarray(a, float)
        return np.array(np.broadcast_to(array, (*batch, array.shape[-1])))  # one that kernels may be given

    states = read_states(model, constraints, {"q": spread(q), "qd": spread(qd)})
    qdd, tau, force = (listed(spread(a)) for a in (found.qdd, found.tau, found.multipliers))
    data = [np.broadcast_to(v, (*batch, v.shape[-1])).reshape(count, v.shape[-1]) for v in seeding.values]
    dA, derror, dbias = geometry_derivatives(
        model, constraints, states, seeding, np.concatenate([np.zeros((count, 0)), *data], axis=1)
    )
    moves = {name: np.zeros((total, *batch, n)) for name in ("q", "qd", "qdd", "tau")}
    for number, what, at, part in seeding.direct:
        if at is None:
            moves[what][number] += part
    dq, dqd, dqdd, dtau = (np.moveaxis(a.reshape(total, count, n), 0, -1) for a in moves.values())  # (count, nv, k)
    loops = constraint_derivatives(model, constraints, states, qdd, force)
    A = quantities_of(model, constraints, states)[0].jacobian
    M = mass_matrix(model, states.arrays["q"])
    load = np.moveaxis(change.reshape(total, count, n), 0, -1) - loops.force_dq @ dq
    load = load - np.einsum("ksmn,sm->snk", dA, force)
    if not inverse:
        load = load - M @ dqdd  # accelerations come in by `complete`, those that are given, too
    target = loops.acceleration_dq @ dq + loops.acceleration_dqd @ dqd
    target = target + np.einsum("ksmn,sn->smk", dA, qdd) + np.moveaxis(dbias, 0, -1)
    if stabilization is not None:
        f, z = stabilization.frequency, stabilization.damping_ratio
        rate = loops.rate_dq @ dq + A @ dqd + np.einsum("ksmn,sn->smk", dA, states.arrays["qd"])
        target = target + 2.0 * z * f * rate + f * f * (A @ dq + np.moveaxis(derror, 0, -1))
    accelerations, forces = np.array(dqdd), np.zeros((count, n, total))
    multipliers = np.zeros((count, m, total))
    for s in range(count):
        one = Terms(M[s], A[s], load[s], target[s], dq[s], dA[:, s])
        passive = np.where(mask[:, None], 0.0, dtau[s])
        if inverse:
            passive = np.zeros_like(passive)
            assert goal is not None
            parts = share(model, constraints, states, s, one, load[s], passive, mask, goal, tau[s], force[s])
        else:
            parts = complete(
                model, constraints, states, s, one, accelerations[s], passive, mask, goal, tau[s], force[s]
            )
        forces[s], multipliers[s] = parts
    results = [np.moveaxis(a, -1, 0).reshape(total, *batch, a.shape[1]) for a in (accelerations, forces, multipliers)]
    require_result(model, *results)
    return ConstrainedSensitivity(*(a[0] if single else a for a in results))
