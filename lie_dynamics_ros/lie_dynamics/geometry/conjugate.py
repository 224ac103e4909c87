"""Where a geodesic stops being the nearby path of least energy: conjugate points, by Jacobi's equation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.mass_matrix import coriolis_matrix, mass_matrix
from ..model.arguments import require_model
from ..model.model import Model
from .curvature import curvature_tensor

Array = npt.NDArray[np.float64]

_TOLERANCE = 1e-9  # of the integration
_SAMPLES = 400
_TOUCH = 1e-6  # a smallest singular value below this part of the time elapsed is a zero


def jacobi_fields(
    model: Model, path: Callable[[float], Sequence[Array]], duration: float
) -> Callable[[npt.ArrayLike], Array]:
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
