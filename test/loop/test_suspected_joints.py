"""No joint whose efforts act as they should is let go, whatever pushes it and whatever the model does not know."""

import numpy as np
import pytest
from support import arms
from support.control import control_scenarios as scenarios
from support.control.control_loop import ControlLoop, Encoders
from support.control.imperfect_driver import ImperfectDriver
from support.cores import MODES, make_core

from lie_dynamics_ros.lie_dynamics.lie import so3

RATINGS = {"panda_arm": 3.0, "ur5": 5.0, "xarm7": 3.5, "kinova": 2.6}  # payloads that the arms are made for [kg]


def disturbed(rng):
    """Return a loop with a little of all that may be wrong, in a state from rest to beyond the limits of speed."""
    name, rate = str(rng.choice(list(RATINGS))), float(rng.choice([250.0, 500.0, 1000.0]))
    arm = arms.load(name)
    n, physics, driver = len(arm.limit), {"integrator": "implicitfast", "stops": bool(rng.random() < 0.2)}, {}
    q = arm.aligned(int(rng.integers(3))) if rng.random() < 0.3 else arm.random_pose(rng, 0.05)

    def often(part):
        return rng.random() < part

    if often(0.3):
        physics["armature"] = np.diagonal(arms.physics(name).mass_matrix(q)) * 10 ** rng.uniform(-1.5, 1.0, n)
    if often(0.4):
        link, _, _ = scenarios.payload(name)["payload"]
        physics["payload"] = link, RATINGS[name] * rng.uniform(0.3, 2.5), tuple(rng.uniform(-0.15, 0.15, 3))
    if often(0.3):
        physics["friction"] = arm.limit * rng.uniform(0.0, 0.15, n)
    if often(0.2):
        driver["most"] = 0.5 * arm.limit
    if often(0.2):
        driver["stribeck"] = 0.05 * arm.limit * rng.random(n)
    if often(0.1):
        driver["gravity"] = float(rng.choice([1.0, -1.0]))
    simulated = arm.simulated(**physics)
    if often(0.3):
        way = np.append(rng.normal(size=2), 0.0)
        gravity = simulated.model.opt.gravity
        gravity[:] = so3.exp(np.deg2rad(5.0) * way / np.linalg.norm(way)) @ gravity
    fastest = rng.choice([0.0, 1.0, 1.5]) * rng.uniform(0.6, 1.0, n)
    simulated.set(q, fastest * arm.speed * rng.choice([-1.0, 1.0], n))
    core = make_core(arm.model, mode=str(rng.choice(MODES)))
    encoders = Encoders(n, float(rng.choice([1e-4, 1e-3]))) if often(0.2) else None
    return ControlLoop(
        ImperfectDriver(simulated, **driver), core, rate, float(rng.choice([0.0, 0.5, 1.0, 2.0])), encoders
    )


def pushing(rng, limit, period):
    """Return a push over time [N m, N]: none, constant, swinging, growing, blows, or one that changes with states."""
    n = len(limit)
    most = limit * 10 ** rng.uniform(-2.0, 0.0) * rng.choice([-1.0, 1.0], n) * (rng.random(n) < rng.choice([0.3, 1.0]))
    rate, phase, growth = 2.0 * np.pi * 10 ** rng.uniform(-0.3, 2.0, n), rng.uniform(0.0, 6.0, n), rng.uniform(10, 80)
    begun, width = rng.uniform(0.0, 0.1), period * rng.choice([1, 2, 3, 4, 6, 10])
    return [
        lambda t: 0.0 * most,
        lambda t: most,
        lambda t: most * np.sin(rate * t + phase),
        lambda t: most * min(4.0, 0.05 * np.exp(growth * t)),
        lambda t: 5.0 * most * (begun < t < begun + width),
        lambda t: most * (-1.0 if int(t / width + 1e-9) % 2 else 1.0),
    ][rng.integers(6)]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 1000, 50))
def test_no_joint_is_let_go_that_efforts_move_as_they_should(first):
    fast = 0
    for seed in range(first, first + 50):
        rng = np.random.default_rng(seed)
        loop = disturbed(rng)
        loop.step()
        if rng.random() < 0.7:
            loop.core.stop("asked to")
        push = pushing(rng, loop.core.limit, loop.period)
        while loop.time < 0.6:
            loop.push = push(loop.time)
            loop.step()
            assert "against its efforts" not in loop.core.reason, f"the {seed}-th case, {loop.time:g} s"
        fast += bool((np.abs(loop.record().qd) > loop.core.robot.fastest).any())
    assert fast > 10
