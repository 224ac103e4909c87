"""Joints that gravity overpowers: they sink, and the others do what they are to."""

import numpy as np
import pytest

from lie_dynamics_ros.nodes.computed_torque.efforts import EffortLimiter


def test_where_one_joint_has_no_effort_left_the_others_accelerate_as_they_are_to():
    rng = np.random.default_rng(0)
    limit, A = np.array([50.0, 50.0, 15.0]), rng.normal(size=(3, 3))
    M, gravity, wanted = A @ A.T + np.eye(3), np.array([-53.0, 10.0, 3.0]), np.array([2.0, -1.0, 0.5])
    stage = EffortLimiter(limit)
    found = stage.update(0, gravity + M @ wanted, lambda: gravity, lambda: M, 0.001)
    assert found.total[0] == -limit[0] and found.scale < 1.0 and not stage.free
    np.testing.assert_allclose(np.linalg.solve(M, found.total - gravity)[1:], wanted[1:], atol=1e-12)


@pytest.mark.slow
def test_a_shoulder_that_bears_its_arm_by_friction_alone_bears_a_load_that_is_told_and_not_there():
    """A Baxter whose gravity takes 1.01 of a limit: the others got no feedback, and it fell at 2.9 of its limits."""
    pytest.importorskip("mujoco", reason="MuJoCo, which simulates the arms, is not installed")
    from benchmarks.nodes.control_robustness import switches

    found = switches("baxter", 3020023)
    assert found["good"], found


@pytest.mark.slow  # in every run the law by which it stays slow, above
def test_an_arm_whose_shoulder_sinks_stays_slow():
    """1.02 of a limit, and a load that is not there: the elbow was thrown at 2.8 of its limit; what sinks sinks."""
    pytest.importorskip("mujoco", reason="MuJoCo, which simulates the arms, is not installed")
    from benchmarks.nodes.control_robustness import switches

    found = switches("baxter", 3020063)
    assert found["speed"] < 1.0, found
    assert found["stopped"] in ("", "joint left_s1 is farther from its desired position than error_limit")
