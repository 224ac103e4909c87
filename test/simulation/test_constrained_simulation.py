"""Motions of closed loops: a parallelogram linkage against its equation of one angle, energy, closure."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from lie_dynamics_ros.lie_dynamics import kinetic_energy, potential_energy
from lie_dynamics_ros.lie_dynamics.constraints import constraint_error
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import five_bar, four_bar
from lie_dynamics_ros.lie_dynamics.errors import InputError, SingularityError
from lie_dynamics_ros.lie_dynamics.simulation import JointPhysics, simulate_constrained


def test_a_parallelogram_swings_like_its_pendulum():
    """Rods of 1 kg: (2/3 + 1) m a^2 th'' = -2 m g a cos(th) + tau, for the coupler only moves in parallel."""
    a, torque, damping, duration = 0.3, 1.0, 0.4, 1.0
    robot = four_bar((1.0, a, 1.0, a), crank=0.6)
    inertia = 5.0 / 3.0 * a * a

    def slope(_t, y):
        return y[1], (torque - damping * y[1] - 2.0 * 9.81 * a * np.cos(y[0])) / inertia

    end = solve_ivp(slope, (0.0, duration), [0.6, 0.0], "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    joints = JointPhysics.none(robot.model).changed(damping=[damping, 0.0, 0.0])
    motion = simulate_constrained(
        robot.model, robot.constraints, robot.q, np.zeros(3), [torque, 0.0, 0.0], duration=duration, joints=joints
    )
    assert motion.q[-1, 0] == pytest.approx(end[0], abs=1e-8)
    assert motion.qd[-1, 0] == pytest.approx(end[1], abs=1e-7)


def test_loops_stay_closed_and_energy_stays():
    robot = five_bar()
    zero = np.zeros(robot.model.nv)
    spread = []
    for step in (2e-3, 1e-3):
        motion = simulate_constrained(robot.model, robot.constraints, robot.q, zero, duration=0.6, step=step)
        potential = potential_energy(robot.model, motion.q)
        spread.append(np.ptp(kinetic_energy(robot.model, motion.q, motion.qd) + potential) / np.ptp(potential))
        assert np.abs(constraint_error(robot.model, robot.constraints, motion.q)).max() < 1e-12
    assert spread[1] < 2e-5 and spread[1] < 0.1 * spread[0]
    again = simulate_constrained(
        robot.model,
        robot.constraints,
        robot.q,
        np.zeros(robot.model.nv),
        lambda _t, q, _qd: 0 * q,
        duration=0.1,
    )
    assert (again.q == motion.q[:101]).all()


def test_a_bad_step_is_refused():
    robot = five_bar()
    with pytest.raises(InputError, match="step"):
        simulate_constrained(robot.model, robot.constraints, robot.q, np.zeros(robot.model.nv), duration=0.1, step=-1.0)


def test_a_start_far_from_closed_is_refused():
    robot = five_bar()
    far = robot.q + np.array([0.0, 2.0, 0.0, -2.0, 0.0])
    with pytest.raises(SingularityError, match="five_bar"):
        simulate_constrained(robot.model, robot.constraints, far, np.zeros(robot.model.nv), duration=0.1)
