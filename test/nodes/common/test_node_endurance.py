"""Rubbish in quantity, and more of everything than expected; the same for every node."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from node_cases import CASES, each_of_few, random_state
from node_harness import Bench, stamp_of
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

BURST = 50
GROWTH = 4 * 2**20
"""Most that a node may grow by [bytes]; of 10000 messages one kept state in ten would come to more."""


def resident(pid):
    """Memory of a process [bytes]; 0 where the system does not tell."""
    file = Path(f"/proc/{pid}/statm")
    return int(file.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if file.exists() else 0


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


@pytest.mark.parametrize("count", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_survives_thousands_of_random_messages(bench, case, count):
    prefix = f"qos_overrides.{bench.namespace}/joint_states.subscription"
    node, answers = case.start(
        bench, state_timeout=0.0, **{f"{prefix}.reliability": "reliable", f"{prefix}.depth": 2 * BURST}
    )
    bench.drive(qos=QoSProfile(depth=2 * BURST))
    rng = np.random.default_rng(3)
    noise = case.noise(bench, node, rng)
    process = bench.processes[-1].process.pid
    bench.ask(lambda: case.state(bench), answers)
    sent = finite = 0
    before = None
    while sent < count:
        for _ in range(BURST):
            names, position, velocity, effort = random_state(rng, case)
            message = bench.make_state(names, position, velocity)
            message.effort = effort
            bench.states.publish(message)
            if noise and rng.random() < 0.2:
                noise[rng.integers(len(noise))]()
        sent += BURST
        # Nothing is sent faster than the node takes it in: none of it is lost.
        bench.ask(lambda: case.state(bench), answers)
        assert all(np.isfinite(case.numbers(answer)).all() for answer in answers)
        finite += len(answers)
        answers.clear()
        if before is None and sent >= count // 5:
            before = resident(process)
    assert finite >= count / BURST
    assert resident(process) - before < GROWTH
    status = bench.wait_status(node, lambda s, v: int(v["states received"] or 0) >= count, "all messages counted")
    values = {v.key: v.value for v in status.values}
    assert "dropped: unexpected error" not in values, values["last problem"]


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
