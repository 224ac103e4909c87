"""The node stewart_command tick by tick, in this process: silence at slow rates, stale twists, ends of motions."""

import numpy as np
import pytest
from geometry_msgs.msg import TwistStamped
from node_platforms import pose_at
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.nodes.stewart_command.targets import PathTarget


@pytest.mark.parametrize("rate", [4.0, 500.0])
def test_silence_stops_the_platform_at_any_rate(ticks, rate):
    run = ticks(rate)
    run.tick(5, heard=True)
    assert run.core.phase == "holding"
    run.tick(max(3, round(0.5 * rate)))
    assert run.core.phase == "stopped"
    assert "no leg lengths" in run.core.reason


@pytest.mark.parametrize("changed", [False, True])
def test_ends_of_the_node_under_way_leave_set_points_at_rest(ticks, changed):
    run = ticks(500.0)
    run.move()
    if changed:
        assert run.node.set_parameters([Parameter("max_rate", value=0.1)])[0].successful
    (before, _), count = run.sent[-1], len(run.sent)
    run.node.trigger_deactivate()
    last, rates = run.sent[-1]
    assert len(run.sent) == count + 1
    np.testing.assert_allclose(last, before, rtol=0, atol=1e-12)
    assert not np.any(rates)


def test_twists_that_are_too_old_are_refused(ticks):
    run = ticks(500.0)
    message = TwistStamped()
    message.twist.linear.x = 0.05
    for age, word in ((60, "60 s old"), (0, "")):
        message.header.stamp = run.node.get_clock().now().to_msg()
        message.header.stamp.sec -= age
        run.node._on_twist(message)
        assert word in run.node.refused and bool(run.node.refused) == bool(word)
        assert run.node.planner.idle == bool(word)


def test_a_platform_that_slows_down_is_not_levelled(ticks):
    run = ticks(500.0)
    message = Imu()
    message.linear_acceleration.x, message.linear_acceleration.z = 1.0, 9.7
    run.move()
    run.core.hold()
    run.node.orders.on_imu(message)
    with pytest.raises(MessageError, match="slowing down"):
        run.node.orders.level()


def test_plans_that_take_long_hold_up_no_set_point(ticks, at_once, monkeypatch):
    """While a plan is being made each tick sends the next set points of what is under way, whatever that is."""
    run, jobs = ticks(1000.0), []
    aside = lambda y: PathTarget(pose_at([0.0, y, 0.5], [0, 0, 0])[None], (False,))  # noqa: E731
    at_once(run)
    run.tick(3, heard=True)
    for k, begin in enumerate(
        (lambda: run.node.ask(run.core, aside(0.02)), lambda: run.node.orders.ride(True), run.node.orders.hold)
    ):
        begin()
        run.tick(90, heard=True)
        monkeypatch.setattr(run.node.planner._background, "start", jobs.append)
        goal = aside(-0.01 * k)
        run.node.ask(run.core, goal)
        assert len(jobs) == 1 and not run.node.planner.idle
        motion, tick, count = run.core._motion, run.core._tick, len(run.sent)
        run.tick(30, heard=True)
        assert len(run.sent) == count + 30 and len(jobs) == 1
        if motion is None:
            due = np.tile(run.sent[count - 1][0], (30, 1))
        else:
            due = motion.at((tick + 1.0 + np.arange(30)) * run.period).lengths
        np.testing.assert_allclose([lengths for lengths, _ in run.sent[count:]], due, rtol=0, atol=1e-12)
        jobs.pop().run()
        at_once(run)
        run.tick(1200, heard=True)
        assert np.abs(run.core.pose - goal.poses[0]).max() < 1e-9
