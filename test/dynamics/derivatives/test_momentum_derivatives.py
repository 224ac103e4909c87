"""Derivatives of the centre of mass and of centroidal momentum: against differences, and Pinocchio's."""

import numpy as np
import pytest
from support.compare import central, relative
from support.grids import every_run
from support.pin_oracle import SWAP, robot
from support.robots import TALOS, UR5
from support.worlds import ROBOTS, elsewhere, here

from lie_dynamics_ros import lie_dynamics as ld


def rate_of_momentum(model, q, qd, qdd, h=1e-3):
    """dh/dt along a motion, by differences."""

    def there(t):
        return ld.momentum(model, model.integrate(q, t * qd + 0.5 * t * t * qdd), qd + t * qdd, "com")

    return (8 * (there(h) - there(-h)) - (there(2 * h) - there(-2 * h))) / (12 * h)


@pytest.mark.parametrize("robot", every_run([x for x in ROBOTS if x != "user's"], ROBOTS))
def test_all_are_differences_of_what_they_are_derivatives_of(robot, rng):
    """Along directions at random, to which all columns add."""
    w = elsewhere(here(robot, rng))
    model, q, qd, qdd = w.model, w.q, w.qd, w.qdd
    found = ld.centroidal_momentum_derivatives(model, q, qd, qdd)
    moved = lambda e: model.integrate(q, e)  # noqa: E731
    along = rng.normal(size=(3, model.nv)) / np.sqrt(model.nv)
    assert relative(found.dq @ along.T, central(lambda e: ld.momentum(model, moved(e), qd, "com"), along)) < 1e-8
    assert relative(found.dqd, ld.centroidal_momentum_matrix(model, q)) < 1e-12
    # dh/dt = dh/dq qd + A qdd, so its derivatives are differences of derivatives
    assert relative(found.dq @ qd + found.dqd @ qdd, rate_of_momentum(model, q, qd, qdd)) < 1e-8

    def rate(x, v, a):
        there = ld.centroidal_momentum_derivatives(model, x, v, a)
        return there.dq @ v + there.dqd @ a

    assert relative(found.rate_dq @ along.T, central(lambda e: rate(moved(e), qd, qdd), along)) < 1e-8
    assert relative(found.rate_dqd @ along.T, central(lambda e: rate(q, qd + e, qdd), along)) < 1e-8
    assert np.array_equal(found.rate_dqdd, found.dqd)
    center = ld.center_of_mass_derivatives(model, q, qd)
    assert relative(center.dq @ along.T, central(lambda e: ld.center_of_mass(model, moved(e)), along)) < 1e-8
    velocity = central(lambda e: ld.center_of_mass_derivatives(model, moved(e), qd).dq @ qd, along)
    assert relative(center.velocity_dq @ along.T, velocity) < 1e-8
    many = ld.centroidal_momentum_derivatives(model, np.stack([q, q]), np.stack([qd, 2 * qd]), qdd)
    assert all(relative(x[0], y) < 1e-12 for x, y in zip(many, found, strict=True))


def test_coupled_mimics_follow():
    builder = ld.ModelBuilder()
    solid = ld.SpatialInertia(1.5, [0.1, -0.05, 0.02], np.diag([0.3, 0.2, 0.25]))
    arm = np.eye(4)
    arm[:3, 3] = [0.2, 0.1, -0.3]
    builder.add("a", None, ld.joint_types.revolute([0.0, 0.0, 1.0]), inertia=solid, joint_name="lead")
    builder.add("b", "a", ld.joint_types.revolute([0.0, 0.6, 0.8]), arm, solid, mimic=("lead", -0.5, 0.2))
    model = builder.build().with_coupled_mimics()
    q, qd, qdd = np.array([0.3]), np.array([0.7]), np.array([-0.4])
    found = ld.centroidal_momentum_derivatives(model, q, qd, qdd)
    assert relative(found.dq, central(lambda e: ld.momentum(model, q + e, qd, "com"), 1)) < 1e-9
    assert relative(found.dqd, ld.centroidal_momentum_matrix(model, q)) < 1e-13


@pytest.mark.parametrize("name", [(UR5, False), (TALOS, True)], ids=str)
def test_pinocchio(name, rng):
    model, oracle = robot(*name)
    q, qd, qdd = model.random(rng), *rng.normal(size=(2, model.nv))
    found = ld.centroidal_momentum_derivatives(model, q, qd, qdd)
    motion = oracle.q(q), oracle.v(qd), oracle.v(qdd)
    theirs = oracle.pin.computeCentroidalDynamicsDerivatives(oracle.model, oracle.data, *motion)
    ours = found.dq, found.rate_dq, found.rate_dqd, found.rate_dqdd
    for a, b in zip(ours, theirs, strict=True):
        assert relative(a, b[SWAP][:, oracle.v_map]) < 1e-12
    oracle.pin.centerOfMass(oracle.model, oracle.data, *motion[:2])
    oracle.pin.computeForwardKinematicsDerivatives(oracle.model, oracle.data, *motion)
    velocity = oracle.pin.getCenterOfMassVelocityDerivatives(oracle.model, oracle.data)
    assert relative(ld.center_of_mass_derivatives(model, q, qd).velocity_dq, velocity[:, oracle.v_map]) < 1e-12
