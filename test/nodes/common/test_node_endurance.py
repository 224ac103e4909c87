"""Rubbish in quantity, and more of everything than expected; the same for every node."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from node_cases import CASES, random_state
from node_harness import Bench, stamp_of
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.module)
BURST = 50
GROWTH = 4 * 2**20
"""Most that a node may grow by [bytes]; of 10000 messages one kept state in ten would come to more."""


def resident(pid):
    """Memory of a process [bytes]; 0 where the system does not tell."""
    file = Path(f"/proc/{pid}/statm")
    return int(file.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if file.exists() else 0


@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
@each_case
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


@each_case
def test_keeps_up_with_ten_times_the_rate(bench, case):
    _, answers = case.start(bench)
    bench.ask(lambda: case.state(bench), answers)
    answers.clear()
    # As fast as they can be made: ten thousand a second. The queue holds one, so what comes too fast is dropped
    # and the rest is answered while it is new.
    sent = [case.state(bench) for _ in range(5000)]
    for message in sent:
        bench.states.publish(message)
    last = stamp_of(bench.ask(lambda: case.state(bench), answers))
    stamps = [stamp_of(answer) for answer in answers]
    assert stamps == sorted(set(stamps))
    assert last in stamps
    case.check(answers[-1])


@each_case
def test_two_robots_in_namespaces_do_not_meet(bench, case):
    other = Bench()
    try:
        pairs = [(b, *case.start(b)) for b in (bench, other)]
        for b, _, answers in pairs:
            case.check(b.ask(lambda b=b: case.state(b), answers))
        (one, _, mine), (_, _, theirs) = pairs
        sent = set()  # answers carry the time of their states

        def state() -> JointState:
            message = case.state(one)
            sent.add(stamp_of(message))
            return message

        for _ in range(20):
            one.ask(state, mine)
        # The answer to this comes after whatever the other node had to say to those states.
        other.ask(lambda: case.state(other), theirs)
        assert sent & {stamp_of(answer) for answer in mine}
        assert not sent & {stamp_of(answer) for answer in theirs}
    finally:
        other.close()
