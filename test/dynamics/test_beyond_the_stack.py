"""Single states of robots whose workspace does not fit the stack, against batches, which have no such limit."""

import numpy as np
import pytest
from support.compare import relative
from support.sample_trees import chain, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.closed_form import coriolis_product
from lie_dynamics_ros.lie_dynamics.dynamics.kernels.forward_dynamics import forward_dynamics as kernel
from lie_dynamics_ros.lie_dynamics.engine.compile import COMPILED
from lie_dynamics_ros.lie_dynamics.model.layout import TOO_LARGE

KINDS = ["revolute", "spherical", "prismatic", "universal"]


@pytest.fixture(scope="module")
def large():
    """A robot of a thousand joints, and (q, qd, qdd, f_ext) of one state."""
    rng = np.random.default_rng(7)
    tree = chain(rng, KINDS * 250)
    model = to_model(tree)
    qd, qdd = 0.01 * rng.normal(size=(2, model.nv))
    return model, (tree.random(rng), qd, qdd, rng.normal(size=(model.n_bodies, 6)))


@pytest.mark.skipif(not COMPILED, reason="plain Python keeps nothing on the stack")
def test_the_kernel_on_the_stack_refuses(large):
    model, (q, qd, qdd, f_ext) = large
    assert kernel(model.table, q, qd, qdd, f_ext, np.empty(model.nv)) == TOO_LARGE


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("plain", [False, True])
def test_a_state_as_in_a_batch(large, loaded, plain):
    """Arrays as kernels take them, and lists, which take a longer way."""
    model, (q, qd, qdd, f_ext) = large
    load = f_ext if loaded else None
    x = (q, qd, qdd) if plain else tuple(a.tolist() for a in (q, qd, qdd))
    many = [np.stack([a, a]) for a in (q, qd, qdd)]
    loads = np.stack([f_ext, f_ext]) if loaded else None
    tau = ld.inverse_dynamics(model, *x, load)
    assert tau.shape == (model.nv,)
    assert relative(tau, ld.inverse_dynamics(model, *many, loads)[1]) < 1e-12
    # Accelerations of a chain so long are ill conditioned: they are judged by the forces that they take.
    found = ld.forward_dynamics(model, *x[:2], tau, load)
    assert relative(ld.inverse_dynamics(model, q, qd, found, load), tau) < 1e-9
    given = np.arange(model.nv) % 3 > 0
    found, forces = ld.hybrid_dynamics(model, *x[:2], qdd, tau, given, load)
    assert (found[given] == qdd[given]).all()
    assert (forces[~given] == tau[~given]).all()
    assert relative(ld.inverse_dynamics(model, q, qd, found, load), forces) < 1e-9


@pytest.mark.parametrize("method", ["christoffel", "ploen"])
def test_the_coriolis_product_as_in_a_batch(large, method):
    model, (q, qd, reference, _) = large
    many = coriolis_product(model, *(np.stack([a, a]) for a in (q, qd, reference)), method)
    assert relative(coriolis_product(model, q, qd, reference, method), many[1]) < 1e-12
    assert relative(coriolis_product(model, q.tolist(), qd, reference, method), many[1]) < 1e-12


def test_what_is_wrong_is_told(large):
    model, (q, qd, qdd, _) = large
    start = next(j for j in model.joints if j.kind == "spherical").q_slice.start
    for call in (ld.inverse_dynamics, ld.forward_dynamics):
        bad = q.copy()
        bad[start] += 0.5
        with pytest.raises(ld.GroupError):
            call(model, bad, qd, qdd)
        bad = qd.copy()
        bad[-1] = np.nan
        with pytest.raises(ld.InputError, match=model.joint_names[-1]):
            call(model, q, bad, qdd)
        with pytest.raises(ld.InputError):
            call(model, q, qd, qdd[:-1])


def test_a_joint_without_inertia_is_named(large):
    model, (q, qd, qdd, _) = large
    last = model.body_names[-1]
    light = model.with_inertia(last, ld.SpatialInertia(0.0, np.zeros(3), np.zeros((3, 3))))
    with pytest.raises(ld.SingularityError, match=model.joint_names[-1]):
        ld.forward_dynamics(light, q, qd, qdd)
