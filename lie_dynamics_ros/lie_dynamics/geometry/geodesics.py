"""Geodesics of the mass metric: motions without joint forces or gravity, and paths of least energy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..arrays import Array, ArrayLike
from ..dynamics.forward_dynamics import forward_dynamics
from ..dynamics.inverse_dynamics import coriolis_matrix, mass_matrix
from ..errors import InputError, LieDynamicsError
from ..model import layout
from ..model.arguments import require_coordinates, require_independent, require_model
from ..model.configuration import checked
from ..model.model import Model
from ..shown import shown
from .curvature import curvature_tensor

# Moves a path downhill in energy, with the exact gradient: a guess from which a boundary-value solver converges.

_MODES = 16
_ITERATIONS = 200


def path_energy(model: Model, path: Array) -> tuple[float, Array]:
    """Return the energy of a polygon (m + 1, nv) run through in unit time [J], and its gradient (m + 1, nv).

    The sum of m d^T M d / 2 over its sides d, M at their middles. Since d^T (dM/dq_l) d = 2 (C(q, d)^T d)_l with the C
    of Christoffel's symbols, the gradient needs no more than C.
    """
    count, sides, middles = len(path) - 1, np.diff(path, axis=0), 0.5 * (path[1:] + path[:-1])
    momenta = np.einsum("kij,kj->ki", mass_matrix(model, middles), sides)
    bends = 0.5 * np.einsum("kji,kj->ki", coriolis_matrix(model, middles, sides), sides)
    gradient = np.zeros_like(path)
    gradient[1:] += count * (momenta + bends)
    gradient[:-1] += count * (bends - momenta)
    return 0.5 * count * float(np.einsum("ki,ki->", sides, momenta)), gradient


def descend(model: Model, path: Array) -> Array:
    """Return a polygon (m + 1, nv) of nearly least energy near `path`, with the same ends.

    Minimised over the sines that bend it, each divided by its number: in those the Hessian of the energy is well
    conditioned (a multiple of one for a constant mass matrix of one coordinate), so that few steps are enough.
    """
    from scipy.optimize import minimize

    s = np.linspace(0.0, 1.0, len(path))
    k = np.arange(1, min(_MODES, len(path) - 2) + 1)
    sines = np.sin(np.pi * np.outer(s, k)) / k
    sines[[0, -1]] = 0.0

    def objective(x: Array) -> tuple[float, Array]:
        energy, gradient = path_energy(model, path + sines @ x.reshape(len(k), -1))
        return energy, (sines.T @ gradient).ravel()

    start = np.zeros(len(k) * path.shape[1])
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": _ITERATIONS})
    return np.asarray(path + sines @ found.x.reshape(len(k), -1))


# Where a geodesic stops being the nearby path of least energy: conjugate points, by Jacobi's equation.

_TOLERANCE = 1e-9  # of the integration
_SAMPLES = 400
_TOUCH = 1e-6  # a smallest singular value below this part of the time elapsed is a zero


def jacobi_fields(
    model: Model, path: Callable[[float], Sequence[Array]], duration: float
) -> Callable[[ArrayLike], Array]:
    """Return the function of time that gives the spread (nv, nv, ...) of geodesics that leave one point.

    In an orthonormal frame E carried parallel, dE/dt = -M^-1 C E, the spread X obeys Jacobi's equation d2X/dt2 = -K X,
    X = 0 and dX/dt = 1 at the start, K_ab = R(E_a, qd, E_b, qd).

    Parameters
    ----------
    model : Model
        The robot.
    path : callable
        q and qd (nv,) of the geodesic at a time.
    duration : float
        Time up to which the spread is wanted [s].
    """
    require_model(model)
    from scipy.integrate import solve_ivp

    n = model.nv
    start = path(0.0)[0]
    frame = np.linalg.inv(np.linalg.cholesky(mass_matrix(model, start))).T

    def rate(t: float, state: Array) -> Array:
        q, qd = (np.ascontiguousarray(x) for x in path(t))
        E, X, dX = state.reshape(3, n, n)
        dE = -np.linalg.solve(mass_matrix(model, q), coriolis_matrix(model, q, qd) @ E)
        bend = np.einsum("ijkl,j,l->ik", curvature_tensor(model, q), qd, qd)
        return np.concatenate([dE.ravel(), dX.ravel(), (-(E.T @ bend @ E) @ X).ravel()])

    initial = np.concatenate([frame.ravel(), np.zeros(n * n), np.eye(n).ravel()])
    found = solve_ivp(
        rate, (0.0, duration), initial, "DOP853", dense_output=True, rtol=_TOLERANCE, atol=_TOLERANCE,
        max_step=duration / 20.0,
    )  # fmt: skip
    return lambda t: np.asarray(found.sol(t))[n * n : 2 * n * n].reshape(n, n, *np.shape(t))


def first_conjugate_time(model: Model, path: Callable[[Any], Sequence[Array]], duration: float) -> float:
    """Return the first time up to `duration` at which the spread is singular, or infinity; see `jacobi_fields`."""
    require_model(model)
    from scipy.optimize import brentq, minimize_scalar

    spread = jacobi_fields(model, path, duration)

    def size(t: float) -> float:  # of the spread, over the time elapsed: one at the start
        return float(np.linalg.svd(spread(t), compute_uv=False)[-1] / t)

    def volume(t: float) -> float:
        return float(np.linalg.det(spread(t) / t))

    times = duration * np.arange(1, _SAMPLES + 1) / _SAMPLES
    matrices = np.moveaxis(spread(times), -1, 0) / times[:, None, None]
    signs, sizes = np.linalg.det(matrices), np.linalg.svd(matrices, compute_uv=False)[:, -1]
    for k in range(1, _SAMPLES):
        if signs[k - 1] > 0.0 >= signs[k] or signs[k - 1] < 0.0 <= signs[k]:
            return float(brentq(volume, times[k - 1], times[k]))
        if k + 1 < _SAMPLES and sizes[k - 1] > sizes[k] < sizes[k + 1]:  # two directions at once: no change of sign
            between = times[k - 1], times[k + 1]
            best = minimize_scalar(size, bounds=between, method="bounded", options={"xatol": 1e-10})
            if best.fun < _TOUCH:
                return float(best.x)
    return float("inf")


Acceleration = Callable[[Array, Array], Array]

#: Sides of the polygon that the search starts from.
_SIDES = 40


class GeodesicError(LieDynamicsError):
    """No geodesic was found between two configurations."""


@shown
@dataclass(frozen=True, eq=False)
class Geodesic:
    """A geodesic of the mass metric between two configurations, run through in the time from 0 to `duration`.

    Attributes
    ----------
    time : ndarray, shape (m,)
        Mesh that the solver settled on [s].
    q, qd : ndarray, shape (m, nv)
        Configurations and rates there [rad, m and rates].
    duration : float
        Time of the motion [s].
    energy : float
        Kinetic energy, the same throughout [J].
    length : float
        Length in the mass metric, duration sqrt(2 energy) [kg^(1/2) m].
    energy_error : float
        Largest change of the kinetic energy along the mesh, relative: a measure of the error.
    conjugate_time : float
        When neighbouring geodesics from the same start first meet again [s], infinite if they do not by the end:
        up to then, and no further, no nearby path needs less energy.
    residual : float
        Largest relative residual of the differential equations, as the solver estimates it.
    """

    time: Array
    q: Array
    qd: Array
    duration: float
    energy: float
    length: float
    energy_error: float
    conjugate_time: float
    residual: float
    _solution: Callable[[Array], Array]

    @property
    def is_minimal(self) -> bool:
        """Whether no nearby path between the same ends needs less energy."""
        return self.conjugate_time > self.duration

    def at(self, time: ArrayLike) -> tuple[Array, Array]:
        """Return q and qd (..., nv) at times (...) within the motion [s]."""
        t = np.asarray(time, dtype=np.float64)
        if not ((t >= 0.0) & (t <= self.duration)).all():
            raise InputError(f"time: 0 to {self.duration} s is expected, got {time!r}", name="time", value=time)
        state = np.moveaxis(self._solution(t), 0, -1)
        n = state.shape[-1] // 2
        return state[..., :n], state[..., n:]


def free_acceleration(model: Model) -> Acceleration:
    """Return the function of q and qd (..., nv) that gives -M^-1 C qd: no joint forces, gravity or losses."""
    counts_rotors = bool(model.rows[1:, layout.ARMATURE].any())
    weightless = model.with_gravity((0.0, 0.0, 0.0)).with_joint_terms(armature=counts_rotors)
    zero = np.zeros(model.nv)
    return lambda q, qd: np.asarray(forward_dynamics(weightless, q, qd, zero))


def geodesic(
    model: Model,
    start: ArrayLike,
    goal: ArrayLike,
    *,
    duration: float = 1.0,
    guess: ArrayLike | None = None,
    descent: bool = True,
    tolerance: float = 1e-8,
    max_nodes: int = 5000,
) -> Geodesic:
    """Return a geodesic of the mass metric, the path that takes the least kinetic energy for its duration.

    The guess is moved downhill in energy first, so that the path found is one of least energy; then the boundary-value
    problem qdd + M^-1 C qd = 0, q(0) = start, q(duration) = goal is solved from it by collocation of fourth order on a
    mesh that adapts (`scipy.integrate.solve_bvp`).

    Parameters
    ----------
    model : Model
        The robot, without ball, free and coupled joints. Limits of the joints are not looked at.
    start, goal : array-like, shape (nq,)
        Ends [rad, m]. Angles are not taken modulo 2 pi: add a turn to ask for the path around.
    duration : float
        Time of the motion [s].
    guess : array-like, shape (k, nq), optional
        Path to start from, at equal steps of time, ends included; the straight line in coordinates when left out.
        Another guess may lead to another geodesic, since there can be several.
    descent : bool
        False leaves the guess as it is: for geodesics that are not of least energy.
    tolerance : float
        Relative residual of the solver.
    max_nodes : int
        Largest number of nodes of the mesh.

    Returns
    -------
    Geodesic
        The path, its energy, and whether it is one of (locally) least energy.

    Raises
    ------
    DescriptionError
        For a ball, free or coupled joint.
    InputError, SingularityError
        For bad input; for a robot whose mass matrix is singular.
    GeodesicError
        If none was found.
    """
    require_model(model)
    require_coordinates(model, "a geodesic")
    require_independent(model, "a geodesic")
    a, b = checked(start, model.nq, "start", model), checked(goal, model.nq, "goal", model)
    if a.ndim != 1 or b.ndim != 1:
        raise InputError(f"start and goal: one configuration each is expected, got {a.shape} and {b.shape}")
    if not np.isfinite(duration) or duration <= 0.0:
        raise InputError(f"duration: a positive time is expected, got {duration}", name="duration", value=duration)
    path = np.array([a, b]) if guess is None else checked(guess, model.nq, "guess", model)
    if path.ndim != 2 or len(path) < 2:
        raise InputError(f"guess: shape (k, {model.nq}), k >= 2, is expected, got {path.shape}", name="guess")
    mesh = np.linspace(0.0, 1.0, _SIDES + 1)
    s = np.linspace(0.0, 1.0, len(path))
    polygon = np.stack([np.interp(mesh, s, column) for column in path.T], axis=-1)
    if descent:
        polygon = descend(model, polygon)
    state = np.concatenate([polygon.T, np.gradient(polygon.T, mesh, axis=1)])
    found = _solve(free_acceleration(model), a, b, mesh, state, tolerance, max_nodes)
    if not found.success:
        raise GeodesicError(
            f"no geodesic found from {a.tolist()} to {b.tolist()}: {found.message}; a guess nearer to one, or a goal "
            "nearer to the start, is expected"
        )
    return _finish(model, found, float(duration))


def _solve(
    acceleration: Acceleration, a: Array, b: Array, mesh: Array, state: Array, tolerance: float, max_nodes: int
) -> Any:
    from scipy.integrate import solve_bvp

    n = len(a)

    def rate(_: Array, x: Array) -> Array:
        return np.concatenate([x[n:], acceleration(x[:n].T, x[n:].T).T])

    def ends(first: Array, last: Array) -> Array:
        return np.concatenate([first[:n] - a, last[:n] - b])

    try:
        return solve_bvp(rate, ends, mesh, state, tol=tolerance, max_nodes=max_nodes)
    except (InputError, np.linalg.LinAlgError) as error:  # Newton's method ran off to infinity
        return SimpleNamespace(success=False, message=str(error))


def _finish(model: Model, found: Any, duration: float) -> Geodesic:
    """Scale a solution over unit time to the duration and check it."""
    n = model.nv
    time, q, qd = duration * found.x, found.y[:n].T.copy(), found.y[n:].T / duration
    energies = 0.5 * np.einsum("ti,tij,tj->t", qd, mass_matrix(model, q), qd)
    energy = float(np.median(energies))
    scale = np.concatenate([np.ones(n), np.full(n, 1.0 / duration)])

    def solution(t: Array) -> Array:
        values = np.asarray(found.sol(t / duration))
        return np.asarray(values * scale.reshape(-1, *[1] * (values.ndim - 1)))

    conjugate = np.inf
    if energy > 0.0:
        conjugate = first_conjugate_time(model, lambda t: np.split(solution(np.asarray(t)), 2), duration)
    error = float(np.abs(energies - energy).max() / energy) if energy > 0.0 else 0.0
    return Geodesic(
        time, q, qd, duration, energy, duration * float(np.sqrt(2.0 * energy)), error, conjugate,
        float(np.max(found.rms_residuals, initial=0.0)), solution,
    )  # fmt: skip
