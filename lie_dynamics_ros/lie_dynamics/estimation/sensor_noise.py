"""Noise of a robot's velocities and efforts, as it was measured while the robot rested."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import special

from ..arrays import Array
from ..control.tracking_error import gains
from ..dynamics.inverse_dynamics import gravity_force
from ..errors import InputError
from ..lie._arrays import numbers
from ..model.arguments import require_model
from ..model.model import Model
from ..model.structure import _freeze_arrays

WINDOWS = (2, 4, 8, 16, 32, 64)
"""Over how many states what happened is checked, all at once: short ones see pushes soon, long ones see weak ones."""
CORRELATED = 16
"""States after which the noise of an effort is another one."""
MOVED = 0.02
"""By how much a robot at rest may move [rad, m]."""


@dataclass(frozen=True, eq=False)
class SensorNoise:
    """Covariances of what noise does over windows of `WINDOWS` states, in model coordinates.

    Nothing is supposed about the spectrum: noise that is filtered shows in its differences and sums.

    Attributes
    ----------
    velocity : ndarray, shape (w, n, n)
        Of the difference of measured velocities at the end and the beginning of a window [rad^2/s^2, m^2/s^2].
    impulse : ndarray, shape (w, n, n)
        Of the sum of measured efforts times the period over a window, less gravity [N^2 m^2 s^2, N^2 s^2].
    period : float
        Between states [s].
    samples : float
        How many independent states the covariances stand for; infinite where they are known.
    offset : ndarray, shape (n,)
        Mean effort at rest, less what holds the model against gravity [N m, N].
    """

    velocity: Array
    impulse: Array
    period: float
    samples: float
    offset: Array

    def __post_init__(self) -> None:
        _freeze_arrays(self)

    @classmethod
    def white(cls, model: Model, velocity: npt.ArrayLike, effort: npt.ArrayLike, period: float) -> SensorNoise:
        """Return white noise of known standard deviations.

        Parameters
        ----------
        model : Model
        velocity, effort : array-like, shape () or (nv,)
            Standard deviations of measured velocities [rad/s, m/s] and efforts [N m, N], positive.
        period : float
            Between states [s].
        """
        require_model(model)
        v, e = (gains(model, value, name) for value, name in ((velocity, "velocity"), (effort, "effort")))
        for value, name in ((v, "velocity"), (e, "effort")):
            if not (value > 0.0).all():
                raise InputError(f"{name}: positive standard deviations are expected, got {value.tolist()}", name=name)
        period = _positive(period)
        return cls(
            np.array([2.0 * np.diag(v**2)] * len(WINDOWS)),
            np.array([size * period**2 * np.diag(e**2) for size in WINDOWS]),
            period,
            np.inf,
            np.zeros(model.nv),
        )

    @classmethod
    def from_rest(
        cls,
        model: Model,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        tau: npt.ArrayLike,
        period: float,
        velocity_resolution: npt.ArrayLike = 1e-4,
        effort_resolution: npt.ArrayLike = 1e-3,
    ) -> SensorNoise:
        """Return the noise of states that were recorded while the robot rested, with its brakes on or controlled.

        Parameters
        ----------
        model : Model
        q, qd, tau : array-like, shape (k, nq), (k, nv), (k, nv)
            Measured states, one a period; k is at least 16 (nv + 10). Five seconds at 1 kHz are enough.
        period : float
            Between them [s].
        velocity_resolution, effort_resolution : array-like, shape () or (nv,)
            Steps of the readings, which show no noise at rest where they are larger than it; see `with_resolution`.

        Raises
        ------
        InputError
            For too few states, arrays that do not fit, and a robot that moves; names the joint.
        """
        require_model(model)
        n, period = model.nv, _positive(period)
        q, qd, tau = (numbers(x) for x in (q, qd, tau))
        least = CORRELATED * (n + 10)
        for name, x, size in (("q", q, model.nq), ("qd", qd, n), ("tau", tau, n)):
            if x.ndim != 2 or x.shape[1] != size or len(x) != len(q) or len(x) < least or not np.isfinite(x).all():
                raise InputError(f"{name}: {least} states of {size} finite numbers, or more, are expected", name=name)
        moved = np.abs(model.difference(np.broadcast_to(q[0], q.shape), q)).max(axis=0)
        for joint in model.joint_names:
            most = moved[model.joint(joint).v_slice].max(initial=0.0)
            if most > MOVED:
                raise InputError(f"joint {joint!r} moves by {most:.3g}; a robot at rest is expected", name="q")
        resolution = [gains(model, x, name) for x, name in (
            (velocity_resolution, "velocity_resolution"), (effort_resolution, "effort_resolution")
        )]  # fmt: skip
        pushed = tau - gravity_force(model, q)
        sums = np.vstack([np.zeros(n), np.cumsum(period * (pushed - pushed.mean(axis=0)), axis=0)])
        velocity, impulse = [], []
        for size in WINDOWS:
            apart = qd[size:] - qd[:-size]
            velocity.append(apart.T @ apart / len(apart))
            near = min(size, CORRELATED)
            over = sums[near:] - sums[:-near]
            impulse.append(over.T @ over / len(over) * (size / near))
        samples = float(len(q) // CORRELATED)
        found = cls(np.array(velocity), np.array(impulse), period, samples, pushed.mean(axis=0))
        return found.with_resolution(*resolution)

    def with_resolution(self, velocity: npt.ArrayLike, effort: npt.ArrayLike) -> SensorNoise:
        """Return the noise of readings in steps: each gets the variance of its step besides, a twelfth of its square.

        Parameters
        ----------
        velocity, effort : array-like, shape () or (nv,)
            Steps of measured velocities and efforts; zero for none [rad/s, m/s, N m, N].

        Raises
        ------
        InputError
            For arrays that do not fit, and steps that are negative or not finite.
        """
        n = len(self.offset)
        velocity, effort = numbers(velocity), numbers(effort)
        for name, step in (("velocity", velocity), ("effort", effort)):
            if step.shape not in ((), (n,)) or not (np.isfinite(step) & (step >= 0.0)).all():
                raise InputError(f"{name}: a step, or {n}, not negative, is expected, got {step.tolist()}", name=name)
        velocity, effort = (np.broadcast_to(step, (n,)) for step in (velocity, effort))
        spread = np.array(WINDOWS)[:, None, None] * self.period**2 * np.diag(effort**2 / 12.0)
        return replace(self, velocity=self.velocity + np.diag(velocity**2 / 6.0), impulse=self.impulse + spread)

    def threshold(self, probability: float) -> float:
        """Return what x^T C^-1 x of normal noise (n,) with one of these covariances exceeds with a probability.

        For estimated covariances by Hotelling's distribution, else by chi-square with n degrees of freedom.
        """
        n = len(self.offset)
        if np.isinf(self.samples):
            return float(special.chdtri(n, probability))
        m = self.samples - 1.0
        return float(m * n / (m - n + 1.0) / special.fdtri(m - n + 1.0, n, probability))  # of 1 / F: exact in the tail


def _positive(period: float) -> float:
    try:
        value = float(period)
    except (TypeError, ValueError):
        value = np.nan
    if not 0.0 < value < np.inf:
        raise InputError(f"period: a positive time is expected, got {period!r}", name="period", value=period)
    return value
