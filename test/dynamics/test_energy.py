"""Energies, momentum and centre of mass: definitions, Pinocchio, and conservation laws."""

import numpy as np
import pytest
from support import dense_matrices
from support.compare import relative
from support.pin_oracle import SWAP, pinocchio, robot
from support.robots import PANDA, TALOS
from support.sample_trees import around, branched, chain, to_model, zoo

from lie_dynamics_ros import lie_dynamics as ld

TREES = {kind: (lambda rng, kind=kind: around(rng, kind)) for kind in ("universal", "spherical", "free", "custom_rail")}
TREES["zoo"] = zoo


@pytest.fixture(params=TREES)
def tree(request, rng):
    return TREES[request.param](rng)


def test_definitions(tree, rng):
    model = to_model(tree)
    q = np.array([tree.random(rng) for _ in range(3)])
    qd = rng.normal(size=(3, tree.nv))
    energies = np.array([tree.energies(*state) for state in zip(q, qd, strict=True)])
    assert relative(ld.kinetic_energy(model, q, qd), energies[:, 0]) < 1e-13
    centers = np.array([dense_matrices.center_of_mass(tree, x) for x in q])
    if all(b.parent is not None or b.motion.nv for b in tree.bodies):  # what is welded to the world does not count
        assert relative(ld.potential_energy(model, q), energies[:, 1]) < 1e-12
        assert relative(ld.center_of_mass(model, q), centers) < 1e-13
        assert abs(ld.total_mass(model) - sum(b.mass for b in tree.bodies)) < 1e-12
        for about, points in (("world", np.zeros((3, 3))), ("com", centers)):
            expected = [dense_matrices.momentum(tree, *state) for state in zip(q, qd, points, strict=True)]
            assert relative(ld.momentum(model, q, qd, about), expected) < 1e-12
    single = [ld.kinetic_energy(model, q[0], qd[0]), ld.potential_energy(model, q[0]), *ld.center_of_mass(model, q[0])]
    batch = [ld.kinetic_energy(model, q, qd)[0], ld.potential_energy(model, q)[0], *ld.center_of_mass(model, q)[0]]
    assert relative(single, batch) < 1e-13


def test_kinetic_energy_is_that_of_the_mass_matrix(tree, rng):
    q, qd = tree.random(rng), rng.normal(size=tree.nv)
    model = to_model(tree)
    assert relative(ld.kinetic_energy(model, q, qd), 0.5 * qd @ ld.mass_matrix(model, q) @ qd) < 1e-13


@pytest.mark.parametrize("name", [(PANDA, False), (TALOS, True)], ids=str)
def test_robots(name, rng):
    model, oracle = robot(*name)
    pin = pinocchio()
    q, qd = model.random(rng), rng.normal(size=model.nv)
    there = oracle.model, oracle.data, oracle.q(q)
    assert relative(ld.kinetic_energy(model, q, qd), pin.computeKineticEnergy(*there, oracle.v(qd))) < 1e-13
    assert relative(ld.potential_energy(model, q), pin.computePotentialEnergy(*there)) < 1e-12
    pin.ccrba(*there, oracle.v(qd))
    assert relative(ld.center_of_mass(model, q), oracle.data.com[0]) < 1e-13
    assert relative(ld.momentum(model, q, qd, "com"), oracle.data.hg.vector[SWAP]) < 1e-12
    expected = np.asarray(oracle.data.Ag)[SWAP][:, oracle.v_map]
    assert relative(ld.centroidal_momentum_matrix(model, q), expected) < 1e-12
    assert relative(ld.centroidal_momentum_matrix(model, q) @ qd, ld.momentum(model, q, qd, "com")) < 1e-12


def test_power_balance(tree, rng):
    """d(kinetic + potential)/dt = tau . qd; the rate by central differences, good to about 1e-8."""
    model = to_model(tree)
    q, (qd, tau) = tree.random(rng), rng.normal(size=(2, tree.nv))
    qdd, h = ld.forward_dynamics(model, q, qd, tau), 1e-6

    def energy(t):  # along the motion, up to terms in t^2 that are even
        x, xd = model.integrate(q, t * qd), qd + t * qdd
        return ld.kinetic_energy(model, x, xd) + ld.potential_energy(model, x)

    scale = np.abs(tau * qd).sum() + np.abs(ld.kinetic_energy(model, q, qd))
    assert abs((energy(h) - energy(-h)) / (2 * h) - tau @ qd) < 1e-6 * scale * (1.0 + np.abs(qdd).max())


def test_gravity_force_is_the_slope_of_the_potential(tree, rng):
    model, h = to_model(tree), 1e-5
    q = tree.random(rng)
    above, below = (ld.potential_energy(model, model.integrate(q, s * h * np.eye(tree.nv))) for s in (1, -1))
    assert relative(ld.gravity_force(model, q), (above - below) / (2 * h)) < 1e-8  # central differences


def floating_tree(rng):
    return branched(rng, ["free", "spherical", "revolute", "universal", "prismatic", "revolute"], [None, 0, 1, 0, 3, 0])


def test_momentum_of_a_floating_tree_is_conserved(rng):
    """Joint forces inside, no gravity: d(momentum)/dt = 0 at every state, exactly, not only along a simulation."""
    tree = floating_tree(rng)
    model = to_model(tree).with_gravity([0.0, 0.0, 0.0])
    q, qd = tree.random(rng), rng.normal(size=tree.nv)
    tau = rng.normal(size=tree.nv)
    tau[:6] = 0.0
    qdd, h = ld.forward_dynamics(model, q, qd, tau), 1e-6
    before, after = (ld.momentum(model, model.integrate(q, t * qd), qd + t * qdd) for t in (-h, h))
    assert np.abs(after - before).max() / (2 * h) < 1e-7 * np.abs(ld.momentum(model, q, qd)).max() * np.abs(qdd).max()


def test_gravity_pulls_at_the_centre_of_mass(rng):
    tree = floating_tree(rng)
    model = to_model(tree)
    q, qd = tree.random(rng), rng.normal(size=tree.nv)
    qdd, h = ld.forward_dynamics(model, q, qd, np.zeros(tree.nv)), 1e-6
    before, after = (ld.momentum(model, model.integrate(q, t * qd), qd + t * qdd)[3:] for t in (-h, h))
    assert relative((after - before) / (2 * h), ld.total_mass(model) * model.gravity) < 1e-7


def test_a_long_simulation_conserves_energy(rng):
    """Runge-Kutta of order 4 on an Euler-angle pendulum chain: the drift falls with the fourth power of the step."""
    tree = chain(rng, ["revolute", "universal", "helical"])
    model = to_model(tree)
    drift = []
    for steps in (200, 400):
        q, qd, h = np.array([0.3, -0.2, 0.5, 0.1]), np.zeros(4), 0.5 / steps
        first = ld.kinetic_energy(model, q, qd) + ld.potential_energy(model, q)
        for _ in range(steps):
            k1 = qd, ld.forward_dynamics(model, q, qd, np.zeros(4))
            k2 = qd + h / 2 * k1[1], ld.forward_dynamics(model, q + h / 2 * k1[0], qd + h / 2 * k1[1], np.zeros(4))
            k3 = qd + h / 2 * k2[1], ld.forward_dynamics(model, q + h / 2 * k2[0], qd + h / 2 * k2[1], np.zeros(4))
            k4 = qd + h * k3[1], ld.forward_dynamics(model, q + h * k3[0], qd + h * k3[1], np.zeros(4))
            q = q + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
            qd = qd + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
        drift.append(abs(ld.kinetic_energy(model, q, qd) + ld.potential_energy(model, q) - first))
        assert ld.kinetic_energy(model, q, qd) > 1.0  # it did move
    assert drift[1] < drift[0] / 8 < 1e-3


def test_refusals(rng):
    massless = ld.ModelBuilder().add("shell", joint=ld.joint_types.revolute()).build("ghost")
    for function in (ld.center_of_mass, ld.centroidal_momentum_matrix, ld.potential_energy):
        with pytest.raises(ld.SingularityError, match=r"'ghost' has no mass"):
            function(massless, [0.0])
    model = to_model(floating_tree(rng))
    with pytest.raises(ld.InputError, match=r"'world' or 'com'"):
        ld.momentum(model, model.neutral(), np.zeros(model.nv), "base")


def test_velocities_in_a_batch(rng):
    tree = around(rng, "custom_ball")
    model, q = to_model(tree), np.array([tree.random(rng) for _ in range(11)])
    qd = rng.normal(size=(11, tree.nv))
    expected = [[tree.twists(*state)[name][0] for name in tree.moving] for state in zip(q, qd, strict=True)]
    assert relative(ld.body_velocities(model, q, qd), expected) < 1e-13


def test_bodies_welded_to_the_world_have_no_part(rng):
    tree = branched(rng, ["fixed", "revolute"], [None, 0])
    assert abs(ld.total_mass(to_model(tree)) - tree.bodies[1].mass) < 1e-15
