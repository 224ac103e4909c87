"""Assembly of closed loops, consistent rates and accelerations, and projection against drift."""

import contextlib

import numpy as np
import pytest
from support.compare import relative
from support.loops import random_loop
from support.sample_trees import branched, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import delta_robot, five_bar, four_bar

WEIGHT = ld.SpatialInertia(1.0, np.zeros(3), 0.1 * np.eye(3))


@pytest.mark.parametrize("crank", [-2.5, -1.0, 0.3, 1.4, 3.0])
def test_four_bar_in_closed_form(crank):
    """Freudenstein's equation for the rocker, by the half-angle formula."""
    g, a, b, c = lengths = (1.0, 0.3, 0.9, 0.7)
    made = four_bar(lengths, crank=crank)
    k1, k2, k3 = g / a, g / c, (a * a - b * b + c * c + g * g) / (2.0 * a * c)
    A = np.cos(crank) - k1 - k2 * np.cos(crank) + k3
    B, C = -2.0 * np.sin(crank), k1 - (k2 + 1.0) * np.cos(crank) + k3
    rockers = [2.0 * np.arctan2(-B + s * np.sqrt(B * B - 4.0 * A * C), 2.0 * A) for s in (1.0, -1.0)]
    found = ld.assemble(made.model, made.constraints, made.q + np.array([0.0, 0.2, -0.1]), held=["crank"])
    assert found.converged
    assert found.q[0] == made.q[0]
    assert min(abs(np.exp(1j * found.q[2]) - np.exp(1j * r)) for r in rockers) < 1e-12
    assert (found.rank, found.mobility) == (2, 1)
    # The rocker's rate, from the derivative of the closure equation.
    qd = ld.consistent_velocity(made.model, made.constraints, found.q, [1.0, 0.0, 0.0], held=["crank"])
    coupler = found.q[0] + found.q[1]
    assert qd[2] == pytest.approx(a * np.sin(crank - coupler) / (c * np.sin(found.q[2] - coupler)), rel=1e-10)


def test_five_bar_in_closed_form():
    made = five_bar(cranks=(2.0, 1.1))
    q = made.q
    assert np.abs(np.exp(1j * q[[0, 4]]) - np.exp(1j * np.array([2.0, 1.1]))).max() < 1e-14
    tip = 0.3 * np.exp(1j * q[0]) + 0.5 * np.exp(1j * (q[0] + q[1]))
    second = 0.4 + 0.3 * np.exp(1j * q[4])
    assert abs(abs(tip - second) - 0.5) < 1e-14
    assert tip.imag > 0.0


def test_loops_between_all_kinds_of_joints(rng):
    kinds = ["free", "revolute", "universal", "spherical", "prismatic", "revolute", "planar"]
    tree = branched(rng, kinds, [None, 0, 1, 2, 0, 4, 5])
    model = to_model(tree)
    for kind in ("welded", "revolute", "universal", "spherical", "prismatic", "distance"):
        # Frame 2 is put where it must be at q, and the mechanism is then disturbed.
        q = tree.random(rng)
        loop = random_loop(rng, kind, tree.moving[3], tree.moving[6])
        T1 = ld.frame_pose(model, q, loop.first) @ loop.first_placement
        align = np.eye(4)
        if kind == "revolute":
            align[:3, :3] = rotation_between(loop.second_axis, loop.axis)
        if kind == "universal":
            align[:3, :3] = rotation_between(loop.second_axis, np.cross(loop.axis, [0.3, 0.5, 0.7]))
        if kind == "distance":
            align[0, 3] = loop.length
        second = np.linalg.inv(ld.frame_pose(model, q, loop.second)) @ T1 @ align
        closed = ld.Loop(
            **{k: v for k, v in vars(loop).items() if k != "second_placement" and v is not None},
            second_placement=second,
        )
        constraints = ld.ConstraintSet(model, [closed])
        assert np.abs(ld.constraint_error(model, constraints, q)).max() < 1e-13
        guess = model.integrate(q, 0.3 * rng.normal(size=model.nv))
        found = ld.assemble(model, constraints, guess)
        assert found.converged, kind
        assert np.abs(ld.constraint_error(model, constraints, found.q)).max() < 1e-12
        assert found.rank == loop.size


def rotation_between(a, b):
    """A rotation that takes the direction a to b."""
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    v = np.cross(a, b)
    k = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + k + k @ k / (1.0 + a @ b)


def upright(model, kind, q):
    """Cosine between the axes that the joint holds together; the least one where a frame is held."""
    R = ld.frame_pose(model, q, "body")[:3, :3]
    return R[0, 0] if kind == "welded_in_plane" else min(np.diag(R)) if kind in ("welded", "prismatic") else R[2, 2]


#: Places where all sines of a joint vanish that is not closed: half a turn about an axis that is held, and, of a frame,
#: a third of a turn about a diagonal.
UPSIDE_DOWN = [
    *((kind, [1, 0, 0, 0]) for kind in ("welded", "revolute", "prismatic", "planar", "cylindrical")),
    *((kind, [0, 0, 1, 0]) for kind in ("welded", "prismatic", "welded_in_plane")),
    *((kind, [-0.5, -0.5, -0.5, 0.5]) for kind in ("welded", "prismatic")),
]


@pytest.mark.parametrize(("kind", "turn"), UPSIDE_DOWN)
def test_never_upside_down(kind, turn, rng):
    model = ld.ModelBuilder().add("body", None, ld.joint_types.free(), inertia=WEIGHT).build()
    constraints = ld.ConstraintSet(model, [ld.Loop(kind, "world", "body")])
    still, held = np.zeros(6), np.zeros(6, bool)
    there = np.array([*turn, 0, 0, 0], float)
    assert np.abs(ld.constraint_error(model, constraints, there)).max() == pytest.approx(2.25)
    for refused in (
        lambda: ld.constrained_forward_dynamics(model, constraints, there, still, still),
        lambda: ld.constrained_forward_dynamics(model, constraints, [there, model.neutral()], still, still),
        lambda: ld.constrained_inverse_dynamics(model, constraints, there, still, still),
        lambda: ld.constrained_hybrid_dynamics(model, constraints, there, still, still, still, held),
        lambda: ld.constrained_forward_derivatives(model, constraints, there, still, still),
        lambda: ld.constrained_inverse_derivatives(model, constraints, there, still, still),
        lambda: ld.consistent_velocity(model, constraints, there, still),
        lambda: ld.consistent_acceleration(model, constraints, there, still, still),
    ):
        with pytest.raises(ld.InputError, match=r"loop .* is closed upside down"):
            refused()
    near, sizes = [], [0.0] * 2 + [0.3] * 10
    for size in sizes:
        guess = model.integrate(there, rng.normal(size=6) * size)
        found = ld.assemble(model, constraints, guess)
        assert found.converged or size == 0.0
        assert upright(model, kind, found.q) > (0.0 if kind == "welded_in_plane" else 0.9) or not found.converged
        with contextlib.suppress(ld.SingularityError):
            near.append(ld.project_to_constraints(model, constraints, guess)[0])
            assert upright(model, kind, near[-1]) > (0.0 if kind == "welded_in_plane" else 0.9)  # which may tilt
            assert np.abs(ld.constraint_error(model, constraints, near[-1])).max() < 1e-12
    assert len(near) > 0.5 * len(sizes) or turn[3] != 0  # from a third of a turn it may give up, never end there


def test_errors_of_a_turned_loop_have_the_jacobian(rng):
    """What is added beyond a quarter of a turn is constant, so A stays the derivative of the errors."""
    model = ld.ModelBuilder().add("body", None, ld.joint_types.free(), inertia=WEIGHT).build()
    for kind in ("welded", "revolute", "prismatic", "planar", "cylindrical", "welded_in_plane", "universal"):
        constraints = ld.ConstraintSet(model, [ld.Loop(kind, "world", "body")])
        for _ in range(10):
            q, step = model.random(rng), 1e-6 * rng.normal(size=6)
            change = np.subtract(
                *(ld.constraint_error(model, constraints, model.integrate(q, s * step)) for s in (1, -1))
            )
            rates = 2.0 * ld.constraint_quantities(model, constraints, q, step).rate
            np.testing.assert_allclose(change, rates, atol=1e-11)


def test_loops_that_cannot_close_are_reported():
    model = (
        ld.ModelBuilder()
        .add("a", None, ld.joint_types.revolute(), inertia=WEIGHT)
        .add("b", None, ld.joint_types.revolute(), placement=_at(5.0), inertia=WEIGHT)
        .build()
    )
    ends = {"first_placement": _at(1.0), "second_placement": _at(1.0)}
    constraints = ld.ConstraintSet(model, [ld.Loop.spherical("a", "b", name="rope", **ends)])
    found = ld.assemble(model, constraints, [0.4, 2.0])
    assert not found.converged
    assert found.worst == "rope"
    assert found.residual == pytest.approx(3.0, abs=1e-6)


def _at(x):
    T = np.eye(4)
    T[0, 3] = x
    return T


@pytest.mark.parametrize("make", [four_bar, five_bar, delta_robot])
def test_consistent_rates_are_the_nearest(make, rng):
    made = make()
    model, constraints, q = made.model, made.constraints, made.q
    wish, wish2 = rng.normal(size=(2, model.nv))
    c = ld.constraint_quantities(model, constraints, q, wish)
    qd = ld.consistent_velocity(model, constraints, q, wish)
    assert np.abs(c.jacobian @ qd).max() < 1e-13
    # What was taken away is orthogonal, in the metric of M, to all that is allowed.
    M = ld.mass_matrix(model, q)
    null = np.linalg.svd(c.jacobian)[2][np.linalg.matrix_rank(c.jacobian) :]
    assert np.abs(null @ M @ (wish - qd)).max() < 1e-12
    c = ld.constraint_quantities(model, constraints, q, qd)
    qdd = ld.consistent_acceleration(model, constraints, q, qd, wish2)
    assert np.abs(c.jacobian @ qdd + c.bias).max() < 1e-12 * (1.0 + np.abs(c.bias).max())
    assert np.abs(null @ M @ (wish2 - qdd)).max() < 1e-11


def test_held_rates(rng):
    made = five_bar()
    model, constraints, q = made.model, made.constraints, made.q
    held = ["joint_1", "joint_5"]
    qd = ld.consistent_velocity(model, constraints, q, [1.0, 0, 0, 0, -2.0], held=held)
    assert (qd[0], qd[4]) == (1.0, -2.0)
    with pytest.raises(ld.InputError, match="no rates satisfy constraint 'cut'"):
        ld.consistent_velocity(model, constraints, q, rng.normal(size=5), held=["joint_1", "joint_2", "joint_5"])
    with pytest.raises(ld.InputError, match="one state is expected"):
        ld.consistent_velocity(model, constraints, q, np.zeros((2, 5)))


@pytest.mark.parametrize("make", [lambda: four_bar(spatial=True), five_bar, delta_robot])
def test_projection(make, rng):
    made = make()
    model, constraints = made.model, made.constraints
    q = model.integrate(made.q, 1e-3 * rng.normal(size=(3, model.nv)))
    qd = rng.normal(size=(3, model.nv))
    x, v = ld.project_to_constraints(model, constraints, q, qd)
    error, rate = ld.constraint_error(model, constraints, x, v)
    assert np.abs(error).max() < 1e-13
    assert np.abs(rate).max() < 1e-13
    assert (ld.kinetic_energy(model, x, v) <= ld.kinetic_energy(model, x, qd)).all()
    moved = model.difference(q, x)
    assert 1e-5 < np.abs(moved).max() < 1e-1
    for k in range(3):
        assert relative(v[k], ld.consistent_velocity(model, constraints, x[k], qd[k])) < 1e-10
    again, same = ld.project_to_constraints(model, constraints, x, v)
    assert np.array_equal(again, x)
    assert np.abs(same - v).max() < 1e-12
    with pytest.raises(ld.SingularityError, match="does not close"):
        ld.project_to_constraints(model, constraints, model.integrate(made.q, rng.normal(size=model.nv)), iterations=1)
