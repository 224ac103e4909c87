"""The launch file of hybrid_dynamics, with a parameter file of the user's and without autostart."""

import tempfile
from pathlib import Path

import launched
import pytest
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

FOLDER = tempfile.TemporaryDirectory()
CONFIG = Path(FOLDER.name) / "mine.yaml"
CONFIG.write_text(
    "/**:\n  hybrid_dynamics:\n    ros__parameters:\n      unnamed_joints: zero_acceleration\n"
    "      robot_description: package://lie_dynamics_ros/urdf/panda_arm.urdf\n"
)


@pytest.mark.launch_test
def generate_test_description():
    return launched.description("hybrid_dynamics", namespace="orchestrated", config=str(CONFIG), autostart="false")


class TestHybridDynamics(launched.LaunchedTest):
    namespace = "orchestrated"

    def test_is_configured_and_activated_from_outside(self):
        self.assertEqual(self.state("hybrid_dynamics"), "unconfigured")
        for label in ("configure", "activate"):
            request = ChangeState.Request()
            request.transition.label = label
            self.assertTrue(self.call(ChangeState, "hybrid_dynamics/change_state", request).success)
        accelerations = self.listen(JointTrajectory, "hybrid_dynamics/joint_accelerations")
        states = self.node.create_publisher(JointState, "joint_states", 1)
        message = JointState(name=[f"panda_joint{i}" for i in range(1, 8)], position=[0.1] * 7)
        self.wait(lambda: states.publish(message) or accelerations, "an answer")
        self.assertEqual(list(accelerations[0].points[0].accelerations), [0.0] * 7)

    def test_the_parameter_file_was_read(self):
        request = GetParameters.Request(names=["unnamed_joints"])
        (value,) = self.call(GetParameters, "hybrid_dynamics/get_parameters", request).values
        self.assertEqual(value.string_value, "zero_acceleration")


class TestAfterwards(launched.EndsCleanly):
    pass
