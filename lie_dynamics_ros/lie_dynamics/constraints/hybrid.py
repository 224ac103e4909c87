"""Constrained hybrid dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..lie._arrays import flatten_batch
from ..model.arguments import zero_velocity
from ..model.layout import OK
from ..model.model import Model
from .constraint_set import ConstraintSet
from .forward import Baumgarte, as_mask, pack_extra, run
from .inputs import ConstrainedDynamics, States, read_states
from .inverse import distribute
from .kernels import constrained_dynamics as ck
from .quantities import quantities_of, tables_of
from .resolution import objective

_NONE = np.zeros(0)

#: What is left of A qdd + dA/dt qd = 0, relative to its terms, in accelerations that count as consistent: more than
#: what constraints that count as dependent may contribute.
CONSISTENT = 1e-5


def constrained_hybrid_dynamics(
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
) -> ConstrainedDynamics:
    """Return motion and forces where for each coordinate the acceleration (set u) or the force (set v) is given.

    Kim (70)-(80), in O(n) + O(m^3).

    Parameters
    ----------
    model : Model
        The tree that is left when the loops are cut.
    constraints : ConstraintSet
        What holds.
    q, qd : array-like, shape (..., nq) and (..., nv)
        Configuration and rates.
    qdd, tau : array-like, shape (..., nv)
        Accelerations, read where `prescribed` is True, and joint forces, read where it is False.
    prescribed : array-like
        Set u: truth values (nv,), or names of joints.
    f_ext : array-like, shape (..., n_bodies, 6), optional
        Wrench (moment, force) that the environment exerts on each body, in that body's frame [N m, N].
    resolution, torque_weights, force_weights
        Which forces at u to choose where they are not unique, as in `constrained_inverse_dynamics`.
    stabilization : Baumgarte, optional
        Let errors of the state decay.

    Returns
    -------
    ConstrainedDynamics
        `rank` is that of the constraints at v. Where it is less than m, the given accelerations satisfy some
        constraints by themselves, and forces at u are shared out by `resolution`.

    Raises
    ------
    InputError
        If the given accelerations contradict the constraints, so that none of the others satisfy them: as it happens
        when more are given than the mechanism has degrees of freedom. Names the worst constraint.
    SingularityError, GroupError
        As `constrained_forward_dynamics`.
    """
    zero_velocity(model)  # refuses anything but a Model
    mask = as_mask(model, prescribed, "prescribed")
    if model.plain and f_ext is None and stabilization is None and resolution == "least_constraint_force":
        found = _quick(model, constraints, q, qd, qdd, tau, mask)
        if found is not None and torque_weights is None and force_weights is None:
            return found
    states = read_states(model, constraints, {"q": q, "qd": qd, "qdd": qdd, "tau": tau}, f_ext, mask)
    goal = objective(resolution, int(np.count_nonzero(mask)), constraints.size, torque_weights, force_weights)
    found = run(model, constraints, states, mask, stabilization)
    if np.max(found.residual, initial=0.0) > CONSISTENT:
        _refuse(model, constraints, states, found, stabilization)
    if resolution == "least_constraint_force" or np.min(found.rank, initial=constraints.size) == constraints.size:
        return found
    full = States(
        states.batch,
        states.extended,
        {**states.arrays, "qdd": flatten_batch(found.qdd)},
        states.f_ext,
    )
    tables = tables_of(model, constraints, full)
    shared = distribute(model, constraints, full, tables, mask, states.arrays["tau"], goal, None, False)
    shared._packed[..., -2:] = found._packed[..., -2:]
    return shared


def _quick(
    model: Model,
    constraints: ConstraintSet,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    tau: npt.ArrayLike,
    mask: npt.NDArray[np.bool_],
) -> ConstrainedDynamics | None:
    """Return the result for one state given as kernels want it; None for all else, and for what is to be refused."""
    try:
        if constraints._joints is not model.joints or constraints.user or qd.ndim != 1:  # type: ignore[union-attr]
            return None
        if qdd.shape != (model.nv,):  # type: ignore[union-attr]
            return None
        n, size = model.nv, constraints._result_size
        given: Any = qdd
        extra = pack_extra(
            1,
            constraints._settings,
            constraints._fixed,
            constraints._fixed_values,
            _NONE,
            given,
            mask,
        )
        out = np.empty(size + n)
        status = ck.constrained_dynamics(constraints._packed_row, model.table, q, qd, tau, extra, _NONE, out)
        if status == OK and out[size - 1] <= CONSISTENT:
            return ConstrainedDynamics(out[:size], constraints, out[size:])
    except (AttributeError, TypeError, ValueError, IndexError):
        pass
    return None


def _refuse(
    model: Model,
    constraints: ConstraintSet,
    states: States,
    found: ConstrainedDynamics,
    stabilization: Baumgarte | None,
) -> None:
    """Raise an InputError that names the constraint that the given accelerations violate most."""
    at = int(np.argmax(np.atleast_1d(found.residual)))
    quantities, _ = quantities_of(model, constraints, states)
    target = quantities.bias[at]
    if stabilization is not None:
        f, z = stabilization.frequency, stabilization.damping_ratio
        target = target + 2.0 * z * f * quantities.rate[at] + f * f * quantities.error[at]
    rest = np.abs(quantities.jacobian[at] @ flatten_batch(found.qdd)[at] + target)
    name = max(constraints.slices, key=lambda key: float(rest[constraints.slices[key]].max()))
    worst = float(rest[constraints.slices[name]].max())
    rank = int(np.atleast_1d(found.rank).flat[at])
    raise InputError(
        f"qdd: the prescribed accelerations contradict constraint {name!r}: at best {worst:.3g} of A qdd + dA/dt qd "
        f"= 0 is left there. {constraints.size} constraints have rank {rank} at the coordinates free to follow; "
        "prescribe fewer accelerations, or consistent ones (consistent_acceleration)",
        name=name,
        value=worst,
    )
