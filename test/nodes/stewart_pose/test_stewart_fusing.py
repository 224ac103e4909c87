"""The stewart_pose node with fusion: legs that fail are named and left out, legs come in parts, an IMU helps."""

from __future__ import annotations

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped, TwistStamped
from node_harness import SharedNode
from node_platforms import HOME, LEGS, lengths, matrix_of
from sensor_msgs.msg import Imu, JointState

from lie_dynamics_ros.core.errors import MessageError, ParameterError, WaitingError
from lie_dynamics_ros.core.platform import LegState
from lie_dynamics_ros.lie_dynamics.stewart import LegReadings, reference_platform
from lie_dynamics_ros.nodes.stewart_pose.core import StewartPoseOptions
from lie_dynamics_ros.nodes.stewart_pose.fusing import FusingCore
from lie_dynamics_ros.nodes.stewart_pose.fusion_options import FusionOptions
from lie_dynamics_ros.nodes.stewart_pose.inputs import LegInputs
from lie_dynamics_ros.nodes.stewart_pose.node import SETTINGS

VALUES = {setting.name: setting.default for setting in SETTINGS}
MS = 1_000_000
PLATFORM = reference_platform()
RNG = np.random.default_rng(0)


def core_with(**values):
    values = VALUES | {"fusion": True} | values
    return FusingCore(PLATFORM, LEGS, StewartPoseOptions.from_values(values), FusionOptions.from_values(values))


def pose_at(k):
    pose = HOME.copy()
    pose[2, 3] += 0.02 * np.sin(6.0 * k * 1e-3)
    return pose


def read(k):
    return lengths(pose_at(k)) + RNG.normal(0, 1e-5, 6)


def imu(core, k, stamp=None):
    rise = -0.02 * 36.0 * np.sin(6.0 * k * 1e-3)
    force = [0.0, 0.0, 9.81 + rise]
    core.take_inertial(k * MS if stamp is None else stamp, RNG.normal(0, 2e-3, 3), force + RNG.normal(0, 3e-2, 3))


def test_a_leg_that_fails_is_named_and_left_out():
    core = core_with(use_imu=True)
    for k in range(300):
        imu(core, k)
        now = read(k)
        if k >= 150:
            now[3] += 5e-4
        answer = core.answer(LegState(k * MS, now, None))
        assert answer.refusal is None
        off = answer.fused.pose[:3, 3] - pose_at(k)[:3, 3]
        assert (np.abs(off) < 5.0 * np.sqrt(np.diagonal(answer.fused.covariance)[3:])).all()
        assert core.faults(answer.fused) == (f"{LEGS[3]} (disagrees)" if k >= 150 else "")


def test_legs_that_come_in_parts_and_late_count_for_their_time():
    core = core_with()
    first = np.arange(6) < 4
    with pytest.raises(WaitingError, match=f"{LEGS[4]}, {LEGS[5]}"):
        core.answer(LegState(0, np.where(first, read(0), np.nan), None, first))
    for k in range(120):
        now, before = read(k), read(max(k - 2, 0))
        if k:
            core.answer(LegState(k * MS, np.where(first, now, np.nan), None, first))
        answer = core.answer(LegState(max(k - 2, 0) * MS, np.where(first, np.nan, before), None, ~first))
        off = answer.fused.pose[:3, 3] - pose_at(k)[:3, 3]
        assert not answer.fused.left_out
        assert (np.abs(off) < 5.0 * np.sqrt(np.diagonal(answer.fused.covariance)[3:])).all()
    with pytest.raises(MessageError, match="before those") as found:
        core.answer(LegState(0, read(0), None))
    assert found.value.kind == "too late"


def test_the_imu_waits_for_lengths_of_its_time_and_late_readings_are_counted():
    core = core_with(use_imu=True)
    core.answer(LegState(0, read(0), None))
    imu(core, 3)
    core.answer(LegState(2 * MS, read(2), None))
    assert len(core.inertial.waiting) == 1 and core.times.since == 2 * MS
    core.answer(LegState(4 * MS, read(4), None))
    imu(core, 3)
    assert not core.inertial.waiting and core.inertial.late == 1


def test_a_lost_platform_is_said_and_reset_starts_again():
    core = core_with()
    kinds = set()
    for k in range(700):
        now = read(k)
        if k >= 50:
            now[1] = np.nan
        answer = core.answer(LegState(k * MS, now, None))
        kinds.add(answer.refusal and answer.refusal.kind)
    assert kinds == {None, "lost"} and LEGS[1] in str(answer.refusal)
    core.start()
    with pytest.raises(MessageError, match=LEGS[1]):
        core.answer(LegState(700 * MS, now, None))
    assert core.answer(LegState(701 * MS, read(0), None)).refusal is None


def test_after_a_pause_it_goes_on_from_where_it_was():
    core = core_with()
    for k in [*range(50), *range(1050, 1100)]:
        answer = core.answer(LegState(k * MS, read(k), None))
        assert answer.refusal is None and not answer.fused.left_out
        off = answer.fused.pose[:3, 3] - pose_at(k)[:3, 3]
        assert (np.abs(off) < 5.0 * np.sqrt(np.diagonal(answer.fused.covariance)[3:])).all()


def test_readings_of_an_imu_from_before_the_start_are_not_used():
    core = core_with(use_imu=True)
    imu(core, 0, stamp=-5 * MS)
    core.answer(LegState(0, read(0), None))
    core.answer(LegState(MS, read(1), None))
    assert (core.inertial.late, core.inertial.used) == (1, 0)


def test_other_options_go_on_from_where_it_is():
    core = core_with()
    core.answer(LegState(0, lengths(pose_at(200)), None))
    other = core.with_options(StewartPoseOptions.from_values(VALUES | {"leg_noise": [2e-5]}))
    fused = other.answer(LegState(MS, lengths(pose_at(200)), None)).fused
    assert np.abs(fused.pose - pose_at(200)).max() < 1e-9
    assert core.tracked is not fused and core.options.leg_noise == (1e-5,)


@pytest.mark.parametrize(
    "values, words",
    [
        ({"jerk": [1.0]}, "jerk has 1 numbers"),
        ({"leg_delays": [0.0, 0.0]}, "leg_delays has 2"),
        ({"use_imu": True, "imu_pose": [0.0, 1.0]}, "imu_pose has 2"),
        ({"use_imu": True, "imu_pose": [0.0] * 7}, "imu_pose"),
        ({"leg_noise": [0.0]}, "noise"),
    ],
)
def test_parameters_that_cannot_be_fused_are_named(values, words):
    with pytest.raises(ParameterError, match=words):
        core_with(**values)


def test_messages_with_some_of_the_legs():
    inputs = LegInputs(LEGS, LegReadings.from_values(VALUES | {"length_offsets": [0.1]}), True)
    message = JointState(name=[LEGS[2], "other", LEGS[0]], position=[0.5, 9.0, np.nan])
    with pytest.raises(WaitingError):
        inputs.read(message, 7, 7, 0.0)
    state = inputs.read(message, 8, 8, 0.0)  # of the first: the others had their time
    assert state.present.tolist() == [True, False, True, False, False, False] and state.stamp == 7
    np.testing.assert_allclose(state.lengths[2], 0.6)
    assert np.isnan(state.lengths[[0, 1, 3, 4, 5]]).all() and state.rates is None
    for names, positions, kind in (
        (["other"], [1.0], "missing joints"),
        ([LEGS[0], LEGS[0]], [1.0, 1.0], "missing joints"),
        ([*LEGS, LEGS[0]], [1.0] * 7, "ambiguous joints"),
        ([LEGS[0]], [], "malformed"),
    ):
        with pytest.raises(MessageError) as found:
            inputs.read(JointState(name=names, position=positions), 0, 0, 0.0)
        assert found.value.kind == kind


@pytest.fixture
def bench(module_bench):
    return module_bench


def test_the_node_publishes_an_estimate_and_what_is_left_out(bench):
    node = SharedNode(bench, "stewart_pose", SETTINGS, use_imu=True)
    node.begin(fusion=True)
    name = node.name
    poses = bench.listen(PoseWithCovarianceStamped, f"{name}/pose")
    twists = bench.listen(TwistStamped, f"{name}/twist")
    states = bench.listen(DiagnosticArray, f"{name}/status")
    publisher = bench.publisher(Imu, "imu")
    T = pose_at(100)

    def send(spoilt):
        reading = Imu()
        reading.linear_acceleration.z = 9.81
        publisher.publish(reading)
        return bench.make_state(LEGS, np.where(np.arange(6) == spoilt, np.nan, lengths(T)))

    pose, status, twist = bench.ask(lambda: send(-1), poses, states, twists)
    np.testing.assert_allclose(matrix_of(pose.pose.pose), T, rtol=0, atol=1e-4)
    assert pose.header.frame_id == twist.header.frame_id == "stewart_base"
    assert status.status[0].message == "fused"

    def good_and_spoilt():
        bench.states.publish(send(-1))  # after a moment in which the machine stood still all legs are needed again
        return send(4)

    pose, status, _ = bench.ask(good_and_spoilt, poses, states, twists)
    assert status.status[0].message == f"fused, left out: {LEGS[4]} (not finite)"
    values = {item.key: item.value for item in status.status[0].values}
    assert values["left_out"] == f"{LEGS[4]} (not finite)" and values["certified"] == "false"
    covariance = np.reshape(pose.pose.covariance, (6, 6))
    off = (matrix_of(pose.pose.pose) - T)[:3, 3]
    assert (np.abs(off) < 5.0 * np.sqrt(np.diagonal(covariance)[:3])).all()
