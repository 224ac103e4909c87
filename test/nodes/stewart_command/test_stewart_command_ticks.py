"""The node stewart_command tick by tick, in this process: silence at slow rates, stale twists, ends of motions."""

import numpy as np
import pytest
from geometry_msgs.msg import TwistStamped
from node_platforms import HOME, LEGS, TEXT, lengths, pose_at
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu, JointState

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.nodes.stewart_command import node as module
from lie_dynamics_ros.nodes.stewart_command.targets import PathTarget
from lie_dynamics_ros.ros.outputs.diagnostics import Report


class Ticks:
    """An active node whose ticks and clock are ours."""

    def __init__(self, bench, monkeypatch, rate):
        values = {"autostart": False, "platform": TEXT + "\nleg_limits: [0.3, 0.8]\n", "rate": rate}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.node = module.StewartCommandNode(namespace=bench.namespace, parameter_overrides=overrides)
        assert self.node.trigger_configure().name == "SUCCESS", self.node.failure
        assert self.node.trigger_activate().name == "SUCCESS"
        self.core, self.now, self.period, self.sent = self.node.core, 0.0, 1.0 / rate, []
        monkeypatch.setattr(module, "monotonic", lambda: self.now)
        keep = lambda m: self.sent.append((m.position[:], m.velocity[:]))  # noqa: E731
        monkeypatch.setattr(self.node._outputs.commands, "send", keep)
        self.hear()

    def hear(self):
        self.node.states.on_state(JointState(name=LEGS, position=lengths(HOME).tolist(), velocity=[0.0] * 6))

    def tick(self, count=1, heard=False):
        for _ in range(count):
            self.now += self.period
            if heard:
                self.hear()
            self.node._tick()

    def move(self):
        """Go at full speed."""
        self.core.take(self.core.ask(PathTarget(pose_at([0.06, 0.0, 0.5], [0, 0, 0])[None], (False,)), 0.02).make())
        self.tick(60, heard=True)
        assert np.abs(self.sent[-1][1]).max() > 0.05


@pytest.fixture
def ticks(bench, monkeypatch):
    made = []

    def make(rate):
        made.append(Ticks(bench, monkeypatch, rate))
        return made[-1]

    yield make
    for one in made:
        one.node.destroy_node()


@pytest.mark.parametrize("rate", [4.0, 500.0])
def test_silence_stops_the_platform_at_any_rate(ticks, rate):
    run = ticks(rate)
    run.tick(5, heard=True)
    assert run.core.phase == "holding"
    run.tick(max(3, round(0.5 * rate)))
    assert run.core.phase == "stopped"
    assert "no leg lengths" in run.core.reason


def test_ends_of_the_node_under_way_leave_set_points_at_rest(ticks):
    run = ticks(500.0)
    run.move()
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


def vehicle(run, force=(0.0, 0.0, 9.81), rate=(0.0, 0.0, 0.0), age=0, **known):
    """A message of the vehicle."""
    message = Imu(**known)
    message.header.stamp = run.node.get_clock().now().to_msg()
    message.header.stamp.sec -= age
    for vector, numbers in ((message.linear_acceleration, force), (message.angular_velocity, rate)):
        vector.x, vector.y, vector.z = numbers
    run.node._on_vehicle(message)


def told(run):
    report = Report()
    run.node.describe(report, 1.0)
    return "; ".join(report.reasons)


@pytest.fixture
def riding(ticks, monkeypatch):
    """A node on a ride, whose plans are made at once."""
    run = ticks(20.0)
    for other in ("services", "planner"):
        monkeypatch.setattr(f"lie_dynamics_ros.nodes.stewart_command.{other}.monotonic", lambda: run.now)
    monkeypatch.setattr(run.node.planner._background, "start", lambda job: job.run())
    run.tick(3, heard=True)
    assert run.node.orders.ride(True)
    return run


def ride(run, count, **felt):
    for _ in range(count):
        vehicle(run, **felt)
        run.tick(heard=True)


def test_a_ride_follows_the_vehicle_and_comes_back_when_it_is_silent(riding):
    ride(riding, 30, force=(2.0, 0.0, 9.81))
    assert riding.core.phase == "following"
    assert np.abs(riding.sent[-1][1]).max() > 1e-3
    assert "vehicle" not in told(riding)
    far = np.abs(riding.core.pose - HOME).max()
    riding.tick(80, heard=True)
    assert "nothing of the vehicle for 0.2 s" in told(riding)
    assert np.abs(riding.core.pose - HOME).max() < 0.5 * far
    ride(riding, 5)
    assert "vehicle" not in told(riding)
    rates = np.diff([lengths for lengths, _ in riding.sent], axis=0) / riding.period
    assert np.abs(rates).max() <= 0.2 + 1e-9
    assert np.abs(np.diff(rates, axis=0)).max() / riding.period <= 1.0 + 1e-6


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"force": (np.nan, 0.0, 9.81)}, "not finite"),
        ({"rate": (0.0, -np.inf, 0.0)}, "not finite"),
        ({"age": 60}, "60 s old"),
        ({"age": -60}, "-60 s old"),
        ({"linear_acceleration_covariance": [-1.0] + [0.0] * 8}, "without acceleration"),
        ({"angular_velocity_covariance": [-1.0] + [0.0] * 8}, "without acceleration or angular velocity"),
    ],
)
def test_messages_of_the_vehicle_that_say_nothing_count_as_silence(riding, wrong, word):
    ride(riding, 2)
    ride(riding, 8, **wrong)
    assert word in told(riding) and "nothing of the vehicle" in told(riding)
    assert np.abs(riding.core.pose - HOME).max() < 1e-9


def test_targets_holds_and_stops_end_a_ride(riding):
    for end in (
        riding.node.orders.hold,
        lambda: riding.node.orders.ride(False),
        lambda: riding.core.stop("a leg is off"),
    ):
        riding.node.orders.ride(True)
        ride(riding, 12, force=(3.0, 0.0, 9.81))
        assert riding.core.phase == "following"
        end()
        ride(riding, 1)
        assert not riding.node.rider.riding
        ride(riding, 60, force=(3.0, 0.0, 9.81))
        assert not np.any(riding.sent[-1][1])
    with pytest.raises(MessageError, match="hold"):
        riding.node.orders.ride(True)
