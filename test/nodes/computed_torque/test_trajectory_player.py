"""Trajectories that come and go, without ROS: interpolation, replacing, queueing, stopping, jumps."""

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

from lie_dynamics_ros.core.commands import JointPoints
from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.nodes.computed_torque.trajectories.trajectory_piece import Halt
from lie_dynamics_ros.nodes.computed_torque.trajectories.trajectory_player import PathClock, TrajectoryPlayer

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


def derivatives(player, times):
    """Position, velocity and acceleration desired at times [s], and the first two by central differences."""
    motion = [player.at(round(t * S)) for t in times]
    q, qd, qdd = (np.array([getattr(m, f)[0] for m in motion]) for f in ("position", "velocity", "acceleration"))
    return q, qd, qdd, np.gradient(q, times), np.gradient(qd, times)


def move(**changes):
    """A player of one joint on a smooth way from 0 to 2 in 2 s, which begins at 1 s."""
    player = TrajectoryPlayer(np.zeros(1), 0.1, **changes)
    player.at(1 * S)
    player.add(1 * S, 1 * S, points([0], [0.0, 2.0], [[0.0], [2.0]], [[0.0], [0.0]], [[0.0], [0.0]]))
    return player


def test_stopping_is_smooth_stays_on_the_path_and_ends_at_rest():
    player = move()
    before = player.at(2 * S)
    player.halt(2 * S, lambda piece, time, now, rate: Halt(piece, time, 0.4 * rate))
    times = np.linspace(2.0, 2.5, 501)
    q, qd, qdd, dq, dqd = derivatives(player, times)
    assert q[0] == before.position[0] and qd[0] == pytest.approx(before.velocity[0])
    np.testing.assert_allclose(qd[1:-1], dq[1:-1], atol=1e-4)
    np.testing.assert_allclose(qdd[1:-1], dqd[1:-1], atol=0.02 * np.abs(qdd).max())
    assert (np.diff(q) >= 0.0).all() and np.abs(np.diff(qdd)).max() < 0.02 * np.abs(qdd).max()
    end = player.at(5 * S)
    assert player.count == 0 and not end.velocity.any() and not end.acceleration.any()
    assert end.position[0] == pytest.approx(move().at(round(2.2 * S)).position[0])  # half the time's way


@pytest.mark.parametrize("offset", [0.0, 0.05])
def test_a_trajectory_that_begins_at_time_zero_takes_over_the_motion_under_way_without_a_step(offset):
    player = move()
    before = player.at(2 * S)
    wanted = points([0], [0.0, 0.5, 1.0, 3.0], np.array([[0.0], [-0.1], [-0.3], [-1.0]]) + before.position[0] + offset,
                    [[0.0], [-0.3], [-0.5], [0.0]], [[0.0]] * 4)  # fmt: skip
    player.add(2 * S, 2 * S, wanted)
    q, qd, qdd, dq, dqd = derivatives(player, np.linspace(2.0, 4.99, 3001))
    np.testing.assert_allclose([q[0], qd[0], qdd[0]], [x[0] for x in before[:3]], atol=1e-9)
    np.testing.assert_allclose(qd[1:-1], dq[1:-1], atol=1e-3)
    np.testing.assert_allclose(qdd[1:-1], dqd[1:-1], atol=0.05)
    assert player.at(5 * S).position[0] == pytest.approx(before.position[0] + offset - 1.0)
    late = move()
    late.at(2 * S)
    late.add(2 * S, 2 * S, wanted)
    assert late.at(3 * S).position[0] == pytest.approx(before.position[0] + offset - 0.3)  # its own path again


@pytest.mark.parametrize("carried", [(), ([[0.0]],), ([[0.0]], [[0.0]])])
@pytest.mark.parametrize("offset", [0.0, 0.05])
def test_one_point_at_time_zero_is_reached_without_a_step_whatever_moves(offset, carried):
    player = move()
    before = player.at(2 * S)
    assert before.velocity[0] > 1.0
    player.add(2 * S, 2 * S, points([0], [0.0], [[before.position[0] + offset]], *carried))
    q, qd, qdd, dq, dqd = derivatives(player, np.linspace(2.0, 2.2499, 3001))
    np.testing.assert_allclose([q[0], qd[0], qdd[0]], [x[0] for x in before[:3]], atol=1e-9)
    np.testing.assert_allclose(qd[1:-1], dq[1:-1], atol=1e-3)
    np.testing.assert_allclose(qdd[1:-1], dqd[1:-1], atol=0.05)
    end = player.at(2 * S + S // 4)
    assert end.position[0] == before.position[0] + offset and not end.velocity.any() and player.count == 0


def test_one_point_at_time_zero_takes_the_time_that_limits_want_and_none_where_the_robot_rests():
    tried = []

    def judge(piece, desired, whole):
        tried.append((piece.end - piece.start) / S)
        if 0.0 < tried[-1] < wanted:
            raise MessageError("x", "too fast")

    player, wanted = TrajectoryPlayer(np.zeros(1), 0.1), 1.0
    player.add(1 * S, 1 * S, points([0], [0.0], [[0.0]]), judge=judge, whole=False)
    assert tried == [0.0]
    player.add(1 * S, 1 * S, points([0], [0.0], [[0.05]]), judge=judge, whole=False)
    assert tried[1:] == [0.25, 0.5, 1.0] and player.at(3 * S).position[0] == 0.05
    tried.clear()
    wanted = 9.0
    with pytest.raises(MessageError, match="too fast"):
        player.add(3 * S, 3 * S, points([0], [0.0], [[0.0]]), judge=judge, whole=False)
    assert tried == [0.25, 0.5, 1.0, 2.0] and player.at(4 * S).position[0] == 0.05


def test_the_shortest_blend_that_is_accepted_is_taken():
    tried = []

    def judge(piece, desired, whole):
        tried.append(piece.times[piece.fresh])
        if tried[-1] < 1.0:
            raise MessageError("x", "too fast")

    player = TrajectoryPlayer(np.zeros(1), 0.1)
    player.add(0, 0, points([0], [0.0, 0.3, 0.6, 1.2, 9.0], np.full((5, 1), 0.05), np.zeros((5, 1))), judge=judge)
    assert tried == [0.3, 0.6, 1.2] and player.at(0).position[0] == pytest.approx(0.0)


def test_the_clock_is_smooth_keeps_its_range_and_follows_a_pause():
    clock, rng = PathClock(), np.random.default_rng(0)
    step, stamps, shown, rates, slopes = S // 1000, [], [], [], []
    for k in range(20000):
        if k % 400 == 0:
            clock.follow(float(rng.choice([0.0, 1.0, rng.uniform()])), 0.3)
        stamps.append(k * step)
        shown.append(clock.at(k * step))
        rates.append(clock.rate)
        slopes.append(clock.slope)
    assert min(rates) >= 0.0 and max(rates) <= 1.0
    t = np.array(stamps) / S
    np.testing.assert_allclose(np.gradient(np.array(shown) / S, t)[1:-1], rates[1:-1], atol=1e-4)
    np.testing.assert_allclose(np.gradient(rates, t)[5:-5], slopes[5:-5], atol=0.15)
    assert np.abs(np.diff(slopes)).max() < 2.0 * (4.74 / 0.3) ** 2 * 1e-3  # no more than the lags let it
    clock.follow(0.0, 0.3)
    stands = [clock.at(20 * S + k * 10 * step) for k in range(1000)]
    assert stands[-1] == stands[400] and clock.rate == 0.0
    clock.follow(1.0, 0.3)
    for k in range(1000):
        clock.at(30 * S + k * 10 * step)
    assert clock.steady


def test_a_scaled_trajectory_stays_on_its_path_and_its_rates_are_those_of_its_motion():
    player, plain = move(), move()
    player.clock.follow(0.25, 0.2)
    times = np.linspace(1.0, 3.0, 2001)
    q, qd, qdd, dq, dqd = derivatives(player, times)
    np.testing.assert_allclose(qd[1:-1], dq[1:-1], atol=1e-4)
    np.testing.assert_allclose(qdd[1:-1], dqd[1:-1], atol=0.02)
    assert q[-1] == pytest.approx(plain.at(player.clock.at(3 * S)).position[0])
    player.clock.follow(0.0, 0.2)
    q, qd, *_ = derivatives(player, np.linspace(3.0, 10.0, 701))
    assert qd[-1] == 0.0 and q[-1] == q[-100] < 1.0 and player.moving
    player.halt(10 * S)  # of a clock that stands
    assert player.at(10 * S + 1).velocity[0] == 0.0 and not player.moving


@pytest.mark.parametrize("halted", [None, 400, 900, 1700])
def test_what_is_desired_ahead_is_what_will_be_desired_then(halted):
    """While speed is scaled down, to a pause and up again, and on the way to rest."""
    player, lead, step = move(), 7, S // 1000
    changes, said, found, known = {200: 0.2, 800: 0.0, 1500: 1.0}, [], [], []
    for k in range(2500):
        stamp = S + k * step
        if k in changes:
            player.clock.follow(changes[k], 0.3)
        if k == halted:
            player.halt(stamp)
        found.append(player.at(stamp))
        said.append(player.ahead(stamp + lead * step))
        known.append(not any(k < x <= k + lead for x in (*changes, halted or -1)))
    found, said = (np.array([m[:3] for m in x])[:, :, 0] for x in (found, said))
    keep = np.array(known[:-lead])
    np.testing.assert_allclose(said[:-lead][keep], found[lead:][keep], atol=2e-5)  # as SETTLED lets rates differ
    assert np.ptp(found[:, 0]) > 0.1 and np.abs(said - found).max() > 1e-3


def test_feed_forward_is_interpolated():
    player = TrajectoryPlayer(np.zeros(1), 0.1)
    player.add(0, 0, points([0], [1.0, 2.0], [[0.0], [0.0]], None, None, [[4.0], [2.0]]))
    assert [player.at(round(t * S)).effort[0] for t in (0.0, 0.5, 1.5, 3.0)] == pytest.approx([0.0, 2.0, 3.0, 2.0])
