"""Inverse, forward and hybrid dynamics and kinematics of real robots, against Pinocchio."""

from itertools import product

import numpy as np
import pytest
from support.compare import in_forces, relative
from support.grids import every_run
from support.pin_oracle import robot
from support.robots import PANDA, PR2, TALOS, UR5, urdf_files

from lie_dynamics_ros import lie_dynamics as ld

ROBOTS = [(PANDA, False), (UR5, False), (TALOS, False), (TALOS, True), (PR2, False), (PR2, True)]
#: Pinocchio does not read these: no links; mimic joints that follow no joint.
UNREADABLE = ("ur_description/urdf/ur3.urdf", "alex_description/urdf/alex_psyonic_hands.urdf")
#: Fingers without mass: forward dynamics has no answer, Pinocchio returns NaN.
MASSLESS = {
    "romeo_description/urdf/romeo.urdf": "Thumb3",
    "romeo_description/urdf/romeo_laas_small.urdf": "gripper_joint",
}


def sample(model, rng, speed=1.0):
    """A random state, acceleration and external wrenches."""
    qd, qdd = speed * rng.normal(size=(2, model.nv))
    return model.random(rng), qd, qdd, 10.0 * rng.normal(size=(model.n_bodies, 6))


def stacked(model, rng, n):
    return [np.array(x) for x in zip(*(sample(model, rng) for _ in range(n)), strict=True)]


@pytest.mark.parametrize("speed", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("name", ROBOTS, ids=str)
def test_inverse_dynamics(name, speed, rng):
    model, oracle = robot(*name)
    for _ in range(5):
        q, qd, qdd, f_ext = sample(model, rng, speed)
        assert relative(ld.inverse_dynamics(model, q, qd, qdd), oracle.inverse_dynamics(q, qd, qdd)) < 1e-12
        assert (
            relative(ld.inverse_dynamics(model, q, qd, qdd, f_ext), oracle.inverse_dynamics(q, qd, qdd, f_ext)) < 1e-12
        )


@pytest.mark.parametrize("name", ROBOTS, ids=str)
def test_inverse_dynamics_of_a_batch(name, rng):
    model, oracle = robot(*name)
    q, qd, qdd, f_ext = stacked(model, rng, 21)
    tau = ld.inverse_dynamics(model, q, qd, qdd, f_ext)
    assert relative(tau, [oracle.inverse_dynamics(*state) for state in zip(q, qd, qdd, f_ext, strict=True)]) < 1e-12


@pytest.mark.parametrize("name", ROBOTS, ids=str)
def test_forward_dynamics(name, rng):
    model, oracle = robot(*name)
    q, qd, tau, f_ext = stacked(model, rng, 21)
    batch = ld.forward_dynamics(model, q, qd, tau, f_ext)
    for k, state in enumerate(zip(q, qd, tau, f_ext, strict=True)):
        expected, M = oracle.forward_dynamics(*state), oracle.mass_matrix(q[k])
        for actual in (ld.forward_dynamics(model, *state), batch[k]):
            assert in_forces(M, actual, expected) < 1e-12
            assert relative(actual, expected) < 1e-11  # condition 1e4 (arms) to 1e7 (PR2)


@pytest.mark.parametrize("name", ROBOTS, ids=str)
def test_hybrid_dynamics(name, rng):
    model, oracle = robot(*name)
    for _ in range(5):
        q, qd, qdd, f_ext = sample(model, rng)
        tau = oracle.inverse_dynamics(q, qd, qdd, f_ext)
        given = rng.random(model.nv) < 0.5
        halves = np.where(given, qdd, 99.0), np.where(given, 99.0, tau)
        actual = ld.hybrid_dynamics(model, q, qd, *halves, given, f_ext)
        assert in_forces(oracle.mass_matrix(q), actual[0], qdd, tau) < 1e-12
        assert relative(actual[1], tau) < 1e-11


@pytest.mark.parametrize("name", ROBOTS, ids=str)
def test_forward_kinematics(name, rng):
    model, oracle = robot(*name)
    q = np.array([model.random(rng) for _ in range(11)])
    expected = np.array([oracle.poses(x) for x in q])
    assert relative(ld.forward_kinematics(model, q), expected) < 1e-13
    assert relative(ld.forward_kinematics(model, q[3]), expected[3]) < 1e-13


NAMES = [name for name in urdf_files() if name not in UNREADABLE]
#: Every third on a base that is fixed or floats, in turn, those without mass among them; all in long studies.
EVERY_ROBOT = every_run(
    [(name, k % 2 == 0) for k, name in enumerate(NAMES) if k % 3 == 2 or name in MASSLESS],
    product(NAMES, (False, True)),
)


@pytest.mark.parametrize(("name", "floating"), EVERY_ROBOT)
def test_every_robot(name, floating, rng):
    model, oracle = robot(name, floating)
    q, qd, qdd, f_ext = sample(model, rng)
    tau = oracle.inverse_dynamics(q, qd, qdd, f_ext)
    assert relative(ld.inverse_dynamics(model, q, qd, qdd, f_ext), tau) < 1e-12
    assert model.n_bodies == 0 or relative(ld.forward_kinematics(model, q), oracle.poses(q)) < 1e-13
    if name in MASSLESS:
        with pytest.raises(ld.SingularityError, match=MASSLESS[name]):
            ld.forward_dynamics(model, q, qd, tau, f_ext)
        return
    if model.nv:
        assert in_forces(oracle.mass_matrix(q), ld.forward_dynamics(model, q, qd, tau, f_ext), qdd, tau) < 1e-12


def test_the_oracle_tells_robots_apart(rng):
    model, oracle = robot(PANDA)
    q, qd, qdd, _ = sample(model, rng)
    adrift = ld.inverse_dynamics(model.with_gravity([0, 0, 0]), q, qd, qdd)
    assert relative(adrift, oracle.inverse_dynamics(q, qd, qdd)) > 0.1
