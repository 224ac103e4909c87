"""Adaptive control after Slotine and Li, with parameters that some distribution of mass can have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import InertiaError, InputError
from ..lie import SpatialInertia, inertial_parameters
from ..model.model import Model
from ..tree.losses import joint_losses
from .passivity import SlidingReference, armature, sliding_reference
from .regressor import slotine_li_regressor
from .tracking_error import gains

Array = npt.NDArray[np.float64]

#: Largest change of a pseudo-inertia in one step, as a logarithm: learning faster than the period allows is unstable.
LARGEST_CHANGE = 0.1

#: Bounds of the squared pivots of a pseudo-inertia: the smallest as a part of the largest, and the largest [kg].
#: A robot that is held by something else drives its estimates there.
SMALLEST_RATIO, LARGEST_MASS = 1e-9, 1e6


class AdaptiveController:
    """Passivity-based control that learns the inertial parameters of some bodies while it works.

    The torques are tau = Y(q, qd, v_r, a_r) pi - Kd s with the estimated parameters pi. An estimate is kept as the
    pseudo-inertia P of its body and moves along the gradient in the metric of positive definite matrices,

        dP/dt = -P L P / gamma,   L symmetric with trace(L P(dpi)) = s^T Y dpi for every dpi,

    so P stays positive definite: mass positive, principal moments within the triangle inequality. With the
    divergence D = log(|P| / |P_true|) + trace(P^-1 P_true) - 4 of each body, V = s^T M s / 2 + gamma sum D has
    dV/dt = -s^T Kd s, so s tends to zero, and parameters that the motion shows converge. After Lee, Kwon and Park 2018.
    Steps follow geodesics, P <- G exp(-h G^T L G / gamma) G^T with P = G G^T, positive definite for any step; a step
    that would change P by more than a tenth in some direction is shortened to that, and one that would make P singular
    to round-off is left out.

    Parameters
    ----------
    model : Model
        The robot, with the parameters to begin with.
    rate : array-like, shape () or (nv,)
        Lambda [1/s], see `sliding_reference`.
    kd : array-like, shape () or (nv,)
        Damping of s [N m s/rad, N s/m].
    gamma : float
        Weight of the divergence [J]: the smaller, the faster it learns. The period limits it, since a step should
        change P by little, and so does noise, which moves the estimate.
    bodies : sequence of str or int, optional
        Bodies or frames on them whose parameters are learned; all that move when left out. Those of the others stay.
    prior_mass : float
        A body without mass or with a flat mass distribution has no positive definite P; this much mass [kg], spread
        over a ball of 5 cm, is added to the estimate to begin with where that is so.

    Attributes
    ----------
    pseudo : ndarray, shape (k, 4, 4)
        Estimated pseudo-inertias of the bodies that learn.
    """

    def __init__(
        self,
        model: Model,
        rate: npt.ArrayLike,
        kd: npt.ArrayLike,
        gamma: float,
        bodies: Sequence[str | int] | None = None,
        prior_mass: float = 1e-3,
    ) -> None:
        if not (np.isfinite(gamma) and gamma > 0.0):
            raise InputError(f"gamma: a positive number is expected, got {gamma}", name="gamma", value=gamma)
        self.model = model
        self.rate = gains(model, rate, "rate", one_per_joint=True)
        self.kd = gains(model, kd, "kd")
        self.gamma = float(gamma)
        chosen = range(model.n_bodies) if bodies is None else [model._moving(b).body for b in bodies]
        self.bodies = tuple(sorted(set(int(b) for b in chosen)))
        self._start = np.array([model.inertia(b).parameters() for b in range(model.n_bodies)])
        self._chosen = np.array(self.bodies, dtype=np.intp)
        self._prior = prior_mass
        self.reset()

    def reset(self) -> None:
        """Forget what was learned."""
        self._parameters = self._start.copy()
        self.pseudo = inertial_parameters.pseudo_inertia(self._start[self._chosen])
        radius = 0.05
        ball = self._prior * np.diag([radius**2 / 5.0] * 3 + [1.0])
        for k, body in enumerate(self.bodies):
            values = np.linalg.eigvalsh(self.pseudo[k])
            if values[0] <= 1e-8 * max(values[-1], self._prior):
                self.pseudo[k] += ball
                if np.linalg.eigvalsh(self.pseudo[k])[0] <= 0.0:
                    name = self.model.body_names[body]
                    raise InertiaError(f"body {name!r}: an inertia that a body can have is expected", name=name)
        self._keep(self.pseudo, np.linalg.cholesky(self.pseudo))

    def adopt(self, other: AdaptiveController) -> None:
        """Go on with what another controller has learned of the same bodies of the same robot, under other gains."""
        if self.bodies != other.bodies:
            raise InputError(f"other: bodies {self.bodies} are expected, got {other.bodies}")
        self._keep(other.pseudo.copy(), other._factor.copy())

    def _keep(self, pseudo: Array, factor: Array) -> None:
        self.pseudo, self._factor = pseudo, factor
        self._parameters[self._chosen] = inertial_parameters.from_pseudo_inertia(pseudo)

    @property
    def parameters(self) -> Array:
        """Estimated parameters (n_bodies, 10) of all bodies, in the order of `SpatialInertia.parameters`."""
        return self._parameters.copy()

    def inertia(self, body: str | int) -> SpatialInertia:
        """Return the estimated inertia of a moving body, in its frame."""
        return SpatialInertia.from_parameters(self._parameters[self.model._moving(body).body])

    def estimated_model(self) -> Model:
        """Return the model with the estimated inertias."""
        model = self.model
        for body in self.bodies:
            model = model.with_inertia(body, self.inertia(body))
        return model

    def divergence(self, parameters: npt.ArrayLike) -> float:
        """Return the sum of D from the estimates to true parameters (n_bodies, 10), see the class; never negative."""
        true = inertial_parameters.pseudo_inertia(np.asarray(parameters, np.float64)[self._chosen])
        ratio = np.linalg.solve(self.pseudo, true)
        return float((np.trace(ratio, axis1=-2, axis2=-1) - np.linalg.slogdet(ratio)[1] - 4.0).sum())

    def update(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        desired_q: npt.ArrayLike,
        desired_qd: npt.ArrayLike,
        desired_qdd: npt.ArrayLike,
        period: float,
    ) -> Array:
        """Return the torques (nv,) for this state, and learn from it for `period` [s]; zero to stop learning.

        Raises
        ------
        InputError, GroupError
            For bad input; names the joint. Nothing is learned then.
        """
        model = self.model
        r = sliding_reference(model, q, qd, desired_q, desired_qd, desired_qdd, self.rate)
        return np.asarray(self.force(q, qd, r, period) - self.kd * r.sliding)

    def force(self, q: npt.ArrayLike, qd: npt.ArrayLike, reference: SlidingReference, period: float) -> Array:
        """Return the torques (nv,) without damping: the estimated dynamics of a reference motion; learn as `update`.

        Any damping that is positive definite keeps the proof, one that depends on the state too.
        """
        model, r = self.model, reference
        Y = slotine_li_regressor(model, q, qd, r.velocity, r.acceleration)
        torque = Y @ self._parameters.ravel() + armature(model) * r.acceleration
        if model._actuation_terms is not None:
            torque = torque + joint_losses(model, qd)
        self._learn(r.sliding @ Y, period)
        return np.asarray(torque)

    def _learn(self, slope: Array, period: float) -> None:
        """Move the estimates along the geodesic of -P L P / gamma for `period` [s]; `slope` is Y^T s."""
        if period == 0.0:
            return
        L, G = _dual_pseudo(slope.reshape(-1, 10)[self._chosen]), self._factor
        values, vectors = np.linalg.eigh(np.swapaxes(G, -1, -2) @ L @ G)
        H = G @ vectors
        change = -period / self.gamma * values
        change *= LARGEST_CHANGE / max(float(np.abs(change).max()), LARGEST_CHANGE)
        pseudo = (H * np.exp(change)[..., None, :]) @ np.swapaxes(H, -1, -2)
        try:
            factor = np.linalg.cholesky(pseudo)
        except np.linalg.LinAlgError:
            return
        spread = np.diagonal(factor, axis1=-2, axis2=-1) ** 2
        sound = (spread.min(axis=-1) > SMALLEST_RATIO * spread.max(axis=-1)) & (spread.max(axis=-1) < LARGEST_MASS)
        if not sound.all():
            pseudo = np.where(sound[:, None, None], pseudo, self.pseudo)
            factor = np.where(sound[:, None, None], factor, G)
        self._keep(pseudo, factor)


def _dual_pseudo(slope: Array) -> Array:
    """Return the symmetric L (..., 4, 4) with trace(L P(pi)) = slope . pi, for slopes (..., 10)."""
    L = np.empty((*slope.shape[:-1], 4, 4))
    L[..., 3, 3] = slope[..., 0]
    for k in range(3):
        L[..., k, 3] = L[..., 3, k] = 0.5 * slope[..., 1 + k]
    # Ixx = Syy + Szz and so on, Ixy = -Sxy
    xx, xy, xz, yy, yz, zz = (slope[..., 4 + k] for k in range(6))
    L[..., 0, 0], L[..., 1, 1], L[..., 2, 2] = yy + zz, xx + zz, xx + yy
    L[..., 0, 1] = L[..., 1, 0] = -0.5 * xy
    L[..., 0, 2] = L[..., 2, 0] = -0.5 * xz
    L[..., 1, 2] = L[..., 2, 1] = -0.5 * yz
    return L
