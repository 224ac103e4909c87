"""Offsets and dry friction of joints that a model misses: learned while nothing touches, forgotten in time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Drift:
    """Two normal variables a joint, a Kalman filter for each joint: offset, and dry friction by its direction.

    Each keeps its variance and forgets its value within a time: x <- k x + sqrt(1 - k^2) w with k = exp(-t / time).

    Parameters
    ----------
    variance : ndarray, shape (n, 2)
        Of offset and friction [N^2 m^2, N^2].
    time : float
        In which they change [s].
    """

    def __init__(self, variance: Array, time: float) -> None:
        self.active = bool(variance.any())
        self._variance, self._forget_time = variance, time
        n = len(variance)
        self._value, self._covariance, self._at = np.zeros((n, 2)), np.zeros((n, 2, 2)), 0.0
        self._covariance[:, [0, 1], [0, 1]] = variance

    def restart(self) -> None:
        """Count time from zero again; what was learned is kept."""
        self._at = 0.0

    def at(self, now: float) -> tuple[Array, Array]:
        """Return values (n, 2) and covariances (n, 2, 2) at a time [s], not before that of the last `learn`."""
        kept = float(np.exp(-(now - self._at) / self._forget_time))
        covariance = kept**2 * self._covariance
        covariance[:, [0, 1], [0, 1]] += (1.0 - kept**2) * self._variance
        return kept * self._value, covariance

    def learn(self, now: float, gone: Array, noise: Array, features: Array) -> None:
        """Take in the impulse (n,) that was missed over a window that ends now.

        Parameters
        ----------
        now : float
            [s].
        gone : ndarray, shape (n,)
            What the model, without these variables, missed [N m s, N s].
        noise : ndarray, shape (n,)
            Its variance by noise.
        features : ndarray, shape (n, 2)
            What one newton metre, or newton, of each variable adds to it [s].
        """
        x, P = self.at(now)
        gain = np.einsum("nij,nj->ni", P, features)
        variance = (gain * features).sum(axis=-1) + noise
        left = gone - (features * x).sum(axis=-1)
        self._value = x + gain * (left / variance)[:, None]
        self._covariance = P - gain[:, :, None] * gain[:, None, :] / variance[:, None, None]
        self._at = now
