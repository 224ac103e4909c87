"""Dynamics for JAX: values, derivatives in both modes, jit, vmap, types."""

import numpy as np
import pytest
from moving_tree import states, tree
from support.compare import relative

import lie_dynamics_ros.lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.autodiff import FORWARD, INVERSE, jax_functions
from lie_dynamics_ros.lie_dynamics.errors import InputError

jax = pytest.importorskip("jax", reason="JAX is too large to be among the tools of the tests")

DYNAMICS = pytest.mark.parametrize("dynamics", [INVERSE, FORWARD], ids=lambda d: d.name)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@DYNAMICS
def test_jacobians_in_both_modes(dynamics, rng):
    """Against the derivatives along entries, which test_entry_derivatives.py holds against differences."""
    model = tree()
    function = getattr(jax_functions, dynamics.name)
    arguments = states(model, rng)
    expected = dynamics.derivatives(model, *arguments)
    for mode in (jax.jacfwd, jax.jacrev):
        found = mode(lambda *a: function(model, *a), argnums=(0, 1, 2))(*arguments)
        for block, other in zip(found, expected, strict=True):
            assert relative(block, other) < 1e-13


@DYNAMICS
def test_jit_and_vmap(dynamics, rng):
    model = tree()
    function = getattr(jax_functions, dynamics.name)
    q, qd, last = states(model, rng, 5)
    expected = getattr(ld, dynamics.name)(model, q, qd, last)
    assert relative(function(model, q, qd, last), expected) < 1e-14
    assert relative(jax.jit(lambda *a: function(model, *a))(q, qd, last), expected) < 1e-14
    assert relative(jax.vmap(lambda *a: function(model, *a))(q, qd, last), expected) < 1e-14
    held = jax.vmap(lambda a: function(model, a, qd[0], last[0]))(q)
    assert relative(held, getattr(ld, dynamics.name)(model, q, qd[0], last[0])) < 1e-14
    slopes = jax.jit(jax.vmap(jax.grad(lambda *a: function(model, *a).sum(), argnums=1)))(q, qd, last)
    assert relative(slopes, dynamics.derivatives(model, q, qd, last)[1].sum(-2)) < 1e-13


def test_broadcasting_and_types(rng):
    model = tree()
    q, qd, qdd = states(model, rng, 3)
    found = jax_functions.inverse_dynamics(model, q[0], qd, qdd)
    assert relative(found, ld.inverse_dynamics(model, q[0], qd, qdd)) < 1e-14
    single = [np.float32(a) for a in (q, qd, qdd)]
    assert jax_functions.inverse_dynamics(model, *single).dtype == np.float32


def test_second_derivatives_are_refused(rng):
    model = tree()
    q, qd, qdd = states(model, rng)
    with pytest.raises(ValueError, match="callback"):
        jax.hessian(lambda v: jax_functions.inverse_dynamics(model, q, v, qdd).sum())(qd)


def test_bad_input_is_named(rng):
    model = tree()
    q, qd, qdd = states(model, rng)
    with pytest.raises((InputError, jax.errors.JaxRuntimeError), match="qd"):
        jax_functions.inverse_dynamics(model, q, qd[:-1], qdd).block_until_ready()
