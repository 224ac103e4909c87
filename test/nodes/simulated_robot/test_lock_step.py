"""Lock step without ROS: which commands let the simulation go on, and when patience ends."""

import pytest

from lie_dynamics_ros.nodes.simulated_robot.node import PATIENCE, SETTLE, LockStep

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
