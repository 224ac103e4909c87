"""Start of a fusion: the pose that fits the first readings, and its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Array
from ...engine.fastcall.status import raise_if_rejected
from ...lie import so3
from ..errors import StewartError
from .kernels.filter import model
from .kernels.motion import E_DELAY, X_DELAY, X_P
from .kernels.readings import ANGLE, INCLINATION, KIND, READING

#: Standard deviations at the start: w [rad/s], v [m/s], w' [rad/s^2], v' [m/s^2].
RATES = (1.0, 1.0, 50.0, 10.0)
_MAX_STEPS = 50


def fit(
    x: Array, constants: Array, geometry: Array, readings: Array, deviations: Array, names: Sequence[str]
) -> Array:
    """Move the pose in the state `x` to where it fits `readings` best, and return its covariance (6, 6).

    Gauss-Newton from the pose in `x`, where NaN among the readings counts as none, and so do inclinations: nothing is
    known of accelerations.

    Raises
    ------
    StewartError : readings that do not hold the platform, or that no pose near fits; a sensor, by its name, that tells
        nothing where the platform starts.
    """
    geometry[:, READING] = readings
    known = np.flatnonzero(np.isfinite(readings) & (geometry[:, KIND] != INCLINATION))
    angles = geometry[:, KIND] >= ANGLE
    values, slopes = np.empty(len(geometry)), np.empty((len(geometry), E_DELAY + len(x) - X_DELAY))
    weights = 1.0 / deviations[known]
    for _ in range(_MAX_STEPS):
        raise_if_rejected(model(x, constants, geometry, values, slopes))
        blind = known[~np.isfinite(slopes[known]).all(axis=1)]
        if blind.size:
            raise StewartError(
                f"{names[blind[0]]} measures nothing where the platform starts: its points meet, or lie along its axis"
            )
        matrix = slopes[known, :6] * weights[:, None]
        off = readings - values
        off[angles] = (off[angles] + np.pi) % (2.0 * np.pi) - np.pi
        misfit = off[known] * weights
        size = np.linalg.norm(matrix, axis=0)
        usable = len(known) >= 6 and np.isfinite(matrix).all()
        if not usable or np.linalg.cond(matrix / np.where(size > 0, size, 1)) > 1e9:
            if len(known) >= 6 and np.abs(off[known]).max() > 1e-2:
                break  # it has gone astray
            raise StewartError(f"{len(known)} readings do not hold the platform where it starts, expected six that do")
        step = np.linalg.lstsq(matrix, misfit, rcond=None)[0]
        x[:9] = (so3.exp(step[:3]) @ x[:9].reshape(3, 3)).ravel()
        x[X_P : X_P + 3] += step[3:]
        inverse = np.linalg.inv(matrix.T @ matrix)
        if step @ np.linalg.solve(inverse, step) < 1e-12:
            left = misfit - matrix @ step
            if np.abs(left).max() > 6.0 + 1e-3:
                break
            return np.asarray(inverse)
    raise StewartError("no pose near the start fits the first readings: check them and the pose that was given")
