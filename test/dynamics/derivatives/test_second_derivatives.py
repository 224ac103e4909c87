"""Second derivatives of inverse dynamics, against extrapolated differences of complex steps of the dense definition."""

import numpy as np
import pytest
from support.compare import relative
from support.grids import every_run
from support.motions import screw
from support.sample_trees import around, branched, custom_of_screws, each_kind, to_model

from lie_dynamics_ros.lie_dynamics import (
    InputError,
    ModelBuilder,
    SpatialInertia,
    forward_dynamics,
    forward_dynamics_second_derivatives,
    hybrid_dynamics,
    hybrid_dynamics_second_derivatives,
    inverse_dynamics,
    inverse_dynamics_second_derivatives,
    joint_types,
    mass_matrix,
)
from lie_dynamics_ros.lie_dynamics.dynamics.derivatives.tensors import PackedSecondDerivatives

STEP = 1e-30
NAMES = ("dq_dq", "dq_dqd", "dqd_dqd", "dq_dqdd")


def slopes(function, h=4e-3):
    """Derivative at 0 of a function of one number, by central differences of sixth order."""
    return sum(w * (function(s * h) - function(-s * h)) / (2 * s * h)
               for s, w in ((1, 64 / 45), (2, -20 / 45), (4, 1 / 45)))  # fmt: skip


def twice(function, *args, h=4e-3):
    """Second derivative at 0 of a function of a number, and others that are given, by central differences."""
    centre = function(0.0, *args)
    return sum(w * (function(s * h, *args) - 2 * centre + function(-s * h, *args)) / (s * h) ** 2
               for s, w in ((1, 64 / 45), (2, -20 / 45), (4, 1 / 45)))  # fmt: skip


def state_of(tree, model, seed):
    rng = np.random.default_rng(seed)
    return tree.random(rng), *rng.normal(size=(2, model.nv)), rng.normal(size=(model.n_bodies, 6))


@pytest.mark.parametrize("kind", each_kind("fixed"))
def test_against_differences_of_the_definition(kind):
    rng = np.random.default_rng(1)
    tree = branched(rng, ["revolute", kind, "prismatic", kind, "helical"], [None, 0, 1, 1, 2])
    model = to_model(tree)
    q, qd, qdd, f = state_of(tree, model, 2)
    found = inverse_dynamics_second_derivatives(model, q, qd, qdd, f_ext=f)

    def slope(u, w):
        """Derivatives of tau along u of q, then w of qd, at given q and qd."""
        return lambda q, qd: tree.inverse_dynamics(q, qd + 1j * STEP * w, qdd, f, step=1j * STEP * u).imag / STEP

    zero = np.zeros(model.nv)
    for u, w in rng.normal(size=(1 if model.nq > model.nv else 2, 2, model.nv)):
        one_way = slopes(lambda t: slope(u, zero)(model.integrate(q, t * w), qd))  # noqa: B023
        other_way = slopes(lambda t: slope(w, zero)(model.integrate(q, t * u), qd))  # noqa: B023
        # One after the other is not symmetric on ball and free joints; along `integrate` it is.
        assert relative(found.dq_dq @ w @ u, (one_way + other_way) / 2) < 1e-10
        mixed = slopes(lambda t: slope(u, zero)(q, qd + t * w))  # noqa: B023
        assert relative(found.dq_dqd @ w @ u, mixed) < 1e-10
        assert relative(found.dqd_dqd @ w @ u, slopes(lambda t: slope(zero, u)(q, qd + t * w))) < 1e-10  # noqa: B023
        assert relative(found.dq_dqdd @ w @ u, tree.mass_matrix_rate(q, u) @ w) < 1e-12
    assert np.array_equal(found.dq_dq, np.swapaxes(found.dq_dq, 1, 2))
    assert np.array_equal(found.dqd_dqd, np.swapaxes(found.dqd_dqd, 1, 2))
    packed = inverse_dynamics_second_derivatives(model, q, qd, qdd, f_ext=f, packed=True)
    for name in NAMES:
        assert relative(getattr(packed.dense(), name), getattr(found, name)) < 1e-13, name


@pytest.mark.parametrize("kind", ["spherical", "free"])
def test_symmetric_means_along_one_straight_line(kind):
    """The second derivative of tau(integrate(q, t v)) at t = 0 is dq_dq v v."""
    tree = around(np.random.default_rng(3), kind)
    model = to_model(tree)
    q, qd, qdd, f = state_of(tree, model, 4)
    v = np.random.default_rng(5).normal(size=model.nv)
    found = inverse_dynamics_second_derivatives(model, q, qd, qdd, f_ext=f).dq_dq @ v @ v

    def tau(t):
        return inverse_dynamics(model, model.integrate(q, t * v), qd, qdd, f)

    assert relative(found, twice(tau)) < 1e-8  # of second differences


@pytest.mark.parametrize("kind", ["revolute", "spherical", "free", "universal", "planar", "custom_rail"])
def test_of_forward_dynamics(kind):
    """Second differences of forward dynamics along straight lines; contracted, with wrenches, batched."""
    rng = np.random.default_rng(6)
    tree = branched(rng, ["revolute", kind, "prismatic", "helical"], [None, 0, 1, 1])
    model = to_model(tree)
    q, qd, tau, f = state_of(tree, model, 7)
    found = forward_dynamics_second_derivatives(model, q, qd, tau, f_ext=f)
    u, v, w, y = rng.normal(size=(4, model.nv))

    def along(t, u, v, w):
        return forward_dynamics(model, model.integrate(q, t * u), qd + t * v, tau + t * w, f)

    zero = np.zeros(model.nv)
    for u_, v_, w_ in ((u, zero, zero), (u, v, zero), (zero, v, zero), (u, zero, w), (u, v, w)):
        mixed = found.dq_dqd @ v_ @ u_ + found.dq_dtau @ w_ @ u_
        assert relative(found.dq_dq @ u_ @ u_ + found.dqd_dqd @ v_ @ v_ + 2.0 * mixed, twice(along, u_, v_, w_)) < 2e-6
    one = forward_dynamics_second_derivatives(model, q, qd, tau, y, f)
    several = forward_dynamics_second_derivatives(model, *(np.stack([x, x]) for x in (q, qd, tau, y)), np.stack([f, f]))
    for name in ("dq_dq", "dq_dqd", "dqd_dqd", "dq_dtau"):
        expected = np.einsum("i,ijk->jk", y, getattr(found, name))
        assert relative(getattr(one, name), expected) < 1e-11
        assert relative(getattr(several, name)[1], expected) < 1e-11
    for symmetric in (found.dq_dq, found.dqd_dqd):
        assert relative(symmetric, np.swapaxes(symmetric, 1, 2)) < 1e-13
    packed = forward_dynamics_second_derivatives(model, q, qd, tau, f_ext=f, packed=True)
    sums = packed.contracted(y)
    for name in ("dq_dq", "dq_dqd", "dqd_dqd", "dq_dtau"):
        assert relative(getattr(packed.dense(), name), getattr(found, name)) < 1e-12, name
        assert relative(getattr(sums, name), np.einsum("i,ijk->jk", y, getattr(found, name))) < 1e-12, name
        indices = packed.indices[:, packed.part(name)]
        assert np.unique(indices, axis=1).shape == indices.shape


@pytest.mark.parametrize("kind", ["revolute", "free", "custom_rail"])
def test_of_hybrid_dynamics(kind):
    """Second differences of hybrid dynamics along straight lines; its two ends; contracted, with wrenches, batched."""
    rng = np.random.default_rng(8)
    tree = branched(rng, ["revolute", kind, "prismatic", "helical"], [None, 0, 1, 1])
    model = to_model(tree)
    q, qd, tau, f = state_of(tree, model, 9)
    qdd = rng.normal(size=model.nv)
    mask = np.arange(model.nv) % 3 != 1
    found = hybrid_dynamics_second_derivatives(model, q, qd, qdd, tau, mask, f_ext=f)
    u, v, w, y = rng.normal(size=(4, model.nv))

    def along(t, u, v, w):
        whole = hybrid_dynamics(model, model.integrate(q, t * u), qd + t * v, qdd + t * w, tau + t * w, mask, f)
        return np.where(mask, whole[1], whole[0])

    zero = np.zeros(model.nv)
    for u_, v_, w_ in ((u, zero, zero), (u, v, zero), (zero, v, w), (u, zero, w), (u, v, w)):
        mixed = found.dq_dqd @ v_ @ u_ + found.dq_dgiven @ w_ @ u_
        assert relative(found.dq_dq @ u_ @ u_ + found.dqd_dqd @ v_ @ v_ + 2.0 * mixed, twice(along, u_, v_, w_)) < 2e-6
    one = hybrid_dynamics_second_derivatives(model, q, qd, qdd, tau, mask, y, f)
    pairs = (np.stack([x, x]) for x in (q, qd, qdd, tau))
    several = hybrid_dynamics_second_derivatives(model, *pairs, mask, np.stack([y, y]), np.stack([f, f]))
    for name in ("dq_dq", "dq_dqd", "dqd_dqd", "dq_dgiven"):
        expected = np.einsum("i,ijk->jk", y, getattr(found, name))
        assert relative(getattr(one, name), expected) < 1e-11
        assert relative(getattr(several, name)[1], expected) < 1e-11
    for ends, other in ((True, inverse_dynamics_second_derivatives(model, q, qd, qdd, f_ext=f)),
                        (False, forward_dynamics_second_derivatives(model, q, qd, tau, f_ext=f))):  # fmt: skip
        end = hybrid_dynamics_second_derivatives(model, q, qd, qdd, tau, np.full(model.nv, ends), f_ext=f)
        assert relative(end.dq_dq, other.dq_dq) < 1e-10
        assert relative(end.dq_dgiven, other.dq_dqdd if ends else other.dq_dtau) < 1e-10


def test_contracted_and_batches():
    rng = np.random.default_rng(6)
    tree = branched(rng, ["free", "universal", "spherical", "revolute", "prismatic"], [None, 0, 0, 2, 1])
    model = to_model(tree)
    q = np.array([tree.random(rng) for _ in range(5)])
    qd, qdd, y = rng.normal(size=(3, 5, model.nv))
    f = rng.normal(size=(5, model.n_bodies, 6))
    full = inverse_dynamics_second_derivatives(model, q, qd, qdd, None, f)
    contracted = inverse_dynamics_second_derivatives(model, q, qd, qdd, y, f)
    for name in NAMES:
        whole = getattr(full, name)
        assert whole.shape == (5, model.nv, model.nv, model.nv)
        assert relative(getattr(contracted, name), np.einsum("sr,srjk->sjk", y, whole)) < 1e-12, name
        one = inverse_dynamics_second_derivatives(model, q[3], qd[3], qdd[3], f_ext=f[3])
        assert relative(getattr(one, name), whole[3]) < 1e-12, name


def test_packed():
    """All entries, each once, for batches, wrenches, threads, memory used again, and models that are not plain."""
    rng = np.random.default_rng(12)
    kinds = "free universal spherical revolute prismatic planar helical revolute revolute free"
    tree = branched(rng, kinds.split(), [None, 0, 1, 1, 3, 0, 2, 5, None, 8])
    model = to_model(tree)
    q = np.array([tree.random(rng) for _ in range(19)])
    qd, qdd, y = rng.normal(size=(3, 19, model.nv))
    f = rng.normal(size=(19, model.n_bodies, 6))
    for wrench in (None, f):
        full = inverse_dynamics_second_derivatives(model, q, qd, qdd, f_ext=wrench)
        found = inverse_dynamics_second_derivatives(model, q, qd, qdd, f_ext=wrench, packed=True)
        dense, sums = found.dense(), found.contracted(y)
        for name in NAMES:
            whole, indices = getattr(full, name), found.indices[:, found.part(name)]
            assert relative(getattr(dense, name), whole) < 1e-13, name
            assert relative(getattr(sums, name), np.einsum("si,sijk->sjk", y, whole)) < 1e-12, name
            assert np.unique(indices, axis=1).shape == indices.shape
            if name in ("dq_dq", "dqd_dqd"):  # none stands for one that is there
                assert np.unique(np.sort(indices[1:], axis=0) + 100 * indices[0], axis=1).shape[1] == indices.shape[1]
        one = inverse_dynamics_second_derivatives(
            model, q[4], qd[4], qdd[4], f_ext=None if wrench is None else f[4], packed=True
        )
        assert relative(one.values, found.values[4]) < 1e-13 and one.pattern is found.pattern
        before = found.values.copy()
        found.values[:] = np.nan
        again = inverse_dynamics_second_derivatives(
            model, q, qd, qdd, f_ext=wrench, threads=2, out=found, packed=True
        )
        assert again.values is found.values and relative(again.values, before) < 1e-13
    whole, sums = (forward_dynamics_second_derivatives(model, q, qd, qdd, x) for x in (None, y))
    dense = forward_dynamics_second_derivatives(model, q, qd, qdd, packed=True).dense()
    for name in ("dq_dq", "dq_dqd", "dqd_dqd", "dq_dtau"):
        value = getattr(whole, name)
        assert relative(getattr(dense, name), value) < 1e-12, name
        assert relative(np.einsum("si,sijk->sjk", y, value), getattr(sums, name)) < 1e-11, name
    with pytest.raises(InputError, match="vector: none is expected with packed=True"):
        inverse_dynamics_second_derivatives(model, q, qd, qdd, y, packed=True)
    with pytest.raises(InputError, match="out: PackedSecondDerivatives of an earlier call expected, got Second"):
        inverse_dynamics_second_derivatives(model, q, qd, qdd, out=full, packed=True)
    with pytest.raises(InputError, match="vector: none is expected with packed=True"):
        forward_dynamics_second_derivatives(model, q, qd, qdd, y, packed=True)
    with pytest.raises(InputError, match="out: ForwardSecondDerivatives of an earlier call expected, got Packed"):
        forward_dynamics_second_derivatives(model, q, qd, qdd, out=found)
    with pytest.raises(InputError, match="part: one of dq_dq, dq_dqd, dqd_dqd, dq_dqdd is expected, got 'tau'"):
        found.part("tau")
    with pytest.raises(InputError, match="vector: shape"):
        found.contracted([1.0])


def test_packed_past_the_caches():
    """Batches that are written in whole cache lines, wherever their memory begins, and NaN among them."""
    rng = np.random.default_rng(13)
    tree = branched(rng, ["free", "spherical", "revolute", "revolute", "revolute"], [None, 0, 1, 0, 3])
    model = to_model(tree)
    size = inverse_dynamics_second_derivatives(model, model.neutral(), *np.ones((2, model.nv)), packed=True).values.size
    count = 2**18 // size + 6
    q = np.array([tree.random(rng) for _ in range(count)])
    qd, qdd = rng.normal(size=(2, count, model.nv))
    found = inverse_dynamics_second_derivatives(model, q, qd, qdd, packed=True)
    few = [inverse_dynamics_second_derivatives(model, *(x[s] for x in (q, qd, qdd)), packed=True).values
           for s in (slice(0, count // 2), slice(count // 2, count))]  # fmt: skip
    assert relative(found.values, np.concatenate(few)) < 1e-14
    memory = np.empty(count * size + 8)
    for shift in range(0, 8, 3):
        there = PackedSecondDerivatives(memory[shift : shift + count * size].reshape(count, size), found.pattern)
        again = inverse_dynamics_second_derivatives(model, q, qd, qdd, out=there, packed=True)
        assert np.shares_memory(again.values, memory) and np.array_equal(again.values, found.values)
    whole = forward_dynamics_second_derivatives(model, q, qd, qdd, packed=True)
    assert whole.values.size > 2**18
    again = forward_dynamics_second_derivatives(model, q, qd, qdd, packed=True, threads=3, out=whole)
    assert again.values is whole.values
    for name in ("dq_dq", "dq_dqd", "dqd_dqd", "dq_dtau"):
        few = forward_dynamics_second_derivatives(model, q[50:62], qd[50:62], qdd[50:62])
        assert relative(getattr(whole.dense(), name)[50:62], getattr(few, name)) < 1e-12, name
    qd[count - 9, 2] = np.nan
    with pytest.raises(InputError, match="finite"):
        inverse_dynamics_second_derivatives(model, q, qd, qdd, packed=True)


def test_structure():
    """Quadratic in qd, linear in qdd, and homogeneous: tau(s qd) at rest apart from gravity is s^2."""
    rng = np.random.default_rng(7)
    tree = around(rng, "free")
    model = to_model(tree)
    q, qd, qdd, _ = state_of(tree, model, 8)
    found = inverse_dynamics_second_derivatives(model, q, qd, qdd)
    centrifugal = inverse_dynamics(model.with_gravity([0, 0, 0]), q, qd, 0 * qdd)
    assert relative(0.5 * found.dqd_dqd @ qd @ qd, centrifugal) < 1e-12
    # dM/dt qd is twice the kinetic energy's part of it, whatever the joint.
    rate = np.einsum("rjk,j->rk", found.dq_dqdd, qd)
    assert relative(rate, tree.mass_matrix_rate(q, qd)) < 1e-12
    assert relative(rate, rate.T) < 1e-12


def test_coupled_mimics_and_losses():
    rng = np.random.default_rng(9)
    builder, parent = ModelBuilder(), None
    for name, mimic in (("a", None), ("b", None), ("c", ("joint b", -1.5, 0.2))):
        body = SpatialInertia(1.0, rng.normal(size=3), np.eye(3))
        kind = joint_types.revolute(rng.normal(size=3))
        builder.add(
            name, parent, kind, inertia=body, joint_name=f"joint {name}", mimic=mimic, damping=0.3, armature=0.2
        )
        parent = name
    model = builder.build("coupled").with_coupled_mimics().with_joint_terms(True, True, True)
    q, qd, qdd = rng.normal(size=(3, 2))
    found = inverse_dynamics_second_derivatives(model, q, qd, qdd)

    def tau(t, u):
        return inverse_dynamics(model, q + t, qd + u, qdd)

    zero, h = np.zeros(2), 1e-3
    for j, e in enumerate(np.eye(2)):
        for k, g in enumerate(np.eye(2)):
            mixed = slopes(lambda t: slopes(lambda u: tau(t * e, u * g)))  # noqa: B023
            assert np.abs(found.dq_dqd[:, j, k] - mixed).max() < 1e-8 * np.abs(found.dq_dqd).max()
            mixed = slopes(lambda t: slopes(lambda u: tau(t * e + u * g, zero)))  # noqa: B023
            assert np.abs(found.dq_dq[:, j, k] - mixed).max() < 1e-8 * np.abs(found.dq_dq).max()
        rate = (mass_matrix(model, q + h * e) - mass_matrix(model, q - h * e)) / (2 * h)
        assert np.abs(found.dq_dqdd[:, j] - rate).max() < 1e-5 * np.abs(found.dq_dqdd).max()  # of central differences
    packed = inverse_dynamics_second_derivatives(model, q, qd, qdd, packed=True).dense()
    assert all(relative(getattr(packed, name), getattr(found, name)) < 1e-13 for name in NAMES)
    found, y = forward_dynamics_second_derivatives(model, q, qd, qdd), rng.normal(size=2)
    one = forward_dynamics_second_derivatives(model, q, qd, qdd, y)
    packed = forward_dynamics_second_derivatives(model, q, qd, qdd, packed=True).dense()
    for name in ("dq_dq", "dq_dqd", "dqd_dqd", "dq_dtau"):
        assert relative(np.tensordot(y, getattr(found, name), 1), getattr(one, name)) < 1e-12, name
        assert relative(getattr(packed, name), getattr(found, name)) < 1e-13, name


@pytest.mark.parametrize("kind", every_run(["universal"], ["universal", "free"]))
def test_user_defined_joints_agree_with_the_same_joints_of_the_library(kind):
    """Two turns given by functions, and as axes; in batches, contracted, with wrenches, losses and coupled mimics."""
    rng = np.random.default_rng(11)
    a, b = np.array([0.0, 0.6, 0.8]), np.array([1.0, 0.0, 0.0])
    own = custom_of_screws([np.concatenate([n, np.zeros(3)]) for n in (a, b)])
    bodies = [SpatialInertia(m, rng.normal(size=3), np.diag([1.0, 1.2, 1.4])) for m in (1.0, 2.0, 0.5, 0.7)]
    T = screw(np.array([0.0, 0.6, 0.8, *rng.normal(size=3)]), 1.0)

    def build(joint):
        builder = ModelBuilder().add("a", None, getattr(joint_types, kind)(), T, bodies[0], damping=0.3)
        builder.add("b", "a", joint, T, bodies[1], armature=0.4)
        builder.add("c", "b", joint_types.revolute(a), T, bodies[2], joint_name="leader")
        builder.add("d", "c", joint_types.revolute(b), T, bodies[3], mimic=("leader", -1.5, 0.2))
        return builder.build().with_coupled_mimics().with_joint_terms(True, True, True)

    ours, known = build(own), build(joint_types.universal(a, b))
    q, f = np.array([known.random(rng) for _ in range(3)]), rng.normal(size=(3, known.n_bodies, 6))
    qd, qdd, y = rng.normal(size=(3, 3, known.nv))
    for vector, wrenches, batch in ((None, f, slice(None)), (y, None, slice(None)), (y, f, 1), (y[1], f, slice(None))):
        given = q[batch], qd[batch], qdd[1], vector if vector is None or vector.ndim == 1 else vector[batch]
        found, expected = (
            inverse_dynamics_second_derivatives(model, *given, None if wrenches is None else wrenches[batch], threads=2)
            for model in (ours, known)
        )
        for name in NAMES:
            value, right = getattr(found, name), getattr(expected, name)
            assert value.shape == right.shape
            assert relative(value, right) < (1e-10 if name == "dq_dq" else 1e-11), name  # of differences
            if vector is None:
                packed = inverse_dynamics_second_derivatives(ours, *given, wrenches[batch], packed=True).dense()
                assert relative(getattr(packed, name), right) < 1e-10, name


@pytest.mark.parametrize("contracted", [False, True])
def test_blocks_of_states_and_memory_used_again(contracted, monkeypatch):
    """The same bits as without, in the memory of an earlier result where that fits."""
    rng = np.random.default_rng(11)
    model = to_model(branched(rng, ["revolute", "free", "prismatic", "spherical"], [None, 0, 1, 1]))
    q = np.array([model.random(rng) for _ in range(6)]).reshape(3, 2, -1)
    qd, x = rng.normal(size=(2, 3, 2, model.nv))
    f, y = rng.normal(size=(model.n_bodies, 6)), rng.normal(size=(2, model.nv)) if contracted else None
    mask = np.arange(model.nv) % 2 == 0
    calls = (
        lambda at=..., **out: inverse_dynamics_second_derivatives(model, q[at], qd[at], x[at], y, f, **out),
        lambda at=..., **out: forward_dynamics_second_derivatives(model, q[at], qd[at], x[at], y, f, **out),
        lambda at=..., **out: hybrid_dynamics_second_derivatives(model, q[at], qd[at], x[at], x[at], mask, y, f, **out),
    )
    for call in calls:
        expected, names = call(), call().__dataclass_fields__
        monkeypatch.setattr("lie_dynamics_ros.lie_dynamics.dynamics.derivatives.second_derivatives._BLOCK", 1)
        found = call()
        monkeypatch.undo()
        for name in names:
            assert getattr(found, name).shape == getattr(expected, name).shape
            assert relative(getattr(found, name), getattr(expected, name)) < 1e-13
            getattr(found, name)[:] = np.nan
        again = call(out=found)
        for name in names:
            assert np.shares_memory(getattr(again, name), getattr(found, name))
            np.testing.assert_array_equal(getattr(again, name), getattr(expected, name))
        part = call(at=slice(0, 1), out=found)
        assert not np.shares_memory(part.dq_dq, found.dq_dq) and relative(part.dq_dq, expected.dq_dq[:1]) < 1e-13
        with pytest.raises(InputError, match=r"out: \w*SecondDerivatives of an earlier call expected, got int"):
            call(out=1)
