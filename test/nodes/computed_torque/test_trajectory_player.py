"""Trajectories that come and go, without ROS: interpolation, replacing, queueing, stopping, jumps."""

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.core.joint_points import JointPoints
from lie_dynamics_ros.nodes.computed_torque.trajectory_player import TrajectoryPlayer

S = 1_000_000_000


def points(joints, times, position, *others):
    others = [None if x is None else np.array(x, float) for x in others]
    return JointPoints(np.array(joints), np.array(times, float), np.array(position, float), *others)


def test_starts_from_the_present_and_reaches_its_points():
    player = TrajectoryPlayer(np.array([0.5, -1.0]), 0.1)
    assert player.at(0).position.tolist() == [0.5, -1.0]
    player.add(1 * S, 1 * S, points([0, 1], [1.0, 3.0], [[1.0, 0.0], [2.0, 1.0]], [[0.5, 0.2], [0.0, 0.0]]))
    spline = CubicHermiteSpline([0, 1, 3], [[0.5, -1], [1, 0], [2, 1]], [[0, 0], [0.5, 0.2], [0, 0]])
    for t in np.linspace(0.0, 2.99, 40):
        desired = player.at(round((1.0 + t) * S))
        np.testing.assert_allclose(desired.position, spline(t), atol=1e-7)  # times are whole nanoseconds
        np.testing.assert_allclose(desired.velocity, spline(t, 1), atol=1e-7)
        np.testing.assert_allclose(desired.acceleration, spline(t, 2), atol=1e-6)
    end = player.at(10 * S)
    assert end.position.tolist() == [2.0, 1.0] and not end.velocity.any() and not end.acceleration.any()
    assert player.count == 0


def test_a_new_trajectory_takes_over_its_joints_only_and_without_a_jump():
    player = TrajectoryPlayer(np.zeros(2), 0.1)
    player.add(0, 0, points([0, 1], [2.0], [[1.0, 1.0]], [[0.0, 0.0]]))
    before = player.at(1 * S)
    player.add(1 * S, 1 * S, points([1], [1.0], [[0.0]], [[0.0]]))
    after = player.at(1 * S + 1)
    np.testing.assert_allclose(after.position, before.position, atol=1e-8)
    np.testing.assert_allclose(after.velocity, before.velocity, atol=1e-8)
    end = player.at(3 * S)
    assert end.position.tolist() == [1.0, 0.0]


def test_future_starts_wait_and_queued_ones_follow():
    player = TrajectoryPlayer(np.zeros(1), 0.1)
    player.add(2 * S, 0, points([0], [1.0], [[1.0]]))
    assert player.at(round(1.9 * S)).position[0] == 0.0
    player.add(0, round(1.9 * S), points([0], [1.0], [[3.0]]), queue=True)
    assert player.at(round(2.5 * S)).position[0] == pytest.approx(0.5)
    assert player.at(3 * S).position[0] == pytest.approx(1.0)
    assert player.at(round(3.5 * S)).position[0] == pytest.approx(2.0)
    assert player.at(4 * S).position[0] == 3.0
    replaced = TrajectoryPlayer(np.zeros(1), 0.1)
    replaced.add(2 * S, 0, points([0], [1.0], [[1.0]]))
    replaced.add(0, 0, points([0], [1.0], [[-1.0]]))
    assert replaced.at(5 * S).position[0] == -1.0


def test_late_trajectories_go_on_from_where_they_should_be():
    player = TrajectoryPlayer(np.zeros(1), 0.1)
    player.at(round(1.5 * S))
    player.add(0, round(1.5 * S), points([0], [1.0, 2.0], [[1.0], [2.0]]))
    assert player.at(round(1.75 * S)).position[0] == pytest.approx(1.0)  # half-way from 0 to 2
    assert player.at(2 * S).position[0] == 2.0
    with pytest.raises(MessageError, match="past"):
        player.add(0, 3 * S, points([0], [1.0], [[1.0]]))


def test_jumps_are_refused():
    player = TrajectoryPlayer(np.zeros(2), 0.1)
    with pytest.raises(MessageError, match="start_tolerance"):
        player.add(0, 0, points([1], [0.0, 1.0], [[0.5], [1.0]]))
    player.add(0, 0, points([1], [0.0, 1.0], [[0.05], [1.0]]))
    assert player.at(0).position[1] == 0.05


def test_stopping_is_smooth_and_ends_at_rest():
    player = TrajectoryPlayer(np.zeros(1), 0.1)
    player.add(0, 0, points([0], [2.0], [[2.0]]))
    player.stop(1 * S, 0.4)
    times = np.linspace(1.0, 1.4, 50)
    motion = [player.at(round(t * S)) for t in times[:-1]]
    np.testing.assert_allclose([m.velocity[0] for m in motion], 1.0 - (times[:-1] - 1.0) / 0.4, atol=1e-6)
    end = player.at(5 * S)
    assert end.position[0] == pytest.approx(1.2) and end.velocity[0] == 0.0


def test_feed_forward_is_interpolated():
    player = TrajectoryPlayer(np.zeros(1), 0.1)
    player.add(0, 0, points([0], [1.0, 2.0], [[0.0], [0.0]], None, None, [[4.0], [2.0]]))
    assert [player.at(round(t * S)).effort[0] for t in (0.0, 0.5, 1.5, 3.0)] == pytest.approx([0.0, 2.0, 3.0, 2.0])
