"""Learning from what efforts did: the equations of the momentum, and that no step leads away from the truth."""

from functools import cache

import numpy as np
import pytest
from support import sample_trees
from support.grids import every_run
from support.robots import panda

from lie_dynamics_ros.lie_dynamics import InputError, coriolis_matrix, gravity_force, mass_matrix
from lie_dynamics_ros.lie_dynamics.control import AdaptiveController, EffortHistory, momentum_prediction
from lie_dynamics_ros.lie_dynamics.control.adaptive import LARGEST_FRICTION
from lie_dynamics_ros.lie_dynamics.control.kernels.momentum import momentum_terms

LINK = "panda_link7"


@cache
def loaded():
    return panda().with_payload(LINK, 1.5, [0.02, 0.01, 0.1], 0.003 * np.eye(3))


def learner(**values):
    return AdaptiveController(
        panda(), 10.0, 10.0, 0.03, [LINK], effort_scale=panda().limits.effort,
        **{"payload": 3.0, "reach": 0.15, "memory": 0.5, **values},
    )  # fmt: skip


def parameters(model):
    return np.array([model.inertia(body).parameters() for body in range(model.n_bodies)])


@pytest.mark.parametrize(
    "kinds", [["revolute", "spherical", "free", "universal", "prismatic"], ["revolute", "universal", "prismatic"]]
)
def test_the_terms_are_the_momentum_and_its_change(kinds, rng):
    """P pi = M qd and H pi = C^T qd - g, whichever bodies are unknown; for joints of every kind."""
    tree = sample_trees.branched(np.random.default_rng(1), kinds, [None, 0, None, 2, 1][: len(kinds)])
    model = sample_trees.to_model(tree)
    q, qd, pi = model.random(rng), rng.normal(size=model.nv), parameters(model)
    momentum = mass_matrix(model, q) @ qd
    change = coriolis_matrix(model, q, qd).T @ qd - gravity_force(model, q)
    for unknown in (range(model.n_bodies), [1], [0, model.n_bodies - 1], []):
        places = np.full(model.n_bodies, -1)
        places[list(unknown)] = 10 * np.arange(len(unknown))
        P, H = np.empty((2, model.nv, 10 * len(unknown) + 1))
        assert momentum_terms(model.table, q, qd, places, pi, P, H) == 0
        x = np.append(pi[list(unknown)].ravel(), 1.0)
        np.testing.assert_allclose(P @ x, momentum, atol=1e-12)
        np.testing.assert_allclose(H @ x, change, atol=1e-11)


def exact_effort(model, before, after, period):
    """The mean effort with which the discrete equation of the momentum holds."""
    (q0, v0), (q1, v1) = before, after
    change = (mass_matrix(model, q1) @ v1 - mass_matrix(model, q0) @ v0) / period
    for q, v in (before, after):
        change -= 0.5 * (coriolis_matrix(model, q, v).T @ v - gravity_force(model, q))
    return change


def friction(before, after, dry, viscous, rng):
    """What friction adds to the mean effort; anything in joints that rest or turn round."""
    mean, moves = 0.5 * (before + after), before * after > 0.0
    return np.where(moves, dry * np.sign(mean) + viscous * mean, dry * rng.normal(size=len(mean)))


def test_the_stiffness_is_the_slope_of_coordinates(rng):
    """dZ/dR by differences of R = 1 / (1 + exp(-Z)), in an orthonormal basis of symmetric matrices, on the way."""
    basis = np.zeros((10, 4, 4))
    for unit, (i, j) in zip(basis, zip(*np.tril_indices(4), strict=True), strict=True):
        unit[i, j] = unit[j, i] = 1.0 if i == j else np.sqrt(0.5)

    def relative(Z):
        values, vectors = np.linalg.eigh(Z)
        return vectors @ np.diag(1.0 / (1.0 + np.exp(-values))) @ vectors.T

    control = learner(payload=30.0)
    control.observe(panda().random(rng), rng.normal(size=7), None, 0.0)
    for _ in range(20):
        (Z,) = control.estimates.coordinates
        control.observe(panda().random(rng), rng.normal(size=7), rng.normal(scale=10.0, size=7), 0.01)
        slopes = np.array([(relative(Z + 1e-4 * e) - relative(Z - 1e-4 * e)) / 2e-4 for e in basis])
        found = np.tril(control._prediction._stiff[2])
        found += np.tril(found, -1).T
        np.testing.assert_allclose(found @ np.einsum("aij,bij->ab", slopes, basis), np.eye(10), atol=1e-4)
    assert np.ptp(np.linalg.eigvalsh(Z)) > 5.0


@pytest.mark.parametrize(
    ("late", "rubs", "payload"),
    [
        pytest.param(0.0, 0.0, 3.0, marks=pytest.mark.slow),
        (0.7, 0.0, 3.0),
        (0.7, 0.1, 3.0),
        pytest.param(0.0, 0.0, 300.0, marks=pytest.mark.slow),
        pytest.param(0.7, 0.1, 300.0, marks=pytest.mark.slow),
    ],
)
def test_no_step_leads_away_from_the_truth_whatever_the_period_and_the_states(late, rubs, payload, rng, monkeypatch):
    """The divergence to the truth never rises, and vanishes, also with other delays, and for what is light in its set;
    with friction and rotors that are not known where equations of moving joints alone count.
    """
    if rubs:
        monkeypatch.setattr(momentum_prediction, "TIE", 0.0)
    true, control = loaded(), learner(payload=payload)
    truth, divergences = parameters(true), []
    dry, viscous, rotors = rubs * rng.uniform(0.0, 1.0, (3, 7)) * true.limits.effort
    state = None
    for k in range(2000 if rubs else 600):
        period = 10.0 ** rng.uniform(-4.0, 1.0)
        now = true.random(rng), rng.normal(size=7) * (k % 5 != 0)
        shift = rng.normal(size=7)
        effort = None
        if state is not None:
            effort = exact_effort(true, state, now, period) - late * shift
            effort += friction(state[1], now[1], dry, viscous, rng) + rotors * (now[1] - state[1]) / period
        control.observe(*now, effort, period, shift)
        divergences.append(control.divergence(truth))
        state = now
    falls = np.diff(divergences)
    assert falls.max() < 1e-9 * divergences[0]
    assert divergences[-1] < (1e-2 if rubs else 1e-3) * divergences[0]
    assert control.inertia(LINK).mass == pytest.approx(true.inertia(LINK).mass, rel=1e-2)


@pytest.mark.parametrize("sticks", [0.0, 1.0])
def test_friction_and_payload_are_found_together(sticks, rng):
    """On a smooth motion with friction of 2 % of the limits, whatever it holds where joints turn round."""
    true, control, period = loaded(), learner(), 0.004
    dry, viscous = 0.02 * rng.uniform(0.2, 1.0, (2, 7)) * true.limits.effort
    pace, state = 2.0 * np.pi * np.linspace(0.4, 0.7, 7), None
    for t in np.arange(0.0, 3.0, period):
        now = np.array([0.0, -0.5, 0.0, -1.7, 0.0, 1.8, 0.5]) + 0.4 * np.sin(pace * t), 0.4 * pace * np.cos(pace * t)
        effort = None
        if state is not None:
            effort = exact_effort(true, state, now, period)
            held = friction(state[1], now[1], dry, viscous, rng)
            effort += np.where(state[1] * now[1] > 0.0, 1.0, sticks) * held
        control.observe(*now, effort, period)
        state = now
    assert control.inertia(LINK).mass == pytest.approx(true.inertia(LINK).mass, rel=0.02)
    for speed in (-1.0, 0.3, 1.0):
        v = np.full(7, speed)
        missed = control.friction(v) - dry * np.sign(v) - viscous * v
        assert (np.abs(missed) < 2e-3 * true.limits.effort).all(), missed / true.limits.effort
    assert not control.friction(np.zeros(7)).any()
    assert (np.abs(control.friction(np.full(7, 1e6))) <= LARGEST_FRICTION * true.limits.effort * (1 + 1e-12)).all()
    control.reset()
    assert not control.friction(np.ones(7)).any()


def test_a_load_is_not_put_where_it_would_turn_a_joint_at_rest():
    """One joint moves, which leaves open where the load lies; what the others, which rest, need for it decides that."""
    true, control, model = loaded(), learner(), panda()
    q, state = np.array([0.3, -0.5, 0.4, -1.5, 0.2, 1.8, 0.5]), None
    gaps = []
    for t in np.arange(0.0, 0.5, 0.004):
        qd = 0.2 * np.eye(7)[3]
        now = q + t * qd, qd
        control.observe(*now, None if state is None else exact_effort(true, state, now, 0.004), 0.004)
        state = now
        gaps.append(np.abs(gravity_force(control.estimated_model(), now[0]) - gravity_force(true, now[0])))
    first = np.abs(gravity_force(model, q) - gravity_force(true, q))
    assert (np.max(gaps, axis=0) < first + 0.05).all() and (gaps[-1] < 0.05).all()


def test_with_the_right_model_nothing_is_learned(rng):
    control, state = learner(), None
    before = control.parameters
    for _ in range(50):
        now = panda().random(rng), rng.normal(size=7)
        control.observe(*now, None if state is None else exact_effort(panda(), state, now, 0.01), 0.01)
        state = now
    np.testing.assert_allclose(control.parameters, before, atol=1e-6)


@pytest.mark.parametrize("size", every_run([1e160, np.inf], [1e2, 1e8, 1e160, 1e300, np.inf, np.nan]))
def test_whatever_the_efforts_estimates_stay_in_the_set_and_recover(size, rng):
    control, true = learner(), loaded()
    state = true.random(rng), np.zeros(7)
    control.observe(*state, None, 0.0)
    for _ in range(20):
        control.observe(true.random(rng), rng.normal(size=7), size * rng.choice([-1.0, 1.0], 7), 0.002)
        assert (np.linalg.eigvalsh(control.pseudo) > 0.0).all()
        assert (np.linalg.eigvalsh(control.estimates.set.bound - control.pseudo) > 0.0).all()
    control.observe(*state, None, 0.0)
    for _ in range(1000):
        now = true.random(rng), rng.normal(size=7)
        control.observe(*now, exact_effort(true, state, now, 0.01), 0.01)
        state = now
    assert control.inertia(LINK).mass == pytest.approx(true.inertia(LINK).mass, rel=0.02)


def test_from_what_is_not_known_nothing_is_learned(rng):
    control = learner()
    before = control.parameters
    for effort, period in ((np.full(7, 50.0), 0.002), (None, 0.002), (np.full(7, 50.0), 0.0)):
        control.observe(panda().random(rng), rng.normal(size=7), effort, period)
        assert (control.parameters == before).all()
    control.observe(panda().random(rng), rng.normal(size=7), np.full(7, 50.0), 0.002)
    assert (control.parameters != before).any()
    control.reset()
    control.observe(panda().random(rng), rng.normal(size=7), np.full(7, 50.0), 0.002)
    np.testing.assert_allclose(control.parameters, before, rtol=1e-12)
    without = learner(memory=0.0)
    for _ in range(3):
        without.observe(panda().random(rng), rng.normal(size=7), np.full(7, 50.0), 0.002)
    np.testing.assert_allclose(without.parameters, before, rtol=1e-12)


@pytest.mark.parametrize(("name", "value"), [("memory", -1.0), ("memory", np.nan), ("effort_scale", 0.0)])
def test_bad_numbers_are_refused_by_name(name, value):
    with pytest.raises(InputError, match=name):
        AdaptiveController(panda(), 10.0, 10.0, 0.03, [LINK], **{"memory": 0.5, name: value})


@pytest.mark.parametrize("delay", [0.0, 0.4, 1.0, 2.5])
def test_the_mean_of_efforts_is_that_of_what_was_held(delay, rng):
    """Against the signal held between uneven times, sampled a thousand times a period."""
    stamps = np.cumsum(rng.integers(1_000_000, 4_000_000, 12))
    efforts, late, history = rng.normal(size=(12, 3)), delay * 2_000_000, EffortHistory()
    assert history.mean(0, 1, 0.0) is None
    for stamp, effort in zip(stamps.tolist(), efforts, strict=True):
        history.add(stamp, effort)
    for begin, end in ((stamps[8], stamps[9]), (stamps[6] + 12345, stamps[11]), (stamps[9], stamps[11] + 5_000_000)):
        times = begin + (end - begin) * (np.arange(20000) + 0.5) / 20000
        held = efforts[np.searchsorted(stamps + late, times, side="right") - 1]
        np.testing.assert_allclose(history.mean(int(begin), int(end), late), held.mean(axis=0), atol=2e-3)
    assert history.mean(int(stamps[0] + late) - 1, int(stamps[5]), late) is None
    assert history.mean(int(stamps[9]), int(stamps[9]), late) is None
    history.forget()
    assert history.mean(int(stamps[8]), int(stamps[9]), late) is None
