"""Torque-optimal motions of robots with any joints: gradients, ends, neighbours."""

from dataclasses import replace

import numpy as np
import pytest
from support.compare import relative
from support.sample_trees import around, chain, to_model

from lie_dynamics_ros.lie_dynamics import (
    torque_optimal_motion,
)
from lie_dynamics_ros.lie_dynamics.optimal.bounds import make_bounds
from lie_dynamics_ros.lie_dynamics.optimal.motion import make_task
from lie_dynamics_ros.lie_dynamics.optimal.problem import Multipliers, Problem

# -- any robot --------------------------------------------------------------------------------------------------------

KINDS = ("revolute", "prismatic", "helical", "universal", "planar", "composite", "spherical", "free", "custom_rail")


def asked(rng, kind):
    tree = around(rng, kind)
    model = to_model(tree)
    start = model.random(rng)
    goal = model.integrate(start, rng.normal(size=model.nv))
    rates = rng.normal(size=(2, model.nv))
    return tree, model, make_task(model, start, goal, 0.9, *rates, rng.uniform(0.5, 2.0, model.nv)), goal, rates


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_against_differences(kind, rng):
    """Along random changes, with limits of all kinds pressed; joint forces by a dense oracle."""
    tree, model, task, _, _ = asked(rng, kind)
    x, dx, h = 0.3 * rng.normal(size=(5, model.nv)), rng.normal(size=(5, model.nv)), 1e-6
    limits = replace(
        model.limits, lower=np.full(model.nq, -0.1), upper=np.full(model.nq, 0.1),
        velocity=np.full(model.nv, 0.5), effort=np.full(model.nv, 1.0),
    )  # fmt: skip
    problem = Problem(task, make_bounds(model, limits, np.full(model.nv, 5.0)), 5, 3.0)
    given = Multipliers({k: rng.uniform(0, 2, v.shape) for k, v in problem.unloaded().values.items()}, 4.0)
    slope = (problem.gradient(x + h * dx, given)[0] - problem.gradient(x - h * dx, given)[0]) / (2 * h)
    value, gradient = problem.gradient(x, given)
    assert (gradient * dx).sum() == pytest.approx(slope, rel=2e-6)
    motion = task.motion(problem.table, x)
    tau = np.array([tree.inverse_dynamics(*s) for s in zip(motion.q, motion.qd, motion.qdd, strict=True)])
    plain = Problem(task, {}, 5, 1.0)
    assert plain.gradient(x, plain.unloaded())[0] == pytest.approx(0.9 * problem.w @ (tau**2 @ task.weights), rel=1e-9)
    assert value != 0.0


@pytest.mark.parametrize("kind", [*KINDS[:-1], pytest.param(KINDS[-1], marks=pytest.mark.slow)])  # a user's joint
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


@pytest.mark.parametrize("kinds", [("revolute", "revolute"), ("spherical", "revolute"), ("free", "prismatic")])
def test_neighbours_take_more(kinds, rng):
    """Bent by what vanishes with its rate at both ends; forces by a dense oracle, integrated by another rule."""
    tree = chain(rng, kinds)
    model = to_model(tree)
    start = model.random(rng)
    goal, T = model.integrate(start, 0.5 * rng.normal(size=model.nv)), 0.7
    path = torque_optimal_motion(model, start, goal, T)
    assert path.converged
    n, h = 160, T / 160
    middle = (np.arange(n) + 0.5) * h

    def cost(bend):
        def q(t):
            return model.integrate(path.at(t)[0], np.sin(np.pi * t / T)[:, None] ** 2 * bend)

        e = 1e-4
        low, here, high = (q(middle + d) for d in (-e, 0.0, e))
        before, after = model.difference(low, here) / e, model.difference(here, high) / e
        rate, change = 0.5 * (before + after), (after - before) / e
        tau = [tree.inverse_dynamics(*x) for x in zip(here, rate, change, strict=True)]
        return h * (np.array(tau) ** 2).sum()

    least = cost(np.zeros(model.nv))
    assert least == pytest.approx(path.cost, rel=1e-4)
    for bend in rng.normal(size=(3, model.nv)):
        assert cost(0.05 * bend) > least
        assert cost(-0.05 * bend) > least
