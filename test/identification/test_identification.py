"""Base parameters and identification, on robots whose parameters are known."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from known_robots import all_parameters, guess_of, planar_arm, random_motion, tree_of
from scipy.spatial.transform import Rotation
from support.compare import relative

from lie_dynamics_ros.lie_dynamics import (
    InputError,
    SpatialInertia,
    inverse_dynamics,
)
from lie_dynamics_ros.lie_dynamics.identification import (
    estimation,
    filtered_motion,
    identify,
    parameter_names,
    regression,
)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


# -- the divergence --------------------------------------------------------------------------------------------------


def test_divergence_and_its_slopes():
    rng = np.random.default_rng(5)
    bodies = [tree_of(["revolute"], seed)[1].inertia(0) for seed in range(6)]
    J, J0 = (np.array([estimation.reference(b) for b in half]) for half in (bodies[:3], bodies[3:]))
    d = estimation.Divergence(J0)
    assert estimation.Divergence(J).value(J) == pytest.approx(0.0, abs=1e-12)
    assert d.value(J) > 0.1
    # Another frame for the body changes nothing.
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=3)
    assert estimation.Divergence(T @ J0 @ T.T).value(T @ J @ T.T) == pytest.approx(d.value(J), rel=1e-9)
    gradient, hessian = d.slopes(J)
    step = 1e-6 * np.linalg.norm(J, axis=(1, 2))[:, None] * rng.normal(size=(3, 10))

    def at(s):
        return J + s * np.einsum("nk,kij->nij", step, estimation.BASIS)

    slope = d.value(at(1)) - d.value(at(-1))
    assert slope == pytest.approx(2 * (gradient * step).sum(), rel=1e-4)  # of differences
    bend = d.slopes(at(1))[0] - d.slopes(at(-1))[0]
    assert relative(2 * np.einsum("nkl,nl->nk", hessian, step), bend) < 1e-5


def test_reference_of_a_rod_is_positive():
    rod = SpatialInertia(1.0, [0.5, 0.0, 0.0], np.diag([0.0, 1.0, 1.0]) / 12.0)
    assert np.linalg.eigvalsh(rod.pseudo_inertia())[0] < 1e-12
    J = estimation.reference(rod)
    assert np.linalg.eigvalsh(J)[0] > 1e-6
    assert np.abs(J - rod.pseudo_inertia()).max() < 1e-4


# -- identification --------------------------------------------------------------------------------------------------


def dry(model, q, qd, friction):
    """Dry friction, along the position of a free joint along the axes of the world."""
    force = friction * np.sign(qd)
    for joint in model.joints:
        if joint.kind == "free":
            at = slice(joint.v_slice.start + 3, joint.v_slice.stop)
            turn = Rotation.from_quat(q[:, joint.q_slice][:, :4])
            force[:, at] = turn.inv().apply(friction[at] * np.sign(turn.apply(qd[:, at])))
    return force


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
    tau = inverse_dynamics(built, q, qd, qdd) + damping * qd + dry(built, q, qd, friction) - offset
    found = identify(drawn, q, qd, qdd, tau, terms=("damping", "friction", "offset"))
    truth = all_parameters(built, damping, friction, -offset)
    assert relative(found.base_values, found.base.values(truth)) < 1e-9
    assert (
        relative(found.base.values(all_parameters(found.model, *found.coefficients.values())), found.base_values) < 1e-6
    )
    assert relative(found.coefficients["damping"], damping) < 1e-6
    q, qd, qdd = random_motion(built, rng, 10)
    tau = inverse_dynamics(built, q, qd, qdd) + damping * qd + dry(built, q, qd, friction) - offset
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
