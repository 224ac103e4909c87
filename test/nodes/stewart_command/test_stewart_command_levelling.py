"""Levelling by the sensors of the simulated platform, both nodes in lock step: what tilt is left at rest.

The platform's base leans; its legs are servos with delay, so that nothing is where it is told to be but at rest.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from node_platforms import HOME, TEXT, matrix_of
from rclpy.parameter import Parameter
from rclpy.time import Time
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import Imu

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.nodes.simulated_stewart.node import SimulatedStewart

GRAVITY = np.array([1.0, -0.5, -9.7])
UP = -GRAVITY / np.linalg.norm(GRAVITY)
NOISE = 0.03
RATE = 50.0
TOOL = Rotation.from_rotvec([0.4, -0.3, 0.8])


class Machine:
    """A simulated platform that hears each set point, and is heard, once a tick."""

    def __init__(self, bench, ticks, noise):
        self.commands = ticks(RATE)
        node, tool = self.commands.node, [0.1, 0.0, 0.2, *TOOL.as_quat().tolist()]
        node.set_parameters([Parameter("tool_pose", value=tool)])
        values = {"autostart": False, "platform": TEXT, "mode": "actuators", "gravity": GRAVITY.tolist(), "delay": 0.02,
                  "accelerometer_noise": noise, "length_noise": 0.0, "rate_noise": 0.0, "seed": 3}  # fmt: skip
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.platform = SimulatedStewart(namespace=bench.namespace, parameter_overrides=overrides)
        self.time = 1_000_000_000
        self.platform.get_clock = node.get_clock = lambda: SimpleNamespace(now=lambda: Time(nanoseconds=self.time))
        assert self.platform.trigger_configure().name == self.platform.trigger_activate().name == "SUCCESS"
        node.ros_time = lambda: self.time
        self.imu = None
        for name, take in (("_states", node.states.on_state), ("_imus", self._measured), ("_poses", self._stands)):
            setattr(self.platform, name, SimpleNamespace(heard=True, send=take))
        node._outputs.commands.send = self.platform._on_commands

    def _measured(self, message):
        self.imu = message

    def _stands(self, message):
        self.pose = matrix_of(message.pose)

    def go(self, seconds):
        for _ in range(round(seconds * RATE)):
            self.time += round(1e9 / RATE)
            self.platform._step()
            self.commands.now += 1.0 / RATE
            self.commands.node._tick()

    def inclinometer(self):
        """An orientation by which the vertical is that of the accelerometer, in the axes of the tool."""
        a = self.imu.linear_acceleration
        up = TOOL.inv().apply([a.x, a.y, a.z])
        turn, _ = Rotation.align_vectors([[0.0, 0.0, 1.0]], [up / np.linalg.norm(up)])
        message = Imu()
        message.header.frame_id = "tool"
        q = message.orientation
        q.x, q.y, q.z, q.w = (Rotation.from_rotvec([0.0, 0.0, 2.0]) * turn).as_quat()  # it knows no north
        message.linear_acceleration_covariance[0] = -1.0
        return message

    def tilt(self):
        return float(np.arctan2(np.linalg.norm(np.cross(self.pose[:3, 2], UP)), self.pose[:3, 2] @ UP))


@pytest.fixture
def machine(bench, ticks, at_once):
    made = []

    def make(noise=0.0):
        made.append(Machine(bench, ticks, noise))
        at_once(made[-1].commands)
        made[-1].go(0.2)
        return made[-1]

    yield make
    for one in made:
        one.platform.destroy_node()


@pytest.mark.parametrize("sensor", ["accelerometer", "inclinometer"])
def test_the_platform_is_level_at_rest_and_stays_so(machine, sensor):
    run = machine()
    node, pivot = run.commands.node, HOME @ [0.1, 0.0, 0.2, 1.0]
    assert run.tilt() == pytest.approx(np.arctan2(np.hypot(*GRAVITY[:2]), -GRAVITY[2]), abs=1e-9)
    for most in (1e-6, 1e-9):  # once more changes nothing
        node.orders.on_imu(run.imu if sensor == "accelerometer" else run.inclinometer())
        assert "level" in node.orders.level()
        run.go(3.0)
        assert node.core.phase == "holding" and not node.core.refusal
        assert run.tilt() < 1e-6
        before = run.pose
        run.go(0.5)
        assert np.abs(run.pose - before).max() < most
    assert np.abs(run.pose @ [0.1, 0.0, 0.2, 1.0] - pivot).max() < 1e-6


def test_what_an_accelerometer_adds_is_what_is_left(machine):
    run = machine(NOISE)
    node, left = run.commands.node, []
    for _ in range(6):
        node.orders.on_imu(run.imu)
        node.orders.level()
        run.go(1.5)
        left.append(run.tilt())
    left = np.array(left) / (NOISE / np.linalg.norm(GRAVITY))  # two axes: a Rayleigh distribution
    assert 0.5 < np.sqrt(np.mean(left**2)) < 2.5
    assert left.max() < 5.0


def test_a_platform_that_moves_or_whose_sensor_is_silent_is_not_levelled(machine):
    run = machine()
    orders = run.commands.node.orders
    orders.on_imu(run.imu)
    orders.level()
    run.go(0.1)
    orders.on_imu(run.imu)
    with pytest.raises(MessageError, match="following"):
        orders.level()
    run.go(3.0)
    with pytest.raises(MessageError, match="within 1 s"):
        orders.level()
    assert run.tilt() < 1e-6
