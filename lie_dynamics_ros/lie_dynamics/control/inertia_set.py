"""A bounded, convex set of inertias that bodies can have, and coordinates in which none can be left.

The set is {P : 0 < P < U} of pseudo-inertias P (4, 4): positive definite, as those of bodies are, and below a bound U.
With U = W W^T and R = W^-1 P W^-T, whose eigenvalues m lie between 0 and 1, the coordinates are Z = log(R (1 - R)^-1),
any symmetric matrix. Z is the gradient of the convex function trace(R log R + (1 - R) log(1 - R)) of R, whose Bregman
divergence is what `AdaptiveController` lowers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..engine.compile import raise_if_rejected
from ..lie import inertial_parameters
from .kernels.inertia_set import FARTHEST, learn

STEEPEST = 0.25  # largest slope of R over Z, that of 1 / (1 + exp(-z)) at 0


class InertiaSet:
    """Sets for several bodies.

    Parameters
    ----------
    parameters : ndarray, shape (k, 10)
        Inertial parameters of the bodies without payload, in the order of `SpatialInertia.parameters`.
    payload : float
        Mass that each may carry [kg].
    reach : float
        Distance from its centre of mass within which it lies [m].

    Attributes
    ----------
    bound : ndarray, shape (k, 4, 4)
        U = 2 (P_0 + C), C the pseudo-inertia of the payload with the second moment reach^2 in each direction about the
        body's centre of mass. So the set holds the body with any payload of mass m and second moment about the body's
        centre of mass S for which the matrix of both is below 2 C, such as a point of less than `payload` within
        `reach`; and masses up to twice that of the body and the payload.
    factor : ndarray, shape (k, 4, 4)
        W, the Cholesky factor of U.
    """

    def __init__(self, parameters: Array, payload: float, reach: float) -> None:
        mass = parameters[:, 0]
        center = parameters[:, 1:4] / np.where(mass > 0.0, mass, 1.0)[:, None]
        shift = np.tile(np.eye(4), (len(parameters), 1, 1))
        shift[:, :3, 3] = center
        carried = payload * shift @ np.diag([reach**2] * 3 + [1.0]) @ np.swapaxes(shift, -1, -2)
        self.bound = 2.0 * (inertial_parameters.pseudo_inertia(parameters) + carried)
        self.factor = np.linalg.cholesky(self.bound)
        self._turned = np.ascontiguousarray(np.swapaxes(self.factor, -1, -2))
        self._inverse = np.linalg.inv(self.factor)
        self._room, self._step = np.empty((3, 4, 4)), np.empty(1)
        k = len(parameters)  # a first step, so that nothing is compiled while a robot is controlled
        self.step(np.zeros((k, 4, 4)), np.zeros(10 * k), np.arange(k, dtype=np.int64), np.zeros((10, 16)), 0.0)

    def coordinates(self, pseudo: Array) -> Array:
        """Return the Z (k, 4, 4) of pseudo-inertias (k, 4, 4), or of the nearest ones in the set."""
        values, vectors = np.linalg.eigh(self._relative(pseudo))
        edge = 1.0 / (1.0 + np.exp(FARTHEST))
        values = np.clip(values, edge, 1.0 - edge)
        return _compose(np.log(values / (1.0 - values)), vectors)

    def pseudo(self, coordinates: Array) -> tuple[Array, Array]:
        """Return coordinates within their bounds, and the pseudo-inertias they stand for, both (k, 4, 4)."""
        values, vectors = np.linalg.eigh(coordinates)
        if np.abs(values).max(initial=0.0) > FARTHEST:
            values = np.clip(values, -FARTHEST, FARTHEST)
            coordinates = _compose(values, vectors)
        base = self.factor @ vectors
        return coordinates, _compose(1.0 / (1.0 + np.exp(-values)), base)

    def step(
        self, coordinates: Array, slope: Array, bodies: npt.NDArray[np.int64], dual: Array, step: float
    ) -> tuple[Array, Array] | None:
        """Return what `pseudo` does of coordinates Z - step W^T L W, or None where they are not finite.

        Slopes (10 n_bodies,) are over the parameters of all bodies of the robot, of which those at `bodies` (k,) count;
        `dual` (10, 16) takes those of a body to L.
        """
        self._step[0] = step
        k = len(coordinates)
        found = np.empty((2 * k, 4, 4))
        given = coordinates, slope, bodies, self._step, self.factor, dual
        done = raise_if_rejected(learn(*given, self._room, found))
        return (found[:k], found[k:]) if done == 1 else None

    def carried(self, slope: Array) -> Array:
        """Return W^T L W for slopes L (..., k, 4, 4) over P: those over R."""
        return np.asarray(self._turned @ slope @ self.factor)

    def divergence(self, true: Array, coordinates: Array) -> Array:
        """Return the divergence D (k,) from estimates to true pseudo-inertias (k, 4, 4); never negative.

        D = trace(R_t (log R_t - log R) + (1 - R_t) (log(1 - R_t) - log(1 - R))), infinite outside of the set.
        """
        relative = self._relative(true)
        m = np.linalg.eigvalsh(relative)
        outside = (m < -1e-12).any(axis=-1) | (m > 1.0 + 1e-12).any(axis=-1)
        m = np.clip(m, 0.0, 1.0)
        own = np.where(m > 0.0, m * np.log(np.maximum(m, 1e-300)), 0.0)
        own += np.where(m < 1.0, (1.0 - m) * np.log(np.maximum(1.0 - m, 1e-300)), 0.0)
        # log R = -log(1 + exp(-Z)), log(1 - R) = log R - Z
        values, vectors = np.linalg.eigh(coordinates)
        less = _compose(-np.logaddexp(0.0, values), vectors)  # log(1 - R)
        cross = np.trace(relative @ coordinates + less, axis1=-2, axis2=-1)
        return np.where(outside, np.inf, np.maximum(own.sum(axis=-1) - cross, 0.0))

    def _relative(self, pseudo: Array) -> Array:
        relative = self._inverse @ pseudo @ np.swapaxes(self._inverse, -1, -2)
        return np.asarray(0.5 * (relative + np.swapaxes(relative, -1, -2)))


def _compose(values: Array, vectors: Array) -> Array:
    return np.asarray((vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2))
