"""What the model does not know of the drives, found while the robot works: rotors, friction, and what is left."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ...core.arrays import Array
from ...lie_dynamics.control.robots import Robot, inverse_dynamics, mass_matrix

RATE = 20.0
"""Of the filter of all terms: accelerations are found in velocities over this time [1/s]."""
NOISE = 5e-3
"""Effort that the model is off by for reasons that no term has, over the limit."""
BEHIND = 0.01
"""Error from which on a joint that does not come nearer is pushed [rad, m]."""
APPROACH = 2.0
"""Rate at which errors of a joint fade that does follow, at least [1/s]."""
PUSH = 1.0
"""How fast that push grows, over the effort limit [1/s]."""
LARGEST_PUSH = 0.1
"""The largest, over the effort limit."""
FADING = 10.0
"""Rate at which it fades once the joint follows [1/s]."""
PRIOR = np.array([0.01, 0.01, 0.01, 0.1])
"""Usual size of reflected inertia, dry friction, viscous friction and offset, over the effort limit."""
DRIFT = np.array([0.002, 0.002, 0.002, 0.03])
"""What these change by in a second."""
HIGHEST_DRIVE = np.array([0.03, 0.1, 0.1, 0.5])
"""What these are at most."""
LOWEST_DRIVE = np.array([0.0, 0.0, 0.0, -0.5])
"""And at least."""
IGNORED = np.array([0.0, 1e-3, 1e-3, 2e-3])
"""What is not compensated of them: with the exact model less than this is found."""
SURE = 1.0
"""Standard deviations of the reflected inertia which are not believed."""
SMOOTH = 0.03
"""Speed at which dry friction is nearly whole [rad/s, m/s]."""


@dataclass
class DriveState:
    """What the estimate remembers; rows of joints, columns inertia, dry, viscous, offset, over the effort limits.

    Attributes
    ----------
    value : ndarray, shape (n, 4)
    covariance : ndarray, shape (n, 4, 4)
    rest, velocity, sign : ndarray, shape (n,)
        Filtered effort beyond the model without acceleration, velocity and its sign.
    push : ndarray, shape (n,)
        What sets joints going that do not follow, over the effort limits.
    begun : bool
        Whether the filters hold anything.
    """

    size: int
    value: Array = field(init=False)
    covariance: Array = field(init=False)
    rest: Array = field(init=False)
    velocity: Array = field(init=False)
    sign: Array = field(init=False)
    push: Array = field(init=False)
    begun: bool = False

    def __post_init__(self) -> None:
        self.value = np.zeros((self.size, 4))
        self.covariance = np.broadcast_to(np.diag(PRIOR**2), (self.size, 4, 4)).copy()
        self.rest, self.velocity, self.sign, self.push = np.zeros((4, self.size))


class DriveEstimate:
    """A Kalman filter for each joint, of y = j z + c s + d v + o.

    y is the effort beyond the model's at the measured motion, z, s and v are acceleration, sign of the velocity and
    velocity, all through the same filter of first order.

    Parameters
    ----------
    scale : ndarray, shape (n,)
        Effort limits [N m, N].
    """

    def __init__(self, scale: Array) -> None:
        self.scale = scale
        self.reset()

    def reset(self) -> None:
        """Forget what was learned."""
        self.state = DriveState(len(self.scale))
        self.rotors = np.zeros(len(self.scale))

    def forget(self) -> None:
        """Forget the last state, not what was learned."""
        self.state.begun = False

    def update(self, model: Robot, q: Array, qd: Array, effort: Array | None, period: float) -> None:
        """Learn from a state (n,), (n,) and the mean effort (n,) that acted since the last, wrenches included."""
        s = self.state
        if effort is None or period <= 0.0:
            s.begun = False
            return
        beyond = (effort - inverse_dynamics(model, q, qd, np.zeros_like(q))) / self.scale
        sign = np.tanh(qd / SMOOTH)
        if not s.begun:
            s.rest, s.velocity, s.sign, s.begun = beyond, qd.copy(), sign, True
        share = -math.expm1(-RATE * period)
        s.rest = s.rest + share * (beyond - s.rest)
        s.velocity = s.velocity + share * (qd - s.velocity)
        s.sign = s.sign + share * (sign - s.sign)
        z = RATE * (qd - s.velocity)
        H = np.stack([z, s.sign, s.velocity, np.ones_like(z)], axis=1)
        y = s.rest - mass_matrix(model, q) @ z / self.scale
        P = s.covariance
        P[:, range(4), range(4)] = np.minimum(P[:, range(4), range(4)] + DRIFT**2 * period, PRIOR**2)
        innovation = y - (H * s.value).sum(axis=1)
        R = NOISE**2 / (RATE * period)
        for _ in range(2):
            PH = np.einsum("nij,nj->ni", P, H)
            K = PH / ((H * PH).sum(axis=1) + R)[:, None]
            value = s.value + K * innovation[:, None]
            below = value < LOWEST_DRIVE
            if not below.any():
                break
            H = np.where(below, 0.0, H)  # others explain it, and this stays as uncertain as it is
        if not np.isfinite(value).all():
            s.begun = False
            return
        s.value = np.clip(value, LOWEST_DRIVE, HIGHEST_DRIVE)
        s.covariance = P - K[:, :, None] * PH[:, None, :]
        sure = s.value[:, 0] - SURE * np.sqrt(np.maximum(s.covariance[:, 0, 0], 0.0))
        self.rotors = np.maximum(sure, 0.0) * self.scale

    def loosen(self, error: Array, rate: Array, period: float) -> Array:
        """Return what is added to set joints going that do not follow [N m, N]: it grows while errors do not fade."""
        s = self.state
        stuck = (np.abs(error) > BEHIND) & (error * rate > -APPROACH * error * error)
        grown = np.clip(s.push + PUSH * period * np.sign(error), -LARGEST_PUSH, LARGEST_PUSH)
        s.push = np.where(stuck, grown, s.push * math.exp(-FADING * period))
        return s.push * self.scale

    def compensation(self, velocity: Array) -> Array:
        """Return the effort (n,) that friction at a desired velocity and the offset take [N m, N]."""
        v = self.state.value
        used = np.sign(v) * np.maximum(np.abs(v) - IGNORED, 0.0)
        return (used[:, 1] * np.tanh(velocity / SMOOTH) + used[:, 2] * velocity + used[:, 3]) * self.scale
