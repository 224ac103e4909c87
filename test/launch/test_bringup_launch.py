"""The bring-up of an arm: every node runs, and the numbers flow from one to the other."""

import launched
import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory


@pytest.mark.launch_test
def generate_test_description():
    return launched.description("bringup", namespace="launched", rate="200.0", hybrid_dynamics="true")


class TestBringup(launched.LaunchedTest):
    namespace = "launched"

    def test_all_nodes_are_active(self):
        self.wait_active("simulated_robot", "inverse_dynamics", "hybrid_dynamics")

    def test_torques_and_accelerations_come(self):
        torques = self.listen(JointState, "inverse_dynamics/joint_efforts")
        accelerations = self.listen(JointTrajectory, "hybrid_dynamics/joint_accelerations")
        self.wait(lambda: len(torques) >= 50 and len(accelerations) >= 50, "torques and accelerations")
        self.assertEqual(len(torques[-1].effort), 7)
        self.assertEqual(len(accelerations[-1].points[0].accelerations), 7)

    def test_the_accelerations_of_the_motion_reach_inverse_dynamics(self):
        publishers = self.node.get_publishers_info_by_topic
        topic = "inverse_dynamics/joint_trajectory_point"
        self.wait(lambda: [p.node_name for p in publishers(topic)] == ["simulated_robot"], "the accelerations")


class TestAfterwards(launched.EndsCleanly):
    pass
