"""Adaptive control after Slotine and Li, with parameters that some distribution of mass can have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.losses import joint_losses, rotor_coriolis
from ..errors import InputError
from ..lie import SpatialInertia, inertial_parameters
from ..model.arguments import require_model
from ..model.model import Model
from .inertia_set import STEEPEST, InertiaSet
from .momentum_prediction import MomentumPrediction
from .passivity import SlidingReference, armature, sliding_reference, slotine_li_regressor
from .tracking_error import gains

SMOOTH = 0.03  # desired speed from which on dry friction is compensated by three quarters [rad/s, m/s]
LARGEST_FRICTION = 0.1  # largest friction that is compensated, over `effort_scale`
#: Friction that is compensated by half, over `effort_scale`: what is found where there is none lies below.
LEAST_FRICTION = 5e-4


class InertiaEstimates:
    """Estimated inertial parameters of some bodies, which an `InertiaSet` bounds.

    They begin with those of all bodies (n_bodies, 10), in the order of `SpatialInertia.parameters`; the chosen ones
    (k,) are learned, as `coordinates` Z of the set and as pseudo-inertias `pseudo`, both (k, 4, 4).
    """

    def __init__(self, start: Array, chosen: npt.NDArray[np.int64], payload: float, reach: float) -> None:
        self._start, self.chosen = start, chosen
        self.set, self.parameters = InertiaSet(start[chosen], payload, reach), start.copy()
        self.coordinates = self.pseudo = np.zeros((len(chosen), 4, 4))
        self.reset()

    def reset(self) -> None:
        """Forget what was learned."""
        self.parameters = self._start.copy()
        self._take(*self.set.pseudo(self.set.coordinates(inertial_parameters.pseudo_inertia(self._start[self.chosen]))))

    def adopt(self, other: InertiaEstimates) -> None:
        """Go on with what was learned of the same bodies of the same robot, with other bounds."""
        if not np.array_equal(self.chosen, other.chosen):
            bodies = self.chosen.tolist(), other.chosen.tolist()
            raise InputError(f"other: bodies {bodies[0]} are expected, got {bodies[1]}")
        self._take(*self.set.pseudo(self.set.coordinates(other.pseudo)))

    def move(self, slope: Array, size: float) -> None:
        """Go a step against a slope over the parameters of all bodies; where that is not finite, nothing changes."""
        moved = self.set.step(self.coordinates, slope, self.chosen, _DUAL, size)
        if moved is not None:
            self._take(*moved)

    def _take(self, coordinates: Array, pseudo: Array) -> None:
        self.coordinates, self.pseudo = coordinates, pseudo
        self.parameters[self.chosen] = pseudo.reshape(-1, 16) @ _PARAMETERS

    def learning_gain(self, Y: Array) -> Array:
        """Return a bound G (nv, nv) of what learning does: d(Y pi)/dt = -G' s / gamma with 0 <= G' <= G, anywhere.

        `Y` is the regressor (nv, 10 n_bodies), of which the columns of the bodies that learn count. Learning is slower
        than damping where the eigenvalues of Kd^-1 G / gamma are below those of M^-1 Kd.
        """
        slopes = Y.reshape(len(Y), -1, 10)[:, self.chosen]
        carried = self.set.carried(_dual_pseudo(slopes)).reshape(len(Y), -1)
        return np.asarray(STEEPEST * carried @ carried.T)


class AdaptiveController:
    """Passivity-based control that learns the inertial parameters of some bodies while it works.

    The torques are tau = Y(q, qd, v_r, a_r) pi - Kd s with the estimated parameters pi. An estimate is kept in an
    `InertiaSet`, the pseudo-inertias 0 < P < U of its body, by coordinates Z, any symmetric matrix, which move by

        dZ/dt = -W^T L W / gamma,   U = W W^T,   L symmetric with trace(L P(dpi)) = s^T Y dpi for every dpi.

    So mass and principal moments are those of a body, and bounded, from the first step on and whatever the step. With
    the divergence D >= 0 of the set from the estimate to the truth, V = s^T M s / 2 + gamma sum D has
    dV/dt = -s^T Kd s as long as the truth is in the set, so s tends to zero, and parameters that the motion shows
    converge. See doc/control.md.

    Parameters
    ----------
    model : Model
        The robot, with the parameters to begin with.
    rate : array-like, shape () or (nv,)
        Lambda [1/s], see `sliding_reference`.
    kd : array-like, shape () or (nv,)
        Damping of s [N m s/rad, N s/m].
    gamma : float
        Weight of the divergence [J]: the smaller, the faster it learns; how small it may be, see
        `InertiaEstimates.learning_gain`.
    bodies : sequence of str or int, optional
        Bodies or frames on them whose parameters are learned; all that move when left out. Those of the others stay.
    payload, reach : float
        Bounds of the set: the mass that such a body may carry [kg], and how far from its centre of mass that is [m].
    memory : float
        Time over which `observe` looks back [s]; with 0 it does nothing.
    effort_scale : array-like, shape () or (nv,)
        What is much for a joint, such as its limit [N m, N]: by it the joints' equations are compared, but for very
        light joints.

    Attributes
    ----------
    estimates : InertiaEstimates
    gamma : float
        May be changed; the proof above holds while it stays or falls.
    """

    def __init__(
        self,
        model: Model,
        rate: npt.ArrayLike,
        kd: npt.ArrayLike,
        gamma: float,
        bodies: Sequence[str | int] | None = None,
        payload: float = 5.0,
        reach: float = 0.3,
        memory: float = 0.0,
        effort_scale: npt.ArrayLike = 1.0,
    ) -> None:
        require_model(model)
        for name, value in (("gamma", gamma), ("payload", payload), ("reach", reach)):
            if not (np.isfinite(value) and value > 0.0):
                raise InputError(f"{name}: a positive number is expected, got {value}", name=name, value=value)
        if not (np.isfinite(memory) and memory >= 0.0):
            raise InputError(f"memory: a time is expected, or zero, got {memory}", name="memory", value=memory)
        self.model = model
        self.rate = gains(model, rate, "rate", one_per_joint=True)
        self.kd = gains(model, kd, "kd")
        self.gamma = float(gamma)
        chosen = range(model.n_bodies) if bodies is None else [model.moving_frame(b).body for b in bodies]
        self.bodies = tuple(sorted(set(int(b) for b in chosen)))
        start = np.array([model.inertia(b).parameters() for b in range(model.n_bodies)])
        places = np.array(self.bodies, dtype=np.int64)
        self.estimates = InertiaEstimates(start, places, float(payload), float(reach))
        self._still, self._slope = np.zeros(model.nv), np.zeros((model.n_bodies, 10))
        self._prediction: MomentumPrediction | None = None
        if memory:
            scale, factor = gains(model, effort_scale, "effort_scale"), np.asarray(self.estimates.set.factor)
            if not (scale > 0.0).all():
                raise InputError("effort_scale: positive numbers are expected", name="effort_scale", value=effort_scale)
            self._prediction = MomentumPrediction(model, places, start, factor, scale, memory)

    def reset(self) -> None:
        """Forget what was learned."""
        self.estimates.reset()
        if self._prediction is not None:
            self._prediction.reset()

    def turn_gravity(self, model: Model) -> None:
        """Go on with the same model under another gravity; what was learned, inertias, stays."""
        self.model = model
        if self._prediction is not None:
            self._prediction.model = model

    @property
    def pseudo(self) -> Array:
        """Estimated pseudo-inertias (k, 4, 4) of the bodies that learn."""
        return self.estimates.pseudo

    @property
    def parameters(self) -> Array:
        """Estimated parameters (n_bodies, 10) of all bodies, in the order of `SpatialInertia.parameters`."""
        return self.estimates.parameters.copy()

    def inertia(self, body: str | int) -> SpatialInertia:
        """Return the estimated inertia of a moving body, in its frame."""
        return SpatialInertia.from_parameters(self.estimates.parameters[self.model.moving_frame(body).body])

    def estimated_model(self) -> Model:
        """Return the model with the estimated inertias."""
        model = self.model
        for body in self.bodies:
            model = model.with_inertia(body, self.inertia(body))
        return model

    def divergence(self, parameters: npt.ArrayLike) -> float:
        """Return the sum of D from the estimates to true parameters (n_bodies, 10), see the class; never negative."""
        found = self.estimates
        true = inertial_parameters.pseudo_inertia(np.asarray(parameters, np.float64)[found.chosen])
        return float(found.set.divergence(true, found.coordinates).sum())

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
        return np.asarray(self.force(q, qd, r, period) - self.kd * r.sliding + self.friction(desired_qd))

    def force(self, q: npt.ArrayLike, qd: npt.ArrayLike, reference: SlidingReference, period: float) -> Array:
        """Return the torques (nv,) without damping: the estimated dynamics of a reference motion; learn as `update`.

        Any damping that is positive definite keeps the proof, one that depends on the state too.
        """
        model, r = self.model, reference
        Y = slotine_li_regressor(model, q, qd, r.velocity, r.acceleration)
        torque = Y @ self.estimates.parameters.ravel() + armature(model) * r.acceleration
        if model.actuation_terms is not None:
            torque = torque + joint_losses(model, q, qd) + rotor_coriolis(model, qd, r.velocity)
        if period:
            self.estimates.move(r.sliding @ Y, period / self.gamma)
        return np.asarray(torque)

    def observe(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, effort: Array | None, period: float, shift: Array | None = None
    ) -> None:
        """Learn from what efforts did since the last state; nothing without a memory.

        The step is bounded: for whatever data that obey the equations, period and state, the divergence to the truth
        does not rise. Rotors, dry and viscous friction of moving joints may act besides; friction is found, see
        `friction`. What holds joints at rest is taken for load where what moves leaves that open.

        Parameters
        ----------
        q, qd : array-like, shape (nq,), (nv,)
            The state.
        effort : ndarray, shape (nv,), optional
            Mean of the efforts that acted since the last one, known external ones included [N m, N]; None where that
            is not known, as in the first state.
        period : float
            Since the last state [s].
        shift : ndarray, shape (nv,), optional
            By how much that mean would be more if efforts acted some time earlier, where that is not certain.
        """
        if self._prediction is None:
            return
        x, v = np.ascontiguousarray(q, np.float64), np.ascontiguousarray(qd, np.float64)
        more = self._still if shift is None else shift
        known = self.estimates
        present = known.parameters[known.chosen]
        slope = self._prediction.move(x, v, effort, more, period, present, known.coordinates)
        if slope is not None:
            self._slope[known.chosen] = slope
            known.move(self._slope.reshape(-1), 1.0)

    def friction(self, velocity: npt.ArrayLike) -> Array:
        """Return what friction takes at a desired velocity (nv,), as found by `observe` beside that of the model.

        Dry friction passes through rest smoothly, within `SMOOTH`; all is at most `LARGEST_FRICTION`, and vanishes
        below `LEAST_FRICTION`. A desired motion does not depend on the state, so the loop stays as stable as without.
        """
        v = np.asarray(velocity, np.float64)
        if self._prediction is None:
            return np.zeros_like(v)
        dry, viscous = self._prediction.friction.T
        size = dry**2 + viscous**2
        found = size / (size + LEAST_FRICTION**2) * (dry * np.tanh(v / SMOOTH) + viscous * v)
        return np.asarray(np.clip(found, -LARGEST_FRICTION, LARGEST_FRICTION) * self._prediction.scale)


def _dual_pseudo(slope: Array) -> Array:
    """Return the symmetric L (..., 4, 4) with trace(L P(pi)) = slope . pi, for slopes (..., 10)."""
    return np.asarray((slope @ _DUAL).reshape(*slope.shape[:-1], 4, 4))


# P is linear in pi, and pi in P: P(pi) = sum pi_k E_k, and what is dual to it is half of E_k where E_k has two entries.
_UNITS = inertial_parameters.pseudo_inertia(np.eye(10)).reshape(10, 16)
_PARAMETERS = np.round(4.0 * np.linalg.pinv(_UNITS)) / 4.0  # quarters, but for round-off
_DUAL = np.ascontiguousarray(_PARAMETERS.T)
