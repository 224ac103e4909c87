"""Time stamps of simulated states on a busy machine, under a clock that is set, and in lock step; without ROS."""

import numpy as np
import pytest

from lie_dynamics_ros.nodes.simulated_robot.node import PATIENCE, SETTLE, Beginning, LockStep

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

MS = 1_000_000


@pytest.fixture
def lock():
    """After the first command has settled: a state of 10 ms was published at 5 s and waits."""
    lock = LockStep()
    lock.engage(1.0)
    lock.published(10 * MS, 5.0)
    assert lock.waits(5.0)
    return lock


@pytest.mark.parametrize(("stamp", "goes_on"), [(10 * MS, True), (11 * MS, True), (0, True), (9 * MS, False)])
def test_goes_on_with_the_answer_to_the_last_state_only(lock, stamp, goes_on):
    lock.commanded(stamp)
    assert lock.waits(5.001) != goes_on


def test_waits_again_after_the_next_state(lock):
    lock.commanded(10 * MS)
    lock.published(12 * MS, 5.002)
    lock.commanded(10 * MS)
    assert lock.waits(5.003)
    lock.commanded(12 * MS)
    assert not lock.waits(5.003)


def test_an_answer_stays_one_when_an_older_command_comes_after_it(lock):
    lock.commanded(10 * MS)
    lock.commanded(9 * MS)
    assert not lock.waits(5.001)


def test_patience_ends(lock):
    assert lock.waits(5.0 + 0.99 * PATIENCE)
    assert not lock.waits(5.0 + 1.01 * PATIENCE)


def test_the_first_command_settles_before_it_counts():
    lock = LockStep()
    lock.published(10 * MS, 5.0)
    lock.engage(5.0)
    lock.commanded(0)
    assert lock.waits(5.0 + 0.99 * SETTLE)
    assert not lock.waits(5.0 + 1.01 * SETTLE)
