"""Checks of states and commands by one call each."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lie_dynamics_ros.lie_dynamics.control.kernels.signals import (
    BAD_POSITION,
    BAD_VELOCITY,
    GOOD,
    UNKNOWN_VELOCITY,
    check_state,
    within,
)

numbers = st.lists(st.tuples(st.floats(), st.floats(min_value=0.0, allow_nan=False)), max_size=12)


@given(numbers)
def test_within_is_what_it_says(pairs):
    values, bounds = np.array(pairs, dtype=float).reshape(-1, 2).T.copy()
    assert within(values, bounds) == all(abs(v) <= b for v, b in pairs)


def test_within_wants_as_many_bounds_as_numbers():
    assert within(np.zeros(3), np.ones(2)) == 0


@pytest.mark.parametrize(
    ("position", "velocity", "found"),
    [
        ([1.0, -2.0], [3.0, 4.0], GOOD),
        ([1.0, -1e150], [1e150, 4.0], GOOD),
        ([], [], GOOD),
        ([1.0, 2.0], [math.nan, 4.0], UNKNOWN_VELOCITY),
        ([1.0, math.nan], [3.0, 4.0], BAD_POSITION),
        ([-math.inf, 2.0], [math.nan, 4.0], BAD_POSITION),
        ([1.0, 2.0], [3.0, -math.inf], BAD_VELOCITY),
        ([1.0, 2.0], [math.nan, 1e200], BAD_VELOCITY),
    ],
)
def test_states_are_checked(position, velocity, found):
    q, qd = np.array(position, float), np.array(velocity, float)
    assert check_state(q, qd) == found
    np.testing.assert_array_equal(qd, velocity)
    np.testing.assert_array_equal(q, position)
