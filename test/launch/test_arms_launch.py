"""Several arms of one description, told apart by prefixes: each controller moves its own simulated robot."""

import launched
import pytest
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

NODES = [f"{arm}/{node}" for arm in ("left", "right") for node in ("simulated_robot", "computed_torque")]


@pytest.mark.launch_test
def generate_test_description():
    return launched.description(
        "arms",
        namespace="cell",
        robot_description="package://lie_dynamics_ros/urdf/panda_arm.urdf",
        arms="left=panda_link0 right=panda_link0",
        joint_prefix="{arm}_",
        frame_prefix="{arm}/",
        rate="250.0",
    )


class TestArms(launched.LaunchedTest):
    namespace = "cell"

    def test_all_nodes_are_active(self):
        self.wait_active(*NODES)

    def test_each_has_the_prefixes_of_its_arm(self):
        request = GetParameters.Request(names=["joint_prefix", "base_link"])
        for name in NODES:
            values = self.call(GetParameters, f"{name}/get_parameters", request).values
            expected = [f"{name.partition('/')[0]}_", "panda_link0"]
            self.assertEqual([value.string_value for value in values], expected)

    def test_a_trajectory_moves_its_arm_and_no_other(self):
        self.wait_active(*NODES)
        states = self.listen(JointState, "joint_states")
        joint = {arm: f"{arm}_panda_joint1" for arm in ("left", "right")}

        def place(arm):
            told = [message for message in states[-100:] if joint[arm] in message.name]
            return told[-1].position[list(told[-1].name).index(joint[arm])] if told else None

        self.wait(lambda: None not in (place("left"), place("right")), "states of both arms")
        begin = {arm: place(arm) for arm in joint}
        publisher = self.node.create_publisher(JointTrajectory, "left/computed_torque/joint_trajectory", 10)
        self.wait(lambda: publisher.get_subscription_count() == 1, "the left controller to listen")
        point = JointTrajectoryPoint(positions=[begin["left"] + 0.3], velocities=[0.0], accelerations=[0.0])
        point.time_from_start.sec = 1
        publisher.publish(JointTrajectory(joint_names=[joint["left"]], points=[point]))
        self.wait(lambda: abs(place("left") - begin["left"] - 0.3) < 0.02, "the left arm to be there")
        self.assertLess(abs(place("right") - begin["right"]), 0.02)


class TestAfterwards(launched.EndsCleanly):
    pass
