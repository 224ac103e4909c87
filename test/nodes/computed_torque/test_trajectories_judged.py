"""Trajectories that a core of computed_torque is given: judged all along before they are taken."""

import numpy as np
import pytest
from core_loop import MIDDLE, ZERO, Loop, S, panda

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.lie_dynamics.control.feasibility.joint_path import largest as largest_of
from lie_dynamics_ros.nodes.computed_torque.trajectories.trajectory_piece import Desired

SPEED = panda().limits.velocity


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        (([1.0], [MIDDLE], None, None, [[1e308] * 7]), "an effort of 1e\\+308"),
        (([1.0], [MIDDLE], None, None, [[90.0] + [0.0] * 6]), "an effort of 90 beyond the limits of panda_joint1"),
        (([1.0, 2.0], [MIDDLE, MIDDLE], [[1e200] * 7, ZERO]), "beyond the limits|not finite"),
        (([1.0, 2.0], [MIDDLE, MIDDLE], [[1e6] * 7, ZERO]), "beyond the limits"),
        (([1.0], [MIDDLE + 3.0], [ZERO]), "a position of"),
        (([0.1], [MIDDLE + 0.3], [ZERO]), "a velocity of"),  # 4.5 rad/s half-way, and rest at both ends
        (([0.5, 1.0], [MIDDLE - [0, 0, 0, 1.36, 0, 0, 0], MIDDLE], [-0.9 * SPEED, ZERO]), "a position of"),
        (([1.0], [MIDDLE - [0, 0, 0, 1.5, 0, 0, 0]], [ZERO]), "a position of"),
        (([0.3], [MIDDLE + 0.12 * np.eye(7)[1]], [ZERO], [ZERO]), "takes"),
        (([0.5], [MIDDLE + 0.12], [ZERO], [ZERO]), None),
    ],
)  # fmt: skip
def test_trajectories_are_judged_all_along_before_they_are_taken(points, reason):
    loop = Loop(acceleration_limit=[0.0])
    loop.step()
    before = loop.core.player.count
    if reason is None:
        loop.follow(*points)
        return
    if reason == "takes":  # fast enough for the URDF's velocities, too fast for the shoulder's torque with a payload
        loop.change(payload_frame="panda_link7", payload_mass=10.0)
        loop.step()
    with pytest.raises(MessageError, match=reason):
        loop.follow(*points)
    assert loop.core.player.count == before
    loop.step()


@pytest.mark.parametrize("share", [5e-324, 1e-310, 1e-200, 1e-17, 1e-16])
def test_the_largest_value_of_a_polynomial_with_a_tiny_leading_coefficient(share):
    """Of s (1 - s) and so on at 1/2; what is below round-off must not overflow in the roots."""
    for c, largest in (([0.0, 4.0, -4.0, 0.0, share], 1.0), ([1.0, -1.0, 0.0, share], 1.0), ([1e-300, share], 1e-300)):
        assert largest_of(np.array(c)) == pytest.approx(max(largest, c[0] + c[-1] * (len(c) == 2)))
    assert largest_of(np.array([0.0, np.inf])) == np.inf
    assert largest_of(np.zeros(4)) == 0.0


def test_accelerations_between_points_count_where_there_is_a_limit():
    loop = Loop(acceleration_limit=[5.0])
    loop.step()
    with pytest.raises(MessageError, match="an acceleration of"):
        loop.follow([0.5], [MIDDLE + 0.3], [ZERO])
    loop.follow([0.5], [MIDDLE + 0.2], [ZERO])


def test_a_trajectory_that_waits_and_cannot_begin_is_told():
    loop = Loop()
    loop.step()
    start = S + S // 10
    loop.follow([0.0, 1.0], [MIDDLE + 0.3, MIDDLE], [ZERO, ZERO], start=start)
    loop.run(0.2)
    ((told, _, reason),) = loop.core.player.dropped
    assert told == start and "start_tolerance" in reason
    np.testing.assert_allclose(loop.answers[-1].desired.position, MIDDLE)


MOVING = {"allow_nonzero_velocity_at_trajectory_end": True}


def test_a_last_point_with_a_velocity_is_refused_unless_it_is_allowed():
    loop = Loop()
    loop.step()
    before = loop.core.player.count
    for times in ([0.5], [0.0]):
        with pytest.raises(MessageError, match=r"ends with joint panda_joint3 at -0\.2 \(velocity\); expected 0, or"):
            loop.follow(times, [MIDDLE], [[0.1, 0.0, -0.2, 0.0, 0.0, 0.0, 0.0]])
    assert loop.core.player.count == before
    loop.follow([0.5], [MIDDLE], [[1e-5] * 7])  # round-off of planners
    loop.change(**MOVING)
    loop.follow([0.5], [MIDDLE + 0.05], [ZERO + 0.1])


@pytest.mark.parametrize("bend", [None, 0.3])
def test_it_is_passed_and_the_joints_come_to_rest_behind_it(bend):
    """By v T / 2 + a T^2 / 12 in `stop_time`, without any jump; desired rates against differences of positions."""
    loop, speed = Loop(**MOVING), ZERO + 0.2
    loop.step()
    more = [] if bend is None else [[ZERO + bend]]
    loop.follow([0.5], [MIDDLE + 0.05], [speed], *more)
    assert "comes to rest at 0.8 s" in loop.core.note
    way = loop.run(1.0)
    position, rate, curve = (np.array([getattr(a.desired, x) for a in way]) for x in Desired._fields[:3])
    end = MIDDLE + 0.05 + 0.5 * 0.3 * 0.2 + (bend or 0.0) * 0.3**2 / 12.0
    np.testing.assert_allclose(position[-1], end, atol=1e-12)
    assert not rate[-1].any() and not curve[-1].any()
    h = loop.period
    np.testing.assert_allclose(np.diff(position, axis=0), h * 0.5 * (rate[1:] + rate[:-1]), atol=3.0 * h**2)
    assert np.abs(np.diff(rate, axis=0)).max() < 2.0 * h * np.abs(curve).max() + 1e-12
    assert rate.max() < 0.45
    if bend is not None:
        assert np.abs(np.diff(curve, axis=0)).max() < 0.1


def test_the_way_to_rest_keeps_the_limits_or_the_trajectory_is_refused():
    loop = Loop(acceleration_limit=[0.8], **MOVING)
    loop.step()
    slow = [MIDDLE + 0.09], [ZERO + 0.3]
    loop.follow([0.6], *slow)  # 1 rad/s^2 in 0.3 s, 0.67 in 0.45 s
    assert "comes to rest at 1.05 s" in loop.core.note
    loop.run(0.3)
    near = MIDDLE.copy()
    near[0] = panda().limits.upper[0] - 0.01
    loop = Loop(**MOVING)
    loop.run(0.1)
    with pytest.raises(MessageError, match=r"a position of .* beyond the limits of panda_joint1"):
        loop.follow([4.0], [near], [np.eye(7)[0]])
    loop.follow([4.0], [near], [-0.01 * np.eye(7)[0]])


def test_a_stream_of_single_points_is_followed_without_a_jump():
    """As MoveIt Servo sends it: where the joints are to be soon and how fast, again and again; then it ends."""
    loop = Loop(rate=500.0, **MOVING)
    loop.run(0.1)
    way, speed, pace = [], 0.2, 2.0 * np.pi * 0.5
    for k in range(60):
        t = 0.04 + 0.02 * k
        at, rate = 1.0 - np.cos(pace * t), pace * np.sin(pace * t)
        loop.follow([0.04], [MIDDLE + speed / pace * at], [ZERO + speed / pace * rate])
        way += loop.run(0.02)
    way += loop.run(0.6)
    rate = np.array([a.desired.velocity for a in way])
    assert np.abs(np.diff(rate, axis=0)).max() < 0.02 < 0.1 < np.abs(rate).max() < 0.25
    assert not rate[-1].any() and {a.phase for a in way} <= {"following", "holding"}


def test_a_joint_without_room_at_its_limit_comes_to_rest_by_itself():
    """The others take the time that they have: at its pace the arm would be stopped by a jerk."""
    loop = Loop()
    loop.step()
    judge, position = loop.core.control.parts.judge, MIDDLE.copy()
    position[0] = judge.limits.upper[0] - 6e-3
    others, first = judge.way_to_rest(Desired(position, np.full(7, 0.3), ZERO, ZERO))
    assert others.joints.tolist() == [1, 2, 3, 4, 5, 6] and others.times[0] == loop.core.options.stop_time
    assert first.joints.tolist() == [0] and first.times[0] == pytest.approx(2 * 6e-3 / 0.3)
    assert first.position[0, 0] == pytest.approx(judge.limits.upper[0])
