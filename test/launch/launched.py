"""What tests of launch files share; importing it skips them where launch is not installed or this package not built.

All run in one ROS domain of their own, which the launched processes inherit.
"""

from __future__ import annotations

import os
import time
import unittest

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("launch_ros", reason="launch_ros is not installed (it is not among the ROS 2 wheels)")
pytest.importorskip("launch_testing", reason="launch_testing is not installed (it is not among the ROS 2 wheels)")

import launch
import launch_testing.actions
import launch_testing.asserts
import rclpy
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from launch.actions import IncludeLaunchDescription
from launch.substitutions import PathJoinSubstitution
from lifecycle_msgs.srv import GetState
from rclpy.executors import SingleThreadedExecutor

from lie_dynamics_ros.ros.node.domain import DomainReservation

try:
    SHARE = get_package_share_directory("lie_dynamics_ros")
except (PackageNotFoundError, OSError):
    pytest.skip("lie_dynamics_ros is not in the ament index: build it with colcon first", allow_module_level=True)

RESERVATION = DomainReservation()
RESERVATION.apply(os.environ)
DEADLINE = 120.0


def description(name, **arguments):
    """The launch file of that name with arguments, ready to test."""
    path = PathJoinSubstitution([SHARE, "launch", f"{name}.launch.py"])
    return launch.LaunchDescription(
        [
            IncludeLaunchDescription(path, launch_arguments=arguments.items()),
            launch_testing.actions.ReadyToTest(),
        ]
    )


class LaunchedTest(unittest.TestCase):
    """A node that listens in the namespace of what was launched."""

    namespace = ""

    @classmethod
    def setUpClass(cls):
        cls.context = rclpy.Context()
        rclpy.init(context=cls.context)
        cls.node = rclpy.create_node("listener", namespace=cls.namespace, context=cls.context)
        cls.executor = SingleThreadedExecutor(context=cls.context)
        cls.executor.add_node(cls.node)

    @classmethod
    def tearDownClass(cls):
        cls.executor.shutdown()
        cls.node.destroy_node()
        rclpy.shutdown(context=cls.context)

    def wait(self, condition, what):
        """Serve messages until the condition holds."""
        end = time.monotonic() + DEADLINE
        while not condition():
            self.assertLess(time.monotonic(), end, f"waited in vain for {what}")
            self.executor.spin_once(timeout_sec=0.05)

    def listen(self, type_, topic):
        """Collect what arrives on a topic."""
        received = []
        self.node.create_subscription(type_, topic, received.append, 10)
        return received

    def call(self, type_, name, request):
        """Call a service and return its answer."""
        client = self.node.create_client(type_, name)
        self.wait(client.service_is_ready, f"{name} to be there")
        future = client.call_async(request)
        self.wait(future.done, f"the answer of {name}")
        return future.result()

    def state(self, name):
        """Lifecycle state of a node."""
        return self.call(GetState, f"{name}/get_state", GetState.Request()).current_state.label

    def wait_active(self, *names):
        """Wait for nodes to become active."""
        for name in names:
            self.wait(lambda name=name: self.state(name) == "active", f"{name} to be active")


@launch_testing.post_shutdown_test()  # so are the classes made from it
class EndsCleanly(unittest.TestCase):
    """What holds after the shutdown of every launch file."""

    def test_all_ended_cleanly(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info)
