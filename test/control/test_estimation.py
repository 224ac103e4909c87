"""Adaptive control, its regressor, and the momentum observer."""


import numpy as np
import pytest
from support import sample_trees
from support.compare import relative
from support.robots import panda
from test_controllers import MIDDLE, swing, tree_with_balls, wander

from lie_dynamics_ros.lie_dynamics import (
    SpatialInertia,
    coriolis_matrix,
    external_wrench,
    forward_dynamics,
    gravity_force,
    jacobian,
    mass_matrix,
    torque_regressor,
)
from lie_dynamics_ros.lie_dynamics.control import (
    AdaptiveController,
    MomentumObserver,
    computed_torque,
    sliding_reference,
    slotine_li_regressor,
)
from lie_dynamics_ros.lie_dynamics.control.adaptive import _dual_pseudo
from lie_dynamics_ros.lie_dynamics.errors import InputError
from lie_dynamics_ros.lie_dynamics.lie import inertial_parameters
from lie_dynamics_ros.lie_dynamics.simulation import Simulator, integrate_motion


def parameters(model):
    return np.array([model.inertia(b).parameters() for b in range(model.n_bodies)])


@pytest.mark.parametrize("seed", range(3))
def test_regressor_is_the_dynamics_of_every_kind_of_joint(seed):
    rng = np.random.default_rng(seed)
    model = sample_trees.to_model(sample_trees.zoo(rng))
    q, (qd, v, a) = model.random(rng), rng.normal(size=(3, model.nv))
    Y = slotine_li_regressor(model, q, qd, v, a)
    expected = mass_matrix(model, q) @ a + coriolis_matrix(model, q, qd) @ v + gravity_force(model, q)
    assert relative(Y @ parameters(model).ravel(), expected) < 1e-12
    assert relative(slotine_li_regressor(model, q, qd, qd, a), torque_regressor(model, q, qd, a)) < 1e-12


def test_regressor_of_a_batch_and_of_another_robots_parameters():
    model, rng = tree_with_balls(), np.random.default_rng(4)
    q = np.array([model.random(rng) for _ in range(6)]).reshape(2, 3, -1)
    qd, v = rng.normal(size=(2, 2, 3, model.nv))
    a = rng.normal(size=model.nv)
    Y = slotine_li_regressor(model, q, qd, v, a)
    assert relative(Y[1, 2], slotine_li_regressor(model, q[1, 2], qd[1, 2], v[1, 2], a)) < 1e-15
    other = model.with_inertia(2, SpatialInertia(3.0, [0.1, 0.2, -0.3], np.diag([0.3, 0.4, 0.5])))
    expected = coriolis_matrix(other, q, qd) @ v[..., None]
    expected = expected[..., 0] + mass_matrix(other, q) @ a + gravity_force(other, q)
    assert relative(Y @ parameters(other).ravel(), expected) < 1e-12
    with pytest.raises(InputError, match="reference_velocity"):
        slotine_li_regressor(model, q, qd, v[..., 1:], a)


def test_dual_of_the_pseudo_inertia():
    rng = np.random.default_rng(0)
    slope, pi = rng.normal(size=(2, 5, 10))
    L, P = _dual_pseudo(slope), inertial_parameters.pseudo_inertia(pi)
    assert relative(np.trace(L @ P, axis1=-2, axis2=-1), (slope * pi).sum(-1)) < 1e-13
    assert (np.swapaxes(L, -1, -2) == L).all()


def payload_problem():
    return panda().with_payload("panda_link7", 1.5, [0.02, 0.01, 0.12], np.diag([0.004, 0.005, 0.003]))


@pytest.mark.slow
def test_adaptive_control_finds_the_mass_of_a_payload():
    """10 s of a motion that moves every joint: the payload's mass within 2 %, the last link's with it."""
    model, true = panda(), payload_problem()
    robot = Simulator(true, *swing(0.0)[:2])
    control = AdaptiveController(model, 10.0, 10.0, 0.03, bodies=["panda_link7"])
    before = []

    def torque(t, q, qd):
        before.append(np.abs(q - swing(t)[0]).max())
        return control.update(q, qd, *swing(t), 1e-3)

    robot.run(10000, torque)
    payload = control.parameters[6, 0] - model.inertia(6).mass
    assert payload == pytest.approx(1.5, rel=0.02)
    assert np.allclose(control.inertia("panda_link7").com, true.inertia(6).com, atol=2e-3)
    assert control.inertia("panda_link7").is_physical()
    assert control.estimated_model().inertia(6).mass == control.parameters[6, 0]
    assert (control.parameters[:6] == parameters(model)[:6]).all()
    plain = Simulator(true, *swing(0.0)[:2])
    motion = plain.run(2000, lambda t, q, qd: computed_torque(model, q, qd, *swing(t), 100.0, 20.0))
    without = np.abs(motion.q[1000:] - np.array([swing(t)[0] for t in motion.time[1000:]])).max()
    assert np.max(before[8000:]) < 0.01 * without
    control.reset()
    assert relative(control.parameters, parameters(model)) < 1e-12


@pytest.mark.parametrize("which", [pytest.param("arm", marks=pytest.mark.slow), "balls"])
def test_adaptation_lowers_its_lyapunov_function(which):
    """V = s^T M s / 2 + gamma D falls at the rate s^T Kd s, up to the order of the step, and never D below zero."""
    if which == "arm":
        model, true, desired = panda(), payload_problem(), swing
        kd = np.array([20.0, 20.0, 20.0, 20.0, 1.0, 1.0, 1.0])
        q, qd = MIDDLE + 0.1, np.zeros(7)
    else:
        model, desired, rng = tree_with_balls(), wander(tree_with_balls(), 5), np.random.default_rng(2)
        true = model.with_payload(0, 1.0, [0.1, 0, 0], 0.02 * np.eye(3)).with_payload(1, 0.5, [0, 0.2, 0])
        q, qd = model.integrate(desired(0.0)[0], 0.3 * rng.normal(size=model.nv)), np.zeros(model.nv)
        kd = np.full(model.nv, 15.0)
    gamma, rate, pi = 5.0, 4.0, parameters(true)
    drops = []
    for h in (1e-3, 5e-4):
        control = AdaptiveController(model, rate, kd, gamma)
        x, v, V, power = q, qd, [], []
        for k in range(round(0.035 / h)):
            aim = desired(k * h)
            s = sliding_reference(model, x, v, *aim, rate).sliding
            V.append(0.5 * s @ mass_matrix(true, x) @ s + gamma * control.divergence(pi))
            power.append(s @ (kd * s))
            tau = control.update(x, v, *aim, h)
            end = integrate_motion(
                true, lambda _t, a, b, tau=tau: forward_dynamics(true, a, b, tau), x, v, step=h, steps=1
            )
            x, v = end.q[-1], end.qd[-1]
            assert control.divergence(pi) >= 0.0
        V, power = np.array(V), np.array(power)
        assert (np.diff(V) < 2e-3 * h * power.max()).all()
        off = np.abs(np.diff(V) / h + 0.5 * (power[1:] + power[:-1])) / power.max()
        drops.append(off[round(0.02 / h) :].max())  # the wrist's own transient is over by then
    assert drops[1] < 0.6 * drops[0] < 0.1  # first order in the period, as torques and estimates are held over it


def test_estimates_stay_physical_whatever_drives_them():
    """From the first sample on and by whatever step: positive definite, below the bound, and never caught there."""
    control = AdaptiveController(panda(), 10.0, 10.0, 1e-3, payload=2.0)
    rng = np.random.default_rng(9)
    highest = 2.0 * (parameters(panda())[:, 0] + 2.0)
    for _ in range(300):
        control.estimates.move(rng.normal(scale=10.0 ** rng.uniform(-2, 6), size=70), 1e-3 / control.gamma)
        assert np.linalg.eigvalsh(control.pseudo).min() > 0.0
        assert np.linalg.eigvalsh(control.estimates.set.bound - control.pseudo).min() > 0.0
        assert ((control.parameters[:, 0] > 0.0) & (control.parameters[:, 0] < highest)).all()
    pull = np.zeros(70)
    for sign, end in ((1.0, 0.0), (-1.0, highest[6])):  # to one end of the masses and back to the other
        pull[60] = sign
        for _ in range(300):
            control.estimates.move(pull, 1e-3 / control.gamma)
        assert control.parameters[6, 0] == pytest.approx(end, abs=0.05)


def test_a_step_of_learning_is_that_of_its_equation_whatever_its_size():
    """Beside eigenvalues and vectors by LAPACK; some steps end at the bounds, and the first begins at equal values."""
    control = AdaptiveController(panda(), 10.0, 10.0, 0.5, bodies=["panda_link3", "panda_link7"])
    rng, W = np.random.default_rng(6), np.linalg.cholesky(control.estimates.set.bound)
    control.estimates.coordinates = np.zeros((2, 4, 4))
    for k in range(60):
        slope, before = rng.normal(scale=10.0 ** rng.uniform(-3, 5), size=70), control.estimates.coordinates
        if k % 7 == 3:
            slope[:] = 0.0
        control.estimates.move(slope, 1e-3 / control.gamma)
        L = _dual_pseudo(slope.reshape(7, 10)[list(control.bodies)])
        values, vectors = np.linalg.eigh(before - 2e-3 * np.swapaxes(W, -1, -2) @ L @ W)
        z = np.clip(values, -14.0, 14.0)[:, None, :]
        turned = np.swapaxes(vectors, -1, -2)
        found = control.estimates.coordinates
        assert relative(found, vectors * z @ turned) < 1e-12 * max(1.0, np.abs(values).max() / 14.0)
        expected = W @ (vectors / (1.0 + np.exp(-z)) @ turned) @ np.swapaxes(W, -1, -2)
        assert relative(control.pseudo, expected) < 1e-12 * max(1.0, np.abs(values).max() / 14.0)


def test_nothing_is_learned_from_what_is_not_finite():
    control = AdaptiveController(panda(), 10.0, 10.0, 0.5)
    control.estimates.move(np.full(70, 0.1), 1e-2 / control.gamma)
    before = control.parameters
    for bad in (np.nan, np.inf, -np.inf, 1e308):
        slope = np.full(70, 0.1)
        slope[33] = bad
        control.estimates.move(slope, 1e3 / control.gamma)
        assert (control.parameters == before).all()


def test_the_set_holds_a_body_with_a_payload_and_its_divergence_is_one():
    rng, model = np.random.default_rng(3), panda()
    control = AdaptiveController(model, 10.0, 10.0, 1.0, bodies=["panda_link7"], payload=3.0, reach=0.15)
    center = model.inertia(6).com
    for _ in range(50):
        direction = rng.normal(size=3)
        place = center + 0.14 * direction / np.linalg.norm(direction)
        loaded = model.with_payload("panda_link7", 2.9, place)
        bound = control.estimates.set.bound
        assert np.linalg.eigvalsh(bound - inertial_parameters.pseudo_inertia(parameters(loaded)[6:])).min() > 0
        assert control.divergence(parameters(loaded)) > 0.0
    assert control.divergence(control.parameters) == pytest.approx(0.0, abs=1e-9)
    assert control.divergence(parameters(model.with_payload("panda_link7", 20.0, center))) == np.inf


def test_learning_gain_bounds_what_learning_does():
    """d(Y pi)/dt by differences, for estimates anywhere in the set: never beyond the bound."""
    model, rng = panda(), np.random.default_rng(4)
    control = AdaptiveController(model, 10.0, 10.0, 1.0, bodies=["panda_link7"])
    for _ in range(30):
        control.reset()
        control.estimates.move(rng.normal(scale=30.0, size=70), 1e-1 / control.gamma)
        Y = slotine_li_regressor(model, model.random(rng), *rng.normal(size=(3, 7)))
        before, bound = control.parameters.ravel(), control.estimates.learning_gain(Y)
        s = rng.normal(size=7)
        kept = control.estimates.coordinates.copy()
        control.estimates.move(s @ Y, 1e-6 / control.gamma)
        drop = -s @ Y @ (control.parameters.ravel() - before) / 1e-6
        assert 0.0 <= drop <= s @ bound @ s * (1 + 1e-6)
        control.estimates.coordinates = kept


def test_estimates_stay_sound_when_something_else_holds_the_robot():
    control, q, zero = AdaptiveController(panda(), 10.0, 10.0, 0.01), MIDDLE, np.zeros(7)
    for _ in range(3000):
        torque = control.update(q, zero, q + 0.2, zero, zero, 1e-3)
    assert np.isfinite(torque).all()
    assert np.linalg.cond(control.pseudo).max() < 1e13


def test_bodies_without_inertia_begin_with_next_to_none():
    rng = np.random.default_rng(1)
    model = sample_trees.to_model(sample_trees.branched(rng, ["revolute", "revolute"], [None, 0], massless=(0,)))
    control = AdaptiveController(model, 5.0, 5.0, 1.0)
    assert 0.0 < control.parameters[0, 0] < 1e-4
    assert np.linalg.eigvalsh(control.pseudo).min() > 0.0
    with pytest.raises(InputError, match="gamma"):
        AdaptiveController(model, 5.0, 5.0, 0.0)


@pytest.mark.parametrize("name", ["panda_link7", "panda_link4"])
def test_observer_finds_a_wrench(name):
    """A wrench on a link of the moving arm, which the controller then compensates: found up to the lag 1 / K."""
    model = panda()
    body = model.frame(name).body
    wrench = np.array([0.5, -0.3, 0.2, 4.0, -6.0, 8.0])
    f_ext = external_wrench(model, MIDDLE, body, wrench, "body")
    observer, robot = MomentumObserver(model, 50.0), Simulator(model, *swing(0.0)[:2], step=2.5e-4)
    tau = np.zeros(7)
    worst = 0.0
    for k in range(800):
        found = observer.update(robot.q, robot.qd, tau, 1e-3)
        expected = jacobian(model, robot.q, body).T @ wrench
        if k > 300:
            worst = max(worst, np.abs(found - expected).max())
        tau = computed_torque(model, robot.q, robot.qd, *swing(robot.time), 400.0, 40.0) - found
        robot.advance(tau, substeps=4, f_ext=f_ext)
    assert worst < 0.05 * np.abs(wrench).max()
    if name == "panda_link7":
        assert np.abs(observer.wrench(robot.q, name) - wrench).max() < 0.6
    observer.reset()
    assert not observer.residual.any()


def test_observer_settles_exponentially_and_is_exact_at_rest():
    model = panda()
    observer, wrench = MomentumObserver(model, 20.0), np.array([0, 0, 0, 0, 5.0, 0])
    torque = jacobian(model, MIDDLE, "panda_link7").T @ wrench
    held = gravity_force(model, MIDDLE) - torque  # the actuators hold the arm against both
    for k in range(1001):
        observer.update(MIDDLE, np.zeros(7), held, 1e-3)
        if k == 50:
            assert np.allclose(observer.residual, torque * (1 - np.exp(-1.0)), rtol=0.02)
    assert relative(observer.residual, torque) < 1e-8
    assert np.abs(observer.wrench(MIDDLE, "panda_link7") - wrench).max() < 1e-6


@pytest.mark.slow  # in every run that of contacts, of every kind of joint: test_contact_observer
def test_observer_of_a_tree_with_balls_and_losses():
    model, rng = tree_with_balls(), np.random.default_rng(5)
    push = rng.normal(size=model.nv)
    observer = MomentumObserver(model, 100.0)
    q, qd, tau = model.random(rng), 0.3 * rng.normal(size=model.nv), rng.normal(size=model.nv)
    motion = integrate_motion(
        model, lambda _t, x, v: forward_dynamics(model, x, v, tau + push), q, qd, step=4e-4, steps=250
    )
    for x, v in zip(motion.q, motion.qd, strict=True):
        found = observer.update(x, v, tau, 4e-4)
    assert relative(found, push) < 1e-4
