"""One more publisher of joint states: it silences no node, and nodes say who they are."""

from __future__ import annotations

import math
import os

import pytest
import rclpy
from node_cases import CASES
from node_harness import stamp_of
from sensor_msgs.msg import JointState

ROUNDS = 100
SECOND = 10**9
TOLD_APART = os.environ.get("ROS_DISTRO") != "jazzy"
"""Whether rclpy says who sent a message; elsewhere nodes guess."""


@pytest.fixture
def intruder(bench):
    """Publishes joint states under another name."""
    node = rclpy.create_node("intruder", namespace=bench.namespace)
    yield node.create_publisher(JointState, "joint_states", 10)
    node.destroy_node()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.module)
def test_answers_each_state_of_a_driver_beside_one_whose_clock_is_ahead(bench, intruder, case):
    reliable = {f"qos_overrides.{bench.namespace}/joint_states.subscription.reliability": "reliable"}
    node, answers = case.start(bench, **reliable)
    bench.ask(lambda: case.state(bench), answers)
    bench.wait(lambda: intruder.get_subscription_count() == 1, "the intruder to be heard")

    def wrong() -> list[JointState]:
        """Two seconds ahead; within the timeout, but nothing to answer; and one to answer."""
        now = bench.now()
        nothing = case.state(bench, now + 9 * SECOND // 100)
        nothing.position[0] = math.nan
        good = [case.state(bench, now + 9 * SECOND // 100)] if TOLD_APART else []
        return [case.state(bench, now + 2 * SECOND), nothing, *good]

    for _ in range(ROUNDS):
        for message in wrong():
            intruder.publish(message)
        good = case.state(bench)
        bench.states.publish(good)
        for message in wrong()[:2]:
            intruder.publish(message)
        stamp = stamp_of(good)
        answer = bench.wait(
            lambda stamp=stamp: next((a for a in reversed(answers) if stamp_of(a) == stamp), None), "an answer"
        )
        case.check(answer)

    def named(status, _):
        both = (f"{bench.namespace}/{name}" for name in ("bench", "intruder"))
        return "take turns" in status.message and all(name in status.message for name in both)

    def sent() -> bool:
        intruder.publish(wrong()[1])
        bench.states.publish(case.state(bench))
        bench.executor.spin_once(timeout_sec=0.01)
        status = bench.status(node)
        return status is not None and status.level == b"\x02" and named(status, {})

    bench.wait(sent, "an error that names both")
