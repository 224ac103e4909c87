"""More states than a node keeps up with, and two robots at once; the same for every node."""

from __future__ import annotations

import pytest
from node_cases import CASES, each_of_few
from node_harness import Bench, stamp_of
from sensor_msgs.msg import JointState


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.module)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def pairs(ros, case):
    """Two robots, each with the node, as it comes, in a namespace of its own: benches, and lists of their answers."""
    benches = Bench(), Bench()
    yield [(bench, case.start(bench)[1]) for bench in benches]
    for bench in benches:
        bench.close()


@each_of_few
@pytest.mark.parametrize("count", [150, pytest.param(5_000, marks=pytest.mark.slow)])
def test_keeps_up_with_ten_times_the_rate(pairs, case, count):
    bench, answers = pairs[0]
    bench.ask(lambda: case.state(bench), answers)
    answers.clear()
    # As fast as they can be made: ten thousand a second. The queue holds one, so what comes too fast is dropped
    # and the rest is answered while it is new.
    sent = [case.state(bench) for _ in range(count)]
    for message in sent:
        bench.states.publish(message)
    last = stamp_of(bench.ask(lambda: case.state(bench), answers))
    stamps = [stamp_of(answer) for answer in answers]
    assert stamps == sorted(set(stamps))
    assert last in stamps
    case.check(answers[-1])


@each_of_few
def test_two_robots_in_namespaces_do_not_meet(pairs, case):
    for bench, answers in pairs:
        case.check(bench.ask(lambda b=bench: case.state(b), answers))
    (one, mine), (other, theirs) = pairs
    sent = set()  # answers carry the time of their states

    def state() -> JointState:
        message = case.state(one)
        sent.add(stamp_of(message))
        return message

    for _ in range(5):
        one.ask(state, mine)
    # The answer to this comes after whatever the other node had to say to those states.
    other.ask(lambda: case.state(other), theirs)
    assert sent & {stamp_of(answer) for answer in mine}
    assert not sent & {stamp_of(answer) for answer in theirs}
