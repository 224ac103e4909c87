"""The judge judged: MuJoCo has the library's arms to round-off, and its losses, payloads and stops do what they say."""

import numpy as np
import pytest
from support import arms

from lie_dynamics_ros.lie_dynamics import inverse_dynamics, mass_matrix


@pytest.mark.parametrize("name", arms.NAMES)
def test_inverse_dynamics_agree_to_round_off(name, rng):
    arm, judge = arms.load(name), arms.physics(name)
    for _ in range(30):
        n = len(arm.limit)
        q, qd, qdd = arm.random_pose(rng), arm.speed * rng.uniform(-1, 1, n), rng.normal(0, 10, n)
        expected = judge.inverse_dynamics(q, qd, qdd)
        found = inverse_dynamics(arm.model, q, qd, qdd)
        np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())
        np.testing.assert_allclose(mass_matrix(arm.model, q), judge.mass_matrix(q), atol=1e-12)


def test_payload_is_that_of_the_library(rng):
    arm = arms.load("panda_arm")
    loaded = arm.simulated(payload=("panda_link8", 1.5, (0.0, 0.02, 0.1)))
    model = arm.model.with_payload("panda_link8", 1.5, (0.0, 0.02, 0.1), 0.4 * 1.5 * 0.05**2 * np.eye(3))
    q, qd, qdd = rng.uniform(-1, 1, (3, 7))
    np.testing.assert_allclose(loaded.inverse_dynamics(q, qd, qdd), inverse_dynamics(model, q, qd, qdd), atol=1e-11)


def test_losses_armature_and_stops_act():
    arm = arms.load("panda_arm")
    q, qd = arm.aligned(0), np.eye(7)[3]
    zero = np.zeros(7)
    free = arm.simulated().inverse_dynamics(q, qd, zero)
    damped = arm.simulated(damping=2.0).inverse_dynamics(q, qd, zero)
    np.testing.assert_allclose(damped - free, 2.0 * qd, atol=1e-9)
    np.testing.assert_allclose(
        arm.simulated(armature=0.1).mass_matrix(q) - arm.simulated().mass_matrix(q), 0.1 * np.eye(7), atol=1e-12
    )
    moved = []
    for friction in (0.0, 5.0):
        rubbing = arm.simulated(friction=friction)
        rubbing.set(q, zero)
        rubbing.advance(arms.physics("panda_arm").gravity(q) + 3.0, 200)
        moved.append(np.abs(rubbing.q - q).max())
    assert moved[1] < 0.05 * moved[0]  # MuJoCo's dry friction creeps
    for stops, beyond in ((True, False), (False, True)):
        stopped = arm.simulated(stops=stops)
        stopped.set(q, np.zeros(7))
        stopped.advance(stopped.gravity(q) + 10.0 * np.eye(7)[6], 600)
        assert (stopped.q[6] > arm.upper[6] + 0.1) == beyond
