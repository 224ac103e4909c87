"""Forward and hybrid dynamics of a tree: the motion that joint forces cause, and solutions with the mass matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array, ArrayLike, Mask
from ..errors import InputError, SingularityError
from ..model.arguments import require_model
from ..model.configuration import common_batch, require_finite, shaped
from ..model.model import Model
from .inputs import NO_MASK, Algorithm, quick_path
from .inverse_dynamics import inverse_dynamics, mass_matrix
from .kernels.forward_dynamics import any_hybrid_dynamics as _any
from .kernels.forward_dynamics import forward_dynamics as _forward
from .kernels.forward_dynamics import hybrid_dynamics as _hybrid
from .kernels.forward_dynamics import hybrid_dynamics_batch as _batch
from .kernels.forward_dynamics import hybrid_dynamics_unloaded as _unloaded
from .losses import joint_terms

#: Condition number of the mass matrix beyond which forces give no accelerations worth the name.
_WORST_CONDITION = 1e13


def _any_forward(rows: Array, q: Array, qd: Array, tau: Array, f_ext: Array, out: Array) -> int:
    """Run forward dynamics of a state of any size, as hybrid dynamics without a mask."""
    none = np.empty(0, out.dtype)
    return _any(rows, q, qd, tau, f_ext, none, NO_MASK, out, none)


_FORWARD = Algorithm(_batch, "n", single=_any_forward, diagnose=_any_forward)
_HYBRID = Algorithm(_batch, "n,n", single=_any, diagnose=_any)


@quick_path(_forward, "q qd tau f_ext")
def forward_dynamics(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
) -> Array:
    """Return the accelerations that joint forces cause, gravity included, in O(n). Kim Table 3.

    Parameters
    ----------
    model : Model
        The robot.
    q : array-like, shape (..., nq)
        Configuration [rad, m].
    qd, tau : array-like, shape (..., nv)
        Rates of the coordinates [rad/s, m/s] and joint forces [N m, N].
    f_ext : array-like, shape (..., n_bodies, 6), optional
        Wrench (moment, force) that the environment exerts on each body, in that body's frame [N m, N].
    threads : int
        Threads that share a batch; results do not depend on it.

    Returns
    -------
    ndarray, shape (..., nv)
        Accelerations of the coordinates [rad/s^2, m/s^2].

    Raises
    ------
    InputError, GroupError
        As `inverse_dynamics`.
    SingularityError
        If a massless body is free to accelerate without bound; names the joint.
    """
    require_model(model)
    if model.coupling is not None:
        free = np.zeros(model.nv, np.bool_)
        return coupled_hybrid_dynamics(model, q, qd, model.zero_velocity, tau, free, f_ext, threads)[0]
    inputs: dict[str, Any] = {"q": q, "qd": qd, "tau": tau}
    if model.actuation_terms is not None:
        losses = joint_terms(model, q, shaped(qd, model.nv, "qd", model))
        inputs["tau"] = shaped(tau, model.nv, "tau", model) - losses
    return _FORWARD.evaluate(model, inputs, f_ext, threads=threads)[0]


def solve_mass_matrix(model: Model, q: ArrayLike, force: ArrayLike, *, threads: int = 1) -> Array:
    """Return x (..., nv) with M(q) x = `force` (..., nv), in O(n) for each vector and without forming M.

    The articulated-body recursion of Kim Table 3 at rest and without gravity. Batch axes of `q` and `force` are
    broadcast: pass `q` with one axis more to solve for several vectors at one configuration.

    Raises
    ------
    InputError, GroupError, SingularityError
        As `forward_dynamics`.
    """
    require_model(model)
    return forward_dynamics(model.without_gravity(), q, model.zero_velocity, force, threads=threads)


@quick_path(_hybrid, "q qd tau f_ext qdd prescribed", unloaded=_unloaded)
def hybrid_dynamics(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
    prescribed: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
) -> tuple[Array, Array]:
    """Return accelerations and joint forces where for each coordinate one of the two is given, in O(n). Kim Table 4.

    Parameters
    ----------
    model, q, qd, f_ext, threads
        As `forward_dynamics`.
    qdd : array-like, shape (..., nv)
        Accelerations; read where `prescribed` is True, of no effect elsewhere (may be NaN there).
    tau : array-like, shape (..., nv)
        Joint forces; read where `prescribed` is False, of no effect elsewhere (may be NaN there).
    prescribed : array-like of bool, shape (nv,)
        True where the acceleration is given, False where the force is. Any mask, also within a joint.

    Returns
    -------
    qdd, tau : ndarray, shape (..., nv)
        Both complete: what was given and what follows from it.

    Raises
    ------
    InputError, GroupError, SingularityError
        As `forward_dynamics`; also InputError for a mask that is not nv truth values.
    """
    require_model(model)
    given = _mask(model, prescribed)
    if model.coupling is not None:
        return coupled_hybrid_dynamics(model, q, qd, qdd, tau, given, f_ext, threads)
    inputs: dict[str, Any] = {"q": q, "qd": qd, "tau": tau, "qdd": qdd}
    losses = None
    if model.actuation_terms is not None:
        losses = joint_terms(model, q, shaped(qd, model.nv, "qd", model))
        inputs["tau"] = shaped(tau, model.nv, "tau", model) - losses
    acceleration, force = _HYBRID.evaluate(model, inputs, f_ext, given=given, threads=threads)
    return acceleration, force if losses is None else force + losses


def _mask(model: Model, prescribed: ArrayLike) -> Mask:
    try:
        mask = np.asarray(prescribed)
    except ValueError:
        mask = np.zeros(0)
    if isinstance(prescribed, np.ma.MaskedArray) or mask.dtype != np.bool_ or mask.shape != (model.nv,):
        raise InputError(
            f"prescribed: {model.nv} truth values are expected, one for each coordinate, got {mask.dtype} {mask.shape}",
            name="prescribed",
            value=prescribed,
            expected=f"bool ({model.nv},)",
        )
    return np.array(mask)  # a writable contiguous copy, the only kind that kernels are compiled for


def coupled_hybrid_dynamics(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
    given: Mask,
    f_ext: ArrayLike | None,
    threads: int = 1,
) -> tuple[Array, Array]:
    """Return complete qdd and tau, as `hybrid_dynamics`, from M qdd + b = tau. Kim (33), (34)."""
    qdd, tau = shaped(qdd, model.nv, "qdd", model), shaped(tau, model.nv, "tau", model)
    matrix = mass_matrix(model, q, threads=threads)
    bias = inverse_dynamics(model, q, qd, model.zero_velocity, f_ext, threads=threads)
    free = ~given
    shape = (*common_batch(q=bias, qdd=qdd, tau=tau), model.nv)
    acceleration = np.where(given, np.broadcast_to(qdd, shape), 0.0)
    wanted = np.where(free, np.broadcast_to(tau, shape), 0.0)
    require_finite(acceleration, "qdd", model)
    require_finite(wanted, "tau", model)
    rest = wanted - bias - (matrix @ acceleration[..., None])[..., 0]
    block = matrix[..., free, :][..., free]
    if block.size and np.linalg.cond(block).max() > _WORST_CONDITION:
        raise SingularityError(f"model {model.name!r}: the mass matrix is singular at coordinates whose force is given")
    solved = np.linalg.solve(np.broadcast_to(block, (*shape[:-1], *block.shape[-2:])), rest[..., free, None])
    acceleration[..., free] = solved[..., 0]
    force = (matrix @ acceleration[..., None])[..., 0] + bias
    return acceleration, np.where(free, wanted, force)
