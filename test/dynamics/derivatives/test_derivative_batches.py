"""Derivatives and regressors of batches against the same states one by one.

Batches set equations up eight states at a time and solve them state by state; their results go to memory in ways of
their own. Trees of several branches, of sizes around eight rows, have zeros that nobody may take for anything else.
"""

import numpy as np
import pytest
from support.grids import every_run
from support.sample_trees import chain, to_model, zoo

from lie_dynamics_ros import lie_dynamics as ld

BLOCKS = ("dqdd_dq", "dqdd_dqd", "dqdd_dgiven", "dtau_dq", "dtau_dqd", "dtau_dgiven", "qdd", "tau")
MASK = np.random.default_rng(5).random(200) < 0.5


def hybrid(model, q, qd, qdd, **options):
    found = ld.hybrid_dynamics_derivatives(model, q, qd, qdd, qdd, MASK[: model.nv], **options)
    return tuple(getattr(found, name) for name in BLOCKS)


CALLS = {
    "inverse": ld.inverse_dynamics_derivatives,
    "forward": ld.forward_dynamics_derivatives,
    "hybrid": hybrid,
    "regressor": lambda *args, **options: (ld.torque_regressor(*args, **options),),
}


@pytest.fixture(params=CALLS)
def call(request):
    return CALLS[request.param]


def states(tree, rng, count):
    q = np.array([tree.random(rng) for _ in range(count)])
    return q, *rng.normal(size=(2, count, tree.nv))


def check(model, call, arrays, picked, **options):
    results = call(model, *arrays, **options)
    alone = [call(model, *(a[k] for a in arrays)) for k in picked]
    for many, ones in zip(results, zip(*alone, strict=True), strict=True):
        mine, ones = many[picked], np.array(ones)
        # products are summed in another order; condition of M up to 1e4
        assert np.abs(mine - ones).max(initial=0.0) < 1e-11 * max(np.abs(x).max(initial=0.0) for x in alone[0])
        assert np.isfinite(mine).all()
        assert not mine[:, (ones == 0.0).all(axis=0)].any()


@pytest.mark.parametrize("count", every_run((8, 20), (1, 7, 8, 9, 20)))
def test_batches_of_any_size_hold_what_single_states_give(call, rng, count):
    tree = zoo(rng, without="custom_six")
    check(to_model(tree), call, states(tree, rng, count), list(range(count)))


@pytest.mark.parametrize("joints", every_run((1, 8, 9), (1, 2, 3, 7, 8, 9, 16, 17)))
def test_chains_around_the_size_of_a_vector(call, rng, joints):
    tree = chain(rng, ["revolute"] * joints)
    check(to_model(tree), call, states(tree, rng, 11), list(range(11)))


def test_trees_of_many_shapes(call, rng):
    for _ in range(2):
        tree = zoo(rng, without="custom_six")
        check(to_model(tree), call, states(tree, rng, 9), list(range(9)))


def test_results_of_threads_begin_anywhere_in_memory(call, rng):
    tree = zoo(rng, without="custom_six")
    arrays = states(tree, rng, 43)
    check(to_model(tree), call, arrays, list(range(0, 43, 6)), threads=4)


def test_results_larger_than_caches(rng):
    tree = zoo(rng, without="custom_six")
    model = to_model(tree)
    count = 2**21 // (model.nv * 10 * model.n_bodies) + 3
    arrays = [np.repeat(a, count // 10 + 1, axis=0)[:count] for a in states(tree, rng, 10)]
    check(model, CALLS["regressor"], arrays, [0, 1, 7, 8, count // 2, count - 9, count - 8, count - 2, count - 1])


def test_one_bad_state_of_a_batch_is_found(call, rng):
    tree = chain(rng, ["revolute"] * 9)
    model = to_model(tree)
    for count, bad in ((8, 5), (21, 20)):
        q, qd, qdd = states(tree, rng, count)
        qd[bad, 3] = 1e200  # its square overflows
        with pytest.raises(ld.InputError, match="overflow"):
            call(model, q, qd, qdd)
