"""Constrained forward dynamics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.losses import joint_terms
from ..errors import InputError
from ..model.layout import OK
from ..model.model import Model
from .constraint_set import ConstraintSet
from .inputs import ConstrainedDynamics, States, read_states, refuse
from .kernels import constrained_dynamics as ck

_NO_MASK = np.zeros(0, np.bool_)
_EMPTY = np.zeros(0)
_kernel = ck.constrained_dynamics
CHUNK = 256
#: Numbers of a workspace that surely fits on the stack.
_SMALL = 16384


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
        For wrong shapes, NaN, invalid quaternions, and a loop that is closed upside down: all else of open loops
        is taken as it is.
    SingularityError
        If the tree has a massless body that its cut loops leave free; names the joint.
    """
    try:
        plain = model.plain and f_ext is None and stabilization is None and not constraints.user
        if plain and constraints._joints is model.joints:  # batches the kernel refuses
            out = _kernel(constraints._packed_row, model.table, q, qd, tau, _EMPTY, _EMPTY)
            if out is None:  # more than the stack holds, or to be refused
                space = workspace(model, constraints, _EMPTY)
                out = _kernel(constraints._packed_row, model.table, q, qd, tau, _EMPTY, space)
            if out is not None:
                return ConstrainedDynamics(out, constraints, tau)  # type: ignore[arg-type]
    except (AttributeError, TypeError, ValueError):
        pass
    inputs: dict[str, npt.ArrayLike] = {"q": q, "qd": qd, "tau": tau}
    states = read_states(model, constraints, inputs, f_ext)
    return run(model, constraints, states, None, stabilization)


def run(
    model: Model,
    constraints: ConstraintSet,
    states: States,
    prescribed: npt.NDArray[np.bool_] | None,
    stabilization: Baumgarte | None = None,
) -> ConstrainedDynamics:
    """Run the kernel over validated states."""
    q, qd, tau = states.extended, states.arrays["qd"], states.arrays["tau"]
    count, n, kind = len(q), model.nv, q.dtype
    given = _NO_MASK if prescribed is None else prescribed
    qdd_in: Array = np.zeros((0, 0), kind) if prescribed is None else states.arrays["qdd"]
    losses = joint_terms(model, states.arrays["q"], qd) if model.actuation_terms is not None else np.zeros(1)
    force = tau - losses
    fixed, values = constraints.fixed_rows(model, states.arrays["q"], qd, stabilization is not None)
    size = constraints._result_size
    out = np.empty((count, size + (n if given.size else 0)), kind)
    for start in range(0, count, CHUNK):  # the kernel keeps the interpreter lock: let others have their turn
        part = slice(start, start + CHUNK)
        extra = pack_extra(
            len(q[part]),
            _settings(constraints, stabilization),
            fixed[part] if len(fixed) > 1 else fixed,
            values[part] if len(values) > 1 else values,
            states.f_ext[part],
            qdd_in[part],
            given,
        ).astype(kind)
        status = _kernel(
            constraints._packed_row, model.table, q[part].reshape(-1), qd[part].reshape(-1), force[part].reshape(-1),
            extra, workspace(model, constraints, q), out[part].reshape(-1),
        )  # fmt: skip
        if status != OK:
            refuse(model, constraints, int(status))
    full = states.arrays["tau"] if prescribed is None else out[:, size:] + losses
    packed = np.ascontiguousarray(out[:, :size])
    return ConstrainedDynamics(packed.reshape(*states.batch, size), constraints, full.reshape(*states.batch, n))


def pack_extra(
    count: int,
    settings: Array,
    fixed: Array,
    values: Array,
    f_ext: Array,
    qdd: Array,
    given: npt.NDArray[np.bool_],
    tolerance: float = -1.0,
    iterations: int = 0,
) -> Array:
    """Return what the kernel calls `extra`."""
    head = (count, f_ext.size > 0, given.size > 0, fixed.shape[1], len(fixed) > 1, len(values) > 1)
    first = np.array((*head, *settings.tolist(), tolerance, iterations))
    parts = [part.ravel() for part in (f_ext, qdd, given, fixed, values) if part.size]
    return np.concatenate([first, *parts]) if parts else first


def workspace(model: Model, constraints: ConstraintSet, like: Array) -> Array:
    """Return a workspace, empty if the kernel's stack will do."""
    size = ck.numbers_of_workspace(model.nv, constraints.size, len(constraints._scalars))
    return np.empty(0 if size <= _SMALL else size, like.dtype)


def _settings(constraints: ConstraintSet, stabilization: Baumgarte | None) -> Array:
    if stabilization is None:
        return constraints._settings
    f, z = stabilization.frequency, stabilization.damping_ratio
    return np.array([2.0 * z * f, f * f, constraints.rank_tolerance])


def as_mask(model: Model, value: npt.ArrayLike, name: str) -> npt.NDArray[np.bool_]:
    """Return truth values, one for each velocity coordinate, given as such or as names of joints."""
    try:
        array = np.asarray(None if isinstance(value, np.ma.MaskedArray) else value)
    except ValueError:
        array = np.asarray(None)
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
