"""What no node may answer, what it says about it, and that it goes on afterwards; the same for every node.

Rubbish in quantity, too.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from node_cases import CASES, each_of_few, random_state
from node_harness import stamp_of
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock

SECOND = 10**9


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.module)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def shared(module_bench, case):
    """A node that several tests share, which gets and judges each state, however late."""
    side = f"qos_overrides.{module_bench.namespace}/joint_states.subscription"
    parameters = {f"{side}.reliability": "reliable", f"{side}.depth": 100, "state_timeout": 60.0}
    module_bench.drive(qos=QoSProfile(depth=100))
    yield (module_bench, *case.start(module_bench, f"shared_{case.module}", **parameters))
    process = module_bench.processes.pop()  # all that are left hear what is sent to the next one
    assert process.stop() == 0, process.output


@pytest.fixture
def begin(shared, case):
    """Let the shared node begin afresh with another ``state_timeout``, and wait until it answers; returns all three."""
    bench, node, answers = shared

    def restart(timeout):
        bench.wait_state(node, "active")
        for transition in ("deactivate", "activate"):
            assert bench.change_state(node, transition)
        assert bench.set(node, state_timeout=timeout).successful
        bench.ask(lambda: case.state(bench), answers)

    def begin(timeout):
        restart(timeout)
        # States that were still on their way may have been dropped before that answer.
        status = bench.wait_status(node, lambda s, v: True, "a report", bench.now())
        for value in status.values:
            kind = value.key.removeprefix("dropped: ")
            if kind != value.key:
                SENT[node, kind] = max(SENT[node, kind], int(value.value))
        return shared

    yield begin
    restart(60.0)


SENT = Counter()
"""Messages that were sent to be dropped, by node and kind."""


def send_until_dropped(bench, node, make, kind, detail=""):
    """Publish until the node reports, as an error, more of them dropped than were sent before; returns their stamps."""
    before = SENT[node, kind]
    stamps = set()

    def publish():
        message = make()
        if not isinstance(message, bytes):
            stamps.add(stamp_of(message))
        SENT[node, kind] += 1
        bench.states.publish(message)

    def told(status, values):
        told = status.level == b"\x02" and detail in values["last problem"]
        return told and int(values[f"dropped: {kind}"] or 0) > before

    report = f"a report of a dropped message: {kind}"
    bench.send_until(publish, lambda: bench.reported(node, told), report, pause=0.2)
    return stamps


UNUSABLE = {
    "one joint missing": (lambda n, q: (n[:-1], q[:-1], ()), "missing joints", lambda n: n[-1]),
    "all joints missing": (lambda n, q: ((), (), ()), "missing joints", lambda n: n[0]),
    "joint named twice": (lambda n, q: ((*n, n[2]), [*q, q[2]], ()), "ambiguous joints", lambda n: n[2]),
    "positions too short": (lambda n, q: (n, q[:5], ()), "malformed", lambda n: "position has 5 entries"),
    "no positions": (lambda n, q: (n, (), ()), "malformed", lambda n: "position has 0 entries"),
    "velocities too short": (lambda n, q: (n, q, q[:3]), "malformed", lambda n: "velocity has 3 entries"),
    "NaN position": (lambda n, q: (n, [*q[:-1], math.nan], ()), "not finite", lambda n: ""),
    "infinite position": (lambda n, q: (n, [-math.inf, *q[1:]], ()), "not finite", lambda n: ""),
    "infinite velocity": (lambda n, q: (n, q, [math.inf] * len(n)), "not finite", lambda n: ""),
    "overflow": (lambda n, q: (n, q, [1e200] * len(n)), "not finite", lambda n: ""),
}


OF_EVERY_RUN = {
    (case.module, what)
    for k, case in enumerate(CASES)
    for j, what in enumerate(UNUSABLE)
    if case.module == "stewart_pose" or case.forgives or (j - k) % 3 == 0
}
"""All of legs, and of joints, which all nodes read by the same lines, each once or twice; with -m slow the others."""


@pytest.mark.parametrize("rest", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_does_not_answer_states_that_it_cannot_use(shared, case, rest):
    bench, node, answers = shared
    for what, (spoil, kind, detail) in UNUSABLE.items():
        if ((case.module, what) in OF_EVERY_RUN) == rest:
            continue
        state = spoil(case.names, case.position)
        if what in case.forgives:
            case.check(bench.ask(lambda state=state: case.message(bench, *state), answers))
            continue
        stamps = send_until_dropped(
            bench, node, lambda state=state: case.message(bench, *state), kind, detail(case.names)
        )
        case.check(bench.ask(lambda: case.state(bench), answers))
        assert not stamps & {stamp_of(answer) for answer in answers}, what
        assert all(np.isfinite(case.numbers(answer)).all() for answer in answers), what


def test_goes_on_after_bytes_that_are_no_state(shared, case):
    bench, node, answers = shared

    def dropped(status):
        return next((int(v.value) for v in status.values if v.key == "dropped: malformed"), 0)

    case.check(bench.ask(lambda: case.state(bench), answers))  # all before has come, and what is sent now will
    before = dropped(bench.wait_status(node, lambda s, v: True, "a report", bench.now()))
    whole = serialize_message(case.state(bench))
    for spoiled in (whole[:2], b"\x00\x01\x00\x03", whole[:30], whole[:60], b"\xff" * 50):
        bench.states.publish(spoiled)
    SENT[node, "malformed"] = before + 5
    bench.wait_status(node, lambda s, v: dropped(s) == before + 5 and s.level == b"\x02", "a report of all of them")
    case.check(bench.ask(lambda: case.state(bench), answers))


def test_answers_states_without_a_time_stamp(shared, case):
    bench, _, answers = shared
    begin = len(answers)

    def unstamped():
        """An answer under another stamp than those of states that were sent before: none, or the node's own time."""
        return next((a for a in answers[begin:] if not 0 < stamp_of(a) <= bench.stamp), None)

    case.check(
        bench.send_until(lambda: bench.states.publish(case.state(bench, stamp=0)), unstamped, "an answer without stamp")
    )


# So far off that no machine that stands still for a while makes it right.
@each_of_few
@pytest.mark.parametrize(("offset", "kind"), [(-1000 * SECOND, "stale"), (1000 * SECOND, "from the future")])
def test_does_not_answer_states_of_another_time(case, begin, offset, kind):
    bench, node, answers = begin(0.5)
    # Steady from one to the next, so that only their age is wrong.
    stamps = send_until_dropped(bench, node, lambda: case.state(bench, stamp=bench.now() + offset), kind)
    bench.ask(lambda: case.state(bench), answers)
    assert not stamps & {stamp_of(answer) for answer in answers}


def test_answers_old_states_where_the_timeout_is_off(case, begin):
    bench, _, answers = begin(0.0)
    stamp = bench.now() + 100 * SECOND
    assert stamp_of(bench.ask(lambda: case.state(bench, stamp=stamp), answers)) == stamp


def test_says_when_states_stop_coming(begin):
    bench, node, _ = begin(0.5)
    bench.wait_status(node, lambda s, v: s.level == b"\x02" and "stale: no " in s.message, "silence")


def test_stops_when_time_runs_backwards_and_resumes_when_it_runs_forwards(case, begin):
    bench, node, answers = begin(0.0)
    first = bench.now() + 10 * SECOND
    bench.ask(lambda: case.state(bench, stamp=first), answers)
    before = {stamp_of(answer) for answer in answers}
    going_back = iter(range(first - SECOND, 0, -SECOND))
    stamps = send_until_dropped(bench, node, lambda: case.state(bench, stamp=next(going_back)), "time ran backwards")
    assert not stamps & {stamp_of(answer) for answer in answers}
    going_on = iter(range(next(going_back), first, 1000))
    answer = bench.ask(lambda: case.state(bench, stamp=next(going_on)), answers)
    assert stamp_of(answer) not in before
    case.check(answer)


BURST = 50
GROWTH = 4 * 2**20
"""Most that a node may grow by [bytes]; of 10000 messages one kept state in ten would come to more."""


def resident(pid):
    """Memory of a process [bytes]; 0 where the system does not tell."""
    file = Path(f"/proc/{pid}/statm")
    return int(file.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if file.exists() else 0


@pytest.mark.parametrize("count", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_survives_thousands_of_random_messages(case, begin, count):
    """The last test of a shared node: what other inputs were told may count for a while."""
    bench, node, answers = begin(0.0)
    rng = np.random.default_rng(3)
    noise = case.noise(bench, node, rng)
    process = bench.processes[-1].process.pid
    known = bench.wait_status(node, lambda s, v: True, "a report", bench.now())
    received = next(int(v.value) for v in known.values if v.key == "states received")
    answers.clear()
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
    counted = received + count
    status = bench.wait_status(node, lambda s, v: int(v["states received"] or 0) >= counted, "all messages counted")
    values = {v.key: v.value for v in status.values}
    assert "dropped: unexpected error" not in values, values["last problem"]


SIMULATED_TIME = ("contact", "stewart_pose")
"""Nodes of every run: answers in windows of joints' states, legs; the clock is that of all nodes."""


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=() if c.module in SIMULATED_TIME else pytest.mark.slow) for c in CASES],
    ids=lambda case: case.module,
)
def test_follows_simulated_time_also_when_a_recording_starts_again(bench, case):
    node, answers = case.start(bench, use_sim_time=True)
    clock = bench.publisher(Clock, "/clock", 1)

    def at(simulated, stamp):
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(simulated, SECOND)
        clock.publish(message)
        bench.executor.spin_once(timeout_sec=0.01)
        return case.state(bench, stamp=stamp)

    assert stamp_of(bench.ask(lambda: at(50 * SECOND, 50 * SECOND), answers)) == 50 * SECOND
    send_until_dropped(bench, node, lambda: at(50 * SECOND, bench.now()), "from the future")
    answers.clear()
    # The recording starts again: the node's clock and the stamps go back together.
    steps = iter(range(5 * SECOND, 40 * SECOND, SECOND // 100))

    def again():
        now = next(steps)
        return at(now, now)

    answer = bench.ask(again, answers)
    assert stamp_of(answer) < 40 * SECOND
    case.check(answer)
