"""Transitions in every order, ends of processes, too many states, two robots; the same for every node."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from lifecycle_msgs.srv import ChangeState
from node_cases import CASES, each_of_few
from node_harness import Bench, stamp_of
from sensor_msgs.msg import JointState

TRANSITIONS = {
    ("unconfigured", "configure"): "inactive",
    ("inactive", "activate"): "active",
    ("active", "deactivate"): "inactive",
    ("inactive", "cleanup"): "unconfigured",
}
LABELS = ("configure", "activate", "deactivate", "cleanup")
IDS = {"configure": 1, "cleanup": 2, "activate": 3, "deactivate": 4}  # of lifecycle_msgs/Transition
SHUTDOWN_IDS = {"unconfigured": 5, "inactive": 6, "active": 7}


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.module)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def shared(module_bench, case):
    """A node that several tests share, in whatever state the last one left it, and its answers."""
    yield (module_bench, *case.start(module_bench, f"shared_{case.module}", autostart=False))
    process = module_bench.processes.pop()
    assert process.stop() == 0, process.output


def test_publishes_only_when_active(shared, case):
    bench, node, answers = shared
    assert bench.change_state(node, "configure")
    own = node.rpartition("/")[2]
    bench.wait(
        lambda: own in {info.node_name for info in bench.node.get_subscriptions_info_by_topic("joint_states")},
        "the node to listen",
    )
    while_inactive = set()
    for _ in range(20):
        message = case.state(bench)
        while_inactive.add(stamp_of(message))
        bench.states.publish(message)
    # The transition is served after what came before it.
    assert bench.change_state(node, "activate")
    case.check(bench.ask(lambda: case.state(bench), answers))
    assert not while_inactive & {stamp_of(answer) for answer in answers}


def test_goes_on_when_the_driver_is_started_again(shared, case):
    bench, node, answers = shared
    case.check(bench.ask(lambda: case.state(bench), answers))
    bench.node.destroy_publisher(bench.states)
    bench.wait_status(node, lambda s, v: "stale: no " in s.message, "silence")
    # Another process, with names and clock of its own.
    driver = Bench()
    try:
        driver.drive(f"{bench.namespace}/joint_states")
        answers = case.attach(driver, node)
        case.check(driver.ask(lambda: case.state(driver), answers))
    finally:
        driver.close()
        bench.drive()
    assert bench.state(node) == "active"


@each_of_few
def test_requests_that_no_state_has_change_nothing(shared, case):
    """By id and by label, unknown ones and those of rclpy itself among them, each in every state."""
    bench, node, answers = shared
    for transition in ("deactivate", "cleanup"):
        bench.change_state(node, transition)
    for state, way in (("unconfigured", None), ("inactive", "configure"), ("active", "activate")):
        if way:
            assert bench.change_state(node, IDS[way])
        possible = {IDS[label] for (s, label) in TRANSITIONS if s == state} | {SHUTDOWN_IDS[state]}
        for number in {*range(12), 20, 21, 30, 31, 40, 41, 50, 60, 62, 99, 255} - possible:
            assert not bench.change_state(node, number), f"{number} while {state}"
        for label in ("", "nonsense", "transition_success", "on_configure", "create", "destroy", "\u00e4" * 300):
            assert not bench.change_state(node, label), f"{label} while {state}"
        assert bench.state(node) == state
    case.check(bench.ask(lambda: case.state(bench), answers))


@each_of_few
def test_many_requests_at_once_are_answered_one_by_one(shared, case):
    bench, node, answers = shared
    rng = np.random.default_rng(12)
    answered = set()
    for _ in range(4):
        futures = []
        for number in rng.choice([0, 1, 2, 3, 4, 9, 10, 30, 200], 8):  # the queue of a service holds 10
            request = ChangeState.Request()
            request.transition.id = int(number)
            futures.append(bench.start_call(ChangeState, node, "change_state", request))
        bench.wait(lambda futures=futures: all(future.done() for future in futures), "answers to all")
        answered |= {future.result().success for future in futures}
    assert answered == {False, True}
    if bench.state(node) == "unconfigured":
        assert bench.change_state(node, "configure")
    if bench.state(node) == "inactive":
        assert bench.change_state(node, "activate")
    case.check(bench.ask(lambda: case.state(bench), answers))


@each_of_few
def test_transitions_in_every_order(shared, case):
    """The last test of this node: it is finalized."""
    bench, node, answers = shared
    for transition in ("deactivate", "cleanup"):
        bench.change_state(node, transition)
    rng = np.random.default_rng(11)
    state, tried = "unconfigured", set()
    everything = {(s, label) for s in ("unconfigured", "inactive", "active") for label in LABELS}
    while tried != everything:
        label = str(rng.choice(LABELS))
        wanted = TRANSITIONS.get((state, label))
        asked = label if rng.random() < 0.5 else IDS[label]
        assert bench.change_state(node, asked) == (wanted is not None), f"{asked} while {state}"
        tried.add((state, label))
        state = wanted or state
        assert bench.state(node) == state
        if state == "active":
            case.check(bench.ask(lambda: case.state(bench), answers))
    assert bench.change_state(node, "shutdown")
    for asked in (*LABELS, *IDS.values(), *SHUTDOWN_IDS.values()):
        assert not bench.change_state(node, asked)
    assert bench.state(node) == "finalized"


STARTED_AGAIN = "computed_torque"
"""The node of every run: that which keeps most from one state to the next."""


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=() if c.module == STARTED_AGAIN else pytest.mark.slow) for c in CASES],
    ids=lambda case: case.module,
)
def test_a_node_started_again_goes_on_beside_a_running_driver(bench, case):
    _, answers = case.start(bench)
    case.check(bench.ask(lambda: case.state(bench), answers))
    for how in (signal.SIGINT, signal.SIGKILL):
        process = bench.processes.pop()
        process.process.send_signal(how)
        # The driver goes on meanwhile.
        bench.send_until(
            lambda: bench.states.publish(case.state(bench)),
            lambda process=process: process.process.poll() is not None,
            "its end",
        )
        assert process.process.returncode == (0 if how == signal.SIGINT else -how), process.output
        answers.clear()
        bench.start(case.module, **case.parameters)
        case.check(bench.ask(lambda: case.state(bench), answers))



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
