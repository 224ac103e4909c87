"""Base parameters: which sums of inertial parameters joint forces tell."""

import numpy as np
import pytest
from known_robots import all_parameters, guess_of, planar_arm, random_motion, tree_of
from support.compare import relative
from support.robots import PANDA, UR5, load
from support.sample_trees import custom_of_screws, each_kind

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.identification import (
    base_parameters,
    identify,
    parameter_names,
    regression,
)

# -- base parameters -------------------------------------------------------------------------------------------------


def test_the_textbook_case():
    """Two links in a vertical plane: six base parameters, the second mass part of the first link's."""
    found = base_parameters(planar_arm(0.5), terms=["damping"])
    assert found.expressions() == (
        "hx(a) + 0.5 m(b)", "hy(a)", "Izz(a) + 0.25 m(b)", "hx(b)", "hy(b)", "Izz(b)", "damping(a)", "damping(b)",
    )  # fmt: skip
    # Without gravity in the plane the first link's moments have no effect.
    weightless = base_parameters(planar_arm(0.5, (0.0, 0.0, -9.81)))
    assert weightless.expressions() == ("Izz(a) + 0.25 m(b)", "hx(b)", "hy(b)", "Izz(b)")
    assert "4 base parameters of 20; 15 have no effect" in weightless.report()


@pytest.mark.parametrize(("robot", "rank"), [(PANDA, 43), (UR5, 36)])
def test_known_ranks(robot, rank):
    """The numbers that the literature has for these arms, the Panda's without its fingers."""
    model = load(robot)
    found = base_parameters(model)
    fingers = [name for name in found.expressions() if "finger" in name.split("(")[1].split(")")[0]]
    assert found.rank - len(fingers) == rank
    assert found.gap > 1e6


@pytest.mark.parametrize(
    "kinds", [["spherical", "universal", "prismatic"], ["free", "helical"], ["composite"], ["planar"]]
)
def test_base_parameters_make_up_the_joint_forces(kinds):
    rng = np.random.default_rng(1)
    _, model = tree_of(kinds, 2)
    found = base_parameters(model)
    q, qd, qdd = random_motion(model, rng, 20)
    Y = regression(model, q, qd, qdd)
    base = found.values(all_parameters(model))
    assert base.shape == (found.rank,)
    assert relative(Y[..., found.independent] @ base, ld.inverse_dynamics(model, q, qd, qdd)) < 1e-9  # condition of Y
    assert not np.abs(Y[..., found.without_effect]).max(initial=0.0) > 1e-9
    assert found.rank == np.linalg.matrix_rank(Y.reshape(-1, Y.shape[-1]), tol=1e-7)
    if kinds[0] == "free":  # all of a body in free flight can be told but what the joint after it hides
        assert set(range(1, 4)) <= set(found.independent)


@pytest.mark.parametrize("kind", each_kind("fixed"))
def test_every_joint_type(kind):
    """Joint forces of a dense robot are explained to round-off, and those of other motions predicted."""
    rng = np.random.default_rng(21)
    tree, model = tree_of(["revolute", kind, "universal"], 22)
    q = np.array([tree.random(rng) for _ in range(40)])
    qd, qdd = rng.uniform(-2.0, 2.0, (2, 40, model.nv))
    tau = np.array([tree.inverse_dynamics(*state) for state in zip(q, qd, qdd, strict=True)])
    found = base_parameters(model)
    Y = regression(model, q, qd, qdd)
    assert found.rank == np.linalg.matrix_rank(Y.reshape(-1, Y.shape[-1]), tol=1e-7)
    assert relative(Y[..., found.independent] @ found.values(all_parameters(model)), tau) < 1e-9  # condition of Y
    seen = slice(0, 30)
    result = identify(guess_of(model, rng), q[seen], qd[seen], qdd[seen], tau[seen])
    assert relative(result.predict(q[30:], qd[30:], qdd[30:]), tau[30:]) < 1e-6
    assert relative(ld.inverse_dynamics(result.model, q[30:], qd[30:], qdd[30:]), tau[30:]) < 1e-6


def hand(coupled):
    """A user's hinge that carries a finger of two joints, the second following the first, and a third behind."""
    rng = np.random.default_rng(23)
    builder, parent = ld.ModelBuilder(), None
    hinge = custom_of_screws([[0.0, 0.6, 0.8, 0.0, 0.0, 0.0]])
    joints = [hinge, *(ld.joint_types.revolute(rng.normal(size=3)) for _ in range(3))]
    mimics = [None, None, ("finger", -1.5, 0.2), ("palm", 0.7, 0.0)]
    for name, joint, mimic in zip(("palm", "finger", "middle", "tip"), joints, mimics, strict=True):
        body = ld.SpatialInertia(
            rng.uniform(1, 2), rng.normal(size=3) / 5, rng.uniform(1, 2) * np.diag([1.0, 1.2, 1.4])
        )
        place = np.eye(4)
        place[:3, 3] = rng.normal(size=3)
        builder.add(name, parent, joint, place, body, joint_name=name, mimic=mimic)
        parent = name
    model = builder.build("hand")
    return model.with_coupled_mimics() if coupled else model


def test_coupled_mimics():
    """What the joints of the whole hand feel, brought together by hand as power has it: tau = G^T tau of all."""
    rng = np.random.default_rng(24)
    coupled, whole = hand(True), hand(False)
    G, offset = np.array([[1, 0], [0, 1], [0, -1.5], [0.7, 0]]), np.array([0, 0, 0.2, 0])
    q, qd, qdd = rng.uniform(-2.0, 2.0, (3, 60, 2))
    damping, offsets = np.array([0.3, 0.2, 0.1, 0.4]), np.array([1.0, -2.0, 0.5, 0.0])
    all_rates = qd @ G.T
    tau = (ld.inverse_dynamics(whole, q @ G.T + offset, all_rates, qdd @ G.T) + damping * all_rates + offsets) @ G
    Y = regression(whole, q @ G.T + offset, all_rates, qdd @ G.T)
    Y = np.einsum("ji,sjp->sip", G, Y).reshape(-1, Y.shape[-1])
    base = base_parameters(coupled)
    assert base.rank == np.linalg.matrix_rank(Y, tol=1e-7)
    assert base.names == parameter_names(whole)
    guess, terms, seen = guess_of(coupled, rng), ["damping", "offset"], slice(0, 40)
    found = identify(guess, q[seen], qd[seen], qdd[seen], tau[seen], terms=terms)
    assert relative(found.predict(q[40:], qd[40:], qdd[40:]), tau[40:]) < 1e-6
    assert relative(found.coefficients["damping"], np.array([0.3 + 0.49 * 0.4, 0.2 + 2.25 * 0.1])) < 1e-6
    rest = ld.inverse_dynamics(found.model, q[40:], qd[40:], qdd[40:])
    ours = found.coefficients["damping"] * qd[40:] + found.coefficients["offset"]
    assert relative(rest + ours, tau[40:]) < 1e-6


def test_what_a_motion_does_not_excite():
    model = planar_arm()
    q, zero = np.random.default_rng(3).uniform(-1, 1, (50, 2)), np.zeros((50, 2))
    still = base_parameters(model, q, zero, zero)
    assert still.expressions() == ("hx(a) + m(b)", "hy(a)", "hx(b)", "hy(b)")
    with pytest.raises(ld.InputError, match="together"):
        base_parameters(model, q)


def test_names_and_terms():
    _, model = tree_of(["universal", "revolute"], 4)
    names = parameter_names(model, ["offset"])
    assert names[:2] == ("m(universal 0)", "hx(universal 0)")
    assert names[-3:] == ("offset(joint universal 0[0])", "offset(joint universal 0[1])", "offset(joint revolute 1)")
    for terms in (["stiction"], "offset", ["offset", "offset"]):
        with pytest.raises(ld.InputError, match="terms"):
            parameter_names(model, terms)
