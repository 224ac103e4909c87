"""A, dA/dt qd and errors of every cut joint against definitions on dense trees; couplings and user functions."""

import numpy as np
import pytest
from support.compare import relative
from support.constraint_oracle import loop_rows
from support.grids import every_run
from support.loops import random_loop, random_loops
from support.sample_trees import around, to_model, zoo

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.kinds import SIZES

TREES = {kind: (lambda rng, kind=kind: around(rng, kind)) for kind in ("universal", "spherical", "free", "custom_six")}
TREES["zoo"] = zoo


def upside_down(loop, poses):
    """Whether frames or axes of a loop are more than a quarter of a turn apart."""
    poses = {**poses, "world": np.eye(4)}
    R1, R2 = (poses[n] @ P for n, P in ((loop.first, loop.first_placement), (loop.second, loop.second_placement)))
    Q = R1[:3, :3].T @ R2[:3, :3]
    if loop.kind in ("welded", "prismatic"):
        return np.trace(Q) < 1.0
    if loop.kind == "welded_in_plane":
        return Q[0, 0] < 0.0
    return loop.kind in ("revolute", "cylindrical", "planar") and loop.axis @ Q @ loop.second_axis < 0.0


@pytest.mark.parametrize("name", every_run(["free"], TREES))
def test_loops_are_what_their_definitions_say(name, rng):
    tree = TREES[name](rng)
    model = to_model(tree)
    loops = random_loops(rng, tree)
    constraints = ld.ConstraintSet(model, loops)
    q, qd = tree.random(rng), rng.normal(size=tree.nv)
    found = ld.constraint_quantities(model, constraints, q, qd)
    assert found.jacobian.shape == (sum(SIZES.values()), tree.nv)
    for loop in loops:
        error, A, bias = loop_rows(loop, tree, q, qd)
        part = constraints.slices[loop.name]
        ours = found.jacobian[part]
        size = 1.0 + np.abs(A).max() + np.abs(bias).max()
        # An orthonormal basis across the axis is free to choose; products of components do not depend on it.
        assert np.abs(ours.T @ ours - A.T @ A).max() < 1e-12 * size**2, loop.kind
        assert np.abs(ours.T @ found.bias[part] - A.T @ bias).max() < 1e-12 * size**2, loop.kind
        ends = [found.error[part]]
        if upside_down(loop, tree.poses(q)):  # then one of the angles has been moved by 2.25
            ends = [ends[0] + s * row for s in (-2.25, 2.25) for row in np.eye(loop.size)]
        rest = [np.append(ours.T @ e - A.T @ error, e @ e - error @ error) for e in ends]
        assert min(np.abs(r).max() for r in rest) < 1e-12 * size**2, loop.kind
    assert relative(found.rate, found.jacobian @ qd) < 1e-13


def test_multipliers_are_wrenches_at_the_cut(rng):
    tree = zoo(rng)
    model = to_model(tree)
    loops = random_loops(rng, tree)
    constraints = ld.ConstraintSet(model, loops)
    q = tree.random(rng)
    force = rng.normal(size=constraints.size)
    wrenches = ld.loop_wrenches(model, constraints, q, force)
    A = ld.constraint_jacobian(model, constraints, q)
    poses, jacobians = tree.poses(q), tree.jacobians(q)
    poses["world"], jacobians["world"] = np.eye(4), np.zeros((6, tree.nv))
    for loop in loops:
        (T1, J1), (T2, J2) = (
            (poses[n] @ P, adjoint_inverse(P) @ jacobians[n])
            for n, P in ((loop.first, loop.first_placement), (loop.second, loop.second_placement))
        )
        relative_pose = np.linalg.inv(T1) @ T2
        expected = (J2 - adjoint_inverse(relative_pose) @ J1).T @ wrenches[loop.name]
        part = constraints.slices[loop.name]
        assert relative(A[part].T @ force[part], expected) < 1e-12, loop.kind


def adjoint_inverse(T):
    R, p = T[:3, :3], T[:3, 3]
    cross = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
    return np.block([[R.T, np.zeros((3, 3))], [-R.T @ cross, R.T]])


def test_batches_and_copies_of_the_model(rng):
    tree = zoo(rng)
    model = to_model(tree)
    constraints = ld.ConstraintSet(model, [*random_loops(rng, tree), *couplings(model)])
    q = np.array([[tree.random(rng) for _ in range(3)] for _ in range(2)])
    qd = rng.normal(size=(3, tree.nv))
    found = ld.constraint_quantities(model.with_gravity((0, 0, 1)), constraints, q, qd)
    assert found.jacobian.shape == (2, 3, constraints.size, tree.nv)
    single = ld.constraint_quantities(model, constraints, q[1, 2], qd[2])
    for one, all_ in zip(single, found, strict=True):
        assert np.array_equal(one, all_[1, 2])
    assert np.array_equal(ld.constraint_error(model, constraints, q), found.error)
    assert relative(ld.constraint_error(model, constraints, q, qd)[1], found.rate) < 1e-13
    assert np.array_equal(ld.constraint_bias(model, constraints, q, qd), found.bias)


def couplings(model):
    names = [j.name for j in model.joints if j.type.nq == 1 and j.type.custom is None]
    return [
        ld.Coupling.gear(names[0], names[1], 2.5, 0.1),
        ld.Coupling({n: 1.0 + k for k, n in enumerate(names[:3])}, 0.3),
    ]


def test_couplings(rng):
    model = to_model(zoo(rng))
    gear, sum_ = couplings(model)
    constraints = ld.ConstraintSet(model, [gear, sum_])
    q, qd = model.random(rng), rng.normal(size=model.nv)
    found = ld.constraint_quantities(model, constraints, q, qd)
    follower, leader = (model.joint(n) for n in gear.coefficients)
    assert abs(found.error[0] - (q[follower.q_slice] - 2.5 * q[leader.q_slice] - 0.1)[0]) < 1e-14
    assert abs(found.rate[0] - (qd[follower.v_slice] - 2.5 * qd[leader.v_slice])[0]) < 1e-14
    assert not found.bias.any()
    assert found.jacobian[1] @ qd == pytest.approx(
        sum(c * qd[model.joint(n).v_slice][0] for n, c in sum_.coefficients.items())
    )


def test_user_functions_with_and_without_derivatives(rng):
    """The function is that of a loop, so the exact answer is known, on joints of all kinds."""
    tree = zoo(rng)
    model = to_model(tree)
    loop = random_loop(rng, "universal", tree.moving[-1], tree.moving[0])
    exact = ld.ConstraintSet(model, [loop])
    q, qd = tree.random(rng), rng.normal(size=tree.nv)
    expected = ld.constraint_quantities(model, exact, q, qd)

    def function(x):
        return ld.constraint_error(model, exact, x)

    def jacobian(x):
        return ld.constraint_jacobian(model, exact, x)

    def bias(x, v):
        return ld.constraint_bias(model, exact, x, v)

    for given, limits in (
        ((function,), (1e-10, 1e-7)),  # first and second differences of order six
        ((function, jacobian), (1e-15, 1e-10)),
        ((function, jacobian, bias), (1e-15, 1e-15)),
    ):
        constraints = ld.ConstraintSet(model, [ld.UserConstraint("own", 4, *given)])
        found = ld.constraint_quantities(model, constraints, q, qd)
        assert relative(found.error, expected.error) < 1e-15
        assert relative(found.jacobian, expected.jacobian) < limits[0]
        assert relative(found.bias, expected.bias) < limits[1]
