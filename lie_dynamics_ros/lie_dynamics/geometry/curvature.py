"""The mass matrix as a metric: inverse, Christoffel symbols, curvature, and whether that vanishes.

Where it does, a change of coordinates removes the Coriolis forces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, ArrayLike
from ..dynamics.derivatives.inverse_derivatives import extend_twice, inverse_dynamics_derivatives
from ..dynamics.derivatives.second_derivatives import inverse_dynamics_second_derivatives
from ..dynamics.inputs import Algorithm, _check_quaternions
from ..dynamics.inverse_dynamics import mass_matrix
from ..dynamics.kernels.mass_matrix import mass_matrix_batch
from ..errors import InputError, SingularityError
from ..lie._arrays import flatten_batch
from ..model import layout
from ..model.arguments import require_coordinates, require_model, validate_model
from ..model.configuration import checked, shaped
from ..model.model import Model
from .kernels import curvature as ck

_SYMBOLS = Algorithm(ck.christoffel_batch, "n n n", extension=extend_twice)
_christoffel = ck.christoffel
_empty = np.empty


def christoffel_symbols(model: Model, q: ArrayLike, *, threads: int = 1) -> Array:
    """Return the Christoffel symbols of the first kind of the mass matrix, in O(nv^3).

    Parameters
    ----------
    model : Model
        The robot, of joints of any kind but ball and free.
    q : array-like, shape (..., nq)
        Configuration [rad, m].
    threads : int
        Threads that share a batch.

    Returns
    -------
    ndarray, shape (..., nv, nv, nv)
        Gamma[i, j, k] = (dM_kj/dq_i + dM_ki/dq_j - dM_ij/dq_k) / 2, PBP (52): symmetric in i and j, the lowered index
        last. ``Gamma_ijk qd_i qd_j`` is the Coriolis force at k, ``Gamma_ijk qd_i`` the entry [k, j] of the Coriolis
        matrix.

    Raises
    ------
    DescriptionError
        For a ball or free joint, whose rates are no derivatives of coordinates; names it.
    InputError
        For a wrong shape, NaN or infinity; names the joint.
    """
    require_model(model)
    if model.plain:
        n = model.nv
        out = _empty((n, n, n))
        if _christoffel(model.table, q, out) == 0:
            return out
    require_coordinates(model, "a table of Christoffel symbols")
    # Where mimics are coupled q is linear in the independent coordinates, so the symbols transform as a tensor.
    return _SYMBOLS.evaluate(model, {"q": q}, threads=threads)[0]


def christoffel_symbols_second_kind(model: Model, q: ArrayLike, *, threads: int = 1) -> Array:
    """Return the symbols with the last index raised, Gamma_ij^k = M^kh Gamma_ijh (..., nv, nv, nv).

    Geodesics of the mass metric obey qdd_k + Gamma_ij^k qd_i qd_j = 0. Other parameters and errors as
    `christoffel_symbols`; raises SingularityError where the mass matrix is singular.
    """
    return raise_last(model, q, christoffel_symbols(model, q, threads=threads), threads)


def christoffel_derivatives(model: Model, q: ArrayLike, *, threads: int = 1) -> Array:
    """Return dGamma/dq (..., nv, nv, nv, nv), entry [l, i, j, k] = dGamma_ijk/dq_l, exact. PBP (53)-(57).

    Other parameters and errors as `christoffel_symbols`.
    """
    require_model(model)
    require_coordinates(model, "a table of Christoffel symbols")
    # Without gravity and accelerations tau_k = Gamma_ijk qd_i qd_j, so d2 tau_k / dq_l dqd_i at qd = e_j is twice that.
    still = model.with_gravity(np.zeros(3))
    at = shaped(q, model.nq, "q", model)[..., None, :]
    found = inverse_dynamics_second_derivatives(still, at, np.eye(model.nv), model.zero_velocity, threads=threads)
    return np.ascontiguousarray(0.5 * np.moveaxis(found.dq_dqd, (-2, -1, -4, -3), (-4, -3, -2, -1)))


def mass_matrix_derivatives(model: Model, q: ArrayLike, *, threads: int = 1) -> Array:
    """Return dM/dq (..., nv, nv, nv), entry [k, i, j] = dM_ij/dq_k = Gamma_kij + Gamma_kji.

    Joints of any kind: derivatives are along `Model.integrate`. Parameters and errors as `mass_matrix`.
    """
    require_model(model)
    if not all(joint.type.steps for joint in model.joints):
        # Column j of M is what acceleration j alone takes, without gravity and rates.
        still = model.with_gravity(np.zeros(3))
        at = shaped(q, model.nq, "q", model)[..., None, :]
        along = inverse_dynamics_derivatives(still, at, model.zero_velocity, np.eye(model.nv), threads=threads).dq
        return np.ascontiguousarray(np.moveaxis(along, (-1, -2, -3), (-3, -2, -1)))
    symbols = christoffel_symbols(model, q, threads=threads)
    return np.asarray(symbols + np.swapaxes(symbols, -1, -2))


def cholesky(model: Model, q: ArrayLike, threads: int = 1) -> Array:
    """Return L (..., nv, nv) with L L^T = M.

    Raises SingularityError where the mass matrix is not positive definite, so that it is no metric.
    """
    try:
        return np.asarray(np.linalg.cholesky(mass_matrix(model, q, threads=threads)))
    except np.linalg.LinAlgError:
        raise SingularityError(
            f"model {model.name!r}: the mass matrix is not positive definite, so it is no metric; bodies with inertia, "
            "or an armature, are expected beyond every joint",
            name=model.name,
        ) from None


def inverse_metric(model: Model, q: ArrayLike, threads: int = 1) -> Array:
    """Return M^-1 (..., nv, nv); errors as `cholesky`."""
    factor = np.linalg.inv(cholesky(model, q, threads))
    return np.asarray(np.swapaxes(factor, -1, -2) @ factor)


def raise_last(model: Model, q: ArrayLike, tensor: Array, threads: int = 1) -> Array:
    """Return a tensor (..., nv, nv, nv) with its last index raised; errors as `cholesky`."""
    matrix = inverse_metric(model, q, threads)
    return np.asarray(tensor @ matrix[..., None, :, :])


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

    with <II_ab, II_cd> = Gamma_ab M^-1 Gamma_cd, of all joints less that of the coupled ones. Raises DescriptionError
    for a ball or free joint; names it.
    """
    require_coordinates(model, "curvature of coupled joints")
    assert model.coupling is not None
    G, n, count = model.coupling.rates, full.shape[-1], len(q)
    none = np.empty((count, 0))
    M, symbols = np.empty((count, n * n)), np.empty((count, n**3))
    mass_matrix_batch(model.table, q, none, none, none, none, _NO_MASK, M, none)
    ck.christoffel_batch(model.table, q, none, none, none, none, _NO_MASK, symbols, none)
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
def curvature_tensor(model: Model, q: ArrayLike) -> Array:
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
        flat = extend_twice(model.custom_joints, flat, np.zeros((len(flat), n)))
    out = np.empty((len(flat), n, n, n, n))
    status = ck.curvature(model.table, flat, out)
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
def ricci_tensor(model: Model, q: ArrayLike) -> Array:
    """Return Ric_jl = M^ik R_ijkl (..., nv, nv), symmetric; errors as `curvature_tensor`."""
    tensor = curvature_tensor(model, q)
    return np.asarray(np.einsum("...ik,...ijkl->...jl", inverse_metric(model, q), tensor))


@validate_model
def scalar_curvature(model: Model, q: ArrayLike) -> Array:
    """Return M^jl Ric_jl (...) [1/(kg m^2)], twice the sum over the planes of an orthonormal frame.

    Errors as `curvature_tensor`.
    """
    return np.asarray(np.einsum("...jl,...jl->...", inverse_metric(model, q), ricci_tensor(model, q)))


@validate_model
def sectional_curvature(model: Model, q: ArrayLike, u: ArrayLike, v: ArrayLike) -> Array:
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
def is_flat(model: Model, q: ArrayLike | None = None, *, samples: int = 20, seed: int = 0) -> Flatness:
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
