"""Base parameters and identification, on robots whose parameters are known."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from support.compare import relative
from support.robots import PANDA, UR5, load
from support.sample_trees import JOINTS, branched, custom_of_screws, to_model

from lie_dynamics_ros.lie_dynamics import (
    InputError,
    ModelBuilder,
    SpatialInertia,
    inverse_dynamics,
    joint_types,
)
from lie_dynamics_ros.lie_dynamics.identification import (
    base_parameters,
    consistency,
    filtered_motion,
    identify,
    parameter_names,
    regression,
)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def planar_arm(length=1.0, gravity=(0.0, -9.81, 0.0)):
    rod, place = SpatialInertia(1.0, [0.5, 0.0, 0.0], np.diag([0.0, 1.0, 1.0]) / 12.0), np.eye(4)
    place[0, 3] = length
    builder = ModelBuilder(gravity=gravity).add("a", None, joint_types.revolute(), inertia=rod)
    return builder.add("b", "a", joint_types.revolute(), place, rod).build("2R")


def tree_of(kinds, seed, massless=()):
    rng = np.random.default_rng(seed)
    parents = [None, *range(len(kinds) - 1)]
    tree = branched(rng, kinds, parents, massless)
    return tree, to_model(tree)


def guess_of(model, rng, spread=0.4):
    """The model with other inertias."""
    for k, name in enumerate(model.body_names):
        own = model.inertia(k)
        if own.mass:
            mass, com = own.mass * np.exp(spread * rng.normal()), own.com + 0.05 * spread * rng.normal(size=3)
            model = model.with_inertia(name, SpatialInertia(mass, com, own.inertia * np.exp(spread * rng.normal())))
    return model


def all_parameters(model, *coefficients):
    own = [model.inertia(b).parameters() for b in range(model.n_bodies)]
    return np.concatenate([np.ravel(own), *coefficients])


def random_motion(model, rng, count):
    q = np.array([model.random(rng) for _ in range(count)])
    return q, *rng.uniform(-2.0, 2.0, (2, count, model.nv))


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
    assert relative(Y[..., found.independent] @ base, inverse_dynamics(model, q, qd, qdd)) < 1e-9  # condition of Y
    assert not np.abs(Y[..., found.without_effect]).max(initial=0.0) > 1e-9
    assert found.rank == np.linalg.matrix_rank(Y.reshape(-1, Y.shape[-1]), tol=1e-7)
    if kinds[0] == "free":  # all of a body in free flight can be told but what the joint after it hides
        assert set(range(1, 4)) <= set(found.independent)


@pytest.mark.parametrize("kind", [kind for kind in JOINTS if kind != "fixed"])
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
    assert relative(inverse_dynamics(result.model, q[30:], qd[30:], qdd[30:]), tau[30:]) < 1e-6


def hand(coupled):
    """A user's hinge that carries a finger of two joints, the second following the first, and a third behind."""
    rng = np.random.default_rng(23)
    builder, parent = ModelBuilder(), None
    hinge = custom_of_screws([[0.0, 0.6, 0.8, 0.0, 0.0, 0.0]])
    joints = [hinge, *(joint_types.revolute(rng.normal(size=3)) for _ in range(3))]
    mimics = [None, None, ("finger", -1.5, 0.2), ("palm", 0.7, 0.0)]
    for name, joint, mimic in zip(("palm", "finger", "middle", "tip"), joints, mimics, strict=True):
        body = SpatialInertia(rng.uniform(1, 2), rng.normal(size=3) / 5, rng.uniform(1, 2) * np.diag([1.0, 1.2, 1.4]))
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
    tau = (inverse_dynamics(whole, q @ G.T + offset, all_rates, qdd @ G.T) + damping * all_rates + offsets) @ G
    Y = regression(whole, q @ G.T + offset, all_rates, qdd @ G.T)
    Y = np.einsum("ji,sjp->sip", G, Y).reshape(-1, Y.shape[-1])
    base = base_parameters(coupled)
    assert base.rank == np.linalg.matrix_rank(Y, tol=1e-7)
    assert base.names == parameter_names(whole)
    guess, terms, seen = guess_of(coupled, rng), ["damping", "offset"], slice(0, 40)
    found = identify(guess, q[seen], qd[seen], qdd[seen], tau[seen], terms=terms)
    assert relative(found.predict(q[40:], qd[40:], qdd[40:]), tau[40:]) < 1e-6
    assert relative(found.coefficients["damping"], np.array([0.3 + 0.49 * 0.4, 0.2 + 2.25 * 0.1])) < 1e-6
    rest = inverse_dynamics(found.model, q[40:], qd[40:], qdd[40:])
    ours = found.coefficients["damping"] * qd[40:] + found.coefficients["offset"]
    assert relative(rest + ours, tau[40:]) < 1e-6


def test_what_a_motion_does_not_excite():
    model = planar_arm()
    q, zero = np.random.default_rng(3).uniform(-1, 1, (50, 2)), np.zeros((50, 2))
    still = base_parameters(model, q, zero, zero)
    assert still.expressions() == ("hx(a) + m(b)", "hy(a)", "hx(b)", "hy(b)")
    with pytest.raises(InputError, match="together"):
        base_parameters(model, q)


def test_names_and_terms():
    _, model = tree_of(["universal", "revolute"], 4)
    names = parameter_names(model, ["offset"])
    assert names[:2] == ("m(universal 0)", "hx(universal 0)")
    assert names[-3:] == ("offset(joint universal 0[0])", "offset(joint universal 0[1])", "offset(joint revolute 1)")
    for terms in (["stiction"], "offset", ["offset", "offset"]):
        with pytest.raises(InputError, match="terms"):
            parameter_names(model, terms)


# -- the divergence --------------------------------------------------------------------------------------------------


def test_divergence_and_its_slopes():
    rng = np.random.default_rng(5)
    bodies = [tree_of(["revolute"], seed)[1].inertia(0) for seed in range(6)]
    J, J0 = (np.array([consistency.reference(b) for b in half]) for half in (bodies[:3], bodies[3:]))
    assert consistency.divergence(J, J) == pytest.approx(0.0, abs=1e-12)
    assert consistency.divergence(J, J0) > 0.1
    # Another frame for the body changes nothing.
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=3)
    assert consistency.divergence(T @ J @ T.T, T @ J0 @ T.T) == pytest.approx(consistency.divergence(J, J0), rel=1e-9)
    gradient, hessian = consistency.slopes(J, J0)
    step = 1e-6 * np.linalg.norm(J, axis=(1, 2))[:, None] * rng.normal(size=(3, 10))

    def at(s):
        return J + s * np.einsum("nk,kij->nij", step, consistency.BASIS)

    slope = consistency.divergence(at(1), J0) - consistency.divergence(at(-1), J0)
    assert slope == pytest.approx(2 * (gradient * step).sum(), rel=1e-4)  # of differences
    bend = consistency.slopes(at(1), J0)[0] - consistency.slopes(at(-1), J0)[0]
    assert relative(2 * np.einsum("nkl,nl->nk", hessian, step), bend) < 1e-5


def test_reference_of_a_rod_is_positive():
    rod = SpatialInertia(1.0, [0.5, 0.0, 0.0], np.diag([0.0, 1.0, 1.0]) / 12.0)
    assert np.linalg.eigvalsh(rod.pseudo_inertia())[0] < 1e-12
    J = consistency.reference(rod)
    assert np.linalg.eigvalsh(J)[0] > 1e-6
    assert np.abs(J - rod.pseudo_inertia()).max() < 1e-4


# -- identification --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kinds", [["revolute", "revolute", "universal"], ["spherical", "prismatic", "helical"], ["free", "revolute"]]
)
def test_noise_free(kinds):
    """Without noise the base parameters come out exactly, however wrong the guess, and all the rest is physical."""
    rng = np.random.default_rng(6)
    _, built = tree_of(kinds, 7)
    drawn = guess_of(built, rng)
    q, qd, qdd = random_motion(built, rng, 300)
    damping, friction, offset = rng.uniform(0.2, 1.0, (3, built.nv))
    tau = inverse_dynamics(built, q, qd, qdd) + damping * qd + friction * np.sign(qd) - offset
    found = identify(drawn, q, qd, qdd, tau, terms=("damping", "friction", "offset"))
    truth = all_parameters(built, damping, friction, -offset)
    assert relative(found.base_values, found.base.values(truth)) < 1e-9
    assert (
        relative(found.base.values(all_parameters(found.model, *found.coefficients.values())), found.base_values) < 1e-6
    )
    assert relative(found.coefficients["damping"], damping) < 1e-6
    q, qd, qdd = random_motion(built, rng, 10)
    tau = inverse_dynamics(built, q, qd, qdd) + damping * qd + friction * np.sign(qd) - offset
    assert relative(found.predict(q, qd, qdd), tau) < 1e-6
    for body in range(built.n_bodies):
        found.model.inertia(body).check()


def test_noise():
    """Errors of base parameters are as large as their deviations say."""
    rng = np.random.default_rng(8)
    _, built = tree_of(["revolute", "revolute", "prismatic"], 9)
    drawn = guess_of(built, rng)
    q, qd, qdd = random_motion(built, rng, 1500)
    noise = np.array([0.5, 2.0, 1.0])
    tau = inverse_dynamics(built, q, qd, qdd) + noise * rng.normal(size=qd.shape)
    found = identify(drawn, q, qd, qdd, tau)
    assert relative(found.deviation, noise) < 0.1
    errors = (found.base_values - found.base.values(all_parameters(built))) / found.base_deviations
    assert 0.5 < np.sqrt((errors**2).mean()) < 1.6
    physical = (
        found.base.values(found.parameters.ravel()) - found.base.values(all_parameters(built))
    ) / found.base_deviations
    assert np.sqrt((physical**2).mean()) < 1.6
    told = identify(drawn, q, qd, qdd, tau, deviation=noise)
    assert relative(told.base_values, found.base_values) < 0.05
    assert "base parameters identified" in found.report()


def test_little_data_leaves_bodies_that_can_exist():
    """Least squares of a few noisy states give bodies that cannot exist; identification does not."""
    rng = np.random.default_rng(10)
    _, built = tree_of(["revolute"] * 4, 11)
    drawn = guess_of(built, rng)
    q, qd, qdd = random_motion(built, rng, 12)
    tau = inverse_dynamics(built, q, qd, qdd) + 5.0 * rng.normal(size=qd.shape)
    Y = regression(built, q, qd, qdd).reshape(-1, 40)
    plain = np.linalg.lstsq(Y, tau.ravel(), rcond=None)[0].reshape(-1, 10)
    assert not all(SpatialInertia.from_parameters(pi).is_physical() for pi in plain)
    found = identify(drawn, q, qd, qdd, tau, deviation=np.full(4, 5.0))
    for body, pi in enumerate(found.parameters):
        assert SpatialInertia.from_parameters(pi).is_physical()
        assert relative(found.model.inertia(body).parameters(), pi) < 1e-12
    # A heavier prior stays closer to the drawing.
    held = identify(drawn, q, qd, qdd, tau, deviation=np.full(4, 5.0), prior_weight=1e6)
    start = all_parameters(drawn).reshape(-1, 10)
    assert np.abs(held.parameters - start).max() < 0.1 * np.abs(found.parameters - start).max()


def test_some_bodies_only():
    """A payload on a known arm."""
    rng = np.random.default_rng(12)
    _, arm = tree_of(["revolute"] * 3, 13)
    loaded = arm.with_payload(2, 0.7, [0.1, 0.0, 0.05])
    q, qd, qdd = random_motion(arm, rng, 200)
    tau = inverse_dynamics(loaded, q, qd, qdd)
    found = identify(arm, q, qd, qdd, tau, bodies=[arm.body_names[2]])
    assert np.array_equal(found.parameters[:2], all_parameters(arm).reshape(-1, 10)[:2])
    assert relative(found.predict(q, qd, qdd), tau) < 1e-6
    names = [name for name in parameter_names(arm) if arm.body_names[2] in name]
    assert list(found.base.names) == names
    assert relative(found.base_values, found.base.values(loaded.inertia(2).parameters())) < 1e-9


def test_massless_bodies_stay_massless():
    rng = np.random.default_rng(14)
    _, built = tree_of(["revolute", "revolute", "prismatic"], 15, massless=(1,))
    q, qd, qdd = random_motion(built, rng, 100)
    found = identify(guess_of(built, rng), q, qd, qdd, inverse_dynamics(built, q, qd, qdd))
    assert not found.parameters[1].any()
    with pytest.raises(InputError, match=r"revolute 1.*no mass"):
        identify(built, q, qd, qdd, 0 * qd, bodies=[1])


def test_refused():
    model = planar_arm()
    q, qd, qdd, tau = np.ones((4, 5, 2))
    for arguments, said in (
        (dict(tau=tau[:4]), "tau"),
        (dict(tau=tau, q=q[:4]), "recording"),
        (dict(tau=tau, deviation=[1.0, 0.0]), "deviation"),
        (dict(tau=tau, prior_weight=0.0), "prior_weight"),
        (dict(tau=tau, terms=["rust"]), "rust"),
        (dict(tau=tau, bodies=["c"]), "'c'"),
    ):
        with pytest.raises(InputError, match=said):
            identify(model, **{"q": q, "qd": qd, "qdd": qdd, **arguments})


# -- recordings ------------------------------------------------------------------------------------------------------


def test_filtered_motion():
    """Rates and accelerations of a slow motion under fast noise, on axis and free joints, and forces without delay."""
    rng = np.random.default_rng(16)
    _, model = tree_of(["free", "revolute"], 17)
    time = np.arange(0.0, 4.0, 0.002)
    v = rng.normal(size=7)
    phase = np.sin(2 * np.pi * 0.5 * time)
    q = model.integrate(tree_of(["free", "revolute"], 17)[0].random(rng), phase[:, None] * v)
    qd = (np.pi * np.cos(2 * np.pi * 0.5 * time))[:, None] * v  # along one line of the group
    tau = phase[:, None] * np.arange(1.0, 8.0)
    noisy = tau + np.cos(2 * np.pi * 200.0 * time)[:, None]
    found = filtered_motion(model, time, q, noisy, cutoff=10.0)
    inner = np.isin(time, found.time)
    assert inner.sum() == len(found.time) > 1500
    assert relative(found.qd, qd[inner]) < 5e-3  # what the ends leave
    middle = slice(150, -150)  # ends leave more in second derivatives
    assert relative(found.qdd[middle], ((-(np.pi**2) * phase)[inner, None] * v)[middle]) < 1e-3
    assert relative(found.tau, tau[inner]) < 1e-3
    given = filtered_motion(model, time, q, noisy, cutoff=10.0, qd=qd)
    assert relative(given.qdd[middle], found.qdd[middle]) < 1e-3
    assert np.abs(found.slide).max() < 1.3
    for bad, said in (
        (dict(cutoff=300.0), "cutoff"),
        (dict(cutoff=0.1), "samples"),
        (dict(time=time**2), "time"),
        (dict(tau=tau[:5]), "recording"),
    ):
        with pytest.raises(InputError, match=said):
            filtered_motion(model, **{"time": time, "q": q, "tau": tau, "cutoff": 10.0, **bad})


def test_example(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["identification", "--output", str(tmp_path)])
    runpy.run_path(str(EXAMPLES / "identification.py"), run_name="__main__")
    said = capsys.readouterr().out.split()
    drawn, identified = float(said[said.index("error") + 1]), float(said[said.index("drawn,", said.index("error")) + 1])
    assert identified < 0.1 * drawn
    assert (tmp_path / "identification.png").read_bytes().startswith(b"\x89PNG")
