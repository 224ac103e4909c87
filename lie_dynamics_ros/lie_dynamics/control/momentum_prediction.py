"""Inertial parameters from the momentum: the difference between predicted and exerted efforts."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.losses import joint_terms
from ..errors import InputError
from ..lie import inertial_parameters
from ..model import layout
from ..model.model import Model
from ..model.pack import extend
from .kernels.momentum import momentum_terms
from .kernels.prediction import update
from .passivity import armature
from .robots import mass_matrix

#: Rate of learning with many equations [1/s], for all entries of R: slower, pushes are forgotten too late.
PREDICTION_RATE = 87.5
#: Largest part of what is missed that is learned in a step: up to 0.55 the divergence falls for exact equations.
LARGEST_STEP = 0.5
LONGEST = 1.0  # longest step of Z (Frobenius norm) for which it does
SMALLEST = 1e-4  # part of the scale of efforts below which equations count little: epsilon is its square
#: Part of the scale of efforts by which a prediction may miss before older equations are forgotten sooner.
SURPRISE = 3e-3
REST = 0.1  # speed of a joint at which its equation counts half [rad/s, m/s]
TIE = 0.02  # weight of the equations of joints at rest while another joint moves, over that of joints that move
#: Weight in epsilon of the square that the best fit leaves: what is shown no better than that is hardly learned.
DOUBT = 1.0
#: Efforts that would accelerate a joint more are not compared with its scale, but with that [rad/s^2, m/s^2].
LARGEST_ACCELERATION = 1e4
LIGHT_POSES = 16  # random ones in which the least inertia of each joint is looked for
FILTER = 10.0  # time of the memory over that of the filter


class MomentumPrediction:
    """Equations of least squares for inertial parameters, without accelerations.

    Over each period the momentum p = P pi changes by the mean of tau + H pi, H pi = C^T qd - g, tau the efforts that
    acted, external ones and losses included: linear equations, which are filtered as (P s - H) a / (s + a) pi =
    tau a / (s + a) would be, so that velocities are not differentiated faster than a. What was filtered is kept as
    F^T F and F^T f, forgotten with the memory, and up to as fast as the filter while a prediction misses by more than
    `SURPRISE`: then something new is carried, or something has pushed.

    That efforts act earlier or later than thought is one more unknown in these equations, and eliminated; so are dry
    and viscous friction of each joint, and the inertia of its rotor. The equation of a joint that rests or turns round
    is left out, for what friction holds there is not known; it counts the more, the faster the joint moves. While
    others move it decides, by `TIE`, what their equations leave open: else a load may be put where it turns a joint
    that had none. The unknowns are coordinates r of each body, the entries of R = W^-1 P W^-T of `InertiaSet`, in the
    orthonormal basis of symmetric matrices. Steps are scaled by G = dZ/dR, so that R goes alike fast everywhere, also
    where it is small.

    Parameters
    ----------
    model : Model
        Its armature and losses are taken as known.
    bodies : ndarray of int, shape (k,)
        Whose parameters are unknown.
    parameters : ndarray, shape (n_bodies, 10)
        Of all bodies; those of the others count.
    factor : ndarray, shape (k, 4, 4)
        W.
    scale : ndarray, shape (nv,)
        Of the joints' efforts [N m, N]; equations of joints count over it.
    memory : float
        [s].

    Attributes
    ----------
    friction : ndarray, shape (nv, 2)
        Dry and viscous friction beyond the model's, over the scale [1, s/rad, s/m].
    """

    def __init__(
        self, model: Model, bodies: npt.NDArray[np.int64], parameters: Array, factor: Array, scale: Array, memory: float
    ) -> None:
        if model.coupling is not None:
            raise InputError(f"model {model.name!r}: independent joints are expected, mimic joints are coupled")
        n, k, m = model.nv, len(bodies), 10 * len(bodies)
        self.model, self.memory, self.friction = model, memory, np.zeros((n, 2))
        self._places = np.full(model.n_bodies, -1, dtype=np.int64)
        self._places[bodies] = 10 * np.arange(k)
        self._given, self._armature = parameters.copy(), armature(model)
        self._efforts = np.empty((3, n))  # what acted, its change if it acted earlier, and weights
        self._efforts[2] = 1.0 / np.minimum(scale, LARGEST_ACCELERATION * _lightest(model))
        self.scale = scale
        self._parameters = np.ascontiguousarray(np.swapaxes(_turned(factor), 1, 2))  # of coordinates
        self._coordinates = np.linalg.inv(self._parameters)
        self._p, self._h = np.empty((2, n, m + 1)), np.empty((2, n, m + 1))
        self._filtered, self._information = np.zeros((2 * n, m + 5)), np.zeros((m + 2, m + 2))
        self._nuisances, self._velocity, self._left = np.zeros((n, 3, m + 5)), np.zeros((2, n)), 0.0
        self._now, self._known = 0, False  # place of the last state in the pairs, and whether there is one
        self._rooms = tuple(np.empty(k) for k in ((2 * n + 3, m + 7), (m + 2, m + 2), (m + 1, m), m, 10))
        self._stiff = np.empty((2, 4, 4)), np.empty(4), np.empty((m, m)), np.empty(m)
        self.reset()
        q, zero = model.neutral(), np.zeros(n)
        for _ in range(2):  # so that nothing is compiled while a robot is controlled
            self.move(q, zero, zero, zero, 1.0, parameters[bodies], np.zeros((k, 4, 4)))
        self.reset()

    def reset(self) -> None:
        """Forget all equations."""
        self._filtered[:] = self._information[:] = self._nuisances[:] = self.friction[:] = self._left = 0.0
        self._now, self._known = 0, False

    def move(
        self,
        q: Array,
        qd: Array,
        effort: Array | None,
        shift: Array,
        period: float,
        parameters: Array,
        estimates: Array,
    ) -> Array | None:
        """Take in what happened since the last state; return by what slope (k, 10) over parameters estimates move.

        That is at most `LARGEST_STEP` times G (A + epsilon G)^-1 (A r - b), which moves Z by `LONGEST` at most; None
        where there is nothing to learn from. `effort` (nv,) is the mean of what acted on the joints, None where that is
        not known, `shift` (nv,) by how much that would be more if efforts acted some time earlier, always the same [N
        m, N]. `parameters` (k, 10) are the present ones, and `estimates` (k, 4, 4) the same as coordinates Z of
        `InertiaSet`.
        """
        now = 1 - self._now
        p, h = self._p[now], self._h[now]
        x = extend(self.model.custom_joints, q, qd) if self.model.custom_joints else q
        if momentum_terms(self.model.table, x, qd, self._places, self._given, p, h) != layout.OK:
            self._known = False
            return None
        p[:, -1] += self._armature * qd
        if self.model.actuation_terms is not None:
            h[:, -1] -= joint_terms(self.model, q, qd)
        self._velocity[now] = qd
        known, self._now, self._known = self._known, now, True
        if not known or effort is None or period <= 0.0:
            return None
        row, left, root, nearest, numbers = self._rooms
        turn, values, stiff, slope = self._stiff
        share = period / self.memory
        numbers[:] = period, FILTER * share, share, SMALLEST**2, SURPRISE, REST, DOUBT, self._left, TIE, now
        self._efforts[:2] = effort, shift
        coordinates = (self._coordinates @ parameters[..., None]).reshape(-1)
        done = update(
            self._p, self._h, self._velocity, self._efforts, numbers, self._parameters, coordinates, row,
            self._filtered, self._information, self._nuisances, left, root, nearest, self.friction,
            estimates, turn, values, stiff, slope,
        )  # fmt: skip
        if done != 1:
            return None
        self.friction /= (self._efforts[2] * self.scale)[:, None]
        self._left = float(numbers[7])
        size = math.sqrt(float(slope @ slope))
        if not math.isfinite(size + self._left):
            self.reset()
            return None
        step = min(LARGEST_STEP, PREDICTION_RATE * period, LONGEST / max(size, LONGEST))
        return np.asarray(step * (slope.reshape(-1, 1, 10) @ self._coordinates).reshape(-1, 10))


def _lightest(model: Model) -> Array:
    """Return the least inertia (nv,) that each joint moves in some random poses; infinite where that is nothing."""
    rng = np.random.default_rng(0)
    least = np.min([np.diagonal(mass_matrix(model, model.random(rng))) for _ in range(LIGHT_POSES)], axis=0)
    return np.where(least > 0.0, least, np.inf)


def _turned(factor: Array) -> Array:
    """Return the parameters (k, 10, 10), a row each, of the bodies W E W^T for an orthonormal basis E of 4x4."""
    basis = np.zeros((10, 4, 4))
    for a, (i, j) in enumerate(zip(*np.tril_indices(4), strict=True)):
        basis[a, i, j] = basis[a, j, i] = 1.0 if i == j else math.sqrt(0.5)
    bodies = factor[:, None] @ basis @ np.swapaxes(factor, -1, -2)[:, None]
    units = inertial_parameters.pseudo_inertia(np.eye(10)).reshape(10, 16)
    return np.asarray(bodies.reshape(len(factor), 10, 16) @ np.linalg.pinv(units))
