"""Checks of states and commands by one call each."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lie_dynamics_ros.lie_dynamics.control.kernels.oscillation import (
    AWAY,
    DIRECTION,
    MOVED,
    OFF,
    PLACE,
    count_turns,
    smooth_state,
)
from lie_dynamics_ros.lie_dynamics.control.kernels.polynomials import write_motion
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


def test_turns_are_counted_as_their_definition_says():
    rng = np.random.default_rng(3)
    table, scale, noise = np.zeros((7, 3)), np.array([87.0, 12.0, 2.0]), np.array([0.0, 0.5, 0.1])
    table[DIRECTION] = 1.0
    numbers, left, most, period = np.array([0.04, 0.97, 3.0, 0.002, 0.0]), 0.97, 3.0, 0.002
    extreme, turned, turns, swung, since, between, direction = *np.zeros((6, 3)), np.ones(3)
    for _ in range(300):
        effort = scale * rng.normal(size=3) * np.array([0.02, 0.1, 1.0])
        u = effort / scale
        extreme = np.where(direction * (u - extreme) > 0.0, u, extreme)
        back = direction * (extreme - u) > 0.04 + noise / scale
        swings = np.abs(extreme - turned)
        turns = turns + back * np.where(swings > 1.2 * swung, 3.0, 1.0)
        shaking, swung = back & (turns > most), np.where(back, swings, swung)
        swing = swings[shaking].max(initial=0.0)
        since = since + period
        mean = np.where(since > 2.5 * between, since, 0.5 * (between + since))
        between, since = np.where(back, mean, between), np.where(back, 0.0, since)
        turned, extreme = np.where(back, extreme, turned), np.where(back, u, extreme)
        direction, turns = np.where(back, -direction, direction), turns * left
        assert count_turns(table, numbers, effort, 1.0 / scale, noise) == shaking.any()
        np.testing.assert_allclose(table, [extreme, turned, direction, turns, swung, since, between], rtol=1e-12)
        assert numbers[4] == pytest.approx(swing, rel=1e-14)
    assert count_turns(table, numbers, effort[:2].copy(), 1.0 / scale, noise) == -1


def test_polynomials_are_written_for_owned_joints():
    rng = np.random.default_rng(4)
    coefficients, start, t = rng.normal(size=(6, 3)), rng.normal(size=3), 0.7
    joints, owned = np.array([4, 0, 2]), np.array([True, False, True])
    motion = [np.full(5, 9.0) for _ in range(3)]
    assert write_motion(coefficients, start, np.array([t]), joints, owned, *motion) == 0
    for k, found in enumerate(motion):
        for i, joint in ((0, 4), (2, 2)):
            polynomial = np.polynomial.Polynomial(coefficients[:, i])
            expected = polynomial.deriv(k)(t) if k else start[i] + polynomial(t)
            assert found[joint] == pytest.approx(expected, rel=1e-14)
        assert (found[[0, 1, 3]] == 9.0).all()
    assert write_motion(coefficients, start, np.array([t]), np.array([4, 0, 5]), owned, *motion) == -1


def test_a_smooth_state_is_the_desired_one_less_mean_errors(rng):
    table, mean = np.zeros((4, 3)), np.zeros((2, 3))
    for part in (1.0, 0.5, 0.2):
        desired, measured = rng.normal(size=(2, 2, 3))
        assert smooth_state(table, np.array([part]), *desired, *measured) == 0
        mean += part * (desired - measured - mean)
        np.testing.assert_allclose(table[[AWAY, OFF]], mean, rtol=1e-14)
        np.testing.assert_allclose(table[[PLACE, MOVED]], desired - mean, rtol=1e-13)
    before = table.copy()
    assert smooth_state(table, np.ones(1), np.zeros(2), *np.zeros((3, 3))) == -1
    np.testing.assert_array_equal(table, before)
