"""Every kind of joint, against the definition of dynamics (support/dense.py), which shares no code with the kernels."""

import numpy as np
import pytest
from support.compare import in_forces, relative
from support.sample_trees import JOINTS, around, to_model, zoo

from lie_dynamics_ros.lie_dynamics import forward_dynamics, forward_kinematics, hybrid_dynamics, inverse_dynamics

TREES = {kind: (lambda rng, kind=kind: around(rng, kind)) for kind in JOINTS} | {f"zoo {k}": zoo for k in range(3)}


@pytest.fixture(params=TREES)
def tree(request, rng):
    return TREES[request.param](rng)


def sample(tree, rng):
    qd, qdd = rng.normal(size=(2, tree.nv))
    return tree.random(rng), qd, qdd, rng.normal(size=(len(tree.moving), 6))


def test_forward_kinematics(tree, rng):
    q = np.array([tree.random(rng) for _ in range(3)])
    expected = np.array([[tree.poses(x)[name] for name in tree.moving] for x in q])
    assert relative(forward_kinematics(to_model(tree), q), expected) < 1e-13
    assert relative(forward_kinematics(to_model(tree), q[0]), expected[0]) < 1e-13


def test_inverse_dynamics(tree, rng):
    model = to_model(tree)
    states = [sample(tree, rng) for _ in range(3)]
    expected = [tree.inverse_dynamics(*state) for state in states]
    for state, tau in zip(states, expected, strict=True):
        assert relative(inverse_dynamics(model, *state), tau) < 1e-12
    assert relative(inverse_dynamics(model, *map(np.array, zip(*states, strict=True))), expected) < 1e-12


def test_forward_dynamics(tree, rng):
    model = to_model(tree)
    states = [sample(tree, rng) for _ in range(3)]
    batch = forward_dynamics(model, *map(np.array, zip(*states, strict=True)))
    for state, from_batch in zip(states, batch, strict=True):
        M, bias = tree.mass_matrix(state[0]), tree.bias_force(state[0], state[1], state[3])
        expected = np.linalg.solve(M, state[2] - bias)
        assert in_forces(M, forward_dynamics(model, *state), expected) < 1e-11
        assert in_forces(M, from_batch, expected) < 1e-11


def test_hybrid_dynamics_with_any_mask(tree, rng):
    model = to_model(tree)
    for share in (0.2, 0.5, 0.8):
        q, qd, qdd, f_ext = sample(tree, rng)
        tau, given = rng.normal(size=tree.nv), rng.random(tree.nv) < share
        expected = tree.hybrid_dynamics(q, qd, qdd, tau, given, f_ext)
        single = hybrid_dynamics(model, q, qd, qdd, tau, given, f_ext)
        batch = hybrid_dynamics(model, np.array([q] * 3), qd, qdd, tau, given, f_ext)
        M = tree.mass_matrix(q)
        for actual in (single, [x[1] for x in batch]):
            assert in_forces(M, actual[0], expected[0]) < 1e-11
            assert relative(actual[1], expected[1]) < 1e-9  # the solve of M in the oracle has a condition up to 1e7
            assert (actual[0][given] == qdd[given]).all()
            assert (actual[1][~given] == tau[~given]).all()
