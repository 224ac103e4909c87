"""The launch files of the Stewart nodes, by launch_testing; runs where launch is there and colcon has built this."""

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
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
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
RESERVATION.apply(os.environ)  # the launched processes inherit it
NAMESPACE = "hall/platform"
DEADLINE = 120.0


@pytest.mark.launch_test
def generate_test_description():
    path = PathJoinSubstitution([SHARE, "launch", "stewart_bringup.launch.py"])
    arguments = {"namespace": NAMESPACE, "rate": "200.0", "base_frame": "floor", "length_noise": "0.0001"}
    return launch.LaunchDescription(
        [
            IncludeLaunchDescription(path, launch_arguments=arguments.items()),
            launch_testing.actions.ReadyToTest(),
        ]
    )


class TestStewartBringup(unittest.TestCase):
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

    def test_poses_come_and_are_those_of_the_platform(self):
        poses, truth = {}, {}
        for type_, topic, kept in (
            (PoseWithCovarianceStamped, "stewart_pose/pose", poses),
            (PoseStamped, "simulated_stewart/true_pose", truth),
        ):

            def keep(message, kept=kept):
                kept[message.header.stamp.sec, message.header.stamp.nanosec] = message

            self.node.create_subscription(type_, topic, keep, 100)
        self.wait(lambda: len(set(poses) & set(truth)) >= 50, "poses")
        for stamp in set(poses) & set(truth):
            self.assertEqual(poses[stamp].header.frame_id, "floor")
            # 0.1 mm of noise in the legs is 0.05 mm along z; ten times that is another pose.
            estimate, true = poses[stamp].pose.pose.position.z, truth[stamp].pose.position.z
            self.assertLess(abs(estimate - true), 1e-3)

    def test_both_nodes_are_active(self):
        for name in ("simulated_stewart", "stewart_pose"):
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
