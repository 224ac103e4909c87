"""MuJoCo as the machine: what a tracker makes of its motors is its pose, and what inverse dynamics says its efforts."""

from dataclasses import replace

import numpy as np
import pytest
from support.grids import every_run

pytest.importorskip("mujoco", reason="the simulator that judges, mujoco, is not installed")

from support.mechanisms.mujoco_mechanism import MujocoMechanism

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import MECHANISMS
from lie_dynamics_ros.lie_dynamics.lie import se3

QUICK = ("delta", "four-bar arm")
STEP, EACH, DURATION, RAMP = 2e-4, 5, 0.24, 0.2
DAMPING, STIFFNESS = 100.0, 2500.0  # of errors: 50 rad/s


def wanted(made, t):
    """Positions of the motors that set in smoothly, one behind the other, and their first two derivatives."""
    slides = any(made.model.joint(name).kind == "prismatic" for name in made.actuated)
    size, phase = 0.015 if slides else 0.075, np.arange(len(made.actuated))

    def place(time):
        x = min(time / RAMP, 1.0)
        grown = x**4 * (35.0 - 84.0 * x + 70.0 * x**2 - 20.0 * x**3)
        return made.motors(made.q) + size * grown * np.sin(4.0 * np.pi * time + phase)

    h = 1e-5
    before, now, after = place(t - h) if t > h else place(0.0), place(t), place(t + h)
    return now, (after - before) / (2.0 * h), (after - 2.0 * now + before) / h**2


def test_offset_legs_of_mujoco_meet_the_platform_where_inverse_kinematics_says():
    made = ld.mechanism("6-UCU")
    T = made.pose(made.q) @ np.asarray(se3.exp([0.2, -0.15, 0.3, 0.04, 0.03, -0.05]))
    machine = MujocoMechanism(replace(made, q=made.configuration(T)))
    assert machine.gap < 1e-14 and machine.twist_of_ends < 1e-14
    assert np.abs(machine.pose - T).max() < 1e-14


@pytest.mark.parametrize("name", every_run(QUICK, MECHANISMS))
def test_poses_and_efforts(name):
    made = ld.mechanism(name)
    machine = MujocoMechanism(made, STEP)
    model, constraints, motors = made.model, made.constraints, list(made.actuated)
    columns = [model.joint(motor).v_slice.start for motor in motors]
    assert machine.gap < 1e-14
    tracker = ld.ClosedLoopTracker(model, constraints, made.q, motors)

    def efforts(q, qd, accelerations):
        qdd = np.zeros(model.nv)
        qdd[columns] = accelerations
        qdd = ld.consistent_acceleration(model, constraints, q, qd, qdd, held=motors)
        return ld.constrained_inverse_dynamics(model, constraints, q, qd, qdd, actuated=motors).tau[columns]

    moved, sizes = 0.0, []
    for k in range(round(DURATION / STEP)):
        if k % EACH == 0:
            place, rate, acceleration = wanted(made, k * STEP)
            state = tracker.update(machine.positions).require()
            qd = state.rates(machine.rates)
            corrected = acceleration + DAMPING * (rate - machine.rates) + STIFFNESS * (place - machine.positions)
            tau = efforts(state.q, qd, corrected)
            machine.push(tau)
            error = np.linalg.inv(made.pose(state.q)) @ machine.pose
            assert np.linalg.norm(error[:3, 3]) < 1e-6
            assert np.linalg.norm(error[:3, :3] - np.eye(3)) < 1e-5
            found = efforts(state.q, qd, machine.accelerations)
            sizes.append([np.linalg.norm(found - tau), np.linalg.norm(tau)])
            assert np.abs(place - machine.positions).max() < 1e-3
            moved = max(moved, np.abs(machine.positions - made.motors(made.q)).max())
        machine.advance()
    assert moved > 1e-2
    wrong, size = np.array(sizes).T
    assert (wrong < 5e-3 * np.maximum(size, 1e-2 * size.max())).all()
