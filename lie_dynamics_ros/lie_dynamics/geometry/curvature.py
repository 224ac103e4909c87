"""Curvature of the mass matrix as a metric, and whether it vanishes.

Where it does, a change of coordinates removes the Coriolis forces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.derivatives.user_joint_derivatives import extend_twice
from ..dynamics.inputs import _check_quaternions
from ..dynamics.kernels.mass_matrix import mass_matrix_batch
from ..dynamics.mass_matrix import mass_matrix
from ..errors import InputError, SingularityError
from ..lie._arrays import flatten_batch
from ..model import layout
from ..model.arguments import require_coordinates, validate_model
from ..model.configuration import checked
from ..model.model import Model
from .christoffel import cholesky, inverse_metric
from .kernels.christoffel import christoffel_batch
from .kernels.curvature import curvature as _kernel

_NO_MASK = np.zeros(0, np.bool_)


def uncoupled_positions(model: Model, q: Array) -> Array:
    """Return the coordinates (b, nq_full) of all joints from the independent ones (b, nq)."""
    coupling = model.coupling
    return q if coupling is None else np.ascontiguousarray(q @ coupling.positions.T + coupling.offset)


def coupled_curvature(model: Model, q: Array, full: Array) -> Array:
    """Return R (b, nv, nv, nv, nv) of the coupled robot, given that of all joints (b, n, n, n, n) at `q` (b, n).

    The coupling q = A u + c keeps the robot on a flat piece of its coordinates, which the metric sees bent: by
    II_ab = Gamma_ab less its part along the coupled rates G. By the equation of Gauss

        R_abcd = R(G_a, G_b, G_c, G_d) + <II_ac, II_bd> - <II_ad, II_bc>,

    with <II_ab, II_cd> = Gamma_ab M^-1 Gamma_cd, of all joints less that of the coupled ones.

    Raises
    ------
    DescriptionError
        For a ball or free joint; names it.
    """
    require_coordinates(model, "curvature of coupled joints")
    assert model.coupling is not None
    G, n, count = model.coupling.rates, full.shape[-1], len(q)
    none = np.empty((count, 0))
    M, symbols = np.empty((count, n * n)), np.empty((count, n**3))
    mass_matrix_batch(model.table, q, none, none, none, none, _NO_MASK, M, none)
    christoffel_batch(model.table, q, none, none, none, none, _NO_MASK, symbols, none)
    metric = M.reshape(count, n, n)
    bends = np.einsum("zijk,ia,jb->zabk", symbols.reshape(count, n, n, n), G, G)
    along = bends @ G
    normal = _gram(bends, metric) - _gram(along, G.T @ metric @ G)
    pulled = np.einsum("zijkl,ia,jb,kc,ld->zabcd", full, G, G, G, G, optimize=True)
    return np.asarray(pulled + np.einsum("zacbd->zabcd", normal) - np.einsum("zadbc->zabcd", normal))


def _gram(bends: Array, metric: Array) -> Array:
    """Return bends_ab M^-1 bends_cd."""
    return np.asarray(np.einsum("zabk,zkl,zcdl->zabcd", bends, np.linalg.inv(metric), bends, optimize=True))


@validate_model
def curvature_tensor(model: Model, q: npt.ArrayLike) -> Array:
    """Return the Riemann curvature of the mass metric, all indices lowered.

    Parameters
    ----------
    model : Model
        The robot. Curvature is a tensor, so ball and free joints are welcome (but not together with coupled ones):
        their indices are those of qd.
    q : array-like, shape (..., nq)
        Configuration [rad, m].

    Returns
    -------
    ndarray, shape (..., nv, nv, nv, nv)
        R[i, j, k, l] of PBP (66), with positive sectional curvature on spheres; antisymmetric in i, j and in k, l,
        symmetric in the pairs [kg m^2 for four angles].

    Raises
    ------
    DescriptionError
        For a ball or free joint in a model with coupled joints; names it.
    InputError, GroupError
        As `mass_matrix`.
    SingularityError
        Where the mass matrix is not positive definite.
    """
    states = checked(q, model.nq, "q", model)
    if states.dtype != np.float64:
        raise InputError(f"q: real numbers are expected, got {states.dtype}", name="q")
    given = flatten_batch(np.array(states, order="C"))
    shape, n = (*states.shape[:-1], *[model.nv] * 4), model.rows.shape[0] - 1
    if not np.prod(shape):
        return np.empty(shape)
    flat = uncoupled_positions(model, given)
    if model.custom_joints:
        flat = extend_twice(model, flat, np.zeros((len(flat), n)))
    out = np.empty((len(flat), n, n, n, n))
    status = _kernel(model.table, flat, out)
    if status != layout.OK:
        if model.coupling is None:
            _check_quaternions(model, flat)
        cholesky(model, states)
        if model.coupling is not None and status % layout.STATUS_STEP == layout.SINGULAR:
            raise SingularityError(
                f"model {model.name!r}: without its coupling the mass matrix is not positive definite; bodies with "
                "inertia, or an armature, are expected beyond every joint that follows another",
                name=model.name,
            )
        raise InputError(f"model {model.name!r}: the curvature overflows; the inputs are finite but too large")
    return (out if model.coupling is None else coupled_curvature(model, flat, out)).reshape(shape)


@validate_model
def ricci_tensor(model: Model, q: npt.ArrayLike) -> Array:
    """Return Ric_jl = M^ik R_ijkl (..., nv, nv), symmetric; errors as `curvature_tensor`."""
    tensor = curvature_tensor(model, q)
    return np.asarray(np.einsum("...ik,...ijkl->...jl", inverse_metric(model, q), tensor))


@validate_model
def scalar_curvature(model: Model, q: npt.ArrayLike) -> Array:
    """Return M^jl Ric_jl (...) [1/(kg m^2)], twice the sum over the planes of an orthonormal frame.

    Errors as `curvature_tensor`.
    """
    return np.asarray(np.einsum("...jl,...jl->...", inverse_metric(model, q), ricci_tensor(model, q)))


@validate_model
def sectional_curvature(model: Model, q: npt.ArrayLike, u: npt.ArrayLike, v: npt.ArrayLike) -> Array:
    """Return the sectional curvature (...) [1/(kg m^2)] of the planes that rates `u` and `v` (..., nv) span.

    Free motions that start side by side in the plane draw together where it is positive and part where it is negative.
    Batch axes of q, u and v are broadcast.

    Raises
    ------
    InputError
        If u and v are parallel, or batch axes do not fit each other; otherwise as `curvature_tensor`.
    """
    a, b = checked(u, model.nv, "u", model), checked(v, model.nv, "v", model)
    positions = checked(q, model.nq, "q", model)
    try:
        np.broadcast_shapes(positions.shape[:-1], a.shape[:-1], b.shape[:-1])
    except ValueError:
        shapes = f"q {positions.shape}, u {a.shape}, v {b.shape}"
        raise InputError(f"q, u and v: batch dimensions that fit each other are expected, got {shapes}") from None
    tensor, metric = curvature_tensor(model, q), mass_matrix(model, q)
    numerator = np.einsum("...ijkl,...i,...j,...k,...l->...", tensor, a, b, a, b, optimize=True)
    uu, uv, vv = (np.einsum("...ij,...i,...j->...", metric, x, y) for x, y in ((a, a), (a, b), (b, b)))
    area = uu * vv - uv * uv
    if not (area > 1e-14 * uu * vv).all():
        raise InputError("u and v: two rates that are not parallel are expected, they span no plane", name="u")
    return np.asarray(numerator / area)


#: Curvature below this part of the terms it is the sum of counts as round-off.
TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Flatness:
    """Answer of `is_flat`; true in a condition where the metric is flat.

    Attributes
    ----------
    flat : bool
        Whether the curvature vanished at every configuration that was tried.
    ratio : float
        Largest curvature found, as a part of the largest the robot's screws and masses allow (at most about one).
    q : ndarray, shape (nq,)
        Where it was found.
    tried : int
        Number of configurations.
    """

    flat: bool
    ratio: float
    q: Array
    tried: int

    def __bool__(self) -> bool:
        return self.flat


@validate_model
def is_flat(model: Model, q: npt.ArrayLike | None = None, *, samples: int = 20, seed: int = 0) -> Flatness:
    """Return whether the mass metric is flat: whether coordinates exist in which M is constant and C vanishes.

    They exist (locally) exactly where the Riemann curvature vanishes, as Spong (1992) pointed out for robots.

    Parameters
    ----------
    model : Model
        As for `curvature_tensor`.
    q : array-like, shape (..., nq), optional
        Configurations to try; random ones when left out. The curvature is analytic in q, so for a connected set of
        configurations a random one that shows none all but proves that there is none.
    samples, seed : int
        Number of random configurations, and the seed of the generator they come from.

    Returns
    -------
    Flatness
        The answer, and the worst configuration.

    Raises
    ------
    DescriptionError, InputError, GroupError, SingularityError
        As `curvature_tensor`.
    """
    if q is None:
        rng = np.random.default_rng(seed)
        states = np.array([model.random(rng) for _ in range(samples)])
    else:
        states = flatten_batch(checked(q, model.nq, "q", model))
    if not len(states):
        raise InputError("q: at least one configuration is expected", name="q", value=q)
    worst, where = 0.0, states[0]
    for state in states:  # one at a time: a tensor of forty coordinates takes 20 MB
        bound = _bound(model, state)
        tensor = np.abs(curvature_tensor(model, state))
        ratio = float(np.max(np.divide(tensor, bound, out=np.zeros_like(tensor), where=bound > 0.0), initial=0.0))
        if ratio > worst:
            worst, where = ratio, state
    return Flatness(worst <= TOLERANCE, worst, where.copy(), len(states))


def _bound(model: Model, q: Array) -> Array:
    """Return b_ik b_jl + b_il b_jk: no term of R_ijkl is larger, since |x_ij| <= |w_i| |x_j| for i before j."""
    turning = np.linalg.norm(model.rows[1:, layout.SUBSPACE : layout.SUBSPACE + 3], axis=1)
    speed = np.sqrt(np.diagonal(mass_matrix(model, q)))
    if model.coupling is not None:  # no bound any more, but of the size of the terms
        rates = np.abs(model.coupling.rates)
        turning, speed = turning @ rates, np.full(model.nv, speed.max() * max(1.0, rates.max()))
    bend = turning[:, None] * speed
    bend = np.maximum(bend, bend.T) if model.coupling is not None else np.triu(bend) + np.triu(bend, 1).T
    return np.asarray(np.einsum("ik,jl->ijkl", bend, bend) + np.einsum("il,jk->ijkl", bend, bend))
