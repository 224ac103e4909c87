"""Constrained forward dynamics against dense systems of equations, redundancy, drift, and what is refused."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.compare import relative
from support.constraint_oracle import constrained_forward, loop_rows
from support.grids import every_run
from support.loops import random_loop, random_pose
from support.sample_trees import around, branched, chain, to_model, zoo

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import five_bar, four_bar

KINDS = ("welded", "revolute", "prismatic", "universal", "spherical", "point_in_plane", "distance")
TREES = {
    "free": lambda rng: branched(rng, ["free", "revolute", "universal", "spherical"] * 2, [None, 0, 1, 2, 0, 4, 5, 6]),
    "custom": lambda rng: chain(rng, ["spherical", "custom_rail", "planar", "custom_ball", "cylindrical", "free"]),
    "zoo": zoo,
}


def dense(tree, loops, q, qd, tau, f_ext=None):
    """Accelerations, and the generalised constraint forces, of a tree with loops."""
    rows = [loop_rows(loop, tree, q, qd) for loop in loops]
    A, bias = np.concatenate([r[1] for r in rows]), np.concatenate([r[2] for r in rows])
    qdd, force = constrained_forward(tree.mass_matrix(q), tree.bias_force(q, qd, f_ext), tau, A, bias)
    return qdd, A.T @ force


#: Each kind of loop in one tree, and one in the others.
USUAL = [*product(["free"], KINDS), ("custom", "welded"), ("zoo", "universal")]


@pytest.mark.parametrize(("name", "kind"), every_run(USUAL, product(TREES, KINDS)))
def test_one_loop(name, kind, rng):
    tree = TREES[name](rng)
    model = to_model(tree)
    free = next(b.name for b in tree.bodies if b.motion.nv == 6)
    loop = random_loop(rng, kind, tree.moving[-1] if tree.moving[-1] != free else tree.moving[-2], free)
    constraints = ld.ConstraintSet(model, [loop])
    q, qd, tau = tree.random(rng), rng.normal(size=tree.nv), rng.normal(size=tree.nv)
    f_ext = rng.normal(size=(len(tree.moving), 6))
    for wrench in (None, f_ext):
        expected, force = dense(tree, [loop], q, qd, tau, wrench)
        found = ld.constrained_forward_dynamics(model, constraints, q, qd, tau, wrench)
        M = tree.mass_matrix(q)
        scale = np.abs(M) @ np.abs(expected)
        assert np.abs(M @ (found.qdd - expected)).max() < 1e-11 * max(scale.max(), np.abs(tau).max())
        A = ld.constraint_quantities(model, constraints, q, qd).jacobian
        assert relative(A.T @ found.multipliers, force) < 1e-10
        assert found.rank == loop.size
        assert found.residual < 1e-12
        assert np.array_equal(found.tau, tau)


def test_residual_is_round_off(rng):
    tree = TREES["free"](rng)
    model = to_model(tree)
    loops = [random_loop(rng, k, tree.moving[3], tree.moving[7], k) for k in ("spherical", "point_in_plane")]
    constraints = ld.ConstraintSet(model, loops)
    for _ in range(20):
        q, qd, tau = tree.random(rng), 10.0 * rng.normal(size=tree.nv), rng.normal(size=tree.nv)
        found = ld.constrained_forward_dynamics(model, constraints, q, qd, tau)
        c = ld.constraint_quantities(model, constraints, q, qd)
        unconstrained = ld.forward_dynamics(model, q, qd, tau)
        terms = np.abs(c.jacobian) @ (np.abs(found.qdd) + np.abs(unconstrained)) + np.abs(c.bias)
        assert (np.abs(c.jacobian @ found.qdd + c.bias) < 1e-13 * terms).all()


def test_loops_couplings_and_functions_together(rng):
    tree = branched(rng, ["free", "revolute", "prismatic", "revolute", "universal", "revolute"], [None, 0, 1, 0, 3, 4])
    model = to_model(tree)
    names = [j.name for j in model.joints]
    loop = random_loop(rng, "point_in_plane", tree.moving[2], tree.moving[5])
    own = ld.UserConstraint(
        "own", 1, lambda q: np.array([np.sin(q[7])]), lambda q: np.cos(q[7]) * np.eye(model.nv)[6:7]
    )
    constraints = ld.ConstraintSet(model, [own, ld.Coupling({names[1]: 1.0, names[3]: -2.0}), loop])
    assert list(constraints.slices) == ["point_in_plane", names[1] + "+" + names[3], "own"]
    q, qd, tau = tree.random(rng), rng.normal(size=tree.nv), rng.normal(size=tree.nv)
    c = ld.constraint_quantities(model, constraints, q, qd)
    assert c.bias[2] == pytest.approx(-np.sin(q[7]) * qd[6] ** 2, rel=1e-9)
    expected, force = constrained_forward(tree.mass_matrix(q), tree.bias_force(q, qd), tau, c.jacobian, c.bias)
    found = ld.constrained_forward_dynamics(model, constraints, q, qd, tau)
    assert relative(found.qdd, expected) < 1e-11
    assert relative(found.multipliers, force) < 1e-11


@pytest.mark.parametrize("copies", [2, 3])
def test_dependent_constraints_give_the_same_motion_and_the_rank(copies, rng):
    tree = TREES["free"](rng)
    model = to_model(tree)
    loop = random_loop(rng, "revolute", tree.moving[3], tree.moving[7])
    more = [replace(loop, name=f"copy {k}") for k in range(copies)]
    q, qd, tau = tree.random(rng), rng.normal(size=tree.nv), rng.normal(size=tree.nv)
    once = ld.constrained_forward_dynamics(model, ld.ConstraintSet(model, [loop]), q, qd, tau)
    found = ld.constrained_forward_dynamics(model, ld.ConstraintSet(model, more), q, qd, tau)
    assert (once.rank, found.rank) == (5, 5)
    assert relative(found.qdd, once.qdd) < 1e-11
    # Of all multipliers that do it these are the smallest: every copy carries the same.
    assert relative(found.multipliers, np.tile(once.multipliers / copies, copies)) < 1e-9
    assert found.residual < 1e-12


def test_a_spatial_hinge_in_a_plane_has_rank_two(rng):
    plane, space = four_bar(), four_bar(spatial=True)
    qd = np.array([1.0, 0.0, 0.0])
    A = ld.constraint_quantities(plane.model, plane.constraints, plane.q, qd).jacobian
    qd = np.append(1.0, np.linalg.solve(A[:, 1:], -A[:, 0]))
    tau = rng.normal(size=3)
    a = ld.constrained_forward_dynamics(plane.model, plane.constraints, plane.q, qd, tau)
    b = ld.constrained_forward_dynamics(space.model, space.constraints, space.q, qd, tau)
    assert (a.rank, b.rank, space.constraints.size) == (2, 2, 5)
    assert relative(b.qdd, a.qdd) < 1e-12


def test_a_turned_plane_does_not_hide_the_rank(rng):
    """Out of the plane, entries of A are round-off rather than zero; they must not count."""
    flat = four_bar(spatial=True)
    turn = random_pose(rng)
    builder = ld.ModelBuilder()
    builder.add("base", None, placement=turn)
    rods = flat.model
    for name, parent in (("crank", "base"), ("coupler", "crank"), ("rocker", "base")):
        frame = np.eye(4)
        frame[0, 3] = {"crank": 0.0, "coupler": 0.3, "rocker": 1.0}[name]
        builder.add(name, parent, ld.joint_types.revolute(), frame, rods.inertia(name))
    model = builder.build()
    ends = {"first_placement": np.eye(4), "second_placement": np.eye(4)}
    ends["first_placement"][0, 3], ends["second_placement"][0, 3] = 0.9, 0.7
    constraints = ld.ConstraintSet(model, [ld.Loop.revolute("coupler", "rocker", **ends)])
    assert np.abs(ld.constraint_error(model, constraints, flat.q)).max() < 1e-14
    assert ld.constrained_forward_dynamics(model, constraints, flat.q, np.zeros(3), np.ones(3)).rank == 2


def test_no_constraints_and_locked_mechanisms(rng):
    tree = around(rng, "universal")
    model = to_model(tree)
    q, qd, tau = tree.random(rng), rng.normal(size=tree.nv), rng.normal(size=tree.nv)
    found = ld.constrained_forward_dynamics(model, ld.ConstraintSet(model, []), q, qd, tau)
    assert relative(found.qdd, ld.forward_dynamics(model, q, qd, tau)) < 1e-14
    assert (found.rank, found.multipliers.shape, found.wrenches.shape) == (0, (0,), (0, 6))
    every = ld.ConstraintSet(
        model, [ld.UserConstraint("all", tree.nv, lambda x: x[: tree.nv], lambda x: np.eye(tree.nv))]
    )
    found = ld.constrained_forward_dynamics(model, every, q, qd, tau)
    assert found.rank == tree.nv
    assert np.abs(found.qdd).max() < 1e-9 * np.abs(ld.forward_dynamics(model, q, qd, tau)).max()


def test_baumgarte_adds_what_it_says(rng):
    tree = TREES["free"](rng)
    model = to_model(tree)
    loop = random_loop(rng, "universal", tree.moving[3], tree.moving[7])
    for more in ([], [ld.Coupling({model.joint_names[1]: 1.0}, 0.2)]):
        constraints = ld.ConstraintSet(model, [loop, *more])
        q, qd, tau = tree.random(rng), rng.normal(size=tree.nv), rng.normal(size=tree.nv)
        c = ld.constraint_quantities(model, constraints, q, qd)
        found = ld.constrained_forward_dynamics(model, constraints, q, qd, tau, stabilization=ld.Baumgarte(7.0, 0.5))
        expected = -(7.0 * c.rate + 49.0 * c.error)
        assert np.abs(c.jacobian @ found.qdd + c.bias - expected).max() < 1e-10 * np.abs(expected).max()
    with pytest.raises(ld.InputError, match="finite and not negative"):
        ld.Baumgarte(-1.0)


def test_batches_losses_and_lists(rng):
    tree = TREES["free"](rng)
    model = to_model(tree)
    loop = random_loop(rng, "revolute", tree.moving[3], tree.moving[7])
    constraints = ld.ConstraintSet(model, [loop])
    q = np.array([tree.random(rng) for _ in range(4)]).reshape(2, 2, -1)
    qd, tau = rng.normal(size=(2, tree.nv)), rng.normal(size=tree.nv)
    found = ld.constrained_forward_dynamics(model, constraints, q, qd, tau)
    assert found.qdd.shape == (2, 2, tree.nv)
    assert found.wrenches.shape == (2, 2, 1, 6)
    assert found.rank.tolist() == [[5, 5], [5, 5]]
    single = ld.constrained_forward_dynamics(model, constraints, q[1, 0].tolist(), qd[0].tolist(), tau.tolist())
    fast = ld.constrained_forward_dynamics(model, constraints, q[1, 0].copy(), qd[0].copy(), tau)
    for one in (single, fast):
        assert relative(found.qdd[1, 0], one.qdd) < 1e-13
        assert relative(found.wrenches[1, 0], one.wrenches) < 1e-13


def test_losses_and_armature():
    builder = ld.ModelBuilder((0, -9.81, 0))
    rod = five_bar().model.inertia("crank_1")
    for k in range(2):
        builder.add(f"rod {k}", None, ld.joint_types.revolute(), None, rod, damping=0.3, friction=0.1, armature=0.05)
    model = builder.build()
    constraints = ld.ConstraintSet(model, [ld.Coupling.gear("rod 0", "rod 1", -1.0)])
    q, qd, tau = np.array([0.3, -0.3]), np.array([1.0, -1.0]), np.array([0.2, 0.1])
    full = model.with_joint_terms(True, True, True)
    found = ld.constrained_forward_dynamics(full, constraints, q, qd, tau)
    M = ld.mass_matrix(full, q)
    lost = 0.3 * qd + 0.1 * np.sign(qd)
    b = -ld.forward_dynamics(full, q, 0 * qd, 0 * tau) @ M
    expected, _ = constrained_forward(M, b, tau - lost, np.array([[1.0, 1.0]]), np.zeros(1))
    assert relative(found.qdd, expected) < 1e-12


def test_what_is_refused(rng):
    flat = five_bar()
    model, constraints, q = flat.model, flat.constraints, flat.q
    zero = np.zeros(5)
    with pytest.raises(ld.InputError, match=r"tau: shape \(\.\.\., 5\) is expected"):
        ld.constrained_forward_dynamics(model, constraints, q, zero, np.zeros(4))
    with pytest.raises(ld.InputError, match="joint_3"):
        ld.constrained_forward_dynamics(model, constraints, q, zero, np.array([0, 0, np.nan, 0, 0]))
    with pytest.raises(ld.InputError, match="ConstraintSet is expected"):
        ld.constrained_forward_dynamics(model, None, q, zero, zero)
    with pytest.raises(ld.InputError, match="other joints or frames"):
        ld.constrained_forward_dynamics(four_bar().model, constraints, np.zeros(3), np.zeros(3), np.zeros(3))
    tree = TREES["free"](rng)
    floating = to_model(tree)
    loop = ld.ConstraintSet(floating, [random_loop(rng, "spherical", tree.moving[3], tree.moving[7])])
    bad = 1.1 * tree.random(rng)
    with pytest.raises(ld.GroupError, match="unit quaternion"):
        ld.constrained_forward_dynamics(floating, loop, bad, np.zeros(tree.nv), np.zeros(tree.nv))
    massless = (
        ld.ModelBuilder().add("rod", None, ld.joint_types.revolute()).add("end", "rod", ld.joint_types.revolute())
    )
    thin = massless.build()
    with pytest.raises(ld.SingularityError, match="with its loops cut"):
        ld.constrained_forward_dynamics(
            thin, ld.ConstraintSet(thin, [ld.Coupling.gear("rod", "end", 1.0)]), np.zeros(2), np.zeros(2), np.ones(2)
        )


@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-7, 1e-9, 0.0])
def test_through_a_fold(distance):
    """A parallelogram near its fold, where A loses a rank: accelerations stay smooth, the rank tells."""
    made = four_bar((1.0, 0.5, 1.0, 0.5), crank=distance)
    model, constraints = made.model, made.constraints
    q, qd = np.array([distance, -distance, distance]), np.array([1.0, -1.0, 1.0])
    found = ld.constrained_forward_dynamics(model, constraints, q, qd, np.zeros(3))
    assert found.rank == (2 if distance > 1e-5 else 1)
    # Crank and rocker turn together and the coupler does not turn: one rod of 0.5 m with the coupler at its end.
    inertia = 2.0 * 0.5**2 / 3.0 + 0.5**2
    expected = -9.81 * (0.5 + 0.5) * np.cos(distance) / inertia
    assert found.qdd[0] == pytest.approx(expected, rel=1e-7)  # what counts as dependent may contribute that much
    assert found.residual < 1e-12


@pytest.mark.parametrize("bodies", [40, 500])
def test_long_chains_and_large_batches(bodies, rng):
    """More than the stack holds, and more states than the kernel takes at a time; equations of motion as the judge."""
    tree = ld.ModelBuilder()
    place = np.eye(4)
    place[:3, :3] = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    for k in range(bodies):
        rod = ld.SpatialInertia(1.0, [0.05, 0.0, 0.0], np.diag([1e-4, 1e-3, 1e-3]))
        tree.add(f"rod {k}", f"rod {k - 1}" if k else None, ld.joint_types.revolute(), place, rod)
        place[0, 3] = 0.1
    model = tree.build()
    constraints = ld.ConstraintSet(
        model, [ld.Loop.welded("world", f"rod {bodies - 1}"), ld.Loop.distance("rod 5", "rod 30", 1)]
    )
    count = 600 if bodies == 40 else 1
    q, qd, tau = 0.1 * rng.normal(size=(3, count, bodies))
    found = ld.constrained_forward_dynamics(model, constraints, q, qd, tau)
    single = ld.constrained_forward_dynamics(model, constraints, q[-1], qd[-1], tau[-1])
    assert relative(found.qdd[-1], single.qdd) < 1e-12
    c = ld.constraint_quantities(model, constraints, q, qd)
    force = (found.multipliers[:, None] @ c.jacobian)[:, 0]
    rest = ld.inverse_dynamics(model, q, qd, found.qdd) - tau - force
    assert np.abs(rest).max() < 1e-10 * np.abs(force).max()
    assert found.residual.max() < 1e-12
    assert set(found.rank.tolist()) == {7}
