"""Constrained dynamics: hybrid dynamics is the one problem, forward and inverse dynamics are its two ends.

`ConstrainedModel` is what all three are asked of; the functions of a model and its constraints ask it.

A problem has two parts: the motion that given forces and accelerations cause, by the recursions of
`kernels.constrained_dynamics`, and the forces that a motion takes, shared out as `resolution` says. Forward dynamics is
the first alone, inverse dynamics the second alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..arrays import Array, ArrayLike, Mask
from ..dynamics.inputs import is_plain
from ..dynamics.inverse_dynamics import inverse_dynamics, mass_matrix
from ..dynamics.losses import joint_terms
from ..engine.compile import raise_if_rejected
from ..errors import InputError
from ..lie._arrays import flatten_batch
from ..model.arguments import require_model
from ..model.layout import OK
from ..model.model import Model
from ..shown import shared_options
from .constraint_set import ConstraintSet
from .idle import idle_motion, refuse_rank
from .inputs import (
    ConstrainedDynamics,
    States,
    as_mask,
    read_passive_forces,
    read_states,
    read_torque_limits,
    refuse,
    require_constraints,
)
from .kernels import constrained_dynamics as ck
from .kernels.force_distribution import distribute_forces
from .quantities import quantities_of, tables_of
from .resolution import PLAIN_CUT, USUAL, Baumgarte, ForceOptions, Objective, Resolution, resolution_of, resolve

if TYPE_CHECKING:
    from typing import Unpack

NO_MASK = np.zeros(0, np.bool_)
EMPTY = np.zeros(0)
_kernel = ck.constrained_dynamics
_CHUNK = 256
#: Numbers of a workspace that surely fits on the stack.
_SMALL = 16384
#: What is left of A qdd + dA/dt qd = 0, relative to its terms, in accelerations that count as consistent: more than
#: what constraints that count as dependent may contribute.
CONSISTENT = 1e-5


@dataclass(frozen=True, eq=False)
class ConstrainedModel:
    """A model with its constraints and the options of their resolution.

    Parameters
    ----------
    model : Model
        The tree that is left when the loops are cut.
    constraints : ConstraintSet
        What holds.
    resolution : Resolution
        Which forces to choose where they are not unique.
    stabilization : Baumgarte, optional
        Let errors of the state decay, in forward and hybrid dynamics.

    Raises
    ------
    InputError
        For what is none of these, and for the constraints of another model.
    """

    model: Model
    constraints: ConstraintSet
    resolution: Resolution = USUAL
    stabilization: Baumgarte | None = None

    def __post_init__(self) -> None:
        require_constraints(self.model, self.constraints)
        if self.resolution is USUAL and self.stabilization is None:
            return
        for name, kind, unset in (("resolution", Resolution, USUAL), ("stabilization", Baumgarte, None)):
            given = getattr(self, name)
            if given is not unset and not isinstance(given, kind):
                raise InputError(f"{name}: a {kind.__name__} is expected, got {given!r}", name=name, value=given)

    def hybrid(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tau: ArrayLike,
        prescribed: ArrayLike,
        f_ext: ArrayLike | None = None,
    ) -> ConstrainedDynamics:
        """Return what `constrained_hybrid_dynamics` does, with its arguments and errors."""
        mask = as_mask(self.model, prescribed, "prescribed")
        if f_ext is None and self.stabilization is None and self.resolution is USUAL and self.model.plain:
            quick = _quick_hybrid(self.model, self.constraints, q, qd, qdd, tau, mask)
            if quick is not None:
                return quick
        states = self.states({"q": q, "qd": qd, "qdd": qdd, "tau": tau}, f_ext, mask)
        size = self.constraints.size
        goal = self.resolution.objective(int(np.count_nonzero(mask)), size)
        found = motion_of(self, states, mask)
        if np.max(found.residual, initial=0.0) > CONSISTENT:
            _refuse_motion(self, states, found)
        if self.resolution.kind == USUAL.kind or np.min(found.rank, initial=size) == size:
            return found
        full = states.with_accelerations(flatten_batch(found.qdd))
        tables = tables_of(self.model, self.constraints, full)
        shared = forces_of(self, full, tables, Sharing(mask, states.arrays["tau"], goal, None), False)
        shared.packed[..., -2:] = found.packed[..., -2:]
        return shared

    def forward(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None
    ) -> ConstrainedDynamics:
        """Return what `constrained_forward_dynamics` does, with its arguments and errors: no acceleration is given."""
        if f_ext is None and self.stabilization is None:
            quick = _quick_forward(self.model, self.constraints, q, qd, tau)
            if quick is not None:
                return quick
        return motion_of(self, self.states({"q": q, "qd": qd, "tau": tau}, f_ext), None)

    def inverse(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        f_ext: ArrayLike | None = None,
        actuated: ArrayLike | None = None,
        passive_torque: ArrayLike | None = None,
        torque_limits: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    ) -> ConstrainedDynamics:
        """Return what `constrained_inverse_dynamics` does, with its arguments and errors: all of qdd is given."""
        states = self.states({"q": q, "qd": qd, "qdd": qdd}, f_ext)
        sharing = sharing_of(self, states, actuated, passive_torque, torque_limits)
        return forces_of(self, states, tables_of(self.model, self.constraints, states), sharing)

    def states(self, inputs: dict[str, ArrayLike], f_ext: ArrayLike | None, given: Mask | None = None) -> States:
        """Return validated inputs, see `read_states`."""
        return read_states(self.model, self.constraints, inputs, f_ext, given)


class ConstrainedOptions(ForceOptions, total=False):
    """Keywords of `constrained_model`: how constraints are resolved, and stabilised."""

    stabilization: Baumgarte | None


def constrained_model(
    model: Model,
    constraints: ConstraintSet,
    *,
    resolution: str = "least_constraint_force",
    torque_weights: ArrayLike | None = None,
    force_weights: ArrayLike | None = None,
    stabilization: Baumgarte | None = None,
) -> ConstrainedModel:
    """Return the `ConstrainedModel` of a function's keywords."""
    chosen = resolution_of(resolution=resolution, torque_weights=torque_weights, force_weights=force_weights)
    return ConstrainedModel(model, constraints, chosen, stabilization)


@shared_options(constrained_model)
def constrained_hybrid_dynamics(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
    prescribed: ArrayLike,
    f_ext: ArrayLike | None = None,
    **options: Unpack[ConstrainedOptions],
) -> ConstrainedDynamics:
    """Return motion and forces where for each coordinate the acceleration (set u) or the force (set v) is given.

    Kim (70)-(80), in O(n) + O(m^3).

    Parameters
    ----------
    model, constraints
        The tree that is left when the loops are cut, and what holds.
    q, qd : array-like, shape (..., nq) and (..., nv)
        Configuration and rates.
    qdd, tau : array-like, shape (..., nv)
        Accelerations, read where `prescribed` is True, and joint forces, read where it is False.
    prescribed : array-like
        Set u: truth values (nv,), or names of joints.
    f_ext, stabilization
        As for `constrained_forward_dynamics`.
    resolution, torque_weights, force_weights
        Which forces at u to choose where they are not unique, as in `constrained_inverse_dynamics`.

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
    require_model(model)
    mask = as_mask(model, prescribed, "prescribed")
    if f_ext is None and not options and model.plain:
        found = _quick_hybrid(model, constraints, q, qd, qdd, tau, mask)
        if found is not None:
            return found
    return constrained_model(model, constraints, **options).hybrid(q, qd, qdd, tau, mask, f_ext)


def constrained_forward_dynamics(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
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
    found = _quick_forward(model, constraints, q, qd, tau) if f_ext is None and stabilization is None else None
    if found is not None:
        return found
    return ConstrainedModel(model, constraints, stabilization=stabilization).forward(q, qd, tau, f_ext)


@shared_options(resolution_of)
def constrained_inverse_dynamics(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    actuated: ArrayLike | None = None,
    passive_torque: ArrayLike | None = None,
    torque_limits: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    **options: Unpack[ForceOptions],
) -> ConstrainedDynamics:
    """Return the joint forces that a motion of a closed mechanism takes, and the constraint forces. Kim (56)-(66).

    Parameters
    ----------
    model, constraints
        The tree that is left when the loops are cut, and what holds.
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
        read. Damping and friction that are part of the model count anyway.
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
    of = ConstrainedModel(model, constraints, resolution_of(**options) if options else USUAL)
    return of.inverse(q, qd, qdd, f_ext, actuated, passive_torque, torque_limits)


def _quick_forward(
    model: Model, constraints: ConstraintSet, q: ArrayLike, qd: ArrayLike, tau: ArrayLike
) -> ConstrainedDynamics | None:
    """Return the result for one state given as the kernel wants it; None for all else, and for what it refuses."""
    try:
        if not model.plain or constraints.user or constraints.joints is not model.joints:
            return None
        row = constraints.table.row
    except AttributeError:  # of what is no model or no set; others are raised
        require_constraints(model, constraints)
        raise
    out = _kernel(row, model.table, q, qd, tau, EMPTY, EMPTY)
    if out is None:  # more than the stack holds, or to be refused
        out = _kernel(row, model.table, q, qd, tau, EMPTY, _workspace(model, constraints, EMPTY))
    return None if out is None else ConstrainedDynamics(out, constraints, tau)  # type: ignore[arg-type]


def _quick_hybrid(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
    mask: Mask,
) -> ConstrainedDynamics | None:
    """Return the same of hybrid dynamics, of a plain model."""
    try:
        table = constraints.table
    except AttributeError:
        require_constraints(model, constraints)
        raise
    if constraints.joints is not model.joints or constraints.user or not is_plain(qdd):
        return None
    if qdd.shape != (model.nv,):
        return None
    size = table.result_size
    extra = np.concatenate((table.quick_head, qdd, mask, table.quick_tail))
    out = np.empty(size + model.nv)
    status = _kernel(table.row, model.table, q, qd, tau, extra, EMPTY, out)
    if status == OK and out[size - 1] <= CONSISTENT:
        return ConstrainedDynamics(out[:size], constraints, out[size:])
    return None


class Sharing(NamedTuple):
    """Distribution of forces: those to be found, the others (B, nv), and the weights and bounds of the former."""

    mask: Mask
    passive: Array
    goal: Objective
    bounds: tuple[Array, Array] | None


def sharing_of(
    of: ConstrainedModel,
    states: States,
    actuated: ArrayLike | None,
    passive_torque: ArrayLike | None,
    torque_limits: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
) -> Sharing:
    """Return how the forces of a motion are to be shared."""
    model = of.model
    mask = np.ones(model.nv, np.bool_) if actuated is None else as_mask(model, actuated, "actuated")
    goal = of.resolution.objective(int(np.count_nonzero(mask)), of.constraints.size)
    passive = read_passive_forces(model, states, passive_torque)
    return Sharing(mask, passive, goal, read_torque_limits(model, torque_limits, mask))


def motion_of(of: ConstrainedModel, states: States, prescribed: Mask | None) -> ConstrainedDynamics:
    """Return the motion, and the smallest forces, by the recursions; `prescribed` accelerations are given."""
    model, constraints = of.model, of.constraints
    q, qd, tau = states.extended, states.arrays["qd"], states.arrays["tau"]
    n, size, kind = model.nv, constraints.table.result_size, q.dtype
    losses = joint_terms(model, states.arrays["q"], qd) if model.actuation_terms is not None else np.zeros(1)
    settings = constraints.table.settings
    if of.stabilization is not None:
        settings = np.array([*of.stabilization.gains, constraints.rank_tolerance])
    fixed, values = constraints.fixed_rows(model, states.arrays["q"], qd, of.stabilization is not None)
    extra = Extra(settings, fixed, values, states.f_ext)
    if prescribed is not None:
        extra = extra._replace(qdd=states.arrays["qdd"], given=prescribed)
    out = np.empty((len(q), size + extra.given.size), kind)
    sweep(model, constraints, (q, qd, tau - losses), extra, out)
    full = states.arrays["tau"] if prescribed is None else out[:, size:] + losses
    packed = np.ascontiguousarray(out[:, :size])
    return ConstrainedDynamics(packed.reshape(*states.batch, size), constraints, full.reshape(*states.batch, n))


def forces_of(
    of: ConstrainedModel,
    states: States,
    tables: tuple[Array, Array, Array],
    sharing: Sharing,
    all_given: bool = True,
) -> ConstrainedDynamics:
    """Return joint forces and multipliers of a motion with "qdd"; `tables` are those of `tables_of`.

    Where `all_given`, a motion that the constraints cannot hold is refused, unless it is one of idle freedoms.
    """
    model, constraints = of.model, of.constraints
    mask, passive, goal, bounds = sharing
    matrix, _, unit = tables
    q, qd, qdd = (states.arrays[k] for k in ("q", "qd", "qdd"))
    count, n = len(q), model.nv
    if count == 1:
        wrench = states.f_ext.reshape(-1, 6) if states.f_ext.size else None
        load = inverse_dynamics(model, q[0], qd[0], qdd[0], wrench)[None]
    else:
        f_ext = states.f_ext.reshape(count, model.n_bodies, 6) if states.f_ext.size else None
        load = inverse_dynamics(model, q, qd, qdd, f_ext)
    size = constraints.table.result_size
    out = np.empty((count, size + n))
    out[:, size - 2] = -1.0
    quick = constraints.table.packed, matrix, unit, load, qdd, passive, mask, goal.roots, PLAIN_CUT, out
    if bounds is not None or raise_if_rejected(distribute_forces(*quick)) > 0:
        for s in np.flatnonzero(out[:, size - 2] < 0.0):
            one = Sharing(mask, passive[s], goal, bounds)
            out[s] = _shared(of, (q[s], qdd[s], load[s]), matrix[s, 1:].T, unit[s], one, all_given)
    packed = np.ascontiguousarray(out[:, :size])
    return ConstrainedDynamics(
        packed.reshape(*states.batch, size), constraints, out[:, size:].reshape(*states.batch, n)
    )


def _shared(
    of: ConstrainedModel,
    state: tuple[Array, Array, Array],
    A: Array,
    unit: Array,
    sharing: Sharing,
    all_given: bool,
) -> Array:
    """Return the result of `forces_of` for one state (q, qdd, load), whatever the rank, with tau at its end."""
    model, constraints = of.model, of.constraints
    mask, passive, goal, bounds = sharing
    q, motion, felt = state
    active, held = A[:, mask], A[:, ~mask]
    torque, force, rank = resolve(active, held, felt[mask], (felt - passive)[~mask], goal, bounds)
    if all_given and rank < held.shape[1]:
        freely = idle_motion(model, constraints, q, A, mask, passive - felt)
        if freely is None:
            refuse_rank(model, constraints, q, A, mask, rank)
        elif freely.any():
            felt, motion = felt + mass_matrix(model, q) @ freely, motion + freely
            torque, force, rank = resolve(active, held, felt[mask], (felt - passive)[~mask], goal, bounds)
    tau = np.where(mask, 0.0, passive)
    tau[mask] = torque
    rest = np.abs(felt - tau - A.T @ force)
    terms = np.abs(felt) + np.abs(tau) + np.abs(A.T) @ np.abs(force)
    residual = rest.max(initial=0.0) / max(terms.max(initial=0.0), 1e-300)
    parts = (constraints.slices[loop.name] for loop in constraints.loops)
    wrenches = [force[part] @ unit[part] for part in parts]
    return np.concatenate([motion, force, *wrenches, [rank, residual], tau])


def _refuse_motion(of: ConstrainedModel, states: States, found: ConstrainedDynamics) -> None:
    """Raise an InputError that names the constraint that the given accelerations violate most."""
    at = int(np.argmax(np.atleast_1d(found.residual)))
    constraints = of.constraints
    quantities, _ = quantities_of(of.model, constraints, states)
    target = quantities.bias[at]
    if of.stabilization is not None:
        of_rate, of_error = of.stabilization.gains
        target = target + of_rate * quantities.rate[at] + of_error * quantities.error[at]
    rest = np.abs(quantities.jacobian[at] @ flatten_batch(found.qdd)[at] + target)
    name = max(constraints.slices, key=lambda key: float(rest[constraints.slices[key]].max()))
    worst = float(rest[constraints.slices[name]].max())
    rank = int(np.atleast_1d(found.rank).flat[at])
    raise InputError(
        f"qdd: the prescribed accelerations contradict constraint {name!r}: at best {worst:.3g} of A qdd + dA/dt "
        f"qd = 0 is left there. {constraints.size} constraints have rank {rank} at the coordinates free to follow; "
        "prescribe fewer accelerations, or consistent ones (consistent_acceleration)",
        name=name,
        value=worst,
    )


class Extra(NamedTuple):
    """Inputs of the kernel besides states.

    Stabilisation and tolerance of the rank, A of couplings and user constraints and their values, wrenches (B, 6
    n_bodies), given accelerations and which they are; for projection the tolerance and number of steps.
    """

    settings: Array
    fixed: Array
    values: Array
    f_ext: Array = EMPTY
    qdd: Array = EMPTY
    given: Mask = NO_MASK
    tolerance: float = -1.0
    iterations: int = 0

    def packed(self, part: slice, count: int) -> Array:
        """Return it in one array, for some of the states."""
        settings, fixed, values, f_ext, qdd, given, tolerance, iterations = self
        head = count, f_ext.size > 0, given.size > 0, fixed.shape[1], len(fixed) > 1, len(values) > 1
        first = np.array((*head, *settings.tolist(), tolerance, iterations), float)
        if not (f_ext.size or given.size or fixed.size or values.size):
            return first
        every = (f_ext, True), (qdd, True), (given, False), (fixed, head[4]), (values, head[5])
        return np.concatenate([first, *((a[part] if one_a_state else a).ravel() for a, one_a_state in every if a.size)])


def sweep(
    model: Model, constraints: ConstraintSet, states: tuple[Array, Array, Array], extra: Extra, out: Array
) -> None:
    """Run the kernel over states (q as it wants it, qd, tau), each (B, ...); results are in `out` (B, ...).

    Raises InputError, SingularityError for what the kernel refuses.
    """
    q, qd, tau = states
    space, row, count = _workspace(model, constraints, q), constraints.table.row, len(out)
    for start in range(0, count, _CHUNK):  # the kernel keeps the interpreter lock: let others have their turn
        part = slice(start, start + _CHUNK)
        some = (q, qd, tau, out) if count <= _CHUNK else (q[part], qd[part], tau[part], out[part])
        given = extra.packed(part, len(some[0]))
        if q.dtype != given.dtype:
            given = given.astype(q.dtype)
        flat_q, flat_qd, flat_tau, flat_out = [a.reshape(-1) for a in some]
        status = _kernel(row, model.table, flat_q, flat_qd, flat_tau, given, space, flat_out)
        if status != OK:
            refuse(model, constraints, int(status))


def _workspace(model: Model, constraints: ConstraintSet, like: Array) -> Array:
    """Return a workspace, empty if the kernel's stack will do."""
    size = ck.numbers_of_workspace(model.nv, constraints.size, len(constraints.table.scalars))
    return np.empty(0 if size <= _SMALL else size, like.dtype)
