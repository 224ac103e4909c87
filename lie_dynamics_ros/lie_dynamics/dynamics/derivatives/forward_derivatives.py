"""Derivatives of forward and hybrid dynamics along all coordinates at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array, ArrayLike, Mask
from ...model import layout
from ...model.arguments import require_model
from ...model.configuration import shaped
from ...model.model import Model
from ...shown import shown
from ..forward_dynamics import _mask, coupled_hybrid_dynamics
from ..inputs import NO_MASK, NO_WRENCH, Algorithm
from ..kernels.derivatives.hybrid_derivatives import hybrid_derivatives as _single
from ..kernels.derivatives.hybrid_derivatives import hybrid_derivatives_batch as _batch
from ..kernels.forward_dynamics import forward_dynamics as _forward
from ..kernels.forward_dynamics import hybrid_dynamics as _hybrid
from ..losses import joint_terms, joint_terms_rate, joint_terms_slope
from .inverse_derivatives import extend_twice, inverse_dynamics_derivatives

_empty = np.empty
_new = tuple.__new__
_NONE = np.zeros(0)
_NO_TABLE = np.zeros((0, 0))


def _explain_forward(rows: Array, q: Array, qd: Array, tau: Array, f_ext: Array, _: Array) -> int:
    """Return the status of forward dynamics at a state whose derivatives are not finite."""
    return int(_forward(rows, q[: int(rows[0, layout.N_Q])], qd, tau, f_ext, np.empty_like(qd)))


def _explain_hybrid(
    rows: Array, q: Array, qd: Array, tau: Array, f_ext: Array, qdd: Array, given: Array, *_: Array
) -> int:
    out = np.empty_like(qd), np.empty_like(qd)
    return int(_hybrid(rows, q[: int(rows[0, layout.N_Q])], qd, tau, f_ext, qdd, given, *out))


_FORWARD = Algorithm(_batch, "3n+1 n", diagnose=_explain_forward, extension=extend_twice)
_HYBRID = Algorithm(_batch, "3n+1 n,3n+1 n", diagnose=_explain_hybrid, extension=extend_twice)


@shown
class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of the accelerations that joint forces cause, each (..., nv, nv): [i, k] is that of qdd_i along k.

    Attributes
    ----------
    dq : ndarray
        Along the configuration: for ball and free joints along their tangent, as `Model.integrate` moves it [1/s^2].
    dqd : ndarray
        Along the rates [1/s].
    dtau : ndarray
        Along the joint forces: the inverse of the mass matrix [1/(kg m^2)].
    qdd : ndarray, shape (..., nv)
        The accelerations themselves [rad/s^2, m/s^2].
    """

    dq: Array
    dqd: Array
    dtau: Array
    qdd: Array


class HybridDynamicsDerivatives:
    """Derivatives of the complete accelerations and joint forces of hybrid dynamics, each (..., nv, nv).

    Entry [i, k] is the derivative of entry i of qdd or tau along q_k (the tangent, as `Model.integrate` moves it),
    qd_k, or what is given at k: its acceleration where `prescribed`, else its force. Rows of what is itself given are
    zero, and in `..._dgiven` rows of the unit matrix.

    Attributes
    ----------
    dqdd_dq, dqdd_dqd, dqdd_dgiven : ndarray, shape (..., nv, nv)
        Of the accelerations.
    dtau_dq, dtau_dqd, dtau_dgiven : ndarray, shape (..., nv, nv)
        Of the joint forces.
    qdd, tau : ndarray, shape (..., nv)
        Accelerations and forces themselves, complete.
    """

    __slots__ = ("_forces", "accelerations")

    def __init__(self, accelerations: Array, forces: Array) -> None:
        # (..., 3 nv + 1, nv): values, then what is derived along q, qd and what is given. Views of it are made when
        # they are requested: making eight would cost as much as all the arithmetic of a small robot.
        self.accelerations = accelerations
        self._forces = forces

    @property
    def qdd(self) -> Array:  # noqa: D102
        return self.accelerations[..., 0, :]

    @property
    def tau(self) -> Array:  # noqa: D102
        return self._forces[..., 0, :]

    @property
    def dqdd_dq(self) -> Array:  # noqa: D102
        return block(self.accelerations, 0)

    @property
    def dqdd_dqd(self) -> Array:  # noqa: D102
        return block(self.accelerations, 1)

    @property
    def dqdd_dgiven(self) -> Array:  # noqa: D102
        return block(self.accelerations, 2)

    @property
    def dtau_dq(self) -> Array:  # noqa: D102
        return block(self._forces, 0)

    @property
    def dtau_dqd(self) -> Array:  # noqa: D102
        return block(self._forces, 1)

    @property
    def dtau_dgiven(self) -> Array:  # noqa: D102
        return block(self._forces, 2)


def block(values: Array, k: int) -> Array:
    """Return one of the three matrices in (..., 3 nv + 1, nv)."""
    n = values.shape[-1]
    return values[..., 1 + k * n : 1 + k * n + n, :]


def forward_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
) -> ForwardDynamicsDerivatives:
    """Return the derivatives of `forward_dynamics` along q, qd and tau, and the accelerations.

    They are exact, for every joint type, along `Model.integrate`: column k of `.dq` is the derivative at t = 0 of
    ``forward_dynamics(model, model.integrate(q, t e_k), qd, tau, f_ext)``. Those of inverse dynamics at the solution
    are solved with the mass matrix, factorised along the branches of the tree.

    Parameters
    ----------
    model, q, qd, tau, threads
        As `forward_dynamics`.
    f_ext : array-like, shape (..., n_bodies, 6), optional
        As there; each wrench moves with its body.

    Returns
    -------
    ForwardDynamicsDerivatives
        Named tuple of `dq`, `dqd` and `dtau`, each (..., nv, nv), and `qdd` (..., nv).

    Raises
    ------
    InputError, GroupError, SingularityError
        As `forward_dynamics`.
    """
    y = forward_solution(model, q, qd, tau, f_ext, threads)
    return _new(ForwardDynamicsDerivatives, (block(y, 0), block(y, 1), block(y, 2), y[..., 0, :]))


def forward_solution(
    model: Model, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None, threads: int
) -> Array:
    """Return the accelerations, and their derivatives along q, qd and tau, as (..., 3 nv + 1, nv)."""
    require_model(model)
    if model.plain:
        y = _empty((3 * model.nv + 1, model.nv))
        wrench = NO_WRENCH if f_ext is None else f_ext
        if _single(model.table, q, qd, tau, wrench, _NONE, NO_MASK, y, _NO_TABLE) == 0:
            return y
    if model.coupling is not None:
        free = np.zeros(model.nv, np.bool_)
        return coupled_hybrid_derivatives(model, q, qd, model.zero_velocity, tau, free, f_ext, threads)[0]
    return _general(model, {"q": q, "qd": qd, "tau": tau}, NO_MASK, f_ext, threads).accelerations


def hybrid_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
    prescribed: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
) -> HybridDynamicsDerivatives:
    """Return the derivatives of `hybrid_dynamics` along q, qd and what is given of qdd and tau, and the results.

    All False, the derivatives of qdd are those of forward dynamics; all True, those of tau are those of inverse
    dynamics.

    Parameters
    ----------
    model, q, qd, qdd, tau, prescribed, threads
        As `hybrid_dynamics`.
    f_ext : array-like, shape (..., n_bodies, 6), optional
        As there; each wrench moves with its body.

    Returns
    -------
    HybridDynamicsDerivatives
        Named tuple of `dqdd_dq`, `dqdd_dqd`, `dqdd_dgiven`, `dtau_dq`, `dtau_dqd`, `dtau_dgiven`, each (..., nv, nv),
        and `qdd` and `tau` (..., nv).

    Raises
    ------
    InputError, GroupError, SingularityError
        As `hybrid_dynamics`.
    """
    require_model(model)
    if model.plain:
        shape = (3 * model.nv + 1, model.nv)
        y, z = _empty(shape), _empty(shape)
        wrench = NO_WRENCH if f_ext is None else f_ext
        if _single(model.table, q, qd, tau, wrench, qdd, prescribed, y, z) == 0:
            return HybridDynamicsDerivatives(y, z)
    mask = _mask(model, prescribed)
    if model.coupling is not None:
        return HybridDynamicsDerivatives(*coupled_hybrid_derivatives(model, q, qd, qdd, tau, mask, f_ext, threads))
    return _general(model, {"q": q, "qd": qd, "tau": tau, "qdd": qdd}, mask, f_ext, threads)


def _general(
    model: Model, inputs: dict[str, Any], given: Mask, f_ext: ArrayLike | None, threads: int
) -> HybridDynamicsDerivatives:
    n = model.nv
    losses = np.zeros(n)
    if model.actuation_terms is not None:
        rates = shaped(inputs["qd"], n, "qd", model)
        losses = joint_terms(model, inputs["q"], rates)
        inputs["tau"] = shaped(inputs["tau"], n, "tau", model) - losses
    out = (_HYBRID if given.size else _FORWARD).evaluate(model, inputs, f_ext, given=given, threads=threads)
    found = HybridDynamicsDerivatives(out[0], out[-1])
    if model.actuation_terms is not None:
        _take(found.dqdd_dqd, found.dtau_dqd, found, given, joint_terms_rate(model, inputs["q"], rates))
        slope = joint_terms_slope(model, inputs["q"], rates)
        if slope is not None:
            _take(found.dqdd_dq, found.dtau_dq, found, given, slope)
        if given.size:
            found.tau[...] += losses  # what was given gets back what was taken
    return found


def _take(dqdd: Array, dtau: Array, found: HybridDynamicsDerivatives, given: Mask, slope: Array) -> None:
    """Let joint terms of a slope take their part of the given forces, and of the forces of given accelerations."""
    lost = slope if not given.size else np.where(given[:, None], 0.0, slope)
    dqdd[...] -= found.dqdd_dgiven @ lost
    if given.size:
        dtau[..., given, :] += (slope - found.dtau_dgiven @ lost)[..., given, :]


def coupled_hybrid_derivatives(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
    given: Mask,
    f_ext: ArrayLike | None,
    threads: int = 1,
) -> tuple[Array, Array]:
    """Return what `HybridDynamicsDerivatives` holds, by a dense solve with those of inverse dynamics."""
    acceleration, force = coupled_hybrid_dynamics(model, q, qd, qdd, tau, given, f_ext, threads)
    at = inverse_dynamics_derivatives(model, q, qd, acceleration, f_ext, threads=threads)
    free, n = ~given, model.nv
    unit = np.broadcast_to(np.eye(n), at.dqdd.shape)
    right = np.concatenate([at.dq, at.dqd, np.where(given, at.dqdd, -unit * free)], axis=-1)
    motion = np.zeros_like(right)
    block = at.dqdd[..., free, :][..., free]
    motion[..., free, :] = -np.linalg.solve(block, right[..., free, :])
    effort = right + at.dqdd @ motion
    motion[..., given, 2 * n :] = unit[..., given, :]
    effort[..., free, : 2 * n] = 0.0
    effort[..., free, 2 * n :] = unit[..., free, :]
    n_columns = (*acceleration.shape[:-1], n, 3, n)
    blocks = (np.swapaxes(x.reshape(n_columns), -3, -2).reshape(*n_columns[:-3], 3 * n, n) for x in (motion, effort))
    along = zip((acceleration, force), blocks, strict=True)
    first, second = (np.concatenate([value[..., None, :], block], axis=-2) for value, block in along)
    return first, second
