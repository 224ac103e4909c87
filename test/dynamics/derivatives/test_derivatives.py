"""Derivatives along all coordinates: against complex steps through the definition, for every kind of joint."""

import numpy as np
import pytest
from support.compare import relative
from support.sample_trees import around, chain, each_kind, to_model, zoo

from lie_dynamics_ros import lie_dynamics as ld

STEP = 1e-30
BLOCKS = ("dqdd_dq", "dqdd_dqd", "dqdd_dgiven", "dtau_dq", "dtau_dqd", "dtau_dgiven")
KINDS = each_kind("fixed")


def state(tree, rng):
    return tree.random(rng), *rng.normal(size=(2, tree.nv))


def by_complex_steps(tree, q, qd, qdd, f_ext=None):
    """d tau / dq, d tau / dqd and the mass matrix, from the definition."""
    found = []
    for e in 1j * STEP * np.eye(tree.nv):
        found.append(
            [
                tree.inverse_dynamics(q, qd, qdd, f_ext, step=e).imag / STEP,
                tree.inverse_dynamics(q, qd + e, qdd, f_ext).imag / STEP,
            ]
        )
    dq, dqd = np.moveaxis(np.array(found), 0, -1)
    return dq, dqd, tree.mass_matrix(q)


def blocks_of(hybrid):
    return [getattr(hybrid, name) for name in BLOCKS]


def solved(mask, dq, dqd, M):
    """The eight blocks of hybrid dynamics from those of inverse dynamics, densely."""
    n, free = len(mask), ~mask
    R = np.hstack([dq, dqd, np.where(mask, M, -np.eye(n))])
    motion = np.zeros_like(R)
    motion[free] = -np.linalg.solve(M[np.ix_(free, free)], R[free])
    effort = R + M @ motion
    motion[mask, 2 * n :] = np.eye(n)[mask]
    effort[free] = np.hstack([np.zeros((n, 2 * n)), np.eye(n)])[free]
    return [*np.split(motion, 3, axis=1), *np.split(effort, 3, axis=1)]


@pytest.mark.parametrize("loaded", [pytest.param(False, marks=pytest.mark.slow), True], ids=["", "loaded"])
@pytest.mark.parametrize("kind", KINDS)
def test_inverse_dynamics(kind, loaded, rng):
    tree = around(rng, kind)
    model = to_model(tree)
    q, qd, qdd = state(tree, rng)
    f_ext = rng.normal(size=(model.n_bodies, 6)) if loaded else None
    found = ld.inverse_dynamics_derivatives(model, q, qd, qdd, f_ext)
    for name, expected in zip(("dq", "dqd", "dqdd"), by_complex_steps(tree, q, qd, qdd, f_ext), strict=True):
        assert relative(getattr(found, name), expected) < 1e-11, name


def test_inverse_dynamics_of_every_kind_of_joint_in_one_tree(rng):
    tree = zoo(rng)
    model = to_model(tree)
    q, qd, qdd = state(tree, rng)
    found = ld.inverse_dynamics_derivatives(model, q, qd, qdd)
    for actual, expected in zip(found, by_complex_steps(tree, q, qd, qdd), strict=True):
        assert relative(actual, expected) < 1e-11


@pytest.mark.parametrize("kind", KINDS)
def test_forward_and_hybrid_dynamics(kind, rng):
    tree = around(rng, kind)
    model = to_model(tree)
    q, qd, qdd = state(tree, rng)
    f_ext = rng.normal(size=(model.n_bodies, 6))
    tau = tree.inverse_dynamics(q, qd, qdd, f_ext)
    blocks = by_complex_steps(tree, q, qd, qdd, f_ext)
    limit = 1e-14 * max(1e3, np.linalg.cond(blocks[2]))
    forward = ld.forward_dynamics_derivatives(model, q, qd, tau, f_ext)
    expected = solved(np.zeros(tree.nv, bool), *blocks)[:3]
    for name, value in zip(("dq", "dqd", "dtau"), expected, strict=True):
        assert relative(getattr(forward, name), value) < limit, name
    assert relative(forward.qdd, qdd) < limit
    for _ in range(3):
        mask = rng.random(tree.nv) < 0.5
        given = np.where(mask, qdd, np.nan), np.where(mask, np.nan, tau)
        hybrid = ld.hybrid_dynamics_derivatives(model, q, qd, *given, mask, f_ext)
        for name, value in zip(BLOCKS, solved(mask, *blocks), strict=True):
            assert relative(getattr(hybrid, name), value) < limit, name
        assert relative(hybrid.qdd, qdd) < limit
        assert relative(hybrid.tau, tau) < limit


def test_hybrid_dynamics_at_its_extremes(rng):
    tree = zoo(rng, without="custom_six")
    model = to_model(tree)
    q, qd, qdd = state(tree, rng)
    tau = ld.inverse_dynamics(model, q, qd, qdd)
    none, every = np.zeros(model.nv, bool), np.ones(model.nv, bool)
    forward = ld.forward_dynamics_derivatives(model, q, qd, tau)
    hybrid = ld.hybrid_dynamics_derivatives(model, q, qd, qdd, tau, none)
    for name, b in zip(BLOCKS[:3], forward[:3], strict=True):
        assert relative(getattr(hybrid, name), b) < 1e-10  # condition of M up to 1e6
    for block, unit in zip(blocks_of(hybrid)[3:], (0.0, 0.0, np.eye(model.nv)), strict=True):
        np.testing.assert_array_equal(block, np.broadcast_to(unit, block.shape))
    inverse = ld.inverse_dynamics_derivatives(model, q, qd, qdd)
    hybrid = ld.hybrid_dynamics_derivatives(model, q, qd, qdd, tau, every)
    for a, b in zip(blocks_of(hybrid)[3:], inverse, strict=True):
        assert relative(a, b) < 1e-13
    for block, unit in zip(blocks_of(hybrid)[:3], (0.0, 0.0, np.eye(model.nv)), strict=True):
        np.testing.assert_array_equal(block, np.broadcast_to(unit, block.shape))


def test_along_integrate(rng):
    """Central differences of sixth order along `Model.integrate`: what the derivatives are said to be."""
    model = to_model(chain(rng, ["free", "revolute", "spherical", "universal", "custom_ball"]))
    q = model.random(rng)
    qd, qdd, tau = rng.normal(size=(3, model.nv))

    def differences(function, h=0.02):
        columns = []
        for e in np.eye(model.nv):
            steps = [(model.integrate(q, k * h * e), model.integrate(q, -k * h * e)) for k in (1, 2, 3)]
            ends = [function(a) - function(b) for a, b in steps]
            columns.append((ends[0] * 45 - ends[1] * 9 + ends[2]) / (60 * h))
        return np.array(columns).T

    found = ld.inverse_dynamics_derivatives(model, q, qd, qdd)
    assert relative(found.dq, differences(lambda x: ld.inverse_dynamics(model, x, qd, qdd))) < 1e-8
    forward = ld.forward_dynamics_derivatives(model, q, qd, tau)
    assert relative(forward.dq, differences(lambda x: ld.forward_dynamics(model, x, qd, tau), 0.005)) < 1e-8


@pytest.mark.parametrize("batch", [(1,), (2, 3)], ids=str)
def test_batches(batch, rng):
    tree = zoo(rng)
    model = to_model(tree)
    q = np.array([tree.random(rng) for _ in range(int(np.prod(batch)))]).reshape(*batch, -1)
    qd, qdd, tau = rng.normal(size=(3, *batch, tree.nv))
    f_ext = rng.normal(size=(model.n_bodies, 6))
    mask = rng.random(tree.nv) < 0.5
    calls = (
        lambda s: ld.inverse_dynamics_derivatives(model, q[s], qd[s], qdd[s], f_ext),
        lambda s: ld.forward_dynamics_derivatives(model, q[s], qd[s], tau[s], f_ext),
        lambda s: blocks_of(ld.hybrid_dynamics_derivatives(model, q[s], qd[s], qdd[s], tau[s], mask, f_ext)),
        lambda s: (ld.torque_regressor(model, q[s], qd[s], qdd[s]),),
    )
    for call, limit in zip(calls, (1e-13, 1e-9, 1e-9, 1e-13), strict=True):  # condition of M up to 1e6
        whole = call(...)
        for index in np.ndindex(*batch):
            for a, b in zip(whole, call(index), strict=True):
                assert relative(a[index], b) < limit


def test_bias_and_gravity(rng):
    tree = around(rng, "planar")
    model = to_model(tree)
    q, qd, _ = state(tree, rng)
    zero = np.zeros(model.nv)
    dq, dqd, _ = by_complex_steps(tree, q, qd, zero)
    found = ld.bias_force_derivatives(model, q, qd)
    assert relative(found[0], dq) < 1e-12
    assert relative(found[1], dqd) < 1e-12
    hessian = ld.gravity_force_derivatives(model, q)
    assert relative(hessian, by_complex_steps(tree, q, zero, zero)[0]) < 1e-12
    assert relative(hessian, hessian.T) < 1e-13


@pytest.mark.parametrize("kind", KINDS)
def test_gravity_for_every_kind_of_joint(rng, kind):
    """One state and a batch, in a tree around any kind of joint; ball and free joints make no symmetric matrix."""
    tree = around(rng, kind)
    model = to_model(tree)
    q = tree.random(rng)
    zero = np.zeros(model.nv)
    expected = by_complex_steps(tree, q, zero, zero)[0]
    assert relative(ld.gravity_force_derivatives(model, q), expected) < 1e-12
    assert relative(ld.gravity_force_derivatives(model, np.tile(q, (9, 1)))[8], expected) < 1e-12


def test_joint_terms(rng):
    """Armature enters all, damping the derivatives along rates; away from rest dry friction enters none."""
    rod = ld.SpatialInertia(2.0, [0.3, 0.1, 0.2], np.diag([0.02, 0.03, 0.04]))
    losses = {"armature": [0.3, 0.2], "damping": [0.4, 0.7], "friction": [0.1, 0.2]}
    builder = ld.ModelBuilder()
    for k, parent in enumerate((None, "0", "1", "1")):
        place = np.eye(4)
        place[:3, 3] = 0.1, 0.3, 0.2 * k
        builder.add(str(k), parent, ld.joint_types.universal([0, 0, 1], [1, 2, k]), place, rod, **losses)
    model = builder.build("lossy").with_joint_terms(armature=True, damping=True, friction=True)
    q, qd, qdd = rng.normal(size=(3, model.nv))
    h, D = 1e-4, np.diag(np.tile(losses["damping"], 4))
    plain = builder.build("lossy").with_joint_terms(armature=True)
    found, bare = (ld.inverse_dynamics_derivatives(m, q, qd, qdd) for m in (model, plain))
    assert relative(found.dq, bare.dq) < 1e-13
    assert relative(found.dqd, bare.dqd + D) < 1e-14
    assert relative(found.dqdd, ld.mass_matrix(model, q)) < 1e-12
    tau = ld.inverse_dynamics(model, q, qd, qdd)
    mask = np.arange(model.nv) % 3 == 0
    forward = ld.forward_dynamics_derivatives(model, q, qd, tau)
    hybrid = ld.hybrid_dynamics_derivatives(model, q, qd, qdd, tau, mask)
    assert relative(forward.qdd, qdd) < 1e-12
    assert relative(hybrid.tau, tau) < 1e-12

    def slope(function):
        ends = [[function(k * h * e) - function(-k * h * e) for e in np.eye(model.nv)] for k in (1, 2)]
        return ((8 * np.array(ends[0]) - np.array(ends[1])) / (12 * h)).T

    # Rates enter squared, so differences are exact but for round-off.
    assert relative(forward.dqd, slope(lambda x: ld.forward_dynamics(model, q, qd + x, tau))) < 1e-9
    for k, block in ((0, hybrid.dqdd_dqd), (1, hybrid.dtau_dqd)):
        assert relative(block, slope(lambda x, k=k: ld.hybrid_dynamics(model, q, qd + x, qdd, tau, mask)[k])) < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_regressor(kind, rng):
    tree = around(rng, kind)
    model = to_model(tree)
    q, qd, qdd = state(tree, rng)
    Y = ld.torque_regressor(model, q, qd, qdd)
    pi = np.concatenate([model.inertia(b).parameters() for b in range(model.n_bodies)])
    assert relative(Y @ pi, tree.inverse_dynamics(q, qd, qdd)) < 1e-12
    for body in range(model.n_bodies):  # column by column: one body changes at a time
        mass, com = rng.uniform(1, 2), rng.normal(size=3)
        inertia = np.diag([3.0, 4.0, 5.0]) + 0.1 * np.ones((3, 3))
        changed = ld.SpatialInertia(mass, com, inertia)
        rest = pi.copy()
        rest[10 * body : 10 * body + 10] = changed.parameters()
        tau = ld.inverse_dynamics(model.with_inertia(body, changed), q, qd, qdd)
        assert relative(Y @ rest, tau) < 1e-12
