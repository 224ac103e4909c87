"""Blocks of a Dask array give what one batch gives; workers whose cache is warm compile nothing."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.sample_trees import branched, to_model

import lie_dynamics_ros
import lie_dynamics_ros.lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.errors import InputError

BLOCKS = (7, 1, 8, 24)
ARM = Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf"
FUNCTIONS = ("inverse_dynamics", "forward_dynamics")
MODELS = {
    "arm": lambda: ld.Model.from_urdf(ARM),
    "ball and free joints": lambda: to_model(
        branched(np.random.default_rng(3), ["free", "revolute", "spherical", "prismatic"], [None, 0, 1, 1])
    ),
}


def states(model, rng):
    return np.array([model.random(rng) for _ in range(sum(BLOCKS))]), *rng.normal(size=(2, sum(BLOCKS), model.nv))


@pytest.fixture(scope="module")
def da():
    """Dask's arrays, loaded by the worker that runs these tests, not by all that collect them."""
    return pytest.importorskip("dask.array", reason="Dask is not installed")


def in_blocks(da, arrays):
    return [da.from_array(array, chunks=(BLOCKS, -1)) for array in arrays]


@pytest.mark.parametrize("robot", MODELS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_blocks_give_what_one_batch_gives(name, robot, da, rng):
    model = MODELS[robot]()
    arrays, n = states(model, rng), model.nv
    function, differentiate = getattr(ld, name), getattr(ld, f"{name}_derivatives")

    def slopes(*block):
        return np.stack(differentiate(model, *block)[:3], axis=1)

    lazy = in_blocks(da, arrays)
    values = da.map_blocks(function, model, *lazy, dtype=float, chunks=(BLOCKS, (n,)))
    derivatives = da.map_blocks(slopes, *lazy, dtype=float, new_axis=[2, 3], chunks=(BLOCKS, (3,), (n,), (n,)))
    np.testing.assert_array_equal(values.compute(scheduler="threads"), function(model, *arrays))
    expected = np.stack(differentiate(model, *arrays)[:3], axis=1)
    assert derivatives.shape == expected.shape
    np.testing.assert_array_equal(derivatives.compute(scheduler="threads"), expected)


def test_bad_states_and_blocks_that_cut_states_are_named(da, rng):
    model = ld.Model.from_urdf(ARM)
    arrays = states(model, rng)
    arrays[0][20, 3] = np.nan  # the fifth of its block
    run = partial(da.map_blocks, ld.inverse_dynamics, model, dtype=float)
    with pytest.raises(InputError, match=r"got nan for joint 'panda_joint4' \(index \(4, 3\)\)"):
        run(*in_blocks(da, arrays)).compute(scheduler="threads")
    cut = [da.from_array(array, chunks=(8, 4)) for array in states(model, rng)]
    with pytest.raises(InputError, match=r"shape \(\.\.\., 7\) is expected by model 'panda'"):
        run(*cut).compute(scheduler="threads")


@pytest.mark.slow
def test_workers_compile_nothing(rng):
    distributed = pytest.importorskip("distributed", reason="Dask's scheduler of clusters is not installed")
    model = ld.Model.from_urdf(ARM)
    arrays = states(model, rng)
    functions = [getattr(ld, name + rest) for name in FUNCTIONS for rest in ("", "_derivatives")]
    expected = [function(model, *arrays) for function in functions]  # in the cache from here on

    def watch(dask_worker):
        from numba.core import event

        dask_worker.compiled = event.RecordingListener()
        event.register("numba:compile", dask_worker.compiled)

    def compiled(dask_worker):
        return len(dask_worker.compiled.buffer)

    def compile_one(dask_worker):
        from numba import njit

        njit(lambda x: x + 1.0)(1.0)

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        client.run(watch)
        for function, whole in zip(functions, expected, strict=True):
            blocks = np.split(np.arange(sum(BLOCKS)), np.cumsum(BLOCKS)[:-1])
            tasks = [client.submit(function, model, *(a[rows] for a in arrays)) for rows in blocks]
            parts = client.gather(tasks)
            if isinstance(whole, tuple):
                for k, one in enumerate(whole):
                    np.testing.assert_array_equal(np.concatenate([part[k] for part in parts]), one)
            else:
                np.testing.assert_array_equal(np.concatenate(parts), whole)
        assert set(client.run(compiled).values()) == {0}
        client.run(compile_one)  # which shows that the listener would have heard it
        assert min(client.run(compiled).values()) > 0
