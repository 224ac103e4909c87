"""Each trait of the actuators of simulated_stewart by itself, against its form in textbooks.

The platform moves up and down in its home orientation, where all legs are alike and none hinders another.
"""

from itertools import pairwise

import numpy as np
import pytest
from node_platforms import BASE, HOME, TOP, lengths, pose_at
from test_leg_actuators import PLATFORM, STEP, actuators, settle

ACROSS = np.linalg.norm(TOP - BASE, axis=1)
"""Distance of the ends of a leg, seen from above."""
START = lengths(HOME)


def at_height(z):
    return np.hypot(ACROSS, z)


def followed(legs, heights):
    """Lengths of motors and of legs, with a set point in each step."""
    motors, ends = [], []
    for z in heights:
        legs.command(at_height(z), np.zeros(6))
        legs.advance(STEP)
        motors.append(legs.lengths.copy())
        ends.append(lengths(legs.pose))
    return np.array(motors), np.array(ends)


@pytest.mark.parametrize("rate", [0.5, 20.0, 500.0])
def test_the_servo_is_a_lag_of_first_order(rate):
    legs = actuators(servo_rate=rate)
    legs.command(at_height(0.55), np.zeros(6))
    t = STEP * np.arange(201)[:, None]
    expected = at_height(0.55) - (at_height(0.55) - START) * np.exp(-rate * t)
    np.testing.assert_allclose(settle(legs, 0.4), expected, rtol=0, atol=1e-12)


def test_limits_make_a_motion_of_constant_acceleration_constant_rate_and_the_lag():
    """No overshoot where the lag needs less than the acceleration: rate / acceleration < 1 / servo_rate."""
    v, a, k = 0.1, 2.0, 10.0
    legs = actuators(max_rate=v, max_acceleration=a, servo_rate=k)
    way = at_height(0.56) - START
    legs.command(at_height(0.56), np.zeros(6))
    t = STEP * np.arange(501)[:, None]
    up = v / a
    cruise = (way - v / k - 0.5 * v * up) / v  # until the lag asks for less than the rate
    expected = np.where(t < up, 0.5 * a * t**2, 0.5 * v * up + v * (t - up))
    last = t > up + cruise
    expected = np.where(last, way - v / k * np.exp(-k * np.where(last, t - up - cruise, 0.0)), expected)
    assert last.any() and (cruise > 0.0).all()
    np.testing.assert_allclose(settle(legs, 1.0) - START, expected, rtol=0, atol=v * 1e-3)


def test_the_delay_shifts_what_happens_and_changes_nothing_else():
    heights = 0.5 + 0.03 * np.sin(12.0 * STEP * np.arange(300)) ** 2
    delay = 0.03
    now, _ = followed(actuators(max_acceleration=5.0), heights)
    late, _ = followed(actuators(max_acceleration=5.0, delay=delay), heights)
    shift = round(delay / STEP)
    np.testing.assert_allclose(late[shift:], now[:-shift], rtol=0, atol=1e-12)
    np.testing.assert_allclose(late[:shift], np.tile(START, (shift, 1)), rtol=0, atol=1e-12)


def test_the_backlash_is_the_play_operator():
    """After each reversal a leg stays until its motor has turned back by the play, and follows half of it behind."""
    play = 2e-3
    heights = 0.5 + 0.02 * np.sin(8.0 * STEP * np.arange(700)) * np.linspace(1.0, 0.3, 700)
    motor, leg = (x[:, 0] for x in followed(actuators(backlash=play, servo_rate=100.0), heights))
    expected, held = np.empty_like(leg), START[0]
    reversals = [0, *(np.nonzero(np.diff(np.sign(np.diff(motor))))[0] + 1), len(motor) - 1]
    for begin, end in pairwise(reversals):
        part = slice(begin, end + 1)
        rising = motor[end] > motor[begin]
        expected[part] = (
            np.maximum(held, motor[part] - 0.5 * play) if rising else np.minimum(held, motor[part] + 0.5 * play)
        )
        held = expected[end]
    assert len(reversals) > 4
    np.testing.assert_allclose(leg, expected, rtol=0, atol=1e-9)
    assert np.ptp(leg) == pytest.approx(np.ptp(motor) - play, abs=1e-9)


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_a_leg_stalls_below_the_weight_that_it_carries(share):
    """Six legs that lean by the same angle carry m (g + a) / 6 over its cosine each."""
    mass, a = 30.0, 0.5
    carried = (
        mass * (9.81 + a * START / 0.5) / 6.0 * START / 0.5
    )  # a leg's acceleration is that of the height over L / z
    legs = actuators(max_force=share * carried.max(), max_acceleration=a, mass=mass)
    legs.command(at_height(0.51), np.zeros(6))
    legs.advance(STEP)
    assert (legs.held == "") == (share > 1.0)
    assert (legs.rates > 0.0).all() == (share > 1.0)
    assert ("stalls" in legs.held) == (share < 1.0)


@pytest.mark.parametrize(("height", "end"), [(0.9, 1), (0.2, 0)])
def test_strokes_end_where_they_end(height, end):
    legs = actuators(max_rate=0.5)
    legs.command(at_height(height), np.zeros(6))
    settle(legs, 1.0)
    np.testing.assert_allclose(legs.lengths, PLATFORM.leg_limits[:, end], rtol=0, atol=1e-12)
    assert not legs.rates.any() and "end of its stroke" in legs.held
    back = pose_at([0.0, 0.0, 0.5], [0, 0, 0])
    legs.command(lengths(back), np.zeros(6))
    settle(legs, 1.0)
    np.testing.assert_allclose(legs.pose, back, rtol=0, atol=1e-9)
    assert legs.held == ""
