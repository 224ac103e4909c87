"""What the inverse_dynamics node must not answer, what it says about it, and that it goes on afterwards."""

from __future__ import annotations

import math

import numpy as np
import pytest
from node_harness import stamp_of
from node_robots import ARM, ARM_JOINTS, oracle
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

Q = np.linspace(-0.5, 0.5, 7)
SECOND = 10**9


@pytest.fixture
def arm(bench):
    """Start the node on the arm, wait until it answers; returns its name and answers."""

    def start(**parameters):
        node = bench.start("inverse_dynamics", robot_description=ARM, **parameters)
        answers = bench.listen(JointState, f"{node}/joint_efforts")
        bench.ask(lambda: bench.make_state(ARM_JOINTS, Q), answers)
        return node, answers

    return start


@pytest.fixture(scope="module")
def shared(module_bench):
    """A node on the arm that several tests share."""
    node = module_bench.start("inverse_dynamics", robot_description=ARM)
    return module_bench, node, module_bench.listen(JointState, f"{node}/joint_efforts")


def dropped(bench, node, kind):
    status = bench.status(node)
    return int({v.key: v.value for v in status.values}.get(f"dropped: {kind}", 0)) if status else 0


def send_until_dropped(bench, node, make, kind):
    """Publish states until the node reports one more as dropped; returns their time stamps."""
    before = dropped(bench, node, kind)
    stamps = set()

    def reported():
        message = make()
        stamps.add(stamp_of(message))
        bench.states.publish(message)
        bench.executor.spin_once(timeout_sec=0.02)
        return dropped(bench, node, kind) > before

    bench.wait(reported, f"a report of a dropped message: {kind}")
    return stamps


def nan_at(index):
    position = Q.copy()
    position[index] = math.nan
    return position


@pytest.mark.parametrize(
    ("names", "position", "velocity", "kind", "detail"),
    [
        (ARM_JOINTS[:6], Q[:6], (), "missing joints", "panda_joint7"),
        ((), (), (), "missing joints", "panda_joint1"),
        ((*ARM_JOINTS, "panda_joint3"), [*Q, 0.1], (), "ambiguous joints", "panda_joint3"),
        (ARM_JOINTS, Q[:5], (), "malformed", "position has 5 entries for 7 names"),
        (ARM_JOINTS, (), (), "malformed", "position has 0 entries for 7 names"),
        (ARM_JOINTS, Q, Q[:3], "malformed", "velocity has 3 entries for 7 names"),
        (ARM_JOINTS, nan_at(2), (), "not finite", "positions"),
        (ARM_JOINTS, [*Q[:6], math.inf], (), "not finite", "positions"),
        (ARM_JOINTS, Q, [math.inf] * 7, "not finite", "velocities"),
        (ARM_JOINTS, Q, [1e200] * 7, "not finite", ""),
    ],
    ids=[
        "one joint missing", "all joints missing", "joint named twice", "positions too short", "no positions",
        "velocities too short", "NaN position", "infinite position", "infinite velocity", "overflowing efforts",
    ],
)  # fmt: skip
def test_does_not_answer_unusable_states(shared, names, position, velocity, kind, detail):
    bench, node, answers = shared
    stamps = send_until_dropped(bench, node, lambda: bench.make_state(names, position, velocity), kind)
    status = bench.wait_status(node, lambda s, v: detail in v.get("last problem", ""), detail)
    assert status.level == b"\x02"
    good = bench.ask(lambda: bench.make_state(ARM_JOINTS, Q), answers)
    np.testing.assert_allclose(good.effort, oracle(ARM, Q), rtol=0, atol=1e-12 * np.abs(oracle(ARM, Q)).max())
    assert not stamps & {stamp_of(answer) for answer in answers}
    assert all(np.isfinite(answer.effort).all() for answer in answers)


@pytest.mark.parametrize(("offset", "kind"), [(-SECOND, "stale"), (+SECOND, "from the future")])
def test_does_not_answer_states_of_another_time(bench, arm, offset, kind):
    node, answers = arm(state_timeout=0.5)
    # Steady from one to the next, so that only their age is wrong.
    stamps = send_until_dropped(
        bench, node, lambda: bench.make_state(ARM_JOINTS, Q, stamp=bench.now() + offset), kind
    )
    bench.ask(lambda: bench.make_state(ARM_JOINTS, Q), answers)
    assert not stamps & {stamp_of(answer) for answer in answers}


def test_answers_old_states_where_the_timeout_is_off(bench, arm):
    _, answers = arm(state_timeout=0.0)
    for stamp in (bench.now() - 100 * SECOND, bench.now() + 100 * SECOND):
        answer = bench.ask(lambda stamp=stamp: bench.make_state(ARM_JOINTS, Q, stamp=stamp), answers)
        assert stamp_of(answer) == stamp


def test_answers_states_without_a_time_stamp(shared):
    bench, _, answers = shared
    assert stamp_of(bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, stamp=0), answers)) == 0


def test_says_when_states_stop_coming(bench, arm):
    node, _ = arm()
    bench.wait_status(node, lambda s, v: s.level == b"\x02" and "stale: no state received" in s.message, "silence")


def test_stops_when_time_runs_backwards_and_resumes_when_it_runs_forwards(bench, arm):
    node, answers = arm(state_timeout=0.0)
    start = bench.now() + 10 * SECOND
    bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, stamp=start), answers)
    before = {stamp_of(answer) for answer in answers}
    going_back = iter(range(start - SECOND, 0, -SECOND))
    stamps = send_until_dropped(
        bench, node, lambda: bench.make_state(ARM_JOINTS, Q, stamp=next(going_back)), "time ran backwards"
    )
    assert not stamps & {stamp_of(answer) for answer in answers}
    earliest = next(going_back)
    going_on = iter(range(earliest, start, 1000))
    answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, stamp=next(going_on)), answers)
    assert stamp_of(answer) not in before


def test_judges_age_by_simulated_time(bench):
    node = bench.start("inverse_dynamics", robot_description=ARM, use_sim_time=True)
    answers = bench.listen(JointState, f"{node}/joint_efforts")
    clock = bench.node.create_publisher(Clock, "/clock", 1)
    simulated = 5 * SECOND

    def state(stamp):
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(simulated, SECOND)
        clock.publish(message)
        return bench.make_state(ARM_JOINTS, Q, stamp=stamp)

    assert stamp_of(bench.ask(lambda: state(simulated), answers)) == simulated
    send_until_dropped(bench, node, lambda: state(bench.now()), "from the future")


def random_state(rng):
    """A joint state as broken drivers send it; whether it may be answered."""
    names = [*ARM_JOINTS, "finger", "ünïcode", "", "x" * 300]
    names = [names[i] for i in rng.permutation(len(names))]
    if rng.random() < 0.3:
        names = list(rng.choice(names, size=rng.integers(0, 15)))
    sizes = [len(names) if rng.random() < 0.8 else int(rng.integers(0, 12)) for _ in range(3)]
    special = [0.0, -0.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-308, 1e160]
    fields = []
    for size in sizes:
        values = rng.normal(size=size)
        if size and rng.random() < 0.3:
            values[rng.integers(size)] = rng.choice(special)
        fields.append(values.tolist())
    return names, fields


def test_survives_random_messages_and_publishes_only_finite_efforts(bench, arm):
    _, answers = arm(state_timeout=0.0)
    rng = np.random.default_rng(3)
    for _ in range(2000):
        names, (position, velocity, effort) = random_state(rng)
        message = bench.make_state(names, position, velocity)
        message.effort = effort
        bench.states.publish(message)
        bench.executor.spin_once(timeout_sec=0.0005)
    # It still answers, and rightly.
    good = bench.ask(lambda: bench.make_state(ARM_JOINTS, Q), answers)
    np.testing.assert_allclose(good.effort, oracle(ARM, Q), rtol=0, atol=1e-12 * np.abs(oracle(ARM, Q)).max())
    assert len(answers) > 100
    assert all(len(answer.effort) == 7 and np.isfinite(answer.effort).all() for answer in answers)
