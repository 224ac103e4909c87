"""Offsets and dry friction of joints that a model misses: learned while nothing touches, forgotten in time."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array

TURN = 1.0
"""How long what they leave unexplained stays the same [s], as a motion's turn does."""
LEAST = 0.1
"""Part of what is told to be unknown that is never explained: nothing of a drive is quite constant."""
OUTLYING = 3.0
"""Standard deviations from which on what is missed is no noise."""


class Drift:
    """Two normal variables a joint, a Kalman filter for each joint: offset, and dry friction by its direction.

    Each keeps its variance and forgets its value within a time: x <- k x + sqrt(1 - k^2) w with k = exp(-t / time).
    What they leave unexplained of torques is the largest that was seen; at first it may be as large as they are.

    Parameters
    ----------
    variance : ndarray, shape (n, 2)
        Of offset and friction [N^2 m^2, N^2].
    time : float
        In which they change [s].

    Attributes
    ----------
    unexplained : ndarray, shape (n,)
        Variance of torques that are neither offset nor dry friction [N^2 m^2, N^2].
    """

    def __init__(self, variance: Array, time: float) -> None:
        self.active = bool(variance.any())
        self._variance, self._forget_time = variance, time
        n = len(variance)
        self._value, self._covariance, self._at = np.zeros((n, 2)), np.zeros((n, 2, 2)), 0.0
        self._covariance[:, [0, 1], [0, 1]] = variance
        self.unexplained: Array = variance.sum(axis=1)
        self._seen, self._learned = np.zeros(n), 0.0

    def restart(self) -> None:
        """Count time from zero again; what was learned is kept."""
        self._at = 0.0

    def at(self, now: float) -> tuple[Array, Array]:
        """Return values (n, 2) and covariances (n, 2, 2) at a time [s], not before that of the last `learn`."""
        if not self.active:
            return self._value, self._covariance
        kept = math.exp(-(now - self._at) / self._forget_time)
        covariance = kept**2 * self._covariance
        covariance.reshape(-1, 4)[:, ::3] += (1.0 - kept**2) * self._variance
        return kept * self._value, covariance

    def learn(self, now: float, gone: Array, noise: Array, lasting: Array, features: Array) -> None:
        """Take in the impulse (n,) that was missed over a window that ends now.

        Errors that last are the same in all windows within `time`: they count in each as often as it holds windows, so
        that all together tell no more than these errors allow.

        Parameters
        ----------
        now : float
            [s].
        gone : ndarray, shape (n,)
            What the model, without these variables, missed [N m s, N s].
        noise, lasting : ndarray, shape (n,)
            Its variance by noise, and by errors that last.
        features : ndarray, shape (n, 2)
            What one newton metre, or newton, of each variable adds to it [s].
        """
        x, P = self.at(now)
        gain = np.einsum("nij,nj->ni", P, features)
        left, span = gone - (features * x).sum(axis=-1), features[:, 0]
        expected = (gain * features).sum(axis=-1) + noise + lasting
        time = float(span.max())
        self._learned += time
        least = self._variance.sum(axis=1) * max(TURN / (TURN + self._learned), LEAST) ** 2
        seen = np.maximum(left**2 - OUTLYING**2 * expected, 0.0) / span**2
        self._seen = np.maximum(self._seen * float(np.exp(-time / self._forget_time)), seen)
        self.unexplained = np.maximum(self._seen, least)
        often, turns = max(self._forget_time / time, 1.0), max(TURN / time, 1.0)
        variance = expected + (often - 1.0) * lasting + turns * self.unexplained * span**2
        self._value = x + gain * (left / variance)[:, None]
        self._covariance = P - gain[:, :, None] * gain[:, None, :] / variance[:, None, None]
        self._at = now
