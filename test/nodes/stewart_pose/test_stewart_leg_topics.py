"""Legs on topics of their own, as plain numbers or some legs in a message: put together by time, with fusion or not."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest
from geometry_msgs.msg import PoseWithCovarianceStamped
from node_harness import SharedNode
from node_platforms import LEGS, TEXT, TRUE, lengths, matrix_of
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from lie_dynamics_ros.core.errors import MessageError, WaitingError
from lie_dynamics_ros.core.platform import LegState
from lie_dynamics_ros.lie_dynamics.stewart import (
    DisplacementSensor,
    LegReadings,
    PlatformSensors,
    reference_platform,
)
from lie_dynamics_ros.nodes.stewart_pose.core import StewartPoseOptions
from lie_dynamics_ros.nodes.stewart_pose.fusing import FusingCore
from lie_dynamics_ros.nodes.stewart_pose.fusion_options import FusionOptions
from lie_dynamics_ros.nodes.stewart_pose.inputs import LegInputs, make_inputs
from lie_dynamics_ros.nodes.stewart_pose.node import SETTINGS

VALUES = {setting.name: setting.default for setting in SETTINGS}
MS = 1_000_000
LENGTHS = np.linspace(0.5, 0.7, 6)


def feed(inputs, events):
    """States that messages of one leg each make; events tell time [ms], leg and reading."""
    for time, leg, reading, *rate in events:
        try:
            yield inputs.read(JointState(name=[LEGS[leg]], position=[reading], velocity=rate), round(time * MS), 0, 0.0)
        except WaitingError:
            pass
        except MessageError as error:
            yield error


def test_lengths_are_moved_on_to_the_time_of_the_last():
    """Legs that move evenly, each read at another time: all are those of the state's time, without rates measured."""
    inputs = LegInputs(LEGS, LegReadings.from_values(VALUES | {"length_offsets": [0.1]}))
    rates = np.linspace(-0.2, 0.3, 6)
    events = [
        (k + 0.15 * leg, leg, LENGTHS[leg] + rates[leg] * 1e-3 * (k + 0.15 * leg))
        for k in range(80)
        for leg in range(6)
    ]
    found = list(feed(inputs, events))
    first = [state for state in found if isinstance(state, MessageError)]
    assert first and {error.kind for error in first} == {"missing joints"} and LEGS[5] in str(first[0])
    states = [state for state in found if isinstance(state, LegState)]
    assert 75 <= len(states) <= 80 and all(state.rates is None for state in states)
    for before, after in itertools.pairwise(states):
        assert 0 < after.stamp - before.stamp <= 2 * MS
    # Rates are found within the filter's time of 5 ms.
    np.testing.assert_allclose(states[-1].lengths, LENGTHS + 0.1 + rates * 1e-9 * states[-1].stamp, atol=1e-6)
    assert inputs.take_without_rates()


@pytest.mark.parametrize("order", itertools.islice(itertools.permutations(range(6)), 0, None, 143))
@pytest.mark.parametrize("ages", [np.zeros(6), np.arange(6.0), np.arange(6.0)[::-1], np.array([3.0, 0, 4, 1, 5, 2])])
def test_one_driver_with_a_message_for_each_leg_makes_one_state_a_round(order, ages):
    """In any order of messages and of the times at which legs were read, at 50 Hz; a round that lacks one, too."""
    inputs = LegInputs(LEGS, LegReadings.from_values(VALUES))
    rates = np.linspace(-0.2, 0.3, 6)
    for k in range(40):
        events = [
            (20.0 * k - ages[leg], leg, LENGTHS[leg] + rates[leg] * 1e-3 * (20.0 * k - ages[leg])) for leg in order
        ]
        found = [state for state in feed(inputs, events) if isinstance(state, LegState)]
        assert [state.stamp for state in found] == [20 * k * MS]
        if k > 20:
            np.testing.assert_allclose(found[0].lengths, LENGTHS + rates * 20e-3 * k, atol=1e-7)
    lacking = [(20.0 * 40, leg, LENGTHS[leg] + rates[leg] * 0.8) for leg in order[1:]]
    again = [(20.0 * 41, leg, LENGTHS[leg] + rates[leg] * 0.82) for leg in order]
    found = list(feed(inputs, lacking + again))
    assert [state.stamp for state in found] == [800 * MS, 820 * MS]
    np.testing.assert_allclose(found[1].lengths, LENGTHS + rates * 0.82, atol=1e-7)


def test_measured_rates_give_a_twist():
    inputs = LegInputs(LEGS, LegReadings.from_values(VALUES | {"length_scales": [2.0]}))
    found = list(feed(inputs, [(k, leg, 0.5, 0.1) for k in range(4) for leg in range(6)]))
    np.testing.assert_allclose(found[-1].rates, np.full(6, 0.2))


def test_a_leg_that_falls_silent_is_named_and_restart_forgets():
    inputs = LegInputs(LEGS, LegReadings.from_values(VALUES))
    inputs.age_limit = 100 * MS
    events = [(k, leg, LENGTHS[leg]) for k in range(200) for leg in range(6) if leg != 2 or k < 50]
    *_, last = feed(inputs, events)
    assert last.kind == "joints too old" and LEGS[2] in str(last) and "joint_age_limit is 0.1" in str(last)
    inputs.forget()
    (first,) = feed(inputs, [(300, 0, 0.5)])
    assert first.kind == "missing joints"


@pytest.mark.parametrize("reading", [np.nan, np.inf, -1e308])
def test_a_reading_that_is_none_is_named_and_leaves_no_trace(reading):
    inputs = LegInputs(LEGS, LegReadings.from_values(VALUES))
    events = [(k, leg, LENGTHS[leg]) for k in range(4) for leg in range(6)]
    events.insert(15, (2.5, 3, reading))
    found = list(feed(inputs, events))
    errors = [state for state in found if isinstance(state, MessageError) and state.kind == "not finite"]
    assert len(errors) == 1 and f"{LEGS[3]}: its reading is" in str(errors[0])
    np.testing.assert_allclose(found[-1].lengths, LENGTHS, atol=1e-12)


def fusing(inputs, names, **values):
    values = VALUES | {"fusion": True} | values
    wire = [DisplacementSensor("wire", (0.0, 0.0, 0.0), (0.1, 0.0, 0.0), 1e-5)] if "wire" in names else []
    return FusingCore(
        reference_platform(), LEGS, StewartPoseOptions.from_values(values), FusionOptions.from_values(values), wire
    )


def test_fusion_answers_each_round_once_and_tells_who_is_silent():
    """Six legs and a wire, each read by itself at times of its own, while the platform rises by 0.2 m/s."""
    names = (*LEGS, "wire")
    inputs = LegInputs(LEGS, LegReadings.from_values(VALUES), True, [("wire", 2.0, -0.1)])
    core, answers = fusing(inputs, names), []

    def reading(time, place):
        T = np.eye(4)
        T[2, 3] = 0.5 + 0.2e-3 * time
        wire = np.linalg.norm(T[:3, 3] + [0.1, 0.0, 0.0])
        return [*lengths(T), 0.5 * (wire + 0.1)][place]

    for k in range(300):
        for place in range(7):
            if (place == 6 and k >= 100) or (place == 1 and k >= 150):
                continue  # fell silent
            time = k + 0.13 * place
            message = JointState(name=[names[place]], position=[reading(time, place)])
            with contextlib.suppress(WaitingError):
                answers.append((time, core.answer(inputs.read(message, round(time * MS), 0, 0.0))))
    assert 298 <= len(answers) <= 300
    assert max(b - a for (a, _), (b, _) in itertools.pairwise(answers)) < 2.0  # none is withheld
    for time, answer in answers:
        off = answer.fused.pose[:3, 3] - [0.0, 0.0, 0.5 + 0.2e-9 * answer.time]
        assert (np.abs(off) < 5.0 * np.sqrt(np.diagonal(answer.fused.covariance)[3:])).all(), time
        assert not answer.fused.left_out
    said = [core.faults(answers[k][1].fused) for k in (0, -1)]
    assert said[-1] == f"{LEGS[1]} (silent), wire (silent)"


def test_first_lengths_of_long_ago_start_nothing():
    core = fusing(None, LEGS)
    some = np.arange(6) == 0
    with pytest.raises(WaitingError):
        core.answer(LegState(MS, np.where(some, 0.9, np.nan), None, some))
    assert core.awaited() == list(LEGS[1:])
    with pytest.raises(WaitingError, match=LEGS[0]):
        core.answer(LegState(3000 * MS, np.where(some, np.nan, lengths(TRUE)), None, ~some))
    assert core.awaited() == [LEGS[0]]


def test_the_node_reads_gains_and_further_legs_as_calibration_writes_them():
    """Gains and offsets of all encoders, a table of nonlinearity, and two wires: the pose is the machine's."""
    platform, gains = reference_platform(), 1.0 + np.linspace(-0.02, 0.03, 8)
    offsets = np.linspace(-2e-3, 3e-3, 8)
    wires = [DisplacementSensor("wire", (0.0, 0.1, 0.0), (0.1, 0.0, 0.0), 1e-5),
             DisplacementSensor("rod", (-0.2, 0.0, 0.0), (0.0, -0.1, 0.0), 1e-5)]  # fmt: skip
    known = PlatformSensors({"length_scales": [0.5], "length_corrections": [0.5, *[0.0] * 6, 0.6, *[1e-3] * 6]},
                            tuple(wires), (1e-3, 2.0), (0.1, -0.1))  # fmt: skip
    known = known.with_offsets(offsets[:6], gains[:6]).with_further(wires, offsets[6:], gains[6:])
    sensors = PlatformSensors.from_yaml(platform.to_yaml() + known.to_yaml(), platform)
    values = VALUES | {"fusion": True, **sensors.values()}
    inputs = make_inputs(values, LEGS, LegReadings.from_values(values), sensors)
    core = FusingCore(platform, LEGS, StewartPoseOptions.from_values(values), FusionOptions.from_values(values), wires)
    place = TRUE @ np.array([[1, 0, 0, 0.004], [0, 1, 0, -0.003], [0, 0, 1, 0.005], [0, 0, 0, 1.0]])
    long = lengths(place), [np.linalg.norm(place[:3] @ [*w.platform_point, 1.0] - w.base_point) for w in wires]
    before = (np.concatenate(long) - offsets) / gains
    y = [np.interp(x, [0.5, 0.601], [0.5, 0.6]) if 0.5 <= x <= 0.601 else x - 1e-3 * (x > 0.6) for x in before[:6]]
    readings = [*(2.0 * np.array(y)), *((before[6:] - [0.1, -0.1]) / [1e-3, 2.0])]
    for k in range(3):
        state = JointState(name=[*LEGS, "wire", "rod"], position=[float(x) for x in readings])
        answer = core.answer(inputs.read(state, (k + 1) * MS, 0, 0.0))
        assert not answer.fused.left_out
        np.testing.assert_allclose(answer.fused.pose, place, rtol=0, atol=1e-9)


@pytest.fixture
def bench(module_bench):
    return module_bench


TOPICS = [*(f"legs/{leg}" for leg in LEGS), "wire"]
SENSORS = """
readings: {length_offsets: 0.1, leg_expansions: 1.2e-5}
sensors: [{name: wire, base_point: [0, 0, 0], platform_point: [0, 0, 0], noise: 1e-5, scale: 0.001}]
"""


def test_the_node_listens_to_topics_of_numbers(bench):
    node = SharedNode(bench, "stewart_pose", SETTINGS, leg_topics=TOPICS)
    name = node.begin(platform=TEXT + SENSORS)
    poses = bench.listen(PoseWithCovarianceStamped, f"{name}/pose")
    publishers = [bench.publisher(Float64, topic) for topic in TOPICS]
    readings = [*(lengths(TRUE) - 0.1), 500.0]

    def send():
        for publisher, reading in zip(publishers, readings, strict=True):
            publisher.publish(Float64(data=float(reading)))

    for fusion in (False, True):
        if fusion:
            start = [0.0, 0.0, 0.5, *Rotation.from_matrix(TRUE[:3, :3]).as_quat()]
            node.begin(platform=TEXT + SENSORS, fusion=True, start_pose=start, length_offsets=[0.1] * 6)
        poses.clear()
        since = bench.now()
        pose = bench.send_until(send, lambda: poses and poses[-1], "a pose")
        assert since <= pose.header.stamp.sec * 10**9 + pose.header.stamp.nanosec <= bench.now()  # times of arrival
        np.testing.assert_allclose(matrix_of(pose.pose.pose), TRUE, rtol=0, atol=1e-4 if fusion else 1e-9)
        bench.send_until(
            send,
            lambda: bench.reported(name, lambda s, v: "arrival" in v.get("lengths by leg_topics", ""), since),  # noqa: B023
            "diagnostics that tell of times of arrival",
        )
    bench.wait(lambda: "the parameter length_offsets counts" in bench.processes[0].output, "which offsets count")
    node.end()
    for values, words in (
        ({"platform": TEXT}, "leg_topics has 7 names; expected one for each of leg_1"),
        ({"platform": TEXT + "sensors: [{name: leg_1}]"}, "has no noise"),
    ):
        assert bench.set(name, **values).successful and not bench.change_state(name, "configure")
        bench.wait(lambda: words in bench.processes[0].output, words)  # noqa: B023
