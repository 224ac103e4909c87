"""Which states may be answered by their time stamps, and what is done after an answer."""

import os
import time
from dataclasses import dataclass
from types import SimpleNamespace
from unittest.mock import patch

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import rclpy
from sensor_msgs.msg import JointState

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.ros.inputs import state_stream
from lie_dynamics_ros.ros.inputs.state_stream import MOST_TRACKED, StateStream, StateTimes
from lie_dynamics_ros.ros.node.domain import DomainReservation
from lie_dynamics_ros.ros.node.managed_node import ManagedNode, NodeParameters
from lie_dynamics_ros.ros.outputs.diagnostics import ERROR, OK, WARN, Report, TimingParameters
from lie_dynamics_ros.ros.outputs.output import Output


@dataclass(frozen=True)
class HearingParameters(TimingParameters, NodeParameters):
    pass


@pytest.fixture
def node():
    reservation = DomainReservation()
    context = rclpy.Context()
    with patch.dict(os.environ):
        reservation.apply(os.environ)
        rclpy.init(context=context)
        node = ManagedNode("told", HearingParameters, context=context)
    yield node
    node.destroy_node()
    rclpy.shutdown(context=context)
    reservation.release()


def test_what_takes_long_follows_an_answer_and_is_never_forgotten(node, monkeypatch):
    done = []

    def answer(message, *_):
        if not message.name:
            raise MessageError("missing joints", "all")
        done.append("answer")

    stream = StateStream(node, answer, lambda: None)

    def state(good):
        message = JointState(name=["a"] if good else [])
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(time.time_ns(), 10**9)
        stream.on_state(message)

    monkeypatch.setattr(state_stream, "SOON", 1000.0)
    assert stream.hears()  # as far as it is open
    do = lambda: done.append("done")  # noqa: E731
    stream.after_next(do)
    assert done == ["done"]  # not open
    stream.start()
    stream.after_next(do)
    assert done == ["done"] * 2  # no state yet
    assert not stream.hears()
    state(good=True)
    assert stream.hears()
    stream.after_next(do)
    state(good=False)
    assert done[2:] == ["answer"]
    state(good=True)
    state(good=True)
    assert done[2:] == ["answer", "answer", "done", "answer"]
    stream.after_next(do)
    stream.after_next(do)  # no answer came meanwhile
    assert done[6:] == ["done"]
    state(good=True)
    assert done[6:] == ["done", "answer"]
    stream.after_next(lambda: done.append("another"))
    stream.after_next(do)  # what waits is done first
    assert done[8:] == ["another", "done"]
    monkeypatch.setattr(state_stream, "SOON", 0.0)
    stream.after_next(do)  # the last state is old
    assert done[10:] == ["done"]


def test_silence_has_its_reason(node):
    """Whether states cease or come and cannot be answered, as those of a robot whose base moves unheard."""
    clock = SimpleNamespace(now=100.0)
    node.waiting_time = lambda: clock.now
    names = ["a"]

    def answer(message, *_):
        if not message.name:
            raise MessageError("odometry", "no odometry could be used yet")

    stream = StateStream(node, answer, lambda: None)
    stream._times.timeout = 0
    stream.start()

    def silence(after):
        clock.now += after
        stream.on_state(JointState(name=names))
        return stream.silence(1.0)

    assert silence(0.0) == ""
    names.clear()
    assert silence(0.9) == ""
    assert silence(0.2) == "joint states cannot be answered: no odometry could be used yet"
    clock.now += 1.1
    assert stream.silence(1.0) == "joint states have ceased"
    assert stream.silence(2.5) == ""
    names.append("a")
    assert silence(0.0) == ""


@pytest.mark.parametrize(("takes", "stamped", "answered"), [(0.05, 0.0, 1), (0.15, 0.0, 0), (0.06, 0.05, 0)])
def test_an_answer_that_takes_too_long_is_none(node, takes, stamped, answered):
    """As where the process is frozen between two messages; ``stamped`` is how old the state is when it comes [s]."""
    clock = SimpleNamespace(now=100.0)
    node.waiting_time = lambda: clock.now
    published = []

    def answer(*_):
        first.send_serialized(b"first")
        clock.now += takes
        second.send_serialized(b"second")

    node.stream = stream = StateStream(node, answer, lambda: None)
    first, second = Output(node, JointState, "first"), Output(node, JointState, "second")
    for output in (first, second):
        output._publisher = SimpleNamespace(is_activated=True)
        output._hand_over_serialized = published.append
    node.ros_time = lambda: 10**9
    stream.start()
    message = JointState()
    message.header.stamp.nanosec = round((1.0 - stamped) * 1e9) % 10**9
    message.header.stamp.sec = int(stamped == 0.0)
    stream.on_state(message)
    assert published == [b"first", b"second"][: 1 + answered]
    assert stream.statistics.answered == answered
    assert stream.statistics.rejected["stale"] == 1 - answered
    stream._times.timeout = 0  # no limit
    message.header.stamp.nanosec += 1
    stream.on_state(message)
    assert published[1 + answered :] == [b"first", b"second"]


@pytest.mark.parametrize(
    ("answered", "dropped", "level"),
    [
        (500, {"stale": 1}, WARN),
        (500, {"stale": 51}, ERROR),
        (0, {"stale": 1}, ERROR),
        (500, {"stale": 1, "malformed": 1}, ERROR),
        (500, {}, OK),
    ],
)
def test_a_few_late_states_are_no_error_and_many_or_other_ones_are(node, answered, dropped, level):
    stream = StateStream(node, lambda *_: None, lambda: None)
    stream.start()
    message = JointState(name=["a"])
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(time.time_ns(), 10**9)
    stream.on_state(message)
    for kind, count in {"stale": 3, "malformed": 3}.items():  # before
        for _ in range(count):
            stream.statistics.reject(kind, "why")
    stream.describe(Report(), 1.0)
    stream.statistics.answered += answered
    for kind, count in dropped.items():
        for _ in range(count):
            stream.statistics.reject(kind, "why")
    report = Report()
    with patch.object(stream, "hears", return_value=True):
        stream.describe(report, 1.0)
    assert report.level == level, report.reasons

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
