"""Robots with loops in MuJoCo, their motors under mode computed_torque: rest, trajectory, push, stop, end."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the simulator that judges, mujoco, is not installed")

from motor_machine import loop_of

from lie_dynamics_ros.core.commands import JointPoints

SHAPE = np.array([1.0, -0.5, 0.7, -0.8, 0.3, 0.6])
SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "rate", "delay"),
    [
        ("five-bar", 250.0, 0),
        pytest.param("five-bar", 500.0, 1, marks=SLOW),
        pytest.param("five-bar", 1000.0, 0, marks=SLOW),
        pytest.param("delta", 1000.0, 0, marks=SLOW),
        pytest.param("delta", 500.0, 1, marks=SLOW),
        pytest.param("3-RPS", 500.0, 1, marks=SLOW),
        pytest.param("6-UPS", 1000.0, 1, marks=SLOW),
        pytest.param("6-UPS", 500.0, 1, marks=SLOW),
    ],
)
def test_rest_trajectory_push_stop_and_end(name, rate, delay):
    loop = loop_of(name, rate, delay)
    core, n = loop.core, loop.core.model.nv
    unit = 1.0 if core.model.joint(core.model.joint_names[0]).kind != "prismatic" else 0.2
    rest = loop.run(0.1)
    assert np.abs(rest.error).max() < 1e-6
    assert rest.since(0.02).speed.max() < 1e-5, "as soon as the joints at the cuts have given way to their load"
    # A motion of a tenth of a radian, or 2 cm, in 0.4 s.
    goal, still = loop.arm.q + 0.1 * unit * SHAPE[:n], np.zeros((1, n))
    core.follow(JointPoints(np.arange(n), np.array([0.4]), goal[None], still, still))
    moved = loop.run(0.6)
    assert core.phase == "holding" and set(moved.phase) == {"following", "holding"}
    assert np.abs(moved.error).max() < 1e-3 * unit, "the delay that is not known, times the jump"
    assert np.abs(moved.q[-1] - goal).max() < 1e-4 * unit
    # What pushes the motors moves them by M^-1 push / kp, as theory has it.
    loop.push = 0.5 * core.dynamics.mass_matrix(loop.arm.q) @ SHAPE[:n] * unit
    pushed = loop.run(1.0)
    np.testing.assert_allclose(-pushed.error[-1], 0.5 * unit * SHAPE[:n] / 100.0, atol=1e-4 * unit)
    loop.push = None
    loop.run(0.3)
    # A stop at full speed, and what is left to hold the mechanism.
    back = (goal - 0.1 * unit * SHAPE[:n])[None]
    core.follow(JointPoints(np.arange(n), np.array([0.4]), back, still, still))
    fast = loop.run(0.2)
    assert fast.speed[-1] > 0.2 * unit
    core.stop("a test")
    stopped = loop.run(0.8)
    assert core.phase == "stopped" and stopped.speed[-1] < 1e-3
    command, held = core.last_command(), core.dynamics.gravity_force(stopped.q[-1])  # where the last state was
    np.testing.assert_allclose(command, held, atol=1e-9 * np.abs(held).max())
    for _ in range(20):
        loop.arm.advance(command, round(0.005 / loop.arm.model.opt.timestep))
    assert np.abs(loop.arm.qd).max() < 1e-2
