"""Commands for hybrid dynamics, from either kind of message."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.core.joint_mapping import JointMapping
from lie_dynamics_ros.ros.inputs.commands import read_hybrid_command, read_trajectory_command

JOINTS = JointMapping(("a", "b", "c"))
NAN = math.nan


def command(names, prescribed, values):
    """A HybridCommand, whose package need not be there."""
    return SimpleNamespace(joint_names=names, prescribed=prescribed, input=values)


def trajectory(names, *points):
    return JointTrajectory(
        joint_names=names, points=[JointTrajectoryPoint(accelerations=a, effort=e) for a, e in points]
    )


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (read_hybrid_command, command(["c", "x", "a"], [True, False, False], [1.0, 9.0, 2.0])),
        (read_trajectory_command, trajectory(["c", "x", "a"], ([1.0, NAN, NAN], [NAN, 9.0, 2.0]), ([], []))),
    ],
)
def test_reads_by_name_and_ignores_other_joints(read, message):
    named, prescribed, values = read(message, JOINTS)
    assert named.tolist() == [True, False, True]
    assert prescribed.tolist() == [False, False, True]
    assert values.tolist() == [2.0, 0.0, 1.0]


def test_a_field_of_a_trajectory_may_be_absent():
    named, prescribed, values = read_trajectory_command(trajectory(["b", "c"], ([], [3.0, 4.0])), JOINTS)
    assert (named.tolist(), prescribed.tolist()) == ([False, True, True], [False] * 3)
    np.testing.assert_array_equal(values, [0.0, 3.0, 4.0])
    _, prescribed, _ = read_trajectory_command(trajectory(["b", "c"], ([3.0, 4.0], [])), JOINTS)
    assert prescribed.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("read", "message", "reason"),
    [
        (read_hybrid_command, command(["a", "b"], [True], [1.0, 2.0]), "prescribed has 1 entries for 2 joints"),
        (read_hybrid_command, command(["a", "b"], [True, False], [1.0]), "input has 1 entries for 2 joints"),
        (read_hybrid_command, command(["a"], [True], [NAN]), "not finite"),
        (read_hybrid_command, command(["a", "a"], [True, True], [1.0, 1.0]), "named more than once: a"),
        (read_trajectory_command, trajectory(["a"]), "without points"),
        (read_trajectory_command, trajectory(["a"], ([], [])), "'a' has both or neither"),
        (read_trajectory_command, trajectory(["b", "a"], ([1.0, 1.0], [NAN, 1.0])), "'a' has both or neither"),
        (read_trajectory_command, trajectory(["a"], ([1.0, 2.0], [])), "accelerations has 2 entries for 1 joints"),
        (read_trajectory_command, trajectory(["a"], ([math.inf], [])), "not finite"),
        (read_trajectory_command, trajectory(["a", "a"], ([1.0, 1.0], [])), "named more than once"),
    ],
)
def test_refuses_what_is_ambiguous_or_malformed(read, message, reason):
    with pytest.raises(MessageError, match=reason) as caught:
        read(message, JOINTS)
    assert caught.value.kind == "commands"


def test_an_empty_command_names_no_joint():
    for read, message in (
        (read_hybrid_command, command([], [], [])),
        (read_trajectory_command, trajectory([], ([], []))),
    ):
        named, prescribed, values = read(message, JOINTS)
        assert not named.any() and not prescribed.any() and not values.any()
