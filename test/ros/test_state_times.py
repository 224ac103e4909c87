"""Which states may be answered, by their time stamps."""

import pytest

from lie_dynamics_ros.ros.errors import MessageError
from lie_dynamics_ros.ros.state_times import StateTimes

S = 10**9


@pytest.fixture
def times():
    times = StateTimes()
    times.timeout = S // 10
    return times


def kind(times, stamp, now):
    with pytest.raises(MessageError) as error:
        times.check(stamp, now)
    return error.value.kind


def test_returns_the_age(times):
    assert times.check(100 * S, 100 * S + 5) == 5
    assert times.check(100 * S, 100 * S + 7) == 7  # the same state again


def test_a_state_without_stamp_is_fresh_and_leaves_no_trace(times):
    times.check(100 * S, 100 * S)
    assert times.check(0, 100 * S) == 0
    assert times.check(100 * S, 100 * S) == 0


def test_refuses_other_times_on_both_sides(times):
    assert times.check(100 * S, 100 * S + S // 10) == S // 10
    assert kind(times, 100 * S, 100 * S + S // 10 + 1) == "stale"
    assert times.check(100 * S, 100 * S - S // 10) == -S // 10
    assert kind(times, 100 * S, 100 * S - S // 10 - 1) == "from the future"


def test_no_limit(times):
    times.timeout = 0
    assert times.check(1, 100 * S) == 100 * S - 1


def test_refuses_each_step_back_and_accepts_the_next_step_forward(times):
    times.timeout = 0
    times.check(100 * S, 0)
    assert kind(times, 50 * S, 0) == "time ran backwards"
    assert kind(times, 49 * S, 0) == "time ran backwards"
    times.check(49 * S + 1, 0)
    times.reset()
    times.check(S, 0)
