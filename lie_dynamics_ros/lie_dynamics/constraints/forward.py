"""Constrained forward dynamics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..model.layout import OK, TOO_LARGE
from ..model.model import Model
from ..tree.losses import joint_losses
from . import constrained_dynamics_kernels as ck
from .constraint_set import ConstraintSet
from .inputs import ConstrainedDynamics, States, read_states, refuse

Array = npt.NDArray[np.float64]
_empty = np.empty
_NO_MASK = np.zeros(0, np.bool_)
_NONE = np.zeros((0, 0))


@dataclass(frozen=True)
class Baumgarte:
    """Baumgarte's stabilisation: errors f of the constraints decay like a damped oscillator.

    A qdd + dA/dt qd = -2 damping_ratio frequency A qd - frequency^2 f

    It keeps drift small, not zero, and does a little work. `project_to_constraints` removes drift altogether; use that
    for simulation.

    Parameters
    ----------
    frequency : float
        [rad/s]; some tenth of the rate at which a simulation steps.
    damping_ratio : float
        One is critical.
    """

    frequency: float
    damping_ratio: float = 1.0

    def __post_init__(self) -> None:
        if not (0.0 <= self.frequency < np.inf and 0.0 <= self.damping_ratio < np.inf):
            raise InputError(f"Baumgarte: frequency and damping ratio must be finite and not negative, got {self}")


def constrained_forward_dynamics(
    model: Model,
    constraints: ConstraintSet,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    tau: npt.ArrayLike,
    f_ext: npt.ArrayLike | None = None,
    *,
    stabilization: Baumgarte | None = None,
) -> ConstrainedDynamics:
    """Return the accelerations and constraint forces that joint forces cause, in O(n) + O(m^3). Kim (67)-(69).

    M qdd + b = tau + A^T multipliers and A qdd + dA/dt qd = 0; M is never formed.

    Parameters
    ----------
    model : Model
        The tree that is left when the loops are cut.
    constraints : ConstraintSet
        What holds. Dependent constraints are allowed, also where they become so in a singular configuration.
    q, qd, tau : array-like, shape (..., nq), (..., nv), (..., nv)
        Configuration, rates and joint forces.
    f_ext : array-like, shape (..., n_bodies, 6), optional
        Wrench (moment, force) that the environment exerts on each body, in that body's frame [N m, N].
    stabilization : Baumgarte, optional
        Let errors of the state decay; left out, they stay or grow.

    Returns
    -------
    ConstrainedDynamics
        With the rank of the constraints. Where it is less than m, accelerations are unique and forces are not: those
        returned are the smallest in the sense of the sum of their squares.

    Raises
    ------
    InputError, GroupError
        For wrong shapes, NaN, and quaternions that are none.
    SingularityError
        If the tree has a massless body that its cut loops leave free; names the joint.
    """
    if model._plain and f_ext is None and stabilization is None:
        try:
            if constraints._joints is model.joints and not constraints.user and qd.ndim == 1:  # type: ignore[union-attr]
                out = _empty(constraints._result_size)
                status = ck.constrained_forward(model._rows, constraints._packed, q, qd, tau, out)
                if status == TOO_LARGE:
                    status = run_single(model, constraints, q, qd, tau, _NONE, _NO_MASK, out, _NONE)  # type: ignore[arg-type]
                if status == OK:
                    return ConstrainedDynamics(out, model.nv, constraints.size, tau)  # type: ignore[arg-type]
        except (AttributeError, TypeError, ValueError):
            pass
    inputs: dict[str, npt.ArrayLike] = {"q": q, "qd": qd, "tau": tau}
    states = read_states(model, constraints, inputs, f_ext)
    return run(model, constraints, states, None, stabilization)


def run_single(
    model: Model,
    constraints: ConstraintSet,
    q: Array,
    qd: Array,
    tau: Array,
    qdd: Array,
    given: npt.NDArray[np.bool_],
    out: Array,
    tau_out: Array,
) -> int:
    """Run the kernel of batches over one state, and return its status; no user constraints, no validation."""
    return ck.constrained_dynamics(
        model._rows, constraints._loops, constraints._scalars, constraints._support,
        q[None], qd[None], tau[None], _NONE, qdd, given,
        constraints._fixed, constraints._fixed_values, _NONE, constraints._settings, out[None], tau_out,
    )  # fmt: skip


def run(
    model: Model,
    constraints: ConstraintSet,
    states: States,
    prescribed: npt.NDArray[np.bool_] | None,
    stabilization: Baumgarte | None = None,
    shift: Array = _NONE,
) -> ConstrainedDynamics:
    """Run the kernel over validated states; `shift` (B, m) is added to the targets' left-hand side."""
    q, qd, tau = states.extended, states.arrays["qd"], states.arrays["tau"]
    count, n, kind = len(q), model.nv, q.dtype
    given = _NO_MASK if prescribed is None else prescribed
    qdd_in: Array = np.zeros((0, 0), kind) if prescribed is None else states.arrays["qdd"]
    losses = joint_losses(model, qd) if model._actuation_terms is not None else np.zeros(1)
    force = tau - losses
    fixed, values = constraints.fixed_rows(model, states.arrays["q"], qd, stabilization is not None)
    out = np.empty((count, constraints._result_size), kind)
    tau_out = np.empty((count if given.size else 0, n), kind)
    if count:
        status = ck.constrained_dynamics(
            model._rows, constraints._loops, constraints._scalars, constraints._support,
            q, qd, force, states.f_ext, qdd_in, given,
            fixed.astype(kind), values.astype(kind), shift.astype(kind), _settings(constraints, stabilization),
            out, tau_out,
        )  # fmt: skip
        if status != OK:
            refuse(model, int(status))
    full = states.arrays["tau"] if prescribed is None else tau_out + losses
    return ConstrainedDynamics(
        out.reshape(*states.batch, out.shape[1]), n, constraints.size, full.reshape(*states.batch, n)
    )


def _settings(constraints: ConstraintSet, stabilization: Baumgarte | None) -> Array:
    if stabilization is None:
        return constraints._settings
    f, z = stabilization.frequency, stabilization.damping_ratio
    return np.array([2.0 * z * f, f * f, constraints.rank_tolerance])


def as_mask(model: Model, value: npt.ArrayLike, name: str) -> npt.NDArray[np.bool_]:
    """Return truth values, one for each velocity coordinate, given as such or as names of joints."""
    array = np.asarray(value)
    if array.dtype.kind in "US" and array.ndim == 1:
        mask = np.zeros(model.nv, np.bool_)
        for joint in array.tolist():
            mask[model.joint(str(joint)).v_slice] = True
        return mask
    if array.dtype != np.bool_ or array.shape != (model.nv,):
        raise InputError(
            f"{name}: {model.nv} truth values, one for each coordinate, or names of joints are expected, "
            f"got {array.dtype} {array.shape}",
            name=name,
            value=value,
        )
    return np.array(array)
