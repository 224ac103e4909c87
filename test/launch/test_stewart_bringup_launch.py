"""The launch file of both Stewart nodes: poses come out of leg lengths, with the frames and the noise asked for."""

import launched
import pytest
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped

NAMESPACE = "hall/platform"


@pytest.mark.launch_test
def generate_test_description():
    return launched.description(
        "stewart_bringup", namespace=NAMESPACE, rate="200.0", base_frame="floor", length_noise="0.0001"
    )


class TestStewartBringup(launched.LaunchedTest):
    namespace = NAMESPACE

    def test_poses_come_and_are_those_of_the_platform(self):
        poses = self.listen(PoseWithCovarianceStamped, "stewart_pose/pose")
        truth = self.listen(PoseStamped, "simulated_stewart/true_pose")

        def pairs():
            true = {(m.header.stamp.sec, m.header.stamp.nanosec): m for m in truth}
            return [(m, true[s]) for m in poses if (s := (m.header.stamp.sec, m.header.stamp.nanosec)) in true]

        self.wait(lambda: len(pairs()) >= 50, "poses")
        for pose, true in pairs():
            self.assertEqual(pose.header.frame_id, "floor")
            # 0.1 mm of noise in the legs is 0.05 mm along z; ten times that is another pose.
            self.assertLess(abs(pose.pose.pose.position.z - true.pose.position.z), 1e-3)

    def test_both_nodes_are_active(self):
        self.wait_active("simulated_stewart", "stewart_pose")


class TestAfterwards(launched.EndsCleanly):
    pass
