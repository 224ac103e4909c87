"""Constrained inverse and hybrid dynamics: the unique case, choices of resolution, limits, and refusals."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from support.compare import relative
from support.loops import random_loop
from support.sample_trees import branched, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import delta_robot, five_bar, four_bar

TWO = ["joint_1", "joint_5"]
THREE = ["joint_1", "joint_2", "joint_5"]


def moving(mechanism, rng):
    """A consistent motion of a mechanism."""
    model, constraints, q = mechanism.model, mechanism.constraints, mechanism.q
    qd = ld.consistent_velocity(model, constraints, q, rng.normal(size=model.nv))
    qdd = ld.consistent_acceleration(model, constraints, q, qd, rng.normal(size=model.nv))
    return model, constraints, q, qd, qdd


def mask_of(model, names):
    mask = np.zeros(model.nv, bool)
    for name in names:
        mask[model.joint(name).v_slice] = True
    return mask


@pytest.mark.parametrize("make", [four_bar, five_bar, delta_robot])
def test_the_unique_case_undoes_forward_dynamics(make, rng):
    model, constraints, q, qd, _ = moving(make(), rng)
    names = make().actuated
    tau = np.where(mask_of(model, names), rng.normal(size=model.nv), 0.0)
    forward = ld.constrained_forward_dynamics(model, constraints, q, qd, tau)
    found = ld.constrained_inverse_dynamics(model, constraints, q, qd, forward.qdd, actuated=names)
    assert relative(found.tau, tau) < 1e-11
    assert relative(found.multipliers, forward.multipliers) < 1e-10
    assert relative(found.wrenches, forward.wrenches) < 1e-10
    assert found.residual < 1e-13
    for resolution in ("least_torque", "weighted"):
        weights = {"torque_weights": 2.0} if resolution == "weighted" else {}
        other = ld.constrained_inverse_dynamics(
            model, constraints, q, qd, forward.qdd, actuated=names, resolution=resolution, **weights
        )
        assert relative(other.tau, tau) < 1e-10


def solutions(model, constraints, q, qd, qdd, mask, passive):
    """A particular (tau_a, lambda) and the null space of the equations of motion, by one dense factorisation."""
    load = ld.inverse_dynamics(model, q, qd, qdd)
    A = ld.constraint_jacobian(model, constraints, q)
    n_a, m = int(mask.sum()), constraints.size
    system = np.zeros((model.nv, n_a + m))
    system[mask, :n_a] = np.eye(n_a)
    system[:, n_a:] = A.T
    right = load - np.where(mask, 0.0, passive)
    u, s, vt = np.linalg.svd(system)
    rank = int((s > 1e-11 * s[0]).sum())
    return vt[:rank].T @ (u.T[:rank] @ right / s[:rank]), vt[rank:].T, n_a


@pytest.mark.parametrize("names", [THREE, [f"joint_{k}" for k in range(1, 6)]])
def test_redundant_actuation_is_optimal(names, rng):
    model, constraints, q, qd, qdd = moving(five_bar(), rng)
    mask, passive = mask_of(model, names), rng.normal(size=5)
    base, null, n_a = solutions(model, constraints, q, qd, qdd, mask, passive)
    wa, wf = rng.uniform(0.5, 2.0, n_a), rng.uniform(0.5, 2.0, 3)
    for resolution, weights, squares in (
        ("least_constraint_force", {}, np.append(np.zeros(n_a), np.ones(3))),
        ("least_torque", {}, np.append(np.ones(n_a), np.zeros(3))),
        ("weighted", {"torque_weights": wa, "force_weights": wf}, np.append(wa, wf)),
    ):
        found = ld.constrained_inverse_dynamics(
            model, constraints, q, qd, qdd, actuated=names, resolution=resolution, passive_torque=passive, **weights
        )
        x = np.append(found.tau[mask], found.multipliers)
        steps = np.linalg.lstsq(null, x - base, rcond=None)[0]
        assert np.abs(base + null @ steps - x).max() < 1e-11 * np.abs(x).max()  # it is a solution
        slope = null.T @ (squares * x)
        assert np.abs(slope).max() < 1e-10 * np.abs(squares * x).max() + 1e-13  # and no other one is better
        assert relative(found.tau[~mask], passive[~mask]) < 1e-15
        assert found.rank == 5 - n_a


def test_all_actuated_is_the_pseudo_inverse(rng):
    """Kim (65), (66)."""
    model, constraints, q, qd, qdd = moving(five_bar(), rng)
    A, load = ld.constraint_jacobian(model, constraints, q), ld.inverse_dynamics(model, q, qd, qdd)
    expected = np.linalg.solve(A @ A.T, A @ load)
    found = ld.constrained_inverse_dynamics(model, constraints, q, qd, qdd, resolution="least_torque")
    assert relative(found.multipliers, expected) < 1e-12
    assert relative(found.tau, load - A.T @ expected) < 1e-11
    lazy = ld.constrained_inverse_dynamics(model, constraints, q, qd, qdd)
    assert not lazy.multipliers.any()
    assert relative(lazy.tau, load) < 1e-15


@pytest.mark.parametrize("resolution", ["least_constraint_force", "least_torque"])
def test_torque_limits(resolution, rng):
    model, constraints, q, qd, qdd = moving(five_bar(), rng)
    mask = mask_of(model, THREE)

    def solve(limits):
        return ld.constrained_inverse_dynamics(
            model, constraints, q, qd, qdd, actuated=THREE, resolution=resolution, torque_limits=limits
        )

    free = solve(None)
    assert relative(solve(np.full(5, 1e3)).tau, free.tau) < 1e-13
    worst = int(np.argmax(np.abs(free.tau)))
    limits = np.full(5, np.inf)
    limits[worst] = 0.9 * abs(free.tau[worst])
    found = solve(limits)
    assert abs(found.tau[worst]) <= limits[worst] * (1.0 + 1e-9)
    assert found.residual < 1e-12
    # A general optimiser over the null space agrees.
    base, null, n_a = solutions(model, constraints, q, qd, qdd, mask, np.zeros(5))
    part = slice(n_a, None) if resolution == "least_constraint_force" else slice(0, n_a)
    bound = limits[mask]
    result = minimize(
        lambda s: ((base + null @ s)[part] ** 2).sum(),
        np.zeros(null.shape[1]),
        constraints=[
            {"type": "ineq", "fun": lambda s: np.minimum(bound, 1e6) - (base + null @ s)[:n_a]},
            {"type": "ineq", "fun": lambda s: np.minimum(bound, 1e6) + (base + null @ s)[:n_a]},
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    ours = np.append(found.tau[mask], found.multipliers)
    assert (ours[part] ** 2).sum() <= result.fun * (1.0 + 1e-6)
    assert np.abs(ours - (base + null @ result.x)).max() < 1e-4 * np.abs(ours).max()
    both = solve((-limits, limits))
    assert np.array_equal(both.tau, found.tau)
    with pytest.raises(ld.InputError, match="no joint forces within them"):
        solve(np.full(5, 1e-6))
    with pytest.raises(ld.InputError, match="torque_limits"):
        solve(-np.ones(5))


def test_too_few_actuators_are_refused_with_the_way_out(rng):
    model, constraints, q, qd, qdd = moving(five_bar(), rng)
    with pytest.raises(ld.InputError, match=r"3 independent constraints cannot hold 4 .* constrained_hybrid_dynamics"):
        ld.constrained_inverse_dynamics(model, constraints, q, qd, qdd, actuated=["joint_1"])
    tau = np.array([1.0, 0, 0, 0, 0])
    forward = ld.constrained_forward_dynamics(model, constraints, q, qd, tau)
    hybrid = ld.constrained_hybrid_dynamics(model, constraints, q, qd, forward.qdd, np.zeros(5), ["joint_1"])
    assert relative(hybrid.tau, tau) < 1e-10
    assert relative(hybrid.qdd, forward.qdd) < 1e-11


def test_a_singular_configuration_is_refused():
    """Couplers of a five-bar in one line: cranks as actuators lose hold of the tip."""
    made = five_bar((0.6, 0.3, 0.4, 0.4, 0.3), cranks=(1.8, 1.3))
    angle = np.arccos(1.0 / 3.0)  # the cranks' ends are 0.6 + 2 * 0.3 cos(angle) = 0.8 apart
    stretched = np.array([np.pi - angle, angle - np.pi, 0.0, np.pi + angle, angle])
    stretched = (stretched + np.pi) % (2 * np.pi) - np.pi
    zero = np.zeros(5)
    with pytest.raises(ld.SingularityError, match="hold only 2 of 3 passive"):
        ld.constrained_inverse_dynamics(made.model, made.constraints, stretched, zero, zero, actuated=TWO)
    found = ld.constrained_inverse_dynamics(made.model, made.constraints, stretched, zero, zero, actuated=THREE)
    assert found.residual < 1e-12


def test_bad_arguments(rng):
    model, constraints, q, qd, qdd = moving(five_bar(), rng)
    for options, message in (
        ({"resolution": "best"}, "least_constraint_force"),
        ({"torque_weights": 1.0}, "belong to resolution 'weighted'"),
        ({"resolution": "weighted"}, "above zero"),
        ({"resolution": "weighted", "torque_weights": -1.0}, "none negative"),
        ({"actuated": [True]}, "5 truth values"),
        ({"actuated": ["joint_9"]}, "joint_9"),
        ({"passive_torque": np.ones(4)}, "passive_torque"),
    ):
        with pytest.raises(ld.InputError, match=message):
            ld.constrained_inverse_dynamics(model, constraints, q, qd, qdd, **options)


def test_redundant_loops_share_the_load(rng):
    """Every constraint twice: the same joint forces, half of each multiplier."""
    flat = five_bar()
    model, _, q, qd, qdd = moving(flat, rng)
    loop = flat.constraints.loops[0]
    twice = ld.ConstraintSet(model, [replace(loop, name=name) for name in ("a", "b")])
    once = ld.constrained_inverse_dynamics(model, flat.constraints, q, qd, qdd, actuated=TWO)
    for resolution in ("least_constraint_force", "least_torque"):
        found = ld.constrained_inverse_dynamics(model, twice, q, qd, qdd, actuated=TWO, resolution=resolution)
        assert relative(found.tau, once.tau) < 1e-12
        assert relative(found.multipliers, 0.5 * np.tile(once.multipliers, 2)) < 1e-11


def test_batches(rng):
    model, constraints, q, qd, qdd = moving(five_bar(), rng)
    qdd = np.stack([qdd, qdd + ld.consistent_velocity(model, constraints, q, rng.normal(size=5))])
    found = ld.constrained_inverse_dynamics(model, constraints, q, qd, qdd, actuated=THREE)
    single = ld.constrained_inverse_dynamics(model, constraints, q, qd, qdd[1], actuated=THREE)
    assert found.tau.shape == (2, 5)
    assert relative(found.tau[1], single.tau) < 1e-12
    assert found.rank.tolist() == [2, 2]
    wrench = ld.loop_wrenches(model, constraints, q, found.multipliers)["cut"]
    assert relative(found.wrenches[:, 0], wrench) < 1e-13
    hybrid = ld.constrained_hybrid_dynamics(model, constraints, q, qd, qdd, found.tau, TWO)
    assert relative(hybrid.qdd, qdd) < 1e-10
    assert relative(hybrid.tau, found.tau) < 1e-10


@pytest.mark.parametrize("u", [[], [6, 9], [0, 3, 7]])
def test_hybrid_dynamics_of_a_floating_tree(u, rng):
    """Against the dense system of equations, for sets u within and across joints."""
    kinds = ["free", "revolute", "universal", "spherical", "prismatic", "revolute", "universal"]
    tree = branched(rng, kinds, [None, 0, 1, 2, 0, 4, 5])
    model = to_model(tree)
    loop = random_loop(rng, "universal", tree.moving[3], tree.moving[6])
    constraints = ld.ConstraintSet(model, [loop])
    q, qd, qdd, tau = tree.random(rng), *rng.normal(size=(3, tree.nv))
    mask = np.zeros(tree.nv, bool)
    mask[u] = True
    qdd[~mask], tau[mask] = np.nan, np.nan  # what is not read may be anything
    found = ld.constrained_hybrid_dynamics(model, constraints, q, qd, qdd, tau, mask)
    listed = ld.constrained_hybrid_dynamics(model, constraints, q.tolist(), qd, qdd, tau, mask)
    assert relative(listed.tau, found.tau) < 1e-13
    assert np.array_equal(found.qdd[mask], qdd[mask])
    assert np.array_equal(found.tau[~mask], tau[~mask])
    assert found.rank == 4
    A = ld.constraint_jacobian(model, constraints, q)
    rest = ld.inverse_dynamics(model, q, qd, found.qdd) - found.tau - A.T @ found.multipliers
    assert np.abs(rest).max() < 1e-11 * np.abs(found.tau).max()
    assert found.residual < 1e-12
    forward = ld.constrained_forward_dynamics(model, constraints, q, qd, found.tau)
    assert relative(found.qdd, forward.qdd) < 1e-9


def test_more_accelerations_than_freedoms(rng):
    """m > n_v: consistent ones are taken and forces shared out; others are refused, and the loop is named."""
    model, constraints, q, qd, qdd = moving(five_bar(), rng)
    mask = mask_of(model, ["joint_1", "joint_2", "joint_3", "joint_5"])
    tau = rng.normal(size=5)
    for resolution in ("least_constraint_force", "least_torque"):
        found = ld.constrained_hybrid_dynamics(model, constraints, q, qd, qdd, tau, mask, resolution=resolution)
        expected = ld.constrained_inverse_dynamics(
            model, constraints, q, qd, qdd, actuated=mask, passive_torque=tau, resolution=resolution
        )
        assert found.rank == 1
        assert relative(found.qdd, qdd) < 1e-10
        assert relative(found.tau, expected.tau) < 1e-9
        assert relative(found.multipliers, expected.multipliers) < 1e-9
    with pytest.raises(ld.InputError, match=r"contradict constraint 'cut'.*rank 1"):
        ld.constrained_hybrid_dynamics(model, constraints, q, qd, qdd + 0.1 * np.eye(5)[0], tau, mask)
    with pytest.raises(ld.InputError, match="contradict"):
        ld.constrained_hybrid_dynamics(model, constraints, q, qd, qdd + np.eye(5)[4], tau, np.ones(5, bool))
    with pytest.raises(ld.InputError, match="prescribed"):
        ld.constrained_hybrid_dynamics(model, constraints, q, qd, qdd, tau, np.ones(5))


@pytest.mark.parametrize("stabilization", [None, ld.Baumgarte(5.0)])
def test_a_constrained_model_is_what_the_functions_ask(stabilization, rng):
    made = five_bar()
    model, constraints, q, qd, qdd = moving(made, rng)
    tau, f_ext = rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6))
    of = ld.ConstrainedModel(model, constraints, ld.Resolution("least_torque"), stabilization)
    for wrench in (None, f_ext):
        pairs = [
            (of.forward(q, qd, tau, wrench),
             ld.constrained_forward_dynamics(model, constraints, q, qd, tau, wrench, stabilization=stabilization)),
            (of.inverse(q, qd, qdd, wrench, actuated=THREE),
             ld.constrained_inverse_dynamics(model, constraints, q, qd, qdd, wrench, actuated=THREE,
                                          resolution="least_torque")),
            (of.hybrid(q, qd, qdd, tau, TWO, wrench),
             ld.constrained_hybrid_dynamics(model, constraints, q, qd, qdd, tau, TWO, wrench, resolution="least_torque",
                                         stabilization=stabilization)),
        ]  # fmt: skip
        for found, expected in pairs:
            assert np.array_equal(found.packed, expected.packed) and np.array_equal(found.tau, expected.tau)


def test_a_constrained_model_refuses_what_is_none():
    made = five_bar()
    for wrong in (
        ("five-bar", made.constraints),
        (made.model, [made.constraints]),
        (four_bar().model, made.constraints),
        (made.model, made.constraints, "least_torque"),
        (made.model, made.constraints, ld.Resolution(), 5.0),
    ):
        with pytest.raises(ld.InputError):
            ld.ConstrainedModel(*wrong)


def test_options_that_nobody_knows_are_refused_as_python_does():
    made = five_bar()
    state = made.q, np.zeros(made.model.nv), np.zeros(made.model.nv)
    with pytest.raises(TypeError, match=r"constrained_inverse_dynamics\(\).*'resolutoin'"):
        ld.constrained_inverse_dynamics(made.model, made.constraints, *state, resolutoin="least_torque")
    with pytest.raises(TypeError, match=r"constrained_inverse_dynamics\(\).*'stabilization'"):
        ld.constrained_inverse_dynamics(made.model, made.constraints, *state, stabilization=None)
    assert {"torque_weights", "stabilization"} < set(inspect.signature(ld.constrained_hybrid_dynamics).parameters)
