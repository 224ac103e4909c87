"""Kim (54)-(80) with any full-rank A: the dense system of equations, and what makes a choice the smallest."""

import numpy as np
import pytest
from support.compare import in_forces, relative
from support.constraint_oracle import constrained_forward
from support.sample_trees import around, branched, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import delta_robot, five_bar
from lie_dynamics_ros.lie_dynamics.reference import kim_dynamics


@pytest.fixture(params=["revolute", "universal", "spherical", "free", "custom_rail"])
def tree(request, rng):
    return around(rng, request.param)


def state_of(tree, rng, m=3):
    qd, qdd, tau = rng.normal(size=(3, tree.nv))
    return tree.random(rng), qd, qdd, tau, rng.normal(size=(m, tree.nv)), rng.normal(size=m)


def test_forward_and_hybrid(tree, rng):
    model = to_model(tree)
    q, qd, qdd, tau, A, bias = state_of(tree, rng)
    M, b = tree.mass_matrix(q), tree.bias_force(q, qd)
    expected, force = constrained_forward(M, b, tau, A, bias)
    found, lam = kim_dynamics.constrained_forward_dynamics(model, q, qd, tau, A, bias)
    assert in_forces(M, found, expected, tau) < 1e-10 and relative(lam, force) < 1e-8
    mask = np.zeros(tree.nv, bool)
    mask[model.joints[2].v_slice] = True
    a, t, lam = kim_dynamics.constrained_hybrid_dynamics(model, q, qd, qdd, tau, mask, A, bias)
    assert (a[mask] == qdd[mask]).all() and (t[~mask] == tau[~mask]).all()
    largest = (np.abs(M) @ np.abs(a)).max() + np.abs(A.T @ lam).max()
    assert np.abs(M @ a + b - t - A.T @ lam).max() < 1e-10 * largest
    assert np.abs(A @ a + bias).max() < 1e-10 * (np.abs(A) @ np.abs(a)).max()


@pytest.mark.parametrize("n_p", [3, 2, 0])
def test_inverse(tree, n_p, rng):
    """A solution; and the gradient of what is to be smallest vanishes along the others."""
    model = to_model(tree)
    q, qd, qdd, tau_p, A, _ = state_of(tree, rng)
    active = np.arange(tree.nv) >= n_p
    for smallest in ("constraint force", "torque"):
        arguments = (model, q, qd, qdd, A, active, tau_p[:n_p], smallest)
        tau, lam = kim_dynamics.constrained_inverse_dynamics(*arguments)
        rest = tree.inverse_dynamics(q, qd, qdd) - tau - A.T @ lam
        assert np.abs(rest).max() < 1e-11 * max(np.abs(tau).max(), np.abs(A.T @ lam).max())
        assert (tau[:n_p] == tau_p[:n_p]).all()
        others = np.linalg.svd(A[:, :n_p].T)[2][n_p:].T if n_p else np.eye(3)
        slope = others.T @ (lam if smallest == "constraint force" else A[:, active] @ tau[active])
        assert np.abs(slope).max(initial=0.0) < 1e-10 * np.abs(tau).max()


@pytest.mark.parametrize("make", [five_bar, delta_robot])
def test_the_library(make, rng):
    """Mechanisms with independent loops: the same accelerations, joint forces and multipliers."""
    made = make()
    model, constraints, q = made.model, made.constraints, made.q
    qd, qdd, tau = rng.normal(size=(3, model.nv))
    A, bias = ld.constraint_jacobian(model, constraints, q), ld.constraint_bias(model, constraints, q, qd)
    mask = np.zeros(model.nv, bool)
    for name in made.actuated:
        mask[model.joint(name).v_slice] = True
    found = ld.constrained_forward_dynamics(model, constraints, q, qd, tau)
    expected = kim_dynamics.constrained_forward_dynamics(model, q, qd, tau, A, bias)
    assert relative(found.qdd, expected[0]) < 1e-10 and relative(found.multipliers, expected[1]) < 1e-10
    hybrid = ld.constrained_hybrid_dynamics(model, constraints, q, qd, qdd, tau, mask)
    expected = kim_dynamics.constrained_hybrid_dynamics(model, q, qd, qdd, tau, mask, A, bias)
    assert relative(hybrid.qdd, expected[0]) < 1e-10 and relative(hybrid.tau, expected[1]) < 1e-9
    assert relative(hybrid.multipliers, expected[2]) < 1e-9
    for smallest, resolution in (("constraint force", "least_constraint_force"), ("torque", "least_torque")):
        for active in (mask, np.ones(model.nv, bool)):
            back = ld.constrained_inverse_dynamics(
                model, constraints, q, qd, found.qdd, actuated=active, resolution=resolution,
                passive_torque=np.where(active, 0.0, tau),
            )  # fmt: skip
            arguments = (model, q, qd, found.qdd, A, active, tau[~active], smallest)
            expected = kim_dynamics.constrained_inverse_dynamics(*arguments)
            assert relative(back.tau, expected[0]) < 1e-9
            assert np.abs(back.multipliers - expected[1]).max() < 1e-9 * np.abs(found.multipliers).max()


def test_refused(rng):
    tree = branched(rng, ["revolute"] * 4, [None, 0, 1, 2])
    model = to_model(tree)
    q, qd, qdd, tau, A, bias = state_of(tree, rng)
    with pytest.raises(ld.InputError, match="3 constraints cannot hold 4"):
        kim_dynamics.constrained_inverse_dynamics(model, q, qd, qdd, A, np.zeros(4, bool), tau, "torque")
    with pytest.raises(ld.InputError, match="3 constraints on 2 free"):
        kim_dynamics.constrained_hybrid_dynamics(model, q, qd, qdd, tau, np.arange(4) < 2, A, bias)
