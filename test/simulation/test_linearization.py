"""Derivatives of integrator steps, against extrapolated differences of the steps themselves."""

import numpy as np
import pytest
from support.compare import relative
from support.sample_trees import JOINTS, around, branched, to_model

from lie_dynamics_ros.lie_dynamics import InputError, ModelBuilder, SpatialInertia, forward_dynamics, joint_types
from lie_dynamics_ros.lie_dynamics.simulation import Simulator, linearize, rkmk4_step, semi_implicit_step

STEPS = {"semi_implicit": semi_implicit_step, "rkmk4": rkmk4_step}
KINDS = [kind for kind in JOINTS if kind != "fixed"]


def case(kind, seed=1):
    rng = np.random.default_rng(seed)
    tree = branched(rng, ["revolute", kind, "prismatic", "universal"], [None, 0, 1, 1])
    model = to_model(tree)
    return model, tree.random(rng), *rng.normal(size=(2, model.nv)), rng.normal(size=(model.n_bodies, 6))


def step_of(model, tau, f, dt, integrator):
    return lambda q, qd: STEPS[integrator](model, lambda _, x, y: forward_dynamics(model, x, y, tau, f), 0.0, q, qd, dt)


@pytest.mark.parametrize("integrator", STEPS)
@pytest.mark.parametrize("kind", KINDS)
def test_against_differences(kind, integrator):
    model, q, qd, tau, f = case(kind)
    dt, n = 0.05, model.nv
    found = linearize(model, q, qd, tau, dt, integrator, f)
    after = step_of(model, tau, f, dt, integrator)(q, qd)
    assert relative(found.q, after[0]) < 1e-13
    assert relative(found.qd, after[1]) < 1e-12

    def change(dq, dqd, dtau):
        q1, qd1 = step_of(model, tau + dtau, f, dt, integrator)(model.integrate(q, dq), qd + dqd)
        return np.concatenate([model.difference(after[0], q1), qd1 - after[1]])

    def slope(*direction):
        total = 0.0
        for s, w in ((1, 64 / 45), (2, -20 / 45), (4, 1 / 45)):
            ahead, behind = (change(*(sign * s * 2e-3 * x for x in direction)) for sign in (1, -1))
            total = total + w * (ahead - behind) / (2 * s * 2e-3)
        return total

    units, zero = np.eye(n), np.zeros(n)
    A = [slope(e, zero, zero) for e in units] + [slope(zero, e, zero) for e in units]
    B = [slope(zero, zero, e) for e in units]
    assert relative(found.A, np.array(A).T) < 1e-9  # of the differences
    assert relative(found.B, np.array(B).T) < 1e-9


@pytest.mark.parametrize("integrator", STEPS)
def test_the_simulator_takes_the_same_step(integrator):
    model, q, qd, tau, f = case("free")
    found = linearize(model, q, qd, tau, 1e-3, integrator, f)
    simulator = Simulator(model, q, qd, step=1e-3, method=integrator)
    simulator.advance(tau, f_ext=f)
    assert np.abs(model.difference(found.q, simulator.q)).max() < 1e-12
    assert relative(simulator.qd, found.qd) < 1e-12


def test_damping_is_implicit_as_in_the_simulator():
    rng = np.random.default_rng(5)
    builder, parent = ModelBuilder(), None
    for name in "abc":
        body = SpatialInertia(1.0, rng.normal(size=3), np.eye(3))
        kind = joint_types.revolute(rng.normal(size=3))
        builder.add(name, parent, kind, inertia=body, damping=3.0, friction=0.2, armature=0.1)
        parent = name
    model, dt = builder.build("damped").with_joint_terms(True, True, True), 0.05
    q, qd, tau = rng.normal(size=(3, 3))
    qd += np.sign(qd)  # sliding, and no change of direction within the step

    def step(x):
        simulator = Simulator(model, x[:3], x[3:6], step=dt)
        simulator.advance(x[6:])
        return np.concatenate([simulator.q, simulator.qd])

    found, x = linearize(model, q, qd, tau, dt), np.concatenate([q, qd, tau])
    assert relative(np.concatenate([found.q, found.qd]), step(x)) < 1e-12
    slopes = [(step(x + 1e-5 * e) - step(x - 1e-5 * e)) / 2e-5 for e in np.eye(9)]
    assert relative(np.hstack([found.A, found.B]), np.array(slopes).T) < 1e-8  # of central differences


def test_batches():
    rng = np.random.default_rng(2)
    tree = around(rng, "spherical")
    model = to_model(tree)
    q = np.array([tree.random(rng) for _ in range(4)])
    qd, tau = rng.normal(size=(2, 4, model.nv))
    for integrator in STEPS:
        found = linearize(model, q, qd, tau[0], 0.01, integrator)
        assert found.A.shape == (4, 2 * model.nv, 2 * model.nv)
        assert found.B.shape == (4, 2 * model.nv, model.nv)
        one = linearize(model, q[2], qd[2], tau[0], 0.01, integrator)
        assert relative(found.A[2], one.A) < 1e-12
        assert relative(found.B[2], one.B) < 1e-12
        assert relative(found.q[2], one.q) < 1e-12


def test_rollout_of_a_disturbance():
    """Over many steps, the product of the A is the derivative of the whole motion."""
    model, q, qd, tau, _ = case("free", 3)
    v = np.random.default_rng(4).normal(size=2 * model.nv)

    def roll(t):
        x, y = model.integrate(q, t * v[: model.nv]), qd + t * v[model.nv :]
        for _ in range(20):
            x, y = step_of(model, tau, None, 0.01, "semi_implicit")(x, y)
        return x, y

    moved, at = v, (q, qd)
    for _ in range(20):
        step = linearize(model, *at, tau, 0.01)
        moved, at = step.A @ moved, (step.q, step.qd)
    h = 1e-5
    ahead, behind = roll(h), roll(-h)
    expected = np.concatenate([model.difference(behind[0], ahead[0]), ahead[1] - behind[1]]) / (2 * h)
    assert relative(moved, expected) < 1e-7  # of central differences


@pytest.mark.parametrize(("dt", "integrator"), [(0.0, "rkmk4"), (np.nan, "rkmk4"), (0.1, "euler")])
def test_refused(dt, integrator):
    model, q, qd, tau, _ = case("revolute")
    with pytest.raises(InputError, match=r"dt|integrator"):
        linearize(model, q, qd, tau, dt, integrator)
