"""Analytic derivatives of constrained forward, inverse and hybrid dynamics.

The equations that determine accelerations, forces and multipliers are differentiated and solved again; what they are
made of comes from the derivatives of inverse dynamics, the torque regressor, and the derivatives of the constraints.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..lie._arrays import listed
from ..model.arguments import of_model
from ..model.model import Model
from .constraint_set import ConstraintSet
from .derivative_equations import ConstrainedDerivatives, Terms, differentiate_hybrid, gather, share, terms_at
from .forward import Baumgarte, as_mask, constrained_forward_dynamics
from .hybrid import constrained_hybrid_dynamics
from .inputs import read_states
from .inverse import constrained_inverse_dynamics
from .resolution import objective

Array = npt.NDArray[np.float64]


@of_model
def constrained_forward_derivatives(
    model: Model,
    constraints: ConstraintSet,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    tau: npt.ArrayLike,
    f_ext: npt.ArrayLike | None = None,
    *,
    stabilization: Baumgarte | None = None,
) -> ConstrainedDerivatives:
    """Return the derivatives of `constrained_forward_dynamics`, with its arguments and errors.

    Returns
    -------
    ConstrainedDerivatives
        Derivatives along q, qd, tau and inertial parameters; wrenches of `f_ext` are kept in their bodies' frames.
    """
    free = np.zeros(model.nv, np.bool_)
    found = constrained_forward_dynamics(model, constraints, q, qd, tau, f_ext, stabilization=stabilization)
    states = read_states(model, constraints, {"q": q, "qd": qd, "tau": tau}, f_ext)
    return differentiate_hybrid(model, constraints, states, found, free, None, stabilization)


@of_model
def constrained_hybrid_derivatives(
    model: Model,
    constraints: ConstraintSet,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    tau: npt.ArrayLike,
    prescribed: npt.ArrayLike,
    f_ext: npt.ArrayLike | None = None,
    *,
    resolution: str = "least_constraint_force",
    torque_weights: npt.ArrayLike | None = None,
    force_weights: npt.ArrayLike | None = None,
    stabilization: Baumgarte | None = None,
) -> ConstrainedDerivatives:
    """Return the derivatives of `constrained_hybrid_dynamics`, with its arguments and errors.

    Where more accelerations are given than the mechanism has freedoms, those along a command that violates the
    constraints are derivatives of the nearest motion that does not.
    """
    mask = as_mask(model, prescribed, "prescribed")
    weights = {"torque_weights": torque_weights, "force_weights": force_weights}
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
        stabilization=stabilization,
        torque_weights=torque_weights,
        force_weights=force_weights,
    )
    states = read_states(model, constraints, {"q": q, "qd": qd, "qdd": qdd, "tau": tau}, f_ext, mask)
    goal = objective(resolution, int(mask.sum()), constraints.size, **weights)
    return differentiate_hybrid(model, constraints, states, found, mask, goal, stabilization)


@of_model
def constrained_inverse_derivatives(
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
) -> ConstrainedDerivatives:
    """Return the derivatives of `constrained_inverse_dynamics`, with its arguments and errors; no torque limits.

    q, qd and qdd are varied by themselves, as that function takes them: it does not ask whether they fit the
    constraints.
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
    states = read_states(model, constraints, {"q": q, "qd": qd, "qdd": qdd}, f_ext)
    n = model.nv
    terms = terms_at(model, constraints, states, states.arrays["qdd"], found.multipliers, None)
    taus, forces = listed(found.tau), listed(found.multipliers)
    results = []
    for s, one in enumerate(terms):
        columns = np.concatenate([one.load[:, : 2 * n], one.mass, one.load[:, 2 * n :]], axis=1)
        given = np.zeros_like(columns)
        way = Terms(one.mass, one.jacobian, columns, one.target, np.eye(n, columns.shape[1]))
        dtau, dforce = share(model, constraints, states, s, way, columns, given, mask, goal, taus[s], forces[s])
        dqdd = np.zeros_like(dtau)
        dqdd[:, 2 * n : 3 * n] = np.eye(n)
        results.append((dqdd, dtau, dforce))
    return gather(results, states.batch, model, constraints.size)
