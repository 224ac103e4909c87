"""Conversion between messages and arrays."""

import math
import warnings

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from geometry_msgs.msg import Point, Pose, Quaternion, Transform, Twist, Vector3, Wrench
from sensor_msgs.msg import JointState

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.core.joint_mapping import JointMapping
from lie_dynamics_ros.lie_dynamics.arrays import all_finite
from lie_dynamics_ros.ros.inputs.joint_states import JointStateReader
from lie_dynamics_ros.ros.wire.messages import (
    LINEAR_FIRST,
    fill_pose,
    fill_pose_from_matrix,
    fill_transform,
    fill_twist,
    nanoseconds,
    pose_to_matrix,
    read_rates,
    twist_to_array,
    wrench_to_array,
)

JOINTS = ("a", "b", "c")


def read(names, position, velocity=()):
    message = JointState(name=list(names), position=list(position), velocity=list(velocity))
    q, qd, unknown = JointStateReader(len(JOINTS)).read(message, JointMapping(JOINTS).match(message.name))
    return not unknown, q.tolist(), qd.tolist()


def test_reads_in_model_order():
    assert read("abc", [1, 2, 3], [4, 5, 6]) == (True, [1, 2, 3], [4, 5, 6])
    assert read("cxab", [3, 9, 1, 2], [6, 9, 4, 5]) == (True, [1, 2, 3], [4, 5, 6])


def test_absent_velocities_are_nan():
    for found, expected in (
        (read("abc", [1, 2, 3]), [math.nan] * 3),
        (read("cab", [3, 1, 2]), [math.nan] * 3),
        (read("cab", [3, 1, 2], [math.nan, 4, 5]), [4, 5, math.nan]),
    ):
        assert found[:2] == (False, [1, 2, 3])
        np.testing.assert_array_equal(found[2], expected)


def test_nan_of_other_joints_does_not_matter():
    assert read("axbc", [1, math.nan, 2, 3], [4, math.nan, 5, 6]) == (True, [1, 2, 3], [4, 5, 6])


@pytest.mark.parametrize(
    ("names", "position", "velocity", "kind"),
    [
        ("ab", [1, 2], [], "missing joints"),
        ("abca", [1, 2, 3, 4], [], "ambiguous joints"),
        ("abc", [1, 2], [], "malformed"),
        ("abc", [1, 2, 3, 4], [], "malformed"),
        ("abc", [], [1, 2, 3], "malformed"),
        ("abc", [1, 2, 3], [1], "malformed"),
        ("abc", [1, math.nan, 3], [], "not finite"),
        ("abc", [1, -math.inf, 3], [], "not finite"),
        ("abc", [1, 2, 3], [1, math.nan, math.inf], "not finite"),
        ("abc", [1, 2, 3], [1, -1e200, 2], "not finite"),
        ("cab", [1, math.nan, 3], [1, 2, 3], "not finite"),
        ("cab", [1, 2, 3], [1, 2], "malformed"),
    ],
)
def test_refuses_unusable_states(names, position, velocity, kind):
    with pytest.raises(MessageError) as error:
        read(names, position, velocity)
    assert error.value.kind == kind


@pytest.mark.parametrize("order", ["abc", "cxab"])
@pytest.mark.parametrize(("position", "velocity"), [([math.nan] * 4, [9] * 4), ([9] * 4, [math.inf] * 4), ([9], [])])
def test_a_refused_state_changes_nothing_that_was_read(order, position, velocity):
    reader, mapping, n = JointStateReader(3), JointMapping(JOINTS), len(order)

    def state(q, qd):
        message = JointState(name=list(order), position=list(map(float, q[:n])), velocity=list(map(float, qd[:n])))
        return reader.read(message, mapping.match(message.name))

    q, qd, _ = state([1, 2, 3, 4], [5, 6, 7, 8])
    kept = q.copy(), qd.copy()
    for _ in range(3):
        with pytest.raises(MessageError):
            state(position, velocity)
        assert (q == kept[0]).all() and (qd == kept[1]).all()
    newer, _, unknown = state([4, 3, 2, 1], [])
    assert unknown and not np.shares_memory(newer, q)
    assert (q == kept[0]).all()


def test_a_message_is_not_kept():
    message = JointState(name=list(JOINTS), position=[1.0, 2.0, 3.0], velocity=[4.0, 5.0, 6.0])
    q, qd, _ = JointStateReader(3).read(message, JointMapping(JOINTS).match(message.name))
    message.position[0] = message.velocity[0] = 9.0
    assert q[0] == 1.0 and qd[0] == 4.0


def test_reads_accelerations_of_some_joints():
    match = JointMapping(JOINTS).match(["c", "x", "a"])
    assert read_rates([3.0, 9.0, 1.0], match, "accelerations").tolist() == [1.0, 0.0, 3.0]


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0, math.nan], [math.inf] * 3])
def test_refuses_unusable_accelerations(values):
    with pytest.raises(MessageError):
        read_rates(values, JointMapping(JOINTS).match(list(JOINTS)), "accelerations")


def test_all_finite():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all_finite(np.zeros(0)) and all_finite(np.array([1e150, -5.0]))
        for bad in (math.nan, math.inf, -math.inf, 1e200, -1e308):
            values = np.array([1.0, bad, 2.0])
            assert not all_finite(values) and not all_finite(values[::-1]) and all_finite(values[::2])
            assert not all_finite(np.tile(values, 20)) and all_finite(np.ones(60))


def test_the_library_puts_the_angular_part_first():
    wrench = Wrench(force=Vector3(x=1.0, y=2.0, z=3.0), torque=Vector3(x=4.0, y=5.0, z=6.0))
    assert wrench_to_array(wrench).tolist() == [4, 5, 6, 1, 2, 3]
    twist = Twist(linear=Vector3(x=1.0, y=2.0, z=3.0), angular=Vector3(x=4.0, y=5.0, z=6.0))
    assert twist_to_array(twist).tolist() == [4, 5, 6, 1, 2, 3]
    assert np.array(["rx", "ry", "rz", "x", "y", "z"])[LINEAR_FIRST].tolist() == ["x", "y", "z", "rx", "ry", "rz"]


QUARTER = Pose(position=Point(x=1.0, y=2.0, z=3.0), orientation=Quaternion(z=math.sqrt(0.5), w=math.sqrt(0.5)))
"""A quarter turn about z."""
QUARTER_MATRIX = np.array([[0.0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])


def test_poses_there_and_back():
    np.testing.assert_allclose(pose_to_matrix(QUARTER), QUARTER_MATRIX, rtol=0, atol=1e-15)
    back, direct, transform = Pose(), Pose(), Transform()
    fill_pose_from_matrix(back, QUARTER_MATRIX)
    numbers = ([1.0, 2.0, 3.0], [0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)])
    fill_pose(direct, *numbers)
    fill_transform(transform, *numbers)
    for found in (back.orientation, direct.orientation, transform.rotation):
        np.testing.assert_allclose([found.x, found.y, found.z, found.w], numbers[1], rtol=0, atol=1e-15)
    for found in (back.position, direct.position, transform.translation):
        assert [found.x, found.y, found.z] == numbers[0]


def test_quaternions_of_nearly_unit_length_are_normalised():
    pose = Pose(orientation=Quaternion(w=1.005))
    np.testing.assert_array_equal(pose_to_matrix(pose), np.eye(4))


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("w", 0.0, "malformed"),
        ("w", 1.02, "malformed"),
        ("y", math.nan, "not finite"),
        ("z", math.inf, "not finite"),
    ],
)
def test_refuses_what_is_no_pose(field, value, kind):
    pose = Pose()
    setattr(pose.orientation, field, value)
    with pytest.raises(MessageError) as error:
        pose_to_matrix(pose)
    assert error.value.kind == kind


def test_body_twists_are_turned_into_the_axes_of_the_base():
    twist = Twist()
    fill_twist(twist, np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), QUARTER_MATRIX[:3, :3])
    assert twist_to_array(twist).tolist() == [-2.0, 1.0, 3.0, -5.0, 4.0, 6.0]


def test_nanoseconds():
    message = JointState()
    message.header.stamp.sec, message.header.stamp.nanosec = 2_000_000_000, 999_999_999
    assert nanoseconds(message.header.stamp) == 2_000_000_000_999_999_999
