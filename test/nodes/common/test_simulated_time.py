"""Where time is simulated, what waits waits in it: a simulator that is paused lets nothing run out."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from driven import NODE_CLASSES, STARTED_WITH
from node_cases import CASES
from node_robots import ARM_JOINTS
from rclpy.clock import ClockType
from rclpy.parameter import Parameter
from rclpy.time import Time
from sensor_msgs.msg import JointState

from lie_dynamics_ros.core.commands import JointPoints
from lie_dynamics_ros.nodes.computed_torque.trajectories.goals import SUCCESSFUL, Goal, read_bounds
from lie_dynamics_ros.ros.inputs import state_stream

MIDDLE = np.array([0.0, 0.0, 0.0, -1.5708, 0.0, 1.8675, 0.0])


class Simulated:
    """A node in this process, simulated time, and a steady clock that goes on beside it."""

    def __init__(self, bench, monkeypatch, kind, **parameters):
        self.steady = SimpleNamespace(ahead=0.0)
        real = time.perf_counter
        monkeypatch.setattr(time, "perf_counter", lambda: real() + self.steady.ahead)
        monkeypatch.setattr(state_stream, "perf_counter", lambda: real() + self.steady.ahead)
        values = {"autostart": False, "use_sim_time": True, **STARTED_WITH.get(kind, {}), **parameters}
        overrides = [Parameter(key, value=value) for key, value in values.items()]
        self.node = NODE_CLASSES[kind](namespace=bench.namespace, parameter_overrides=overrides)
        self.set(100.0)

    def set(self, seconds):
        self.now = seconds
        self.node.get_clock().set_ros_time_override(
            Time(nanoseconds=round(seconds * 1e9), clock_type=ClockType.ROS_TIME)
        )

    def state(self, position=(), names=ARM_JOINTS):
        message = JointState(name=list(names), position=list(position), velocity=[0.0] * len(position))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(round(self.now * 1e9), 10**9)
        self.node.stream.on_state(message)


@pytest.fixture
def simulated(bench, monkeypatch):
    made = []

    def make(kind, **parameters):
        made.append(Simulated(bench, monkeypatch, kind, **parameters))
        return made[-1]

    yield make
    for one in made:
        one.node.destroy_node()


@pytest.mark.parametrize("kind", [case.module for case in CASES])
def test_silence_lasts_as_long_as_simulated_time_says(simulated, kind):
    world = simulated(kind, state_timeout=0.1)
    stream = world.node.stream
    stream._answer = lambda *_: None
    stream.start()
    world.state()
    world.steady.ahead = 60.0  # the simulator stands still
    assert stream.hears() and stream.freshness.holds() and stream.silence(1.0) == ""
    stream.require_fresh()
    world.set(100.5)
    assert stream.hears() and not stream.freshness.holds() and stream.silence(1.0) == ""
    world.set(102.0)
    assert not stream.hears() and stream.silence(1.0) == "joint states have ceased" and stream.silence(3.0) == ""
    world.state()
    assert stream.hears()
    world.node.set_parameters([Parameter("use_sim_time", value=False)])
    assert stream.hears() and stream.silence(1.0) == ""  # waits anew by the other clock
    world.steady.ahead += 2.0
    assert not stream.hears() and stream.silence(1.0)


def test_a_paused_simulator_aborts_no_goal(simulated):
    world = simulated(
        "computed_torque", state_timeout=0.1, kp=[100.0], kd=[20.0], error_limit=0.0, velocity_tolerance=100.0
    )
    node = world.node
    for change in (node.trigger_configure, node.trigger_activate):
        assert change().name == "SUCCESS", node.failure
    efforts = []
    node._commands.publish = efforts.append
    node._action = SimpleNamespace(go_on=lambda core: None, feed_back=lambda *_: None, due=False)

    def step(count, period=0.01):
        """The robot is where it is desired to be."""
        for _ in range(count):
            world.set(world.now + period)
            world.state(node.core.player.desired.position if node.core.player else MIDDLE)

    step(3)
    core, names = node.core, list(ARM_JOINTS)
    goal = Goal(object(), names, *(read_bounds("path", (), names, np.full(7, 0.02)) for _ in "pe"), 1.0)
    points = JointPoints(np.arange(7), np.array([1.0]), (MIDDLE + 0.2)[None], np.zeros((1, 7)), None)
    core.take(core.prepare(points), goal)
    step(50)
    here, count = core.player.desired.position, len(efforts)
    for _ in range(5):
        world.steady.ahead += 10.0
        node._on_timer()
    assert core.goals.active == [goal] and len(efforts) == count
    step(1)  # exactly where it was; then states alone cease for half a second, while time goes on
    assert 0.0 < np.abs(core.player.desired.position - here).max() < 0.01 and len(efforts) == count + 1
    world.set(world.now + 0.5)
    node._on_timer()
    here = core.player.desired.position
    step(1)
    np.testing.assert_array_equal(core.player.desired.position, here)
    assert core.goals.active == [goal] and "motions paused" in core.note
    step(120)
    (result,) = core.goals.results
    assert result.goal is goal and result.code == SUCCESSFUL
    np.testing.assert_allclose(core.player.desired.position, MIDDLE + 0.2, atol=1e-9)


def test_silence_beyond_its_time_ends_a_goal(simulated):
    world = simulated("computed_torque", state_timeout=0.1, silence_timeout=3.0)
    node = world.node
    for change in (node.trigger_configure, node.trigger_activate):
        assert change().name == "SUCCESS", node.failure
    node._action = SimpleNamespace(go_on=lambda core: None, feed_back=lambda *_: None, due=False)
    world.state(MIDDLE)
    core, names = node.core, list(ARM_JOINTS)
    goal = Goal(object(), names, *(read_bounds("path", (), names, np.full(7, 0.02)) for _ in "pe"), 1.0)
    points = JointPoints(np.arange(7), np.array([9.0]), (MIDDLE + 0.2)[None], np.zeros((1, 7)), None)
    core.take(core.prepare(points), goal)
    world.set(102.9)
    node._on_timer()
    assert core.goals.active == [goal]
    world.set(103.1)
    node._on_timer()
    assert not core.goals.active


@pytest.mark.parametrize("kind", ["simulated_stewart", "simulated_robot"])
def test_simulated_robots_stand_still_with_time(simulated, kind):
    world = simulated(kind, **({"mode": "motion"} if kind == "simulated_robot" else {}))
    node, sent = world.node, []
    node._states.send = sent.append
    for change in (node.trigger_configure, node.trigger_activate):
        assert change().name == "SUCCESS", node.failure
    step = node._step
    world.set(100.01)
    for _ in range(3):
        step()
    assert len(sent) == 1
    world.set(100.02)
    step()
    assert len(sent) == 2


def test_simulated_dynamics_go_as_fast_as_the_time_of_another_simulator(simulated):
    world = simulated("simulated_robot", mode="dynamics", rate=100.0)
    node = world.node
    for change in (node.trigger_configure, node.trigger_activate):
        assert change().name == "SUCCESS", node.failure
    for _ in range(10):
        world.steady.ahead += 1.0
        world.set(world.now + 0.01)
        node._simulate()
    assert node._simulation.time == pytest.approx(0.1)


def test_a_platform_is_commanded_by_the_clock_in_use(simulated):
    world = simulated("stewart_command", state_timeout=0.1)
    node = world.node
    for change in (node.trigger_configure, node.trigger_activate):
        assert change().name == "SUCCESS", node.failure
    assert node._ticker._timer.clock is node.get_clock()
    node.set_parameters([Parameter("use_sim_time", value=False)])
    assert node._ticker._timer.clock.clock_type == ClockType.STEADY_TIME
    node.set_parameters([Parameter("use_sim_time", value=True)])
    assert node._ticker._timer.clock is node.get_clock()
