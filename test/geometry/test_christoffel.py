"""Christoffel symbols: the mass matrix differentiated by complex steps, PBP (55)-(57), the Coriolis matrix."""

import numpy as np
import pytest
from support.compare import relative
from support.robots import PANDA, PR2, TALOS, UR5, load
from support.sample_trees import around, chain, each_kind, to_model, zoo

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.closed_form import ClosedForm, ScrewTree, christoffel_symbols_second_kind

OTHERS = ["free", "spherical"]


@pytest.fixture(params=each_kind(*OTHERS))
def tree(request, rng):
    return around(rng, request.param)


def derivatives(tree, q):
    """dM_ij/dq_k as [k, i, j]."""
    return np.array([tree.mass_matrix_rate(q, e) for e in np.eye(tree.nv)])


def derived_symbols(tree, q):
    """PBP (52)."""
    dM = derivatives(tree, q)
    return 0.5 * (np.einsum("ikj->ijk", dM) + np.einsum("jki->ijk", dM) - dM.transpose(1, 2, 0))


def test_definition(tree, rng):
    q = np.array([tree.random(rng) for _ in range(2)])
    dM = np.array([derivatives(tree, x) for x in q])
    expected = np.array([derived_symbols(tree, x) for x in q])
    model = to_model(tree)
    assert relative(ld.christoffel_symbols(model, q), expected) < 1e-12
    assert relative(ld.christoffel_symbols(model, q[0]), expected[0]) < 1e-12
    assert relative(ld.mass_matrix_derivatives(model, q), dM) < 1e-12


@pytest.mark.parametrize("kind", OTHERS)
def test_mass_matrix_derivatives_of_other_joints(kind, rng):
    tree = around(rng, kind)
    q = np.array([tree.random(rng) for _ in range(2)])
    found = ld.mass_matrix_derivatives(to_model(tree), q)
    assert relative(found, np.array([derivatives(tree, x) for x in q])) < 1e-11
    assert relative(found[0], ld.mass_matrix_derivatives(to_model(tree), q[0])) < 1e-12


def test_christoffel_derivatives(tree, rng):
    """Against differences along a random direction, and symbols made of second derivatives, PBP (52), (54)."""
    model = to_model(tree)
    q = np.array([tree.random(rng) for _ in range(2)])
    found = ld.christoffel_derivatives(model, q[0])
    along = rng.normal(size=model.nv)
    slope = (derived_symbols(tree, q[0] + 1e-4 * along) - derived_symbols(tree, q[0] - 1e-4 * along)) / 2e-4
    assert relative(np.tensordot(along, found, 1), slope) < 1e-6
    if any(joint.kind == "custom" for joint in model.joints):
        return  # no screws, which the paper's formulas are made of
    d = ClosedForm(ScrewTree.from_model(model), q[0]).mass_matrix_second_derivatives()  # [l, k, i, j]
    expected = 0.5 * (np.einsum("likj->lijk", d) + np.einsum("ljki->lijk", d) - np.einsum("lkij->lijk", d))
    assert relative(ld.christoffel_derivatives(model, q)[0], expected) < 1e-11
    assert relative(found, expected) < 1e-11


def test_printed_formulas(tree, rng):
    """(53), (55)-(57), (58), (59)."""
    q, model = tree.random(rng), to_model(tree)
    if any(joint.kind == "custom" for joint in model.joints):
        with pytest.raises(ld.DescriptionError, match="needs joints made of screws"):
            ScrewTree.from_model(model)
        return
    printed = ClosedForm(ScrewTree.from_model(model), q)
    assert relative(printed.christoffel_symbols(), ld.christoffel_symbols(model, q)) < 1e-12
    assert relative(printed.mass_matrix_derivatives(), derivatives(tree, q)) < 1e-12
    assert relative(printed.gravity_force(), ld.gravity_force(model, q)) < 1e-12
    assert printed.potential_energy() == pytest.approx(ld.potential_energy(model, q), rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "helical", "universal"])
def test_second_derivatives(kind, rng):
    """(54), against (53) differentiated by complex steps."""
    model = to_model(around(rng, kind))
    tree, q = ScrewTree.from_model(model), model.random(rng)
    steps = 1e-30j * np.eye(model.nv)
    expected = [ClosedForm(tree, q + e).mass_matrix_derivatives().imag / 1e-30 for e in steps]
    actual = ClosedForm(tree, q).mass_matrix_second_derivatives()
    assert relative(actual, np.array(expected)) < 1e-12
    assert relative(actual, np.swapaxes(actual, 0, 1)) < 1e-12


def test_derivatives_of_gravity(rng):
    """phi = dU/dx by a complex step of (58)."""
    model = to_model(chain(rng, ["revolute", "prismatic", "helical", "revolute"]))
    tree, q = ScrewTree.from_model(model), model.random(rng)
    slope = [ClosedForm(tree, q + e).potential_energy().imag / 1e-30 for e in 1e-30j * np.eye(4)]
    assert relative(ClosedForm(tree, q).gravity_force(), slope) < 1e-12


@pytest.mark.parametrize("name", [PANDA, UR5, TALOS, PR2])
def test_coriolis_matrix_of_robots(name, rng):
    model = load(name)
    q, qd = model.random(rng), rng.normal(size=model.nv)
    symbols = ld.christoffel_symbols(model, q)
    assert relative(np.einsum("ijk,i->kj", symbols, qd), ld.coriolis_matrix(model, q, qd)) < 1e-11
    expected = ld.bias_force(model, q, qd) - ld.gravity_force(model, q)
    assert relative(np.einsum("ijk,i,j->k", symbols, qd, qd), expected) < 1e-11
    assert (symbols == np.swapaxes(symbols, 0, 1)).all()


def test_zeros_are_exact(rng):
    """No symbol couples different branches, and none has three equal indices."""
    model = load(TALOS)
    symbols = ld.christoffel_symbols(model, model.random(rng))
    apart = ld.mass_matrix(model, model.neutral()) == 0.0
    assert (symbols[:, apart] == 0.0).all()
    assert (np.einsum("iii->i", symbols) == 0.0).all()


def test_second_kind(rng):
    model = to_model(around(rng, "helical"))
    q = np.array([model.random(rng) for _ in range(3)])
    lowered = np.einsum("bijh,bhk->bijk", christoffel_symbols_second_kind(model, q), ld.mass_matrix(model, q))
    assert relative(lowered, ld.christoffel_symbols(model, q)) < 1e-10  # condition of M


def test_shapes_and_armature(rng):
    model = to_model(chain(rng, ["revolute"] * 3))
    q = rng.normal(size=(2, 3, 3))
    symbols = ld.christoffel_symbols(model, q, threads=2)
    assert symbols.shape == (2, 3, 3, 3, 3)
    assert relative(symbols[1, 2], ld.christoffel_symbols(model, q[1, 2].tolist())) < 1e-14
    assert ld.christoffel_symbols(model, np.zeros((0, 3))).shape == (0, 3, 3, 3)
    bob = ld.SpatialInertia(1, [1, 0, 0], np.eye(3))
    armed = ld.ModelBuilder().add("a", joint=ld.joint_types.revolute(), armature=2.0, inertia=bob).build()
    armed = armed.with_joint_terms(armature=True)
    assert (ld.christoffel_symbols(armed, [0.3]) == 0.0).all()
    assert ld.christoffel_symbols(ld.ModelBuilder().build(), np.zeros(0)).shape == (0, 0, 0)


@pytest.mark.parametrize("kind", OTHERS)
def test_joints_without_coordinates_are_refused(kind, rng):
    model = to_model(around(rng, kind))
    with pytest.raises(ld.DescriptionError, match=f"joint {kind} 1") as error:
        ld.christoffel_symbols(model, model.random(rng))
    assert error.value.name == f"joint {kind} 1"
    with pytest.raises(ld.DescriptionError, match=kind):
        ClosedForm(ScrewTree.from_model(model), model.random(rng))


def test_bad_input(rng):
    model = to_model(chain(rng, ["revolute"] * 3))
    with pytest.raises(ld.InputError, match="shape"):
        ld.christoffel_symbols(model, np.zeros(4))
    with pytest.raises(ld.InputError, match="joint revolute 1"):
        ld.christoffel_symbols(model, np.array([0.0, np.nan, 0.0]))


def test_coupled_mimics(rng):
    """q = A q_independent + c is affine, so the symbols are those of the smaller mass matrix."""
    rod = ld.SpatialInertia(1.0, [0.4, 0.1, 0.0], np.eye(3) * 0.05)
    place = np.eye(4)
    place[0, 3] = 0.8
    b = ld.ModelBuilder()
    b.add("a", joint=ld.joint_types.revolute(), inertia=rod)
    b.add("b", "a", ld.joint_types.revolute([0, 1, 1]), place, rod)
    b.add("c", "b", ld.joint_types.revolute([0, 1, 0]), place, rod, mimic=("b", -0.7, 0.2))
    model: ld.Model = b.build().with_coupled_mimics()
    q, h = rng.normal(size=2), 1e-5
    dM = np.array([(ld.mass_matrix(model, q + e) - ld.mass_matrix(model, q - e)) / (2 * h) for e in h * np.eye(2)])
    expected = 0.5 * (np.einsum("ikj->ijk", dM) + np.einsum("jki->ijk", dM) - np.einsum("kij->ijk", dM))
    assert relative(ld.christoffel_symbols(model, q), expected) < 1e-8  # differences


def test_tree_of_many_kinds(rng):
    """All joint kinds in one tree, in the entries that the free, ball and custom ones do not touch."""
    tree = zoo(rng)
    with pytest.raises(ld.DescriptionError):
        ld.christoffel_symbols(to_model(tree), tree.random(rng))
