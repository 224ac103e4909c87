"""Publishers told apart by how each counts its messages; lifecycle requests that no rclpy may end a process for."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import rclpy
from lifecycle_msgs.srv import ChangeState
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn

from lie_dynamics_ros.ros.wire.compatibility import (
    LONGEST_TURN,
    MOST_COUNTED,
    Counts,
    lifecycle_state,
    refuse_impossible_transitions,
)

IDS = {"unconfigured": {1: "inactive"}, "inactive": {2: "unconfigured", 3: "active"}, "active": {4: "inactive"}}
LABELS = {1: "configure", 2: "cleanup", 3: "activate", 4: "deactivate"}
SHUTDOWN = {"unconfigured": 5, "inactive": 6, "active": 7, "finalized": None}


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


@pytest.mark.parametrize("offset", [-3, -1, 0, 1, 2, 30])
def test_publishers_of_different_joints_are_never_taken_for_each_other_for_long(rng, offset):
    """As two robots on one topic that were started together, of whose messages a busy machine loses many."""
    counts = Counts()
    numbers = {"left": 100, "right": 100 + offset}
    found = {name: [] for name in numbers}
    for _ in range(2000):
        name = "left" if rng.random() < 0.5 else "right"
        numbers[name] += int(rng.integers(1, 20))
        found[name].append(counts.publisher(numbers[name], (f"{name}_1", f"{name}_2")))
    settled = [set(names[20:]) for names in found.values()]
    assert len(settled[0]) == len(settled[1]) == 1 and settled[0] != settled[1]


def test_one_that_sends_several_lists_is_one(rng):
    counts = Counts()
    numbers = np.cumsum(rng.integers(1, 20, size=500)).tolist()
    assert len({counts.publisher(number, ("a",) if rng.random() < 0.3 else ("a", "b")) for number in numbers}) == 1


def test_lists_that_are_never_the_same_take_no_memory():
    counts = Counts()
    assert len({counts.publisher(number, (str(number),)) for number in range(1, 10 * MOST_COUNTED)}) == 1
    assert len(counts._tracks) <= MOST_COUNTED


def test_one_that_is_started_again_is_another_and_takes_no_memory():
    counts = Counts()
    names = [counts.publisher(1) for _ in range(MOST_COUNTED)]
    assert len(set(names)) == MOST_COUNTED
    assert counts.publisher(1) in names


class Ready(LifecycleNode):
    """Does what it is asked, and asks itself for another transition on the way."""

    def on_configure(self, state):
        self.meanwhile = [ask(self, number) for number in (*range(12), 20, 60)]
        return TransitionCallbackReturn.SUCCESS


def ask(node, number=0, label=""):
    request = ChangeState.Request()
    request.transition.id, request.transition.label = number, label
    return node._service_change_state.callback(request, ChangeState.Response()).success


@pytest.fixture(params=["as installed", "with the upstream fix"])
def node(request):
    context = rclpy.Context()
    rclpy.init(context=context)
    found = Ready("ready", context=context)
    change = found._service_change_state.callback

    def fixed(asked, response):
        try:
            return change(asked, response)
        except Exception:
            response.success = False
            return response

    if request.param == "with the upstream fix":  # ros2/rclpy issue 1209
        found._service_change_state.callback = fixed
    refuse_impossible_transitions(found)
    yield found
    found.destroy_node()
    context.shutdown()


def test_transitions_are_made_or_refused_whatever_is_asked_for(node):
    state, numbers = "unconfigured", set(range(256))
    for way in (1, 3, 4, 2, 1):
        possible = {*IDS[state], SHUTDOWN[state]}
        for number in numbers - possible:
            assert not ask(node, number)
        for label in {*LABELS.values(), "nonsense", "transition_failure"} - {LABELS[k] for k in IDS[state]}:
            assert not ask(node, 0, label) and not ask(node, way, label)
        assert lifecycle_state(node) == state
        assert ask(node, way) if way % 2 else ask(node, 255, LABELS[way])  # a label counts, where it is given
        state = IDS[state][way]
        assert lifecycle_state(node) == state
        numbers = {*LABELS, *SHUTDOWN.values(), 0, 9, 100, 255}  # all of them once
    assert node.meanwhile and not any(node.meanwhile)
    assert ask(node, SHUTDOWN[state])
    assert lifecycle_state(node) == "finalized" and not any(ask(node, number) for number in numbers)
