"""Batches of robots of every small size: blocks of eight numbers, overlapping ones, and parts of one."""

import numpy as np
import pytest
from support.compare import relative
from support.grids import every_run
from support.sample_trees import chain, to_model

from lie_dynamics_ros.lie_dynamics import inverse_dynamics
from lie_dynamics_ros.lie_dynamics.dynamics.kernels.inverse_dynamics import inverse_dynamics_batch
from lie_dynamics_ros.lie_dynamics.model.layout import NOT_FINITE, OK

NOTHING = -12345.0


@pytest.mark.parametrize("n", every_run((1, 2, 7, 8, 9, 17), range(1, 18)))
@pytest.mark.parametrize("count", [7, 8, 17])
def test_states_of_any_length(n, count, rng):
    """Results are those of single states, and the numbers before and after theirs stay as they were."""
    model = to_model(chain(rng, (["revolute", "prismatic"] * n)[:n]))
    q, qd, qdd = rng.normal(size=(3, count, n))
    memory = np.full((count + 4) * n, NOTHING)
    out, none = memory[2 * n : -2 * n].reshape(count, n), np.empty((count, 0))
    arguments = (model.table, q, qd, qdd, none, none, np.zeros(0, bool), out, none)
    assert inverse_dynamics_batch(*arguments) == OK
    for k in range(count):
        assert relative(out[k], inverse_dynamics(model, q[k], qd[k], qdd[k])) < 1e-13
    assert (memory[: 2 * n] == NOTHING).all()
    assert (memory[-2 * n :] == NOTHING).all()


@pytest.mark.parametrize("n", [1, 7, 8, 9, 15])
def test_one_number_that_is_not_finite_is_found(n, rng):
    """Whatever lane its state is in; the other states are as they should be."""
    model = to_model(chain(rng, (["revolute", "prismatic"] * n)[:n]))
    none = np.empty((9, 0))
    for state in (0, 7, 8):
        q, qd, qdd = rng.normal(size=(3, 9, n))
        qdd[state, n - 1] = np.inf
        out = np.empty((9, n))
        arguments = (model.table, q, qd, qdd, none, none, np.zeros(0, bool), out, none)
        assert inverse_dynamics_batch(*arguments) == NOT_FINITE
        assert np.isfinite(np.delete(out, state, axis=0)).all()
