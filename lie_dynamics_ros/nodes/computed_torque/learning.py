"""Rates and scope of learning in mode adaptive."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...core.frames import last_link
from ...lie_dynamics import Model, mass_matrix
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control import AdaptiveController, is_robust, slotine_li_regressor
from .gains import Gains
from .options import ComputedTorqueOptions

POSES = 48  # random states at which learning is held against damping
LEARNING_SHARE = 0.7  # rate of learning over that of damping: both together then have a damping ratio of 0.6
LEARNING_ACCELERATION = 5.0  # acceleration of the reference motion in these states [rad/s^2, m/s^2]
SPEED = 0.5  # its velocity, over the velocity limit [1], or [rad/s, m/s] where there is none

UNLIMITED = 100.0  # large effort, taken where no joint has an effort limit [N m, N]


def effort_scale(model: Model) -> Array:
    """Return what is much for each joint (n,): its limit, or that of the others where it has none [N m, N]."""
    limit = model.limits.effort
    limited = (limit > 0.0) & np.isfinite(limit)
    return np.where(limited, limit, limit[limited].mean() if limited.any() else UNLIMITED)


def make_learner(
    dynamics: Model, options: ComputedTorqueOptions, numbers: Mapping[str, Array], before: AdaptiveController | None
) -> AdaptiveController:
    """Make the adaptive controller; what the one before has learned stays while the robot is the same."""
    learner = AdaptiveController(
        dynamics,
        numbers["convergence_rate"],
        numbers["sliding_rate"],
        options.adaptation_weight,
        options.bodies or [last_link(dynamics)],
        options.largest_payload,
        options.payload_reach,
        options.adaptation_memory,
        effort_scale(dynamics),
    )
    if (
        before is not None
        and before.model.rows.tobytes() == dynamics.rows.tobytes()
        and before.bodies == learner.bodies
    ):
        learner.estimates.adopt(before.estimates)
    return learner


def learning_rate(gains: Gains) -> float:
    """Return how fast learning may be in a loop [1/s]: at most `LEARNING_SHARE` of the damping.

    Learning at the rate l makes of the loop with damping a and Lambda one with kp = a Lambda + a l, kd = a + Lambda,
    ki = a l Lambda, which has to be robust for the least and the largest a.
    """
    converge = float(gains.converge.max())
    rate = LEARNING_SHARE * gains.slide
    for _ in range(20):
        if all(
            is_robust(gains.period, gains.delay, a * (converge + rate), a + converge, a * rate * converge, gains.pole)
            for a in (gains.slide, gains.slide + max(gains.cap, 0.0))
        ):
            return rate
        rate *= 0.7
    return 0.0


def least_weight(learner: AdaptiveController, gains: Gains, speed: Array) -> float:
    """Return the least weight gamma [J] with which learning is not faster than `learning_rate`, at random states.

    The gain of learning is taken as large as the learner's set lets it become. Infinite where nothing can be learned.
    Velocity limits (n,) are 1 where there is none [rad/s, m/s].
    """
    rate = learning_rate(gains)
    if rate <= 0.0:
        return np.inf
    model, rng = learner.model, np.random.default_rng(0)
    q = np.array([model.random(rng) for _ in range(POSES)])
    qd, a = (
        rng.uniform(-1.0, 1.0, (2, POSES, model.nv))
        * np.array([SPEED * speed, np.full(model.nv, LEARNING_ACCELERATION)])[:, None]
    )
    qd[::2] = a[::2] = 0.0
    M = mass_matrix(model, q)
    D, c = np.diag(gains.extra), max(gains.cap, 0.0)
    try:
        Kd = gains.slide * M + (c * D @ np.linalg.solve(D + c * M, M) if c else 0.0)
        half = np.linalg.inv(np.linalg.cholesky(0.5 * (Kd + np.swapaxes(Kd, -1, -2))))
    except np.linalg.LinAlgError:
        return np.inf
    G = np.array([learner.estimates.learning_gain(Y) for Y in slotine_li_regressor(model, q, qd, qd, a)])
    worst = np.linalg.eigvalsh(half @ G @ np.swapaxes(half, -1, -2))[:, -1].max()
    return float(worst) / rate
