"""What `ClosedLoopTracker` proves: bounds of second derivatives, and configurations against an adversary."""

from itertools import product

import numpy as np
import pytest
from closed_loop_adversary import attack
from mechanisms_by_name import MADE, MORE
from support.grids import all_of, every_run
from support.loops import random_pose
from support.sample_trees import branched, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.kernels import tracking as tk
from lie_dynamics_ros.lie_dynamics.constraints.kinds import SIZES


def tree_with_loops(rng, kinds):
    """A tree with loops of some kinds, closed at a configuration."""
    tree = branched(rng, ["free", "revolute", "universal", "spherical", "prismatic", "revolute"], [None, 0, 1, 0, 3, 4])
    model, q = to_model(tree), tree.random(rng)
    loops = []
    for k, kind in enumerate(kinds):
        a, b = (tree.moving[2], "world")[k % 2], tree.moving[5 if k % 2 == 0 else 3]
        second = random_pose(rng)
        shift = np.eye(4)
        if kind == "distance":
            shift[0, 3] = 0.6
        if kind == "prismatic":
            shift[2, 3] = 0.3
        first = np.linalg.inv(ld.frame_pose(model, q, a)) @ ld.frame_pose(model, q, b) @ second @ np.linalg.inv(shift)
        loops.append(
            ld.Loop(
                kind, a, b, name=f"{kind} {k}", length=0.6 if kind == "distance" else None,
                first_placement=first, second_placement=second,
            )
        )  # fmt: skip
    return model, ld.ConstraintSet(model, loops), q


@pytest.mark.parametrize("kind", SIZES)
def test_bounds_of_second_derivatives(kind, rng):
    """C D^2 f[x, x] is C times the bias at the rates x: nowhere in the ball is it larger than the bound."""
    model, constraints, q = tree_with_loops(rng, [kind, kind])
    names = [j.name for j in model.joints if j.type.nq == 1]
    fixed = ld.ConstraintSet(model, [*constraints.loops, ld.Loop.welded("world", model.joints[0].body, name="base",
        first_placement=ld.frame_pose(model, q, model.joints[0].body))])  # fmt: skip
    speeds = {j.name: (1.3, 0.7) if j.kind == "free" else float(rng.uniform(0.5, 2.0)) for j in model.joints}
    universal = [j.name for j in model.joints if j.kind == "universal"]
    ball = next(j.name for j in model.joints if j.kind == "spherical")
    free_ball = ld.Loop.welded("world", model.joint(ball).body, name="ball",
        first_placement=ld.frame_pose(model, q, model.joint(ball).body))  # fmt: skip
    turned = ld.Loop.welded("world", model.joint(universal[0]).body, name="universal",
        first_placement=ld.frame_pose(model, q, model.joint(universal[0]).body))  # fmt: skip
    every = ld.ConstraintSet(model, [*fixed.loops, free_ball, turned])
    tracker = ld.ClosedLoopTracker(model, every, q, names, speeds)
    found = tracker.update(q[[model.joint(n).q_slice.start for n in names]], dt=1e-3)
    bound, row = found._row[tk.BOUND], found.q
    assert found.valid and bound > 0.0
    A = ld.constraint_quantities(model, every, row, np.zeros(model.nv)).jacobian
    weights = 1e-3 * np.eye(model.nv)[[model.joint(n).v_slice.start for n in names]]
    C = np.linalg.pinv(np.concatenate([A, weights]))[:, : len(A)]
    worst = 0.0
    for _ in range(80):
        radius = rng.uniform(0.0, 1.0) * min(found.regular_for, 2.0 / bound)
        x, shift = ball_point(model, speeds, rng), radius * ball_point(model, speeds, rng)
        second = C @ ld.constraint_quantities(model, every, model.integrate(row, shift), x).bias
        worst = max(worst, size(model, speeds, second))
    assert 0.01 * bound < worst <= bound


def ball_point(model, speeds, rng):
    x = np.empty(model.nv)
    for j in model.joints:
        v = rng.choice([-1.0, 1.0], j.v_slice.stop - j.v_slice.start)
        if j.kind == "free":
            linear, angular = speeds[j.name]
            v = np.concatenate([angular * v[:3], linear * v[3:]]) / np.sqrt(3.0)
        else:
            v = speeds[j.name] * v / (np.sqrt(3.0) if j.kind == "spherical" else 1.0)
        x[j.v_slice] = v
    return x


def size(model, speeds, x):
    worst = 0.0
    for j in model.joints:
        v = x[j.v_slice]
        if j.kind == "free":
            linear, angular = speeds[j.name]
            worst = max(worst, np.linalg.norm(v[:3]) / angular, np.linalg.norm(v[3:]) / linear)
        else:
            worst = max(worst, (np.linalg.norm(v) if j.kind == "spherical" else np.abs(v).max()) / speeds[j.name])
    return worst


SAMPLES = {"four-bar": 2000, "five-bar": 2400, "delta": 800, "stewart": 800, "3-RPS": 800, "planar 3-RRR": 1200}
IN_TURN = [(name, 1e-6 * (k % 2)) for k, name in enumerate(SAMPLES)]


@pytest.mark.parametrize(("name", "sensor_error"), every_run(IN_TURN[:3], product(SAMPLES, (0.0, 1e-6))))
def test_adversarial_motions(name, sensor_error):
    samples = SAMPLES[name]
    counts = attack(name, samples, 7, sensor_error, machines=16)
    assert counts["wrong"] == 0 and counts["excluded"] == 0
    assert counts["certified"] > 0.2 * samples


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE | MORE)
@all_of("seed", range(100, 125))
def test_a_million_adversarial_samples(name, seed):
    counts = attack(name, 40_000, seed, (0.0, 1e-6, 1e-5)[seed % 3], machines=256)
    assert counts["wrong"] == 0 and counts["excluded"] == 0, counts
