"""Order, conservation laws and closed forms of the integrators."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from simulation_robots import floating_tree, mixed_tree, pendulum, reference, state

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.simulation import integrate_motion, simulate

ORDERS = {"semi_implicit": 1, "rkmk4": 4, "variational": 2}


def energy(model, motion):
    return ld.kinetic_energy(model, motion.q, motion.qd) + ld.potential_energy(model, motion.q)


@pytest.fixture(scope="module")
def problem():
    model = mixed_tree()
    q, qd = state(model, 1)
    tau = 3.0 * np.random.default_rng(2).normal(size=model.nv)
    return model, q, qd, tau, reference(model, q, qd, 0.2, tau)


def distance(model, motion, end):
    q, qd = end
    return np.linalg.norm(model.difference(q, motion.q[-1])) + np.linalg.norm(qd - motion.qd[-1])


@pytest.mark.parametrize(("method", "coarse"), [("semi_implicit", 1e-4), ("rkmk4", 2e-3), ("variational", 2e-3)])
def test_order_of_convergence(problem, method, coarse):
    model, q, qd, tau, end = problem
    steps = coarse / 2.0 ** np.arange(3)
    errors = [distance(model, simulate(model, q, qd, tau, duration=0.2, step=h, method=method), end) for h in steps]
    found = np.log2(errors[-2] / errors[-1])
    assert ORDERS[method] - 0.15 < found < ORDERS[method] + 0.6, errors


def test_rkmk4_agrees_with_dop853_to_round_off(problem):
    model, q, qd, tau, end = problem
    scale = np.linalg.norm(end[1])
    assert distance(model, simulate(model, q, qd, tau, duration=0.2, step=5e-5, method="rkmk4"), end) < 1e-10 * scale


@pytest.mark.parametrize("method", ["semi_implicit", "rkmk4"])
def test_compiled_steps_are_those_of_the_generic_integrators(problem, method):
    model, q, qd, tau, _ = problem
    a = simulate(model, q, qd, tau, duration=0.01, step=1e-4, method=method)
    b = integrate_motion(
        model, lambda _t, x, v: ld.forward_dynamics(model, x, v, tau), q, qd, step=1e-4, steps=100, method=method
    )
    # The compiled method cuts off the series of du/dt after u^2, which the order allows.
    allowed = 1e-12 if method == "semi_implicit" else 1e-9
    assert np.abs(model.difference(b.q, a.q)).max() < allowed * np.abs(qd).max()
    assert np.abs(b.qd - a.qd).max() < allowed * np.abs(b.qd).max()
    assert np.allclose(a.qdd[0], ld.forward_dynamics(model, q, qd, tau), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("gravity", [(0, 0, 0), (0, 0, -3)])
def test_variational_keeps_momentum_exactly(gravity):
    """Noether's theorem, discretely: all six components without gravity, with it all but those it changes."""
    model = floating_tree().with_gravity(gravity)
    q, qd = state(model, 7, 2.0)
    motion = simulate(model, q, qd, duration=2.0, step=5e-3, method="variational")
    found = ld.momentum(model, motion.q, motion.qd)
    scale = np.abs(found).max()
    kept = slice(None) if gravity == (0, 0, 0) else [3, 4]
    assert np.abs(found - found[0])[:, kept].max() < 1e-10 * scale
    if gravity != (0, 0, 0):
        weight = model.gravity[2] * sum(model.inertia(k).mass for k in range(model.n_bodies))
        assert np.abs(found[:, 5] - found[0, 5] - weight * motion.time).max() < 1e-10 * scale


def test_variational_energy_does_not_drift():
    """A chaotic double pendulum, 80 000 steps of 5 ms: the energy error of the last tenth is that of the first."""
    model = pendulum()
    motion = simulate(model, [2.0, 1.0], [0.0, 0.0], duration=400.0, step=5e-3, method="variational")
    error = energy(model, motion) - energy(model, motion)[0]
    tenth = len(error) // 10
    first, last = np.abs(error[:tenth]), np.abs(error[-tenth:])
    assert last.max() < 1.5 * first.max()
    assert abs(error[-tenth:].mean()) < 0.3 * first.max()
    other = simulate(model, [2.0, 1.0], [0.0, 0.0], duration=200.0, step=5e-3, method="semi_implicit")
    assert np.abs(energy(model, other) - energy(model, other)[0]).max() > 5.0 * first.max()


def test_variational_energy_of_a_tree_with_balls_is_of_second_order():
    model = floating_tree().with_gravity((0, 0, -2))
    q, qd = state(model, 11, 0.5)
    worst = []
    for h in (4e-3, 2e-3):
        motion = simulate(model, q, qd, duration=10.0, step=h, method="variational")
        error = energy(model, motion) - energy(model, motion)[0]
        worst.append(np.abs(error[: len(error) // 4]).max())
        assert np.abs(error[-len(error) // 4 :]).max() < 3.0 * worst[-1]
    assert 3.0 < worst[0] / worst[1] < 5.0


@pytest.mark.parametrize("method", ["semi_implicit", "rkmk4", "variational"])
def test_symmetric_top_in_free_flight(method):
    """Closed form: R(t) = exp(L t / I1) exp((1 - I3 / I1) w3 t e3), with L the constant angular momentum."""
    a, c, w = 0.4, 0.1, np.array([0.7, -0.3, 5.0])
    top = ld.SpatialInertia(2.0, np.zeros(3), np.diag([a, a, c]))
    model = ld.ModelBuilder((0, 0, -9.81)).add("top", joint=ld.joint_types.free(), inertia=top).build("top")
    v, duration = np.array([1.0, 2.0, 3.0]), 1.5
    h = 1e-5 if method == "semi_implicit" else 5e-4
    motion = simulate(model, model.neutral(), np.concatenate([w, v]), duration=duration, step=h, method=method)
    angular = np.array([a, a, c]) * w
    expected = Rotation.from_rotvec(angular * duration / a) * Rotation.from_rotvec(
        [0, 0, (1 - c / a) * w[2] * duration]
    )
    T = ld.forward_kinematics(model, motion.q[-1])[0]
    off = (Rotation.from_matrix(T[:3, :3]) * expected.inv()).magnitude()
    fall = v * duration + 0.5 * model.gravity * duration**2
    assert off < {"semi_implicit": 2e-3, "rkmk4": 1e-11, "variational": 5e-5}[method]
    assert np.abs(T[:3, 3] - fall).max() < {"semi_implicit": 2e-2, "rkmk4": 1e-10, "variational": 1e-10}[method]


def test_variational_step_makes_the_discrete_action_stationary():
    """d/dq1 of the action of two steps, by central differences, against the impulse of torques and of gravity."""
    model = mixed_tree(8)
    q0, qd = state(model, 4)
    tau, h = np.random.default_rng(1).normal(size=model.nv), 1e-2
    q = simulate(model, q0, qd, tau, duration=2 * h, step=h, method="variational").q
    bodies = [model.inertia(k) for k in range(model.n_bodies)]

    def lagrangian(x, y):
        kinetic = 0.0
        for A, B, body in zip(ld.forward_kinematics(model, x), ld.forward_kinematics(model, y), bodies, strict=True):
            turn = A[:3, :3].T @ B[:3, :3]
            W = 2.0 * (turn - np.eye(3)) @ np.linalg.inv(turn + np.eye(3)) / h  # the inverse of the Cayley map
            w = np.array([W[2, 1], W[0, 2], W[1, 0]])
            v = ((B - A) @ [*body.com, 1.0])[:3] / h
            kinetic += 0.5 * (body.mass * v @ v + w @ body.inertia @ w)
        return h * (kinetic - 0.5 * (ld.potential_energy(model, x) + ld.potential_energy(model, y)))

    def action(e):
        middle = model.integrate(q[1], e)
        return lagrangian(q[0], middle) + lagrangian(middle, q[2])

    eps = 1e-5
    slope = np.array([(action(eps * e) - action(-eps * e)) / (2 * eps) for e in np.eye(model.nv)])
    assert np.abs(slope + h * tau).max() < 1e-5 * np.abs(h * tau).max()  # what differences of 1e-5 can show
