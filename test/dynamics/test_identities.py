"""Forward, inverse and hybrid dynamics must agree with each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.compare import in_forces, relative
from support.sample_trees import around, branched, each_kind, to_model, zoo

from lie_dynamics_ros.lie_dynamics import forward_dynamics, hybrid_dynamics, inverse_dynamics, mass_matrix


@pytest.mark.parametrize("kind", each_kind())
def test_inverse_undoes_forward(kind, rng):
    tree = around(rng, kind)
    model = to_model(tree)
    q = np.array([tree.random(rng) for _ in range(9)])
    (qd, tau), f_ext = rng.normal(size=(2, 9, tree.nv)), rng.normal(size=(9, model.n_bodies, 6))
    qdd = forward_dynamics(model, q, qd, tau, f_ext)
    back = inverse_dynamics(model, q, qd, qdd, f_ext)
    sizes = (np.abs(mass_matrix(model, q)) @ np.abs(qdd)[..., None])[..., 0].max(axis=1)
    assert (np.abs(back - tau).max(axis=1) < 1e-12 * sizes).all()


def test_hybrid_at_its_extremes(rng):
    tree = zoo(rng)
    model = to_model(tree)
    q, (qd, qdd, tau) = tree.random(rng), rng.normal(size=(3, tree.nv))
    f_ext = rng.normal(size=(model.n_bodies, 6))
    for batch in ((), (5,)):
        x = np.broadcast_to(q, (*batch, tree.nq))
        all_given = hybrid_dynamics(model, x, qd, qdd, tau, np.ones(tree.nv, bool), f_ext)
        assert (all_given[0] == qdd).all()
        assert relative(all_given[1], inverse_dynamics(model, x, qd, qdd, f_ext)) < 1e-13
        none_given = hybrid_dynamics(model, x, qd, qdd, tau, np.zeros(tree.nv, bool), f_ext)
        assert (none_given[1] == tau).all()
        assert relative(none_given[0], forward_dynamics(model, x, qd, tau, f_ext)) < 1e-12


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.lists(st.booleans(), min_size=16, max_size=16))
def test_hybrid_completes_any_mask_of_one_motion(seed, mask):
    """Whichever half of a consistent (qdd, tau) is given, also inside joints of several coordinates, it gives both."""
    rng = np.random.default_rng(seed)
    tree = branched(rng, ["free", "universal", "spherical", "planar", "revolute", "prismatic"], [None, 0, 1, 0, 3, 3])
    model, mask = to_model(tree), np.array(mask)
    q, (qd, qdd) = tree.random(rng), rng.normal(size=(2, tree.nv))
    tau = inverse_dynamics(model, q, qd, qdd)
    a, t = hybrid_dynamics(model, q, qd, np.where(mask, qdd, 7.0), np.where(mask, 7.0, tau), mask)
    assert in_forces(mass_matrix(model, q), a, qdd, tau) < 1e-11
    assert relative(t, tau) < 1e-8  # given accelerations push what is free: condition of M, up to 1e4, twice


@pytest.mark.parametrize("kind", ["universal", "custom_rail"])
def test_unread_entries_may_be_anything(kind, rng):
    tree = around(rng, kind)
    model = to_model(tree)
    q, (qd, qdd, tau) = tree.random(rng), rng.normal(size=(3, tree.nv))
    mask = rng.random(tree.nv) < 0.5
    clean = hybrid_dynamics(model, q, qd, qdd, tau, mask)
    for junk in (np.nan, np.inf, 1e300):
        for batch in ((), (3,)):
            x = np.broadcast_to(q, (*batch, tree.nq))
            halves = np.where(mask, qdd, junk), np.where(mask, junk, tau)
            dirty = hybrid_dynamics(model, x, qd, *halves, mask)
            assert relative(dirty[0], np.broadcast_to(clean[0], (*batch, tree.nv))) < 1e-13
            assert relative(dirty[1], np.broadcast_to(clean[1], (*batch, tree.nv))) < 1e-13


def test_forces_enter_linearly(rng):
    tree = around(rng, "free")
    model = to_model(tree)
    q, (qd, qdd) = tree.random(rng), rng.normal(size=(2, tree.nv))
    f, g = rng.normal(size=(2, model.n_bodies, 6))
    none = inverse_dynamics(model, q, qd, qdd)
    parts = [inverse_dynamics(model, q, qd, qdd, x) - none for x in (f, g, 2.0 * f - g)]
    assert relative(2.0 * parts[0] - parts[1], parts[2]) < 1e-11
    assert relative(inverse_dynamics(model, q, qd, qdd, np.zeros_like(f)), none) < 1e-15
