"""States put together from those of several publishers, each of which knows some joints."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from sensor_msgs.msg import JointState
from support import arms

from lie_dynamics_ros.core.errors import MessageError, WaitingError
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.ros.inputs.publishers import Publishers
from lie_dynamics_ros.ros.inputs.robot_inputs import RobotInputs

ARM_JOINTS = tuple(f"panda_joint{k}" for k in range(1, 8))
MS = 1_000_000
BEGIN = 10**18
Q, QD = np.linspace(-0.5, 0.5, 7), np.linspace(0.3, -0.4, 7)
ARM_PART, HAND_PART = (2, 0, 1, 4), (3, 6, 5)


@pytest.fixture
def inputs():
    found = RobotInputs(Model.from_urdf(arms.OWN), ())
    found.partial.age_limit, found.partial.time, found.with_effort = 50 * MS, 0.002, True
    return found


def at(time):
    """Positions at a time [ns]; velocities are constant."""
    return Q + QD * (time - BEGIN) * 1e-9


def send(inputs, part, time, with_velocity=True, q=None):
    q = at(time) if q is None else q
    message = JointState(name=[*(ARM_JOINTS[k] for k in part), "stranger"], position=[*q[list(part)], 9.0])
    if with_velocity:
        message.velocity = [*QD[list(part)], 9.0]
    message.effort = [*(10.0 * k for k in part), 9.0]
    return inputs.read(message, time, time, 0.0)


@pytest.mark.parametrize("with_velocity", [True, False])
@pytest.mark.parametrize("slow", [1, 3, 20])
def test_the_fastest_publisher_leads_and_the_others_are_moved_on_to_its_time(inputs, with_velocity, slow):
    """The hand's driver begins, and sends every so many milliseconds, 0.3 ms after that of the arm."""
    answered = []
    for k in range(100):
        time = BEGIN + k * MS
        for part, when in ((ARM_PART, time), (HAND_PART, time + 300_000)):
            if part == HAND_PART and k % slow:
                continue
            try:
                answered.append((part, when, send(inputs, part, when, with_velocity)))
            except WaitingError:
                pass
            except MessageError as error:
                assert error.kind == "missing joints" and not answered
    leaders = {part for part, when, _ in answered if when > BEGIN + 50 * MS}
    assert leaders == {ARM_PART} and len(answered) >= 97
    for _, when, state in answered[60:]:
        assert state.stamp == when and state.filter_time == (0.0 if with_velocity else 0.002)
        np.testing.assert_allclose(state.velocity, QD, atol=1e-12 if with_velocity else 1e-5)
        np.testing.assert_allclose(state.position, at(when), atol=1e-6)
        np.testing.assert_array_equal(state.effort, 10.0 * np.arange(7))
    told: dict[str, str] = {}
    inputs.describe(told)
    assert told[f"state period of {ARM_JOINTS[0]} and 3 more [ms]"].startswith("mean 1.000, standard deviation 0.000")
    found = told[f"velocities found in positions of {ARM_JOINTS[3]} and 2 more"]
    assert (found == "none") == with_velocity


def test_who_leads_may_end_and_what_is_too_old_is_told_by_name(inputs):
    for k in range(10):
        for part in (ARM_PART, HAND_PART):
            try:
                send(inputs, part, BEGIN + k * MS)
            except (WaitingError, MessageError):
                assert part == HAND_PART or k == 0
    told = []
    for k in range(10, 100):  # the arm's driver has ended
        try:
            state = send(inputs, HAND_PART, BEGIN + k * MS)
            np.testing.assert_allclose(state.position, at(state.stamp), atol=1e-12)
        except WaitingError:
            assert k == 10
        except MessageError as error:
            told.append(k)
            assert error.kind == "joints too old" and ARM_JOINTS[ARM_PART[0]] in str(error)
            assert ARM_JOINTS[HAND_PART[0]] not in str(error)
    assert told == list(range(60, 100))
    inputs.forget()
    with pytest.raises(MessageError, match="missing"):
        send(inputs, HAND_PART, BEGIN)


def test_missing_joints_are_named_and_other_robots_states_are_passed_over(inputs):
    with pytest.raises(MessageError, match=f"missing from the message: {ARM_JOINTS[0]}, {ARM_JOINTS[1]}") as caught:
        send(inputs, HAND_PART, BEGIN)
    assert caught.value.kind == "missing joints"
    other = JointState(name=["elbow"], position=[1.0])
    with pytest.raises(WaitingError):  # the robot's own states may be on their way
        inputs.read(other, BEGIN, BEGIN, 0.0)
    with pytest.raises(MessageError, match="missing"):
        inputs.read(other, BEGIN, BEGIN + 1001 * MS, 0.0)
    send(inputs, range(7), BEGIN + MS)
    with pytest.raises(WaitingError):
        inputs.read(other, BEGIN + MS, BEGIN + MS, 0.0)
    with pytest.raises(MessageError, match="missing"):
        inputs.read(other, BEGIN + 1100 * MS, BEGIN + 1100 * MS, 0.0)
    bad = Q.copy()
    bad[3] = np.nan
    with pytest.raises(MessageError, match="not finite"):
        send(inputs, HAND_PART, BEGIN + 2 * MS, q=bad)


@pytest.mark.parametrize("limit", [0, 50 * MS])
def test_a_driver_that_begins_again_with_another_order_and_clock_is_the_one_that_counts(inputs, limit):
    """Its list from before was stamped in a time that is yet to come."""
    inputs.partial.age_limit = limit
    answered = []
    for k in range(60):
        again, time = k >= 20, BEGIN + k * MS
        for part, stamp in ((ARM_PART, time), (HAND_PART[::-1] if again else HAND_PART, time + (not again) * 10**10)):
            with suppress(WaitingError, MessageError):
                answered.append((k, send(inputs, part, stamp, q=at(time))))
    judged = [state for k, state in answered if k > 20]
    assert len(judged) >= 38
    for state in judged:
        np.testing.assert_allclose(state.position, at(state.stamp), atol=1e-12)


def test_nothing_is_waited_for_without_end(inputs):
    """Where no limit is set: clocks of all drivers that are put back, and states of other robots alone."""
    inputs.partial.age_limit = 0
    seen: dict[int, list[int]] = {0: [], -10 * 10**9: []}
    for shift, answered in seen.items():
        for k in range(300):
            for part in (ARM_PART, HAND_PART):
                with suppress(WaitingError, MessageError):
                    send(inputs, part, BEGIN + shift + 10 * k * MS)
                    answered.append(k)
    assert all(len(answered) >= 198 for answered in seen.values())
    other = JointState(name=["elbow"], position=[1.0])
    with pytest.raises(WaitingError):
        inputs.read(other, BEGIN, BEGIN - 7 * 10**9, 0.0)
    with pytest.raises(MessageError, match="missing"):
        inputs.read(other, BEGIN, BEGIN, 0.0)


def test_rubbish_takes_no_memory(inputs, rng):
    for k in range(300):
        part = rng.permutation(7)[: rng.integers(1, 6)]
        with suppress(WaitingError, MessageError):
            send(inputs, part, BEGIN + k * MS)
    assert len(inputs.partial.parts) <= 16


def gripper(name, mimic=""):
    """A slide at the end of the arm."""
    return (
        f'<link name="{name}_link"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" '
        f'ixz="0" iyz="0"/></inertial></link><joint name="{name}" type="prismatic"><parent link="panda_link7"/>'
        f'<child link="{name}_link"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="20" velocity="2"/>{mimic}'
        "</joint>"
    )


def with_hand():
    """The arm with fingers, of which the second follows the first, and a lever that follows the second."""
    second = '<mimic joint="finger1" multiplier="-2" offset="0.01"/>'
    lever = '<mimic joint="finger2" multiplier="0.5" offset="0.1"/>'
    more = gripper("lever", lever) + gripper("finger2", second) + gripper("finger1")
    return RobotInputs(Model.from_urdf(Path(arms.OWN).read_text().replace("</robot>", f"{more}</robot>")), ())


def message(names, time, q=None):
    """A state of joints; arms as `at`, fingers where they are told or at 0.02 m."""
    where = {**dict(zip(ARM_JOINTS, at(time), strict=True)), "finger1": 0.02, **(q or {})}
    rates = dict(zip(ARM_JOINTS, QD, strict=True))
    return JointState(name=[*names], position=[where[k] for k in names], velocity=[rates.get(k, 0.0) for k in names])


@pytest.mark.parametrize("named", ["finger1", "finger1 finger2", "finger1 lever"])
def test_mimics_that_no_state_names_follow(named):
    inputs = with_hand()
    names, told = [*ARM_JOINTS, *named.split()], {"finger2": 0.3, "lever": 0.7}
    state = inputs.read(message(names, BEGIN, told), BEGIN, BEGIN, 0.0)
    found = dict(zip(inputs.measured, state.position, strict=True))
    second = 0.3 if "finger2" in named else 0.01 - 2 * 0.02
    assert found["finger2"] == pytest.approx(second, abs=1e-15)
    assert found["lever"] == pytest.approx(0.7 if "lever" in named else 0.1 + 0.5 * second, abs=1e-15)
    values: dict[str, str] = {}
    inputs.describe(values)
    followers = [name for name in inputs.measured if name in ("finger2", "lever") and name not in named]
    assert set(values["joints that follow those they mimic"].split(", ")) == set(followers)
    with pytest.raises(MessageError, match="finger1"):  # what is followed must be told
        with_hand().read(message(ARM_JOINTS, BEGIN), BEGIN, BEGIN, 0.0)


@pytest.mark.parametrize("first", ["fast", "slow"])
@pytest.mark.parametrize("gap", [0, 70])
def test_a_fast_driver_of_the_arm_beside_an_aggregate_of_all(first, gap):
    """As Franka's: 1 kHz for the arm, 30 Hz for all, whose positions are a period old; with a gap of the former."""
    inputs, answered = with_hand(), []
    inputs.partial.age_limit = 100 * MS
    aggregate = [*ARM_JOINTS, "finger1", "finger2", "lever"]
    for k in range(1000):
        time = BEGIN + k * MS
        told = []
        if (k >= 500 if first == "slow" else k >= 0) and not 700 <= k < 700 + gap:
            told.append(message(ARM_JOINTS, time))
        if k % 33 == 5:
            old = dict(zip(ARM_JOINTS, at(time - 33 * MS), strict=True))
            told.append(message(aggregate, time, {**old, "finger2": -0.5, "lever": 0.5}))
        for one in told:
            with suppress(WaitingError):
                try:
                    answered.append((k, inputs.read(one, time, time, 0.0)))
                except MessageError as error:
                    assert error.kind == "missing joints" and k < 10
    late = [(k, state) for k, state in answered if k >= 540]
    assert len(late) >= 458 - gap and len({k for k, _ in late}) == len(late)
    for _, state in late:
        found = dict(zip(inputs.measured, state.position, strict=True))
        np.testing.assert_allclose([found[k] for k in ARM_JOINTS], at(state.stamp), atol=1e-12)
        assert (found["finger1"], found["finger2"], found["lever"]) == (0.02, -0.5, 0.5)


def test_a_driver_of_some_joints_beside_one_of_all_disturbs_nothing():
    """Velocities are found in positions: the filter goes on while states of fingers come and cease."""
    inputs, plain = with_hand(), with_hand()
    for one in (inputs, plain):
        one.velocities.time = one.partial.time = 0.004
        one.partial.age_limit = 50 * MS
    whole = [*ARM_JOINTS, "finger1", "finger2", "lever"]
    for k in range(400):
        time = BEGIN + 2 * k * MS
        state = message(whole, time, {"finger2": -0.5, "lever": 0.5})
        state.velocity = []
        found, expected = inputs.read(state, time, time, 0.0), plain.read(state, time, time, 0.0)
        np.testing.assert_allclose(found.velocity, expected.velocity, atol=1e-12)
        np.testing.assert_allclose(found.position, expected.position, atol=1e-12)
        if 50 <= k < 200 and k % 10 == 0:
            with pytest.raises(WaitingError):
                inputs.read(message(["finger1"], time + MS, {"finger1": 0.5}), time + MS, time + MS, 0.0)


def rated(duration, *drivers, joints=()):
    """What is said of publishers of rates [Hz] and joints; how many messages of each were passed over."""
    publishers, passed = Publishers(NoNode(), [NoNode()]), [0] * len(drivers)
    publishers.joints = frozenset(joints)
    events = sorted((k / rate, who) for who, (_, _, rate) in enumerate(drivers) for k in range(int(duration * rate)))
    for time, who in events:
        name, names, _ = drivers[who]
        gid = name.encode() * 4
        passed[who] += publishers.passes_over(gid, list(names), time)
        publishers.heard(gid, list(names))
        publishers.count(gid, list(names), time)
    return publishers, passed


@pytest.mark.parametrize("rates", [(1000, 30), (1000, 4), (500, 250), (30, 10)])
def test_the_slower_of_two_publishers_of_the_same_joints_is_passed_over(rates):
    fast, slow = rates
    publishers, passed = rated(10.0, ("arm_", "abcx", fast), ("hand", "ybca", slow), joints="abc")
    assert passed[0] == 0 and passed[1] >= 0.6 * 10 * slow
    assert publishers.take_several() == ()
    (said,) = publishers.take_shared()
    assert "/hand" in said and "/arm_" in said and f"({fast} Hz)" in said and "passed over" in said
    gid = b"hand" * 4
    assert publishers.passes_over(gid, list("ybca"), 10.5)
    assert not publishers.passes_over(gid, list("ybca"), 11.1)  # the faster one has ceased


def test_publishers_that_know_more_or_are_as_fast_are_heard():
    publishers, passed = rated(5.0, ("arm_", "abc", 1000), ("hand", "abcd", 30))
    assert passed == [0, 0] and "taken from the faster" in publishers.take_shared()[0]
    publishers, passed = rated(5.0, ("arm_", "abc", 1000), ("hand", "abcd", 30), ("arm2", "d", 100))
    assert passed[0] == passed[2] == 0 and passed[1] > 100
    publishers, passed = rated(5.0, ("arm_", "abc", 500), ("hand", "cab", 500))
    assert passed == [0, 0] and publishers.take_several() == ("/arm_", "/hand") and not publishers.take_shared()
    publishers, passed = rated(5.0, ("arm_", "abc", 1000), ("hand", "de", 30))
    assert passed == [0, 0] and not publishers.take_shared() and not publishers.take_several()


class NoNode:
    """Knows three publishers."""

    topic_name = "joint_states"

    def get_publisher_count(self):
        return 3

    def get_publishers_info_by_topic(self, _):
        return [
            type("End", (), {"endpoint_gid": gid, "node_namespace": "/", "node_name": gid.decode()[:4]})()
            for gid in (b"arm_" * 4, b"hand" * 4, b"arm2" * 4)
        ]


def turns(*heard):
    publishers = Publishers(NoNode(), [NoNode()])
    publishers.heard(b"arm_" * 4, list("abc"))
    publishers.take_several()
    for name, joints in heard:
        publishers.heard(name.encode() * 4, list(joints))
    return publishers.take_several()


def test_only_publishers_of_the_same_joints_are_one_too_many():
    arm, hand, again = ("arm_", "abc"), ("hand", "de"), ("arm2", "cab")
    assert turns(*(arm, hand) * 5) == ()
    assert turns(*(arm, again) * 2) == ("/arm2", "/arm_")
    assert turns(*(arm, hand, again, hand) * 2) == ("/arm2", "/arm_")
    assert turns(*(arm, hand) * 3, *(again, hand) * 3) == ()  # one in the place of the other
    assert turns(*(arm, ("hand", "cd")) * 2) == ("/arm_", "/hand")
