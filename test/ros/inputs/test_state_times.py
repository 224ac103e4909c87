"""Which states may be answered, by their time stamps."""

import pytest

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.ros.inputs.state_stream import MOST_TRACKED, StateTimes

S = 10**9


@pytest.fixture
def times():
    times = StateTimes()
    times.timeout = S // 10
    return times


def kind(times, stamp, now, publisher=b""):
    with pytest.raises(MessageError) as error:
        times.check(stamp, now, publisher)
    return error.value.kind


def answer(times, stamp, now, publisher=b""):
    age = times.check(stamp, now, publisher)
    times.answered()
    return age


def test_returns_the_age(times):
    assert answer(times, 100 * S, 100 * S + 5) == 5
    assert answer(times, 100 * S, 100 * S + 7) == 7  # the same state again


def test_a_state_without_stamp_is_fresh_and_leaves_no_trace(times):
    answer(times, 100 * S, 100 * S)
    assert answer(times, 0, 100 * S) == 0
    assert answer(times, 100 * S, 100 * S) == 0


def test_refuses_other_times_on_both_sides(times):
    assert answer(times, 100 * S, 100 * S + S // 10) == S // 10
    assert kind(times, 100 * S, 100 * S + S // 10 + 1) == "stale"
    assert answer(times, 100 * S, 100 * S - S // 10) == -S // 10
    assert kind(times, 100 * S, 100 * S - S // 10 - 1) == "from the future"


def test_no_limit(times):
    times.timeout = 0
    assert answer(times, 1, 100 * S) == 100 * S - 1


def test_refuses_each_step_back_and_accepts_the_next_step_forward(times):
    times.timeout = 0
    answer(times, 100 * S, 0)
    assert kind(times, 50 * S, 0) == "time ran backwards"
    assert kind(times, 49 * S, 0) == "time ran backwards"
    answer(times, 49 * S + 1, 0)
    times.reset()
    answer(times, S, 0)


def test_accepts_no_message_that_was_overtaken(times):
    times.timeout = 0
    refused = []
    for stamp in (1, 3, 2, 4, 6, 5, 7):
        try:
            answer(times, stamp * S, 0)
        except MessageError:
            refused.append(stamp)
    assert refused == [2, 5]


def test_states_that_were_not_answered_refuse_no_others(times):
    now = 100 * S
    answer(times, now, now)
    times.check(now + S // 20, now)  # its time is right, but not what it holds
    assert answer(times, now + 1, now + 1) == 0
    assert kind(times, now + 2 * S, now) == "from the future"
    assert answer(times, now + 2, now + 2) == 0
    assert kind(times, now + 1, now + 2) == "time ran backwards"


def test_publishers_have_times_of_their_own(times):
    now = 100 * S
    answer(times, now + S // 20, now, b"ahead")
    answer(times, now, now, b"right")
    assert kind(times, now + 1, now, b"ahead") == "time ran backwards"
    answer(times, now + 1, now, b"right")


def test_joints_of_one_publisher_have_times_of_their_own(times):
    now = 100 * S
    for k in range(3):  # the newest is sent first
        for age, leg in enumerate(("a", "b", "c")):
            assert times.check(now + 10 * k - age, now + 10 * k, b"driver", (leg,)) == age
            times.answered()
    with pytest.raises(MessageError, match="went back"):
        times.check(now + 18, now + 20, b"driver", ("a",))


def test_publishers_that_come_and_go_take_no_memory(times):
    for k in range(1000):
        answer(times, 100 * S, 100 * S, bytes([k % 256, k // 256]))
    assert len(times._tracks) <= MOST_TRACKED
