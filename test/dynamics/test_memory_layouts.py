"""Every public function: how an array lies in memory has no part in what comes out.

A vector that stands for all states, and arrays in another order, with strides or locked, lead to the numbers that
contiguous arrays of the whole batch lead to. Kernels take nothing but contiguous arrays.
"""

import dataclasses
import inspect

import numpy as np
import pytest
from test_hostile_arguments import ARRAYS, FUNCTIONS, GOOD, arguments

from lie_dynamics_ros import lie_dynamics as ld

BATCH = 3
#: Arguments that are one for all states of a batch.
ALONE = {"lengths", "guess", "start", "goal", "start_velocity", "goal_velocity", "weights", "multipliers"}
#: Functions of one state at a time, and one that counts its states.
ONE_STATE = {
    "assemble", "consistent_acceleration", "consistent_velocity", "constrained_travel_left", "is_flat",
    "platform_wrench",
}  # fmt: skip


def numbers_in(result):
    """Return all arrays and numbers that a result holds, in order."""
    if isinstance(result, (np.ndarray, float, int, np.number)):
        return [np.asarray(result)]
    if isinstance(result, (tuple, list)):
        return [x for part in result for x in numbers_in(part)]
    if dataclasses.is_dataclass(result):
        return [x for field in dataclasses.fields(result) for x in numbers_in(getattr(result, field.name))]
    names = [n for n, p in inspect.getmembers(type(result)) if isinstance(p, property) and not n.startswith("_")]
    return [x for name in names for x in numbers_in(getattr(result, name))]


def layouts(array):
    """The same batch, in other ways to lie in memory."""
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]))
    wide[..., ::2] = array
    locked = array.copy()
    locked.flags.writeable = False
    return {"columns": np.asfortranarray(array), "strides": wide[..., ::2], "turned": array[::-1].copy()[::-1],
            "locked": locked}  # fmt: skip


def states_of(name):
    """Arguments of a function that are arrays of states."""
    return [key for key in inspect.signature(getattr(ld, name)).parameters if key in ARRAYS - ALONE]


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if states_of(name) and name not in ONE_STATE])
def test_how_arrays_lie_in_memory_does_not_matter(name):
    function, given = arguments(name)
    if name.startswith("constrained_inverse_"):
        given["actuated"] = np.array([True, True, True, False])
    given |= {key: np.array([GOOD[key] * (1.0 + 0.1 * k) for k in range(BATCH)]) for key in states_of(name)}
    expected = numbers_in(function(**given))
    for key in states_of(name):
        several = {kind: (array, expected) for kind, array in layouts(given[key]).items()}
        same = given | {key: np.array([GOOD[key]] * BATCH)}
        several["one for all"] = GOOD[key], numbers_in(function(**same))
        for kind, (array, wanted) in several.items():
            for found, number in zip(numbers_in(function(**given | {key: array})), wanted, strict=True):
                found = np.broadcast_to(found, number.shape)  # without a batch at all there is one result
                np.testing.assert_allclose(found, number, rtol=1e-12, atol=1e-12, err_msg=f"{key}: {kind}")
