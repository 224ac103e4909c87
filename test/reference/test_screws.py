"""Product of exponentials, factorisations, Ploen's matrices and the recursions, for trees and all kinds of joints."""

from dataclasses import replace

import numpy as np
import pytest
from support.compare import relative
from support.dense import Tree
from support.robots import PANDA, TALOS, load
from support.sample_trees import around, chain, each_kind, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.closed_form import (
    ScrewTree,
    body_coriolis,
    exponential_jacobian,
    mass_factors,
    mass_matrix_by_entries,
    ploen_matrices,
    product_of_exponentials,
    recursive_inverse_dynamics,
)
from lie_dynamics_ros.lie_dynamics.lie import se3

CUSTOM = ("custom_rail", "custom_ball", "custom_six")


@pytest.fixture(params=each_kind(*CUSTOM))
def sample(request, rng):
    """A `dense.Tree`, which is the oracle, and the screws of its model."""
    tree = around(rng, request.param)
    return tree, ScrewTree.from_model(to_model(tree))


@pytest.mark.parametrize("form", ["local", "world", "body"])
def test_forward_kinematics(sample, form, rng):
    """(12), (13), (14)."""
    tree, screws = sample
    q = np.array([tree.random(rng) for _ in range(3)])
    poses = product_of_exponentials(screws, q, form)
    for k in range(3):
        expected = tree.poses(q[k])
        assert relative(poses[k], np.array([expected[name] for name in tree.moving])) < 1e-13
    assert relative(product_of_exponentials(screws, q[1], form), poses[1]) < 1e-14


@pytest.mark.parametrize("form", ["world", "body"])
def test_jacobians(sample, form, rng):
    """(18), (20)."""
    tree, screws = sample
    q = tree.random(rng)
    expected = tree.jacobians(q)
    for name in tree.moving:
        assert relative(exponential_jacobian(screws, q, name, form), expected[name]) < 1e-12
    batch = exponential_jacobian(screws, np.array([q, q]), 0, form)
    assert batch.shape == (2, 6, tree.nv)


def test_factorizations(sample, rng):
    """(40), (46), (51), and how the factors of the two are related."""
    tree, screws = sample
    q = tree.random(rng)
    M, f = tree.mass_matrix(q), mass_factors(screws, q)
    assert relative(mass_matrix_by_entries(screws, q), M) < 1e-12
    assert relative(f.world_product(), M) < 1e-12
    assert relative(f.body_product(), M) < 1e-12
    inverse = np.linalg.inv(f.Q)
    assert relative(f.Q @ f.S, f.A) < 1e-12
    assert relative(f.Q @ f.G @ inverse, f.L) < 1e-12
    assert relative(inverse.T @ f.J @ inverse, f.D) < 1e-12
    other = mass_factors(screws, np.array([q, tree.random(rng)]))
    for name in ("A", "S", "D", "J", "Q"):  # constant
        assert (getattr(other, name) == getattr(f, name)).all()
    for matrix in (f.L, f.G):  # block triangular with unit diagonal
        assert (np.triu(matrix, 6) == 0.0).all()
        assert np.abs(np.diag(matrix) - 1.0).max() < 1e-14
    assert relative(other.body_product()[0], M) < 1e-12


def test_ploen(sample, rng):
    """(23)-(29), (35)-(38)."""
    tree, screws = sample
    q, qd = tree.random(rng), rng.normal(size=tree.nv)
    p = ploen_matrices(screws, q, qd)
    one = np.eye(len(p.G))
    assert relative((one - p.Gamma) @ p.G, one) < 1e-13
    assert (np.linalg.matrix_power(p.Gamma, len(screws.parents)) == 0.0).all()
    assert relative(p.mass_matrix(), tree.mass_matrix(q)) < 1e-12
    rate = tree.mass_matrix_rate(q, qd)
    assert relative(p.mass_matrix_rate(), rate) < 1e-12
    gravity = tree.bias_force(q, np.zeros(tree.nv))
    assert relative(p.gravity_force(), gravity) < 1e-12
    bias = tree.bias_force(q, qd) - gravity
    plain, skew = p.plain_coriolis(), p.skew_coriolis()
    assert relative(plain @ qd, bias) < 1e-11
    assert relative(skew @ qd, bias) < 1e-11
    rest = rate - 2.0 * skew
    assert np.abs(rest + rest.T).max() < 1e-12 * np.abs(skew).max()
    rest = rate - 2.0 * plain
    assert relative(p.rest_of_plain(), rest) < 1e-11
    assert np.abs(rest + rest.T).max() > 1e-3 * np.abs(plain).max()
    batch = ploen_matrices(screws, np.array([q, q]), np.array([qd, 2.0 * qd]))
    assert relative(batch.skew_coriolis()[1], 2.0 * skew) < 1e-12


def test_ploen_of_a_base_at_rest(sample, rng):
    """(19)-(22) for every joint: twists, their rates with gravity as dV_0, torques."""
    tree, screws = sample
    q, (qd, qdd) = tree.random(rng), rng.normal(size=(2, tree.nv))
    p = ploen_matrices(screws, q, qd)
    V, dV = p.velocity().reshape(-1, 6), p.acceleration(qdd, dV0=np.zeros(6)).reshape(-1, 6)
    lift, poses = (p.acceleration(qdd) - dV.ravel()).reshape(-1, 6), tree.poses(q)
    motion = tree.twists(q, qd, qdd)
    for node, name in zip(screws.bodies, tree.moving, strict=True):
        assert relative(V[node], motion[name][0]) < 1e-12
        assert relative(dV[node], motion[name][1]) < 1e-12
        assert relative(lift[node], np.append(np.zeros(3), -poses[name][:3, :3].T @ tree.gravity)) < 1e-12
    assert relative(p.torque(qdd), tree.inverse_dynamics(q, qd, qdd)) < 1e-12
    batch = ploen_matrices(screws, np.array([q, q]), np.array([qd, -qd]))
    assert relative(batch.torque(qdd), np.array([p.torque(qdd)] * 2)) < 1e-12
    assert relative(batch.velocity(), np.array([p.velocity(), -p.velocity()])) < 1e-12


@pytest.mark.parametrize("kind", each_kind("fixed", *CUSTOM))
def test_ploen_of_a_base_that_moves(kind, rng):
    """(19)-(22) with V_0 and dV_0, against the same tree carried by a free body that moves so."""
    tree = around(rng, kind)
    carrier = chain(rng, ["free"]).bodies[0]
    bodies = [replace(b, parent=carrier.name) if b.parent is None else b for b in tree.bodies]
    whole = Tree([carrier, *bodies], tree.gravity)
    q, (qd, qdd) = whole.random(rng), rng.normal(size=(2, whole.nv))
    motion, (i, k) = whole.twists(q, qd, qdd), whole.parts[0]
    V0, dV0 = motion[carrier.name]
    lift = np.append(np.zeros(3), -whole.poses(q)[carrier.name][:3, :3].T @ tree.gravity)
    screws = ScrewTree.from_model(to_model(tree))
    p = ploen_matrices(screws, q[i.stop :], qd[k.stop :])
    V, dV = p.velocity(V0).reshape(-1, 6), p.acceleration(qdd[k.stop :], V0, dV0).reshape(-1, 6)
    for node, name in zip(screws.bodies, tree.moving, strict=True):
        assert relative(V[node], motion[name][0]) < 1e-12
        assert relative(dV[node], motion[name][1]) < 1e-12
    expected = whole.inverse_dynamics(q, qd, qdd)[k.stop :]
    assert relative(p.torque(qdd[k.stop :], V0, dV0 + lift), expected) < 1e-12


def test_rate_of_the_connections(rng):
    """(27) against G differentiated by a complex step."""
    model = to_model(around(rng, "helical"))
    tree, q, qd = ScrewTree.from_model(model), model.random(rng), rng.normal(size=model.nv)
    expected = mass_factors(tree, q + 1e-30j * qd).G.imag / 1e-30
    assert relative(ploen_matrices(tree, q, qd).connection_rate(), expected) < 1e-12


def test_proposition_1(rng):
    """Ct is skew and Ct V = -ad*_V J V."""
    for _ in range(5):
        square = rng.normal(size=(3, 3))
        J = ld.SpatialInertia(rng.uniform(0.1, 3.0), rng.normal(size=3), square @ square.T).matrix()
        V = rng.normal(size=(4, 6))
        C = body_coriolis(J, V)
        assert np.abs(C + np.swapaxes(C, -1, -2)).max() < 1e-13 * np.abs(C).max()
        expected = np.array([-se3.ad_dual(v) @ J @ v for v in V])
        assert relative((C @ V[..., None])[..., 0], expected) < 1e-13


def test_recursion(sample, rng):
    """(22)-(27), and with either C for a reference velocity."""
    tree, screws = sample
    q, (qd, qdd, reference) = tree.random(rng), rng.normal(size=(3, tree.nv))
    expected = tree.inverse_dynamics(q, qd, qdd)
    for form in ("plain", "skew"):
        assert relative(recursive_inverse_dynamics(screws, q, qd, qdd, form=form), expected) < 1e-12
        p = ploen_matrices(screws, q, qd)
        C = p.plain_coriolis() if form == "plain" else p.skew_coriolis()
        rest = tree.mass_matrix(q) @ qdd + tree.bias_force(q, np.zeros(tree.nv))
        actual = recursive_inverse_dynamics(screws, q, qd, qdd, reference, form)
        assert relative(actual, rest + C @ reference) < 1e-12
    batch = recursive_inverse_dynamics(screws, np.array([q, q]), qd, qdd)
    assert relative(batch[1], expected) < 1e-12


@pytest.mark.parametrize("method", ["christoffel", "ploen"])
@pytest.mark.parametrize("kind", each_kind())
def test_coriolis_product(kind, method, rng):
    """In O(n) what the matrix gives, for every joint kind."""
    model = to_model(around(rng, kind))
    q = np.array([model.random(rng) for _ in range(3)])
    qd, reference = rng.normal(size=(2, 3, model.nv))
    expected = (ld.coriolis_matrix(model, q, qd, method) @ reference[..., None])[..., 0]
    assert relative(ld.coriolis_product(model, q, qd, reference, method), expected) < 1e-12
    assert relative(ld.coriolis_product(model, q[1], qd[1], reference[1], method), expected[1]) < 1e-12
    assert relative(ld.coriolis_product(model, q, qd, reference[0], method, threads=2)[0], expected[0]) < 1e-12


@pytest.mark.parametrize("name", [(PANDA, False), (TALOS, True)], ids=str)
def test_robots(name, rng):
    model = load(*name)
    q, (qd, qdd, reference) = model.random(rng), rng.normal(size=(3, model.nv))
    screws = ScrewTree.from_model(model)
    assert relative(product_of_exponentials(screws, q), ld.forward_kinematics(model, q)) < 1e-13
    assert relative(recursive_inverse_dynamics(screws, q, qd, qdd), ld.inverse_dynamics(model, q, qd, qdd)) < 1e-11
    for method in ("christoffel", "ploen"):
        expected = ld.coriolis_matrix(model, q, qd, method) @ reference
        assert relative(ld.coriolis_product(model, q, qd, reference, method), expected) < 1e-11
    ploen = ploen_matrices(screws, q, qd).skew_coriolis()
    assert relative(ploen, ld.coriolis_matrix(model, q, qd, "ploen")) < 1e-11


@pytest.mark.parametrize("kind", each_kind("fixed", *CUSTOM))
def test_back_to_a_model(kind, rng):
    tree = around(rng, kind)
    model = ScrewTree.from_model(to_model(tree)).to_model()
    q, (qd, qdd) = tree.random(rng), rng.normal(size=(2, tree.nv))
    assert relative(ld.inverse_dynamics(model, q, qd, qdd), tree.inverse_dynamics(q, qd, qdd)) < 1e-12


def test_screws_of_a_textbook(rng):
    """Screws off the bodies' frames, not of unit length, in a tree: dynamics by Jacobians of (13)."""
    screws = rng.normal(size=(5, 6))
    screws[1, :3] = 0.0  # a translation
    screws[3, 3:] = np.cross([0.3, 0.2, 0.1], screws[3, :3])  # a rotation off the origin
    home = se3.exp(rng.normal(size=(5, 6)))
    inertias = [ld.SpatialInertia(m, c, np.diag([0.4, 0.5, 0.6])) for m, c in zip(rng.uniform(1, 2, 5),
                rng.normal(size=(5, 3)), strict=True)]  # fmt: skip
    tree = ScrewTree.from_screws(screws, home, inertias, [-1, 0, 1, 0, 3], names=list("abcde"))
    model = tree.to_model("textbook")
    q, (qd, qdd) = rng.normal(size=5), rng.normal(size=(2, 5))
    poses = ld.forward_kinematics(model, q)
    for i, path in enumerate(([0], [0, 1], [0, 1, 2], [0, 3], [0, 3, 4])):
        T = np.eye(4)
        for k in path:
            T = T @ se3.exp(screws[k] * q[k])
        frame = model.frame("abcde"[i])
        assert relative(poses[frame.body] @ frame.placement, T @ home[i]) < 1e-12
    expected = recursive_inverse_dynamics(tree, q, qd, qdd)
    assert relative(ld.inverse_dynamics(model, q, qd, qdd), expected) < 1e-12
    assert tree.path(4) == [0, 3, 4]


def test_armature():
    body = ld.SpatialInertia(1, [1, 0, 0], np.eye(3))
    model = ld.ModelBuilder().add("a", joint=ld.joint_types.revolute(), inertia=body, armature=2.0).build()
    model = model.with_joint_terms(armature=True)
    tree = ScrewTree.from_model(model)
    assert mass_factors(tree, [0.3]).world_product()[0, 0] == pytest.approx(4.0, rel=1e-14)
    assert mass_factors(tree, [0.3]).body_product()[0, 0] == pytest.approx(4.0, rel=1e-14)
    assert recursive_inverse_dynamics(tree, [0.3], [0.0], [1.0]) == pytest.approx(
        ld.inverse_dynamics(tree.to_model(), [0.3], [0.0], [1.0]), rel=1e-13)  # fmt: skip


def test_errors(rng):
    model = to_model(chain(rng, ["revolute", "custom_rail"]))
    with pytest.raises(ld.DescriptionError, match="joint custom_rail 1"):
        ScrewTree.from_model(model)
    tree = ScrewTree.from_model(to_model(chain(rng, ["revolute", "revolute"])))
    with pytest.raises(ld.InputError, match="no body 'x'"):
        exponential_jacobian(tree, np.zeros(2), "x")
    with pytest.raises(ld.InputError, match="form"):
        product_of_exponentials(tree, np.zeros(2), "both")
    with pytest.raises(ld.InputError, match="form"):
        exponential_jacobian(tree, np.zeros(2), 0, "local")
    with pytest.raises(ld.InputError, match="form"):
        recursive_inverse_dynamics(tree, *np.zeros((3, 2)), form="ploen")
    with pytest.raises(ld.InputError, match="q: shape"):
        product_of_exponentials(tree, np.zeros(3))
    with pytest.raises(ld.InputError, match="zero"):
        ScrewTree.from_screws(np.zeros((1, 6)), [np.eye(4)])
    with pytest.raises(ld.InputError, match="parents"):
        ScrewTree.from_screws(np.ones((2, 6)), [np.eye(4)] * 2, parents=[1, -1])
    with pytest.raises(ld.GroupError):
        ScrewTree.from_screws(np.ones((1, 6)), [2.0 * np.eye(4)])
    with pytest.raises(ld.InputError, match="names"):
        ScrewTree.from_screws(np.ones((2, 6)), [np.eye(4)] * 2, names=["a", "a"])
    plain = to_model(chain(rng, ["revolute", "revolute"]))
    with pytest.raises(ld.InputError, match="'christoffel', 'ploen'"):
        ld.coriolis_product(plain, *np.zeros((3, 2)), method="skew")
    with pytest.raises(ld.InputError, match="reference"):
        ld.coriolis_product(plain, np.zeros(2), np.zeros(2), np.zeros(3))
