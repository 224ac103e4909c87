"""The launch files, by launch_testing; runs where launch is installed and this package was built by colcon."""

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
from sensor_msgs.msg import JointState

from lie_dynamics_ros.ros.domain import DomainReservation

try:
    SHARE = get_package_share_directory("lie_dynamics_ros")
except (PackageNotFoundError, OSError):
    pytest.skip("lie_dynamics_ros is not in the ament index: build it with colcon first", allow_module_level=True)

RESERVATION = DomainReservation()
RESERVATION.apply(os.environ)  # the launched processes inherit it
NAMESPACE = "launched"
DEADLINE = 120.0


@pytest.mark.launch_test
def generate_test_description():
    path = PathJoinSubstitution([SHARE, "launch", "bringup.launch.py"])
    arguments = {"namespace": NAMESPACE, "rate": "200.0"}
    return launch.LaunchDescription(
        [
            IncludeLaunchDescription(path, launch_arguments=arguments.items()),
            launch_testing.actions.ReadyToTest(),
        ]
    )


class TestBringup(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.context = rclpy.Context()
        rclpy.init(context=cls.context)
        cls.node = rclpy.create_node("listener", namespace=NAMESPACE, context=cls.context)
        cls.executor = SingleThreadedExecutor(context=cls.context)
        cls.executor.add_node(cls.node)

    @classmethod
    def tearDownClass(cls):
        cls.executor.shutdown()
        cls.node.destroy_node()
        rclpy.shutdown(context=cls.context)

    def wait(self, condition, what):
        end = time.monotonic() + DEADLINE
        while not condition():
            self.assertLess(time.monotonic(), end, f"waited in vain for {what}")
            self.executor.spin_once(timeout_sec=0.1)

    def test_torques_come(self):
        received = []
        self.node.create_subscription(JointState, "inverse_dynamics/joint_efforts", received.append, 10)
        self.wait(lambda: len(received) >= 50, "torques")
        self.assertEqual(len(received[-1].effort), 7)

    def test_both_nodes_are_active(self):
        for name in ("simulated_robot", "inverse_dynamics"):
            client = self.node.create_client(GetState, f"{name}/get_state")
            self.wait(client.service_is_ready, f"{name} to be there")
            labels = []

            def active(client=client, labels=labels):
                future = client.call_async(GetState.Request())
                self.wait(future.done, "an answer")
                labels.append(future.result().current_state.label)
                return labels[-1] == "active"

            self.wait(active, f"{name} to be active")


@launch_testing.post_shutdown_test()
class TestAfterwards(unittest.TestCase):
    def test_both_ended_cleanly(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info)
