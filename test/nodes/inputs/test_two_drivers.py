"""One more publisher of joint states: it silences no node, and nodes say who they are."""

from __future__ import annotations

import math
import os

import pytest
from node_cases import CASES
from node_harness import Bench, stamp_of
from sensor_msgs.msg import JointState

ROUNDS = 10
TOLD_APART = os.environ.get("ROS_DISTRO") != "jazzy"
"""Whether rclpy says who sent a message; elsewhere nodes guess."""
TIMEOUT = 20.0
"""Age [s] up to which states are answered; no machine stands still for so long."""


@pytest.fixture
def intruder(bench):
    """Publishes joint states under another name."""
    other = Bench("intruder", bench.namespace)
    other.drive(qos=10)
    yield other.states
    other.close()


OF_EVERY_RUN = ("contact", "computed_torque", "stewart_pose")
"""Answers in windows of states, to joints of an arm, and to legs; the stream that drops is the same in all."""


def each_of(modules):
    """Cases of these nodes in every run, the others with -m slow."""
    cases = [pytest.param(c, marks=() if c.module in modules else pytest.mark.slow) for c in CASES]
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.module)


@each_of(OF_EVERY_RUN)
def test_answers_each_state_of_a_driver_beside_one_whose_clock_is_ahead(bench, intruder, case):
    side = f"qos_overrides.{bench.namespace}/joint_states.subscription"
    reliable = {f"{side}.reliability": "reliable", f"{side}.depth": 100}  # a busy node keeps what comes meanwhile
    bench.drive(qos=100)
    node, answers = case.start(bench, state_timeout=TIMEOUT, **reliable)
    bench.ask(lambda: case.state(bench), answers)
    bench.wait(lambda: intruder.get_subscription_count() == 1, "the intruder to be heard")

    def wrong() -> list[JointState]:
        """Far ahead; within the timeout, but nothing to answer; and one to answer."""
        far, near = (bench.now() + round(share * TIMEOUT * 1e9) for share in (20.0, 0.9))
        nothing = case.state(bench, near)
        nothing.position[0] = math.nan
        good = [case.state(bench, near)] if TOLD_APART else []
        return [case.state(bench, far), nothing, *good]

    for _ in range(ROUNDS):
        for message in wrong():
            intruder.publish(message)
        if not case.single:
            case.check(bench.ask(lambda: case.state(bench), answers))
            continue
        stamps = set()

        def publish(stamps: set[int] = stamps) -> None:
            good = case.state(bench)
            stamps.add(stamp_of(good))
            for publisher, message in zip([bench.states, intruder, intruder], [good, *wrong()[:2]], strict=True):
                publisher.publish(message)

        def found(stamps: set[int] = stamps) -> object:
            return next((a for a in reversed(answers) if stamp_of(a) in stamps), None)

        answer = bench.send_until(publish, found, "an answer")
        case.check(answer)

    def named(status, _):
        both = (f"{bench.namespace}/{name}" for name in ("bench", "intruder"))
        return status.level == b"\x02" and "take turns" in status.message and all(n in status.message for n in both)

    def send() -> None:
        intruder.publish(wrong()[1])
        bench.states.publish(case.state(bench))

    bench.send_until(send, lambda: bench.reported(node, named), "an error that names both")


@each_of(OF_EVERY_RUN[1:])
def test_a_slower_publisher_of_the_same_joints_is_passed_over_and_named(bench, intruder, case):
    """As an aggregate of all drivers' states is: a fifth of the messages, with the joints of others beside."""
    side = f"qos_overrides.{bench.namespace}/joint_states.subscription"
    reliable = {f"{side}.reliability": "reliable", f"{side}.depth": 100}
    bench.drive(qos=100)
    node, answers = case.start(bench, state_timeout=TIMEOUT, **reliable)
    bench.ask(lambda: case.state(bench), answers)
    bench.wait(lambda: intruder.get_subscription_count() == 1, "the intruder to be heard")
    theirs: list[int] = []

    def send() -> None:
        for _ in range(4):
            bench.states.publish(case.state(bench))
        slow = case.state(bench)
        slow.name, slow.position = ["stranger", *slow.name], [0.0, *slow.position]
        slow.effort = [0.0, *slow.effort] if slow.effort else []
        theirs.append(stamp_of(slow))
        intruder.publish(slow)

    def named(status, _):
        who = not TOLD_APART or f"{bench.namespace}/intruder (" in status.message
        return status.level == b"\x01" and "passed over" in status.message and who

    bench.send_until(send, lambda: bench.reported(node, named), "a warning that names who is passed over")
    known = len(theirs)
    for _ in range(20):
        send()
    bench.ask(lambda: case.state(bench), answers)
    assert not {stamp_of(answer) for answer in answers} & set(theirs[known:])
