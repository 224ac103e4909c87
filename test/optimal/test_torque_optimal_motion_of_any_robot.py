"""Torque-optimal motions of robots with any joints: gradients, ends, neighbours."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.compare import relative
from support.grids import every_run
from support.sample_trees import around, chain, to_model

from lie_dynamics_ros.lie_dynamics import (
    torque_optimal_motion,
)
from lie_dynamics_ros.lie_dynamics.optimal import MotionCost
from lie_dynamics_ros.lie_dynamics.optimal.problem import MotionProblem
from lie_dynamics_ros.lie_dynamics.optimal.task import Bound, MotionRequest, make_bounds, make_task, rate_bound

# -- any robot --------------------------------------------------------------------------------------------------------

KINDS = ("revolute", "prismatic", "helical", "universal", "planar", "composite", "spherical", "free", "custom_rail")


def asked(rng, kind):
    tree = around(rng, kind)
    model = to_model(tree)
    start = model.random(rng)
    goal = model.integrate(start, rng.normal(size=model.nv))
    rates = rng.normal(size=(2, model.nv))
    request = MotionRequest(model, start, goal, 0.9, start_velocity=rates[0], goal_velocity=rates[1])
    return tree, model, make_task(request), goal, rates


@pytest.mark.parametrize(
    ("kind", "free"),  # in every run in turn, but for a user's joint
    every_run([(kind, k % 2 == 0) for k, kind in enumerate(KINDS[:-1])], product(KINDS, (False, True))),
)
def test_derivatives_against_differences(kind, free, rng):
    """Of all costs and limits, with a given and a free duration; joint forces by a dense oracle."""
    tree, model, task, _, _ = asked(rng, kind)
    n = model.nv
    weights = MotionCost(torque=rng.uniform(0.5, 2.0, n), power=0.1, energy=0.3, acceleration=0.2, jerk=1e-3, time=2.0)
    wave = rng.normal(size=(2, n))

    def obstacles(q):
        x = model.difference(np.broadcast_to(fixed, q.shape), q)
        return x @ wave.T, np.broadcast_to(wave, (len(q), 2, n))

    fixed = model.neutral()
    plain = all(j.kind not in ("spherical", "free") for j in model.joints)
    task = replace(
        task, duration=(0.5, 2.0) if free else (0.9, 0.9), weights=weights.weights(model),
        obstacles=obstacles if plain else None,
    )  # fmt: skip
    most = np.full(n, 0.5)
    limits = replace(
        model.limits, lower=np.full(model.nq, -0.1), upper=np.full(model.nq, 0.1), velocity=most, effort=2.0 * most,
        acceleration=most, deceleration=most, jerk=most,
    )  # fmt: skip
    bounds = make_bounds(model, limits, np.full(n, 5.0)) | {"effort_rate": rate_bound(model, 3.0)}
    if plain:
        bounds["obstacle"] = Bound(np.zeros(2), np.full(2, np.inf), np.ones(2))
    if free:
        bounds["duration"] = Bound(np.array([0.5]), np.array([2.0]), np.array([2.0]))
    problem = MotionProblem(task, bounds, 5, 3.0)
    x, dx, h = 0.3 * rng.normal(size=problem.size), rng.normal(size=problem.size), 1e-6
    if free:
        x[-1], dx[-1] = 0.9, 0.3 * dx[-1]
    z = np.where(problem.weight > 0.0, rng.uniform(0, 1, problem.weight.size), 0.0)
    point, ahead, behind = (problem.at(x + s * dx) for s in (0.0, h, -h))
    gradient = point.slopes.gradient()
    assert gradient @ dx == pytest.approx((ahead.cost - behind.cost) / (2 * h), rel=2e-6)
    room = (ahead.room - behind.room) / (2 * h)
    assert relative(point.slopes.forward(dx), room) < 2e-6
    assert point.slopes.transposed(z) @ dx == pytest.approx(z @ room, rel=2e-6, abs=2e-6 * np.abs(z * room).sum())
    whole, first = point.bends.hessian(z, np.zeros_like(z))
    slopes = [p.slopes.gradient() - p.slopes.transposed(z) for p in (ahead, behind)]
    assert relative(whole @ dx, (slopes[0] - slopes[1]) / (2 * h)) < 2e-5
    assert np.linalg.eigvalsh(first()).min() > -1e-9 * np.abs(first()).max()
    stiff = point.bends.hessian(z, z)[0] - whole
    dy = rng.normal(size=problem.size)
    expected = (point.slopes.forward(dy) * z) @ point.slopes.forward(dx)
    assert dy @ stiff @ dx == pytest.approx(expected, rel=1e-6, abs=1e-9 * np.abs(stiff).max())
    motion = point.motion
    tau = np.array([tree.inverse_dynamics(*s) for s in zip(motion.q, motion.qd, motion.qdd, strict=True)])
    assert relative(point.values["effort"], tau) < 1e-9


@pytest.mark.parametrize("kind", every_run(("helical", "universal", "composite", "spherical"), KINDS))
def test_rates_and_ends(kind, rng):
    """Rates are those of the configurations, accelerations those of the rates; both states are met."""
    _, model, task, goal, rates = asked(rng, kind)
    path = torque_optimal_motion(
        model, task.start, goal, 0.9, start_velocity=rates[0], goal_velocity=rates[1], max_modes=6
    )
    assert np.abs(model.difference(path.q[0], task.start)).max() < 1e-12
    assert np.abs(model.difference(path.q[-1], goal)).max() < 1e-11
    assert np.abs(path.qd[[0, -1]] - rates).max() < 1e-10
    t, h = np.linspace(0.1, 0.8, 7), 1e-5
    _, qd, qdd, _ = path.at(t)
    (q0, qd0, *_), (q1, qd1, *_) = path.at(t - h), path.at(t + h)
    assert relative(model.difference(q0, q1) / (2 * h), qd) < 1e-6
    assert relative((qd1 - qd0) / (2 * h), qdd) < 1e-6


@pytest.mark.parametrize(
    "kinds",
    [("revolute", "revolute"), ("spherical", "revolute"), pytest.param(("free", "prismatic"), marks=pytest.mark.slow)],
)
def test_neighbours_take_more(kinds, rng):
    """Bent by what vanishes with its rate at both ends; forces by a dense oracle, integrated by another rule."""
    tree = chain(rng, kinds)
    model = to_model(tree)
    start = model.random(rng)
    goal, T = model.integrate(start, 0.5 * rng.normal(size=model.nv)), 0.7
    path = torque_optimal_motion(model, start, goal, T)
    assert path.converged
    nodes, weights = np.polynomial.legendre.leggauss(29)
    times = 0.5 * T * (nodes + 1.0)

    def cost(bend):
        def q(t):
            return model.integrate(path.at(t)[0], np.sin(np.pi * t / T)[:, None] ** 2 * bend)

        e = 1e-4
        low, here, high = (q(times + d) for d in (-e, 0.0, e))
        before, after = model.difference(low, here) / e, model.difference(here, high) / e
        rate, change = 0.5 * (before + after), (after - before) / e
        tau = [tree.inverse_dynamics(*x) for x in zip(here, rate, change, strict=True)]
        return 0.5 * T * weights @ (np.array(tau) ** 2).sum(axis=1)

    least = cost(np.zeros(model.nv))
    assert least == pytest.approx(path.cost, rel=1e-4)
    for bend in rng.normal(size=(3, model.nv)):
        assert cost(0.05 * bend) > least
        assert cost(-0.05 * bend) > least
