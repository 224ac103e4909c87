"""Derivatives of inverse, forward and hybrid dynamics along arbitrary parameters. Kim Tables 5, 6 and 7.

Forward and hybrid dynamics solve the equations of inverse dynamics for other unknowns, so their derivatives solve the
derivative of those equations: with M_vv the block of the mass matrix where forces are given,
``M_vv dqdd_v = dtau_v - (dtau along the parameter at constant qdd_v)``. The solution is one more recursion without bias
for each parameter, and no derivative of an articulated inertia is needed. `reference/kim_derivatives.py`
has the tables as they stand in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...errors import InputError
from ...model.arguments import validate_model
from ...model.configuration import checked, shaped
from ...model.model import Model
from ..forward_dynamics import _mask, forward_dynamics, hybrid_dynamics
from ..inputs import Algorithm, _shaped_wrench
from ..kernels.derivatives import seeds
from ..kernels.derivatives.sensitivity import sensitivity_batch
from ..losses import friction_columns, joint_terms_rate, joint_terms_slope, rotor_acceleration
from .parameters import Parameter
from .seeding import Seeding

Parameters = Parameter | Sequence[Parameter]
Hold = Literal["body", "world", "aligned"]

_HOLDS = {"body": seeds.HELD_BY_BODY, "world": seeds.HELD_BY_WORLD, "aligned": seeds.HELD_ALIGNED}


@validate_model
def inverse_dynamics_sensitivity(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    parameter: Parameters,
    f_ext: npt.ArrayLike | None = None,
    *,
    f_ext_held: Hold = "body",
    threads: int = 1,
) -> Array:
    """Return how the joint forces of a motion change with parameters. Kim Table 5; O(n) for each parameter.

    Parameters
    ----------
    model : Model
        The robot.
    q, qd, qdd : array-like, shape (..., nq), (..., nv), (..., nv)
        Motion.
    parameter : Parameter, or sequence of k of them
        What to differentiate along. Changes of "tau" have no effect.
    f_ext : array-like, shape (..., n_bodies, 6), optional
        External wrenches on the bodies, in their frames.
    f_ext_held : {"body", "world", "aligned"}
        What stays the same of `f_ext` when a body is displaced: its components in the body frame; the wrench in the
        world frame, moment about the world's origin; or force and moment in the world's axes, at the body's origin,
        as of a weight. It matters for parameters that displace bodies only: q, placements, axes.
    threads : int
        Threads that share a batch; results do not depend on it.

    Returns
    -------
    ndarray, shape (..., nv), or (k, ..., nv) for a sequence
        dtau/dp.

    Raises
    ------
    InputError, GroupError
        As `inverse_dynamics`; also for a parameter of a joint or body that the model does not have.
    """
    single, parameters = listed_parameters(parameter)
    change, _ = _inverse(model, SeededMotion(q, qd, qdd, parameters, f_ext, f_ext_held, threads))
    return np.asarray(change[0]) if single else change


@validate_model
def forward_dynamics_sensitivity(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    tau: npt.ArrayLike,
    parameter: Parameters,
    f_ext: npt.ArrayLike | None = None,
    *,
    f_ext_held: Hold = "body",
    threads: int = 1,
) -> Array:
    """Return how the accelerations that joint forces cause change with parameters. Kim Table 6.

    Parameters
    ----------
    model, q, qd, parameter, f_ext, f_ext_held, threads
        As `inverse_dynamics_sensitivity`; changes of "qdd" have no effect.
    tau : array-like, shape (..., nv)
        Joint forces.

    Returns
    -------
    ndarray, shape (..., nv), or (k, ..., nv) for a sequence
        dqdd/dp.

    Raises
    ------
    InputError, GroupError, SingularityError
        As `forward_dynamics`.
    """
    single, parameters = listed_parameters(parameter)
    qdd = forward_dynamics(model, q, qd, tau, f_ext, threads=threads)
    free = np.zeros(model.nv, np.bool_)
    change, _ = _solved(model, SeededMotion(q, qd, qdd, parameters, f_ext, f_ext_held, threads, free))
    return np.asarray(change[0]) if single else change


@validate_model
def hybrid_dynamics_sensitivity(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    tau: npt.ArrayLike,
    prescribed: npt.ArrayLike,
    parameter: Parameters,
    f_ext: npt.ArrayLike | None = None,
    *,
    f_ext_held: Hold = "body",
    threads: int = 1,
) -> tuple[Array, Array]:
    """Return how accelerations and joint forces of hybrid dynamics change with parameters. Kim Table 7.

    Parameters
    ----------
    model, q, qd, parameter, f_ext, f_ext_held, threads
        As `inverse_dynamics_sensitivity`.
    qdd, tau, prescribed
        As `hybrid_dynamics`. Parameters that change what is not read, a "tau" where `prescribed` is True or a "qdd"
        where it is False, have no effect.

    Returns
    -------
    dqdd, dtau : ndarray, shape (..., nv), or (k, ..., nv) for a sequence
        Both complete: changes of what is given, as the parameter says, and of what follows.

    Raises
    ------
    InputError, GroupError, SingularityError
        As `hybrid_dynamics`.
    """
    single, parameters = listed_parameters(parameter)
    given = _mask(model, prescribed)
    qdd, _ = hybrid_dynamics(model, q, qd, qdd, tau, given, f_ext, threads=threads)
    motion = SeededMotion(q, qd, qdd, parameters, f_ext, f_ext_held, threads, given)
    acceleration, force = _solved(model, motion)
    return (acceleration[0], force[0]) if single else (acceleration, force)


def listed_parameters(parameter: Parameters) -> tuple[bool, Sequence[Parameter]]:
    """Return whether it is a single parameter, and all of them in a list."""
    if isinstance(parameter, Parameter):
        return True, [parameter]
    try:
        return False, list(parameter)
    except TypeError:
        message = f"parameter: a Parameter, or a list of them, is expected, got {parameter!r}"
        raise InputError(message, name="parameter", value=parameter) from None


@dataclass(frozen=True, eq=False)
class SeededMotion:
    """A motion, and the parameters that it is differentiated along.

    Attributes
    ----------
    q, qd, qdd : array-like, shape (..., nq), (..., nv), (..., nv)
        Motion.
    parameters : sequence of Parameter
        What to differentiate along.
    f_ext, held, threads
        As `inverse_dynamics_sensitivity`, where `held` is `f_ext_held`.
    given : ndarray of bool, shape (nv,), optional
        Accelerations do not change where it is False.
    """

    q: npt.ArrayLike
    qd: npt.ArrayLike
    qdd: npt.ArrayLike
    parameters: Sequence[Parameter]
    f_ext: npt.ArrayLike | None
    held: str
    threads: int
    given: npt.NDArray[np.bool_] | None = None


def _inverse(model: Model, motion: SeededMotion) -> tuple[Array, Seeding]:
    """Return dtau (k, ..., nv)."""
    change, seeding = run_seeded(model, sensitivity_batch, motion)
    if model.coupling is not None:
        change = change @ model.coupling.rates
    state = (np.asarray(a) for a in (motion.q, motion.qd, motion.qdd))
    return with_direct(model, seeding, np.ascontiguousarray(change), *state), seeding


def run_seeded(
    model: Model,
    kernel: Callable[..., int],
    motion: SeededMotion,
    columns: int = 0,
    more: Sequence[Array] = (),
) -> tuple[Array, Seeding]:
    """Return what a kernel with the arguments of `sensitivity_batch` finds (k, ..., joints' coordinates + `columns`).

    `more` arrays (..., j) come last in the kernel's `values`.
    """
    held, f_ext = motion.held, motion.f_ext
    if not isinstance(held, str) or held not in _HOLDS:
        raise InputError(f"f_ext_held: one of {tuple(_HOLDS)} is expected, got {held!r}", name="f_ext_held", value=held)
    q, qd = checked(motion.q, model.nq, "q", model), checked(motion.qd, model.nv, "qd", model)
    seeding = Seeding(model, motion.parameters, q, qd, motion.given)
    data = [*seeding.values, *more]
    shapes = [v.shape[:-1] for v in data]
    shapes += [d.shape[:-1] if at is None else d.shape for *_, at, d in seeding.direct]
    qdd = shaped(motion.qdd, model.nv, "qdd", model)
    wrench = [] if f_ext is None else [_shaped_wrench(model, f_ext)]
    try:
        batch = np.broadcast_shapes(*shapes, *(a.shape[:-1] for a in (q, qd, qdd, *wrench)))
    except ValueError:
        raise InputError(
            f"batch dimensions do not fit each other: those of states and of parameters {shapes}"
        ) from None
    count = int(np.prod(batch))
    kind = np.result_type(q, qd, qdd, *wrench, *data)
    values = np.empty((*batch, sum(v.shape[-1] for v in data)), kind)
    at = 0
    for v in data:
        values[..., at : at + v.shape[-1]] = v
        at += v.shape[-1]
    values = values.reshape(count, -1) if values.size else np.empty((count, 0), kind)
    starts = np.concatenate([[_HOLDS[held]], seeding.starts])

    def run(rows: Array, *arrays: Array) -> int:  # those of a kernel of batches, the last two are results
        q, qd, qdd, f, values, _, y, _ = arrays
        return kernel(rows, seeding.table, starts, q, qd, qdd, f, values, y)

    n = model.rows.shape[0] - 1
    inputs = {"q": np.broadcast_to(q, (*batch, model.nq)), "qd": qd, "qdd": qdd}
    found = Algorithm(run, f"{len(motion.parameters)} {n + columns}")
    (change,) = found.evaluate(model, inputs, f_ext, threads=motion.threads, parameters=values)
    return np.moveaxis(change, -2, 0), seeding


def with_direct(model: Model, seeding: Seeding, change: Array, q: Array, qd: Array, qdd: Array) -> Array:
    """Add what parameters do to joint forces without the tree: rotors and losses."""
    for number, what, at, data in seeding.direct:
        if at is None:
            if what == "qd" and model.actuation_terms is not None:
                change[number] += (joint_terms_rate(model, q, qd) @ np.asarray(data)[..., None])[..., 0]
            slope = joint_terms_slope(model, q, qd) if what == "q" else None
            if slope is not None:
                change[number] += (slope @ np.asarray(data)[..., None])[..., 0]
            continue
        if what == "friction":
            change[number] += np.asarray(data)[..., None] * friction_columns(model, q, np.sign(qd.real), qd)[..., at]
            continue
        factors = {"armature": rotor_acceleration(model, qd, qdd), "damping": qd}
        change[number][..., at] += data * factors[what][..., at]
    return change


def _solved(model: Model, motion: SeededMotion) -> tuple[Array, Array]:
    """Return dqdd and dtau (k, ..., nv), for accelerations that are complete and a mask that is there."""
    change, seeding = _inverse(model, motion)
    given = np.asarray(motion.given)
    acceleration, force = np.zeros_like(change), np.zeros_like(change)
    for number, what, at, data in seeding.direct:
        if at is None and what == "qdd":
            acceleration[number] += data
        elif at is None and what == "tau":
            force[number] += data
    still = model.with_gravity(np.zeros(3))
    zero = np.zeros(model.nv)
    answer, reaction = hybrid_dynamics(still, motion.q, zero, zero, force - change, given, threads=motion.threads)
    return acceleration + answer, np.where(given, change + reaction, force)
