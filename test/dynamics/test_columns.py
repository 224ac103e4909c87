"""Kernels of single states work on eight rows at once: edges of the blocks, and the columns behind a model's table."""

import copy
import pickle

import numpy as np
import pytest
from support.grids import every_run
from support.sample_trees import chain, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.dynamics.kernels.mass_matrix_columns import mass_matrix as mass_matrix_kernel
from lie_dynamics_ros.lie_dynamics.engine.compile import COMPILED
from lie_dynamics_ros.lie_dynamics.model import layout
from lie_dynamics_ros.lie_dynamics.model.pack import with_columns

KINDS = ["revolute", "prismatic", "helical", "universal", "spherical", "cylindrical", "planar"]


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(b).max(initial=1e-300))


@pytest.mark.parametrize("n", every_run((1, 2, 7, 8, 9, 16, 17, 33), (*range(1, 20), 31, 32, 33)))
@pytest.mark.parametrize("floating", [False, True])
def test_every_size_of_the_last_block(rng, n, floating):
    """A single state and a batch, which has no blocks of rows, agree."""
    kinds = (["free"] if floating else []) + [KINDS[k % len(KINDS)] for k in range(n)]
    model = to_model(chain(rng, kinds))
    q, qd, x = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    given = rng.random(model.nv) < 0.5
    close(ld.mass_matrix(model, q), ld.mass_matrix(model, q[None])[0])
    close(ld.gravity_force(model, q), ld.gravity_force(model, q[None])[0])
    close(ld.inverse_dynamics(model, q, qd, x), ld.inverse_dynamics(model, q[None], qd, x)[0])
    close(ld.forward_kinematics(model, q), ld.forward_kinematics(model, q[None])[0])
    close(ld.forward_dynamics(model, q, qd, x), ld.forward_dynamics(model, q[None], qd, x)[0])
    for one, many in zip(
        ld.hybrid_dynamics(model, q, qd, x, x, given), ld.hybrid_dynamics(model, q[None], qd, x, x, given), strict=True
    ):
        close(one, many[0])


def test_nothing_is_written_beyond_the_matrix(rng):
    """Whole vectors are stored where rows of the matrix end between them."""
    for n in (1, 2, 3, 7, 8, 9, 15, 17):
        model = to_model(chain(rng, ["revolute"] * n))
        memory = np.full(n * n + 32, 7.25)
        out = memory[16 : 16 + n * n].reshape(n, n)
        assert mass_matrix_kernel(model.table, model.random(rng), out) == layout.OK
        assert (memory[:16] == 7.25).all()
        assert (memory[16 + n * n :] == 7.25).all()


def test_an_order_that_is_not_depth_first(rng):
    """Rows of a subtree need not follow each other: the batch kernel answers then."""
    rod = ld.SpatialInertia(1.0, [0.1, 0.2, 0.3], np.diag([0.02, 0.03, 0.04]))
    place = np.eye(4)
    place[:3, 3] = 0.1, 0.2, 0.3
    builder = ld.ModelBuilder()
    for name, parent in (("a", None), ("b", "a"), ("c", "a"), ("d", "b"), ("e", "c")):
        builder.add(name, parent, ld.joint_types.revolute([0.0, 0.6, 0.8]), place, rod)
    model = builder.build("breadth first")
    if model.rows[0, layout.DEPTH_FIRST] == 1.0:
        assert model.body_names == ("a", "b", "d", "c", "e")
        return
    q, qdd = rng.normal(size=(2, 5))
    still = ld.inverse_dynamics(model, q, np.zeros(5), qdd) - ld.gravity_force(model, q)
    close(ld.mass_matrix(model, q) @ qdd, still)


def test_more_rows_than_the_stack_has_room_for(rng):
    """Kernels without that limit answer: for inverse and forward dynamics those of single states, else of batches."""
    model = to_model(chain(rng, ["revolute"] * 1200))
    q, qd, x = 0.01 * model.random(rng), 0.01 * rng.normal(size=model.nv), rng.normal(size=model.nv)
    close(ld.inverse_dynamics(model, q, qd, x), ld.inverse_dynamics(model, q[None], qd, x)[0])
    close(ld.forward_dynamics(model, q, qd, x), ld.forward_dynamics(model, q[None], qd, x)[0])


def columns(model: ld.Model):
    table = model.table
    at, width = int(table[0, layout.COLUMNS_AT]), int(table[0, layout.BLOCKS]) * layout.LANES
    return table.reshape(-1)[at : at + layout.N_COLUMNS * width]


@pytest.mark.skipif(not COMPILED, reason="plain Python reads the rows")
def test_columns_follow_every_change(rng):
    model = to_model(chain(rng, ["free", "revolute", "universal", "spherical"]))
    rod = ld.SpatialInertia(1.0, [0.1, 0.2, 0.3], np.diag([0.02, 0.03, 0.04]))
    name = model.body_names[1]
    for changed in (
        model, model.with_gravity((1.0, 2.0, 3.0)), model.with_inertia(name, rod),
        model.with_payload(name, 0.5, [0.1, 0.0, 0.2]), pickle.loads(pickle.dumps(model)), copy.deepcopy(model),
        model.with_payload(name, 0.5, [0.1, 0.0, 0.2]).with_joint_terms(armature=True),
    ):  # fmt: skip
        assert changed.rows.base is not None
        assert changed.table.ctypes.data == changed.rows.ctypes.data
        wanted = with_columns(changed.rows.copy())
        np.testing.assert_array_equal(changed.table, wanted)
        assert columns(changed).size > 0
        q, qd = changed.random(rng), rng.normal(size=changed.nv)
        close(ld.bias_force(changed, q, qd), ld.bias_force(changed, q[None], qd)[0])
