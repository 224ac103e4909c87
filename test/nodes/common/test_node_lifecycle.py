"""Lifecycle transitions in every order, and ends of processes on either side; the same for every node."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from node_cases import CASES
from node_harness import Bench, stamp_of

TRANSITIONS = {
    ("unconfigured", "configure"): "inactive",
    ("inactive", "activate"): "active",
    ("active", "deactivate"): "inactive",
    ("inactive", "cleanup"): "unconfigured",
}
LABELS = ("configure", "activate", "deactivate", "cleanup")


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
        assert bench.change_state(node, label) == (wanted is not None), f"{label} while {state}"
        tried.add((state, label))
        state = wanted or state
        assert bench.state(node) == state
        if state == "active":
            case.check(bench.ask(lambda: case.state(bench), answers))
    assert bench.change_state(node, "shutdown")
    for label in LABELS:
        assert not bench.change_state(node, label)
    assert bench.state(node) == "finalized"


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
