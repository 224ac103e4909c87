"""Time stamps of simulated states on a busy machine, and under a clock that is set; without ROS."""

import numpy as np
import pytest

from lie_dynamics_ros.nodes.simulated_robot.node import Beginning

HOUR = 3600 * 10**9
PERIOD, MOST = 0.002, 10
TOLERANCE = MOST * PERIOD


@pytest.fixture
def begun():
    return Beginning(HOUR, 5.0)


def test_times_do_not_go_back_however_late_the_node_is(begun, rng):
    """As the node does it: late for up to 0.04 s, before the clock is read, after it, and in between."""
    now, simulated, stamps, clocks = 5.0, 0.0, [], []
    for _ in range(2000):
        late = rng.uniform(0.0, 0.04, size=3) * (rng.random(3) < 0.4)
        now += PERIOD + late[0]
        steady = now
        now += late[1]
        begun.follow(steady, HOUR + round((now - 5.0) * 1e9), now, TOLERANCE)
        due = int((steady - begun.steady - simulated) / PERIOD + 0.5)
        if due > MOST:
            begun.put_off((due - MOST) * PERIOD)
            due = MOST
        simulated += due * PERIOD
        now += late[2]
        stamps.append(begun.stamp + round(simulated * 1e9))
        clocks.append(HOUR + round((steady - 5.0) * 1e9))
    assert np.all(np.diff(stamps) >= 0)
    assert np.abs(np.subtract(stamps, clocks)).max() < 1e9 * PERIOD


@pytest.mark.parametrize("shift", [HOUR, -HOUR, 30_000_000])
def test_a_clock_that_is_set_is_followed(begun, shift):
    begun.follow(6.0, HOUR + 10**9 + shift, 6.0, TOLERANCE)
    assert begun.stamp == HOUR + shift


def test_what_is_less_is_jitter(begun):
    begun.follow(6.0, HOUR + 10**9 + 19_000_000, 6.0, TOLERANCE)
    assert begun.stamp == HOUR
