"""Mass and Coriolis matrices, bias and gravity forces: Pinocchio, the definitions, and what must hold between them."""

import numpy as np
import pytest
from support import dense_matrices
from support.compare import relative
from support.pin_oracle import pinocchio, robot
from support.robots import PANDA, PR2, TALOS, UR5
from support.sample_trees import around, each_kind, to_model, zoo

from lie_dynamics_ros import lie_dynamics as ld

ROBOTS = [(PANDA, False), (UR5, False), (TALOS, False), (TALOS, True), (PR2, True)]
ZOOS = {"zoo": zoo, "zoo without welds": lambda rng: zoo(rng, without="fixed")}
#: Kinds whose rates are derivatives of coordinates, so that Christoffel's symbols exist.
COORDINATES = each_kind("free", "spherical")


@pytest.fixture(params=[*each_kind(), *ZOOS])
def tree(request, rng):
    return ZOOS[request.param](rng) if request.param in ZOOS else around(rng, request.param)


@pytest.mark.parametrize("name", ROBOTS, ids=str)
def test_mass_matrix_bias_and_gravity_of_robots(name, rng):
    model, oracle = robot(*name)
    pin = pinocchio()
    for _ in range(3):
        q, qd = model.random(rng), rng.normal(size=model.nv)
        assert relative(ld.mass_matrix(model, q), oracle.mass_matrix(q)) < 1e-12
        nle = pin.nonLinearEffects(oracle.model, oracle.data, oracle.q(q), oracle.v(qd))
        assert relative(ld.bias_force(model, q, qd), oracle.from_v(nle)) < 1e-12
        g = pin.computeGeneralizedGravity(oracle.model, oracle.data, oracle.q(q))
        assert relative(ld.gravity_force(model, q), oracle.from_v(g)) < 1e-12


@pytest.mark.parametrize("name", [(PANDA, False), (UR5, False), (TALOS, False)], ids=str)
def test_coriolis_matrix_of_robots(name, rng):
    """Where all joints have one axis, Pinocchio's matrix is the one of Christoffel's symbols."""
    model, oracle = robot(*name)
    q, qd = model.random(rng), rng.normal(size=model.nv)
    C = pinocchio().computeCoriolisMatrix(oracle.model, oracle.data, oracle.q(q), oracle.v(qd))
    assert relative(ld.coriolis_matrix(model, q, qd), oracle.from_square(C)) < 1e-12


def test_mass_matrix(tree, rng):
    q = np.array([tree.random(rng) for _ in range(3)])
    expected = np.array([tree.mass_matrix(x) for x in q])
    model = to_model(tree)
    assert relative(ld.mass_matrix(model, q), expected) < 1e-13
    M = ld.mass_matrix(model, q[0])
    assert relative(M, expected[0]) < 1e-13
    assert (M == M.T).all()


def test_coriolis_matrices(tree, rng):
    q, qd = tree.random(rng), rng.normal(size=tree.nv)
    model = to_model(tree)
    definitions = {"christoffel": dense_matrices.of_particles, "ploen": dense_matrices.ploen}
    if not all(body.motion.nv for body in tree.bodies):
        del definitions["ploen"]  # it depends on where the bodies' frames are, and a welded body loses its own
    for method, definition in definitions.items():
        expected = definition(tree, q, qd)
        assert relative(ld.coriolis_matrix(model, q, qd, method), expected) < 1e-12
        assert relative(ld.coriolis_matrix(model, np.array([q, q]), qd, method)[1], expected) < 1e-12


@pytest.mark.parametrize("kind", COORDINATES)
def test_christoffel_symbols(kind, rng):
    tree = around(rng, kind)
    q, qd = tree.random(rng), rng.normal(size=tree.nv)
    assert relative(ld.coriolis_matrix(to_model(tree), q, qd), dense_matrices.christoffel(tree, q, qd)) < 1e-12


def test_mass_matrix_rate(tree, rng):
    q, qd = tree.random(rng), rng.normal(size=tree.nv)
    assert relative(ld.mass_matrix_rate(to_model(tree), q, qd), tree.mass_matrix_rate(q, qd)) < 1e-12


@pytest.mark.parametrize("method", ["christoffel", "ploen"])
def test_coriolis_identities(tree, method, rng):
    """C qd is what the bias has beyond gravity, and dM/dt - 2 C is skew, with dM/dt from elsewhere."""
    q, qd = tree.random(rng), rng.normal(size=tree.nv)
    model = to_model(tree)
    C = ld.coriolis_matrix(model, q, qd, method)
    assert relative(C @ qd, ld.bias_force(model, q, qd) - ld.gravity_force(model, q)) < 1e-11  # the difference cancels
    rest = tree.mass_matrix_rate(q, qd) - 2.0 * C
    assert np.abs(rest + rest.T).max() < 1e-12 * np.abs(C).max()


def test_the_two_coriolis_matrices_differ(rng):
    tree = around(rng, "revolute")
    q, qd = tree.random(rng), rng.normal(size=tree.nv)
    model = to_model(tree)
    assert relative(ld.coriolis_matrix(model, q, qd, "ploen"), ld.coriolis_matrix(model, q, qd)) > 1e-3


def test_coriolis_matrix_is_linear_in_the_rates(tree, rng):
    q, (a, b) = tree.random(rng), rng.normal(size=(2, tree.nv))
    model = to_model(tree)
    for method in ("christoffel", "ploen"):
        sum_of_both = ld.coriolis_matrix(model, q, a, method) + 3.0 * ld.coriolis_matrix(model, q, b, method)
        assert relative(ld.coriolis_matrix(model, q, a + 3.0 * b, method), sum_of_both) < 1e-12


def test_columns_of_the_mass_matrix_are_inverse_dynamics(tree, rng):
    model = to_model(tree).with_gravity([0.0, 0.0, 0.0])
    q, zero = tree.random(rng), np.zeros(tree.nv)
    assert relative(ld.inverse_dynamics(model, q, zero, np.eye(tree.nv)).T, ld.mass_matrix(model, q)) < 1e-12


def test_solve_mass_matrix(tree, rng):
    """Backward error: M x against the force."""
    q, force = tree.random(rng), rng.normal(size=(3, tree.nv))
    model, M = to_model(tree), tree.mass_matrix(q)
    x = ld.solve_mass_matrix(model, q, force)
    assert np.abs(x @ M - force).max() < 1e-12 * (np.abs(x) @ np.abs(M)).max()
    assert relative(ld.solve_mass_matrix(model, q, force[1]), x[1]) < 1e-9  # single and batch, condition up to 1e7


@pytest.mark.parametrize("method", ["Christoffel", "", None, 3, ["ploen"]])
def test_unknown_method(method, rng):
    model = to_model(around(rng, "revolute"))
    with pytest.raises(ld.InputError, match=r"'christoffel', 'ploen'"):
        ld.coriolis_matrix(model, np.zeros(model.nq), np.zeros(model.nv), method)
