"""Effects of drives that the model lacks, found while the robot works: rotors, friction, and what is left."""

from __future__ import annotations

import copy
import math
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from ...lie_dynamics.arrays import Array, Mask
from ...lie_dynamics.control.kernels import drives as k
from ...lie_dynamics.control.robots import Robot, inverse_dynamics, mass_matrix

RATE = 80.0  # rate of the filter of all terms, by which accelerations are found in velocities [1/s]
ROUGHEST = 2.5  # largest product of its square and the steps of positions that velocities are found in [rad/s^2, m/s^2]
#: Effort that the model is off by for reasons that no term has, at first and at least, over the limit.
NOISE, LEAST_NOISE = 5e-3, 2e-4
CALMING = 3.0  # rate at which it is forgotten that it was more [1/s]
#: Error from which on a joint that does not come nearer is pushed, and its model taken to be wrong [rad, m].
BEHIND = 2e-3
APPROACH = 2.0  # rate at which errors of a joint fade that does follow, at least [1/s]
PUSH = 1.0  # largest rate at which that push grows, over the effort limit [1/s]
#: And at first, over the inertia that is known [rad/s^3]: a tenth of a radian per second after a hundredth.
GENTLE = 1000.0
GROWTH = 200.0  # rate at which it grows while nothing moves [1/s]
#: Periods for which a change of its velocity is taken to go on: a push that will turn the joint round grows no more.
#: Until a push acts and shows, two to three periods pass, in which that of a light joint would double twice.
FORESEEN = 3.0
#: How fast it grows besides at first, over the inertia that is known and the velocity away [1/s^2]. What a load throws
#: off is not to wait until a push has grown from nothing.
RUSH = 1.1e4
LARGEST_PUSH = 0.1  # the largest, over the effort limit
FADING = 40.0  # rate at which it fades once the joint follows [1/s]
SWIFT, RELEASE = 10.0, 400.0  # the same where its error fades faster than the first, lest a light joint is thrown [1/s]
#: Factor by which pushes of a joint that is to be at rest grow slower after each of them; the least and the largest of
#: the product, which counts from 1 on: the first pushes are free. What is pushed to and fro would swing for ever.
EASED, LEAST_EASE, MOST_EASE = 0.5, 0.01, 3.0
#: The same factor of a joint that is to move: a light one whose pushes show late would be thrown ever further.
EASED_MOVING = 0.6
REGROWS, REGROWS_AT_REST = 3.0, 0.1  # rates at which that rises again while joints are to move, and at rest [1/s]
#: Usual size of reflected inertia, dry friction, viscous friction and offset, over the effort limit; and of the part by
#: which bodies are heavier than modelled.
PRIOR = np.array([0.01, 0.015, 0.02, 0.1, 0.3])
DRIFT = np.array([0.0002, 0.002, 0.002, 0.03, 0.05])  # their usual change in a second; that of the offset is the most
HIGHEST_DRIVE = np.array([0.03, 0.1, 0.1, 0.5, 1.0])  # their largest values
LOWEST_DRIVE = np.array([0.0, 0.0, 0.0, -0.5, -0.5])  # their least values, where no friction is known
STEADIEST = 0.01  # least part of its usual change that the offset is taken to have
#: Parts of them that are not compensated: with the exact model less than this is found.
IGNORED = np.array([0.0, 1e-3, 1e-3, 2e-3, 1.0])
SURE = 1.0  # standard deviations of the reflected inertia which are not accepted
#: Reflected inertia, over the effort limit and over that of the bodies, which has to be found before any is used.
NOTABLE, BODY_SHARE = 3e-4, 0.2
ENGAGING = 10.0  # rate at which what was found is taken into use then [1/s]
SMOOTH = 0.03  # speed at which dry friction is nearly whole [rad/s, m/s]


@dataclass
class DriveState:
    """State: rows of joints, columns inertia, dry, viscous, offset, over the effort limits, and bodies."""

    size: int
    value: Array = field(init=False)  # (n, 5)
    covariance: Array = field(init=False)  # (n, 5, 5)
    filtered: Array = field(init=False)  # (2, 5, n), as `learn` says
    spread: Array = field(init=False)  # square of the effort that the model misses by, over the limits (n,)
    wander: Array = field(init=False)  # by what part of `DRIFT` the offset changes, as misses show (n,)
    sure: Array = field(init=False)  # inertias that are accepted, over the effort limits (n,)
    push: Array = field(init=False)  # (4, n), as `loosen` says
    found: Mask = field(init=False)  # joints whose model was found to be wrong (n,)
    amiss: Mask = field(init=False)  # those whose model surely misses more than `IGNORED` (n,)
    used: Array = field(init=False)  # part of the estimate in use (n,): rises to 1 in all joints once one is amiss
    begun: bool = False  # whether the filters hold anything

    def __post_init__(self) -> None:
        self.value = np.zeros((self.size, 5))
        self.covariance = np.broadcast_to(np.diag(PRIOR**2), (self.size, 5, 5)).copy()
        self.filtered = np.zeros((2, 5, self.size))
        self.spread = np.full(self.size, NOISE**2)
        self.wander = np.ones(self.size)
        self.sure = np.zeros(self.size)
        self.push = np.zeros((4, self.size))
        self.push[k.EASE] = MOST_EASE
        self.found = np.zeros(self.size, dtype=bool)
        self.amiss = np.zeros(self.size, dtype=bool)
        self.used = np.zeros(self.size)


class DriveEstimate:
    """A Kalman filter for each joint, of y = j z + c s + d v + o + e b.

    y is the effort beyond the model's at the measured motion, z, s, v and b are acceleration, sign of the velocity,
    velocity and what the acceleration takes of bodies, all through the same filter. Its noise is what it misses by.
    Where friction is `told`, it is found here beside that: it may be less. `scale` (n,) are effort limits [N m, N].

    `rotors` (n,) are inertias in use [kg m^2, kg], `felt` what feedback counts on of them: those that surely outweigh
    the bodies. Nothing of the estimate is in use while it is `idle`, as no joint's model was found to be wrong.
    """

    def __init__(self, scale: Array, told: bool = False) -> None:
        self.scale = scale
        self._lowest = np.where(told & (IGNORED > 0.0), -HIGHEST_DRIVE, LOWEST_DRIVE)
        self._bounds = np.stack([PRIOR, DRIFT, HIGHEST_DRIVE, self._lowest, IGNORED], axis=1)
        self._numbers = np.array([
            RATE, LEAST_NOISE, NOTABLE, BODY_SHARE, ENGAGING, SURE, SMOOTH, CALMING, STEADIEST, 0.0
        ])  # fmt: skip
        self._pushing = np.array([
            BEHIND, APPROACH, PUSH, GENTLE, GROWTH, LARGEST_PUSH, SWIFT, RELEASE, FADING, EASED, LEAST_EASE, MOST_EASE,
            REGROWS, REGROWS_AT_REST, 0.0, FORESEEN, RUSH, EASED_MOVING,
        ])  # fmt: skip
        self._work, self._even = np.empty((3, 5)), np.ones(len(scale))
        self.reset()

    def reset(self) -> None:
        """Forget what was learned."""
        self.state, self.idle = DriveState(len(self.scale)), True
        self._haste: Array | None = None
        self.rotors = self.felt = np.zeros(len(self.scale))
        self._taken = np.zeros((len(self.scale), 5))

    def forget(self) -> None:
        """Forget the last state, not what was learned."""
        self.state.begun = False

    def beside(self, more: Array) -> DriveEstimate:
        """Return what it is beside a model that takes some effort (n,) more at rest, which is load no longer."""
        other = copy.deepcopy(self)
        s, share = other.state, more / self.scale
        s.filtered[:, 1] -= share
        s.value = np.clip(s.value - share[:, None] * np.eye(5)[3], self._lowest, HIGHEST_DRIVE)
        other._taken = s.used[:, None] * np.sign(s.value) * np.maximum(np.abs(s.value) - IGNORED, 0.0)
        return other

    def update(
        self, model: Robot, q: Array, qd: Array, desired: Array, effort: Array | None, period: float, step: float = 0.0
    ) -> None:
        """Learn from a state (n,), (n,) and the mean effort (n,) that acted since the last.

        That is with wrenches and without known friction.

        Dry friction is looked for in the direction of the desired velocities (n,), as joints that stick have none, or
        of the measured ones where those are larger: what breaks loose is fully braked at once. Where velocities are
        found in positions, with a ``step`` [rad, m], filters are slower: noise in accelerations hides rotors.
        """
        s = self.state
        rough, pushing = step > 0.0, self._pushing  # steps look like quick motions
        pushing[k.FORESEEN], pushing[k.RUSH] = 0.0 if rough else FORESEEN, 0.0 if rough else RUSH
        pushing[k.EASED_MOVING] = 1.0 if rough else EASED_MOVING
        if self._haste is not None:
            s.wander *= self._haste
        if effort is None or period <= 0.0:
            s.begun = False
            return
        beyond = (effort - inverse_dynamics(model, q, qd, np.zeros_like(q))) / self.scale
        if not s.begun:
            direction = np.tanh(np.where(np.abs(qd) > np.abs(desired), qd, desired) / SMOOTH)
            s.filtered[0] = [qd, beyond, direction, qd, beyond]
            s.filtered[1] = [0.0 * qd, beyond, direction, qd, beyond]
            s.begun = True
        self._numbers[k.RATE] = min(RATE, math.sqrt(ROUGHEST / step)) if step > 0.0 else RATE
        self._numbers[k.PERIOD], rotors, felt = period, np.empty(len(q)), np.empty(len(q))
        given = _numbers(qd, beyond, desired)
        status = k.learn(
            s.value, s.covariance, s.filtered, s.spread, s.wander, s.used, s.found, s.amiss, self._bounds,
            self._numbers, *given, self.scale, mass_matrix(model, q), self._work, s.sure, self._taken, rotors, felt,
        )  # fmt: skip
        if status in (k.IDLE, k.FOUND):
            self.idle, self.rotors, self.felt = status == k.IDLE, rotors, felt
        else:  # what is in use stays in use
            s.begun = False

    def loosen(
        self, error: Array, rate: Array, period: float, mass: Array, far: Array, desired: Array,
        haste: Array | None = None,
    ) -> Array:  # fmt: skip
        """Return what is added to set joints going that do not follow [N m, N]: it grows while errors do not fade.

        It begins with what moves the inertia of joints, that of the mass matrix (n, n), in case that is all, and grows
        faster as long as nothing moves. Joints whose model was found to be wrong are pushed; others where errors are
        ``far`` (n,), as their model is taken to be wrong then. Each push makes the next grow slower, most where no
        velocity is ``desired`` (n,). Where feedback is lowered, they and what is learned of offsets change slower, by
        ``haste`` (n,).
        """
        s, pushed, self._haste = self.state, np.empty(len(error)), haste
        self._pushing[k.STEP] = period
        inertia = np.diagonal(mass)
        if (np.abs(error) > np.where(s.found, BEHIND, far)).any():
            with suppress(np.linalg.LinAlgError):  # where axes line up, far less than the diagonal
                inertia = 1.0 / np.diagonal(np.linalg.inv(mass))
        given = _numbers(error, rate, inertia, far, desired, self._even if haste is None else haste)
        status = k.loosen(*given, self.scale, s.found, s.push, self._pushing, pushed)
        if status not in (k.IDLE, k.FOUND):
            return np.zeros(len(error))
        self.idle = status == k.IDLE
        return pushed

    def compensation(self, velocity: Array, catch_up: Array | float = 0.0) -> Array:
        """Return the effort (n,) that friction at a desired velocity and the offset take [N m, N]."""
        return self._friction(velocity, catch_up) + self._taken[:, 3] * self.scale

    def moving(self, velocity: Array, acceleration: Array) -> Array:
        """Return the effort (n,) that rotors and friction take in a motion, which ends with it [N m, N]."""
        return self._friction(velocity, 0.0) + self.rotors * acceleration

    def _friction(self, velocity: Array, catch_up: Array | float) -> Array:
        used = self._taken
        return (used[:, 1] * np.tanh(velocity / SMOOTH) + used[:, 2] * (velocity + catch_up)) * self.scale


def _numbers(*arrays: Array) -> list[Array]:
    """Return arrays as the kernels take them, which else leave what they would write as it was."""
    return [np.ascontiguousarray(x, dtype=float) for x in arrays]
