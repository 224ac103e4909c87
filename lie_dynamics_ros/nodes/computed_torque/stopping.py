"""How the node computed_torque comes to rest: along which motion, and by which model of the robot; no ROS in here."""

from __future__ import annotations

import contextlib
import copy

import numpy as np

from ...core.arrays import Array
from ...lie_dynamics import LieDynamicsError, Model, SpatialInertia, forward_dynamics, inverse_dynamics
from ...lie_dynamics.control import AdaptiveController, SoftLimits, StopPlan, limit_effort
from ...lie_dynamics.control.kernels.signals import within
from ...lie_dynamics.lie import inertial_parameters
from .gains import Gains
from .observing import Observer

TRUST = 0.25
"""Speed by which a joint may miss a plan by the estimated model, over its limit; beyond, the estimate is left."""
QUICKER = 1.4
"""Rate of such a plan over that of others: what it does is no feedback."""
FASTER = 10_000_000
"""Time after which a plan that was slow becomes faster as the limits let [ns]."""
TRIALS = 16
"""How often a stop looks whether a plan may be by an estimated model."""
RETRY = 50_000_000
"""Time from one that was left to the next, in which the estimate becomes better [ns]."""
DENSEST = 8000.0
"""Density that a payload hardly exceeds: that of steel [kg/m^3]."""
BETTER = 0.5
"""By what part such a plan's model has to miss the last change of velocities less than the model as described."""
ROOM = 0.95
"""What part of the effort limits such a plan takes."""

State = tuple[int, Array, Array]
"""Time [ns], position and velocity (n,)."""


def with_payload(model: Model, bodies: tuple[int, ...], estimates: Array, dense: bool) -> Model:
    """Return the model with what the estimates, pseudo-inertias (k, 4, 4) of bodies, have besides what is described.

    The inertia of a payload about its own centre is seen last: with viscous friction that is not known, a spin that
    dies away could be that of any inertia. So it is taken for that of a ball of `DENSEST` at least, or `dense`: of any.
    """
    for body, pseudo in zip(bodies, estimates, strict=True):
        known = inertial_parameters.pseudo_inertia(model.inertia(body).parameters())
        payload = pseudo - known
        mass = payload[3, 3]
        if mass > 0.0:
            moment = np.outer(payload[:3, 3], payload[:3, 3]) / mass
            values, axes = np.linalg.eigh(payload[:3, :3] - moment)
            least = 0.2 * mass * (0.75 * mass / (np.pi * DENSEST)) ** (2.0 / 3.0)  # of a ball
            payload[:3, :3] = axes * np.maximum(values, 0.0 if dense else least) @ axes.T + moment
            parameters = inertial_parameters.from_pseudo_inertia(known + payload)
            model = model.with_inertia(body, SpatialInertia.from_parameters(parameters))
    return model


class StopMotion:
    """The motion of a stop, begun anew where the robot cannot follow it, and the model by which efforts follow from it.

    That is the model as described, and a few times the one with what the robot was found to carry: where that explains
    how velocities just changed, and until the first state in which a joint is off. The law by the model as described,
    which is stable with any payload, has the last word.

    Parameters
    ----------
    soft : SoftLimits
    limit, speed : ndarray, shape (n,)
        Limits of efforts and velocities [N m, N; rad/s, m/s].

    Attributes
    ----------
    learned : Model or None
        The model with what was found, as it was when the plan under way began, where that is by it.
    """

    def __init__(self, soft: SoftLimits, limit: Array, speed: Array) -> None:
        self._soft, self._limit, self._off = soft, limit, TRUST * speed
        self._zero = np.zeros(len(limit))
        self.begin()

    def begin(self) -> None:
        """Let a stop begin at the next state."""
        self._plan: StopPlan | None = None
        self.learned: Model | None = None
        self._begun = self._next = self._trials = 0
        self._slow = False
        self._before: State | None = None

    def under(self, model: Model, before: Model) -> StopMotion:
        """Return what goes on with another model as described; an estimate does where only gravity differs."""
        other = copy.copy(self)
        if model._rows.tobytes() != before._rows.tobytes():
            other.learned = None
        elif other.learned is not None:
            other.learned = other.learned.with_gravity(model.gravity)
        return other

    def anew(self, stamp: int) -> None:
        """Plan anew at the next state, because of what was at a time [ns]; after an estimate not by one for a while."""
        if self.learned is not None:
            self._next = stamp + RETRY
        self._plan = self.learned = None

    def at(
        self, stamp: int, q: Array, qd: Array, gains: Gains, far: Array, learner: AdaptiveController | None,
        observer: Observer,
    ) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration of the motion in a state.

        Parameters
        ----------
        stamp, q, qd : int, ndarray (n,), ndarray (n,)
            Time [ns] and state.
        gains : Gains
        far : ndarray, shape (n,)
            Errors beyond which it begins anew [rad, m].
        learner : AdaptiveController or None
            Which learns what the robot carries; None where that is not known.
        observer : Observer
            Which knows what efforts acted.
        """
        if self._plan is not None:
            motion = self._plan.at((stamp - self._begun) * 1e-9)
            lost = self.learned is not None and (learner is None or not within(motion[1] - qd, self._off))
            if lost or not within(motion[0] - q, far):
                self.anew(stamp)
        before, self._before = self._before, (stamp, q, qd)
        if stamp >= self._next:
            with contextlib.suppress(LieDynamicsError):
                if self.learned is not None and self._slow:
                    self._next = stamp + FASTER
                    self._try(stamp, *motion[:2], gains, self.learned)  # from where the plan is: that is no feedback
                elif learner and before and self._trials < TRIALS:
                    self._trials, self._next = self._trials + 1, stamp + RETRY
                    known = learner.model
                    model = with_payload(known, learner.bodies, learner.pseudo, self._trials % 2 == 0)
                    acted = observer.acted(before[0], stamp, gains)
                    if self._explains(model, self.learned or known, before, stamp, qd, acted):
                        self._try(stamp, q, qd, gains, model)
        if self._plan is None:
            self._plan, self._begun = self._planned(q, qd, gains, gains.stop), stamp
        return self._plan.at((stamp - self._begun) * 1e-9)

    def _explains(
        self, model: Model, described: Model, before: State, stamp: int, qd: Array, acted: Array | None
    ) -> bool:
        """Tell whether what acted since the state before explains the velocities there are better by a model."""
        if model is described or acted is None:
            return False
        begun, q, velocity = before
        period = (stamp - begun) * 1e-9
        missed, bound = (
            np.abs(qd - velocity - period * forward_dynamics(m, q, velocity, acted)) / self._off
            for m in (model, described)
        )
        return bool(missed.max() < BETTER * bound.max())

    def _try(self, stamp: int, q: Array, qd: Array, gains: Gains, model: Model) -> None:
        """Plan from a state by an estimated model, as fast as the limits let; not where they do not."""
        bias, most = inverse_dynamics(model, q, qd, self._zero), ROOM * self._limit
        usual = rate = QUICKER * gains.stop
        for _ in range(3):
            plan = self._planned(q, qd, gains, rate)
            braking = inverse_dynamics(model, q, qd, plan.at(0.0)[2])
            if within(braking, most):
                self._plan, self._begun, self.learned, self._slow = plan, stamp, model, rate < usual
                return
            rate *= 0.98 * limit_effort(braking, most, "scale", bias).scale  # or round-off decides

    def _planned(self, q: Array, qd: Array, gains: Gains, rate: float) -> StopPlan:
        return StopPlan(q, qd, rate, gains.stop_fastest, self._soft.lower, self._soft.upper)
