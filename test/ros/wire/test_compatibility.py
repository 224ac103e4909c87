"""Publishers told apart by how each counts its messages."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from lie_dynamics_ros.ros.wire.compatibility import LONGEST_TURN, MOST_COUNTED, Counts


def test_one_publisher_is_one_also_where_messages_are_lost(rng):
    counts = Counts()
    numbers = np.cumsum(rng.integers(1, LONGEST_TURN, size=500)).tolist()
    assert len({counts.publisher(number) for number in numbers}) == 1


@pytest.mark.parametrize("offset", [-400, -1, 1, 7, 5000])
def test_two_publishers_are_two(rng, offset):
    counts = Counts()
    queues = [[(k, number) for number in range(first, first + 300)] for k, first in enumerate((1000, 1000 + offset))]
    found = [set(), set()]
    while any(queues):
        for queue in queues:  # one after the other, now and then two in a row
            for _ in range(int(rng.integers(1, 3)) if abs(offset) > 2 * 300 else 1):
                if queue:
                    k, number = queue.pop(0)
                    name = counts.publisher(number)
                    if len(queue) < 299:  # who counts on where another one is, is taken for that one once
                        found[k].add(name)
    assert len(found[0]) == len(found[1]) == 1
    assert found[0] != found[1]


def test_one_that_is_started_again_is_another_and_takes_no_memory():
    counts = Counts()
    names = [counts.publisher(1) for _ in range(MOST_COUNTED)]
    assert len(set(names)) == MOST_COUNTED
    assert counts.publisher(1) in names
